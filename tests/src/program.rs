//! A program of tests/programs: built plain and woven, run both ways, counts compared.
//!
//! The kind follows from the main file: `main.c`, `main.cpp`, `main.rs` (a Cargo project is made around it) or
//! `Cargo.toml` (a project of its own, copied before it is built). `streams`: kinds of profile that are streams.

mod streams;

pub use streams::{StreamCheck, StreamRuns};

use crate::agree::differences;
use crate::directives::{Directives, self_reported};
use crate::kind::{Kind, Weaving};
use crate::report::{Function, Path1, Report};
use crate::tool::{
    Output, cargo_holloway, clean, holloway_command, installed, libllvm_19, run, run_ok, scratch,
    shown,
};
use crate::{expect, tool};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// One way to build a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Optimisation level: `O0`, `O2`; Cargo's profile for Rust.
    pub level: String,
    /// Version of clang; unused for Rust.
    pub clang: u32,
    /// Links with lld, not GNU ld; Rust links as rustc does.
    pub lld: bool,
}

impl Variant {
    /// A name for lists: `O2-clang22-lld`.
    #[must_use]
    pub fn name(&self, language: Language) -> String {
        match language {
            Language::C | Language::Cpp => {
                format!(
                    "{}-clang{}-{}",
                    self.level,
                    self.clang,
                    if self.lld { "lld" } else { "ld" }
                )
            }
            Language::Rust | Language::Cargo => self.level.clone(),
        }
    }
}

/// The kinds of profile that each program is woven for: what all are compared with first, the guide before what it guides.
const KINDS: [Kind; 4] = [Kind::PathsExits, Kind::Paths, Kind::Edges, Kind::Guided];

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

    /// The ways this program is built.
    #[must_use]
    pub fn variants(&self) -> Vec<Variant> {
        let usual: &[(&str, u32, bool)] = match self.language {
            Language::C | Language::Cpp => {
                &[("O0", 22, false), ("O1", 19, false), ("O2", 22, true)]
            }
            Language::Rust | Language::Cargo => &[("dev", 22, true), ("release", 22, true)],
        };
        let d = &self.directives;
        usual
            .iter()
            .filter(|(level, clang, _)| {
                (d.levels.is_empty() || d.levels.iter().any(|l| l == level))
                    && d.only
                        .as_ref()
                        .is_none_or(|only| *only == clang.to_string())
            })
            .map(|(level, clang, lld)| Variant {
                level: (*level).to_owned(),
                clang: *clang,
                lld: *lld,
            })
            .collect()
    }

    /// The streams that are collected in a variant, timed paths too: each in one, not the same for all programs.
    #[must_use]
    pub fn streams(&self, variant: &Variant) -> Vec<Kind> {
        let variants = self.variants();
        let first = self.name.bytes().map(usize::from).sum::<usize>();
        let is_this = |more: usize| variants[(first + more) % variants.len()] == *variant;
        let kinds = [
            (Kind::Loops, 0),
            (Kind::Trace, 1),
            (Kind::Times, 2),
            (Kind::Variation, 3),
        ];
        let kinds = kinds.into_iter().filter(|(_, more)| is_this(*more));
        kinds.map(|(kind, _)| kind).collect()
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
        let plain = self.run(&plain, None).context("plain run")?;
        let wanted = self.directives.ending();
        ensure!(
            plain.ending() == wanted,
            "plain: {}, not {wanted}\n{}{}",
            plain.ending(),
            plain.text(),
            plain.stderr
        );
        let mut reports = Vec::new();
        for kind in KINDS {
            let report = self.check_kind(variant, kind, scratch.path(), &plain);
            reports.push((kind, report.with_context(|| kind.name())?));
        }
        let mut failures = Vec::new();
        let exits = reports.iter().find(|(kind, _)| *kind == Kind::PathsExits);
        for (kind, report) in exits.iter().flat_map(|_| &reports) {
            let (_, all) = exits.expect("there are reports to compare it with");
            failures.extend(differences(
                (*kind, report),
                (Kind::PathsExits, all),
                &|f| self.is_unequal(f),
            ));
        }
        for kind in self.streams(variant) {
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
            Kind::GuidedEdges => Weaving::guided(kind, &folder(Kind::Paths).join("data")),
            _ => kind.into(),
        };
        let executable = self
            .weave(variant, scratch, &weaving)
            .context("woven build")?;
        let data = folder(kind).join("data");
        let woven = self.run(&executable, Some(&data)).context("woven run")?;
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

    /// Builds in a folder of its own, plain if there is nothing to weave; the executable's path.
    ///
    /// # Errors
    /// The build fails.
    pub fn build(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
    ) -> Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        match self.language {
            Language::C | Language::Cpp => self.build_c(variant, folder, woven),
            Language::Rust | Language::Cargo => self.build_rust(variant, folder, woven),
        }
    }

    /// Builds for a kind of profile in a folder of the kind's below `scratch`. C and C++ are compiled once for all kinds, which differ in the link.
    fn weave(&self, variant: &Variant, scratch: &Path, weaving: &Weaving) -> Result<PathBuf> {
        let folder = scratch.join(weaving.kind.name());
        if matches!(self.language, Language::Rust | Language::Cargo) {
            return self.build(variant, &folder, Some(weaving));
        }
        let objects = scratch.join("objects");
        if !objects.is_dir() {
            self.compile_c(variant, &objects, weaving)?;
        }
        std::fs::create_dir_all(&folder)?;
        self.link_c(variant, &folder, Some(weaving), &|file| {
            objects.join(file).with_extension("o")
        })
    }

    fn compile_c(&self, variant: &Variant, objects: &Path, weaving: &Weaving) -> Result<()> {
        std::fs::create_dir_all(objects)?;
        let is_file = |word: &&str| self.folder.join(word).is_file();
        let words = || self.directives.build.iter().map(String::as_str);
        for file in std::iter::once(self.main_c()).chain(words().filter(is_file)) {
            let mut command = compiler(self.language, variant, Some(weaving))?;
            command.current_dir(objects).arg("-c");
            command.arg(self.folder.join(file)).arg("-o");
            command.arg(Path::new(file).with_extension("o"));
            run_ok(command.args(words().filter(|word| !is_file(word))))?;
        }
        Ok(())
    }

    fn main_c(&self) -> &'static str {
        match self.language {
            Language::C => "main.c",
            _ => "main.cpp",
        }
    }

    fn build_c(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
    ) -> Result<PathBuf> {
        self.link_c(variant, folder, woven, &|file| self.folder.join(file))
    }

    /// Builds the shared objects, and the program of what `input` has of each file.
    fn link_c(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
        input: &dyn Fn(&str) -> PathBuf,
    ) -> Result<PathBuf> {
        for (name, words) in &self.directives.shared {
            let mut command = compiler(self.language, variant, woven)?;
            command
                .current_dir(folder)
                .args(["-shared", "-fPIC", "-o", name]);
            self.add_words(&mut command, words, &|file| self.folder.join(file));
            run_ok(&mut command)?;
        }
        let mut command = compiler(self.language, variant, woven)?;
        command
            .current_dir(folder)
            .arg(input(self.main_c()))
            .args(["-o", "program"]);
        self.add_words(&mut command, &self.directives.build, input);
        run_ok(&mut command)?;
        Ok(folder.join("program"))
    }

    /// Words of a directive; for those that name a file of the program's folder, `input` of it.
    fn add_words(&self, command: &mut Command, words: &[String], input: &dyn Fn(&str) -> PathBuf) {
        for word in words {
            if self.folder.join(word).is_file() {
                command.arg(input(word))
            } else {
                command.arg(word)
            };
        }
    }

    fn build_rust(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
    ) -> Result<PathBuf> {
        let name = self.name.replace('_', "-");
        if self.language == Language::Cargo {
            copy_tree(&self.folder, folder)?;
        } else {
            std::fs::create_dir_all(folder.join("src"))?;
            std::fs::copy(self.folder.join("main.rs"), folder.join("src/main.rs"))?;
            let profile = self.directives.profile.join("\n");
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
                 [profile.release]\n{profile}\n[profile.dev]\n{profile}\n"
            );
            std::fs::write(folder.join("Cargo.toml"), manifest)?;
        }
        build_cargo(folder, &name, &variant.level, woven)
    }

    /// Runs the program beside its executable; woven ones write to `data`.
    ///
    /// # Errors
    /// It can't be started.
    pub fn run(&self, executable: &Path, data: Option<&Path>) -> Result<Output> {
        let mut command = Command::new(executable);
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
                let libraries =
                    run_ok(Command::new("rustc").args(["--print", "target-libdir"]))?.text();
                let path = format!("{}:{}", beside.join("deps").display(), libraries.trim());
                command.env("LD_LIBRARY_PATH", path);
            }
        }
        Ok(())
    }
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

/// The compiler's line for C and C++ up to the level: clang itself, or `holloway cc` over the same clang.
///
/// # Errors
/// A tool isn't installed.
pub fn compiler(language: Language, variant: &Variant, woven: Option<&Weaving>) -> Result<Command> {
    let cpp = language == Language::Cpp;
    let clang = installed(&format!(
        "{}-{}",
        if cpp { "clang++" } else { "clang" },
        variant.clang
    ))?;
    let mut command = if let Some(weaving) = woven {
        let mut command = holloway_command([if cpp { "c++" } else { "cc" }]);
        weaving.by_environment(&mut command);
        command.env("HOLLOWAY_CLANG", clang);
        if variant.clang == 19 {
            command.env("HOLLOWAY_LLVM", libllvm_19()?);
        }
        command
    } else {
        let mut command = Command::new(clang);
        clean(&mut command);
        command
    };
    command
        .args(["-g", "-Wno-unused-command-line-argument", "-pthread"])
        .arg(format!("-{}", variant.level));
    command
        .arg("-I")
        .arg(tool::tests_directory().join("programs/include"));
    if variant.lld {
        command.arg("-fuse-ld=lld");
    }
    Ok(command)
}

/// Builds a Cargo project, plain or woven; the executable's path.
///
/// # Errors
/// The build fails, or leaves no executable of that name.
pub fn build_cargo(
    folder: &Path,
    binary: &str,
    profile: &str,
    woven: Option<&Weaving>,
) -> Result<PathBuf> {
    let mut command = match woven {
        Some(weaving) => {
            let mut command = cargo_holloway(["build"]);
            weaving.by_options(&mut command);
            command
        }
        None => {
            let mut command = Command::new("cargo");
            command.arg("build");
            clean(&mut command);
            command
        }
    };
    command.current_dir(folder).args(["--profile", profile]);
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    run_ok(&mut command)?;
    find_executable(&folder.join("target"), binary)
        .with_context(|| format!("after {}", shown(&command)))
}

/// The executable `name` below a target directory: in a profile's directory, not among the dependencies.
///
/// # Errors
/// There is none.
pub fn find_executable(target: &Path, name: &str) -> Result<PathBuf> {
    let mut folders = vec![target.to_owned()];
    while let Some(folder) = folders.pop() {
        let file = folder.join(name);
        if file.is_file() {
            return Ok(file);
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let skip = [
                "deps",
                "build",
                "incremental",
                ".fingerprint",
                "runs",
                "bin",
            ]
            .iter()
            .any(|n| path.ends_with(n));
            if path.is_dir() && !path.is_symlink() && !skip {
                folders.push(path);
            }
        }
    }
    bail!("no executable {name} below {}", target.display())
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_stream_is_collected_once_a_program_and_in_every_variant_of_some() {
        let mut seen = BTreeSet::new();
        for program in all().unwrap() {
            let mut kinds = Vec::new();
            for variant in program.variants() {
                for kind in program.streams(&variant) {
                    kinds.push(kind);
                    seen.insert((kind, variant.name(program.language)));
                }
            }
            kinds.sort();
            let all = [Kind::Loops, Kind::Trace, Kind::Variation, Kind::Times];
            assert_eq!(kinds, all, "{}", program.name);
        }
        assert_eq!(seen.len(), 4 * 5, "{seen:?}");
    }
}
