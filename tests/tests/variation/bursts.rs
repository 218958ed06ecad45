//! Bursts against full timing: of a real program, MiniSat on a formula larger than the caches, the paths that rank first by a few times must be those that
//! rank first by all, and executions as estimated must be those that were counted.
//!
//! All times are taken twice: on a busy machine two such runs have only 17 to 20 of their first 20 paths in common, so who is among the first of either counts. Nets close to the
//! twentieth change places by chance: a path that two standard errors put behind the first twenty of its own ranking is no contradiction. Estimates of executions hang on no clock.

use crate::view::{Row, view};
use anyhow::{Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavour, MINISAT};
use std::collections::HashMap;

/// How often paths are timed.
const BURST: &str = "10:1";
/// Variables and clauses.
const SIZE: [&str; 2] = ["120000", "360000"];
/// Paths that are compared.
const TOP: usize = 20;
/// How many of them must be the same.
const SAME: usize = 18;
/// Samples that executions are estimated from well.
const ENOUGH: u64 = 1_000;
/// How far such an estimate may be off, for 19 of 20; and in standard errors, for all.
const OFF: f64 = 0.05;
const ERRORS: f64 = 4.0;

/// How many are the same without regard to chance.
const LEAST: usize = 14;

/// Standard errors that chance may move a path by.
const CHANCE: f64 = 2.0;

#[test]
fn a_few_times_tell_what_all_would() {
    let ([all, again], few) = record().unwrap();
    estimates_hold(&all, &few);
    let wanted = [first(&all), first(&again)].concat();
    let next = few.get(TOP).map_or(0.0, |row| row.share);
    let is_same = |row: &&Row| wanted.contains(&row.path);
    let is_chance = |row: &&Row| row.share * (1.0 - CHANCE * row.net_error) <= next;
    let ranked = &few[..TOP];
    let same = ranked.iter().filter(is_same).count();
    let by_chance = ranked.iter().filter(|row| !is_same(row) && is_chance(row));
    let said = format!("{same} of the first {TOP}: {ranked:#?}, by all times {wanted:#?}");
    assert!(same + by_chance.count() >= SAME && same >= LEAST, "{said}");
}

/// The paths that rank first.
fn first(rows: &[Row]) -> Vec<(String, u64)> {
    let rows = rows.iter().take(TOP);
    rows.map(|row| row.path.clone()).collect()
}

fn estimates_hold(all: &[Row], few: &[Row]) {
    let counts: HashMap<_, _> = all.iter().map(|row| (&row.path, row.executions)).collect();
    let (mut compared, mut close) = (0, 0);
    for row in few.iter().filter(|row| row.samples >= ENOUGH) {
        let exact = counts.get(&row.path).copied().unwrap_or_default();
        let off = (row.executions / exact - 1.0).abs();
        let error = ERRORS / (row.samples as f64).sqrt();
        assert!(off <= OFF.max(error), "{exact} executions: {row:?}");
        compared += 1;
        close += usize::from(off <= OFF);
    }
    assert!(compared >= 50, "{compared} paths have {ENOUGH} samples");
    assert!(close * 20 >= compared * 19, "{close} of {compared}");
}

/// The rankings by all times, twice, and by a few.
fn record() -> Result<([Vec<Row>; 2], Vec<Row>)> {
    let scratch = scratch("bursts")?;
    let folder = MINISAT.prepare(scratch.path())?;
    std::fs::rename(folder.join("large.cc"), folder.join("driver.cc"))?;
    let run = |name: &str, flavour: Flavour, options: &[&str]| -> Result<(Vec<Row>, String)> {
        let executable = MINISAT.build(&folder, flavour)?;
        let data = scratch.path().join(name);
        let mut run = holloway_command(["run", "--no-report"]);
        run.args(options).arg("-o").arg(&data).arg("--");
        let ran = run_ok(run.arg(&executable).args(SIZE))?;
        Ok((view(&data)?.rows, ran.text()))
    };
    let (all, wanted) = run("all", Flavour::Times, &[])?;
    let (again, _) = run("again", Flavour::Times, &[])?;
    let (few, found) = run("few", Flavour::Variation, &["--burst", BURST])?;
    ensure!(found == wanted, "other output");
    Ok(([all, again], few))
}
