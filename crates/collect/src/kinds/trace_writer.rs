//! Writes the trace file of one recording, block by block, while the process runs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use holloway_analysis::trace::Recorded;
use holloway_format::trace::{Block, StreamId, TraceHead, TraceWriter};

use crate::side_files::SideFiles;

/// The maximum number of entries that wait to be written. A block takes a few megabytes.
const MAX_WAITING: usize = 4;

/// The destination of the traces of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The first side file, which must not exist yet.
    FirstFile,
    /// The second side file. It replaces the file of an interrupted sealing.
    SecondFile,
    /// Memory: no file is written.
    Memory,
}

/// Writes the traces of a recording to their target. The first block opens the target.
pub(super) struct TraceOutput {
    target: Target,
    writer: Option<WriterThread>,
    /// The number of streams in the file.
    streams: u32,
    /// The first failure. Nothing is written after it.
    failure: Option<io::Error>,
}

/// The owner of a ring, and the owner's stream in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadStream {
    /// The thread id of the owner.
    pub(super) thread: u32,
    /// The stream, after its first block.
    pub(super) id: Option<StreamId>,
}

impl TraceOutput {
    /// Makes an output without any blocks.
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            writer: None,
            streams: 0,
            failure: None,
        }
    }

    /// Writes the recorded parts of a ring. After a failure, nothing more is written, and
    /// [`finish`](Self::finish) returns the error.
    pub(super) fn record(
        &mut self,
        profile: &Path,
        files: SideFiles,
        head: &TraceHead,
        recorded: Vec<Recorded>,
        stream: &mut ThreadStream,
    ) {
        for part in recorded {
            if self.failure.is_some() {
                return;
            }
            let written = self.open(profile, files, head);
            let written = written.and_then(|()| self.write(part, stream));
            self.failure = written.err();
        }
    }

    fn open(&mut self, profile: &Path, files: SideFiles, head: &TraceHead) -> io::Result<()> {
        if self.writer.is_none() {
            let sink = match self.target {
                Target::FirstFile => Sink::File(File::create_new(files.first(profile))?),
                Target::SecondFile => Sink::File(File::create(files.second(profile))?),
                Target::Memory => Sink::Memory(Vec::new()),
            };
            self.writer = Some(WriterThread::start(sink, head)?);
        }
        Ok(())
    }

    fn write(&mut self, recorded: Recorded, stream: &mut ThreadStream) -> io::Result<()> {
        let writer = self.writer.as_ref().expect("the target is open");
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

    /// Ends the file. Returns its bytes if the target is memory.
    ///
    /// # Errors
    /// If a part of the file could not be written.
    pub(super) fn finish(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.streams = 0;
        let written = self.writer.take().map(WriterThread::finish).transpose();
        let failure = self.failure.take();
        match (written?, failure) {
            (_, Some(error)) => Err(error),
            (Some(Sink::Memory(bytes)), None) => Ok(Some(bytes)),
            (Some(Sink::File(_)) | None, None) => Ok(None),
        }
    }
}

/// The output of blocks.
enum Sink {
    File(File),
    Memory(Vec<u8>),
}

impl Write for Sink {
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

/// A thread that encodes and writes blocks, which is half of the work. Meanwhile, other threads
/// build the next blocks.
struct WriterThread {
    entries: SyncSender<Entry>,
    thread: JoinHandle<io::Result<Sink>>,
}

/// An entry of the file.
enum Entry {
    /// A new stream, of the thread with this id.
    Stream(u32),
    Block(StreamId, Block),
}

impl WriterThread {
    fn start(sink: Sink, head: &TraceHead) -> io::Result<Self> {
        let writer = TraceWriter::new(sink, head)?;
        let (entries, waiting) = sync_channel(MAX_WAITING);
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let thread = thread.spawn(move || write_entries(writer, &waiting))?;
        Ok(Self { entries, thread })
    }

    /// Passes an entry to the thread. Blocks while too many entries wait to be written.
    fn put(&self, entry: Entry) -> io::Result<()> {
        // If the thread has ended, writing failed, and `finish` returns the error.
        let sent = self.entries.send(entry);
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(self) -> io::Result<Sink> {
        drop(self.entries);
        let written = self.thread.join();
        written.unwrap_or_else(|_| Err(io::Error::other("the trace's writer panicked")))
    }
}

fn write_entries(mut writer: TraceWriter<Sink>, entries: &Receiver<Entry>) -> io::Result<Sink> {
    for entry in entries {
        match entry {
            Entry::Stream(thread) => drop(writer.stream(thread)?),
            Entry::Block(stream, block) => writer.block(stream, &block)?,
        }
    }
    writer.finish()
}
