//! Where a function went: instrumented, inlined into others, skipped, or without code.
//!
//! Cost: linear in the scopes of all functions, each of which the caller is asked to name.

use std::collections::BTreeMap;
use std::rc::Rc;

use holloway_format::Text;

use crate::run::{FunctionId, ModuleId, RunProfile};

/// What became of one function of the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fate {
    /// Instrumented copies.
    pub instrumented: Vec<FunctionId>,
    /// Functions it was inlined into, and into how many places of each.
    pub inlined: Vec<(FunctionId, u32)>,
    /// Modules that hold it uninstrumented, and why.
    pub skipped: Vec<(ModuleId, Text)>,
    /// Modules that define it but have no code for it.
    pub gone: Vec<ModuleId>,
}

/// Looks for functions by name, in any of the places they can be.
///
/// `named` gives the name a reader knows the function of (linkage name, source name) by, if it is one of those asked
/// for. The answer has one entry for each such name.
pub fn where_is(
    run: &RunProfile,
    named: &dyn Fn(&Text, &Text) -> Option<Rc<str>>,
) -> BTreeMap<Rc<str>, Fate> {
    let mut fates: BTreeMap<Rc<str>, Fate> = BTreeMap::new();
    for (id, function) in run.ids() {
        let map = &function.map;
        if let Some(name) = named(&map.linkage_name, &map.name) {
            fates.entry(name).or_default().instrumented.push(id);
        }
        for scope in map.scopes.iter().filter(|scope| scope.parent.is_some()) {
            let Some(name) = named(&scope.linkage_name, &scope.name) else {
                continue;
            };
            let inlined = &mut fates.entry(name).or_default().inlined;
            match inlined.last_mut() {
                Some((last, times)) if *last == id => *times += 1,
                _ => inlined.push((id, 1)),
            }
        }
    }
    for (id, module) in (0u32..).map(ModuleId).zip(&run.modules) {
        for skipped in &module.skipped {
            if let Some(name) = named(&skipped.linkage_name, &skipped.name) {
                fates
                    .entry(name)
                    .or_default()
                    .skipped
                    .push((id, skipped.reason.clone()));
            }
        }
        for gone in &module.gone {
            if let Some(name) = named(&gone.linkage_name, &gone.name) {
                fates.entry(name).or_default().gone.push(id);
            }
        }
    }
    fates
}
