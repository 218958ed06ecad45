//! Provides real programs that are copied, made deterministic, and compiled once. The first test
//! that needs a program prepares it for the others.
//!
//! The folders are in cargo's folder for temporary files, because a test process never drops its
//! statics. A later process removes the folders of processes that have ended.

use crate::ours::steady;
use anyhow::{Context, Result};
use holloway_tests::workload::{Flavor, Workload};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A prepared program. Files that differ between flavors have the flavor's name.
pub(crate) struct Shelved {
    workload: &'static Workload,
    pub(crate) folder: PathBuf,
    /// Locked while the program is compiled.
    compiles: Mutex<()>,
}

impl Shelved {
    /// Returns a program. Copies its sources on first use.
    pub(crate) fn of(workload: &'static Workload) -> Result<Arc<Self>> {
        static ALL: Mutex<Option<HashMap<&str, Arc<Shelved>>>> = Mutex::new(None);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if let Some(known) = all.get(workload.name()) {
            return Ok(Arc::clone(known));
        }
        let folder = workload.prepare(shelf()?)?;
        steady(workload, &folder)?;
        let shelved = Arc::new(Self {
            workload,
            folder,
            compiles: Mutex::new(()),
        });
        all.insert(workload.name(), Arc::clone(&shelved));
        Ok(shelved)
    }

    /// Compiles the program for weaving at the release level, unless another test has. Returns the
    /// objects of a C program.
    pub(crate) fn compile(&self) -> Result<Vec<PathBuf>> {
        let project = self.workload.c_project(&self.folder)?;
        let project = project.context("a C program")?;
        let _guard = self.compiles.lock().unwrap_or_else(PoisonError::into_inner);
        project.compile_all(Flavor::Paths, "-O2")
    }

    /// Builds a woven flavor at the release level.
    pub(crate) fn build(&self, flavor: Flavor) -> Result<PathBuf> {
        if self.workload.c_project(&self.folder)?.is_some() {
            self.compile()?;
        }
        self.workload.build(&self.folder, flavor)
    }

    /// Builds the program by the compiler alone, without optimization. Its output is the same.
    pub(crate) fn build_plain(&self) -> Result<PathBuf> {
        self.workload.build_plain(&self.folder)
    }
}

/// Returns this process's folder.
fn shelf() -> Result<&'static Path> {
    static SHELF: OnceLock<PathBuf> = OnceLock::new();
    let shelves = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shelves");
    let process_folder = SHELF.get_or_init(|| {
        let process_folder = shelves.join(std::process::id().to_string());
        // The folder may belong to an earlier process with this id.
        let _ = std::fs::remove_dir_all(&process_folder);
        process_folder
    });
    for folder in std::fs::read_dir(&shelves).into_iter().flatten().flatten() {
        let is_gone = !Path::new("/proc").join(folder.file_name()).exists();
        if is_gone && folder.path() != *process_folder {
            // Another process may remove the folder at the same time.
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
    std::fs::create_dir_all(process_folder)
        .with_context(|| format!("cannot make {}", process_folder.display()))?;
    Ok(process_folder)
}
