//! What a reader of a run has to know beside the counts: samples, losses, damage, and functions that
//! were left out.
//!
//! A [`Note`] is a value. `holloway-report` words it; everything else matches on it.

use std::path::PathBuf;

use holloway_format::damage::Sample;
use holloway_format::{Damage, Fact, FormatError};

use crate::misfit::Misfit;

/// A fact about a run that its counts don't show.
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
        /// How many threads, at least.
        threads: u64,
    },
    /// A function whose counts don't fit its map is left out, or those counts that don't are.
    LeftOut {
        /// The function.
        function: FunctionPlace,
        /// Why its counts don't fit.
        misfit: Misfit,
    },
    /// The process was killed between two counters of a function, so edges came out negative. They
    /// are shown as 0.
    NegativeEdges {
        /// The function.
        function: FunctionPlace,
        /// How many edges.
        edges: usize,
    },
    /// A profile has damaged records, which are left out.
    DamagedRecords {
        /// The profile.
        file: PathBuf,
        /// How many.
        records: u64,
    },
    /// A profile can't be read, or not be joined with a path map.
    Unreadable {
        /// The profile.
        file: PathBuf,
        /// Why not.
        why: Unreadable,
    },
    /// A file lies in the run's directory, and the profile that it belongs to does not.
    NoProfile {
        /// The file.
        file: PathBuf,
        /// File name of the missing profile.
        profile: String,
    },
    /// The file of a profile's loops, traces, or timings is not there.
    MissingFile {
        /// The file.
        file: PathBuf,
    },
    /// The file of a profile's loops, traces, or timings can't be read.
    UnreadableFile {
        /// The file.
        file: PathBuf,
        /// Why not.
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

/// Why a profile can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The system can't read the profile's file.
    System {
        /// The system's message.
        message: String,
    },
    /// The profile's bytes are not those of a profile that fits the map.
    Format(FormatError),
    /// The system can't read the path map that lies beside the profile.
    MapFile {
        /// The path map.
        file: PathBuf,
        /// The system's message.
        message: String,
    },
    /// The path map that lies beside the profile is damaged in its head.
    MapFormat {
        /// The path map.
        file: PathBuf,
        /// Why it can't be read.
        error: FormatError,
    },
    /// The path map that lies beside the profile is of another build.
    MapOfOtherBuild {
        /// The path map.
        file: PathBuf,
        /// Its build id.
        build_id: [u8; 16],
    },
    /// All functions of the path map are lost.
    NoFunctions {
        /// The path map, or the program that holds it.
        file: PathBuf,
        /// The first damage in it.
        fact: Fact,
    },
    /// The program's file gives no path map.
    NoMapInProgram {
        /// Why not, with the way out.
        message: String,
    },
    /// The path map in the program's file is damaged in its head.
    MapInProgram {
        /// The program.
        file: PathBuf,
        /// Why it can't be read.
        error: FormatError,
    },
    /// The program was built again since the profile was recorded.
    Rebuilt {
        /// Build id of the profile.
        profile: [u8; 16],
        /// File name of the image, as the profile has it.
        image: String,
        /// The program.
        file: PathBuf,
        /// Its build id now.
        program: [u8; 16],
    },
}

/// Why the file of a profile's loops, traces, or timings can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileDamage {
    /// The system can't read it.
    System {
        /// The system's message.
        message: String,
    },
    /// It is of another process than its profile.
    OtherProcess {
        /// The file's process.
        file: u32,
        /// The profile's process.
        profile: u32,
    },
    /// It is of another build than its profile.
    OtherBuild,
    /// Another version of holloway wrote it.
    OtherVersion,
    /// Its end is missing.
    Truncated,
    /// Its head is damaged.
    Head,
}

/// The traces of an image in a process, held against the counts in its profile. In executed paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// File name of the program or shared object.
    pub image: String,
    /// Process id.
    pub process: u32,
    /// Paths that the profile counted.
    pub counted: u64,
    /// Paths that the profile counted and no trace has.
    pub missing: u64,
    /// Paths that the traces have and the profile did not count.
    pub surplus: u64,
}

impl Account {
    /// The note that traces and profile differ, if they do.
    pub fn note(&self) -> Option<Note> {
        let is_balanced = self.missing == 0 && self.surplus == 0;
        (!is_balanced).then(|| Note::Account(self.clone()))
    }
}

impl Note {
    /// The sample that the run's counts or traces are of, if this note says so. A sample is no
    /// damage.
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
