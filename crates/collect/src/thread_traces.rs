//! The traces of one process, read back from its files: one for each thread.

use std::collections::{BTreeMap, HashMap};

use holloway_analysis::trace::{AssembleError, Checked, Excerpt, Extent, Terminal, Trace, check};
use holloway_format::trace::{TraceFile, TraceHead, TraceStream};
use holloway_format::{Count, Fact, FunctionCounts, ImageMap, ProfileHead};

/// Which part of the traces is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceSelection {
    /// All events.
    All,
    /// Counts, and whether the files can be decoded. No grammars.
    Check,
    /// A part of the events.
    Events {
        /// Position of the first.
        from: u64,
        /// Number of events.
        count: u64,
    },
}

/// The trace of one thread.
pub struct ThreadTrace {
    /// The thread's id.
    pub thread: u32,
    /// Its events.
    pub trace: Trace,
    /// Which part of the events this is, unless it is all of them.
    pub part: Option<Extent>,
    /// The result of a [check](TraceSelection::Check). Then the grammar is empty.
    pub checked: Option<Checked>,
    /// Bytes in the file of traces.
    pub file_bytes: Option<u64>,
    /// Why a part of the trace could not be read.
    pub damage: Vec<Fact>,
}

impl ThreadTrace {
    /// Number of paths, in a [checked](TraceSelection::Check) trace.
    pub(crate) fn paths(&self) -> u64 {
        let counts = self.counts().map(|(_, count)| count);
        counts.fold(0, u64::saturating_add)
    }

    /// How often each path ran, in a [checked](TraceSelection::Check) trace.
    fn counts(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        let counts = self.checked.as_ref().map_or(&[][..], |found| &found.counts);
        let counts = self.trace.terminals.iter().zip(counts);
        counts.filter_map(|(terminal, &count)| match *terminal {
            Terminal::Path { function, path } if count > 0 => Some(((function, path), count)),
            _ => None,
        })
    }
}

/// How often paths ran, by the function's index in the map and the path's number.
pub(crate) type PathCounts = HashMap<(u32, u32), u64>;

/// The head of a file of traces.
pub(crate) fn head(profile: &ProfileHead) -> TraceHead {
    TraceHead {
        process: profile.pid,
        build_id: profile.build_id,
    }
}

/// Reads the traces in files. Files of other processes are skipped.
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
            let Read {
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

/// A stream as it was read.
#[derive(Default)]
struct Read {
    trace: Trace,
    part: Option<Extent>,
    checked: Option<Checked>,
    damage: Option<Fact>,
}

/// Reads a stream. If only a part can be read, the part is read, with the damage.
fn read_stream(stream: &TraceStream<'_>, selection: TraceSelection) -> Read {
    let read = match selection {
        TraceSelection::All => read_all(stream),
        TraceSelection::Check => check_stream(stream),
        TraceSelection::Events { from, count } => match Excerpt::read(stream, from, count) {
            Ok(Some(Excerpt { before, trace })) => {
                let events = stream.length;
                Ok(Read {
                    trace,
                    part: Some(Extent { before, events }),
                    ..Read::default()
                })
            }
            Ok(None) => read_all(stream),
            Err(why) => Err(why),
        },
    };
    read.unwrap_or_else(|why| Read {
        damage: Some(Fact::TraceGrammar(why)),
        ..Read::default()
    })
}

fn read_all(stream: &TraceStream<'_>) -> Result<Read, AssembleError> {
    let (trace, damage) = Trace::read(stream)?;
    Ok(Read {
        trace,
        damage: damage.map(Fact::TraceBlock),
        ..Read::default()
    })
}

fn check_stream(stream: &TraceStream<'_>) -> Result<Read, AssembleError> {
    let checked = check(stream)?;
    Ok(Read {
        trace: Trace {
            terminals: stream.terminals.clone(),
            ..Trace::default()
        },
        damage: checked.damage.clone().map(Fact::TraceBlock),
        checked: Some(checked),
        ..Read::default()
    })
}

/// How often each path ran in [checked](TraceSelection::Check) traces.
pub(crate) fn path_counts(traces: &[ThreadTrace]) -> PathCounts {
    let mut all = PathCounts::new();
    add(&mut all, traces.iter().flat_map(ThreadTrace::counts));
    all
}

/// Adds counts of paths.
pub(crate) fn add(sums: &mut PathCounts, counts: impl IntoIterator<Item = ((u32, u32), u64)>) {
    for (path, count) in counts {
        let sum = sums.entry(path).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// The counts by module, function and path.
pub(crate) fn by_function(all: &PathCounts, map: &ImageMap) -> Vec<FunctionCounts> {
    let mut sums: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
    for (&(function, path), &count) in all {
        sums.entry(function).or_default().insert(path.into(), count);
    }
    let modules = (0u32..).zip(&map.modules);
    let places = modules.flat_map(|(module, placed)| {
        let functions = (0u32..).zip(&placed.module.functions);
        functions.map(move |(function, map)| (module, function, map.hash))
    });
    let counts = (0u32..).zip(places).filter_map(|(number, place)| {
        let (module, function, hash) = place;
        Some(FunctionCounts {
            module,
            function,
            hash,
            counts: sums
                .get(&number)?
                .iter()
                .map(|(&path, &count)| (path, Count(count)))
                .collect(),
        })
    });
    counts.collect()
}
