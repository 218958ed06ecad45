//! The counts of one phase, as a run of its own, so that every view can show it.
//!
//! Cost: a step for each distinct path of the phase.

use std::collections::BTreeMap;

use holloway_format::{Count, FunctionCounts, FunctionIndex, ImageMap, Profile, ProfileHead};

use crate::run::RunProfile;
use crate::trace::{Terminal, Trace};

/// A run that executed only these terminals of a trace, each so many times. `head` is the head of
/// the profile of the trace's process.
pub fn run_of_paths(
    map: &ImageMap,
    head: ProfileHead,
    trace: &Trace,
    paths: &[(u32, Count)],
) -> RunProfile {
    let mut counts: BTreeMap<u32, Vec<(u64, Count)>> = BTreeMap::new();
    for &(terminal, count) in paths {
        if let Terminal::Path { function, path } = trace.terminals[terminal as usize] {
            let function = counts.entry(function).or_default();
            function.push((path.into(), count));
        }
    }
    let modules = (0u32..).zip(&map.modules);
    let functions = modules.flat_map(|(module, placed)| {
        let functions = (0u32..).zip(&placed.module.functions);
        functions.map(move |(function, map)| (FunctionIndex { module, function }, map.hash))
    });
    let functions = (0u32..)
        .zip(functions)
        .filter_map(|(number, (index, hash))| {
            let mut counts = counts.remove(&number)?;
            counts.sort_unstable_by_key(|&(path, _)| path);
            Some(FunctionCounts::new(index, hash, counts))
        });
    let profile = Profile {
        functions: functions.collect(),
        ..Profile::from_head(head)
    };
    RunProfile::new(vec![(map.clone(), vec![profile])])
}
