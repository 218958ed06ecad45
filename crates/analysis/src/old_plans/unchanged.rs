//! The functions that are provably the same as when the plan was made, with all code that may be
//! inlined into them.
//!
//! Targets, unpredictable branches, late counts, and loads to prefetch name places in the code.
//! They are kept only where these places are certainly the same: where the function and the
//! functions that it calls, directly or not, have the code that was counted. For loads, their lines
//! must be the same, too. Functions that never ran have no places.

use std::collections::{BTreeMap, BTreeSet};

use holloway_format::{FunctionPlan, Plan};

use super::functions::Key;
use super::names::name_hash;
use super::program::{Program, ProgramFunction};

/// What must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Equal {
    Code,
    CodeAndPlaces,
}

/// Whether a copy of a function has the code that was counted. A function whose code was not
/// written down is the same if its name and graph are.
fn is_same(
    plan: &FunctionPlan,
    program: &ProgramFunction,
    has_same_key: bool,
    equal: Equal,
) -> bool {
    let Some(old) = &plan.code else {
        return has_same_key || !plan.ran();
    };
    program.codes().any(|new| {
        let have_same_places = equal == Equal::Code || old.places == new.places;
        old.blocks == new.blocks && old.edges == new.edges && have_same_places
    })
}

/// The functions of the plan that are the same, with all functions of the program that they call.
pub(super) fn unchanged(
    plan: &Plan,
    program: &Program,
    pairs: &BTreeMap<Key, Key>,
    equal: Equal,
) -> BTreeSet<Key> {
    let mut same: BTreeSet<&Key> = BTreeSet::new();
    // By new function: the names that it calls, as far as counts show them.
    let mut callees: BTreeMap<&Key, Vec<u32>> = BTreeMap::new();
    for (old, new) in pairs {
        let Some(function) = plan.find(&old.0, old.1) else {
            continue;
        };
        let copies = &program.functions[new];
        if old.1 == new.1 && is_same(function, copies, old == new, equal) {
            same.insert(new);
        }
        let blocks = copies.codes().flat_map(|code| &code.blocks);
        let mut names: Vec<u32> = blocks.flat_map(|block| block.callees.clone()).collect();
        names.extend(function.targets.keys().map(|(_, name)| name_hash(name)));
        callees.insert(new, names);
    }
    let mut by_name: BTreeMap<u32, Vec<&Key>> = BTreeMap::new();
    for key in program.functions.keys() {
        by_name.entry(name_hash(&key.0)).or_default().push(key);
    }
    let mut callers: BTreeMap<&Key, Vec<&Key>> = BTreeMap::new();
    for (&caller, names) in &callees {
        for callee in names.iter().filter_map(|name| by_name.get(name)).flatten() {
            callers.entry(callee).or_default().push(caller);
        }
    }
    let changed = program.functions.keys().filter(|key| !same.contains(key));
    let mut waiting: Vec<&Key> = changed.collect();
    while let Some(changed) = waiting.pop() {
        for caller in callers.get(changed).into_iter().flatten() {
            if same.remove(*caller) {
                waiting.push(caller);
            }
        }
    }
    let old = pairs.iter().filter(|(_, new)| same.contains(new));
    old.map(|(old, _)| old.clone()).collect()
}
