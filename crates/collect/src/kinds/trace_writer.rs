//! The file of traces of one recording, written block by block while the process runs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use holloway_analysis::trace::Recorded;
use holloway_format::trace::{Block, StreamId, TraceHead, TraceWriter};

use crate::side_files::SideFiles;

/// Entries that wait to be written. A block takes some megabytes.
const WAITING: usize = 4;

/// The destination of the traces of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The first file, which must be new: a collector writes it while the process runs.
    FirstFile,
    /// The second file. It replaces the file of an interrupted sealing.
    SecondFile,
    /// Memory: nothing is stored.
    Memory,
}

/// The traces of a recording on their way to their target, which is opened with the first block.
pub(super) struct TraceOutput {
    target: Target,
    writer: Option<WriterThread>,
    /// Streams begun.
    streams: u32,
    /// The failure after which nothing more is written.
    failed: Option<io::Error>,
}

/// The thread that a ring's words belong to, and its stream in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadStream {
    /// The thread's id.
    pub(super) thread: u32,
    /// The stream, once it has begun.
    pub(super) id: Option<StreamId>,
}

impl TraceOutput {
    /// Nothing is written yet.
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            writer: None,
            streams: 0,
            failed: None,
        }
    }

    /// Writes the events of a thread. After a failure, nothing more is written, and
    /// [`finish`](Self::finish) gives the reason.
    pub(super) fn record(
        &mut self,
        profile: &Path,
        files: SideFiles,
        head: &TraceHead,
        recorded: Vec<Recorded>,
        stream: &mut ThreadStream,
    ) {
        for event in recorded {
            if self.failed.is_some() {
                return;
            }
            let written = self.open(profile, files, head);
            let written = written.and_then(|()| self.write(event, stream));
            self.failed = written.err();
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

    /// Ends the file. Gives its bytes if they are only in memory.
    ///
    /// # Errors
    /// Something could not be written.
    pub(super) fn finish(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.streams = 0;
        let written = self.writer.take().map(WriterThread::finish).transpose();
        let failed = self.failed.take();
        match (written?, failed) {
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

/// A thread that codes and writes blocks, which is half of the work. Meanwhile the next block is
/// built.
struct WriterThread {
    entries: SyncSender<Entry>,
    thread: JoinHandle<io::Result<Sink>>,
}

/// An entry of the file.
enum Entry {
    /// A stream, of the thread with this id.
    Stream(u32),
    Block(StreamId, Block),
}

impl WriterThread {
    fn start(sink: Sink, head: &TraceHead) -> io::Result<Self> {
        let writer = TraceWriter::new(sink, head)?;
        let (entries, waiting) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let thread = thread.spawn(move || write_entries(writer, &waiting))?;
        Ok(Self { entries, thread })
    }

    /// Waits while too many entries wait to be written.
    fn put(&self, entry: Entry) -> io::Result<()> {
        // Without a listener, writing failed, and `finish` gives the reason.
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
