//! Independent counters of lines: gcc's `--coverage`, as gcov reads it, and clang's, as `llvm-cov
//! gcov` does.
//!
//! Both count at -O0 with atomic counters, each in its own graph of a function. Where calls do not
//! come back clang's counts are wrong, and gcc's seldom; where a line's code is in several blocks,
//! each has its own idea of what to add up. So a count is known where both agree.
//!
//! `_exit` and `abort` would lose the counts: the programs are linked with wrappers that write them
//! first ([`Gcov::wrappers`]).

use crate::tool::{clean, holloway_command, installed, run_ok};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts by line, of each file by its name.
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

/// Both.
pub const BOTH: [Gcov; 2] = [Gcov::Gcc, Gcov::Clang];

/// The lines that both count alike.
#[derive(Debug, Default)]
pub struct Agreed {
    lines: Lines,
    /// The functions that gcc has each line in.
    functions: Names,
}

impl Gcov {
    /// Its name in names of directories.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }

    /// The compiler with counters, to be run in `folder`, where the counts go too.
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

    /// What to link with a program that may end by `_exit` or `abort`.
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

    /// The counts in a folder; `functions` gets the names that gcc says.
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

/// What both counted in runs of one program, which each built in a folder.
///
/// # Errors
/// If a gcov is missing, fails, or says something else than expected.
pub fn agreed(gcc: &Path, clang: &Path) -> Result<Agreed> {
    let mut functions = Names::new();
    let mut lines = Gcov::Gcc.read(gcc, &mut functions)?;
    let others = Gcov::Clang.read(clang, &mut functions)?;
    for (file, lines) in &mut lines {
        let others = others.get(file);
        lines.retain(|line, count| others.and_then(|others| others.get(line)) == Some(count));
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

/// Adds `COUNT:LINE:TEXT` lines; line 0 says the file.
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

/// What `holloway report` says of the lines of a run.
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
    /// Leaves out lines by file and number, and those of functions by their names.
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

/// How many lines on which both gcovs agree were compared, and which of these are counted
/// otherwise.
#[must_use]
pub fn unlike(ours: &Lines, agreed: &Agreed) -> (usize, Vec<String>) {
    let (mut compared, mut unlike) = (0, Vec::new());
    for (file, lines) in &agreed.lines {
        for (&line, &count) in lines {
            compared += 1;
            let found = ours.get(file).and_then(|lines| lines.get(&line));
            if found != Some(&count) {
                let found = found.map_or("no count".to_owned(), u64::to_string);
                unlike.push(format!(
                    "{file}:{line}: {found}, both gcovs counted {count}"
                ));
            }
        }
    }
    (compared, unlike)
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
