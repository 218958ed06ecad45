//! Counts of a C program's lines at -O0: those on which gcc's gcov and `llvm-cov gcov` agree, and
//! the same in all kinds of profile.

use super::catalog::{Language, Program};
use super::variant::{Libc, Variant};
use crate::gcov::{Agreed, BOTH, Gcov, Lines, agreed, lines_of_run, unlike};
use crate::kind::Kind;
use crate::machine::Machine;
use crate::report::Report;
use crate::tool::{run_ok, tests_directory};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// Fewest lines that must be compared of a program whose counts are known of all functions.
const LEAST: usize = 4;

impl Program {
    /// What is wrong with the lines of these runs, a line each; `report` is of one of them. Other
    /// languages, levels, and machines have no gcov to agree with.
    pub(super) fn wrong_lines(
        &self,
        variant: &Variant,
        scratch: &Path,
        report: &Report,
        runs: &[(Kind, PathBuf)],
    ) -> Result<Vec<String>> {
        let is_here = variant.libc == Libc::Glibc && variant.machine == Machine::Host;
        if self.language != Language::C || variant.level != "O0" || !is_here {
            return Ok(Vec::new());
        }
        let mut counted: Vec<(Kind, Lines)> = Vec::new();
        for (kind, data) in runs.iter().filter(|(kind, _)| self.has_all_lines(*kind)) {
            counted.push((*kind, lines_of_run(data)?));
        }
        let mut wrong = Vec::new();
        if self.directives.unequal.is_empty() {
            wrong.extend(different_kinds(&counted));
        }
        if self.directives.uncounted {
            return Ok(wrong);
        }
        let mut agreed = self.agreed_lines(variant, scratch).context("gcov")?;
        let directives = &self.directives;
        let unequal = |name: &str| directives.unequal.iter().any(|(f, _)| f == name);
        let skipped = |name: &str| report.skipped.iter().any(|(f, _)| f == name);
        let uncut = |file: &str, line: u32| {
            let label = directives.labels.get(&(file.to_owned(), line.into()));
            label.is_some_and(|label| directives.uncut.as_ref().is_some_and(|(l, _)| l == label))
        };
        agreed.leave_out(uncut, |name| unequal(name) || skipped(name));
        for (kind, lines) in &counted {
            let (compared, unlike) = unlike(lines, &agreed);
            let enough = compared >= LEAST || !directives.unequal.is_empty();
            ensure!(enough, "only {compared} lines were compared");
            wrong.extend(unlike.iter().map(|line| format!("{}: {line}", kind.name())));
        }
        Ok(wrong)
    }

    /// Whether a kind counts all lines of the program: also where frames are left, if any are.
    fn has_all_lines(&self, kind: Kind) -> bool {
        match kind {
            Kind::Paths | Kind::Edges | Kind::Guided | Kind::GuidedEdges => true,
            Kind::Loops | Kind::Trace => true,
            Kind::PathsClosed | Kind::EdgesClosed => !self.directives.open,
            Kind::Variation | Kind::Times => false,
        }
    }

    fn agreed_lines(&self, variant: &Variant, scratch: &Path) -> Result<Agreed> {
        let folder = |gcov: Gcov| scratch.join(format!("gcov-{}", gcov.name()));
        for gcov in BOTH {
            let executable = self.build_counted(gcov, &folder(gcov))?;
            let ending = self.run(variant, &executable, None)?.ending();
            let wanted = self.directives.ending();
            ensure!(ending == wanted, "{}: {ending}, not {wanted}", gcov.name());
        }
        agreed(&folder(Gcov::Gcc), &folder(Gcov::Clang))
    }

    fn build_counted(&self, gcov: Gcov, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let include = tests_directory().join("programs/include");
        let source = |file: &str| self.folder.join(file);
        let start = || -> Result<_> {
            let mut command = gcov.compiler(folder)?;
            command.arg("-I").arg(&include);
            Ok(command)
        };
        for (name, words) in &self.directives.shared {
            let mut command = start()?;
            command.args(["-shared", "-fPIC", "-o", name]);
            self.add_words(&mut command, words, &source);
            run_ok(&mut command)?;
        }
        let mut command = start()?;
        command.arg(source("main.c")).args(["-o", "program"]);
        command.args(gcov.wrappers(folder)?);
        self.add_words(&mut command, &self.directives.build, &source);
        run_ok(&mut command)?;
        Ok(folder.join("program"))
    }
}

/// Lines that a kind counts otherwise than the first.
fn different_kinds(counted: &[(Kind, Lines)]) -> Vec<String> {
    let Some(((first, wanted), others)) = counted.split_first() else {
        return Vec::new();
    };
    let mut different = Vec::new();
    for (kind, lines) in others {
        let all = wanted.iter().chain(lines);
        let all = all.flat_map(|(file, lines)| lines.keys().map(move |line| (file, line)));
        let mut all: Vec<(&String, &u32)> = all.collect();
        all.sort_unstable();
        all.dedup();
        for (file, line) in all {
            let count = |lines: &Lines| lines.get(file).and_then(|lines| lines.get(line)).copied();
            let (one, other) = (count(wanted), count(lines));
            if one != other {
                let (first, kind) = (first.name(), kind.name());
                different.push(format!(
                    "{file}:{line}: {one:?} in {first}, {other:?} in {kind}"
                ));
            }
        }
    }
    different
}
