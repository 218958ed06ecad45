//! Finds out what the build did with a function: instrumented, inlined, skipped, or removed.
//!
//! Cost: linear in the scopes of all functions; the caller's `asked_name` runs once for each scope.

use std::collections::BTreeMap;
use std::rc::Rc;

use holloway_format::Text;

use crate::run::{FunctionId, ModuleId, RunProfile};

/// What the build did with the copies of one source function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fate {
    /// Instrumented copies.
    pub instrumented: Vec<FunctionId>,
    /// Functions that contain inlined copies, each with the number of these copies.
    pub inlined: Vec<(FunctionId, u32)>,
    /// Modules that hold an uninstrumented copy, each with the reason.
    pub skipped: Vec<(ModuleId, Text)>,
    /// Modules that define the function but have no code for it.
    pub gone: Vec<ModuleId>,
}

/// Finds functions by name among instrumented, inlined, skipped, and removed functions.
///
/// `asked_name` receives a linkage name and a source name. If the user asked for that function, it
/// returns the name that the user knows the function by. The result has one entry for each such
/// name.
pub fn where_is(
    run: &RunProfile,
    asked_name: &dyn Fn(&Text, &Text) -> Option<Rc<str>>,
) -> BTreeMap<Rc<str>, Fate> {
    let mut fates: BTreeMap<Rc<str>, Fate> = BTreeMap::new();
    for (id, function) in run.ids() {
        let map = &function.map;
        if let Some(name) = asked_name(&map.linkage_name, &map.name) {
            fates.entry(name).or_default().instrumented.push(id);
        }
        for scope in map.scopes.iter().filter(|scope| scope.parent.is_some()) {
            let Some(name) = asked_name(&scope.linkage_name, &scope.name) else {
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
            if let Some(name) = asked_name(&skipped.linkage_name, &skipped.name) {
                fates
                    .entry(name)
                    .or_default()
                    .skipped
                    .push((id, skipped.reason.clone()));
            }
        }
        for gone in &module.gone {
            if let Some(name) = asked_name(&gone.linkage_name, &gone.name) {
                fates.entry(name).or_default().gone.push(id);
            }
        }
    }
    fates
}
