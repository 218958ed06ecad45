//! Merges runs into one: adds up counts, and keeps streams, CPU times, and marks.
//!
//! The profiles of counters of one build become one profile. The streams of loops, traces, and times
//! stay separate, as those of several processes of one run do. The merged run is complete before it
//! gets its name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;
use holloway_analysis::note::{Note, Unreadable};
use holloway_format::{ImageMap, Profile, ProfileHead, peek_profile, write_sealed};

use crate::cpu_time;
use crate::error::{MergeError, StoreError};
use crate::files::{PROFILE, map_name, profiles, read_regular, write_atomically};
use crate::interrupted;
use crate::kinds::stream_kind::StreamKind;
use crate::kinds::{KindImplementation, implementation_of};
use crate::lock::{Access, hold};
use crate::path_map::find_map;

/// What a merged run consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MergeSummary {
    /// The profiles of all runs.
    pub read: usize,
    /// The profiles of the merged run.
    pub written: usize,
}

/// Merges the runs in these directories into a new run in the directory `output`. The runs must be
/// finished.
///
/// # Errors
/// If a profile is damaged or not finished, two builds of one program are among the runs, or a file
/// cannot be read or written. Then `output` does not exist.
pub fn merge(runs: &[PathBuf], output: &Path) -> Result<MergeSummary, MergeError> {
    let at_output = |error: std::io::Error| StoreError::Write {
        path: output.to_owned(),
        kind: error.kind(),
    };
    let parent = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if output.exists() {
        let mut entries = std::fs::read_dir(output).map_err(at_output)?;
        if entries.next().is_some() {
            return Err(MergeError::NotEmpty {
                directory: output.to_owned(),
            });
        }
    }
    std::fs::create_dir_all(parent).map_err(at_output)?;
    let mut builder = tempfile::Builder::new();
    let unfinished = builder.prefix(".holloway-").tempdir_in(parent);
    let unfinished = unfinished.map_err(at_output)?;
    let mut merged = Merged::new(unfinished.path());
    for run in runs {
        merged.add_run(run)?;
    }
    let summary = merged.write_counts()?;
    // Temporary directories are private, and runs have the usual permissions.
    let permissions = std::fs::metadata(parent).map(|metadata| metadata.permissions());
    permissions
        .and_then(|permissions| std::fs::set_permissions(unfinished.path(), permissions))
        .and_then(|()| std::fs::rename(unfinished.path(), output))
        .map_err(at_output)?;
    Ok(summary)
}

/// The sum of the counters of one build.
struct Sum {
    map: ImageMap,
    profile: Option<Profile>,
}

struct Merged<'d> {
    directory: &'d Path,
    /// By build and kind.
    sums: BTreeMap<([u8; 16], Kind), Sum>,
    /// The build of each program, and a run with it.
    builds: BTreeMap<PathBuf, ([u8; 16], PathBuf)>,
    summary: MergeSummary,
}

impl<'d> Merged<'d> {
    fn new(directory: &'d Path) -> Self {
        Self {
            directory,
            sums: BTreeMap::new(),
            builds: BTreeMap::new(),
            summary: MergeSummary {
                read: 0,
                written: 0,
            },
        }
    }

    fn add_run(&mut self, run: &Path) -> Result<(), MergeError> {
        for file in profiles(run)? {
            self.summary.read += 1;
            self.add_profile(run, &file)?;
        }
        let (records, damaged) = cpu_time::load(run)?;
        if let Some(note) = damaged.into_iter().next() {
            return Err(MergeError::Damaged {
                note: Box::new(note),
            });
        }
        for record in records {
            cpu_time::store(self.directory, &record)?;
        }
        if let Some(interrupt) = interrupted::read(run) {
            interrupted::mark(self.directory, interrupt);
        }
        Ok(())
    }

    fn add_profile(&mut self, run: &Path, file: &Path) -> Result<(), MergeError> {
        let _lock = hold(file, Access::Read);
        let unreadable = |why: Unreadable| MergeError::Damaged {
            note: Box::new(Note::Unreadable {
                file: file.to_owned(),
                why,
            }),
        };
        let bytes = read_regular(file).map_err(|error| {
            unreadable(Unreadable::System {
                message: error.to_string(),
            })
        })?;
        let head = peek_profile(&bytes).map_err(|error| unreadable(Unreadable::Format(error)))?;
        if !head.sealed {
            return Err(MergeError::NotFinished {
                profile: file.to_owned(),
            });
        }
        self.check_build(run, &head)?;
        self.keep_map(file, &head)?;
        match implementation_of(head.kind) {
            KindImplementation::Streams(kind) => self.copy_streams(file, &head, kind),
            KindImplementation::Counters(kind) => {
                let sum = match self.sums.entry((head.build_id, head.kind)) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        let map = find_map(file, &head).map_err(unreadable)?;
                        entry.insert(Sum { map, profile: None })
                    }
                };
                let profile = kind.read(&bytes, &sum.map);
                let profile = profile.map_err(|error| unreadable(Unreadable::Format(error)))?;
                if !profile.damage.is_empty() {
                    return Err(MergeError::Damaged {
                        note: Box::new(Note::DamagedRecords {
                            file: file.to_owned(),
                            records: profile.damage.len() as u64,
                        }),
                    });
                }
                match &mut sum.profile {
                    Some(all) => {
                        let merged = all.merge(profile);
                        merged.map_err(|error| unreadable(Unreadable::Format(error)))
                    }
                    none => {
                        *none = Some(profile);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Refuses a second build of a program: its counts belong to other paths.
    fn check_build(&mut self, run: &Path, head: &ProfileHead) -> Result<(), MergeError> {
        let (build, first) = self
            .builds
            .entry(head.image_path.clone())
            .or_insert_with(|| (head.build_id, run.to_owned()));
        match *build == head.build_id {
            true => Ok(()),
            false => Err(MergeError::OtherBuild {
                image: head.image.clone(),
                first: first.clone(),
                second: run.to_owned(),
            }),
        }
    }

    /// Copies the path map of a profile, unless the merged run has it.
    fn keep_map(&self, file: &Path, head: &ProfileHead) -> Result<(), MergeError> {
        let name = map_name(&head.build_id);
        let kept = self.directory.join(&name);
        if kept.exists() {
            return Ok(());
        }
        let map = file.with_file_name(&name);
        if std::fs::hard_link(&map, &kept).is_ok() {
            return Ok(());
        }
        let bytes = read_regular(&map).map_err(|error| MergeError::Damaged {
            note: Box::new(Note::Unreadable {
                file: file.to_owned(),
                why: Unreadable::MapFile {
                    file: map.clone(),
                    message: error.to_string(),
                },
            }),
        })?;
        Ok(write_atomically(&kept, &bytes)?)
    }

    /// Copies a profile with streams, and its side files.
    fn copy_streams(
        &mut self,
        file: &Path,
        head: &ProfileHead,
        kind: &'static dyn StreamKind,
    ) -> Result<(), MergeError> {
        let copy = self.new_profile(head);
        let files = kind.files();
        let pairs = [
            (files.first(file), files.first(&copy)),
            (files.second(file), files.second(&copy)),
            (file.to_owned(), copy),
        ];
        for (from, to) in pairs {
            match std::fs::copy(&from, &to) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && from != file => {}
                Err(source) => {
                    return Err(MergeError::Copy { file: from, source });
                }
            }
        }
        self.summary.written += 1;
        Ok(())
    }

    /// Writes the sums of counters.
    fn write_counts(mut self) -> Result<MergeSummary, MergeError> {
        for (_, sum) in std::mem::take(&mut self.sums) {
            if let Some(profile) = sum.profile {
                let file = self.new_profile(&profile.head);
                write_atomically(&file, &write_sealed(&profile))?;
                self.summary.written += 1;
            }
        }
        Ok(self.summary)
    }

    /// A new name for a profile. Several runs may have processes of one id.
    fn new_profile(&self, head: &ProfileHead) -> PathBuf {
        let name = |number: u32| match number {
            0 => format!("{}-{}.{PROFILE}", head.pid, head.image),
            _ => format!("{}.{number}-{}.{PROFILE}", head.pid, head.image),
        };
        let mut names = (0..).map(|number| self.directory.join(name(number)));
        names
            .find(|file| !file.exists())
            .unwrap_or_else(|| self.directory.join(name(u32::MAX)))
    }
}
