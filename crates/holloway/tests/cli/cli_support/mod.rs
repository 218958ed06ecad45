//! Support for tests of the command line: small cargo projects in temporary directories, and calls
//! of holloway's programs.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses only some of these items; a test may panic"
)]

pub mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A temporary directory with files.
pub struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// Makes a directory with these files. Paths are relative.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let project = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// A package `app` with one source file. `manifest` is appended to its manifest.
    pub fn binary(manifest: &str, main: &str) -> Self {
        Self::new(&[
            ("Cargo.toml", &format!("{}{manifest}", package("app"))),
            ("src/main.rs", main),
        ])
    }

    /// The project's directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a shell script that can be run.
    pub fn script(&self, path: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(path, text);
        let path = self.path().join(path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `cargo holloway WORDS…` in the project's directory.
    pub fn cargo_holloway(&self, words: &str) -> Call {
        let mut call = Call::new(env!("CARGO_BIN_EXE_cargo-holloway"), self.path());
        call.command.arg("holloway").args(words.split_whitespace());
        call
    }

    /// `holloway WORDS…` in the project's directory.
    pub fn holloway(&self, words: &str) -> Call {
        holloway_in(self.path(), words)
    }

    /// Another program, called in the project's directory.
    pub fn program(&self, path: &str) -> Call {
        Call::new(path, self.path())
    }

    /// The path of a woven program that cargo built with a cargo profile.
    pub fn built(&self, profile: &str, name: &str) -> PathBuf {
        self.path()
            .join("target/holloway")
            .join(host())
            .join(profile)
            .join(name)
    }

    /// The recorded runs.
    pub fn runs(&self) -> Vec<PathBuf> {
        let runs = std::fs::read_dir(self.path().join("target/holloway/runs"));
        let mut runs: Vec<_> = runs
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
            .collect();
        runs.retain(|run| !run.is_symlink() && !run.ends_with(".maps"));
        runs.sort();
        runs
    }
}

/// `holloway WORDS…` in a directory.
pub fn holloway_in(directory: &Path, words: &str) -> Call {
    let mut call = Call::new(env!("CARGO_BIN_EXE_holloway"), directory);
    call.command.args(words.split_whitespace());
    call
}

/// The first lines of a manifest. They declare a separate workspace.
pub fn package(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n")
}

/// rustc's host triple.
pub fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap()
        .to_owned()
}

/// A prepared call of a program, without the variables that the test's own cargo has set.
pub struct Call {
    pub command: Command,
}

impl Call {
    fn new(program: &str, directory: &Path) -> Self {
        let mut command = Command::new(program);
        command
            .current_dir(directory)
            .env("XDG_STATE_HOME", directory.join("state"))
            .stdin(std::process::Stdio::null());
        let is_inherited_setting = |name: &str| {
            name.starts_with("HOLLOWAY_")
                || name.starts_with("CARGO_") && name != "CARGO_HOME"
                || name.starts_with("RUSTFLAGS")
        };
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_inherited_setting))
        {
            command.env_remove(name);
        }
        for name in ["RUSTC_WRAPPER", "RUSTDOCFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
            command.env_remove(name);
        }
        Self { command }
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Adds one argument. It may contain spaces.
    pub fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Calls the program and returns its output and exit status.
    pub fn result(mut self) -> CallResult {
        let command_line = format!("{:?}", self.command);
        let output = self.command.output().unwrap();
        CallResult::new(command_line, &output)
    }

    /// Calls the program, which must succeed.
    pub fn ok(self) -> CallResult {
        self.exits(0)
    }

    /// Calls the program, which must end with this code.
    pub fn exits(self, code: i32) -> CallResult {
        let result = self.result();
        assert_eq!(result.code, Some(code), "{result}");
        result
    }
}

/// The output and exit status of a call.
pub struct CallResult {
    command_line: String,
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl CallResult {
    fn new(command_line: String, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            command_line,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            code: output.status.code(),
        }
    }

    /// Checks that stdout contains `text`.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}\n{self}");
        self
    }

    /// Checks that stderr contains `text`.
    #[track_caller]
    pub fn complains(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{self}");
        self
    }

    /// Checks that stderr is one line, which holloway printed and which contains `text`.
    #[track_caller]
    pub fn fails_with(&self, text: &str) -> &Self {
        let line = self.stderr.trim_end();
        assert!(
            line.starts_with("holloway: ") && !line.contains('\n'),
            "stderr is not one line by holloway\n{self}"
        );
        self.complains(text)
    }

    /// The JSON report on stdout. It may follow output of the program.
    #[track_caller]
    pub fn json(&self) -> Report {
        let start = self
            .stdout
            .find("{\"schema\"")
            .or_else(|| self.stdout.find("{\n"))
            .unwrap_or_else(|| panic!("no JSON\n{self}"));
        let value = serde_json::from_str(&self.stdout[start..])
            .unwrap_or_else(|error| panic!("{error}\n{self}"));
        Report(value)
    }
}

impl std::fmt::Display for CallResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            command_line,
            stdout,
            stderr,
            code,
        } = self;
        write!(
            f,
            "{command_line}\ncode {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

/// A JSON report.
pub struct Report(pub Value);

impl Report {
    /// Functions whose name ends with `name`.
    pub fn functions(&self, name: &str) -> Vec<&Value> {
        let functions = self.0["functions"].as_array().unwrap();
        functions
            .iter()
            .filter(|function| ends_with_name(function["name"].as_str().unwrap(), name))
            .collect()
    }

    /// A number of the report's totals, which must exist.
    #[track_caller]
    pub fn total(&self, name: &str) -> u64 {
        let total = self.0["totals"][name].as_u64();
        total.unwrap_or_else(|| panic!("no totals.{name} in {}", self.0["totals"]))
    }

    /// The number of calls of the functions with this name: the sum of the counts of edges into
    /// their entries.
    pub fn calls(&self, name: &str) -> u64 {
        let edges = self
            .functions(name)
            .into_iter()
            .flat_map(|function| function["edges"].as_array().unwrap());
        edges
            .filter(|edge| edge["from"] == -1)
            .map(|edge| edge["count"].as_u64().unwrap())
            .sum()
    }
}

fn ends_with_name(full: &str, name: &str) -> bool {
    full == name
        || full
            .strip_suffix(name)
            .is_some_and(|before| before.ends_with("::"))
}
