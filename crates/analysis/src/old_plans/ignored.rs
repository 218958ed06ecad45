//! The lines of a plan that fit nothing in the program. Whoever edits a plan, or writes one, learns
//! of them.

use holloway_format::{FunctionPlan, PrefetchPlan, Text};

use super::program::{Program, ProgramFunction};

/// A line that fits nothing in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredLine {
    /// The linkage name of the function that the line is about.
    pub function: Text,
    /// The line.
    pub place: IgnoredPlace,
}

/// What a line that fits nothing is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IgnoredPlace {
    /// An unpredictable branch: this edge is no outcome of a condition.
    Unpredictable(usize),
    /// Copied blocks: these edges do not follow one another.
    Tail(Vec<usize>),
    /// A target: the function has no indirect call with this number.
    Target(usize),
    /// A size: the function has no memory operation of unknown size with this number.
    Size(usize),
    /// A load to prefetch: no code has this line and column.
    Load {
        /// The line.
        line: u32,
        /// The column. 0 stands for all of them.
        column: u32,
    },
}

/// Removes the lines of a function that fit nothing in `code`, and returns them.
pub(super) fn remove_ignored(
    function: &mut FunctionPlan,
    code: &ProgramFunction,
) -> Vec<IgnoredPlace> {
    let mut ignored = Vec::new();
    function.unpredictable.retain(|&edge, _| {
        let fits = code.is_condition.get(edge) == Some(&true);
        keep(fits, || IgnoredPlace::Unpredictable(edge), &mut ignored)
    });
    function.tails.retain(|edges, _| {
        let fits = is_path(code, edges);
        keep(fits, || IgnoredPlace::Tail(edges.clone()), &mut ignored)
    });
    function.targets.retain(|&(site, _), _| {
        let fits = code.indirect_calls.is_none_or(|calls| site < calls);
        keep(fits, || IgnoredPlace::Target(site), &mut ignored)
    });
    function.sizes.retain(|&(site, _), _| {
        let fits = code.sized_operations.is_none_or(|count| site < count);
        keep(fits, || IgnoredPlace::Size(site), &mut ignored)
    });
    ignored
}

fn keep(fits: bool, place: impl FnOnce() -> IgnoredPlace, ignored: &mut Vec<IgnoredPlace>) -> bool {
    if !fits {
        ignored.push(place());
    }
    fits
}

/// Whether each edge begins where the one before it ends. Unknown code may have any path.
fn is_path(function: &ProgramFunction, edges: &[usize]) -> bool {
    let Some(code) = &function.code else {
        return true;
    };
    edges.windows(2).all(|pair| {
        let [first, second] = [pair[0], pair[1]].map(|edge| code.edges.get(edge));
        matches!((first, second), (Some((_, end)), Some((start, _))) if end == start)
    })
}

/// The place of a load, if no code of the program has it.
pub(super) fn ignored_load(load: PrefetchPlan, program: &Program) -> Option<IgnoredPlace> {
    let PrefetchPlan { line, column, .. } = load;
    let columns = match column {
        0 => 0..=u32::MAX,
        _ => column..=column,
    };
    let places = (line, *columns.start())..=(line, *columns.end());
    let fits = program.places.range(places).next().is_some();
    (!fits).then_some(IgnoredPlace::Load { line, column })
}
