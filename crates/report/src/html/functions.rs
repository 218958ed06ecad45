//! The table of functions in the head of a document, as columns: equal fields side by side compress
//! best.

use holloway_analysis::RunProfile;
use holloway_format::Count;
use serde::Serialize;

use super::exact::Exact;
use super::files::FileTable;
use super::missed::RanFunctions;
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
    /// Instructions executed in the other path executions.
    missed_instructions: Vec<Exact>,
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
        ran: &RanFunctions,
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
    ) -> FunctionTable {
        let mut table = FunctionTable::default();
        for (index, summary) in ran.summaries.iter().enumerate() {
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
            let missed = ran.missed(function, index);
            table.predicted.push(missed.right.into());
            table.missed_instructions.push(missed.instructions.into());
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
