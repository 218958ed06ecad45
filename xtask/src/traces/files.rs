//! Measures the file and the grammar of a stored trace, and compares them with the output of
//! general compressors and of plain SEQUITUR.

use super::options::Options;
use super::record::Stored;
use super::stopwatch::timed;
use anyhow::{Context, Result, ensure};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::builder::{Depth, GrammarBuilder};
use holloway_analysis::trace::code::{Code, Event};
use holloway_analysis::trace::stats::{Stats, stats};
use holloway_analysis::trace::{
    Grammar, Limits, LookAhead, Recorded, Sequitur, Terminal, Trace, TraceBuilder,
};
use holloway_format::raw::Piece;
use holloway_format::trace::{TraceFile, TraceHead, TraceWriter};
use std::collections::HashMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use wait4::Wait4;

/// The number of symbols that plain SEQUITUR gets: it keeps everything in memory.
pub(super) const SEQUITUR_SYMBOLS: usize = 1 << 24;

/// The measurements of a trace.
#[derive(Debug)]
pub(super) struct Figures {
    /// Number of recorded words.
    pub(super) words: u64,
    /// Events, paths, and the size of the grammar, added up over all streams.
    pub(super) stats: Stats,
    /// Bytes of the trace file.
    pub(super) bytes: u64,
    /// Processor time from words to the file.
    pub(super) whole: Duration,
    /// The part of `whole` for making blocks; another thread codes and writes them.
    pub(super) block_making: Duration,
    /// The part of `block_making` for the grammar's builder alone.
    pub(super) builder: Duration,
    /// Processor time from the file to the grammar.
    pub(super) reading: Duration,
    /// Plain SEQUITUR on the first symbols.
    pub(super) sequitur: SequiturFigures,
    /// The comparison with general compressors.
    pub(super) compared: Compared,
}

impl Figures {
    /// The time from words to the file if one thread makes blocks while another one codes and
    /// writes the earlier blocks.
    pub(super) fn slower(&self) -> Duration {
        self.block_making
            .max(self.whole.saturating_sub(self.block_making))
    }
}

/// The grammar of plain SEQUITUR for the first symbols of the longest stream.
#[derive(Debug)]
pub(super) struct SequiturFigures {
    pub(super) symbols: u64,
    pub(super) time: Duration,
    pub(super) rules: u32,
}

/// The first words, compressed in several ways.
#[derive(Debug)]
pub(super) struct Compared {
    /// Bytes of the words themselves.
    pub(super) raw: u64,
    /// Our file.
    pub(super) ours: Packed,
    /// By compressor, in the order of [`COMPRESSORS`].
    pub(super) others: Vec<Packed>,
}

/// A compressed trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    pub(super) bytes: u64,
    pub(super) time: Duration,
}

/// The command lines of the compressors. Each uses one thread.
pub(super) const COMPRESSORS: [&[&str]; 3] = [
    &["zstd", "-1", "--single-thread", "-q", "-c"],
    &["zstd", "-19", "--single-thread", "-q", "-c"],
    &["xz", "-9e", "-T1", "-c"],
];

/// Measures a trace.
///
/// # Errors
/// If the trace that is read back differs from the recorded one, or if a compressor is missing.
pub(super) fn measure(stored: &Stored, options: &Options) -> Result<Figures> {
    let compared = compare(&stored.first(options.compare))?;
    let (blocks, block_making) = timed(|| make(stored));
    let (file, writing) = timed(|| write(stored, &blocks));
    let file = file?;
    drop(blocks);
    let (traces, reading) = timed(|| read(&file));
    let traces = traces?;
    let paths = stored.paths();
    check(&traces, &paths, stored)?;
    let mut sum = Stats::default();
    for trace in &traces {
        sum.add(&stats(
            &trace.grammar,
            &Code::new(&stored.map).events(&trace.terminals),
        ));
    }
    let numbered: Vec<Vec<u32>> = paths.iter().map(|stream| numbered(stream)).collect();
    let ((), builder) = timed(|| numbered.iter().for_each(|stream| build(stream)));
    let longest = numbered.iter().max_by_key(|stream| stream.len());
    Ok(Figures {
        words: stored.words(),
        stats: sum,
        bytes: file.len() as u64,
        whole: block_making + writing,
        block_making,
        builder,
        reading,
        sequitur: sequitur(longest.context("there is a stream")?),
        compared,
    })
}

/// Returns the grammar of the first words of the first stream, and the events of its terminals.
///
/// # Errors
/// If the trace cannot be read back.
pub(super) fn grammar_of_first(stored: &Stored, max_words: u64) -> Result<(Grammar, Vec<Event>)> {
    let mut first = stored.first(max_words);
    first.streams.truncate(1);
    let traces = read(&record(&first)?)?;
    let trace = traces.into_iter().next().context("there is a stream")?;
    let events = Code::new(&stored.map).events(&trace.terminals);
    Ok((trace.grammar, events))
}

/// Makes the file of a trace as the collector does, but in one thread.
fn record(stored: &Stored) -> Result<Vec<u8>> {
    write(stored, &make(stored))
}

/// Makes the blocks of each stream, as the first thread of the collector does.
fn make(stored: &Stored) -> Vec<Vec<Recorded>> {
    let words = Words::new(&stored.map);
    let streams = stored.streams.iter().map(|pieces| {
        let mut builder = TraceBuilder::new(words.clone(), Limits::default());
        let mut recorded = Vec::new();
        for piece in pieces {
            builder.feed(piece.position, &piece.words);
            recorded.extend(builder.take());
        }
        recorded.extend(builder.flush());
        recorded
    });
    streams.collect()
}

/// Codes and writes the blocks, as the second thread of the collector does.
fn write(stored: &Stored, streams: &[Vec<Recorded>]) -> Result<Vec<u8>> {
    let head = TraceHead {
        process: 0,
        build_id: stored.map.build_id,
    };
    let mut writer = TraceWriter::new(Vec::new(), &head)?;
    for (thread, recorded) in (0u32..).zip(streams) {
        let mut stream = writer.stream(thread)?;
        for entry in recorded {
            match entry {
                Recorded::Block(block) => writer.block(stream, block)?,
                Recorded::Owner(thread) => stream = writer.stream(*thread)?,
            }
        }
    }
    Ok(writer.finish()?)
}

fn read(bytes: &[u8]) -> Result<Vec<Trace>> {
    let file = TraceFile::read(bytes)?;
    let streams = file.streams.iter().filter(|stream| stream.length > 0);
    let read = streams.map(|stream| {
        let (trace, damage) = Trace::read(stream)?;
        ensure!(damage.is_none(), "the trace is damaged: {damage:?}");
        Ok(trace)
    });
    read.collect()
}

/// Checks that the traces have exactly the paths of the streams.
fn check(traces: &[Trace], paths: &[Vec<u32>], stored: &Stored) -> Result<()> {
    let words = Words::new(&stored.map);
    let mut begins = vec![0];
    for placed in &stored.map.modules {
        begins.push(begins[begins.len() - 1] + placed.module.functions.len() as u32);
    }
    let first: HashMap<u32, u32> = words
        .functions()
        .map(|function| {
            let number = begins[function.index.module as usize] + function.index.function;
            (number, function.first)
        })
        .collect();
    let word = |terminal: &Terminal| match terminal {
        Terminal::Path { function, path } => first.get(function).map(|first| first + path),
        Terminal::Left(_) | Terminal::Gap => None,
    };
    let expanded = traces.iter().flat_map(|trace| {
        let words: Vec<Option<u32>> = trace.terminals.iter().map(word).collect();
        let ids = trace.grammar.expand();
        ids.filter_map(move |id| words[id as usize])
    });
    let is_equal = expanded.eq(paths.iter().flatten().copied());
    ensure!(is_equal, "the trace read back is not the one recorded");
    Ok(())
}

/// Replaces each path by a number, in order of first appearance.
fn numbered(paths: &[u32]) -> Vec<u32> {
    let largest = paths.iter().max().map_or(0, |word| *word as usize);
    let (mut numbers, mut next) = (vec![u32::MAX; largest + 1], 0);
    let number = |word: &u32| {
        let number = &mut numbers[*word as usize];
        if *number == u32::MAX {
            (*number, next) = (next, next + 1);
        }
        *number
    };
    paths.iter().map(number).collect()
}

fn build(symbols: &[u32]) {
    let mut builder = GrammarBuilder::new(Limits::default(), Depth::Quick);
    builder.extend(symbols, |block| drop(std::hint::black_box(block)));
    drop(std::hint::black_box(builder.flush()));
}

fn sequitur(symbols: &[u32]) -> SequiturFigures {
    let symbols = &symbols[..symbols.len().min(SEQUITUR_SYMBOLS)];
    let (grammar, time) = timed(|| {
        let mut sequitur = Sequitur::new(LookAhead::None);
        symbols.iter().for_each(|&symbol| sequitur.push(symbol));
        sequitur.finish()
    });
    SequiturFigures {
        symbols: symbols.len() as u64,
        time,
        rules: grammar.rules(),
    }
}

/// Compares the trace file with the outputs of the compressors.
fn compare(stored: &Stored) -> Result<Compared> {
    let (file, time) = timed(|| record(stored));
    let bytes = file?.len() as u64;
    let words = stored
        .streams
        .iter()
        .flatten()
        .flat_map(|piece: &Piece| &piece.words);
    let raw: Arc<[u8]> = words.flat_map(|word| word.to_le_bytes()).collect();
    // The compressors may run at the same time, because only the processor time of each is
    // measured.
    let others = COMPRESSORS.map(|words| {
        let raw = Arc::clone(&raw);
        std::thread::spawn(move || packed(words, &raw))
    });
    let others = others.into_iter().map(|other| {
        let packed = other.join();
        packed.map_err(|_| anyhow::anyhow!("a compressor's thread panicked"))?
    });
    Ok(Compared {
        raw: raw.len() as u64,
        ours: Packed { bytes, time },
        others: others.collect::<Result<_>>()?,
    })
}

/// Runs a compressor. Returns the bytes that it writes and its processor time.
fn packed(words: &[&str], raw: &[u8]) -> Result<Packed> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| {
            format!(
                "cannot start {}: `apt-get install zstd xz-utils`",
                words.join(" ")
            )
        })?;
    let mut input = child.stdin.take().context("stdin was piped")?;
    let mut output = child.stdout.take().context("stdout was piped")?;
    let bytes = std::thread::scope(|scope| {
        let writer = scope.spawn(move || std::io::Write::write_all(&mut input, raw));
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        loop {
            match output.read(&mut buffer)? {
                0 => break,
                read => bytes += read as u64,
            }
        }
        let written = writer.join();
        written.map_err(|_| anyhow::anyhow!("the writer panicked"))??;
        anyhow::Ok(bytes)
    })?;
    let end = child.wait4()?;
    ensure!(end.status.success(), "{}: {}", words.join(" "), end.status);
    Ok(Packed {
        bytes,
        time: end.rusage.utime + end.rusage.stime,
    })
}
