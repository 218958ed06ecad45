//! Compares the streams of a program of tests/programs with its counts, for loops and traces.
//! Module `timed` checks the streams of timed paths.

use super::catalog::Program;
use super::variant::Variant;
use crate::directives::self_reported;
use crate::expect;
use crate::kind::Kind;
use crate::report::{Function, Report};
use crate::tool::{Output, clean, holloway_command, run};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The runs of a program that was woven for a stream. A check that knows the format reads them.
pub struct StreamRuns<'a> {
    /// The kind of stream.
    pub kind: Kind,
    /// The data of a run whose threads spooled their words.
    pub spooled: &'a Path,
    /// The data of a run with a collector.
    pub collected: &'a Path,
    /// The report of paths with exit edges, of another run.
    pub exits: &'a Report,
    /// Whether a function's counts may differ from run to run.
    pub may_differ: &'a dyn Fn(&Function) -> bool,
    /// Whether the counts of all functions are the same in every run.
    pub is_steady: bool,
}

/// The runs of a program in a variant before its streams are checked.
pub(super) struct PriorRuns<'a> {
    pub(super) scratch: &'a Path,
    pub(super) plain: &'a Output,
    pub(super) reports: &'a [(Kind, Report)],
}

impl PriorRuns<'_> {
    /// Returns the report of a counted kind.
    pub(super) fn of(&self, kind: Kind) -> Result<&Report> {
        let report = self.reports.iter().find(|(k, _)| *k == kind);
        Ok(&report
            .context("counted kinds run before streams are checked")?
            .1)
    }
}

/// Returns a message for each error in the streams of a program.
pub type StreamCheck<'a> = &'a dyn Fn(&StreamRuns<'_>) -> Result<Vec<String>>;

impl Program {
    /// Checks one kind of stream, spooled and collected: the woven program ends like the plain
    /// program and has the same output, and the counts equal those of the counted kinds.
    pub(super) fn check_stream(
        &self,
        variant: &Variant,
        kind: Kind,
        prior: &PriorRuns<'_>,
        check: StreamCheck<'_>,
    ) -> Result<Vec<String>> {
        let folder = prior.scratch.join(kind.name());
        let built = self.weave(variant, prior.scratch, &kind.into());
        let executable = built.context("woven build")?;
        let [spooled, collected] = ["data", "collected"].map(|name| folder.join(name));
        let mut failures = Vec::new();
        let exits = prior.of(Kind::Paths)?;
        for (data, is_collected) in [(&spooled, false), (&collected, true)] {
            let run = self.command(variant, &executable, data, is_collected)?;
            let report = self.ran_as(run, data, prior.plain, (variant, kind), &mut failures)?;
            let may_differ = |f: &Function| self.is_unequal(f);
            failures.extend(match kind {
                Kind::Loops => path_differences(&report, exits, &may_differ),
                _ => call_differences(&report, exits, &may_differ),
            });
        }
        failures.extend(check(&StreamRuns {
            kind,
            spooled: &spooled,
            collected: &collected,
            exits,
            may_differ: &|f| self.is_unequal(f),
            is_steady: self.directives.unequal.is_empty(),
        })?);
        Ok(failures)
    }

    /// Runs a program that is woven for a stream, checks how it ends and its output, and compares
    /// its report with the directives.
    pub(super) fn ran_as(
        &self,
        (mut command, is_collected): (Command, bool),
        data: &Path,
        plain: &Output,
        (variant, kind): (&Variant, Kind),
        failures: &mut Vec<String>,
    ) -> Result<Report> {
        let ran = run(&mut command).context("woven run")?;
        ensure!(
            self.ends_as_wanted(&ran, is_collected) && ran.stdout == plain.stdout,
            "{}: {}, output {}\n{}",
            data.display(),
            ran.ending(),
            ran.text(),
            ran.stderr
        );
        let report = Report::of_run(data)?;
        let reported = self_reported(&ran.stderr)?;
        let expected = self.directives.expectations_at(&variant.level, kind);
        let expected = expected.chain(reported.iter().filter(|e| e.applies_to(kind)));
        failures.extend(expect::failures(&report, kind, &self.directives, expected));
        failures.extend(self.wrong_processes(data)?);
        Ok(report)
    }

    /// Whether the program ended as its directives say. `holloway run` exits with the status of the
    /// program, and converts a signal to an exit status as a shell does.
    fn ends_as_wanted(&self, output: &Output, is_collected: bool) -> bool {
        let wanted = self.directives.ending();
        let signal = wanted.strip_prefix("signal ").filter(|_| is_collected);
        match signal.and_then(|number| number.parse::<u32>().ok()) {
            Some(number) => output.ending() == format!("exit {}", 128 + number),
            None => output.ending() == wanted,
        }
    }

    /// Returns the command of a woven program, or of `holloway run` with that program.
    pub(super) fn command(
        &self,
        variant: &Variant,
        executable: &Path,
        data: &Path,
        is_collected: bool,
    ) -> Result<(Command, bool)> {
        let mut command = if is_collected {
            let mut command = holloway_command(["run", "--no-report", "-o"]);
            command.arg(data).arg("--");
            command.args(variant.machine.words(executable)?);
            command
        } else {
            let mut command = variant.machine.command(executable)?;
            clean(&mut command);
            command.env("HOLLOWAY_DATA", data);
            command
        };
        self.set_up(&mut command, executable)?;
        Ok((command, is_collected))
    }
}

/// Adds up counts by symbol and file name, so that copies of a function count as one.
pub(super) fn by_function<T>(
    report: &Report,
    may_differ: &dyn Fn(&Function) -> bool,
    of: impl Fn(&Function) -> Vec<(T, u64)>,
) -> BTreeMap<(String, String), BTreeMap<T, u64>>
where
    T: Ord,
{
    let mut by_function = BTreeMap::<_, BTreeMap<T, u64>>::new();
    for f in report.functions.iter().filter(|f| !may_differ(f)) {
        let counts = by_function.entry(f.key()).or_default();
        for (item, count) in of(f).into_iter().filter(|(_, count)| *count > 0) {
            *counts.entry(item).or_default() += count;
        }
    }
    by_function
}

/// Returns the differences between the paths of a stream and the counted paths. Paths of functions
/// with hashed counters end at different edges in a stream, so only their calls are compared.
pub(super) fn path_differences(
    stream: &Report,
    counted: &Report,
    may_differ: &dyn Fn(&Function) -> bool,
) -> Vec<String> {
    let possible = |r: &Report| by_function(r, may_differ, |f| vec![((), f.possible_paths)]);
    let (ours, theirs) = (possible(stream), possible(counted));
    let cut = |f: &Function| may_differ(f) || ours.get(&f.key()) != theirs.get(&f.key());
    let paths = |f: &Function| {
        let paths = f.paths.iter();
        let counts = paths.map(|p| ((p.start.clone(), p.blocks.clone(), p.end.clone()), p.count));
        counts.collect()
    };
    let sides = [stream, counted].map(|r| by_function(r, &cut, paths));
    let mut wrong = count_differences(&sides[0], &sides[1], "paths");
    wrong.extend(call_differences(stream, counted, may_differ));
    wrong
}

/// Returns the functions whose calls in the stream differ from the counted calls.
fn call_differences(
    stream: &Report,
    counted: &Report,
    may_differ: &dyn Fn(&Function) -> bool,
) -> Vec<String> {
    let sides = [stream, counted].map(|r| by_function(r, may_differ, |f| vec![((), f.calls())]));
    count_differences(&sides[0], &sides[1], "calls")
}

fn count_differences<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    stream: &BTreeMap<K, V>,
    counted: &BTreeMap<K, V>,
    unit: &str,
) -> Vec<String> {
    let keys: BTreeSet<&K> = stream.keys().chain(counted.keys()).collect();
    let differ = keys.into_iter().filter(|k| stream.get(k) != counted.get(k));
    let message = |k: &K| {
        let (ours, theirs) = (stream.get(k), counted.get(k));
        format!("{unit} of {k:?}: {ours:?} in the stream, {theirs:?} counted")
    };
    differ.map(message).collect()
}
