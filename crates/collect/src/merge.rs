//! Merges runs into one: copies their profiles, path maps, CPU times, and marks.
//!
//! A run may have profiles of several processes and builds. Readers add up the counts of one build.
//! The merged run is complete before it gets its name.

use std::io;
use std::path::{Path, PathBuf};

use holloway_format::{ProfileHead, peek_profile};

use crate::cpu_time;
use crate::error::{MergeError, StoreError};
use crate::files::{PROFILE, files, map_name, profiles, read_beginning};
use crate::interrupted;
use crate::kinds::stream_kind::StreamKind;
use crate::kinds::{KindImplementation, implementation_of};
use crate::lock::{Access, hold};
use crate::path_map::store_map;
use crate::settings::MapDirectories;

/// Merges the runs in these directories into a new run in the directory `output`, which may exist
/// if it is empty. Returns the number of profiles. The runs must be finished. Damage is copied as
/// it is. `add_files` adds other files to the new run, which is in another directory then. It
/// receives this directory and the profiles.
///
/// # Errors
/// If a profile is not finished, or a file cannot be read or written. Then `output` has no files.
pub fn merge(
    runs: &[PathBuf],
    output: &Path,
    add_files: impl FnOnce(&Path, &[CopiedProfile]) -> io::Result<()>,
) -> Result<usize, MergeError> {
    let at_output = |error: io::Error| StoreError::Write {
        path: output.to_owned(),
        kind: error.kind(),
    };
    // The directory behind a symbolic link, or behind `.`.
    let existing = match output.canonicalize() {
        Ok(existing) => Some(existing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(at_output(error).into()),
    };
    if let Some(existing) = &existing {
        let mut entries = std::fs::read_dir(existing).map_err(at_output)?;
        if entries.next().is_some() {
            return Err(MergeError::NotEmpty {
                directory: output.to_owned(),
            });
        }
    }
    let parent = match (&existing, output.parent()) {
        (Some(existing), _) => existing,
        (None, Some(parent)) if parent != Path::new("") => parent,
        (None, _) => Path::new("."),
    };
    std::fs::create_dir_all(parent).map_err(at_output)?;
    let mut builder = tempfile::Builder::new();
    let unfinished = builder.prefix(".holloway-").tempdir_in(parent);
    let unfinished = unfinished.map_err(at_output)?;
    let merged = Merged {
        directory: unfinished.path(),
    };
    let mut profiles = Vec::new();
    for run in runs {
        merged.add_run(run, &mut profiles)?;
    }
    add_files(unfinished.path(), &profiles).map_err(at_output)?;
    match &existing {
        None => std::fs::rename(unfinished.path(), output).map_err(at_output)?,
        Some(existing) => {
            for file in files(unfinished.path())? {
                let name = file.file_name().unwrap_or_default();
                std::fs::rename(&file, existing.join(name)).map_err(at_output)?;
            }
        }
    }
    Ok(profiles.len())
}

/// A profile in a merged run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopiedProfile {
    /// The profile in its run.
    pub original: PathBuf,
    /// Its file name in the merged run.
    pub name: String,
}

struct Merged<'d> {
    directory: &'d Path,
}

impl Merged<'_> {
    /// Adds a run.
    fn add_run(&self, run: &Path, copied: &mut Vec<CopiedProfile>) -> Result<(), MergeError> {
        for file in profiles(run)? {
            let copy = self.add_profile(&file)?;
            let name = copy.file_name().unwrap_or_default().to_string_lossy();
            copied.push(CopiedProfile {
                original: file,
                name: name.into_owned(),
            });
        }
        let (records, _) = cpu_time::load(run)?;
        for record in records {
            cpu_time::store(self.directory, &record)?;
        }
        if let Some(interrupt) = interrupted::read(run) {
            interrupted::mark(self.directory, interrupt);
        }
        Ok(())
    }

    /// Returns the copy.
    fn add_profile(&self, file: &Path) -> Result<PathBuf, MergeError> {
        let _lock = hold(file, Access::Read);
        let head = read_beginning(file).and_then(|bytes| peek_profile(&bytes).ok());
        let Some(head) = head.filter(|head| head.sealed) else {
            return Err(MergeError::NotFinished {
                profile: file.to_owned(),
            });
        };
        self.add_map(file, &head)?;
        let copy = self.new_profile(&head);
        if let KindImplementation::Streams(kind) = implementation_of(head.kind) {
            copy_side_files(kind, file, &copy)?;
        }
        copy_file(file, &copy)?;
        Ok(copy)
    }

    /// Adds the path map of a profile, unless the merged run has it.
    fn add_map(&self, file: &Path, head: &ProfileHead) -> Result<(), MergeError> {
        let name = map_name(&head.build_id);
        let (map, copy) = (file.with_file_name(&name), self.directory.join(&name));
        if copy.exists() || std::fs::hard_link(&map, &copy).is_ok() {
            return Ok(());
        }
        if map.exists() {
            return copy_file(&map, &copy);
        }
        match store_map(self.directory, head, &MapDirectories::default())? {
            true => Ok(()),
            false => Err(MergeError::NoMap {
                profile: file.to_owned(),
            }),
        }
    }

    /// A new name for a profile. Several runs may have processes of one id.
    fn new_profile(&self, head: &ProfileHead) -> PathBuf {
        let name = |number: u64| match number {
            0 => format!("{}-{}.{PROFILE}", head.pid, head.image),
            _ => format!("{}.{number}-{}.{PROFILE}", head.pid, head.image),
        };
        let mut names = (0..).map(|number| self.directory.join(name(number)));
        let free = names.find(|file| !file.exists());
        free.expect("there are fewer files than numbers")
    }
}

fn copy_side_files(
    kind: &'static dyn StreamKind,
    file: &Path,
    copy: &Path,
) -> Result<(), MergeError> {
    let names = kind.files();
    for (from, to) in [
        (names.first(file), names.first(copy)),
        (names.second(file), names.second(copy)),
    ] {
        if from.exists() {
            copy_file(&from, &to)?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), MergeError> {
    match std::fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(source) => Err(MergeError::Copy {
            file: from.to_owned(),
            source,
        }),
    }
}
