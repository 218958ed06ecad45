//! Reads the traces of a process from its side files. Each thread has a trace.

use std::collections::{BTreeMap, HashMap};

use holloway_analysis::trace::{AssembleError, Checked, Excerpt, Extent, Terminal, Trace, check};
use holloway_format::trace::{TraceFile, TraceHead, TraceStream};
use holloway_format::{Count, Fact, FunctionCounts, FunctionIndex, ImageMap, ProfileHead};

/// The part of the traces to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceSelection {
    /// Read all events.
    All,
    /// Read counts of paths, and check whether the files can be decoded. Build no grammars.
    Check,
    /// Read a range of the events.
    Events {
        /// The index of the first event.
        from: u64,
        /// The number of events.
        count: u64,
    },
}

/// The trace of one thread.
pub struct ThreadTrace {
    /// The thread id.
    pub thread: u32,
    /// The events.
    pub trace: Trace,
    /// The range of the events, if `trace` does not contain all events.
    pub part: Option<Extent>,
    /// The result of a [check](TraceSelection::Check). `trace` has no grammar then.
    pub checked: Option<Checked>,
    /// The size of the trace in the file.
    pub file_bytes: Option<u64>,
    /// The reasons why parts of the trace could not be read.
    pub damage: Vec<Fact>,
}

impl ThreadTrace {
    /// Returns the number of paths in a [checked](TraceSelection::Check) trace.
    pub(crate) fn paths(&self) -> Count {
        let counts = self.counts().map(|(_, count)| count);
        counts.fold(Count::ZERO, Count::saturating_add)
    }

    /// Iterates over how often each path ran in a [checked](TraceSelection::Check) trace.
    fn counts(&self) -> impl Iterator<Item = ((u32, u32), Count)> {
        let checked = self.checked.as_ref();
        let counts = checked.map_or(&[][..], |checked| &checked.counts);
        let counts = self.trace.terminals.iter().zip(counts);
        counts.filter_map(|(terminal, &count)| match *terminal {
            Terminal::Path { function, path } if count > Count::ZERO => {
                Some(((function, path), count))
            }
            _ => None,
        })
    }
}

/// How often paths ran, by the function's index in the map and the path's number.
pub(crate) type PathCounts = HashMap<(u32, u32), Count>;

/// Returns the head of the trace file for a profile.
pub(crate) fn head(profile: &ProfileHead) -> TraceHead {
    TraceHead {
        process: profile.pid,
        build_id: profile.build_id,
    }
}

/// Reads the traces in files. Skips files of other processes.
pub(crate) fn read(
    files: &[Vec<u8>],
    profile: &ProfileHead,
    selection: TraceSelection,
) -> Vec<ThreadTrace> {
    let mut traces = Vec::new();
    for bytes in files {
        let Ok(file) = TraceFile::read(bytes) else {
            continue;
        };
        if file.head != head(profile) {
            continue;
        }
        for stream in &file.streams {
            let ReadStream {
                trace,
                part,
                checked,
                damage,
            } = read_stream(stream, selection);
            let cut = file.damage.clone().map(|why| Fact::CutTraces {
                process: file.head.process,
                why,
            });
            let damage = damage.into_iter().chain(cut);
            let is_unfinished = !file.is_finished && file.damage.is_none();
            let unfinished = is_unfinished.then_some(Fact::UnfinishedTraces);
            traces.push(ThreadTrace {
                thread: stream.thread,
                trace,
                part,
                checked,
                file_bytes: Some(stream.bytes),
                damage: damage.chain(unfinished).collect(),
            });
        }
    }
    traces
}

/// The result of reading one stream.
#[derive(Default)]
struct ReadStream {
    trace: Trace,
    part: Option<Extent>,
    checked: Option<Checked>,
    damage: Option<Fact>,
}

/// Reads a stream. If only a part can be read, returns that part and the damage.
fn read_stream(stream: &TraceStream<'_>, selection: TraceSelection) -> ReadStream {
    let read = match selection {
        TraceSelection::All => read_all(stream),
        TraceSelection::Check => check_stream(stream),
        TraceSelection::Events { from, count } => match Excerpt::read(stream, from, count) {
            Ok(Some(Excerpt { before, trace })) => {
                let events = stream.length;
                Ok(ReadStream {
                    trace,
                    part: Some(Extent { before, events }),
                    ..ReadStream::default()
                })
            }
            Ok(None) => read_all(stream),
            Err(error) => Err(error),
        },
    };
    read.unwrap_or_else(|error| ReadStream {
        damage: Some(Fact::TraceGrammar(error)),
        ..ReadStream::default()
    })
}

fn read_all(stream: &TraceStream<'_>) -> Result<ReadStream, AssembleError> {
    let (trace, damage) = Trace::read(stream)?;
    Ok(ReadStream {
        trace,
        damage: damage.map(Fact::TraceBlock),
        ..ReadStream::default()
    })
}

fn check_stream(stream: &TraceStream<'_>) -> Result<ReadStream, AssembleError> {
    let checked = check(stream)?;
    Ok(ReadStream {
        trace: Trace {
            terminals: stream.terminals.clone(),
            ..Trace::default()
        },
        damage: checked.damage.clone().map(Fact::TraceBlock),
        checked: Some(checked),
        ..ReadStream::default()
    })
}

/// Counts how often each path ran in [checked](TraceSelection::Check) traces.
pub(crate) fn path_counts(traces: &[ThreadTrace]) -> PathCounts {
    let mut all = PathCounts::new();
    add(&mut all, traces.iter().flat_map(ThreadTrace::counts));
    all
}

/// Adds counts of paths to `sums`.
pub(crate) fn add(sums: &mut PathCounts, counts: impl IntoIterator<Item = ((u32, u32), Count)>) {
    for (path, count) in counts {
        let sum = sums.entry(path).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// Groups the counts by function. In `all`, a function is given by its index in the whole map; in
/// the result, by its module and its index in the module.
pub(crate) fn by_function(all: &PathCounts, map: &ImageMap) -> Vec<FunctionCounts> {
    let mut counts_of_function: BTreeMap<u32, BTreeMap<u64, Count>> = BTreeMap::new();
    for (&(function, path), &count) in all {
        let counts = counts_of_function.entry(function).or_default();
        counts.insert(path.into(), count);
    }
    let modules = (0u32..).zip(&map.modules);
    let functions = modules.flat_map(|(module, placed)| {
        let functions = (0u32..).zip(&placed.module.functions);
        functions.map(move |(function, map)| (FunctionIndex { module, function }, map.hash))
    });
    let counts = (0u32..)
        .zip(functions)
        .filter_map(|(index_in_map, function)| {
            let (index, hash) = function;
            let counts = counts_of_function.get(&index_in_map)?.iter();
            let counts = counts.map(|(&path, &count)| (path, count));
            Some(FunctionCounts::new(index, hash, counts))
        });
    counts.collect()
}
