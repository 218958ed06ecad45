//! Imports BOLT's pre-aggregated text. It has branches and runs without the order of a stack, so it
//! shows edges and no paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use holloway_analysis::branch_records::{Jump, LooseRecord, Place, TakenBranch};
use holloway_format::branches::{BranchFile, BranchQuality, FileBranches, RecordSource};
use holloway_format::samples::{KnownBlocks, MonitorState, SampleClock, SampleRecord};
use holloway_format::{Count, ProgramSamples};
use holloway_sample::pre_aggregated::{self, Line, Location};

use super::error::ImportError;
use super::files::{ImportedFile, Purpose, hex};
use super::imported::{Imported, file_name};

/// Reads a text. `programs` must have one element.
///
/// # Errors
/// If the text is damaged, or does not belong to the program.
pub(super) fn read(
    purpose: Purpose,
    input: &Path,
    programs: &[PathBuf],
) -> Result<Imported, ImportError> {
    let failure = |why| ImportError::Text {
        file: input.to_owned(),
        why,
    };
    let text = File::open(input).map_err(|error| failure(error.into()))?;
    let mut lines = Vec::new();
    let parsed = pre_aggregated::read(BufReader::new(text), &mut |line| lines.push(line));
    parsed.map_err(failure)?;
    let file = input.to_owned();
    let program = match programs {
        [program] => program,
        [] => return Err(ImportError::ProgramNeeded { file }),
        [_, _, ..] => {
            let programs = programs.len();
            return Err(ImportError::SeveralPrograms { file, programs });
        }
    };
    if holloway_sample::elf::segments(program).is_none() {
        return Err(ImportError::NoProgram {
            program: program.clone(),
        });
    }
    let mut import = TextImport {
        file: ImportedFile::of_program(program),
        event: String::new(),
        inside: 0,
        others: BTreeSet::new(),
        has_branches: false,
        records: Vec::new(),
        is_verified: true,
        purpose,
    };
    for line in lines {
        import.add(line);
    }
    import.finish(input, program)
}

/// The state of reading a text.
struct TextImport {
    file: ImportedFile,
    /// The first event that the text names.
    event: String,
    /// Number of addresses of the program.
    inside: u64,
    /// The build ids of other files.
    others: BTreeSet<Vec<u8>>,
    has_branches: bool,
    records: Vec<LooseRecord>,
    /// Whether all addresses of the program have its build id.
    is_verified: bool,
    purpose: Purpose,
}

impl TextImport {
    fn place(&mut self, location: &Location) -> Place {
        match location {
            Location::Outside => Place::Elsewhere,
            Location::Program(address) => {
                self.inside += 1;
                self.is_verified = false;
                Place::Inside(*address)
            }
            Location::File(id, address) if self.file.build_id.starts_with(id) => {
                self.inside += 1;
                Place::Inside(*address)
            }
            Location::File(id, _) => {
                self.others.insert(id.clone());
                Place::Elsewhere
            }
        }
    }

    fn add(&mut self, line: Line) {
        match line {
            Line::Event(name) if self.event.is_empty() => self.event = name,
            Line::Event(_) => {}
            Line::Samples { at, count } => {
                if let Place::Inside(address) = self.place(&at) {
                    let sum = self.file.samples.entry(address).or_default();
                    *sum = sum.saturating_add(count);
                }
            }
            Line::Trace {
                branch,
                is_return,
                run,
                count,
                mispredicted,
            } => {
                self.has_branches = true;
                let branch = branch.map(|(from, to)| self.taken_branch(&from, &to, is_return));
                let run =
                    run.and_then(
                        |(start, end)| match (self.place(&start), self.place(&end)) {
                            (Place::Inside(start), Place::Inside(end)) => Some((start, end)),
                            (_, Place::Elsewhere | Place::Kernel)
                            | (Place::Elsewhere | Place::Kernel, _) => None,
                        },
                    );
                if let (None, Some((start, end))) = (&self.file.branches, run) {
                    self.file.add_section(start, end, count);
                }
                self.records.push(LooseRecord {
                    branch,
                    run,
                    count,
                    mispredicted: mispredicted.min(count),
                });
            }
        }
    }

    fn taken_branch(&mut self, from: &Location, to: &Location, is_return: bool) -> TakenBranch {
        let (from, to) = (self.place(from), self.place(to));
        TakenBranch {
            from,
            to,
            jump: match is_return {
                true => Jump::Return,
                false => self.file.jump(from),
            },
            mispredicted: false,
        }
    }

    fn finish(mut self, input: &Path, program: &Path) -> Result<Imported, ImportError> {
        let found = || hex(&self.file.build_id);
        if self.inside == 0
            && let Some(recorded) = self.others.first()
        {
            return Err(ImportError::OtherBuild {
                program: program.to_owned(),
                found: found(),
                recorded: hex(recorded),
            });
        }
        if self.has_branches
            && self.purpose == Purpose::Blocks
            && let Some(why) = self.file.failure.take()
        {
            return Err(ImportError::NoBlocks {
                program: program.to_owned(),
                why,
            });
        }
        let total: u64 = self
            .file
            .samples
            .values()
            .fold(0, |sum, &samples| sum.saturating_add(samples));
        let mut quality = BranchQuality::default();
        let mut branches = Vec::new();
        let files = vec![self.file.record()];
        if let (Some(mut records), KnownBlocks::Known { map, .. }) =
            (self.file.branches.take(), self.file.blocks)
        {
            records.add_loose(&self.records);
            let (functions, found) = records.counts();
            quality = found;
            branches.push(FileBranches {
                path: self.file.path.clone(),
                map,
                functions,
            });
        }
        let clock = match self.event.starts_with("cycles") || self.event.starts_with("cpu-cycles") {
            true => SampleClock::Cycles,
            false => SampleClock::Other,
        };
        Ok(Imported {
            samples: SampleRecord {
                clock,
                state: MonitorState::Ended,
                // The text has no times.
                frequency: 0,
                duration_ns: 0,
                lost: 0,
                without_file: Count::ZERO,
                files,
                programs: vec![ProgramSamples {
                    path: self.file.path.clone(),
                    samples: Count(total),
                }],
            },
            branches: BranchFile {
                source: RecordSource::PreAggregated,
                name: file_name(input),
                event: self.event,
                depth: 0,
                kernel: 0,
                other_events: 0,
                damaged: 0,
                quality,
                files: branches,
            },
            unverified: match self.is_verified {
                true => Vec::new(),
                false => vec![self.file.path.clone()],
            },
            sections: [(
                self.file.path.clone(),
                std::mem::take(&mut self.file.sections),
            )]
            .into(),
            maps: self
                .file
                .map_bytes
                .take()
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        })
    }
}
