//! Tests programs of tests/planted with a known variation, which must rank first: with default
//! bursts and with ten times as many, on an idle machine and on a busy one.
//!
//! Each program has two controls: a loop whose iterations all take long (`steady`), and a loop
//! whose iterations take a few cycles (`tiny`). Neither may rank, although they would by count or
//! by total time. With default bursts, `lock` has about ten slow samples. By chance there may be so
//! few that its net variation is not certain.
//!
//! Other programs on the machine can disturb the clock of any run. So [`GOOD_RUNS`] of at most
//! [`RUNS`] runs must pass. A wrong ranking would fail in all of them.

use crate::view::{Row, View, view};
use anyhow::{Context, Result, ensure};
use holloway_tests::noise::beside_noise;
use holloway_tests::tool::{holloway_command, installed, run_ok, scratch, tests_directory};
use std::path::{Path, PathBuf};

/// Number of runs that must pass, with default bursts and with frequent bursts each.
const GOOD_RUNS: usize = 3;
/// Maximum number of runs of each program. Every third run shares the machine with other load, with
/// which `lock` takes twice as long.
const RUNS: usize = 20;
/// The bursts of every second run. The other runs use the default.
const FREQUENT_BURSTS: &str = "1000:1";
/// Where a control's net variation is certain, it is at most this multiple of the planted path's.
const MAX_CONTROL_SHARE: f64 = 0.1;
/// Most turns of the control `steady` take at most this multiple of its base time. The allowance is
/// for other programs, which use the same caches and cores.
const MAX_STEADY_RATIO: f64 = 1.3;

/// Nine of ten turns of the control `tiny` differ from its base time by at most this multiple of
/// the clock's resolution: both times may be inexact by one resolution.
const MAX_TINY_DIFFERENCE: f64 = 2.0;

#[test]
fn a_list_that_fits_the_cache_at_times_ranks_first() {
    let first = check("chase", "chase").unwrap();
    // The advice must name the first load of a node.
    let marked = format!("planted/chase.c:{}", planted_line("chase").unwrap());
    for row in first {
        let advice = row.advice.first().expect("advice");
        assert_eq!((&*advice.load, advice.bytes), ("chain", 0), "{row:?}");
        assert!(advice.insert_at.ends_with(&marked), "{row:?}");
    }
}

#[test]
fn branches_that_are_guessed_wrong_at_times_rank_first() {
    check("phases", "classify").unwrap();
}

#[test]
fn a_lock_that_is_held_at_times_ranks_first() {
    check("lock", "deposits").unwrap();
}

#[test]
fn a_system_call_that_blocks_at_times_ranks_first() {
    check("blocks", "polls").unwrap();
}

#[test]
fn steady_code_does_not_rank() {
    let scratch = scratch("planted-control").unwrap();
    let quiet = good_runs("control", scratch.path(), |view, _| {
        let certain: Vec<&Row> = view.rows.iter().filter(|row| row.certain).collect();
        ensure!(certain.is_empty(), "{certain:?}");
        ensure!(view.rows.iter().all(|row| row.base > 0.0));
        ensure!(view.rows.iter().all(|row| row.share <= 1.0));
        Ok(())
    });
    let (run, ()) = quiet.unwrap()[0];
    let data = scratch.path().join(format!("run-{run}"));
    let report = run_ok(holloway_command(["report", "--view", "variation"]).arg(data)).unwrap();
    let text = report.text();
    assert!(text.contains("nothing varies here"), "{text}");
}

/// Builds and runs a program. The turn of `planted`'s loop, which contains the marked line, must
/// rank first. Returns these turns.
fn check(name: &str, planted: &str) -> Result<Vec<Row>> {
    let scratch = scratch(&format!("planted-{name}"))?;
    let marked = format!("/planted/{name}.c:{}:", planted_line(name)?);
    let good = good_runs(name, scratch.path(), |view, run| {
        let shown = || format!("run {run}: {:#?}", &view.rows[..view.rows.len().min(4)]);
        let row = turn(view, planted)?;
        ensure!(row.certain, "{}", shown());
        for control in ["steady", "tiny"] {
            let control = turn(view, control)?;
            let most = MAX_CONTROL_SHARE * row.share;
            ensure!(!control.certain || control.share <= most, "{}", shown());
        }
        let first = view.rows.first().context("nothing was timed")?;
        ensure!(first.path == row.path, "{}", shown());
        let is_marked = |place: &String| place.contains(&marked);
        ensure!(first.places.iter().any(is_marked), "{}", shown());
        ensure!(first.samples > 10 && first.mean > first.base, "{}", shown());
        Ok(first.clone())
    })?;
    Ok(good.into_iter().map(|(_, row)| row).collect())
}

/// Builds a program and runs it until [`GOOD_RUNS`] runs pass, with default bursts and with
/// frequent bursts each. Returns the numbers of these runs, and what `judge` returned.
fn good_runs<T>(
    name: &str,
    folder: &Path,
    judge: impl Fn(&View, usize) -> Result<T>,
) -> Result<Vec<(usize, T)>> {
    let program = build(name, folder)?;
    let (mut good, mut failures) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let alike =
            |(other, _): &&(usize, T)| has_frequent_bursts(*other) == has_frequent_bursts(run);
        if good.iter().filter(alike).count() == GOOD_RUNS {
            continue;
        }
        let view = record(&program, folder, run)?;
        match controls_hold(&view).and_then(|()| judge(&view, run)) {
            Ok(value) => good.push((run, value)),
            Err(error) => failures.push(error),
        }
    }
    ensure!(good.len() == 2 * GOOD_RUNS, "{name}: {failures:#?}");
    Ok(good)
}

/// Whether a run uses more bursts than the default.
fn has_frequent_bursts(run: usize) -> bool {
    run % 2 == 1
}

/// Returns the marked line of a program.
fn planted_line(name: &str) -> Result<usize> {
    let source = std::fs::read_to_string(source(name))?;
    let marked = source.lines().position(|line| line.ends_with("// planted"));
    Ok(1 + marked.context("no line is marked")?)
}

/// Checks that neither control varies in most turns.
fn controls_hold(view: &View) -> Result<()> {
    let steady = turn(view, "steady")?;
    ensure!(steady.p50 < MAX_STEADY_RATIO * steady.base, "{steady:?}");
    let tiny = turn(view, "tiny")?;
    ensure!(
        tiny.p90 - tiny.base <= MAX_TINY_DIFFERENCE * view.resolution,
        "{tiny:?}, {} cycles",
        view.resolution
    );
    Ok(())
}

/// Returns the path of a turn of a function's loop.
fn turn<'a>(view: &'a View, name: &str) -> Result<&'a Row> {
    let rows = view.rows.iter().filter(|row| row.path.0 == name);
    let turn = rows.max_by_key(|row| row.samples);
    turn.with_context(|| format!("{name} was not timed"))
}

fn source(name: &str) -> PathBuf {
    tests_directory().join(format!("planted/{name}.c"))
}

fn build(name: &str, folder: &Path) -> Result<PathBuf> {
    let program = folder.join(name);
    let mut command = holloway_command(["cc", "--collect", "variation", "-O2", "-g", "-pthread"]);
    command.arg(source(name)).arg("-o").arg(&program);
    command.env("HOLLOWAY_CLANG", installed("clang-22")?);
    // Functions of the threads that only cause contention are not instrumented.
    command.env("HOLLOWAY_SKIP", "^other_");
    run_ok(&mut command)?;
    Ok(program)
}

fn record(program: &Path, folder: &Path, run: usize) -> Result<View> {
    let data = folder.join(format!("run-{run}"));
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    command.arg(&data);
    if has_frequent_bursts(run) {
        command.args(["--burst", FREQUENT_BURSTS]);
    }
    let command = command.arg("--").arg(program);
    match run % 3 {
        2 => beside_noise(|| run_ok(command))?,
        _ => run_ok(command)?,
    };
    view(&data)
}
