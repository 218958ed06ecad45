//! The table of functions in the head of a document, as columns: equal fields side by side compress
//! best.

use holloway_analysis::RunProfile;
use holloway_analysis::functions::Summary;
use holloway_analysis::predict::predict_paths;
use holloway_format::Count;
use serde::Serialize;
use std::collections::HashMap;

use super::exact::Exact;
use super::files::FileTable;
use crate::filter::Filter;

/// The functions that ran, those with the most instructions first. Each field has a value for each
/// function, except `module_names`.
#[derive(Serialize, Default)]
pub(super) struct FunctionTable<'a> {
    names: Vec<String>,
    files: Vec<usize>,
    lines: Vec<u32>,
    modules: Vec<usize>,
    module_names: Vec<&'a str>,
    calls: Vec<Exact>,
    instructions: Vec<Exact>,
    /// Executions of paths. 0 if edges were counted.
    executions: Vec<Exact>,
    distinct: Vec<Exact>,
    possible: Vec<Exact>,
    /// Path executions that the edge counts predict right.
    predicted: Vec<Exact>,
    /// Samples of CPU time. -1 if they are unknown.
    samples: Vec<Exact>,
}

/// Functions that never ran.
#[derive(Serialize, Default)]
pub(super) struct Uncounted {
    names: Vec<String>,
    files: Vec<usize>,
    lines: Vec<u32>,
}

impl<'a> FunctionTable<'a> {
    pub(super) fn new(
        run: &'a RunProfile,
        ran: &[Summary],
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
    ) -> FunctionTable<'a> {
        let mut table = FunctionTable::default();
        let mut modules: HashMap<&'a str, usize> = HashMap::new();
        for summary in ran {
            let function = run.function(summary.function);
            let module: &'a str = &run.module_of(function).name;
            let next = modules.len();
            let index = *modules.entry(module).or_insert(next);
            if index == next {
                table.module_names.push(module);
            }
            let (executions, distinct, possible) = match summary.paths {
                Some(paths) => (paths.executions, paths.distinct, paths.possible),
                None => (Count::ZERO, 0, 0),
            };
            table.names.push(names.name(function).to_string());
            table.files.push(files.index(&function.map.file));
            table.lines.push(function.map.line);
            table.modules.push(index);
            table.calls.push(summary.calls.into());
            table.instructions.push(summary.instructions.into());
            table.executions.push(executions.into());
            table.distinct.push(distinct.into());
            table.possible.push(possible.into());
            table.predicted.push(predicted_right(function).into());
            table
                .samples
                .push(summary.samples.map_or((-1i64).into(), Exact::from));
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
