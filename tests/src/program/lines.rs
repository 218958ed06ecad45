//! Checks the line counts of a C program at -O0. They must equal gcc's gcov and `llvm-cov gcov` on
//! the lines where both agree, and they must be the same in all kinds of profile.

use super::catalog::{Language, Program};
use super::variant::{Libc, Variant};
use crate::gcov::{Agreed, BOTH, Gcov, Lines, agreed, lines_of_run, unlike};
use crate::kind::Kind;
use crate::machine::Machine;
use crate::report::Report;
use crate::tool::{run_ok, tests_directory};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// The minimum number of lines that must be compared, if the counts of all functions of the program
/// are known.
const MIN_LINES: usize = 4;

impl Program {
    /// Returns a message for each wrong line count of these runs. `report` is the report of one of
    /// them. Other languages, levels, and machines are not compared with gcov.
    pub(super) fn wrong_lines(
        &self,
        variant: &Variant,
        scratch: &Path,
        report: &Report,
        runs: &[(Kind, PathBuf)],
    ) -> Result<Vec<String>> {
        let is_default = variant.libc == Libc::Glibc && variant.machine == Machine::Host;
        if self.language != Language::C || variant.level != "O0" || !is_default {
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
            let enough = compared >= MIN_LINES || !directives.unequal.is_empty();
            ensure!(enough, "only {compared} lines were compared");
            wrong.extend(unlike.iter().map(|line| format!("{}: {line}", kind.name())));
        }
        Ok(wrong)
    }

    /// Whether a kind counts all lines of the program correctly, even if frames are left.
    fn has_all_lines(&self, kind: Kind) -> bool {
        match kind {
            Kind::Paths | Kind::Edges | Kind::Guided | Kind::GuidedEdges => true,
            Kind::Loops | Kind::Trace => true,
            Kind::PathsWithoutExits | Kind::EdgesWithoutExits => !self.directives.open,
            Kind::Variation | Kind::Times | Kind::None => false,
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

/// Returns a message for each line that a kind counts differently from the first kind.
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
            let (first_count, other_count) = (count(wanted), count(lines));
            if first_count != other_count {
                let (first, kind) = (first.name(), kind.name());
                different.push(format!(
                    "{file}:{line}: {first_count:?} in {first}, {other_count:?} in {kind}"
                ));
            }
        }
    }
    different
}
