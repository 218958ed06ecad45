//! Why bytes could not be read: one flat enum, one sentence per variant, with the byte offset.
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The first bytes are not those of a profile.
    #[error("not a holloway profile; give a .hwp file written by a woven program")]
    NotAProfile,
    /// The first bytes are not those of an image's path map.
    #[error("not a path map; give a .hwm file, or weave the program again")]
    NotAMap,
    /// The first bytes are not those of a module's path map.
    #[error("not the path map of a module; weave the program again")]
    NotAFragment,
    /// The first bytes are not those of a guide.
    #[error("not a guide; give a run that was recorded")]
    NotAGuide,
    /// The first bytes are not those of a file of traces.
    #[error("not a file of traces; give a .hwt file of a run with --collect trace")]
    NotATrace,
    /// The first bytes are not those of sequences over loop iterations.
    #[error(
        "not sequences over loop iterations; give a .hwl file of a run built with --collect loops"
    )]
    NotLoops,
    /// The first bytes are not those of timings.
    #[error(
        "not timings of paths; give a .hwv file of a run built with --collect variation or times"
    )]
    NotTimings,
    /// Written by a version with another format.
    #[error(
        "format {found}, this holloway reads {}; record it again",
        Versions(reads)
    )]
    Version {
        /// Format number in the file.
        found: u32,
        /// The formats this version reads.
        reads: RangeInclusive<u32>,
    },
    /// A profile whose head the runtime had not written yet when the process ended.
    #[error("the process ended before it had written the head of its profile")]
    Unfinished,
    /// The file ends before the end that its head announces.
    #[error("the file ends at byte {offset}, before what it announces")]
    Truncated {
        /// Where the file ends.
        offset: u64,
    },
    /// The head of the file is damaged, so nothing in it can be trusted.
    #[error("the head at byte {offset} is damaged; record it again")]
    Head {
        /// Where the damaged part starts.
        offset: u64,
    },
    /// The profile is of another build of the image.
    #[error(
        "the profile is of build {} of {image}, the path map of build {}; record it again with this build",
        short_id(profile),
        short_id(map)
    )]
    BuildMismatch {
        /// Build id in the profile.
        profile: [u8; 16],
        /// Build id of the map.
        map: [u8; 16],
        /// Image the profile was recorded from.
        image: String,
    },
    /// A kind of data that this version does not know.
    #[error(
        "data of kind {kind} (byte {offset}), which this holloway does not know; use a newer one"
    )]
    UnknownKind {
        /// The kind's number.
        kind: u32,
        /// Where it is written.
        offset: u64,
    },
    /// A record's checksum is wrong.
    #[error("the checksum of the record at byte {offset} is wrong")]
    Checksum {
        /// Where the record starts.
        offset: u64,
    },
    /// A variable-length number does not end or exceeds its type.
    #[error("the number at byte {offset} has no end or is too large")]
    Number {
        /// Where the number starts.
        offset: u64,
    },
    /// A number is past the end of the list that it refers to.
    #[error("{what} {value} at byte {offset} is out of range (below {limit})")]
    Range {
        /// The noun for the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The first number out of range.
        limit: u64,
        /// Where the number ends.
        offset: u64,
    },
    /// A code has no meaning.
    #[error("{what} {code} at byte {offset} stands for nothing")]
    Code {
        /// The noun for the code.
        what: &'static str,
        /// The code.
        code: u64,
        /// Where the code ends.
        offset: u64,
    },
    /// Records or numbers that must ascend do not.
    #[error("{what} at byte {offset} is out of order")]
    Order {
        /// The noun for the record or number.
        what: &'static str,
        /// Where.
        offset: u64,
    },
    /// Bytes are left over after the end of a record's content.
    #[error("bytes are left over at byte {offset}")]
    Leftover {
        /// Where the leftover starts.
        offset: u64,
    },
    /// A string used by a record is damaged.
    #[error("string {index}, used at byte {offset}, is damaged")]
    Text {
        /// Number of the string in the module's table.
        index: u64,
        /// Where the record uses it.
        offset: u64,
    },
    /// A function's counters lie outside of the block or over those of another.
    #[error(
        "the counters of the function at byte {offset} lie outside of the block or over others"
    )]
    Counters {
        /// Where the record is.
        offset: u64,
    },
    /// The counts are of a function whose record in the path map is damaged.
    #[error("the counts at byte {offset} are of a function the path map lost")]
    NoMap {
        /// Where the counts are.
        offset: u64,
    },
    /// The counts are of a function that has another graph in the path map.
    #[error("the counts at byte {offset} are of a function with another graph; record it again")]
    OtherFunction {
        /// Where the counts are.
        offset: u64,
    },
}

/// Why the blocks of a trace make no grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// A right side begins and does not end, or ends and did not begin.
    #[error("a right side has no beginning or no end")]
    Unbalanced,
    /// A rule is used before its right side.
    #[error("rule {rule} is used before it is known")]
    Rule {
        /// Its number.
        rule: u32,
    },
    /// A terminal is used that the file does not list.
    #[error("terminal {terminal} is used before it is known")]
    Terminal {
        /// Its number.
        terminal: u32,
    },
    /// There are more than 2^29 rules or 2^30 tokens, or the string is longer than 2^63.
    #[error(
        "the trace is too long to be asked as a whole: `holloway trace verify` checks all of it, `trace cat --from N --count M` shows parts; record less with `--only`, `--skip` or `--sample`"
    )]
    Large,
}

/// A range of format numbers: `3` or `3-5`.
struct Versions<'a>(&'a RangeInclusive<u32>);

impl fmt::Display for Versions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        write!(f, "{first}")?;
        if first < last {
            write!(f, "-{last}")?;
        }
        Ok(())
    }
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
