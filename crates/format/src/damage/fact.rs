//! Facts about a file's damage and about its streams, with the text by which sealed profiles record
//! them.
//!
//! A sealed profile has notes of damage as text ([`crate::sealed`]), so this text is part of the
//! file format. [`Fact`]'s `Display` writes the text of a note, and [`Fact::parse`] parses it. The
//! note of a sample becomes a typed [`Sample`] again, because the exit status of
//! `holloway trace verify` depends on it. Every other note becomes [`Fact::Text`], which reports
//! print unchanged.

use crate::units::Count;
use std::fmt;

use crate::error::{AssembleError, FormatError};
use crate::profile::WriteFailure;
use crate::words::{grouped, is_or_are, plural};

/// A loss or damage that a parser found in a file, or a missing part of a profile's streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A record cannot be read.
    Unreadable(FormatError),
    /// The end of the file is missing.
    Truncated {
        /// Missing bytes.
        bytes: u64,
    },
    /// An index of records is damaged. The records were found without it, by the length that each
    /// record begins with.
    Index(Index),
    /// The name of a module can't be read.
    ModuleName,
    /// The name of the compiler of a module can't be read.
    ProducerName,
    /// A module of the path map can't be read.
    LostModule(FormatError),
    /// A module's counters overlap another module's counters, so the parser leaves the module out.
    OverlappingModule,
    /// A function's record cannot be read, and the index does not identify the function.
    LostFunction(FormatError),
    /// An entry of the list of skipped or removed functions can't be read.
    LostEntry(FormatError),
    /// A note of earlier damage can't be read.
    LostNote(FormatError),
    /// A counter of a path or edge that the function does not have is not zero.
    CountBeyond {
        /// The noun for the numbers: `path` or `edge counter`.
        counted: &'static str,
        /// Number of the path or edge counter.
        number: u64,
        /// The first number that the function does not have.
        limit: u64,
    },
    /// A sum of counts exceeds 64 bits.
    CountOverflow {
        /// The noun for the numbers: `path` or `edge counter`.
        counted: &'static str,
        /// Number of the path or edge counter.
        number: u64,
    },
    /// The hash table of a function's counters has a path in a slot where the runtime cannot have
    /// put it.
    MisplacedPath,
    /// Counters that are not zero belong to no function of the path map.
    StrayCounters {
        /// Number of these counters.
        counters: u64,
    },
    /// A hash table belongs to no function of the path map.
    StraySegment,
    /// The head of an extent (a part of a raw profile) is damaged or cut off.
    LostExtent {
        /// Bytes up to the next extent.
        bytes: u64,
    },
    /// A thread overwrote words of its ring that nobody had taken.
    OverwrittenWords {
        /// Bytes of words.
        bytes: u64,
        /// The thread.
        thread: u32,
    },
    /// The words of a thread's spool cannot be decompressed.
    LostWords {
        /// Bytes of words.
        bytes: u64,
        /// The thread.
        thread: u32,
        /// The reason.
        why: SpoolDamage,
    },
    /// The counts cover a sample of the executed paths. This is no damage.
    Sample(Sample),
    /// Paths of streams are missing.
    MissingPaths(MissingPaths),
    /// The process outlived its run, so its streams were taken in parts.
    StreamsInParts {
        /// Number of cuts between two parts of a stream, over all streams.
        cuts: u64,
    },
    /// Frames that were left early are not counted, because words of their stream are missing.
    UncountedLeftFrames,
    /// Damaged samples of timed paths were left out.
    DamagedSamples {
        /// Number of these samples.
        samples: Count,
    },
    /// A block of a thread's trace cannot be read. The trace ends before this block.
    TraceBlock(FormatError),
    /// The blocks of a thread's trace do not form a grammar.
    TraceGrammar(AssembleError),
    /// The file with a process's traces cannot be read to its end.
    CutTraces {
        /// The process.
        process: u32,
        /// The location and the reason of the error.
        why: FormatError,
    },
    /// A collector did not finish a file of traces.
    UnfinishedTraces,
    /// The text of a note in a sealed profile.
    Text(String),
}

/// The index of a file's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The index of a path map's functions.
    Functions,
    /// The index of a file that has one list of records.
    Records,
    /// The index of one of a sealed profile's two lists of records.
    SealedRecords,
}

/// The reason why the words of a spool are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoolDamage {
    /// The compressed bytes are damaged.
    Compressed {
        /// The LZ4 decoder's message.
        message: String,
    },
    /// Decompression returns fewer words than were spooled.
    Short,
}

/// The reason why the counts cover only a sample of the executed paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The collector analyzed only a part of the streams (`--sample`).
    Streams {
        /// Share of the streams' words that the collector analyzed.
        analyzed: Percent,
    },
    /// Only some of the executed paths were timed, and the counts are estimated from them.
    TimedPaths {
        /// Number of timed paths.
        timed: Count,
        /// Number of executed paths.
        executed: Count,
    },
}

/// A share in percent, to one decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent {
    /// Tenths of a percent.
    pub tenths: u32,
}

impl Percent {
    /// The share that `part` has of `part + remainder`.
    pub fn of(part: u64, remainder: u64) -> Self {
        let share = 100.0 * part as f64 / (part as f64 + remainder as f64);
        // Formatting and parsing rounds as the standard library does, as in the files of earlier
        // versions.
        Self::parse(&format!("{share:.1}")).unwrap_or(Self { tenths: 0 })
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, tenth) = text.split_once('.')?;
        let is_digit = |text: &str| text.len() == 1 && text.as_bytes()[0].is_ascii_digit();
        let whole: u32 = whole.parse().ok()?;
        let tenth: u32 = Some(tenth).filter(|text| is_digit(text))?.parse().ok()?;
        let tenths = whole.checked_mul(10)?.checked_add(tenth)?;
        Some(Self { tenths })
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.tenths / 10, self.tenths % 10)
    }
}

/// Paths that ran but are missing from the streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPaths {
    /// Number of missing paths.
    pub paths: u64,
    /// The missing parts of the streams, for the first few threads with missing paths.
    pub parts: Vec<MissingPart>,
    /// Number of other threads with missing paths, in addition to the threads of `parts`.
    pub more_threads: u64,
    /// Why paths are missing, if the program recorded it.
    pub failure: Option<WriteFailure>,
}

/// A missing part of one thread's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingPart {
    /// Missing paths. The paths of a thread are numbered from 1.
    Paths {
        /// The thread.
        thread: u32,
        /// Number of the first path that the collector took but did not write to the trace.
        unwritten_from: u64,
        /// Number of paths that the collector took but did not write.
        unwritten: u64,
        /// Number of the first path that the thread dropped.
        dropped_from: u64,
        /// Number of paths that the thread dropped.
        dropped: u64,
    },
    /// Missing words. The words of a ring are numbered from 1.
    Words {
        /// The last thread that used the ring.
        thread: u32,
        /// Number of threads that used the ring before `thread`.
        earlier_threads: u64,
        /// Number of the first dropped word.
        from: u64,
        /// Number of dropped words: the first dropped word and all words after it.
        words: u64,
    },
}

/// The beginning of a sample's note.
const SAMPLE_PREFIX: &str = "this is a sample: ";

impl Fact {
    /// Parses the text of a note.
    pub fn parse(text: String) -> Self {
        match Sample::parse(&text) {
            Some(sample) => Self::Sample(sample),
            None => Self::Text(text),
        }
    }

    /// Returns the sample that the counts cover, if the fact is a sample.
    pub fn sample(&self) -> Option<Sample> {
        match self {
            Self::Sample(sample) => Some(*sample),
            Self::Unreadable(_)
            | Self::Truncated { .. }
            | Self::Index(_)
            | Self::ModuleName
            | Self::ProducerName
            | Self::LostModule(_)
            | Self::OverlappingModule
            | Self::LostFunction(_)
            | Self::LostEntry(_)
            | Self::LostNote(_)
            | Self::CountBeyond { .. }
            | Self::CountOverflow { .. }
            | Self::MisplacedPath
            | Self::StrayCounters { .. }
            | Self::StraySegment
            | Self::LostExtent { .. }
            | Self::OverwrittenWords { .. }
            | Self::LostWords { .. }
            | Self::MissingPaths(_)
            | Self::StreamsInParts { .. }
            | Self::UncountedLeftFrames
            | Self::DamagedSamples { .. }
            | Self::TraceBlock(_)
            | Self::TraceGrammar(_)
            | Self::CutTraces { .. }
            | Self::UnfinishedTraces
            | Self::Text(_) => None,
        }
    }
}

impl Sample {
    /// Parses the text that [`Display`](fmt::Display) writes.
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix(SAMPLE_PREFIX)?;
        let streams =
            text.strip_suffix(" % of what ran was analysed (--sample), counts are of that part");
        if let Some(share) = streams {
            let analyzed = Percent::parse(share)?;
            return Some(Self::Streams { analyzed });
        }
        let counts = text.strip_prefix("counts are estimates, made from ")?;
        let (timed, executed) = counts.strip_suffix(" that ran")?.split_once(" of ")?;
        let (timed, _) = timed.split_once(" timed path")?;
        let number = |text: &str| text.replace(',', "").parse().ok();
        Some(Self::TimedPaths {
            timed: Count(number(timed)?),
            executed: Count(number(executed)?),
        })
    }
}

impl From<FormatError> for Fact {
    fn from(error: FormatError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<&str> for Fact {
    fn from(text: &str) -> Self {
        Self::parse(text.to_owned())
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) | Self::TraceBlock(error) => error.fmt(f),
            Self::Truncated { bytes } => write!(f, "the last {bytes} bytes are missing"),
            Self::Index(index) => index.fmt(f),
            Self::ModuleName => f.write_str("the module's name is damaged"),
            Self::ProducerName => f.write_str("the producer's name is damaged"),
            Self::LostModule(error) => write!(f, "the module is lost: {error}"),
            Self::OverlappingModule => {
                f.write_str("the module is lost: its counters lie over those of another")
            }
            Self::LostFunction(error) => write!(f, "a function is lost: {error}"),
            Self::LostEntry(error) => write!(
                f,
                "a function that is not instrumented is left out of the list: {error}"
            ),
            Self::LostNote(error) => write!(f, "a note of earlier damage is lost: {error}"),
            Self::CountBeyond {
                counted,
                number,
                limit,
            } => write!(f, "a count for {counted} {number}, of {limit}"),
            Self::CountOverflow { counted, number } => {
                write!(f, "the counts of {counted} {number} pass 2^64")
            }
            Self::MisplacedPath => f.write_str("a path stands in a slot that is not its own"),
            Self::StrayCounters { counters } => write!(
                f,
                "{counters} counters belong to no function that the path map has intact"
            ),
            Self::StraySegment => f.write_str(
                "a segment of counters belongs to no function that the path map has intact",
            ),
            Self::LostExtent { bytes } => write!(
                f,
                "{bytes} bytes are lost: the head of an extent is damaged or cut off"
            ),
            Self::OverwrittenWords { bytes, thread } => {
                write!(f, "{bytes} bytes of words of thread {thread} were written over")
            }
            Self::LostWords { bytes, thread, why } => {
                write!(f, "{bytes} bytes of words of thread {thread} are lost: {why}")
            }
            Self::Sample(sample) => sample.fmt(f),
            Self::MissingPaths(missing) => missing.fmt(f),
            Self::StreamsInParts { cuts } => write!(
                f,
                "the process outlived its run: its streams were taken in parts, no sequence spans where one ends ({})",
                plural(*cuts, "time")
            ),
            Self::UncountedLeftFrames => f.write_str(
                "frames that were left early are not counted: that takes all words of a stream",
            ),
            Self::DamagedSamples { samples } => write!(
                f,
                "{} {} damaged, and left out; record it again",
                plural(*samples, "sample"),
                is_or_are(*samples)
            ),
            Self::TraceGrammar(error) => error.fmt(f),
            Self::CutTraces { process, why } => write!(
                f,
                "of process {process}'s traces {why}: paths after that byte are missing, of this thread or of others, and threads that began after it; record the run again"
            ),
            Self::UnfinishedTraces => f.write_str(
                "the trace was not ended: what its collector took last is not written, or lost with it",
            ),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Functions => {
                "the index of functions is damaged; the functions were found without it"
            }
            Self::Records => "the index of records is damaged; the records were found without it",
            Self::SealedRecords => {
                "an index of records is damaged; the records were found without it"
            }
        })
    }
}

impl fmt::Display for SpoolDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compressed { message } => f.write_str(message),
            Self::Short => f.write_str("their compressed form is cut short"),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SAMPLE_PREFIX)?;
        match self {
            Self::Streams { analyzed } => write!(
                f,
                "{analyzed} % of what ran was analysed (--sample), counts are of that part"
            ),
            Self::TimedPaths { timed, executed } => write!(
                f,
                "counts are estimates, made from {} of {} that ran",
                plural(*timed, "timed path"),
                grouped(*executed)
            ),
        }
    }
}

impl fmt::Display for MissingPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} missing: ",
            plural(self.paths, "path"),
            is_or_are(self.paths)
        )?;
        match self.failure {
            Some(failure) => failure.fmt(f)?,
            None => f.write_str("not taken in time, or not written down by their collector")?,
        }
        for part in &self.parts {
            write!(f, "; {part}")?;
        }
        match self.more_threads {
            0 => Ok(()),
            1 => f.write_str("; and some of 1 more thread"),
            more => write!(f, "; and some of {} more threads", grouped(more)),
        }
    }
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Paths {
                thread,
                unwritten_from,
                unwritten,
                dropped_from,
                dropped,
            } => {
                write!(f, "of thread {thread} ")?;
                let first = grouped(unwritten_from);
                let last = grouped(unwritten_from + unwritten.saturating_sub(1));
                match unwritten {
                    0 => {}
                    1 => write!(f, "its path {first}")?,
                    _ => write!(f, "its paths {first} to {last}")?,
                }
                let (from, dropped_paths) = (grouped(dropped_from), grouped(dropped));
                match (unwritten, dropped) {
                    (_, 0) => Ok(()),
                    (0, _) => write!(f, "all its paths from {from} on ({dropped_paths})"),
                    _ => write!(f, ", and all from {from} on ({dropped_paths})"),
                }
            }
            Self::Words {
                thread,
                earlier_threads,
                from,
                words,
            } => {
                let (from, words) = (grouped(from), plural(words, "word"));
                match earlier_threads {
                    0 => write!(f, "of thread {thread} all {words} from its word {from} on"),
                    _ => write!(
                        f,
                        "of thread {thread} and {} before it all {words} from their word {from} on",
                        grouped(earlier_threads)
                    ),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_inverts_the_text_of_a_sample() {
        let check = |sample: Sample, text: &str| {
            let fact = Fact::Sample(sample);
            assert_eq!(fact.to_string(), text);
            assert_eq!(Fact::parse(text.to_owned()), fact);
        };
        for (analyzed, left_out, shown) in [(1, 3, "25.0"), (1, 399, "0.2"), (35, 9965, "0.3")] {
            let analyzed = Percent::of(analyzed, left_out);
            check(
                Sample::Streams { analyzed },
                &format!(
                    "this is a sample: {shown} % of what ran was analysed (--sample), counts are of that part"
                ),
            );
        }
        check(
            Sample::TimedPaths {
                timed: Count(1),
                executed: Count(12_345),
            },
            "this is a sample: counts are estimates, made from 1 timed path of 12,345 that ran",
        );
        check(
            Sample::TimedPaths {
                timed: Count(2000),
                executed: Count(1_000_000),
            },
            "this is a sample: counts are estimates, made from 2,000 timed paths of 1,000,000 that ran",
        );
    }

    #[test]
    fn other_notes_are_text() {
        for text in ["", "1 path is missing", "this is a sample: of something"] {
            assert_eq!(Fact::parse(text.to_owned()), Fact::Text(text.to_owned()));
        }
    }
}
