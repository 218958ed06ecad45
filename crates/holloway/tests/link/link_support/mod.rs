//! Support for tests of links: a temporary directory to build in, and the path maps and counts of
//! linked files.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses only some of these items; a test may panic"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use holloway_format::{ImageMap, decode_image, read_profile};
use object::{Object, ObjectSection};

/// A temporary directory to build in. Its builds use a separate cache.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

/// The results of a program's run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProgramRun {
    /// The standard output.
    pub(crate) stdout: String,
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// How many paths each function executed, by the function's name.
    pub(crate) paths: BTreeMap<String, u64>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// A call of `program` in this directory. It uses this directory's cache, and inherits no
    /// settings of holloway.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path());
        let settings =
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HOLLOWAY_"));
        for (name, _) in settings {
            command.env_remove(name);
        }
        command
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_TARGET_DIR");
        command
            .env("HOLLOWAY_CACHE", self.path("cache"))
            .env("XDG_CACHE_HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// A call of `holloway WORDS`.
    pub(crate) fn holloway(&self, words: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_holloway"));
        command.args(words.split_whitespace());
        command
    }

    /// Runs `holloway WORDS`, which must succeed. Returns its stderr.
    pub(crate) fn build(&self, words: &str) -> String {
        succeed(&mut self.holloway(words))
    }

    /// Runs another program, which must succeed. Returns its stderr.
    pub(crate) fn tool(&self, words: &str) -> String {
        let mut words = words.split_whitespace();
        succeed(self.command(words.next().unwrap()).args(words))
    }

    /// Runs `holloway WORDS`, which must fail; returns the exit code and stderr.
    pub(crate) fn refuse(&self, words: &str) -> (Option<i32>, String) {
        refused(&mut self.holloway(words))
    }

    /// Runs a program built here and reads its counts.
    pub(crate) fn run(&self, program: &str) -> ProgramRun {
        self.run_in_library(program, program)
    }

    /// Runs a program built here and reads the counts of one of its shared libraries.
    pub(crate) fn run_in_library(&self, program: &str, library: &str) -> ProgramRun {
        let data = tempfile::tempdir_in(self.dir.path()).unwrap();
        let output = self
            .command(self.path(program))
            .env("HOLLOWAY_DATA", data.path())
            .output()
            .unwrap();
        let map = self.map(library);
        let mut paths = BTreeMap::new();
        for entry in std::fs::read_dir(data.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let Ok(profile) = read_profile(&bytes, &map) else {
                continue;
            };
            assert!(profile.damage.is_empty(), "{:?}", profile.damage);
            for function in &profile.functions {
                let map = map.function(function.index).unwrap();
                let count: u64 = function.counts.iter().map(|count| count.1.0).sum();
                // A function that the compiler adds has no name in the source.
                let name = match &*map.name {
                    "" => &map.linkage_name,
                    _ => &map.name,
                };
                *paths.entry(name.to_string()).or_default() += count;
            }
        }
        ProgramRun {
            stdout: String::from_utf8(output.stdout).unwrap(),
            code: output.status.code(),
            paths,
        }
    }

    /// The exit code of a program built here.
    pub(crate) fn run_status(&self, program: &str) -> Option<i32> {
        self.command(self.path(program)).status().unwrap().code()
    }

    /// The output of a program built here.
    pub(crate) fn stdout_of(&self, program: &str) -> String {
        String::from_utf8(self.command(self.path(program)).output().unwrap().stdout).unwrap()
    }

    /// The path map in a linked file, which must be woven.
    pub(crate) fn map(&self, file: &str) -> ImageMap {
        self.find_map(file)
            .unwrap_or_else(|| panic!("{file} is not woven"))
    }

    /// The path map in a linked file; `None` if the file is not woven.
    pub(crate) fn find_map(&self, file: &str) -> Option<ImageMap> {
        let bytes = std::fs::read(self.path(file)).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let section = object.section_by_name(holloway_abi::MAP_SECTION)?;
        Some(decode_image(section.data().unwrap()).unwrap())
    }

    /// Names of the woven modules of a linked file.
    pub(crate) fn modules(&self, file: &str) -> Vec<String> {
        let map = self.map(file);
        let woven = map
            .modules
            .iter()
            .filter(|module| module.module.counters_size > 0);
        woven.map(|module| module.module.name.to_string()).collect()
    }

    /// The inputs that a linked file lists as linked without probes: `name: reason`.
    pub(crate) fn linked_as_is(&self, file: &str) -> Vec<String> {
        let map = self.map(file);
        let listed = map
            .modules
            .iter()
            .filter(|module| &*module.module.name == "linked as it is");
        listed
            .flat_map(|module| &module.module.skipped)
            .map(|skipped| format!("{}: {}", skipped.name, skipped.reason))
            .collect()
    }
}

/// Runs a command, which must succeed. Returns its stderr.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{stderr}",
        output.status
    );
    stderr
}

/// Runs a command, which must fail. Returns its exit code and stderr.
pub(crate) fn refused(command: &mut Command) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(!status.success(), "{command:?}");
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

/// The libLLVM of the Rust toolchain.
pub(crate) fn rust_llvm() -> PathBuf {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .unwrap()
        .stdout;
    let lib = Path::new(String::from_utf8(output).unwrap().trim_end()).join("lib");
    let mut files = std::fs::read_dir(lib)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("libLLVM.so")
        })
        .unwrap()
}
