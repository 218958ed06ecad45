//! Builds C and C++ programs. The sources come from a crate of the registry and, for some programs,
//! a driver of tests/workloads. Each file is compiled separately.

use super::flavor::Flavor;
use crate::files::copy_tree;
use crate::registry;
use crate::tool::{installed, run_ok, tests_directory};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of a program, and its compiler options.
#[derive(Debug)]
pub struct CSource {
    /// Its name in paths.
    pub name: &'static str,
    /// The crate that contains the sources, and the folder in it; `None` if all sources are in
    /// tests/workloads.
    pub(super) from: Option<(&'static str, &'static str)>,
    /// A file or folder in tests/workloads that is copied next to the sources; empty if there is
    /// none.
    pub(super) driver: &'static str,
    /// Files to compile, relative to the program's folder. `folder/*.c` means all C files in it.
    pub(super) files: &'static [&'static str],
    /// Ends of file names that `*.c` leaves out.
    pub(super) except: &'static [&'static str],
    /// Flags of each compilation.
    pub(super) flags: &'static str,
    /// Flags of the link.
    pub(super) libraries: &'static str,
}

/// C sources with their compiler and linker options.
#[derive(Debug, Clone)]
pub struct CProject {
    /// The folder of the sources.
    pub folder: PathBuf,
    /// Source files.
    pub files: Vec<PathBuf>,
    /// Flags of each compilation.
    pub flags: Vec<String>,
    /// Flags of the link.
    pub libraries: Vec<String>,
}

impl CSource {
    /// C or C++.
    pub(super) fn language(&self) -> &'static str {
        if self.files.iter().any(|f| is_cpp(Path::new(f))) {
            "C++"
        } else {
            "C"
        }
    }

    /// Copies the sources to `folder`.
    pub(super) fn copy(&self, folder: &Path) -> Result<()> {
        if let Some((name, inside)) = self.from {
            copy_tree(&registry::source(name)?.join(inside), folder)?;
        }
        if self.driver.is_empty() {
            return Ok(());
        }
        let driver = tests_directory().join("workloads").join(self.driver);
        if driver.is_dir() {
            return copy_tree(&driver, folder);
        }
        std::fs::create_dir_all(folder)?;
        let name = driver.file_name().context("a driver has a name")?;
        std::fs::copy(&driver, folder.join(name))
            .with_context(|| format!("cannot copy {}", driver.display()))?;
        Ok(())
    }

    /// Returns the sources in a folder that they were copied to.
    pub(super) fn project(&self, folder: &Path) -> Result<CProject> {
        let mut files = Vec::new();
        for name in self.files {
            match name.strip_suffix("*.c") {
                Some(inside) => files.extend(self.c_files(&folder.join(inside))?),
                None => files.push(folder.join(name)),
            }
        }
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Ok(CProject {
            folder: folder.to_owned(),
            files,
            flags: words(self.flags),
            libraries: words(self.libraries),
        })
    }

    fn c_files(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let listed = std::fs::read_dir(folder)
            .with_context(|| format!("cannot list {}", folder.display()))?;
        let mut files = Vec::new();
        for entry in listed {
            let path = entry?.path();
            let name = path.to_string_lossy();
            if name.ends_with(".c") && !self.except.iter().any(|e| name.ends_with(e)) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

impl CProject {
    /// Compiles and links all files, two at a time. Objects that exist already are not compiled
    /// again.
    ///
    /// # Errors
    /// If a step fails.
    pub fn build(&self, flavor: Flavor, level: &str) -> Result<PathBuf> {
        let objects = self.compile_all(flavor, level)?;
        let executable = self
            .folder
            .join(format!("program-{}{level}", flavor.name()));
        let mut link = self.start(flavor, level, self.files.iter().any(|f| is_cpp(f)))?;
        link.args(objects)
            .args(&self.libraries)
            .arg("-o")
            .arg(&executable);
        run_ok(&mut link)?;
        Ok(executable)
    }

    /// Compiles all files, two at a time. Returns the objects. Objects that exist already are not
    /// compiled again.
    ///
    /// # Errors
    /// If a compilation fails.
    pub fn compile_all(&self, flavor: Flavor, level: &str) -> Result<Vec<PathBuf>> {
        for pair in self.files.chunks(2) {
            std::thread::scope(|scope| -> Result<()> {
                let steps: Vec<_> = pair
                    .iter()
                    .map(|file| scope.spawn(move || self.compile(file, flavor, level)))
                    .collect();
                for step in steps {
                    step.join()
                        .map_err(|_| anyhow::anyhow!("a compilation's thread panicked"))??;
                }
                Ok(())
            })?;
        }
        let objects = self.files.iter().map(|f| object(f, flavor, level));
        Ok(objects.collect())
    }

    fn compile(&self, file: &Path, flavor: Flavor, level: &str) -> Result<()> {
        let object = object(file, flavor, level);
        if object.exists() {
            return Ok(());
        }
        let mut command = self.start(flavor, level, is_cpp(file))?;
        command.args(&self.flags).arg("-c").arg(file).arg("-o");
        // The object is first written under another name, so that an incomplete object is never
        // used.
        let half = object.with_extension("half");
        run_ok(command.arg(&half))?;
        std::fs::rename(&half, &object)?;
        Ok(())
    }

    fn start(&self, flavor: Flavor, level: &str, cpp: bool) -> Result<Command> {
        let (clang, verb) = if cpp {
            ("clang++-22", "c++")
        } else {
            ("clang-22", "cc")
        };
        let mut command = flavor.compiler(&installed(clang)?, verb, &self.folder);
        command.current_dir(&self.folder).args([level, "-g", "-w"]);
        if flavor == Flavor::Peer {
            command.arg("-fprofile-generate");
        }
        if flavor == Flavor::PeerOptimized {
            let counts = Flavor::peer_counts(&self.folder);
            command.arg(format!("-fprofile-use={}", counts.display()));
        }
        Ok(command)
    }
}

fn object(file: &Path, flavor: Flavor, level: &str) -> PathBuf {
    file.with_extension(format!("{}{level}.o", flavor.compiled()))
}

fn is_cpp(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "cc" || e == "cpp")
}
