//! The head of a document: totals, the table of functions, the hottest paths, and the files.

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::coverage::coverage;
use holloway_analysis::cpu_time::Shares;
use serde::Serialize;

use super::baseline::{BaselineHead, Compared};
use super::exact::Exact;
use super::files::{FileNames, FileTable};
use super::functions::{FunctionTable, Uncounted};
use super::hot::{HotPaths, ShareOfPaths, shares};
use super::missed::{MissedPaths, RanFunctions};
use super::subject::Subject;
use crate::filter::Filter;
use crate::notes::{interrupted, sentence};
use crate::options::Options;
use crate::samples::basis_words;

/// The version of the document. The page refuses other versions.
const FORMAT: u32 = 4;

/// The head of a document.
#[derive(Serialize)]
pub(super) struct Head<'a> {
    format: u32,
    title: &'a str,
    unit: &'static str,
    /// What the reader must know of estimated counts. Absent if the counts are exact.
    basis: Option<String>,
    images: Vec<ImageRecord<'a>>,
    notes: Vec<String>,
    cpu_time: Option<CpuTimeRecord>,
    totals: Totals,
    shares: Vec<ShareOfPaths>,
    functions: FunctionTable,
    never_ran: Uncounted,
    hot: HotPaths,
    missed: MissedPaths,
    files: FileNames,
    /// The names of the lines after the files.
    pub(super) parts: Vec<&'static str>,
    baseline: Option<BaselineHead<'a>>,
}

#[derive(Serialize)]
struct ImageRecord<'a> {
    name: &'a str,
    path: &'a str,
    processes: usize,
    threads: u64,
}

/// The fields have the meaning of the same fields in docs/json.md.
#[derive(Serialize)]
struct Totals {
    distinct_paths: Exact,
    possible_paths: Exact,
    distinct_edges: Exact,
    possible_edges: Exact,
    instructions: Exact,
    functions: u64,
    functions_run: u64,
}

#[derive(Serialize)]
struct CpuTimeRecord {
    user_seconds: f64,
    system_seconds: f64,
    /// Samples in woven functions, and all samples. Both are 0 without samples.
    woven_samples: Exact,
    samples: Exact,
}

impl<'a> Head<'a> {
    /// A head without parts.
    pub(super) fn new(
        run: &'a RunProfile,
        subject: &'a Subject<'_>,
        compared: Option<&Compared<'a>>,
        ran: &RanFunctions,
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
        options: &Options<'_>,
    ) -> Head<'a> {
        let ids = ran.ids();
        let interrupt = run
            .interrupt
            .map(|interrupt| format!("interrupted {}", interrupted(interrupt)));
        let functions = FunctionTable::new(run, ran, names, files);
        let never_ran = Uncounted::new(run, names, files);
        let baseline = compared.map(|compared| compared.head(run, &ids, names, files, options));
        Head {
            format: FORMAT,
            title: &subject.title,
            unit: match run.unit() {
                Unit::Paths => "paths",
                Unit::Edges => "edges",
            },
            basis: basis_words(run.basis),
            images: images(run),
            notes: interrupt
                .into_iter()
                .chain(run.damage.iter().map(sentence))
                .chain(subject.notes.iter().cloned())
                .collect(),
            cpu_time: CpuTimeRecord::new(run),
            totals: totals(run),
            shares: shares(run, &ids),
            functions,
            never_ran,
            missed: MissedPaths::new(run, ran, options),
            hot: HotPaths::new(run, names, &ids, options, compared.map(Compared::profile)),
            files: files.names(options),
            parts: Vec::new(),
            baseline,
        }
    }
}

impl CpuTimeRecord {
    fn new(run: &RunProfile) -> Option<CpuTimeRecord> {
        let time = run.cpu_time.as_ref()?;
        let (woven, samples) = match &time.shares {
            Shares::Sampled(sums) => (sums.woven.into(), sums.total.into()),
            Shares::Refused { .. } | Shares::Failed => (0u64.into(), 0u64.into()),
        };
        Some(CpuTimeRecord {
            user_seconds: time.user_ns as f64 / 1e9,
            system_seconds: time.system_ns as f64 / 1e9,
            woven_samples: woven,
            samples,
        })
    }
}

fn images(run: &RunProfile) -> Vec<ImageRecord<'_>> {
    let has_run = |image: &&holloway_analysis::Image| !image.processes.is_empty();
    let ran = run.images.iter().filter(has_run);
    ran.map(|image| ImageRecord {
        name: &image.name,
        path: image
            .processes
            .first()
            .map_or("", |process| &process.image_path),
        processes: image.processes.len(),
        threads: image
            .processes
            .iter()
            .map(|process| u64::from(process.threads))
            .sum(),
    })
    .collect()
}

fn totals(run: &RunProfile) -> Totals {
    let coverage = coverage(run);
    Totals {
        distinct_paths: coverage.distinct_paths.into(),
        possible_paths: coverage.possible_paths.into(),
        distinct_edges: coverage.distinct_edges.into(),
        possible_edges: coverage.possible_edges.into(),
        instructions: coverage.instructions.into(),
        functions: coverage.instrumented,
        functions_run: coverage.run,
    }
}
