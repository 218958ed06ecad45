//! A program of the suite or a tight loop: its source, its input files, and its command lines.

use super::c::{CProject, CSource};
use super::flavor::Flavor;
use super::rust::RustSource;
use crate::program::run_program;
use crate::tool::{Output, tests_directory};
use crate::{corpus, registry};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with its inputs.
#[derive(Debug)]
pub struct Workload {
    /// Its name in tables.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The source. Programs that differ only in their arguments share a source.
    pub source: Source,
    /// Number of threads that work at the same time.
    pub threads: u32,
    /// The input files.
    pub(super) input: Input,
    /// The size of a run for [`Scale::Small`], [`Scale::Quick`] (also [`Scale::Train`]), and
    /// [`Scale::Full`], each in a unit that depends on the program.
    pub(super) sizes: [usize; 3],
    /// Command lines of a run, in order. `{size}` becomes the size, `{workloads}` the folder
    /// tests/workloads.
    pub(super) runs: &'static [&'static [&'static str]],
    /// Whether the program prints its lines in the same order in every run.
    pub ordered: bool,
}

/// The source of a program.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// C or C++.
    C(&'static CSource),
    /// A cargo project.
    Rust(&'static RustSource),
}

/// The input files of a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    /// None, or only files of tests/workloads.
    Nothing,
    /// `tree`: text files with this many bytes in total.
    Tree,
    /// `text`: words, this many bytes.
    Text,
    /// `text.md`: Markdown, this many bytes.
    Markdown,
    /// `sources`: the Rust files of ripgrep's crate.
    RustFiles,
}

/// The amount of work of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A fraction of a second, for tests and for counting instructions.
    Small,
    /// About a tenth of a second.
    Quick,
    /// Half a second to a second and a half.
    Full,
    /// As much work as [`Scale::Quick`], but with other input files if the program reads any: the
    /// training input.
    Train,
}

impl PartialEq for Workload {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Source {
    /// Its name in paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::C(source) => source.name,
            Self::Rust(source) => source.name,
        }
    }

    /// Copies the sources below `scratch`. Returns the folder.
    ///
    /// # Errors
    /// If the sources cannot be fetched or copied.
    pub fn prepare(self, scratch: &Path) -> Result<PathBuf> {
        let folder = scratch.join(self.name());
        match self {
            Self::C(source) => source.copy(&folder)?,
            Self::Rust(source) => source.copy(&folder)?,
        }
        Ok(folder)
    }

    /// Returns the files and folders of a prepared folder that belong to this program.
    #[must_use]
    pub fn parts(self, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::C(_) => vec![folder.to_owned()],
            Self::Rust(source) => source.parts(folder),
        }
    }

    /// Builds a prepared folder at the release level, with line tables in each flavor, and returns
    /// the executable. Parts that flavors share are compiled once. [`Flavor::Guided`] takes its
    /// guide from [`Flavor::guide`].
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(self, folder: &Path, flavor: Flavor) -> Result<PathBuf> {
        match self {
            Self::C(source) => source.project(folder)?.build(flavor, "-O2"),
            Self::Rust(source) => source.build(folder, flavor),
        }
    }
}

impl Workload {
    /// Its name in tables and paths.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The language: C, C++, or Rust.
    #[must_use]
    pub fn language(&self) -> &'static str {
        match self.source {
            Source::C(source) => source.language(),
            Source::Rust(_) => "Rust",
        }
    }

    /// Copies its sources below `scratch`.
    ///
    /// # Errors
    /// If the sources cannot be fetched or copied.
    pub fn prepare(&self, scratch: &Path) -> Result<PathBuf> {
        self.source.prepare(scratch)
    }

    /// The C sources of a prepared folder; `None` for the Rust programs.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn c_project(&self, folder: &Path) -> Result<Option<CProject>> {
        match self.source {
            Source::C(source) => source.project(folder).map(Some),
            Source::Rust(_) => Ok(None),
        }
    }

    /// Builds a prepared folder, as [`Source::build`].
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(&self, folder: &Path, flavor: Flavor) -> Result<PathBuf> {
        self.source.build(folder, flavor)
    }

    /// Builds the program by the compiler alone, without optimization. Its output is the same.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build_plain(&self, folder: &Path) -> Result<PathBuf> {
        match self.source {
            Source::C(source) => source.project(folder)?.build(Flavor::Native, "-O0"),
            Source::Rust(source) => source.build_plain(folder),
        }
    }

    /// Writes the input files of a run below `folder`.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_input(&self, folder: &Path, scale: Scale) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let bytes = self.size(scale);
        // A tree takes as many seeds as it has files.
        let (text, tree, sources) = match scale {
            Scale::Small | Scale::Quick | Scale::Full => (5, 11, "ripgrep"),
            Scale::Train => (1005, 1011, "regex-syntax"),
        };
        match self.input {
            Input::Nothing => {}
            Input::Tree => corpus::tree(&folder.join("tree"), tree, bytes)?,
            Input::Text => std::fs::write(folder.join("text"), corpus::text(text, bytes))?,
            Input::Markdown => {
                std::fs::write(folder.join("text.md"), corpus::markdown(text, bytes))?;
            }
            Input::RustFiles => {
                corpus::rust_files(&registry::source(sources)?, &folder.join("sources"))?;
            }
        }
        Ok(())
    }

    /// Describes how a run of [`Scale::Train`] differs from a run of [`Scale::Full`].
    #[must_use]
    pub fn training(&self) -> &'static str {
        match self.input {
            Input::Nothing => "a smaller size",
            Input::Tree | Input::Text | Input::Markdown => "other text, less of it",
            Input::RustFiles => "another crate, fewer times",
        }
    }

    /// Returns the command lines of one run, in order. The time of a run is the time of all of
    /// them.
    #[must_use]
    pub fn commands(&self, executable: &Path, input: &Path, scale: Scale) -> Vec<Command> {
        let size = self.size(scale).to_string();
        let workloads = tests_directory().join("workloads");
        let word = |w: &&str| {
            (w.replace("{size}", &size)).replace("{workloads}", &workloads.to_string_lossy())
        };
        let line = |words: &&[&str]| {
            let mut command = Command::new(executable);
            command.args(words.iter().map(word)).current_dir(input);
            command
        };
        self.runs.iter().map(line).collect()
    }

    /// Runs the command lines. Returns their outputs, one after the other.
    ///
    /// # Errors
    /// If one cannot be started or fails.
    pub fn run(
        &self,
        executable: &Path,
        input: &Path,
        scale: Scale,
        data: Option<&Path>,
    ) -> Result<Vec<Output>> {
        let mut outputs = Vec::new();
        for mut command in self.commands(executable, input, scale) {
            let output = run_program(&mut command, data)?;
            ensure!(
                output.status.success(),
                "{}: {}\n{}",
                self.name,
                output.ending(),
                output.stderr
            );
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Returns the size of a run, in a unit that depends on the program.
    #[must_use]
    pub fn size(&self, scale: Scale) -> usize {
        let [small, quick, full] = self.sizes;
        match scale {
            Scale::Small => small,
            Scale::Quick | Scale::Train => quick,
            Scale::Full => full,
        }
    }
}
