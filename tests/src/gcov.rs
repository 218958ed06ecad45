//! Reads independent counters of lines: gcc's `--coverage` with gcov, and clang's `--coverage` with
//! `llvm-cov gcov`.
//!
//! Both count at -O0 with atomic counters, each in a different graph of a function. If calls do not
//! come back, clang's counts are wrong, and gcc's are rarely wrong. If a line's code is in several
//! blocks, the two add up different counts. So a count counts as known only if both agree.
//!
//! `_exit` and `abort` would lose the counts. So the programs are linked with wrappers that first
//! write the counts ([`Gcov::wrappers`]).

use crate::tool::{clean, holloway_command, installed, run_ok};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts by file name and line.
pub type Lines = BTreeMap<String, BTreeMap<u32, u64>>;

/// Names of functions by file and line.
type Names = BTreeMap<(String, u32), BTreeSet<String>>;

/// A compiler with its gcov.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gcov {
    /// gcc and gcov.
    Gcc,
    /// clang and `llvm-cov gcov`.
    Clang,
}

/// Both compilers.
pub const BOTH: [Gcov; 2] = [Gcov::Gcc, Gcov::Clang];

/// The lines with counts on which both compilers agree.
#[derive(Debug, Default)]
pub struct Agreed {
    lines: Lines,
    /// The functions that contain each line according to gcc.
    functions: Names,
}

impl Gcov {
    /// The name in directory names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }

    /// Returns the compiler with counters. It is run in `folder`, and the counts are written there.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn compiler(self, folder: &Path) -> Result<Command> {
        let mut command = self.plain(folder)?;
        command.args(["--coverage", "-fprofile-update=atomic"]);
        Ok(command)
    }

    fn plain(self, folder: &Path) -> Result<Command> {
        let mut command = Command::new(installed(match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang-22",
        })?);
        clean(&mut command);
        let words = ["-O0", "-g", "-w", "-pthread"];
        command.current_dir(folder).args(words);
        Ok(command)
    }

    /// Compiles wrappers, and returns the link options for a program that may end by `_exit` or
    /// `abort`.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn wrappers(self, folder: &Path) -> Result<[&'static str; 3]> {
        let text = "void __gcov_dump(void);\n\
            void __real__exit(int) __attribute__((noreturn));\n\
            void __real_abort(void) __attribute__((noreturn));\n\
            void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); }\n\
            void __wrap_abort(void) { __gcov_dump(); __real_abort(); }\n";
        std::fs::write(folder.join("wrappers.c"), text)?;
        run_ok(self.plain(folder)?.args(["-c", "wrappers.c"]))?;
        Ok(["wrappers.o", "-Wl,--wrap=_exit", "-Wl,--wrap=abort"])
    }

    /// Returns the counts of this compiler alone, which built a program in the folder.
    ///
    /// # Errors
    /// As for [`agreed`].
    pub fn lines(self, folder: &Path) -> Result<Lines> {
        self.read(folder, &mut Names::new())
    }

    /// Reads the counts in a folder. Adds the names of functions that gcc reports to `functions`.
    fn read(self, folder: &Path, functions: &mut Names) -> Result<Lines> {
        let mut lines = Lines::new();
        for file in counted(folder)? {
            let mut print = match self {
                Self::Gcc => Command::new(installed("gcov")?),
                Self::Clang => Command::new(installed("llvm-cov-22")?),
            };
            match self {
                Self::Gcc => print.args(["--json-format", "--stdout"]),
                Self::Clang => print.args(["gcov", "-t"]),
            };
            let text = run_ok(print.current_dir(folder).arg(file))?.text();
            match self {
                Self::Gcc => add_json(&mut lines, functions, &text)?,
                Self::Clang => add_text(&mut lines, &text),
            }
        }
        Ok(lines)
    }
}

/// Returns the counts on which both agree. Each compiler built the same program in its folder.
///
/// # Errors
/// If a gcov is missing, fails, or says something else than expected.
pub fn agreed(gcc: &Path, clang: &Path) -> Result<Agreed> {
    let mut functions = Names::new();
    let mut lines = Gcov::Gcc.read(gcc, &mut functions)?;
    let clang_lines = Gcov::Clang.read(clang, &mut functions)?;
    for (file, lines) in &mut lines {
        let clang_lines = clang_lines.get(file);
        lines.retain(|line, count| clang_lines.and_then(|lines| lines.get(line)) == Some(count));
    }
    Ok(Agreed { lines, functions })
}

/// The files of counts in a folder.
fn counted(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "gcda") {
            files.push(path.file_name().context("a file has a name")?.into());
        }
    }
    files.sort();
    Ok(files)
}

/// Adds `{"files": [{"file", "lines": [{"line_number", "count", "function_name"}]}]}`.
fn add_json(all: &mut Lines, functions: &mut Names, text: &str) -> Result<()> {
    for document in text.lines().filter(|line| !line.trim().is_empty()) {
        let json: Value = serde_json::from_str(document)?;
        for file in json["files"].as_array().context("no files")? {
            let name = base_name(file["file"].as_str().context("no file name")?);
            for line in file["lines"].as_array().context("no lines")? {
                let number = u32::try_from(line["line_number"].as_u64().context("no number")?)?;
                let count = line["count"].as_u64().context("no count")?;
                let lines = all.entry(name.clone()).or_default();
                *lines.entry(number).or_default() += count;
                if let Some(function) = line["function_name"].as_str() {
                    let names = functions.entry((name.clone(), number)).or_default();
                    names.insert(function.to_owned());
                }
            }
        }
    }
    Ok(())
}

/// Adds lines of the form `COUNT:LINE:TEXT`. Line 0 contains the file.
fn add_text(all: &mut Lines, text: &str) {
    let mut file = String::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').map(str::trim);
        let (Some(count), Some(number), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if let Some(source) = rest.strip_prefix("Source:") {
            file = base_name(source);
        }
        let count = match count {
            "#####" | "=====" => Some(0),
            _ => count.parse::<u64>().ok(),
        };
        if let (Some(count), Ok(number)) = (count, number.parse::<u32>()) {
            let lines = all.entry(file.clone()).or_default();
            *lines.entry(number).or_default() += count;
        }
    }
}

/// Reads the line counts that `holloway report` gives for a run.
///
/// # Errors
/// If it fails, or its JSON is not as documented.
pub fn lines_of_run(data: &Path) -> Result<Lines> {
    let mut command = holloway_command(["report", "--view", "lines", "--format", "json"]);
    let json: Value = serde_json::from_str(&run_ok(command.arg(data))?.text())?;
    let mut all = Lines::new();
    for line in json["lines"].as_array().context("no lines")? {
        let file = base_name(line["file"].as_str().context("no file")?);
        let number = u32::try_from(line["line"].as_u64().context("no line")?)?;
        let count = line["count"].as_u64().context("no count")?;
        *all.entry(file).or_default().entry(number).or_default() += count;
    }
    Ok(all)
}

impl Agreed {
    /// Leaves out the lines for which `line` is true, and the lines of functions for which
    /// `function` is true.
    pub fn leave_out(&mut self, line: impl Fn(&str, u32) -> bool, function: impl Fn(&str) -> bool) {
        for (file, lines) in &mut self.lines {
            lines.retain(|&number, _| {
                let names = self.functions.get(&(file.clone(), number));
                let mut names = names.into_iter().flatten();
                !line(file, number) && !names.any(|name| function(name))
            });
        }
    }
}

/// Compares the lines on which both gcovs agree. Returns the number of compared lines, and a
/// message for each different count.
#[must_use]
pub fn unlike(ours: &Lines, agreed: &Agreed) -> (usize, Vec<String>) {
    let (mut compared, mut unlike) = (0, Vec::new());
    for (file, lines) in &agreed.lines {
        for (&line, &count) in lines {
            compared += 1;
            let actual = ours.get(file).and_then(|lines| lines.get(&line));
            if actual != Some(&count) {
                let actual = actual.map_or("no count".to_owned(), u64::to_string);
                unlike.push(format!(
                    "{file}:{line}: {actual}, both gcovs counted {count}"
                ));
            }
        }
    }
    (compared, unlike)
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
