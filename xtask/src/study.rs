//! `cargo xtask study long-trace`: a check that takes too long for a test.
//!
//! The check records a program of 10^9 paths with `--collect trace`. No path may be missing, the
//! grammar must expand to exactly the recorded events (`trace verify`), and the number of calls
//! must be right.

use crate::workspace::{BuildProfile, build_holloway};
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{clean, installed, run_ok, scratch};
use serde_json::Value;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use wait4::Wait4;

/// The default number of paths.
const PATHS: NonZeroU64 = NonZeroU64::new(1_000_000_000).expect("it is above 0");

/// The maximum memory that recording may take, in bytes, for any number of paths.
const MAX_MEMORY: u64 = 1 << 30;

/// The source of the recorded program. It draws a random number every 16 iterations, so the grammar
/// never stops growing.
const SOURCE: &str = "\
#include <stdio.h>
#include <stdlib.h>
#define HERE(n) __asm__ volatile(\"# here %0\" : : \"i\"(n))
__attribute__((noinline)) static unsigned step(unsigned n) {
  if (n & 1)
    HERE(1);
  else
    HERE(2);
  if (n % 7 < 3)
    HERE(3);
  return n & 0xffff;
}
int main(int argc, char **argv) {
  unsigned long calls = strtoul(argv[1], 0, 10), sum = 0, draw = 1;
  for (unsigned long i = 0; i < calls; i++) {
    if (i % 16 == 0)
      draw = draw * 6364136223846793005 + 1442695040888963407;
    sum += step((unsigned)(draw >> (40 + i % 16)));
  }
  printf(\"%lu\\n\", sum);
}
";

/// The options of `cargo xtask study long-trace`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Record a program of this many paths
    #[arg(long, value_name = "N", default_value_t = PATHS)]
    paths: NonZeroU64,
}

/// Runs the study.
///
/// # Errors
/// If a command fails, or if the trace is wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    long_trace(options.paths.get())
}

fn long_trace(paths: u64) -> Result<()> {
    // Each call ends two paths: one in `step`, and one in `main`'s loop.
    let calls = paths.div_ceil(2);
    let holloway = build_holloway(BuildProfile::Release)?;
    let scratch = scratch("long-trace")?;
    let folder = scratch.path();
    let holloway_command = |words: &[&str]| {
        let mut command = Command::new(&holloway);
        clean(&mut command);
        command.current_dir(folder).args(words);
        command
    };
    std::fs::write(folder.join("long.c"), SOURCE)?;
    let clang = installed("clang-22")?;
    let mut build = holloway_command(&["cc", "-O1", "-g", "long.c", "-o", "long"]);
    run_ok(
        build
            .env("HOLLOWAY_CLANG", clang)
            .env("HOLLOWAY_COLLECT", "trace"),
    )?;
    let start = Instant::now();
    let mut record = holloway_command(&[
        "run",
        "--no-report",
        "-o",
        "data",
        "--",
        "./long",
        &calls.to_string(),
    ]);
    let used = record.spawn().context("cannot start holloway")?.wait4()?;
    ensure!(
        used.status.success(),
        "holloway run ended with {}",
        used.status
    );
    let recorded = start.elapsed().as_secs_f64();
    let memory = used.rusage.maxrss;
    println!(
        "recorded in {recorded:.1} s, {:.0} MiB at most, {} bytes on disk",
        memory as f64 / f64::from(1 << 20),
        trace_bytes(&folder.join("data"))?
    );
    let start = Instant::now();
    // Verifying may take minutes, so there is no time limit.
    let answer = holloway_command(&["trace", "verify", "data", "--format", "json"]).output()?;
    let verified = start.elapsed().as_secs_f64();
    let answer: Value = serde_json::from_slice(&answer.stdout)
        .with_context(|| String::from_utf8_lossy(&answer.stderr).into_owned())?;
    let stream = &answer["streams"][0];
    let number = |name: &str| -> Result<u64> {
        let number = stream["answer"][name].as_u64();
        number.with_context(|| format!("no {name} in {stream}"))
    };
    ensure!(stream["answer"]["good"] == true, "not verified: {stream}");
    ensure!(number("paths")? >= paths, "only {} paths", number("paths")?);
    ensure!(
        number("enters")? == calls + 1,
        "{} calls",
        number("enters")?
    );
    ensure!(
        memory <= MAX_MEMORY,
        "{memory} bytes of memory were used to record it, more than {MAX_MEMORY}"
    );
    println!(
        "{} paths verified in {verified:.1} s; {} rules",
        number("paths")?,
        number("rules")?
    );
    Ok(())
}

/// The size of all trace files in the directory of a run, in bytes.
fn trace_bytes(data: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(data)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|e| e == "hwt") {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}
