//! Compares the kinds of profile that are counted: how the program ends, its output, and its
//! counts.

use super::catalog::Program;
use super::streams::{PriorRuns, StreamCheck};
use super::variant::Variant;
use crate::agree::differences;
use crate::directives::self_reported;
use crate::expect;
use crate::kind::{Kind, Weaving};
use crate::report::{ExecutedPath, Function, Report};
use crate::tool::{Output, scratch};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The counted kinds of profile that each program is woven for. All others are compared with the
/// first kind. A guide comes before the kind that it guides. For other C libraries and machines,
/// only the first kinds are tested.
const KINDS: [Kind; 4] = [
    Kind::Paths,
    Kind::PathsWithoutExits,
    Kind::Edges,
    Kind::Guided,
];

impl Program {
    /// Builds the program plain and for each kind of profile. Runs all builds, and compares how
    /// they end, their outputs, and their counts.
    ///
    /// # Errors
    /// If a build or a run fails, or something differs: the message lists every difference.
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
            // Every second program also counts edges.
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
            let (_, exits) = exits.expect("there are reports to compare it with");
            failures.extend(differences((*kind, report), (Kind::Paths, exits), &|f| {
                self.is_unequal(f)
            }));
        }
        if self.is_woven_without_counters(variant) {
            self.check_without_counters(variant, scratch.path(), &plain)
                .context(Kind::None.name())?;
        }
        let data = |kind: Kind| (kind, scratch.path().join(kind.name()).join("data"));
        let mut runs: Vec<(Kind, PathBuf)> = kinds.iter().copied().map(data).collect();
        for kind in self.streams(variant) {
            runs.push(data(kind));
            let prior = PriorRuns {
                scratch: scratch.path(),
                plain: &plain,
                reports: &reports,
            };
            let checked = match kind.is_timed() {
                true => self.check_timed(variant, kind, &prior),
                false => self.check_stream(variant, kind, &prior, check_streams),
            };
            failures.extend(checked.with_context(|| kind.name())?);
        }
        let (_, report) = exits.context("the first kind is counted")?;
        failures.extend(self.wrong_lines(variant, scratch.path(), report, &runs)?);
        ensure!(failures.is_empty(), "{}", failures.join("\n"));
        Ok(())
    }

    /// Checks one kind of profile: the woven program ends like the plain program and has the same
    /// output, the counts are as expected, and the report is consistent.
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
            Kind::GuidedEdges => {
                Weaving::guided(kind, &folder(Kind::PathsWithoutExits).join("data"))
            }
            _ => kind.into(),
        };
        let executable = self
            .weave(variant, scratch, &weaving)
            .context("woven build")?;
        let data = folder(kind).join("data");
        let woven = self.run_as_plain(variant, &executable, &data, plain)?;
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

    /// Checks the program without counters: it ends like the plain program, has the same output,
    /// and writes no profile.
    fn check_without_counters(
        &self,
        variant: &Variant,
        scratch: &Path,
        plain: &Output,
    ) -> Result<()> {
        let executable = self
            .weave(variant, scratch, &Kind::None.into())
            .context("woven build")?;
        let data = scratch.join(Kind::None.name()).join("data");
        self.run_as_plain(variant, &executable, &data, plain)?;
        ensure!(!data.exists(), "the program wrote a profile");
        Ok(())
    }

    /// Runs a woven program. It ends like the plain program and has the same output.
    fn run_as_plain(
        &self,
        variant: &Variant,
        executable: &Path,
        data: &Path,
        plain: &Output,
    ) -> Result<Output> {
        let woven = self
            .run(variant, executable, Some(data))
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
            "the output differs from the plain program's\n--- plain\n{}--- woven\n{}",
            plain.text(),
            woven.text()
        );
        Ok(woven)
    }
}

/// Checks that a report is consistent: calls agree with the paths, and flow, with exit edges, is
/// conserved at each block of the functions that are not `open`.
#[must_use]
pub fn inconsistencies(report: &Report, open: &dyn Fn(&Function) -> bool) -> Vec<String> {
    let mut failures = Vec::new();
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
            failures.push(format!(
                "{}: block {block} is entered {more} times more than left",
                f.name
            ));
        }
    }
    for f in report.functions.iter().filter(|f| !f.paths.is_empty()) {
        let from_entry = |paths: &[ExecutedPath]| -> u64 {
            let entered = paths.iter().filter(|p| p.start == "entry");
            entered.map(|p| p.count).sum()
        };
        let from_entry = from_entry(&f.paths).wrapping_sub(from_entry(&f.reentries));
        if from_entry != f.calls() {
            failures.push(format!(
                "{}: {} paths start at the entry, {} calls",
                f.name,
                from_entry,
                f.calls()
            ));
        }
    }
    failures
}
