//! Compares bursts with full timing, on MiniSat with a formula larger than the caches. The paths
//! that rank first by a few samples must be the paths that rank first by all samples, and estimated
//! executions must agree with the counts.
//!
//! Only paths with enough executions for about a hundred samples are compared. By all samples, rare
//! paths may rank among the first, too. One of them has 54 executions, and bursts time only five of
//! these.
//!
//! Full timing runs twice, and a path that is among the first of either run counts as one of the
//! first. Two runs with full timing have 18 to 20 of their first 20 paths in common (measured once:
//! six runs, 15 pairs; 17 on a busy machine). Paths near the twentieth rank often swap ranks. In
//! six runs with bursts, 18 to 20 paths were among the first 20 of either run with full timing, and
//! 19 or 20 among its first 24; on a busy machine, 17 and 19. So at least 16 must be among the
//! first 20, and 18 among the first 24. A path may also rank among the first twenty by chance. This
//! is assumed if its net variation minus two standard errors is not above that of the twenty-first
//! path.
//!
//! Another program that runs at the same time can change a ranking. So one of [`ATTEMPTS`] attempts
//! must pass. Paths in wrong order would not have that many in common in any attempt.
//!
//! Estimated executions do not depend on a clock. Their errors are those of a random sample
//! (measured: 0.83 to 0.96 times as large). So 1,000 samples do not guarantee an error of 5 %, but
//! 6,400 samples do: four standard errors of 6,400 samples are 5 %.

use crate::view::{Row, view};
use anyhow::{Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, MINISAT};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The bursts: about one of ten paths is timed.
const BURST: &str = "10:1";
/// Variables and clauses of the formula.
const SIZE: [&str; 2] = ["120000", "360000"];
/// Number of paths that are compared.
const TOP: usize = 20;
/// Minimum number of these paths that must be among as many first paths by full timing.
const MIN_SAME: usize = 16;
/// Minimum number of samples for a good estimate of executions.
const MIN_SAMPLES: u64 = 1_000;
/// Maximum relative error of 19 of 20 estimates.
const MAX_ERROR: f64 = 0.05;
/// Maximum error of the other estimates, in standard errors.
const MAX_STANDARD_ERRORS: f64 = 4.0;
/// Maximum root mean square of the errors, in standard errors of a random sample.
const MAX_ERROR_RATIO: f64 = 1.5;

/// Minimum number of executions of compared paths. Bursts time about a hundred of these.
const MIN_EXECUTIONS: f64 = 1_100.0;
/// [`MIN_NEAR`] paths must be among this many first paths by full timing, except for paths that
/// rank first by chance.
const NEAR_TOP: usize = 24;
/// See [`NEAR_TOP`].
const MIN_NEAR: usize = 18;
/// Number of standard errors that are attributed to chance.
const CHANCE_ERRORS: f64 = 2.0;
/// Maximum number of attempts.
const ATTEMPTS: usize = 5;

#[test]
fn bursts_rank_the_paths_that_full_timing_ranks() {
    let scratch = scratch("bursts").unwrap();
    let programs = Programs::build(scratch.path()).unwrap();
    let mut failures = Vec::new();
    for attempt in 0..ATTEMPTS {
        let ([all, again], few) = programs.record(scratch.path(), attempt).unwrap();
        estimates_hold(&all, &few);
        match rankings_agree(&all, &again, &few) {
            Ok(()) => return,
            Err(error) => failures.push(error),
        }
    }
    panic!("{failures:#?}");
}

fn rankings_agree(all: &[Row], again: &[Row], few: &[Row]) -> Result<()> {
    let counts = executions(all);
    let runs_often = |row: &Row| {
        counts
            .get(&row.path)
            .is_some_and(|count| *count >= MIN_EXECUTIONS)
    };
    let [all, again, few] = [all, again, few].map(|rows| {
        let frequent = rows.iter().filter(|row| runs_often(row));
        frequent.collect::<Vec<&Row>>()
    });
    let least = [&all, &again, &few].map(Vec::len).into_iter().min();
    assert!(least > Some(NEAR_TOP), "{least:?} paths run often");
    let next = few[TOP].share;
    let is_chance = |row: &Row| row.share * (1.0 - CHANCE_ERRORS * row.net_error) <= next;
    let among = |first: usize| {
        let first = [&all, &again].map(|rows| rows[..first].iter().map(|row| &row.path));
        let first: Vec<_> = first.into_iter().flatten().collect();
        move |row: &&&Row| first.contains(&&row.path)
    };
    let ranked = &few[..TOP];
    let (is_same, is_near) = (among(TOP), among(NEAR_TOP));
    let same = ranked.iter().filter(&is_same).count();
    let near = ranked.iter().filter(&is_near).count();
    let others = ranked.iter().filter(|row| is_chance(row));
    let far_by_chance = others.filter(|row| !is_near(row)).count();
    let wanted: Vec<_> = all.iter().chain(&again).map(|row| &row.path).collect();
    let message =
        format!("{same}, {near} near, {far_by_chance} by chance: {ranked:#?}, all: {wanted:?}");
    ensure!(same >= MIN_SAME, "{message}");
    ensure!(near + far_by_chance >= MIN_NEAR, "{message}");
    Ok(())
}

/// Returns the executions of each path.
fn executions(all: &[Row]) -> HashMap<&(String, u64), f64> {
    all.iter().map(|row| (&row.path, row.executions)).collect()
}

fn estimates_hold(all: &[Row], few: &[Row]) {
    let counts = executions(all);
    let (mut compared, mut close, mut squares) = (0, 0, 0.0);
    for row in few.iter().filter(|row| row.samples >= MIN_SAMPLES) {
        let exact = counts.get(&row.path).copied().unwrap_or_default();
        let relative_error = (row.executions / exact - 1.0).abs();
        let error = relative_error * (row.samples as f64).sqrt();
        assert!(
            relative_error <= MAX_ERROR || error <= MAX_STANDARD_ERRORS,
            "{exact} executions: {row:?}"
        );
        compared += 1;
        close += usize::from(relative_error <= MAX_ERROR);
        squares += error * error;
    }
    assert!(
        compared >= 50,
        "{compared} paths have {MIN_SAMPLES} samples"
    );
    assert!(close * 20 >= compared * 19, "{close} of {compared}");
    let spread = (squares / compared as f64).sqrt();
    assert!(
        spread <= MAX_ERROR_RATIO,
        "errors are {spread} of a random sample's"
    );
}

/// The formula's solver, which times all paths or some of them.
struct Programs {
    all: PathBuf,
    few: PathBuf,
}

impl Programs {
    fn build(folder: &Path) -> Result<Self> {
        let sources = MINISAT.prepare(folder)?;
        std::fs::rename(sources.join("large.cc"), sources.join("driver.cc"))?;
        Ok(Self {
            all: MINISAT.build(&sources, Flavor::Times)?,
            few: MINISAT.build(&sources, Flavor::Variation)?,
        })
    }

    /// Returns two rankings by full timing and one ranking by bursts.
    fn record(&self, folder: &Path, attempt: usize) -> Result<([Vec<Row>; 2], Vec<Row>)> {
        let run = |name: &str, program: &Path, options: &[&str]| -> Result<(Vec<Row>, String)> {
            let data = folder.join(format!("{name}-{attempt}"));
            let mut run = holloway_command(["run", "--no-report"]);
            run.args(options).arg("-o").arg(&data).arg("--");
            let ran = run_ok(run.arg(program).args(SIZE))?;
            Ok((view(&data)?.rows, ran.text()))
        };
        let (all, wanted) = run("all", &self.all, &[])?;
        let (again, _) = run("again", &self.all, &[])?;
        let (few, output) = run("few", &self.few, &["--burst", BURST])?;
        ensure!(
            output == wanted,
            "the output differs from the fully timed program's"
        );
        Ok(([all, again], few))
    }
}
