//! Counts under threads: how many of the calls that a program makes are in the profile, ours and the peer's.
//!
//! tests/workloads/micro/threads.c calls one small function a known number of times from several threads.

use super::programs::Shelf;
use anyhow::{Context, Result};
use holloway_tests::report::Report;
use holloway_tests::tool::{installed, run_ok, scratch};
use holloway_tests::workload::{Flavour, MICRO, Scale, Workload};
use std::path::Path;

/// Calls counted of those made.
#[derive(Debug)]
pub(crate) struct Check {
    /// Threads.
    pub(crate) threads: u32,
    /// Calls made.
    pub(crate) made: u64,
    /// Calls in our profiles: of paths, of edges.
    pub(crate) ours: [u64; 2],
    /// Calls in clang's profile.
    pub(crate) peers: u64,
}

/// Runs the threaded tight loops once in each flavour.
///
/// # Errors
/// A run fails or its counts can't be read.
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
    let count = |flavour: Flavour| -> Result<u64> {
        let data = scratch.path().join(flavour.name());
        workload.run(
            &shelf.executable(workload.source, flavour),
            &input,
            scale,
            Some(&data),
        )?;
        Ok(Report::of_run(&data)?.calls("mix"))
    };
    Ok(Check {
        threads: workload.threads,
        made: made / u64::from(workload.threads) * u64::from(workload.threads),
        ours: [count(Flavour::Paths)?, count(Flavour::Edges)?],
        peers: peer(shelf, workload, scratch.path())?,
    })
}

/// Calls of `mix` as clang's counters have them.
fn peer(shelf: &Shelf, workload: &Workload, scratch: &Path) -> Result<u64> {
    let (raw, merged) = (scratch.join("peer.profraw"), scratch.join("peer.profdata"));
    let executable = shelf.executable(workload.source, Flavour::Peer);
    for mut command in workload.commands(&executable, scratch, Scale::Quick) {
        run_ok(command.env("LLVM_PROFILE_FILE", &raw))?;
    }
    let tool = installed("llvm-profdata-22")?;
    let profdata = |words: &[&str], file: &Path| {
        run_ok(std::process::Command::new(&tool).args(words).arg(file))
    };
    profdata(&["merge", "-o", &merged.to_string_lossy()], &raw)?;
    let text = profdata(&["show", "--counts", "--function=mix"], &merged)?.text();
    // clang makes a `select` of the branch: the first counter is the function's entry, the second one way of the select.
    let counts = text
        .lines()
        .find_map(|l| l.trim().strip_prefix("Block counts: ["));
    let calls = counts.and_then(|l| l.split([',', ']']).next()?.parse().ok());
    calls.with_context(|| format!("no counts of mix in {text}"))
}
