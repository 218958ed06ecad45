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
    /// What it is, in a few words.
    pub about: &'static str,
    /// What it is built from; programs that differ in their arguments only share one.
    pub source: Source,
    /// Threads that work at a time.
    pub threads: u32,
    /// Files it reads.
    pub(super) input: Input,
    /// How much work: [`Scale::Small`], [`Scale::Quick`] (also [`Scale::Train`]), [`Scale::Full`],
    /// each in a unit of the program's own.
    pub(super) sizes: [usize; 3],
    /// Command lines of a run, in order. `{size}` becomes the size, `{workloads}` the folder
    /// tests/workloads.
    pub(super) runs: &'static [&'static [&'static str]],
    /// Whether its lines come in the same order each time.
    pub ordered: bool,
}

/// Where a program's code comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// C or C++.
    C(&'static CSource),
    /// A cargo project.
    Rust(&'static RustSource),
}

/// Files a program reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    /// None, or only what lies in tests/workloads.
    Nothing,
    /// `tree`: text files, this many bytes in all.
    Tree,
    /// `text`: words, this many bytes.
    Text,
    /// `text.md`: Markdown, this many bytes.
    Markdown,
    /// `sources`: the Rust files of ripgrep's crate.
    RustFiles,
}

/// How much work a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A moment: for tests, and to count instructions.
    Small,
    /// About a tenth of a second.
    Quick,
    /// Half a second to a second and a half.
    Full,
    /// As much as [`Scale::Quick`], with other files where the program reads any: what a program is
    /// trained on that is then run in full.
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

    /// Copies the sources below `scratch`; the folder.
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn prepare(self, scratch: &Path) -> Result<PathBuf> {
        let folder = scratch.join(self.name());
        match self {
            Self::C(source) => source.copy(&folder)?,
            Self::Rust(source) => source.copy(&folder)?,
        }
        Ok(folder)
    }

    /// The files and folders of a prepared folder that go into this program.
    #[must_use]
    pub fn parts(self, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::C(_) => vec![folder.to_owned()],
            Self::Rust(source) => source.parts(folder),
        }
    }

    /// Builds a prepared folder at the release level, with line tables in each flavor; the
    /// executable. What flavors have in common is compiled once. [`Flavor::Guided`] takes its
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

    /// Whether it is C, C++ or Rust.
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
    /// If they cannot be had.
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

    /// Builds it by the compiler alone and unoptimized, for what it prints.
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

    /// How a run of [`Scale::Train`] differs from one of [`Scale::Full`], in a few words.
    #[must_use]
    pub fn training(&self) -> &'static str {
        match self.input {
            Input::Nothing => "a smaller size",
            Input::Tree | Input::Text | Input::Markdown => "other text, less of it",
            Input::RustFiles => "another crate, fewer times",
        }
    }

    /// The command lines of one run, in order; all of them together are what is timed.
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

    /// Runs the command lines; their outputs one after the other.
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

    /// How much work a run is, in the program's own unit.
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
