//! Writes the coverage of a run as JSON (`holloway coverage`), as a document of its own.

use std::io::{self, Write};

use holloway_analysis::covered::{
    CodeCoverage, DecisionCoverage, Evidence, FunctionCoverage, Measures, Ratio,
};
use holloway_analysis::missing_paths::MissingPath;
use holloway_analysis::{Function, Interrupt, RunProfile};
use holloway_format::Count;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::covered::{of_run, without_conditions};
use crate::filter::Filter;
use crate::notes::Sentences;
use crate::options::Options;
use crate::path_names::full_name;

/// Maximum number of missing paths that are listed for a function.
const MAX_PATHS: usize = 10;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'static str>,
    damage: Sentences<'a>,
    coverage: CoverageRecord<'a>,
}

#[derive(Serialize)]
struct CoverageRecord<'a> {
    totals: MeasuresRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    without_conditions: Option<&'static str>,
    large_decisions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncounted_prime_paths: Option<UncountedRecord>,
    files: Vec<FileRecord<'a>>,
    functions: Vec<FunctionRecord<'a>>,
    decisions: Vec<DecisionRecord<'a>>,
}

#[derive(Serialize)]
struct MeasuresRecord {
    functions: RatioRecord,
    lines: RatioRecord,
    branches: RatioRecord,
    paths: RatioRecord,
    conditions: RatioRecord,
    prime_paths: RatioRecord,
}

#[derive(Serialize)]
struct UncountedRecord {
    functions: u64,
    long_paths: u64,
    lossy: bool,
}

#[derive(Serialize)]
struct RatioRecord {
    covered: u64,
    possible: u64,
}

#[derive(Serialize)]
struct FileRecord<'a> {
    file: &'a str,
    #[serde(flatten)]
    measures: MeasuresRecord,
}

#[derive(Serialize)]
struct FunctionRecord<'a> {
    name: String,
    linkage_name: &'a str,
    file: &'a str,
    line: u32,
    #[serde(flatten)]
    measures: MeasuresRecord,
    missing_paths: Vec<MissingRecord>,
    missing_paths_complete: bool,
}

#[derive(Serialize)]
struct MissingRecord {
    path: u64,
    name: String,
    nearest: NearestRecord,
}

#[derive(Serialize)]
struct NearestRecord {
    path: u64,
    name: String,
    executions: Count,
    distance: usize,
    departures: Vec<DepartureRecord>,
}

#[derive(Serialize)]
struct DepartureRecord {
    edge: u32,
    from_block: u32,
    to_block: u32,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct DecisionRecord<'a> {
    function: String,
    file: &'a str,
    measured: bool,
    conditions: Vec<ConditionRecord>,
    vectors: Vec<VectorRecord>,
}

#[derive(Serialize)]
struct ConditionRecord {
    line: u32,
    column: u32,
    covered: bool,
    held: Count,
    failed: Count,
}

#[derive(Serialize)]
struct VectorRecord {
    /// `null` where the condition was not evaluated.
    values: Vec<Option<bool>>,
    outcome: bool,
    executions: Count,
}

/// Writes the document. `--top` limits the list of functions, of files, and of decisions.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(evidence: Evidence<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let run = evidence.run;
    let names = Filter::new(options);
    let coverage = of_run(evidence, &names, options, MAX_PATHS);
    let document = Document {
        schema: SCHEMA,
        interrupted: run.interrupt.map(Interrupt::name),
        damage: Sentences(&run.damage),
        coverage: record(run, &coverage, &names, options.top.unwrap_or(usize::MAX)),
    };
    document::write(&document, out)
}

fn record<'a>(
    run: &RunProfile,
    coverage: &CodeCoverage<'a>,
    names: &Filter<'_>,
    top: usize,
) -> CoverageRecord<'a> {
    let files = coverage.files.iter().take(top);
    let functions = coverage.functions.iter().take(top);
    let decisions = coverage.decisions.iter().take(top);
    CoverageRecord {
        totals: measures(&coverage.totals),
        without_conditions: without_conditions(coverage),
        large_decisions: coverage.large_decisions,
        uncounted_prime_paths: coverage.uncounted_primes.map(|uncounted| UncountedRecord {
            functions: uncounted.functions,
            long_paths: uncounted.long_paths,
            lossy: uncounted.is_lossy,
        }),
        files: files
            .map(|(file, of_file)| FileRecord {
                file,
                measures: measures(of_file),
            })
            .collect(),
        functions: functions
            .map(|function| function_record(run, function, names))
            .collect(),
        decisions: decisions
            .map(|decision| decision_record(run, decision, names))
            .collect(),
    }
}

fn measures(measures: &Measures) -> MeasuresRecord {
    let ratio = |ratio: Ratio| RatioRecord {
        covered: ratio.covered,
        possible: ratio.possible,
    };
    MeasuresRecord {
        functions: ratio(measures.functions),
        lines: ratio(measures.lines),
        branches: ratio(measures.branches),
        paths: ratio(measures.paths),
        conditions: ratio(measures.conditions),
        prime_paths: ratio(measures.prime_paths),
    }
}

fn function_record<'a>(
    run: &RunProfile,
    coverage: &FunctionCoverage<'a>,
    names: &Filter<'_>,
) -> FunctionRecord<'a> {
    let scope = coverage.scope;
    let missing = coverage.missing.iter();
    FunctionRecord {
        name: names.name_of(&scope.linkage_name, &scope.name).to_string(),
        linkage_name: &scope.linkage_name,
        file: coverage.file,
        line: coverage.line,
        measures: measures(&coverage.measures),
        missing_paths: coverage.function.map_or_else(Vec::new, |id| {
            missing
                .map(|missing| missing_record(run.function(id), missing))
                .collect()
        }),
        missing_paths_complete: coverage.is_complete,
    }
}

fn missing_record(function: &Function, missing: &MissingPath) -> MissingRecord {
    let nearest = &missing.nearest;
    let departures = nearest.departures.iter().map(|&number| {
        let edge = &function.map.edges[number as usize];
        DepartureRecord {
            edge: number,
            from_block: edge.from,
            to_block: edge.to,
            line: edge.place.map_or(0, |place| place.line),
            column: edge.place.map_or(0, |place| place.column),
        }
    });
    MissingRecord {
        path: missing.path.0,
        name: full_name(function, missing.path),
        nearest: NearestRecord {
            path: nearest.path.0,
            name: full_name(function, nearest.path),
            executions: nearest.count,
            distance: nearest.distance,
            departures: departures.collect(),
        },
    }
}

fn decision_record<'a>(
    run: &RunProfile,
    decision: &DecisionCoverage<'a>,
    names: &Filter<'_>,
) -> DecisionRecord<'a> {
    let conditions = decision.conditions.iter();
    let vectors = decision.vectors.iter();
    DecisionRecord {
        function: names.name(run.function(decision.function)).to_string(),
        file: decision.file,
        measured: decision.is_measured,
        conditions: conditions
            .map(|condition| ConditionRecord {
                line: condition.line,
                column: condition.column,
                covered: condition.is_independent,
                held: condition.held,
                failed: condition.failed,
            })
            .collect(),
        vectors: vectors
            .map(|(vector, &executions)| VectorRecord {
                values: (0..decision.conditions.len())
                    .map(|number| {
                        let bit = 1 << number;
                        (vector.evaluated & bit != 0).then_some(vector.values & bit != 0)
                    })
                    .collect(),
                outcome: vector.outcome,
                executions,
            })
            .collect(),
    }
}
