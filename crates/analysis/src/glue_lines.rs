//! Finds the lines whose code is only in [glue](crate::glue), so that they never lead a list.
//!
//! Cost: linear in places times the depth of inlining.

use std::collections::{BTreeMap, BTreeSet};

use holloway_format::{FunctionMap, Scope};

use crate::glue::{is_allocator_shim, is_allocator_wrapper, is_glue};
use crate::lines::accepted_scopes;
use crate::run::{Function, RunProfile};
use crate::trail::frames;

/// Maximum number of lines of an inlined wrapper of an allocator. Its number of instructions is not
/// known.
const MAX_WRAPPER_LINES: usize = 2;

/// Returns the lines that ran in glue alone, by file, for the scopes that `keep` accepts.
pub fn glue_lines(
    run: &RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<String, BTreeSet<u32>> {
    // By line: whether all of its code is in glue.
    let mut lines: BTreeMap<(&str, u32), bool> = BTreeMap::new();
    for function in run.functions.iter().filter(|function| function.ran()) {
        let accepted_scopes = accepted_scopes(function, keep);
        let scopes = function.map.scopes.iter().zip(accepted_scopes);
        for ((scope, is_accepted), scope_lines) in scopes.zip(scope_lines(&function.map)) {
            if !is_accepted {
                continue;
            }
            let is_glue = is_glue_scope(&function.map, scope, &scope_lines);
            for line in scope_lines {
                *lines.entry((&scope.file, line)).or_insert(true) &= is_glue;
            }
        }
    }
    let mut files: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for ((file, line), _) in lines.into_iter().filter(|&(_, is_glue)| is_glue) {
        files.entry(file.to_owned()).or_default().insert(line);
    }
    files
}

/// By scope of a function: its lines, with the line of its declaration.
fn scope_lines(map: &FunctionMap) -> Vec<BTreeSet<u32>> {
    let mut lines = vec![BTreeSet::new(); map.scopes.len()];
    let places = map.blocks.iter().flat_map(|block| &block.places);
    for frame in places.flat_map(|place| frames(map, place)) {
        lines[frame.scope as usize].insert(frame.line);
    }
    for (lines, scope) in lines.iter_mut().zip(&map.scopes) {
        lines.insert(scope.line);
        lines.remove(&0);
    }
    lines
}

fn is_glue_scope(map: &FunctionMap, scope: &Scope, lines: &BTreeSet<u32>) -> bool {
    match scope.parent {
        None => is_glue(map),
        Some(_) => {
            let body = lines.iter().filter(|line| **line != scope.line);
            is_allocator_shim(&scope.linkage_name)
                || is_allocator_wrapper(&scope.linkage_name, &scope.name)
                    && body.count() <= MAX_WRAPPER_LINES
        }
    }
}
