//! What each build costs at run time: instructions, misses of the instruction cache, and CPU time.

use super::builds::Build;
use super::programs::{Program, Scale};
use crate::bench::{Samples, code_bytes, count_command};
use anyhow::{Context, Result, ensure};
use holloway_tests::program::run_program;
use holloway_tests::tool::clean;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use wait4::Wait4 as _;

/// The simulated caches: 32 KiB each for instructions and data, as in most processors. The same on
/// every machine.
const CACHES: [&str; 4] = [
    "--cache-sim=yes",
    "--I1=32768,8,64",
    "--D1=32768,8,64",
    "--LL=8388608,16,64",
];

/// What a build costs at run time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Costs {
    /// Bytes of machine code.
    pub(super) code: u64,
    /// Executed instructions.
    pub(super) instructions: u64,
    /// Misses of the first instruction cache.
    pub(super) cache_misses: u64,
    /// CPU times, in the order of the rounds.
    pub(super) times: Vec<f64>,
}

/// Measures builds. The last row is the first build again, in runs of its own.
///
/// # Errors
/// If a run fails, or a build prints something else than the first one.
pub(super) fn measure(
    program: &Program,
    builds: &[Build],
    rounds: NonZeroUsize,
    folder: &Path,
) -> Result<Vec<Costs>> {
    for scale in [Scale::Train, Scale::Count, Scale::Time] {
        check_outputs(program, builds, scale, folder)?;
    }
    let mut costs = Vec::new();
    for build in builds {
        costs.push(counted(program, build, folder)?);
    }
    // The noise of the machine: the first build, with itself.
    costs.extend(costs.first().cloned());
    let again = builds.iter().chain(builds.first());
    let again: Vec<&Path> = again.map(|build| build.executable.as_path()).collect();
    for round in 0..rounds.get() {
        for number in 0..again.len() {
            let index = (round + number) % again.len();
            let command = program.command(again[index], folder, Scale::Time)?;
            costs[index].times.push(cpu_seconds(command)?);
        }
    }
    Ok(costs)
}

fn check_outputs(program: &Program, builds: &[Build], scale: Scale, folder: &Path) -> Result<()> {
    let mut expected = None;
    for build in builds {
        let mut command = program.command(&build.executable, folder, scale)?;
        let output = run_program(&mut command, None)?;
        ensure!(
            output.status.success(),
            "{} ended with {}:\n{}",
            build.name,
            output.ending(),
            output.stderr
        );
        let expected = expected.get_or_insert_with(|| output.stdout.clone());
        ensure!(
            *expected == output.stdout && !expected.is_empty(),
            "{} prints something else",
            build.name
        );
    }
    Ok(())
}

fn counted(program: &Program, build: &Build, folder: &Path) -> Result<Costs> {
    // Cargo's release builds have no debug information, so there is nothing to strip. `strip` would
    // damage BOLT's program.
    let command = program.command(&build.executable, folder, Scale::Count)?;
    let file = folder.join("callgrind");
    let cost = count_command(&command, &CACHES, file, folder);
    let cost = cost.with_context(|| build.name.clone())?;
    let text = std::fs::read_to_string(&cost.file)?;
    let cache_misses = misses(&text).context("callgrind says nothing of the caches")?;
    eprintln!(
        "  {}: {} instructions, {cache_misses} misses",
        build.name, cost.instructions
    );
    Ok(Costs {
        code: code_bytes(&build.executable)?,
        instructions: cost.instructions,
        cache_misses,
        times: Vec::new(),
    })
}

/// Reads the misses of the first instruction cache from callgrind's file: the sum of the column
/// `I1mr`.
fn misses(text: &str) -> Option<u64> {
    let events = text.lines().find_map(|line| line.strip_prefix("events:"))?;
    let column = events
        .split_whitespace()
        .position(|event| event == "I1mr")?;
    let totals = text.lines().find_map(|line| line.strip_prefix("totals:"))?;
    totals.split_whitespace().nth(column)?.parse().ok()
}

fn cpu_seconds(mut command: Command) -> Result<f64> {
    clean(&mut command);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let used = command.spawn()?.wait4()?;
    ensure!(used.status.success(), "{}", used.status);
    Ok((used.rusage.utime + used.rusage.stime).as_secs_f64())
}

impl Costs {
    /// The CPU times.
    pub(super) fn samples(&self) -> Samples {
        let mut samples = Samples::default();
        self.times.iter().for_each(|&time| samples.push(time));
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::misses;

    #[test]
    fn misses_are_read_from_callgrinds_file() {
        let text = "events: Ir Dr Dw I1mr D1mr\nfn=(1) f\n0 1 2 3 4 5\ntotals: 10 20 30 40 50\n";
        assert_eq!(misses(text), Some(40));
        assert_eq!(misses("events: Ir\ntotals: 10\n"), None);
    }
}
