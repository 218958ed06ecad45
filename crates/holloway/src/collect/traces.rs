//! The traces of one image in one process on their way into their file, block by block, and out of it.
//!
//! A collector writes `.hwt` while the process runs. What the raw profile still has when that is sealed goes into a file of its own, `.rest.hwt`: it
//! counts from the moment when the profile is sealed, and lies there unread if finishing was interrupted before, for the words are in the raw profile still.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use holloway_analysis::trace::{AssembleError, Checked, Excerpt, Recorded, Terminal, Trace, check};
use holloway_format::trace::{Block, StreamId, TraceFile, TraceHead, TraceStream, TraceWriter};
use holloway_format::{FunctionCounts, ImageMap, ProfileHead};
use holloway_report::trace::Part;
use std::collections::{BTreeMap, HashMap};

use crate::images;

/// Extensions of traces: what the collector wrote, and what came of the rest.
pub(crate) const TRACES: [&str; 2] = ["hwt", "rest.hwt"];

/// What is read of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// Whether it stands for what came, and numbers.
    Check,
    /// So many events from a position on, and what comes with them.
    Events {
        from: u64,
        count: u64,
    },
}

/// What one thread did.
pub(crate) struct ThreadTrace {
    /// Its id.
    pub(crate) thread: u32,
    /// What it did.
    pub(crate) trace: Trace,
    /// Which part of that, if not all was asked for.
    pub(crate) part: Option<Part>,
    /// What a check found, if that was asked for: then the grammar is empty.
    pub(crate) checked: Option<Checked>,
    /// Bytes in the file of traces.
    pub(crate) file_bytes: Option<u64>,
    /// What of it could not be read.
    pub(crate) damage: Vec<String>,
}

impl ThreadTrace {
    /// Paths run, of one that was [checked](Wanted::Check).
    pub(crate) fn paths(&self) -> u64 {
        let counts = self.counts().map(|(_, count)| count);
        counts.fold(0, u64::saturating_add)
    }

    /// How often which path ran, of one that was [checked](Wanted::Check).
    fn counts(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        let counts = self.checked.as_ref().map_or(&[][..], |found| &found.counts);
        let counts = self.trace.terminals.iter().zip(counts);
        counts.filter_map(|(terminal, &count)| match *terminal {
            Terminal::Path { function, path } if count > 0 => Some(((function, path), count)),
            _ => None,
        })
    }
}

/// Where blocks are written to.
pub(crate) enum Out {
    /// A file.
    File(File),
    /// Nothing is left on disk.
    Memory(Vec<u8>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// The traces of a process as they are written.
#[derive(Default)]
pub(crate) struct Traces {
    writer: Option<Writer>,
    /// Streams begun.
    streams: u32,
    /// Why nothing more is written.
    failed: Option<io::Error>,
    place: Place,
    counts: PathCounts,
}

/// A thread that codes and writes: half of the work is there. Meanwhile the next block is made.
struct Writer {
    entries: SyncSender<Entry>,
    thread: JoinHandle<io::Result<Out>>,
}

/// What the file gets next.
enum Entry {
    /// A stream, of the thread with this id.
    Stream(u32),
    Block(StreamId, Block),
}

/// Entries that wait to be written; a block takes some MB.
const WAITING: usize = 4;

impl Writer {
    fn start(out: Out, head: &TraceHead) -> io::Result<Self> {
        let writer = TraceWriter::new(out, head)?;
        let (entries, waiting) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let thread = thread.spawn(move || write(writer, &waiting))?;
        Ok(Self { entries, thread })
    }

    /// Waits where too much waits to be written.
    fn put(&self, entry: Entry) -> io::Result<()> {
        // Nobody listens: it could not write, and `finish` says why.
        let sent = self.entries.send(entry);
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// What was written, or why it could not be.
    fn finish(self) -> io::Result<Out> {
        drop(self.entries);
        let written = self.thread.join();
        written.unwrap_or_else(|_| Err(io::Error::other("the trace's writer panicked")))
    }
}

fn write(mut writer: TraceWriter<Out>, entries: &Receiver<Entry>) -> io::Result<Out> {
    for entry in entries {
        match entry {
            Entry::Stream(thread) => drop(writer.stream(thread)?),
            Entry::Block(stream, block) => writer.block(stream, &block)?,
        }
    }
    writer.finish()
}

/// How often paths ran, by place of the function in the map and path number.
pub(crate) type PathCounts = HashMap<(u32, u32), u64>;

/// Where traces are written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// What a collector takes: a new file.
    #[default]
    Taken,
    /// The rest: in place of what an interrupted finishing left there.
    Rest,
    Memory,
}

impl Traces {
    /// Traces that are kept in memory.
    pub(crate) fn in_memory() -> Self {
        Self {
            place: Place::Memory,
            ..Self::default()
        }
    }

    /// Traces of what a raw profile still has when it is sealed.
    pub(crate) fn of_rest() -> Self {
        Self {
            place: Place::Rest,
            ..Self::default()
        }
    }

    /// Adds counts of paths in what is recorded.
    pub(crate) fn count(&mut self, counts: PathCounts) {
        for (path, count) in counts {
            let sum = self.counts.entry(path).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// How often each path ran in what was recorded.
    pub(crate) fn path_counts(&self, map: &ImageMap) -> Vec<FunctionCounts> {
        in_order(&self.counts, map)
    }

    /// The counts, to go on with.
    pub(crate) fn take_counts(&mut self) -> PathCounts {
        std::mem::take(&mut self.counts)
    }

    /// Writes what was made of a thread's words. `stream` is that of the thread, once it has one.
    pub(crate) fn record(
        &mut self,
        profile: &Path,
        head: &TraceHead,
        recorded: Vec<Recorded>,
        stream: &mut ThreadStream,
    ) {
        for one in recorded {
            if self.failed.is_some() {
                return;
            }
            self.failed = self.try_record(profile, head, one, stream).err();
        }
    }

    fn try_record(
        &mut self,
        profile: &Path,
        head: &TraceHead,
        recorded: Recorded,
        stream: &mut ThreadStream,
    ) -> io::Result<()> {
        if self.writer.is_none() {
            let [taken, rest] = paths(profile);
            let out = match self.place {
                Place::Taken => Out::File(File::create_new(taken)?),
                Place::Rest => Out::File(File::create(rest)?),
                Place::Memory => Out::Memory(Vec::new()),
            };
            self.writer = Some(Writer::start(out, head)?);
        }
        let writer = self.writer.as_ref().expect("made above");
        match recorded {
            Recorded::Owner(thread) => {
                *stream = ThreadStream { thread, id: None };
            }
            Recorded::Block(block) => {
                let id = match stream.id {
                    Some(id) => id,
                    None => {
                        writer.put(Entry::Stream(stream.thread))?;
                        self.streams += 1;
                        *stream.id.insert(StreamId(self.streams - 1))
                    }
                };
                writer.put(Entry::Block(id, block))?;
            }
        }
        Ok(())
    }

    /// Ends the file. Gives its bytes if they are in memory only.
    ///
    /// # Errors
    /// Something could not be written.
    pub(crate) fn finish(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.streams = 0;
        let written = self.writer.take().map(Writer::finish).transpose();
        let failed = self.failed.take();
        match (written?, failed) {
            (_, Some(error)) => Err(error),
            (Some(Out::Memory(bytes)), None) => Ok(Some(bytes)),
            (Some(Out::File(_)) | None, None) => Ok(None),
        }
    }
}

/// The thread that a ring's words are of, and its stream in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadStream {
    /// Its id.
    pub(crate) thread: u32,
    /// Once it has one.
    pub(crate) id: Option<StreamId>,
}

fn paths(profile: &Path) -> [PathBuf; 2] {
    TRACES.map(|extension| profile.with_extension(extension))
}

/// The files of traces that count beside a profile: of a raw one only what was taken from it.
pub(crate) fn beside(profile: &Path, is_sealed: bool) -> Vec<Vec<u8>> {
    let files = paths(profile);
    let files = &files[..if is_sealed { 2 } else { 1 }];
    let files = files.iter().map(|file| images::read_regular(file));
    files.filter_map(Result::ok).collect()
}

/// Before finishing begins: an interrupted one may have left something.
///
/// # Errors
/// It can't be removed.
pub(crate) fn forget_rest(profile: &Path) -> io::Result<()> {
    let [_, rest] = paths(profile);
    match std::fs::remove_file(rest) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The profile is sealed: what came of the rest gets the usual name, if nothing has it.
pub(crate) fn settle(profile: &Path) {
    let [taken, rest] = paths(profile);
    if !taken.exists() {
        std::fs::rename(rest, taken).ok();
    }
}

/// What a file of traces says first.
pub(crate) fn head(of: &ProfileHead) -> TraceHead {
    TraceHead {
        process: of.pid,
        build_id: of.build_id,
    }
}

/// What there is to say of a file that nobody ended.
const UNFINISHED: &str =
    "the trace was not ended: what its collector took last is not written, or lost with it";

/// The traces in files, of those that are this process's.
pub(crate) fn read(files: &[Vec<u8>], of: &ProfileHead, wanted: Wanted) -> Vec<ThreadTrace> {
    let mut traces = Vec::new();
    for bytes in files {
        let Ok(file) = TraceFile::read(bytes) else {
            continue;
        };
        if file.head != head(of) {
            continue;
        }
        for stream in &file.streams {
            let Read {
                trace,
                part,
                checked,
                damage,
            } = read_stream(stream, wanted);
            let cut = file.damage.as_ref().map(|why| {
                let process = file.head.process;
                format!(
                    "of process {process}'s traces {why}: paths behind that place are missing, of this thread or of others, and threads that began behind it; record the run again"
                )
            });
            let damage = damage.into_iter().chain(cut);
            let unfinished =
                (!file.is_finished && file.damage.is_none()).then(|| UNFINISHED.to_owned());
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

/// What was read of a stream.
#[derive(Default)]
struct Read {
    trace: Trace,
    part: Option<Part>,
    checked: Option<Checked>,
    damage: Option<String>,
}

/// Where a part can't be read, all that can is.
fn read_stream(stream: &TraceStream<'_>, wanted: Wanted) -> Read {
    let read = match wanted {
        Wanted::All => read_all(stream),
        Wanted::Check => check_stream(stream),
        Wanted::Events { from, count } => match Excerpt::read(stream, from, count) {
            Ok(Some(Excerpt { before, trace })) => {
                let events = stream.length;
                Ok(Read {
                    trace,
                    part: Some(Part { before, events }),
                    ..Read::default()
                })
            }
            Ok(None) => read_all(stream),
            Err(why) => Err(why),
        },
    };
    read.unwrap_or_else(|why| Read {
        damage: Some(why.to_string()),
        ..Read::default()
    })
}

fn read_all(stream: &TraceStream<'_>) -> Result<Read, AssembleError> {
    let (trace, damage) = Trace::read(stream)?;
    Ok(Read {
        trace,
        damage: damage.map(|why| why.to_string()),
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
        damage: checked.damage.as_ref().map(ToString::to_string),
        checked: Some(checked),
        ..Read::default()
    })
}

/// How often each path ran, of traces that were [checked](Wanted::Check).
pub(crate) fn path_counts(traces: &[ThreadTrace]) -> PathCounts {
    let mut all = PathCounts::new();
    for (path, count) in traces.iter().flat_map(ThreadTrace::counts) {
        let sum = all.entry(path).or_default();
        *sum = sum.saturating_add(count);
    }
    all
}

/// The same by module, function and path.
pub(crate) fn in_order(all: &PathCounts, map: &ImageMap) -> Vec<FunctionCounts> {
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
                .map(|(&path, &count)| (path, count))
                .collect(),
        })
    });
    counts.collect()
}
