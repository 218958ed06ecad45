//! Why bytes could not be read: one flat enum, a sentence a variant, with the byte offset where there is one.
//!
//! The messages don't name the file: the command that opened it does (`cannot read app.hwm: …`).

use std::fmt;
use std::ops::RangeInclusive;

/// First 16 hexadecimal digits of a build id, as messages show it.
pub fn short_id(build_id: &[u8; 16]) -> String {
    build_id[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// All 32 hexadecimal digits of a build id, as file names carry it.
pub fn hex_id(build_id: &[u8; 16]) -> String {
    build_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a map or profile, or a record of one, could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// The first bytes are not those of a profile.
    NotAProfile,
    /// The first bytes are not those of an image's path map.
    NotAMap,
    /// The first bytes are not those of a module's path map.
    NotAFragment,
    /// The first bytes are not those of a guide.
    NotAGuide,
    /// The first bytes are not those of a file of traces.
    NotATrace,
    /// The first bytes are not those of sequences over loop iterations.
    NotLoops,
    /// The first bytes are not those of timings.
    NotTimings,
    /// Written by a version with another format.
    Version {
        /// Format number in the file.
        found: u32,
        /// The formats this version reads.
        reads: RangeInclusive<u32>,
    },
    /// A profile whose head the runtime had not written yet when the process ended.
    Unfinished,
    /// The file ends before what it announces.
    Truncated {
        /// Where the file ends.
        offset: u64,
    },
    /// The head of the file is damaged, so nothing in it can be trusted.
    Head {
        /// Where the damaged part starts.
        offset: u64,
    },
    /// The profile is of another build of the image.
    BuildMismatch {
        /// Build id in the profile.
        profile: [u8; 16],
        /// Build id of the map.
        map: [u8; 16],
        /// Image the profile was recorded from.
        image: String,
    },
    /// A kind of data this version knows nothing about.
    UnknownKind {
        /// The kind's number.
        kind: u32,
        /// Where it is written.
        offset: u64,
    },
    /// A record's checksum is wrong.
    Checksum {
        /// Where the record starts.
        offset: u64,
    },
    /// A variable-length number does not end or exceeds its type.
    Number {
        /// Where the number starts.
        offset: u64,
    },
    /// A number points past what it counts.
    Range {
        /// What the number stands for.
        what: &'static str,
        /// The number.
        value: u64,
        /// The first number out of range.
        limit: u64,
        /// Where the number ends.
        offset: u64,
    },
    /// A code that stands for nothing.
    Code {
        /// What the code stands for.
        what: &'static str,
        /// The code.
        code: u64,
        /// Where the code ends.
        offset: u64,
    },
    /// Records or numbers that must ascend do not.
    Order {
        /// What is out of order.
        what: &'static str,
        /// Where.
        offset: u64,
    },
    /// Bytes are left over after the end of a record's content.
    Leftover {
        /// Where the leftover starts.
        offset: u64,
    },
    /// A string used by a record is damaged.
    Text {
        /// Number of the string in the module's table.
        index: u64,
        /// Where the record uses it.
        offset: u64,
    },
    /// Counters of a function that lie outside of the block or over those of another.
    Counters {
        /// Where the record is.
        offset: u64,
    },
    /// Counts of a function whose record in the path map is damaged.
    NoMap {
        /// Where the counts are.
        offset: u64,
    },
    /// Counts of a function that has another graph in the path map.
    OtherFunction {
        /// Where the counts are.
        offset: u64,
    },
}

impl FormatError {
    /// The byte offset, for the variants that have one.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::NotAProfile
            | Self::NotAMap
            | Self::NotAFragment
            | Self::NotAGuide
            | Self::NotATrace
            | Self::NotLoops
            | Self::NotTimings => Some(0),
            Self::Version { .. } => Some(8),
            Self::Unfinished | Self::BuildMismatch { .. } => None,
            Self::Truncated { offset }
            | Self::Head { offset }
            | Self::UnknownKind { offset, .. }
            | Self::Checksum { offset }
            | Self::Number { offset }
            | Self::Range { offset, .. }
            | Self::Code { offset, .. }
            | Self::Order { offset, .. }
            | Self::Leftover { offset }
            | Self::Text { offset, .. }
            | Self::Counters { offset }
            | Self::NoMap { offset }
            | Self::OtherFunction { offset } => Some(*offset),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAProfile => {
                f.write_str("not a holloway profile; give a .hwp file written by a woven program")
            }
            Self::NotAMap => {
                f.write_str("not a path map; give a .hwm file, or weave the program again")
            }
            Self::NotAFragment => {
                f.write_str("not the path map of a module; weave the program again")
            }
            Self::NotLoops => f.write_str(
                "not sequences over loop iterations; give a .hwl file of a run built with --collect loops",
            ),
            Self::NotTimings => f.write_str(
                "not timings of paths; give a .hwv file of a run built with --collect variation or times",
            ),
            Self::NotAGuide => f.write_str("not a guide; give a run that was recorded"),
            Self::NotATrace => f.write_str("not a file of traces; give a .hwt file of a run with --collect trace"),
            Self::Version { found, reads } => {
                write!(f, "format {found}, this holloway reads {}", reads.start())?;
                if reads.start() < reads.end() {
                    write!(f, "-{}", reads.end())?;
                }
                f.write_str("; record it again")
            }
            Self::Unfinished => {
                f.write_str("the process ended before it had written the head of its profile")
            }
            Self::Truncated { offset } => write!(
                f,
                "the file ends at byte {offset}, before what it announces"
            ),
            Self::Head { offset } => {
                write!(f, "the head at byte {offset} is damaged; record it again")
            }
            Self::BuildMismatch {
                profile,
                map,
                image,
            } => write!(
                f,
                "the profile is of build {} of {image}, the path map of build {}; record it again with this build",
                short_id(profile),
                short_id(map)
            ),
            Self::UnknownKind { kind, offset } => {
                write!(
                    f,
                    "data of kind {kind} (byte {offset}), which this holloway does not know; use a newer one"
                )
            }
            Self::Checksum { offset } => {
                write!(f, "the checksum of the record at byte {offset} is wrong")
            }
            Self::Number { offset } => {
                write!(f, "the number at byte {offset} has no end or is too large")
            }
            Self::Range {
                what,
                value,
                limit,
                offset,
            } => {
                write!(
                    f,
                    "{what} {value} at byte {offset} is out of range (below {limit})"
                )
            }
            Self::Code { what, code, offset } => {
                write!(f, "{what} {code} at byte {offset} stands for nothing")
            }
            Self::Order { what, offset } => write!(f, "{what} at byte {offset} is out of order"),
            Self::Leftover { offset } => write!(f, "bytes are left over at byte {offset}"),
            Self::Text { index, offset } => {
                write!(f, "string {index}, used at byte {offset}, is damaged")
            }
            Self::Counters { offset } => {
                write!(
                    f,
                    "the counters of the function at byte {offset} lie outside of the block or over others"
                )
            }
            Self::NoMap { offset } => write!(
                f,
                "the counts at byte {offset} are of a function the path map lost"
            ),
            Self::OtherFunction { offset } => {
                write!(
                    f,
                    "the counts at byte {offset} are of a function with another graph; record it again"
                )
            }
        }
    }
}

impl std::error::Error for FormatError {}
