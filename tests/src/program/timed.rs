//! Checks the samples of timed paths of a program of tests/programs: no sample is missing, and the
//! estimated counts are close to the counts.

use super::catalog::Program;
use super::streams::{PriorRuns, by_function, path_differences};
use super::variant::Variant;
use crate::kind::Kind;
use crate::report::{Function, Report, list, number};
use crate::tool::{holloway_command, run_ok};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// A burst pattern that is frequent enough to time paths in all parts of a program: three paths are
/// timed after every zero to four paths.
const FREQUENT_BURSTS: &str = "2:3";
/// The maximum number of paths between two bursts.
const MAX_PASS: u64 = 4;

/// Statistics of missing words. They must be 0 for every program.
const LOST: [&str; 2] = ["gaps", "lost_words"];
/// Statistics of samples whose thread ended or jumped away inside a probe. They must be 0 unless
/// the program has the directive `//#cut`.
const CUT: [&str; 4] = ["cut", "damaged", "holes", "strangers"];

impl Program {
    /// Checks timed paths.
    ///
    /// If all paths are timed, each has as many samples as executions. If only some are timed, the
    /// estimates of all functions must add up to the number of paths that began. This number must
    /// equal the counted paths, except for the last paths of each thread.
    pub(super) fn check_timed(
        &self,
        variant: &Variant,
        kind: Kind,
        prior: &PriorRuns<'_>,
    ) -> Result<Vec<String>> {
        let folder = prior.scratch.join(kind.name());
        let built = self.weave(variant, prior.scratch, &kind.into());
        let executable = built.context("woven build")?;
        let mut failures = Vec::new();
        let (paths, exits) = (prior.of(Kind::PathsClosed)?, prior.of(Kind::Paths)?);
        let may_differ = |f: &Function| self.is_unequal(f);
        for burst in ["", FREQUENT_BURSTS] {
            // Frequent bursts meet frames that are left, signals, and forks.
            let name = if burst.is_empty() { "data" } else { "often" };
            let data = folder.join(name);
            let mut run = self.command(variant, &executable, &data, burst.is_empty())?;
            if !burst.is_empty() {
                run.0.env("HOLLOWAY_BURST", burst);
            }
            let report = self.ran_as(run, &data, prior.plain, (variant, kind), &mut failures)?;
            let wrong = match kind {
                Kind::Times => path_differences(&report, paths, &may_differ),
                _ if !burst.is_empty() => estimate_differences(&report, paths, exits, &may_differ),
                _ => Vec::new(),
            };
            let wrong = wrong.into_iter().chain(self.losses(&data)?);
            failures.extend(wrong.map(|what| format!("{} {name}: {what}", kind.name())));
        }
        Ok(failures)
    }

    /// Returns the losses that `--view variation` reports. Also checks that the executions of the
    /// listed and of the unlisted paths add up to the number of paths that began.
    fn losses(&self, data: &Path) -> Result<Vec<String>> {
        let words = ["report", "--view", "variation", "--format", "json"];
        let output = run_ok(holloway_command(words).arg(data))?;
        let json: Value = serde_json::from_str(&output.text())?;
        let damage = list(&json, "damage")?.iter();
        let mut wrong: Vec<String> = damage.map(Value::to_string).collect();
        let samples = &json["samples"];
        let may_be_cut = self.directives.cut;
        for name in LOST.iter().chain(CUT.iter().filter(|_| !may_be_cut)) {
            let count = number(samples, name)?;
            wrong.extend((count != 0).then(|| format!("{count} {name}")));
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

/// Compares the sum of the estimates with the sum of the counts. The distribution over functions
/// depends on chance, but the number of paths that began does not. Frames that were left or entered
/// again and the last paths of each thread may cause a difference. Functions that are not timed, or
/// whose paths end at other edges, are left out.
fn estimate_differences(
    timed: &Report,
    counted: &Report,
    exits: &Report,
    may_differ: &dyn Fn(&Function) -> bool,
) -> Vec<String> {
    let possible = |r: &Report| by_function(r, may_differ, |f| vec![((), f.possible_paths)]);
    let (ours, theirs) = (possible(timed), possible(counted));
    let is_same = |f: &Function| !may_differ(f) && ours.get(&f.key()) == theirs.get(&f.key());
    let total = |r: &Report| -> u64 {
        let functions = r.functions.iter().filter(|f| is_same(f));
        functions.map(Function::total).sum()
    };
    let processes = timed.json["images"].as_array().into_iter().flatten();
    let processes = processes.flat_map(|image| image["processes"].as_array());
    let threads = processes.flatten().filter_map(|p| p["threads"].as_u64());
    let at_ends = MAX_PASS * threads.sum::<u64>();
    // A frame that was left began a path that is not counted. A frame to which a call returned
    // twice has a counted path that did not begin.
    let broken_off: u64 = exits.functions.iter().map(broken_off_frames).sum();
    let (ours, theirs) = (total(timed), total(counted));
    let differ = ours.abs_diff(theirs) > theirs / 20 + at_ends + broken_off + 20;
    let message = || format!("{ours} paths estimated, {theirs} counted, {broken_off} broken off");
    differ.then(message).into_iter().collect()
}

/// The number of frames of a function that were left or entered again.
fn broken_off_frames(function: &Function) -> u64 {
    let left = function.left.iter().map(|(_, count)| count.unsigned_abs());
    left.sum::<u64>()
        + function
            .reentries
            .iter()
            .map(|path| path.count)
            .sum::<u64>()
}
