//! The table of functions in the head of a document, as columns: equal fields side by side compress
//! best.

use holloway_analysis::RunProfile;
use holloway_analysis::functions::Summary;
use holloway_analysis::predict::predict_paths;
use holloway_format::Count;
use serde::Serialize;

use super::exact::Exact;
use super::files::FileTable;
use crate::filter::Filter;

/// The functions that ran, those with the most instructions first. Each field has a value for each
/// function.
#[derive(Serialize, Default)]
pub(super) struct FunctionTable {
    names: Vec<String>,
    files: Vec<usize>,
    lines: Vec<u32>,
    calls: Vec<Exact>,
    instructions: Vec<Exact>,
    /// Executions of paths. 0 if edges were counted.
    executions: Vec<Exact>,
    distinct: Vec<Exact>,
    /// Path executions that the edge counts predict right.
    predicted: Vec<Exact>,
}

/// Functions that never ran.
#[derive(Serialize, Default)]
pub(super) struct Uncounted {
    names: Vec<String>,
    files: Vec<usize>,
    lines: Vec<u32>,
}

impl FunctionTable {
    pub(super) fn new(
        run: &RunProfile,
        ran: &[Summary],
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
    ) -> FunctionTable {
        let mut table = FunctionTable::default();
        for summary in ran {
            let function = run.function(summary.function);
            let (executions, distinct) = match summary.paths {
                Some(paths) => (paths.executions, paths.distinct),
                None => (Count::ZERO, 0),
            };
            table.names.push(names.name(function).to_string());
            table.files.push(files.index(&function.map.file));
            table.lines.push(function.map.line);
            table.calls.push(summary.calls.into());
            table.instructions.push(summary.instructions.into());
            table.executions.push(executions.into());
            table.distinct.push(distinct.into());
            table.predicted.push(predicted_right(function).into());
        }
        table
    }
}

impl Uncounted {
    pub(super) fn new(
        run: &RunProfile,
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
    ) -> Uncounted {
        let mut table = Uncounted::default();
        let never_ran = run.ids().filter(|(_, function)| !function.ran());
        for (_, function) in never_ran.filter(|&(id, _)| names.keeps(run, id)) {
            table.names.push(names.name(function).to_string());
            table.files.push(files.index(&function.map.file));
            table.lines.push(function.map.line);
        }
        table
    }
}

/// The executions of a function's paths that the prediction from edge counts has, too.
fn predicted_right(function: &holloway_analysis::Function) -> Count {
    let counts = &function.counts;
    let right = predict_paths(function).into_iter().map(|path| {
        let index = counts.binary_search_by_key(&path.path, |&(id, _)| id);
        index.map_or(Count::ZERO, |index| counts[index].1.min(path.count))
    });
    right.fold(Count::ZERO, Count::saturating_add)
}
