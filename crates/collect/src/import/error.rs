//! The reasons why an import fails.

use std::path::PathBuf;

use holloway_sample::perf_data::PerfDataError;
use holloway_sample::pre_aggregated::PreAggregatedError;

/// The reason why an import fails.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The input.
        file: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The input is a directory or a device.
    #[error("{} is not a regular file: name a file of `perf record`, or BOLT's pre-aggregated text", input.display())]
    NoFile {
        /// The input.
        input: PathBuf,
    },
    /// The input is no usable file of `perf record`.
    #[error("cannot import {}: {why}", file.display())]
    PerfData {
        /// The input.
        file: PathBuf,
        /// The reason.
        why: PerfDataError,
    },
    /// The input is no usable text.
    #[error("cannot import {}: {why}", file.display())]
    Text {
        /// The input.
        file: PathBuf,
        /// The reason.
        why: PreAggregatedError,
    },
    /// A program is not the recorded build.
    #[error(
        "{} is another build than the recorded one: its build id is {found}, and {recorded} was recorded; name the recorded program behind the file, or record again",
        program.display()
    )]
    OtherBuild {
        /// The program.
        program: PathBuf,
        /// Its build id.
        found: String,
        /// The recorded build id.
        recorded: String,
    },
    /// No process of the recording ran a program that the user named.
    #[error("{} (build id {found}) was not recorded in {}: it has samples of {recorded}; name the recorded program, or record again", program.display(), file.display())]
    NotRecorded {
        /// The input.
        file: PathBuf,
        /// The program.
        program: PathBuf,
        /// Its build id.
        found: String,
        /// The recorded files, with their build ids.
        recorded: String,
    },
    /// A program that the user named is not readable.
    #[error("{} is not a readable program", program.display())]
    NoProgram {
        /// The program.
        program: PathBuf,
    },
    /// A text of branches says nothing about its program.
    #[error("{} has addresses without a program: name the program, as in `holloway import {} ./app`", file.display(), file.display())]
    ProgramNeeded {
        /// The input.
        file: PathBuf,
    },
    /// A text of branches was imported with several programs.
    #[error("{} is a text of branches, which belong to one program, and {programs} are named: name one", file.display())]
    SeveralPrograms {
        /// The input.
        file: PathBuf,
        /// Number of programs.
        programs: usize,
    },
    /// Branches say nothing about a program without blocks.
    #[error("{} has no addresses of blocks ({why}), so branches show nothing: build it with --collect none, and record again", program.display())]
    NoBlocks {
        /// The program.
        program: PathBuf,
        /// The reason.
        why: holloway_sample::code_map::CodeMapError,
    },
    /// There is no sample in user mode.
    #[error("{} has no sample in user mode: record a program that uses CPU time", file.display())]
    NoSamples {
        /// The input.
        file: PathBuf,
    },
}
