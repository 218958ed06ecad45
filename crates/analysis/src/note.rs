//! Facts about a run that its counts do not show: samples, losses, damage, and functions that were
//! left out.
//!
//! A [`Note`] is a value. `holloway-report` puts it into words; all other code matches on it.

use std::path::PathBuf;

use holloway_format::damage::Sample;
use holloway_format::{Count, Damage, Fact, FormatError, WriteFailure};

use crate::misfit::Misfit;

/// A fact about a run that its counts do not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A part of an image's path map is damaged.
    Map {
        /// File name of the image.
        image: String,
        /// What is damaged.
        damage: Damage,
    },
    /// A part of a profile is damaged.
    Profile {
        /// The profile's process.
        origin: Origin,
        /// What is damaged.
        damage: Damage,
    },
    /// A fact about the streams of a process: a sample, a loss, or damage.
    Streams {
        /// The streams' process.
        origin: Origin,
        /// The fact.
        fact: Fact,
    },
    /// A fact about one thread's trace.
    Trace(Fact),
    /// Threads whose words could not be written to the profile.
    LostThreads {
        /// The threads' process.
        origin: Origin,
        /// Minimum number of these threads.
        threads: u64,
        /// Why, if it is known.
        failure: Option<WriteFailure>,
    },
    /// A function is left out because its counts do not fit its map, or only some of its counts are
    /// left out.
    LeftOut {
        /// The function.
        function: FunctionPlace,
        /// Why its counts do not fit.
        misfit: Misfit,
    },
    /// The process was killed between two counters of a function, so propagated edge counts are
    /// negative. They are shown as 0.
    NegativeEdges {
        /// The function.
        function: FunctionPlace,
        /// Number of these edges.
        edges: usize,
    },
    /// Damaged records of a profile are left out.
    DamagedRecords {
        /// The profile.
        file: PathBuf,
        /// Number of these records.
        records: u64,
    },
    /// A profile cannot be read, or cannot be joined with a path map.
    Unreadable {
        /// The profile.
        file: PathBuf,
        /// Why the profile cannot be read.
        why: Unreadable,
    },
    /// A file is in the run's directory, but the profile that it belongs to is missing.
    NoProfile {
        /// The file.
        file: PathBuf,
        /// File name of the missing profile.
        profile: String,
    },
    /// The file of a profile's loops, traces, or timings is missing.
    MissingFile {
        /// The file.
        file: PathBuf,
    },
    /// The file of a profile's loops, traces, or timings cannot be read.
    UnreadableFile {
        /// The file.
        file: PathBuf,
        /// Why the file cannot be read.
        why: FileDamage,
    },
    /// The traces of a process differ from the counts in its profile.
    Account(Account),
}

/// An image in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// File name of the image.
    pub image: String,
    /// Process id.
    pub process: u32,
}

/// A function by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlace {
    /// File name of the image.
    pub image: String,
    /// Name of the module.
    pub module: String,
    /// Linkage name of the function.
    pub name: String,
}

/// Why a profile cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The system cannot read the profile's file.
    System {
        /// The system's message.
        message: String,
    },
    /// The profile is malformed, or does not fit the map.
    Format(FormatError),
    /// The system cannot read the path map that is stored next to the profile.
    MapFile {
        /// The path map.
        file: PathBuf,
        /// The system's message.
        message: String,
    },
    /// The head of the path map next to the profile is damaged.
    MapFormat {
        /// The path map.
        file: PathBuf,
        /// Why it cannot be read.
        error: FormatError,
    },
    /// The path map that is stored next to the profile belongs to another build.
    MapOfOtherBuild {
        /// The path map.
        file: PathBuf,
        /// The build id of the path map.
        build_id: [u8; 16],
    },
    /// All functions of the path map are lost.
    NoFunctions {
        /// The path map, or the program that holds it.
        file: PathBuf,
        /// The first damage in it.
        fact: Fact,
    },
    /// The program's file has no readable path map.
    NoMapInProgram {
        /// The reason.
        message: String,
    },
    /// The head of the path map in the program's file is damaged.
    MapInProgram {
        /// The program.
        file: PathBuf,
        /// Why it cannot be read.
        error: FormatError,
    },
    /// The program was built again since the profile was recorded.
    Rebuilt {
        /// Build id of the profile.
        profile: [u8; 16],
        /// File name of the image, as stored in the profile.
        image: String,
        /// The program.
        file: PathBuf,
        /// The current build id of the program.
        program: [u8; 16],
    },
}

/// Why the file of a profile's loops, traces, or timings cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileDamage {
    /// The system cannot read the file.
    System {
        /// The system's message.
        message: String,
    },
    /// The file belongs to another process than its profile.
    OtherProcess {
        /// The file's process.
        file: u32,
        /// The profile's process.
        profile: u32,
    },
    /// The file belongs to another build than its profile.
    OtherBuild,
    /// Another version of holloway wrote the file.
    OtherVersion,
    /// The end of the file is missing.
    Truncated,
    /// The head of the file is damaged.
    Head,
}

/// Compares the traces of an image in a process with the counts in its profile, in executed paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// File name of the program or shared object.
    pub image: String,
    /// Process id.
    pub process: u32,
    /// Paths that the profile counted.
    pub counted: Count,
    /// Paths that the profile counted and no trace contains.
    pub missing: Count,
    /// Paths that the traces contain and the profile did not count.
    pub surplus: Count,
}

impl Account {
    /// Returns a note if traces and profile differ.
    pub fn note(&self) -> Option<Note> {
        let is_balanced = self.missing == Count::ZERO && self.surplus == Count::ZERO;
        (!is_balanced).then(|| Note::Account(self.clone()))
    }
}

impl Note {
    /// Returns the sample, if this note reports that the run's counts or traces are only a sample.
    /// A sample is not damage.
    pub fn sample(&self) -> Option<Sample> {
        match self {
            Note::Streams { fact, .. } | Note::Trace(fact) => fact.sample(),
            Note::Map { damage, .. } | Note::Profile { damage, .. } => damage.fact.sample(),
            Note::LostThreads { .. }
            | Note::LeftOut { .. }
            | Note::NegativeEdges { .. }
            | Note::DamagedRecords { .. }
            | Note::Unreadable { .. }
            | Note::NoProfile { .. }
            | Note::MissingFile { .. }
            | Note::UnreadableFile { .. }
            | Note::Account(_) => None,
        }
    }
}
