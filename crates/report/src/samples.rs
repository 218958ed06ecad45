//! The words and the selection that the text and the JSON document of a watched run share.

use holloway_abi::Unit;
use holloway_analysis::CountBasis;
use holloway_analysis::samples::{SampledFile, SampledRun, TimeProfile, TimedFunction};
use holloway_format::branches::RecordSource;
use holloway_format::samples::{KnownBlocks, SampleClock};

use crate::names;
use crate::numbers::{grouped, plural};
use crate::options::Options;

/// The views of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SampleView {
    /// A row for each function.
    #[default]
    Functions,
    /// A row for each block.
    Blocks,
    /// A row for each line.
    Lines,
    /// A row for each edge, with executions from branch records, or estimated.
    Edges,
    /// A row for each branch, with executions from branch records, or estimated.
    Branches,
    /// The hottest paths, from branch records.
    Paths,
}

/// What was counted between two samples, for people.
pub(crate) fn clock_words(clock: SampleClock) -> &'static str {
    match clock {
        SampleClock::Cycles => "processor cycles",
        SampleClock::CpuTime => "CPU time, by the kernel's timer",
        SampleClock::Tick => "CPU time, by the kernel's tick",
        SampleClock::Other => "another event than time",
    }
}

/// What was counted between two samples, in JSON.
pub(crate) fn clock_code(clock: SampleClock) -> &'static str {
    match clock {
        SampleClock::Cycles => "cycles",
        SampleClock::CpuTime => "cpu-time",
        SampleClock::Tick => "tick",
        SampleClock::Other => "other",
    }
}

/// Where the counts of a run come from, in JSON.
pub(crate) fn basis_code(basis: CountBasis) -> &'static str {
    match basis {
        CountBasis::Counts => "counts",
        CountBasis::Time { .. } => "time",
        CountBasis::Branches { .. } => "branches",
    }
}

/// What samples of an event tell, in a word.
pub(crate) fn clock_basis(clock: SampleClock) -> &'static str {
    match clock {
        SampleClock::Cycles | SampleClock::CpuTime | SampleClock::Tick => "time-based",
        SampleClock::Other => "sampled, not time-based",
    }
}

/// The same, in JSON.
pub(crate) fn clock_basis_code(clock: SampleClock) -> &'static str {
    match clock {
        SampleClock::Cycles | SampleClock::CpuTime | SampleClock::Tick => "time",
        SampleClock::Other => "events",
    }
}

/// Where samples come from, in JSON.
pub(crate) fn source_code(source: RecordSource) -> &'static str {
    match source {
        RecordSource::PerfData => "perf.data",
        RecordSource::PreAggregated => "bolt",
        RecordSource::Monitor => "monitor",
    }
}

/// What the reader must know of estimated counts. `None` if the counts are exact.
pub(crate) fn basis_words(basis: CountBasis) -> Option<String> {
    match basis {
        CountBasis::Counts => None,
        CountBasis::Time { samples } => Some(format!(
            "time-based: executions are estimated from {}, as if each instruction took 1 ns",
            plural(samples, "sample")
        )),
        CountBasis::Branches {
            branches,
            depth,
            unit,
        } => {
            let records = match depth {
                0 => format!("records of {} taken branches", grouped(branches)),
                _ => format!(
                    "stacks of up to {} taken branches, {} in all",
                    grouped(depth),
                    grouped(branches)
                ),
            };
            Some(match unit {
                Unit::Edges => format!("sampled, not exact: edges in {records}"),
                Unit::Paths => {
                    format!("sampled, not exact: paths in {records}; longer paths are missing")
                }
            })
        }
    }
}

/// Whether the blocks of a file are known, in JSON.
pub(crate) fn blocks_code(blocks: KnownBlocks) -> &'static str {
    match blocks {
        KnownBlocks::NotWoven => "not-woven",
        KnownBlocks::NoProbes => "no-probes",
        KnownBlocks::NoSymbols => "no-symbols",
        KnownBlocks::Damaged => "damaged",
        KnownBlocks::Unread => "unread",
        KnownBlocks::Copied { .. } => "copy-unreadable",
        KnownBlocks::Known { .. } => "known",
    }
}

/// Why the blocks of a file are not known, and what to do. `None` if they are known, or if the user
/// cannot change it.
pub(crate) fn advice(file: &SampledFile) -> Option<&'static str> {
    match file.blocks {
        KnownBlocks::Known { .. } if file.map.is_none() => Some("its path map cannot be read"),
        KnownBlocks::Known { .. } | KnownBlocks::NotWoven => None,
        KnownBlocks::NoProbes => Some("it was not built with --collect none"),
        KnownBlocks::NoSymbols => {
            Some("its symbol table was stripped: strip with --strip-debug, which keeps it")
        }
        KnownBlocks::Damaged => Some("its path map or its section .pseudo_probe is damaged"),
        KnownBlocks::Unread => Some("the file was gone or changed when its samples were read"),
        KnownBlocks::Copied { .. } => Some("the copy of its path map cannot be read"),
    }
}

/// The name of a function.
pub(crate) fn name(function: &TimedFunction) -> String {
    names::display(&function.linkage_name, &function.name)
}

/// The functions that `--function`, `--crate`, and `--file` keep, each with its index and name.
pub(crate) fn kept<'p>(
    run: &SampledRun,
    profile: &'p TimeProfile,
    options: &Options<'_>,
) -> Vec<(usize, String, &'p TimedFunction)> {
    let functions = profile.functions.iter().enumerate();
    let named = functions.map(|(index, function)| (index, name(function), function));
    named
        .filter(|(_, name, function)| {
            let matches = options.function.as_ref();
            let keeps_name = matches.is_none_or(|regex| regex.is_match(name));
            let cwd = options.cwd.as_deref();
            let module = &run.files[function.file].path;
            let of_crate = crate::code::crate_of(&function.place.file, name, module);
            keeps_name
                && (!options.code.is_given()
                    || options.code.keeps_file(&function.place.file, cwd)
                        && options.code.keeps_crate(&of_crate))
        })
        .collect()
}
