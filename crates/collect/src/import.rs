//! Imports the samples and branch records of other tools, as if a monitor had watched the programs:
//! files of `perf record`, and BOLT's pre-aggregated text.
//!
//! The run's directory gets the samples ([`holloway_format::samples`]), the branch records
//! ([`holloway_format::branches`]), and the path maps of the programs. Nothing is written before
//! the whole input was read.
//!
//! A file must be the recorded build: its build id is compared.

mod error;
mod files;
mod imported;
mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use holloway_format::branches::{BranchFile, RecordSource};
use holloway_format::samples::{MonitorState, SampleClock, SampleRecord};
use holloway_format::{Count, ProgramSamples};
use holloway_sample::address_spaces::{Action, AddressSpaces, Event};
use holloway_sample::perf_data::{
    self, EventClock, Record, RecordedSample, SampledEvent, is_perf_data,
};

pub use error::ImportError;
pub(crate) use files::{ImportedFiles, Sections, hex};
pub use imported::Imported;

use files::Purpose;
use imported::file_name;

/// Reads a file: of `perf record`, or BOLT's pre-aggregated text. `programs` are used instead of
/// the files with the recorded paths, if they have the recorded build ids.
///
/// # Errors
/// If the input cannot be used, or a program is another build.
pub fn read(input: &Path, programs: &[PathBuf]) -> Result<Imported, ImportError> {
    read_for(Purpose::Blocks, input, programs)
}

fn read_for(purpose: Purpose, input: &Path, programs: &[PathBuf]) -> Result<Imported, ImportError> {
    let unreadable = |source| ImportError::Unreadable {
        file: input.to_owned(),
        source,
    };
    if !std::fs::metadata(input).map_err(unreadable)?.is_file() {
        return Err(ImportError::NoFile {
            input: input.to_owned(),
        });
    }
    let mut magic = Vec::new();
    let file = std::fs::File::open(input).map_err(unreadable)?;
    file.take(8).read_to_end(&mut magic).map_err(unreadable)?;
    match is_perf_data(&magic) {
        true => read_perf_data(input, programs),
        false => text::read(purpose, input, programs),
    }
}

/// Reads a file for one program that need not have a path map. Returns its samples, and the
/// straight sections in its branch records.
///
/// # Errors
/// If the input cannot be used, or the program is another build.
pub(crate) fn read_sections(
    input: &Path,
    program: &Path,
) -> Result<(Imported, Sections), ImportError> {
    let programs = [program.to_owned()];
    let imported = read_for(Purpose::Sections, input, &programs)?;
    let absolute = std::path::absolute(program);
    let path = absolute.unwrap_or_else(|_| program.to_owned());
    let sections = imported.sections.get(&*path.to_string_lossy());
    let sections = sections.cloned().unwrap_or_default();
    Ok((imported, sections))
}

/// The state of reading a file of `perf record`.
struct PerfImport<'a> {
    spaces: AddressSpaces,
    files: ImportedFiles<'a>,
    stacks: u64,
    branches: u64,
    depth: u64,
    kernel: u64,
    other_events: u64,
    damaged: u64,
    lost: u64,
    /// The first and the last time.
    times: Option<(u64, u64)>,
}

fn read_perf_data(input: &Path, programs: &[PathBuf]) -> Result<Imported, ImportError> {
    let failure = |why| ImportError::PerfData {
        file: input.to_owned(),
        why,
    };
    let mut data = perf_data::open(input).map_err(failure)?;
    let mut import = PerfImport {
        spaces: AddressSpaces::default(),
        files: ImportedFiles::new(input, programs)?,
        stacks: 0,
        branches: 0,
        depth: 0,
        kernel: 0,
        other_events: 0,
        damaged: 0,
        lost: 0,
        times: None,
    };
    while let Some(record) = data.next_record().map_err(failure)? {
        import.add(record)?;
    }
    import.finish(input, data.event())
}

impl PerfImport<'_> {
    fn add(&mut self, record: Record) -> Result<(), ImportError> {
        match record {
            Record::Event(event) => {
                self.note_time(event.time);
                self.spaces.add(event);
            }
            Record::Sample(sample) => self.add_sample(sample)?,
            Record::KernelSample => self.kernel += 1,
            Record::OtherEvent => self.other_events += 1,
            Record::Lost(count) => self.lost = self.lost.saturating_add(count),
            Record::Damaged => self.damaged += 1,
        }
        Ok(())
    }

    fn note_time(&mut self, time: u64) {
        if time > 0 {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }

    fn add_sample(&mut self, sample: RecordedSample) -> Result<(), ImportError> {
        self.note_time(sample.time);
        let process = sample.process;
        if !sample.stack.is_empty() {
            self.stacks += 1;
            self.branches += sample.stack.len() as u64;
            self.depth = self.depth.max(sample.stack.len() as u64);
            self.spaces.add(Event {
                time: sample.time,
                process,
                action: Action::Branches {
                    stack: sample.stack,
                },
            });
            for stack in self.spaces.take_stacks() {
                self.files.add_stack(&self.spaces, &stack)?;
            }
        }
        self.spaces.add(Event {
            time: sample.time,
            process,
            action: Action::Sample {
                address: sample.address,
            },
        });
        Ok(())
    }

    fn finish(mut self, input: &Path, event: &SampledEvent) -> Result<Imported, ImportError> {
        let mut programs: BTreeMap<String, u64> = BTreeMap::new();
        let mut without_file = 0;
        let mut total = 0;
        for execution in self.spaces.take_samples() {
            let samples = execution.samples.values().sum::<u64>() + execution.unmapped;
            total += samples;
            let program = execution.program.map(|file| self.spaces.path(file));
            let program = program.map_or_else(Cow::default, Path::to_string_lossy);
            *programs.entry(program.into_owned()).or_default() += samples;
            without_file += execution.unmapped;
            let mut found: Vec<_> = execution.samples.into_iter().collect();
            found.sort_unstable();
            for ((id, offset), samples) in found {
                match self.spaces.path(id).starts_with("//anon") {
                    true => without_file += samples,
                    false => self.files.add_sample(
                        &self.spaces,
                        execution.process,
                        (id, offset),
                        samples,
                    )?,
                }
            }
        }
        if total == 0 {
            return Err(ImportError::NoSamples {
                file: input.to_owned(),
            });
        }
        let sampled = self.files.finish()?;
        let duration_ns = self.times.map_or(0, |(first, last)| last - first);
        let mut quality = sampled.quality;
        (quality.stacks, quality.branches) = (self.stacks, self.branches);
        Ok(Imported {
            samples: SampleRecord {
                clock: match event.clock {
                    EventClock::Cycles => SampleClock::Cycles,
                    EventClock::CpuTime => SampleClock::CpuTime,
                    EventClock::Other => SampleClock::Other,
                },
                state: MonitorState::Ended,
                frequency: event
                    .frequency
                    .unwrap_or_else(|| per_second(total, duration_ns)),
                duration_ns,
                lost: self.lost,
                without_file: Count(without_file),
                files: sampled.files,
                programs: programs
                    .into_iter()
                    .map(|(path, samples)| ProgramSamples {
                        path,
                        samples: Count(samples),
                    })
                    .collect(),
            },
            branches: BranchFile {
                source: RecordSource::PerfData,
                name: file_name(input),
                event: event.name.clone(),
                depth: self.depth,
                kernel: self.kernel,
                other_events: self.other_events,
                damaged: self.damaged,
                quality,
                files: sampled.branches,
            },
            unverified: sampled.unverified,
            sections: sampled.sections,
            maps: sampled.maps,
        })
    }
}

/// Samples per second, at least 1.
fn per_second(samples: u64, duration_ns: u64) -> u64 {
    let per_second = u128::from(samples) * 1_000_000_000 / u128::from(duration_ns.max(1));
    u64::try_from(per_second)
        .unwrap_or(u64::MAX)
        .clamp(1, 1_000_000_000)
}
