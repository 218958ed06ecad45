//! The five real programs of the slow tests and of the benches: how each is had, built and run.
//!
//! | program | source | what it does |
//! |---|---|---|
//! | ripgrep | the crate, its own Cargo.lock | searches a generated tree with a regular expression |
//! | parallel | tests/workloads/rayon | sorts, draws, counts and sieves on rayon's threads |
//! | bzip2 | bzip2-sys | compresses generated text and takes it apart again |
//! | lua | lua-src (5.4) and a driver | runs tests/workloads/lua/work.lua |
//! | sqlite | libsqlite3-sys and a driver | fills and queries a database in memory |

use crate::program::{copy_tree, run_program};
use crate::tool::{
    Output, cargo_holloway, clean, holloway_command, installed, run_ok, tests_directory,
};
use crate::{corpus, registry};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of the five.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// ripgrep, from its crate.
    Ripgrep,
    /// The rayon program.
    Parallel,
    /// bzip2, from bzip2-sys.
    Bzip2,
    /// Lua 5.4, from lua-src.
    Lua,
    /// SQLite, from libsqlite3-sys.
    Sqlite,
}

/// How a program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// By the compiler alone.
    Native,
    /// By Holloway, paths counted.
    Woven,
    /// With the compilers' own edge counters: `-fprofile-generate`, `-Cprofile-generate`.
    Peer,
}

/// Every workload, in the order of the tables.
pub const ALL: [Workload; 5] = [
    Workload::Ripgrep,
    Workload::Parallel,
    Workload::Bzip2,
    Workload::Lua,
    Workload::Sqlite,
];

/// Every flavour, in the order of the tables.
pub const FLAVOURS: [Flavour; 3] = [Flavour::Native, Flavour::Woven, Flavour::Peer];

impl Flavour {
    /// Its name in tables and paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Woven => "woven",
            Self::Peer => "peer",
        }
    }
}

/// C sources with what their compilation needs.
#[derive(Debug, Clone)]
pub struct CProject {
    /// Where the sources lie.
    pub folder: PathBuf,
    /// Source files.
    pub files: Vec<PathBuf>,
    /// Flags of each compilation.
    pub flags: Vec<String>,
    /// Flags of the link.
    pub libraries: Vec<String>,
}

impl Workload {
    /// Its name in tables and paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ripgrep => "ripgrep",
            Self::Parallel => "parallel",
            Self::Bzip2 => "bzip2",
            Self::Lua => "lua",
            Self::Sqlite => "sqlite",
        }
    }

    /// Copies its sources below `scratch`.
    ///
    /// # Errors
    /// They can't be had.
    pub fn prepare(self, scratch: &Path) -> Result<PathBuf> {
        let folder = scratch.join(self.name());
        match self {
            Self::Ripgrep => registry::copy("ripgrep", &folder)?,
            Self::Parallel => copy_tree(&tests_directory().join("workloads/rayon"), &folder)?,
            Self::Bzip2 => copy_tree(&registry::source("bzip2-sys")?.join("bzip2-1.0.8"), &folder)?,
            Self::Lua => {
                copy_tree(&registry::source("lua-src")?.join("lua-5.4.9"), &folder)?;
                std::fs::copy(
                    tests_directory().join("workloads/lua/driver.c"),
                    folder.join("driver.c"),
                )?;
            }
            Self::Sqlite => {
                copy_tree(
                    &registry::source("libsqlite3-sys")?.join("sqlite3"),
                    &folder,
                )?;
                std::fs::copy(
                    tests_directory().join("workloads/sqlite/driver.c"),
                    folder.join("driver.c"),
                )?;
            }
        }
        Ok(folder)
    }

    /// The C sources of a prepared folder; `None` for the Rust programs.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn c_project(self, folder: &Path) -> Result<Option<CProject>> {
        let named = |names: &[&str]| names.iter().map(|n| folder.join(n)).collect::<Vec<_>>();
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (files, flags, libraries) = match self {
            Self::Ripgrep | Self::Parallel => return Ok(None),
            Self::Bzip2 => (
                named(&[
                    "bzip2.c",
                    "blocksort.c",
                    "bzlib.c",
                    "compress.c",
                    "crctable.c",
                    "decompress.c",
                    "huffman.c",
                    "randtable.c",
                ]),
                words("-D_FILE_OFFSET_BITS=64"),
                words(""),
            ),
            Self::Lua => (
                c_files(folder)?,
                words("-DLUA_USE_POSIX -Dluai_makeseed(L)=1"),
                words("-lm"),
            ),
            Self::Sqlite => (
                named(&["sqlite3.c", "driver.c"]),
                words(
                    "-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_DEFAULT_MEMSTATUS=0",
                ),
                words("-lm"),
            ),
        };
        Ok(Some(CProject {
            folder: folder.to_owned(),
            files,
            flags,
            libraries,
        }))
    }

    /// Builds a prepared folder at the release level, with line tables in each flavour.
    ///
    /// # Errors
    /// The build fails.
    pub fn build(self, folder: &Path, flavour: Flavour) -> Result<PathBuf> {
        match self.c_project(folder)? {
            Some(project) => project.build(flavour, "-O2"),
            None => build_rust(
                folder,
                flavour,
                if self == Self::Ripgrep {
                    "rg"
                } else {
                    "parallel"
                },
            ),
        }
    }

    /// Writes the input files of a run below `folder`. `size` 1 is the tests' size, more is for benches.
    ///
    /// # Errors
    /// They can't be written.
    pub fn write_input(self, folder: &Path, size: usize) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        match self {
            Self::Ripgrep => corpus::tree(&folder.join("tree"), 11, 3_000_000 * size)?,
            Self::Bzip2 => std::fs::write(folder.join("text"), corpus::text(5, 700_000 * size))?,
            Self::Parallel | Self::Lua | Self::Sqlite => {}
        }
        Ok(())
    }

    /// The command lines of one run, in order; all of them together are what is timed.
    #[must_use]
    pub fn commands(self, executable: &Path, input: &Path, size: usize) -> Vec<Command> {
        let line = |words: &[&str]| {
            let mut command = Command::new(executable);
            command.args(words).current_dir(input);
            command
        };
        let number = |n: usize| n.to_string();
        match self {
            Self::Ripgrep => vec![
                line(&[
                    "-j1",
                    "--sort",
                    "path",
                    "--no-config",
                    "-c",
                    r"\b\w{5}\s\w{7}\b",
                    "tree",
                ]),
                line(&[
                    "-j1",
                    "--sort",
                    "path",
                    "--no-config",
                    "-n",
                    "-i",
                    "holway|zoquist?a",
                    "tree",
                ]),
            ],
            Self::Parallel => vec![line(&[&number(200 * size)])],
            Self::Bzip2 => vec![
                line(&["-k", "-f", "-9", "text"]),
                line(&["-k", "-d", "-c", "text.bz2"]),
            ],
            Self::Lua => {
                let script = tests_directory().join("workloads/lua/work.lua");
                vec![line(&[&script.to_string_lossy(), &number(6 + size)])]
            }
            Self::Sqlite => vec![line(&[&number(10 * size)])],
        }
    }

    /// Runs the command lines; their outputs one after the other.
    ///
    /// # Errors
    /// One can't be started or fails.
    pub fn run(
        self,
        executable: &Path,
        input: &Path,
        size: usize,
        data: Option<&Path>,
    ) -> Result<Vec<Output>> {
        let mut outputs = Vec::new();
        for mut command in self.commands(executable, input, size) {
            let output = run_program(&mut command, data)?;
            ensure!(
                output.status.success(),
                "{}: {}\n{}",
                self.name(),
                output.ending(),
                output.stderr
            );
            outputs.push(output);
        }
        Ok(outputs)
    }
}

impl CProject {
    /// Compiles each file and links them, two at a time.
    ///
    /// # Errors
    /// A step fails.
    pub fn build(&self, flavour: Flavour, level: &str) -> Result<PathBuf> {
        let clang = installed("clang-22")?;
        let start = || {
            let mut command = if flavour == Flavour::Woven {
                holloway_command(["cc"])
            } else {
                Command::new(&clang)
            };
            clean(&mut command);
            if flavour == Flavour::Woven {
                command.env("HOLLOWAY_CLANG", &clang);
            }
            command.current_dir(&self.folder).args([level, "-g", "-w"]);
            if flavour == Flavour::Peer {
                command.arg("-fprofile-generate");
            }
            command
        };
        let object = |file: &Path| file.with_extension(format!("{}{level}.o", flavour.name()));
        for pair in self.files.chunks(2) {
            std::thread::scope(|scope| -> Result<()> {
                let steps: Vec<_> = pair
                    .iter()
                    .map(|file| {
                        let mut command = start();
                        command
                            .args(&self.flags)
                            .arg("-c")
                            .arg(file)
                            .arg("-o")
                            .arg(object(file));
                        scope.spawn(move || run_ok(&mut command))
                    })
                    .collect();
                for step in steps {
                    step.join()
                        .map_err(|_| anyhow::anyhow!("a compilation's thread panicked"))??;
                }
                Ok(())
            })?;
        }
        let executable = self
            .folder
            .join(format!("program-{}{level}", flavour.name()));
        let mut command = start();
        command
            .args(self.files.iter().map(|f| object(f)))
            .args(&self.libraries)
            .arg("-o")
            .arg(&executable);
        run_ok(&mut command)?;
        Ok(executable)
    }
}

fn build_rust(folder: &Path, flavour: Flavour, binary: &str) -> Result<PathBuf> {
    let target = folder.join(format!("target-{}", flavour.name()));
    run_ok(&mut rust_build_command(folder, flavour, &target))?;
    crate::program::find_executable(&target, binary)
}

/// The cargo line of a release build of a flavour, from nothing built in `target`.
#[must_use]
pub fn rust_build_command(folder: &Path, flavour: Flavour, target: &Path) -> Command {
    let mut command = match flavour {
        Flavour::Woven => cargo_holloway(["build"]),
        Flavour::Native | Flavour::Peer => {
            let mut command = Command::new("cargo");
            command.arg("build");
            clean(&mut command);
            command
        }
    };
    command
        .current_dir(folder)
        .args(["--release", "--locked"])
        .env("CARGO_TARGET_DIR", target);
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    if flavour == Flavour::Peer {
        // With --target the flags stay away from build scripts and proc macros.
        command
            .args(["--target", "x86_64-unknown-linux-gnu"])
            .env("RUSTFLAGS", "-Cprofile-generate");
    }
    command
}

fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "c") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
