//! Checks the timed paths of a program of tests/programs, all or a few: no sample is lost, and the
//! estimated counts are near the counts.

use super::catalog::Program;
use super::streams::{Seen, by_function, path_differences};
use super::variant::Variant;
use crate::kind::Kind;
use crate::report::{Function, Report, list, number};
use crate::tool::{holloway_command, run_ok};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// Bursts that are frequent enough to meet everything that programs do: three paths are timed after
/// every zero to four paths.
const OFTEN: &str = "2:3";
/// The largest number of paths between two bursts.
const LONGEST_PASS: u64 = 4;

/// Kinds of missing words; no program may have any.
const LOST: [&str; 2] = ["gaps", "lost_words"];
/// Traces of a sample whose thread ended or jumped away in the middle of a probe. Only programs
/// with the directive `//#cut` may have any.
const CUT: [&str; 4] = ["cut", "damaged", "holes", "strangers"];

impl Program {
    /// Checks timed paths.
    ///
    /// If all paths are timed, each has as many samples as it has executions. If a few are timed,
    /// as many paths began as were counted, except the last ones of each thread, and the estimates
    /// of all functions add up to that number.
    pub(super) fn check_timed(
        &self,
        variant: &Variant,
        kind: Kind,
        seen: &Seen<'_>,
    ) -> Result<Vec<String>> {
        let folder = seen.scratch.join(kind.name());
        let built = self.weave(variant, seen.scratch, &kind.into());
        let executable = built.context("woven build")?;
        let mut failures = Vec::new();
        let (paths, exits) = (seen.of(Kind::PathsClosed)?, seen.of(Kind::Paths)?);
        let spared = |f: &Function| self.is_unequal(f);
        for burst in ["", OFTEN] {
            // Frequent bursts meet frames that are left, signals, and forks.
            let name = if burst.is_empty() { "data" } else { "often" };
            let data = folder.join(name);
            let mut run = self.command(variant, &executable, &data, burst.is_empty())?;
            if !burst.is_empty() {
                run.0.env("HOLLOWAY_BURST", burst);
            }
            let report = self.ran_as(run, &data, seen.plain, (variant, kind), &mut failures)?;
            let wrong = match kind {
                Kind::Times => path_differences(&report, paths, &spared),
                _ if !burst.is_empty() => estimate_differences(&report, paths, exits, &spared),
                _ => Vec::new(),
            };
            let wrong = wrong.into_iter().chain(self.losses(&data)?);
            failures.extend(wrong.map(|what| format!("{} {name}: {what}", kind.name())));
        }
        Ok(failures)
    }

    /// Samples that `--view variation` reports as missing. Also, the executions of the listed and
    /// of the unlisted paths must add up to the number of paths that began.
    fn losses(&self, data: &Path) -> Result<Vec<String>> {
        let words = ["report", "--view", "variation", "--format", "json"];
        let output = run_ok(holloway_command(words).arg(data))?;
        let json: Value = serde_json::from_str(&output.text())?;
        let damage = list(&json, "damage")?.iter();
        let mut wrong: Vec<String> = damage.map(Value::to_string).collect();
        let samples = &json["samples"];
        let may_be_cut = self.directives.cut;
        for name in LOST.iter().chain(CUT.iter().filter(|_| !may_be_cut)) {
            let found = number(samples, name)?;
            wrong.extend((found != 0).then(|| format!("{found} {name}")));
        }
        let mut executions = real(samples, "executions_of_these")?;
        for path in list(&json, "variation")? {
            executions += real(path, "executions")?;
        }
        let begun = real(samples, "begun")?;
        if (executions - begun).abs() > 1e-6 * begun {
            wrong.push(format!("{executions} executions, {begun} paths began"));
        }
        Ok(wrong)
    }
}

fn real(json: &Value, name: &str) -> Result<f64> {
    let number = json[name].as_f64();
    number.with_context(|| format!("no number {name:?} in {json}"))
}

/// Compares the sum of the estimates with the sum of the counts. The distribution over functions is
/// chance, but the number of paths that began is not, except for frames that were left or entered
/// again and for the last paths of each thread. Functions that are not timed, or whose paths are
/// cut elsewhere, are left out.
fn estimate_differences(
    timed: &Report,
    counted: &Report,
    exits: &Report,
    spared: &dyn Fn(&Function) -> bool,
) -> Vec<String> {
    let possible = |r: &Report| by_function(r, spared, |f| vec![((), f.possible_paths)]);
    let (ours, theirs) = (possible(timed), possible(counted));
    let is_same = |f: &Function| !spared(f) && ours.get(&f.key()) == theirs.get(&f.key());
    let total = |r: &Report| -> u64 {
        let functions = r.functions.iter().filter(|f| is_same(f));
        functions.map(Function::total).sum()
    };
    let processes = timed.json["images"].as_array().into_iter().flatten();
    let processes = processes.flat_map(|image| image["processes"].as_array());
    let threads = processes.flatten().filter_map(|p| p["threads"].as_u64());
    let at_ends = LONGEST_PASS * threads.sum::<u64>();
    // A frame that was left began a path that is not counted. A frame to which a call returned
    // twice has a counted path that did not begin.
    let broken: u64 = exits.functions.iter().map(broken).sum();
    let (ours, theirs) = (total(timed), total(counted));
    let differ = ours.abs_diff(theirs) > theirs / 20 + at_ends + broken + 20;
    let told = || format!("{ours} paths estimated, {theirs} counted, {broken} broken off");
    differ.then(told).into_iter().collect()
}

/// The number of frames of a function that were left or entered again.
fn broken(function: &Function) -> u64 {
    let left = function.left.iter().map(|(_, count)| count.unsigned_abs());
    left.sum::<u64>()
        + function
            .reentries
            .iter()
            .map(|path| path.count)
            .sum::<u64>()
}
