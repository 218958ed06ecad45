//! The kinds of collection, and the traits that distinguish them.
//!
//! This is the only list of kinds. A program is woven for one kind. Its image, its profiles, and
//! its path map carry the kind's number. All other code uses [`Kind::traits`] or an exhaustive
//! `match` on [`Kind`]. So the compiler reports all code that a new kind must extend.

use core::fmt;
use core::str::FromStr;

/// The kind of collection that a program is woven for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Kind {
    /// Counts of acyclic paths (Ball, Larus 1996).
    #[default]
    Paths = 0,
    /// Counts of edges (Burger, Dybvig 1998). Functions whose edges cannot be counted have paths
    /// instead; the path map lists them.
    Edges = 1,
    /// A stream of paths, for sequences over loop iterations (D'Elia, Demetrescu, Finocchi 2013).
    Loops = 2,
    /// A stream of paths that end at calls, for whole program paths (Larus 1999).
    Trace = 3,
    /// A stream of timed paths, a few of every 10,000, in bursts (Perelman, Chilimbi, Calder 2005).
    Variation = 4,
    /// A stream of timed paths: every path is timed.
    Times = 5,
    /// No counts and no stream. The program has the path map, and a section with the address of
    /// each block, so that a monitor finds the block of a sampled address.
    Nothing = 6,
}

/// The memory where a thread records its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// None: the thread records nothing.
    Nothing,
    /// Counters, in a block of counters that belongs to the thread.
    Counters,
    /// A ring. A collector takes its words, or the thread spools them.
    Stream,
}

/// Which paths are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// No path is timed.
    Untimed,
    /// A few paths are timed, in bursts.
    Bursts,
    /// Every path is timed.
    All,
}

/// Where paths end, in addition to the ends of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnds {
    /// Paths end at back edges.
    Iterations,
    /// Paths end at back edges and at calls.
    Calls,
}

/// The paths or edges that woven code counts inline, in counters that the thread owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineCounts {
    /// Nothing: each path that ends appends to the stream, if there is one.
    Nothing,
    /// Paths.
    Paths,
    /// Edges.
    Edges,
    /// Paths that are complete activations, and left paths. Their counters are ring counters: they
    /// follow the ring's words.
    Activations,
}

/// The unit of a profile's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Acyclic paths, from which the counts of edges and blocks follow.
    Paths,
    /// Edges, from which the counts of blocks follow.
    Edges,
}

/// How a kind records frames that are left early, by unwinding, `longjmp`, or the end of the
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftFrames {
    /// Exit edges count these frames, unless the build turns exit edges off (`--exits off`).
    Counted,
    /// The stream shows these frames without exit edges.
    Traced,
    /// These frames are missing: only a path that ends has a time.
    Untimed,
    /// These frames are missing: nothing is recorded.
    Unrecorded,
}

/// A file next to the profile, with the collector's result from the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFile {
    /// The extension of the file.
    pub extension: &'static str,
    /// The first eight bytes of the file.
    pub magic: [u8; 8],
}

/// The traits that distinguish the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// The kind's name on the command line, in reports, and in JSON.
    pub name: &'static str,
    /// The memory where a thread records its paths.
    pub storage: Storage,
    /// Which paths are timed.
    pub timing: Timing,
    /// Where paths end, in addition to the ends of the function.
    pub path_ends: PathEnds,
    /// The paths or edges that woven code counts inline.
    pub inline_counts: InlineCounts,
    /// The unit of the profile's counts.
    pub unit: Unit,
    /// How the kind records frames that are left early.
    pub left_frames: LeftFrames,
    /// The file next to the profile, if the kind has one.
    pub stream_file: Option<StreamFile>,
}

/// Default K of `--collect loops=K`: the maximum number of consecutive paths in a sequence.
pub const DEFAULT_K: u32 = 8;

impl Kind {
    /// All kinds, by number.
    pub const ALL: [Self; 7] = [
        Self::Paths,
        Self::Edges,
        Self::Loops,
        Self::Trace,
        Self::Variation,
        Self::Times,
        Self::Nothing,
    ];

    /// The kind with this number.
    #[inline]
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        if (number as usize) < Self::ALL.len() {
            Some(Self::ALL[number as usize])
        } else {
            None
        }
    }

    /// The number of the kind in images and files.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The traits of this kind.
    #[inline]
    #[must_use]
    pub const fn traits(self) -> Traits {
        match self {
            Self::Paths => Traits {
                name: "paths",
                storage: Storage::Counters,
                timing: Timing::Untimed,
                path_ends: PathEnds::Iterations,
                inline_counts: InlineCounts::Paths,
                unit: Unit::Paths,
                left_frames: LeftFrames::Counted,
                stream_file: None,
            },
            Self::Edges => Traits {
                name: "edges",
                storage: Storage::Counters,
                timing: Timing::Untimed,
                path_ends: PathEnds::Iterations,
                inline_counts: InlineCounts::Edges,
                unit: Unit::Edges,
                left_frames: LeftFrames::Counted,
                stream_file: None,
            },
            Self::Loops => Traits {
                name: "loops",
                storage: Storage::Stream,
                timing: Timing::Untimed,
                path_ends: PathEnds::Iterations,
                inline_counts: InlineCounts::Activations,
                unit: Unit::Paths,
                left_frames: LeftFrames::Counted,
                stream_file: Some(LOOPS_FILE),
            },
            Self::Trace => Traits {
                name: "trace",
                storage: Storage::Stream,
                timing: Timing::Untimed,
                path_ends: PathEnds::Calls,
                inline_counts: InlineCounts::Nothing,
                unit: Unit::Paths,
                left_frames: LeftFrames::Traced,
                stream_file: Some(TRACE_FILE),
            },
            Self::Variation => Traits {
                name: "variation",
                storage: Storage::Stream,
                timing: Timing::Bursts,
                path_ends: PathEnds::Iterations,
                inline_counts: InlineCounts::Nothing,
                unit: Unit::Paths,
                left_frames: LeftFrames::Untimed,
                stream_file: Some(TIMINGS_FILE),
            },
            Self::Times => Traits {
                name: "times",
                storage: Storage::Stream,
                timing: Timing::All,
                path_ends: PathEnds::Iterations,
                inline_counts: InlineCounts::Nothing,
                unit: Unit::Paths,
                left_frames: LeftFrames::Untimed,
                stream_file: Some(TIMINGS_FILE),
            },
            Self::Nothing => Traits {
                name: "none",
                storage: Storage::Nothing,
                timing: Timing::Untimed,
                path_ends: PathEnds::Iterations,
                inline_counts: InlineCounts::Nothing,
                unit: Unit::Paths,
                left_frames: LeftFrames::Unrecorded,
                stream_file: None,
            },
        }
    }

    /// Whether the program records anything while it runs.
    #[inline]
    #[must_use]
    pub const fn is_recorded(self) -> bool {
        match self.traits().storage {
            Storage::Nothing => false,
            Storage::Counters | Storage::Stream => true,
        }
    }

    /// Whether the weaver marks the blocks with pseudo-probes, so that the program's file has their
    /// addresses: for the samples of a monitor, and for the branches of a trace.
    #[inline]
    #[must_use]
    pub const fn marks_blocks(self) -> bool {
        match self {
            Self::Trace | Self::Nothing => true,
            Self::Paths | Self::Edges | Self::Loops | Self::Variation | Self::Times => false,
        }
    }

    /// Whether threads append to rings instead of counting in blocks.
    #[inline]
    #[must_use]
    pub const fn is_stream(self) -> bool {
        match self.traits().storage {
            Storage::Nothing | Storage::Counters => false,
            Storage::Stream => true,
        }
    }

    /// Whether the stream contains times of paths.
    #[inline]
    #[must_use]
    pub const fn is_timed(self) -> bool {
        match self.traits().timing {
            Timing::Untimed => false,
            Timing::Bursts | Timing::All => true,
        }
    }

    /// The number of bytes of counters that one unit of a module's base stands for in woven code: 1
    /// for blocks of counters, and 8 for streams, whose words are indices of 8-byte counters.
    #[inline]
    #[must_use]
    pub const fn base_unit(self) -> u64 {
        match self.traits().storage {
            Storage::Nothing | Storage::Counters => 1,
            Storage::Stream => 8,
        }
    }

    /// Whether exit edges can count frames that are left early. Exit edges count them unless the
    /// build turns exit edges off.
    #[inline]
    #[must_use]
    pub const fn counts_exits(self) -> bool {
        match self.traits().left_frames {
            LeftFrames::Counted => true,
            LeftFrames::Traced | LeftFrames::Untimed | LeftFrames::Unrecorded => false,
        }
    }
}

/// The file with slab forests.
const LOOPS_FILE: StreamFile = StreamFile {
    extension: "hwl",
    magic: *b"HLWLOOPS",
};

/// The file with traces.
const TRACE_FILE: StreamFile = StreamFile {
    extension: "hwt",
    magic: *b"HLWTRACE",
};

/// The file with distributions of path times.
const TIMINGS_FILE: StreamFile = StreamFile {
    extension: "hwv",
    magic: *b"HLWTIMES",
};

/// An error: the text is not the name of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such kind; use ")?;
        let last = Kind::ALL.len() - 1;
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index == last => " or ",
                _ => ", ",
            };
            write!(f, "{separator}{kind}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let named = |kind: &Self| kind.traits().name == text;
        Self::ALL.into_iter().find(named).ok_or(UnknownKind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.traits().name)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn numbers_and_names_lead_back_to_their_kind() {
        for (number, kind) in (0..).zip(Kind::ALL) {
            assert_eq!(
                (kind.number(), Kind::from_number(number)),
                (number, Some(kind))
            );
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!(Kind::from_number(Kind::ALL.len() as u32), None);
        assert_eq!("path".parse::<Kind>(), Err(UnknownKind));
        assert_eq!(
            UnknownKind.to_string(),
            "no such kind; use paths, edges, loops, trace, variation, times or none"
        );
    }

    #[test]
    fn streams_have_a_file_and_counters_have_none() {
        for kind in Kind::ALL {
            let traits = kind.traits();
            assert_eq!(
                traits.stream_file.is_some(),
                traits.storage == Storage::Stream
            );
            assert!(!kind.is_timed() || kind.is_stream(), "{kind}");
        }
    }
}
