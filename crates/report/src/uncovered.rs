//! The code that never ran (`--uncovered`), for the terminal and JSON.

use holloway_analysis::RunProfile;
use holloway_analysis::uncovered::{Uncovered, uncovered};

use crate::code::{Origin, is_workspace};
use crate::filter::Filter;
use crate::options::Options;
use crate::places::is_library;

/// Finds the code that never ran. If the user selects no code, this is code of the workspace.
/// `max_paths` limits the paths that are listed for a function.
pub(crate) fn of_run<'a>(
    run: &'a RunProfile,
    names: &Filter<'_>,
    options: &Options<'_>,
    max_paths: usize,
) -> Uncovered<'a> {
    let is_shown = |file: &str| !shows_workspace(names, options) || is_workspace(file);
    uncovered(
        run,
        &|function, scope| is_shown(&scope.file) && names.keeps_scope(run, function, scope),
        is_library,
        max_paths,
    )
}

/// Whether the list is limited to the workspace, because the user selected no other code.
pub(crate) fn shows_workspace(names: &Filter<'_>, options: &Options<'_>) -> bool {
    match options.code.origin {
        Origin::ByView => names.keeps_all(),
        Origin::Workspace => true,
        Origin::All => false,
    }
}
