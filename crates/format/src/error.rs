//! The errors of the parsers: [`FormatError`], with a sentence for each variant and the byte offset
//! where there is one, and [`AssembleError`] for grammars.
//!
//! The messages do not contain the file's name. The command that opened the file adds it
//! (`cannot read app.hwm: …`).

use std::fmt;
use std::ops::RangeInclusive;

/// First 16 hexadecimal digits of a build id, as messages show it.
pub fn short_id(build_id: &[u8; 16]) -> String {
    build_id[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// All 32 hexadecimal digits of a build id, as in file names.
pub fn hex_id(build_id: &[u8; 16]) -> String {
    build_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The reason why a file, or a record of it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The first bytes are not the magic number of a profile.
    #[error("not a holloway profile; give a .hwp file written by a woven program")]
    NotAProfile,
    /// The first bytes are not the magic number of an image's path map.
    #[error("not a path map; give a .hwm file, or weave the program again")]
    NotAMap,
    /// The first bytes are not the magic number of a module's path map.
    #[error("not the path map of a module; weave the program again")]
    NotAFragment,
    /// The first bytes are not the magic number of a guide.
    #[error("not a guide; give a run that was recorded")]
    NotAGuide,
    /// The first bytes are not the magic number of a recipe.
    #[error("not a recipe; link the program again with --embed")]
    NotARecipe,
    /// The first bytes are not the magic number of a file of traces.
    #[error("not a file of traces; give a .hwt file of a run with --collect trace")]
    NotATrace,
    /// The first bytes are not the magic number of slab forests.
    #[error(
        "not sequences over loop iterations; give a .hwl file of a run built with --collect loops"
    )]
    NotLoops,
    /// The first bytes are not the magic number of timings.
    #[error(
        "not timings of paths; give a .hwv file of a run built with --collect variation or times"
    )]
    NotTimings,
    /// The first bytes are not the magic number of a CPU time record.
    #[error("not a record of CPU time; give a .hwc file of a run")]
    NotCpuTime,
    /// The first bytes are not the magic number of a record of samples.
    #[error("not samples; give a .hws file of `holloway monitor`")]
    NotSamples,
    /// The first bytes are not the magic number of branch records.
    #[error("not branch records; give a .hwb file of `holloway import`")]
    NotBranches,
    /// The file was written by a version of holloway with another format.
    #[error(
        "format {found}, this holloway reads {}; record it again",
        Versions(reads)
    )]
    Version {
        /// Format number in the file.
        found: u32,
        /// The formats that this version reads.
        reads: RangeInclusive<u32>,
    },
    /// The process ended before the runtime had written the head of the profile.
    #[error("the process ended before it had written the head of its profile: record again")]
    Unfinished,
    /// The file is shorter than its content requires.
    #[error("the file ends at byte {offset}, before what it announces")]
    Truncated {
        /// Length of the file.
        offset: u64,
    },
    /// The head of the file is damaged, so the file cannot be read.
    ///
    /// The advice also holds for a path map next to a profile: recording stores a new copy.
    #[error("the head at byte {offset} is damaged; record it again")]
    Head {
        /// Start of the damaged part.
        offset: u64,
    },
    /// The profile is of another build of the image.
    #[error(
        "the profile is of build {} of {image}, the path map of build {}; record it again with this build",
        short_id(profile),
        short_id(map)
    )]
    BuildMismatch {
        /// Build id of the profile.
        profile: [u8; 16],
        /// Build id of the map.
        map: [u8; 16],
        /// The image from which the profile was recorded.
        image: String,
    },
    /// A kind of data that this version does not know.
    #[error(
        "data of kind {kind} (byte {offset}), which this holloway does not know; use a newer one"
    )]
    UnknownKind {
        /// The kind's number.
        kind: u32,
        /// Offset of the number.
        offset: u64,
    },
    /// A record's checksum is wrong.
    #[error("the checksum of the record at byte {offset} is wrong")]
    Checksum {
        /// Start of the record.
        offset: u64,
    },
    /// A variable-length number does not end or exceeds its type.
    #[error("the number at byte {offset} has no end or is too large")]
    Number {
        /// Start of the number.
        offset: u64,
    },
    /// A number is not less than the length of the list that it refers to.
    #[error("{what} {value} at byte {offset} is out of range: it must be below {limit}")]
    Range {
        /// The noun for the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The first number out of range.
        limit: u64,
        /// End of the number.
        offset: u64,
    },
    /// A code is unknown.
    #[error("{what} {code} at byte {offset} has no meaning")]
    Code {
        /// The noun for the code.
        what: &'static str,
        /// The code.
        code: u64,
        /// End of the code.
        offset: u64,
    },
    /// Records or numbers that must ascend do not.
    #[error("{what} at byte {offset} is out of order")]
    Order {
        /// The noun for the record or number.
        what: &'static str,
        /// Offset of the record or number.
        offset: u64,
    },
    /// Bytes are left over after the end of a record's content.
    #[error("bytes are left over at byte {offset}")]
    Leftover {
        /// Start of the remaining bytes.
        offset: u64,
    },
    /// A string that a record uses is damaged.
    #[error("string {index}, used at byte {offset}, is damaged")]
    Text {
        /// Number of the string in the module's table.
        index: u64,
        /// Offset of the record's reference to the string.
        offset: u64,
    },
    /// A function's counters are outside the block of counters, or overlap another function's
    /// counters.
    #[error(
        "the counters of the function at byte {offset} lie outside of the block or over others"
    )]
    Counters {
        /// Offset of the function's record.
        offset: u64,
    },
    /// The counts belong to a function whose record in the path map is damaged.
    #[error("the counts at byte {offset} are of a function the path map lost")]
    NoMap {
        /// Offset of the counts.
        offset: u64,
    },
    /// The counts belong to a function that has another structure in the path map: another graph,
    /// numbering of paths, or choice of counted edges.
    #[error("the counts at byte {offset} are of a function with another graph; record it again")]
    OtherFunction {
        /// Offset of the counts.
        offset: u64,
    },
}

/// The reason why the blocks of a trace do not form a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The right side of a rule has a beginning without an end, or an end without a beginning.
    #[error("a right side has no beginning or no end")]
    Unbalanced,
    /// A rule is used before its right side.
    #[error("rule {rule} is used before it is known")]
    Rule {
        /// Number of the rule.
        rule: u32,
    },
    /// A terminal is used that the file does not list.
    #[error("terminal {terminal} is not in the file's list")]
    Terminal {
        /// Number of the terminal.
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
    /// The byte offset of the error. Errors about the whole file have none.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::NotAProfile
            | Self::NotAMap
            | Self::NotAFragment
            | Self::NotAGuide
            | Self::NotARecipe
            | Self::NotATrace
            | Self::NotLoops
            | Self::NotTimings
            | Self::NotCpuTime
            | Self::NotSamples
            | Self::NotBranches => Some(0),
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
