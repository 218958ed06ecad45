//! The code that never ran (`--uncovered`), for the terminal and JSON.

use holloway_analysis::uncovered::{Uncovered, uncovered};
use holloway_analysis::{Function, RunProfile};
use holloway_format::Scope;

use crate::code::{Origin, is_workspace};
use crate::filter::Filter;
use crate::options::Options;
use crate::places::is_library;

/// Finds the code that never ran. If the user selects no code, this is code of the workspace.
/// Methods that `#[derive]` makes are left out, because the user did not write them. `max_paths`
/// limits the paths that are listed for a function.
pub(crate) fn of_run<'a>(
    run: &'a RunProfile,
    names: &Filter<'_>,
    options: &Options<'_>,
    max_paths: usize,
) -> Uncovered<'a> {
    let keep = keeps_code(run, names, options);
    uncovered(run, &keep, is_library, max_paths)
}

/// Whether the user asks for the coverage of a scope's code.
pub(crate) fn keeps_code(
    run: &RunProfile,
    names: &Filter<'_>,
    options: &Options<'_>,
) -> impl Fn(&Function, &Scope) -> bool {
    let only_workspace = shows_workspace(names, options);
    move |function, scope| {
        (!only_workspace || is_workspace(&scope.file))
            && names.keeps_scope(run, function, scope)
            && !is_derived(options, scope)
    }
}

/// Whether `#[derive]` made a function: whether it is declared on the line of the attribute, or on
/// a line of an attribute's list that has one trait per line.
fn is_derived(options: &Options<'_>, scope: &Scope) -> bool {
    if !scope.file.ends_with(".rs") {
        return false;
    }
    let text = |line: u32| options.source.line(&scope.file, line).unwrap_or_default();
    let is_attribute = |line: &str| {
        let line = line.trim_start();
        line.starts_with("#[derive(") || line.starts_with("#[cfg_attr(") && line.contains("derive(")
    };
    // A line with one trait of a list: `    Debug,`.
    let is_trait = |line: &str| {
        let name = line.trim().trim_end_matches(',');
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_:".contains(c))
    };
    let mut above = (1..=scope.line).rev().map(text);
    let attribute = above.find(|line| !is_trait(line));
    attribute.is_some_and(|line| is_attribute(&line))
}

/// Whether the list is limited to the workspace, because the user selected no other code.
pub(crate) fn shows_workspace(names: &Filter<'_>, options: &Options<'_>) -> bool {
    match options.code.origin {
        Origin::ByView => !names.selects(),
        Origin::Workspace => true,
        Origin::All => false,
    }
}
