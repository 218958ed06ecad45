//! Compares the calls that a threaded program makes with the calls in our profile and in the peer's
//! profile.
//!
//! tests/workloads/micro/threads.c calls one small function a known number of times from several
//! threads.

use super::programs::Shelf;
use anyhow::{Context, Result};
use holloway_tests::report::Report;
use holloway_tests::tool::{installed, run_ok, scratch};
use holloway_tests::workload::{Flavor, MICRO, Scale, Workload};
use std::path::Path;

/// The number of calls in profiles, and the number of calls made.
#[derive(Debug)]
pub(crate) struct Check {
    /// The number of threads.
    pub(crate) threads: u32,
    /// Calls made.
    pub(crate) made: u64,
    /// Calls in our profiles: with paths counted, with edges counted.
    pub(crate) ours: [u64; 2],
    /// Calls in clang's profile.
    pub(crate) peers: u64,
}

/// Runs the threaded tight loops once in each flavor.
///
/// # Errors
/// If a run fails, or if its counts cannot be read.
pub(crate) fn checks(shelf: &Shelf) -> Result<Vec<Check>> {
    MICRO
        .iter()
        .filter(|w| w.threads > 1)
        .map(|w| check(shelf, w))
        .collect()
}

fn check(shelf: &Shelf, workload: &Workload) -> Result<Check> {
    let scratch = scratch("bench-exact")?;
    let (input, scale) = (shelf.input(workload, Scale::Quick)?, Scale::Quick);
    let made = workload.size(scale) as u64;
    let count = |flavor: Flavor| -> Result<u64> {
        let data = scratch.path().join(flavor.name());
        workload.run(
            &shelf.executable(workload.source, flavor),
            &input,
            scale,
            Some(&data),
        )?;
        Ok(Report::of_run(&data)?.calls("mix"))
    };
    Ok(Check {
        threads: workload.threads,
        made: made / u64::from(workload.threads) * u64::from(workload.threads),
        ours: [count(Flavor::Paths)?, count(Flavor::Edges)?],
        peers: peer(shelf, workload, scratch.path())?,
    })
}

/// The calls of `mix` according to clang's counters.
fn peer(shelf: &Shelf, workload: &Workload, scratch: &Path) -> Result<u64> {
    let (raw, merged) = (scratch.join("peer.profraw"), scratch.join("peer.profdata"));
    let executable = shelf.executable(workload.source, Flavor::Peer);
    for mut command in workload.commands(&executable, scratch, Scale::Quick) {
        run_ok(command.env("LLVM_PROFILE_FILE", &raw))?;
    }
    let tool = installed("llvm-profdata-22")?;
    let profdata = |words: &[&str], file: &Path| {
        run_ok(std::process::Command::new(&tool).args(words).arg(file))
    };
    profdata(&["merge", "-o", &merged.to_string_lossy()], &raw)?;
    let text = profdata(&["show", "--counts", "--function=mix"], &merged)?.text();
    // clang turns the branch into a `select`. The first counter counts the function's entry, and
    // the second counts one side of the select.
    let counts = text
        .lines()
        .find_map(|l| l.trim().strip_prefix("Block counts: ["));
    let calls = counts.and_then(|l| l.split([',', ']']).next()?.parse().ok());
    calls.with_context(|| format!("no counts of mix in {text}"))
}
