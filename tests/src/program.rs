//! A program of tests/programs: built plain and woven, run both ways, counts compared.
//!
//! The kind follows from the main file: `main.c`, `main.cpp`, `main.rs` (a Cargo project is made around it) or
//! `Cargo.toml` (a project of its own, copied before it is built). `build`: how; `lines`: counts of lines; `streams`: kinds of profile that are streams; `timed`: those whose
//! paths are timed; `variant`: the ways it is built.

mod build;
mod lines;
mod streams;
mod timed;
mod variant;

pub use build::{build_cargo, compiler, find_executable};
pub use streams::{StreamCheck, StreamRuns};
pub use variant::{Libc, Variant};

use crate::agree::differences;
use crate::directives::{Directives, self_reported};
use crate::kind::{Kind, Weaving};
use crate::report::{Function, Path1, Report};
use crate::tool::{Output, clean, run, run_ok, scratch};
use crate::{expect, tool};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// In what a program is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `main.c`.
    C,
    /// `main.cpp`.
    Cpp,
    /// `main.rs`, one file.
    Rust,
    /// A Cargo project.
    Cargo,
}

/// The kinds of profile that each program is woven for: what all are compared with first, the guide before what it guides, which is left out
/// for other C libraries and machines.
const KINDS: [Kind; 4] = [Kind::Paths, Kind::PathsClosed, Kind::Edges, Kind::Guided];

/// A folder of tests/programs.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the folder.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// What it is written in.
    pub language: Language,
    /// What its sources say.
    pub directives: Directives,
}

/// Every program, by name.
///
/// # Errors
/// A folder has no main file, or a directive isn't understood.
pub fn all() -> Result<Vec<Program>> {
    let root = tool::tests_directory().join("programs");
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(&root)? {
        let folder = entry?.path();
        if folder.is_dir() && !folder.ends_with("include") {
            programs.push(Program::read(&folder)?);
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

impl Program {
    /// Reads a folder.
    ///
    /// # Errors
    /// It has no main file, or a directive isn't understood.
    pub fn read(folder: &Path) -> Result<Self> {
        let kinds = [
            ("Cargo.toml", Language::Cargo),
            ("main.rs", Language::Rust),
            ("main.cpp", Language::Cpp),
            ("main.c", Language::C),
        ];
        let language = kinds
            .iter()
            .find(|(file, _)| folder.join(file).is_file())
            .map(|(_, l)| *l);
        let language = language.with_context(|| {
            format!(
                "{}: no Cargo.toml, main.rs, main.cpp or main.c",
                folder.display()
            )
        })?;
        let name = folder
            .file_name()
            .context("a folder has a name")?
            .to_string_lossy()
            .into_owned();
        Ok(Self {
            name,
            folder: folder.to_owned(),
            language,
            directives: Directives::read(folder)?,
        })
    }

    /// Builds plain and for each kind of profile, runs them all, and holds endings, outputs and counts against each other.
    ///
    /// # Errors
    /// Whatever differs from what must be.
    pub fn check(&self, variant: &Variant, check_streams: StreamCheck<'_>) -> Result<()> {
        let scratch = scratch(&self.name)?;
        let plain = self
            .build(variant, &scratch.path().join("plain"), None)
            .context("plain build")?;
        let plain = self.run(variant, &plain, None).context("plain run")?;
        let wanted = self.directives.ending();
        ensure!(
            plain.ending() == wanted,
            "plain: {}, not {wanted}\n{}{}",
            plain.ending(),
            plain.text(),
            plain.stderr
        );
        let mut reports = Vec::new();
        let kinds = match variant.is_other() {
            // Edges of every second program.
            true => &KINDS[..2 + self.number() % 2],
            false => &KINDS[..],
        };
        for &kind in kinds {
            let report = self.check_kind(variant, kind, scratch.path(), &plain);
            reports.push((kind, report.with_context(|| kind.name())?));
        }
        let mut failures = Vec::new();
        let exits = reports.iter().find(|(kind, _)| *kind == Kind::Paths);
        for (kind, report) in exits.iter().flat_map(|_| &reports) {
            let (_, all) = exits.expect("there are reports to compare it with");
            failures.extend(differences((*kind, report), (Kind::Paths, all), &|f| {
                self.is_unequal(f)
            }));
        }
        let data = |kind: Kind| (kind, scratch.path().join(kind.name()).join("data"));
        let mut runs: Vec<(Kind, PathBuf)> = kinds.iter().copied().map(data).collect();
        for kind in self.streams(variant) {
            runs.push(data(kind));
            let seen = streams::Seen {
                scratch: scratch.path(),
                plain: &plain,
                reports: &reports,
            };
            let checked = match kind.is_timed() {
                true => self.check_timed(variant, kind, &seen),
                false => self.check_stream(variant, kind, &seen, check_streams),
            };
            failures.extend(checked.with_context(|| kind.name())?);
        }
        let (_, report) = exits.context("the first kind is counted")?;
        failures.extend(self.wrong_lines(variant, scratch.path(), report, &runs)?);
        ensure!(failures.is_empty(), "{}", failures.join("\n"));
        Ok(())
    }

    /// One kind of profile: ending and output as plain, counts as expected, and laws that hold in every report.
    fn check_kind(
        &self,
        variant: &Variant,
        kind: Kind,
        scratch: &Path,
        plain: &Output,
    ) -> Result<Report> {
        let folder = |kind: Kind| scratch.join(kind.name());
        let weaving = match kind {
            Kind::Guided => Weaving::guided(kind, &folder(Kind::Edges).join("data")),
            Kind::GuidedEdges => Weaving::guided(kind, &folder(Kind::PathsClosed).join("data")),
            _ => kind.into(),
        };
        let executable = self
            .weave(variant, scratch, &weaving)
            .context("woven build")?;
        let data = folder(kind).join("data");
        let woven = self
            .run(variant, &executable, Some(&data))
            .context("woven run")?;
        let wanted = self.directives.ending();
        ensure!(
            woven.ending() == wanted,
            "woven: {}, not {wanted}\n{}{}",
            woven.ending(),
            woven.text(),
            woven.stderr
        );
        ensure!(
            plain.stdout == woven.stdout,
            "other output\n--- plain\n{}--- woven\n{}",
            plain.text(),
            woven.text()
        );
        let report = Report::of_run(&data)?;
        let reported = self_reported(&woven.stderr)?;
        let expectations = self
            .directives
            .expectations_at(&variant.level, kind)
            .chain(&reported);
        let mut failures = expect::failures(&report, kind, &self.directives, expectations);
        failures.extend(self.wrong_processes(&data)?);
        let open = self.directives.open && !kind.has_exits();
        failures.extend(inconsistencies(&report, &|f| open || self.is_unequal(f)));
        ensure!(failures.is_empty(), "{}", failures.join("\n"));
        Ok(report)
    }

    fn is_unequal(&self, function: &Function) -> bool {
        let names = self.directives.unequal.iter();
        names.into_iter().any(|(name, _)| match name.as_str() {
            "*" => true,
            "std" => function.file.contains("/library/"),
            name => function.answers_to(name),
        })
    }

    fn wrong_processes(&self, data: &Path) -> Result<Option<String>> {
        let Some(wanted) = self.directives.processes else {
            return Ok(None);
        };
        let found = profiles(data)?.len();
        Ok((found != wanted).then(|| format!("{found} profiles, not {wanted}")))
    }

    /// Runs the program beside its executable; woven ones write to `data`.
    ///
    /// # Errors
    /// It can't be started.
    pub fn run(&self, variant: &Variant, executable: &Path, data: Option<&Path>) -> Result<Output> {
        let mut command = variant.machine.command(executable)?;
        self.set_up(&mut command, executable)?;
        run_program(&mut command, data)
    }

    fn set_up(&self, command: &mut Command, executable: &Path) -> Result<()> {
        command.args(&self.directives.args);
        let beside = executable
            .parent()
            .context("an executable lies in a directory")?;
        match self.language {
            Language::C | Language::Cpp => {
                command.current_dir(beside);
            }
            // As `cargo run` does, for the project's own dylibs and for std's.
            Language::Rust | Language::Cargo => {
                let path = format!("{}:{}", beside.join("deps").display(), std_libraries()?);
                command.env("LD_LIBRARY_PATH", path);
            }
        }
        Ok(())
    }
}

/// Where rustc keeps its shared libraries; asked once.
fn std_libraries() -> Result<&'static str> {
    static LIBRARIES: OnceLock<String> = OnceLock::new();
    if let Some(known) = LIBRARIES.get() {
        return Ok(known);
    }
    let said = run_ok(Command::new("rustc").args(["--print", "target-libdir"]))?.text();
    Ok(LIBRARIES.get_or_init(|| said.trim().to_owned()))
}

/// Runs a program that was built, with its data going to `data`.
///
/// # Errors
/// It can't be started.
pub fn run_program(command: &mut Command, data: Option<&Path>) -> Result<Output> {
    clean(command);
    if let Some(data) = data {
        command.env("HOLLOWAY_DATA", data);
    }
    run(command)
}

/// The profiles in a run's directory.
///
/// # Errors
/// The directory can't be read.
pub fn profiles(data: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in
        std::fs::read_dir(data).with_context(|| format!("cannot list {}", data.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "hwp") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Laws that hold in every report: calls agree with the paths, and flow is conserved at each block (exit edges counted in)
/// of the functions that aren't `open`.
#[must_use]
pub fn inconsistencies(report: &Report, open: &dyn Fn(&Function) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    for f in report.functions.iter().filter(|f| !open(f)) {
        let mut net = BTreeMap::<i64, i128>::new();
        for (from, to, count) in &f.edges {
            *net.entry(*from).or_default() -= i128::from(*count);
            *net.entry(*to).or_default() += i128::from(*count);
        }
        for (block, count) in &f.left {
            *net.entry(*block).or_default() -= i128::from(*count);
        }
        net.remove(&-1);
        if let Some((block, more)) = net.iter().find(|(_, n)| **n != 0) {
            all.push(format!(
                "{}: block {block} is entered {more} times more than left",
                f.name
            ));
        }
    }
    for f in report.functions.iter().filter(|f| !f.paths.is_empty()) {
        let from_entry = |paths: &[Path1]| -> u64 {
            let entered = paths.iter().filter(|p| p.start == "entry");
            entered.map(|p| p.count).sum()
        };
        let from_entry = from_entry(&f.paths).wrapping_sub(from_entry(&f.reentries));
        if from_entry != f.calls() {
            all.push(format!(
                "{}: {} paths start at the entry, {} calls",
                f.name,
                from_entry,
                f.calls()
            ));
        }
    }
    all
}

/// Copies a folder with all below it.
///
/// # Errors
/// Reading or writing fails.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in
        std::fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?
    {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
