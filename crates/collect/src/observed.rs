//! Reads what a profile shows of one program by address: the samples of a monitor or an import, or
//! the straight sections in branch records. Needs no path map.
//!
//! The program must be the recorded build: build ids are compared. Without a build id, its file
//! name decides.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holloway_analysis::origins::Observed;
use holloway_format::FormatError;
use holloway_format::samples::{KnownBlocks, MonitoredFile, SampleClock, SampleRecord};
use holloway_sample::elf::{self, Segments};

use crate::files::read_regular;
use crate::import::{ImportError, hex, read_sections};
use crate::samples::sample_files;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// Samples per second, if the profile does not say. Only ratios of executions matter.
const UNKNOWN_FREQUENCY: u64 = 1_000;

/// The reason why a profile cannot be used for a program.
#[derive(Debug, thiserror::Error)]
pub enum ObservedError {
    /// A file of samples cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file of samples is damaged.
    #[error("cannot read {}: {source}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: FormatError,
    },
    /// The profile is no profile.
    #[error(
        "{} has no profile: name a run of `holloway monitor` or of `holloway plan instrument`'s program, or a file of `perf record`",
        profile.display()
    )]
    NoProfile {
        /// The directory.
        profile: PathBuf,
    },
    /// A file of another tool cannot be used.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The profile is of another build of the program.
    #[error(
        "{} is of another build of {}: build id {recorded} was watched, and the program's is {found}; name the program that was watched, or watch this one",
        profile.display(), program.display()
    )]
    OtherBuild {
        /// The profile.
        profile: PathBuf,
        /// The program.
        program: PathBuf,
        /// The program's build id.
        found: String,
        /// The build id in the profile.
        recorded: String,
    },
    /// The profile does not contain the program.
    #[error(
        "{} does not show {}: it was not watched, or used no CPU time; watch it while it works",
        profile.display(), program.display()
    )]
    NotWatched {
        /// The profile.
        profile: PathBuf,
        /// The program.
        program: PathBuf,
    },
    /// The samples do not show where time goes.
    #[error(
        "the samples in {} are not time-based: record cycles or CPU time, or branch stacks (`perf record -j any,u`)",
        profile.display()
    )]
    NotTimeBased {
        /// The profile.
        profile: PathBuf,
    },
}

/// Reads what a profile shows of a program.
///
/// # Errors
/// If the profile cannot be read, or does not show this build of the program.
pub fn read(profile: &Path, program: &Path) -> Result<Observed, ObservedError> {
    let files = sample_files(profile);
    let (record, sections) = match files.as_slice() {
        [] if profile.is_dir() => {
            return Err(ObservedError::NoProfile {
                profile: profile.to_owned(),
            });
        }
        [] => {
            let (imported, sections) = read_sections(profile, program)?;
            (vec![imported.samples], sections)
        }
        files => {
            let records = files.iter().map(|file| read_record(file));
            (records.collect::<Result<_, _>>()?, BTreeMap::new())
        }
    };
    if !sections.is_empty() {
        return Ok(Observed::Sections(sections));
    }
    samples(profile, program, &record)
}

fn read_record(file: &Path) -> Result<SampleRecord, ObservedError> {
    let bytes = read_regular(file).map_err(|source| ObservedError::Unreadable {
        file: file.to_owned(),
        source,
    })?;
    SampleRecord::decode(&bytes).map_err(|source| ObservedError::Damaged {
        file: file.to_owned(),
        source,
    })
}

/// Adds up the samples of a program.
fn samples(
    profile: &Path,
    program: &Path,
    records: &[SampleRecord],
) -> Result<Observed, ObservedError> {
    let own_id = elf::build_id(program).unwrap_or_default();
    let segments = elf::segments(program).unwrap_or_default();
    let mut samples = BTreeMap::new();
    let mut frequency = 0;
    let mut other_build = None;
    for record in records {
        for file in &record.files {
            match is_build(file, program, &own_id) {
                Build::This if record.clock == SampleClock::Other => {
                    return Err(ObservedError::NotTimeBased {
                        profile: profile.to_owned(),
                    });
                }
                Build::This => {
                    frequency = frequency.max(record.frequency);
                    add(&mut samples, file, &segments);
                }
                Build::Other => other_build = Some(hex(&file.build_id)),
                Build::Unrelated => {}
            }
        }
    }
    if !samples.is_empty() {
        let frequency = match frequency {
            0 => UNKNOWN_FREQUENCY,
            known => known,
        };
        return Ok(Observed::Samples {
            samples,
            period_ns: (SECOND / frequency).max(1),
        });
    }
    let (profile, program) = (profile.to_owned(), program.to_owned());
    Err(match other_build {
        Some(recorded) => ObservedError::OtherBuild {
            profile,
            program,
            found: hex(&own_id),
            recorded,
        },
        None => ObservedError::NotWatched { profile, program },
    })
}

/// What a watched file is to the program.
enum Build {
    This,
    /// A file of the same name with another build id.
    Other,
    Unrelated,
}

fn is_build(file: &MonitoredFile, program: &Path, own_id: &[u8]) -> Build {
    let has_name = Path::new(&file.path).file_name() == program.file_name();
    match (file.build_id == own_id, own_id.is_empty(), has_name) {
        (true, false, _) | (true, true, true) => Build::This,
        (false, _, true) => Build::Other,
        (true, true, false) | (false, _, false) => Build::Unrelated,
    }
}

/// Adds the samples of a file.
fn add(sums: &mut BTreeMap<u64, u64>, file: &MonitoredFile, segments: &Segments) {
    for at in &file.addresses {
        let address = match file.blocks {
            KnownBlocks::Unread => segments.address(at.address),
            KnownBlocks::NotWoven
            | KnownBlocks::NoProbes
            | KnownBlocks::NoSymbols
            | KnownBlocks::Damaged
            | KnownBlocks::Known { .. }
            | KnownBlocks::Copied { .. } => Some(at.address),
        };
        if let Some(address) = address {
            let sum: &mut u64 = sums.entry(address).or_default();
            *sum = sum.saturating_add(at.samples.0);
        }
    }
}
