//! Real programs that are copied, made deterministic, and compiled once: the first test that needs
//! a program prepares it for the others.
//!
//! The folders lie in cargo's folder for temporary files, because a test process never drops its
//! statics. A later process removes the folders of processes that ended.

use crate::ours::steady;
use anyhow::{Context, Result};
use holloway_tests::workload::{Flavor, Workload};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A program's folder. What differs from flavor to flavor lies in it under the flavor's name.
pub(crate) struct Shelved {
    workload: &'static Workload,
    pub(crate) folder: PathBuf,
    /// Held while its sources are compiled.
    compiles: Mutex<()>,
}

impl Shelved {
    /// A program's folder, copied at first.
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

    /// Compiles for weaving at the release level, if nobody has; the objects of a C program.
    pub(crate) fn compile(&self) -> Result<Vec<PathBuf>> {
        let project = self.workload.c_project(&self.folder)?;
        let project = project.context("a C program")?;
        let _one = self.compiles.lock().unwrap_or_else(PoisonError::into_inner);
        project.compile_all(Flavor::Paths, "-O2")
    }

    /// Builds a woven flavor at the release level.
    pub(crate) fn build(&self, flavor: Flavor) -> Result<PathBuf> {
        if self.workload.c_project(&self.folder)?.is_some() {
            self.compile()?;
        }
        self.workload.build(&self.folder, flavor)
    }

    /// Builds it by the compiler alone, unoptimized: what it prints is the same.
    pub(crate) fn build_plain(&self) -> Result<PathBuf> {
        self.workload.build_plain(&self.folder)
    }
}

/// This process's folder.
fn shelf() -> Result<&'static Path> {
    static SHELF: OnceLock<PathBuf> = OnceLock::new();
    let shelves = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shelves");
    let own = SHELF.get_or_init(|| {
        let own = shelves.join(std::process::id().to_string());
        // Of an earlier process with this id.
        let _ = std::fs::remove_dir_all(&own);
        own
    });
    for folder in std::fs::read_dir(&shelves).into_iter().flatten().flatten() {
        let is_gone = !Path::new("/proc").join(folder.file_name()).exists();
        if is_gone && folder.path() != *own {
            // Another that starts now may take it away as well.
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
    std::fs::create_dir_all(own).with_context(|| format!("cannot make {}", own.display()))?;
    Ok(own)
}
