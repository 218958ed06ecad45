//! Writes the sums over functions as JSON: of all selected functions, and by crate or file.

use holloway_analysis::RunProfile;
use holloway_analysis::functions::{Sums, Weight, sums_by};
use holloway_format::Count;
use serde::Serialize;

use super::fields::bound;
use crate::filter::Filter;
use crate::parts::{Part, sums_by_part};

/// The sums over the functions that ran and that the filter keeps, whether or not the document
/// lists them.
#[derive(Serialize)]
pub(super) struct SumsRecord {
    all: SumRecord,
    by_part: Vec<PartRecord>,
}

#[derive(Serialize)]
struct PartRecord {
    #[serde(rename = "crate", skip_serializing_if = "Option::is_none")]
    crate_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(flatten)]
    sums: SumRecord,
}

#[derive(Serialize)]
struct SumRecord {
    functions: u64,
    calls: Count,
    path_executions: Count,
    distinct_paths: u64,
    block_executions: Count,
    instructions: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<&'static str>,
}

impl SumsRecord {
    pub(super) fn new(run: &RunProfile, names: &Filter<'_>, weight: Weight) -> SumsRecord {
        let all = sums_by(run, &|id| names.keeps(run, id).then_some(()));
        let all = all.get(&()).copied().unwrap_or_default();
        let by_part = sums_by_part(run, names, weight).into_iter();
        let by_part = by_part.map(|(part, sums)| {
            let (crate_name, file) = match part {
                Part::Crate(name) => (Some(name), None),
                Part::File(file) => (None, Some(file)),
            };
            PartRecord {
                crate_name,
                file,
                sums: SumRecord::new(&sums),
            }
        });
        SumsRecord {
            all: SumRecord::new(&all),
            by_part: by_part.collect(),
        }
    }
}

impl SumRecord {
    fn new(sums: &Sums) -> SumRecord {
        SumRecord {
            functions: sums.functions,
            calls: sums.calls,
            path_executions: sums.path_executions,
            distinct_paths: sums.distinct_paths,
            block_executions: sums.blocks,
            instructions: sums.instructions,
            bound: bound(sums.bound.and(sums.calls_bound)),
        }
    }
}
