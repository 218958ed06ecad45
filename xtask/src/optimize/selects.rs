//! Measures what the branch of a binary search becomes: a select if its keys are random, a branch
//! if they come in turn. The third table of the study.

use crate::bench::Samples;
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch, tests_directory};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wait4::Wait4 as _;

/// The keys of the searches.
const KEYS: [(&str, &str); 2] = [("random", "random keys"), ("turn", "eight keys in turn")];
/// Searches of a training run, and of a measured run.
const SEARCHES: [&str; 2] = ["200000", "4000000"];
/// The builds of a row.
const BUILDS: usize = 5;

/// The text before the table.
const HEAD: &str = "\
## Selects

A binary search (tests/workloads/selects) in a table of 4,096 numbers. Either side of its branch is
taken equally often in both rows, so counts cannot tell them apart. `holloway optimize` marks the
branch as [unpredictable](../optimize.md#unpredictable-branches) in the first row only.

- *early counts*: optimized by Holloway without selects.
- *own plan*: optimized by Holloway with the plan of these keys.
- *other plan*: optimized by Holloway with the plan of the other row's keys.

| keys | plain | compiler | early counts | own plan | other plan |
|---|---|---|---|---|---|
";

/// Builds and measures the searches. Returns the section of the page.
///
/// # Errors
/// If a build or a run fails, or the builds print different things.
pub(super) fn section(rounds: NonZeroUsize) -> Result<String> {
    let scratch = scratch("study-selects")?;
    let folder = scratch.path();
    let plain = build(folder, "plain", &[], Compiler::Holloway)?;
    for (keys, _) in KEYS {
        train(folder, &plain, keys, &[keys, SEARCHES[0]])?;
    }
    let mut section = String::from(HEAD);
    for (number, (keys, name)) in KEYS.into_iter().enumerate() {
        let (other, _) = KEYS[1 - number];
        let builds = [
            plain.clone(),
            compiler_optimized(folder, keys)?,
            apply(folder, &plain, &format!("{keys}.early"))?,
            apply(folder, &plain, keys)?,
            apply(folder, &plain, other)?,
        ];
        section += &row(name, &measure(&builds, &[keys, SEARCHES[1]], rounds)?);
    }
    section += &format!(
        "\nCPU times: seconds of plain, and the others over plain. Medians of {rounds} rounds.\n"
    );
    Ok(section)
}

#[derive(Clone, Copy)]
enum Compiler {
    Clang,
    Holloway,
}

fn build(folder: &Path, name: &str, options: &[String], compiler: Compiler) -> Result<PathBuf> {
    let clang = installed("clang-22")?;
    let mut command = match compiler {
        Compiler::Clang => Command::new(&clang),
        Compiler::Holloway => holloway_command(["cc", "--embed"]),
    };
    clean(&mut command);
    let program = folder.join(name);
    command
        .env("HOLLOWAY_CLANG", &clang)
        .args(options)
        .arg("-O2")
        .arg(tests_directory().join("workloads/selects/search.c"))
        .arg("-o")
        .arg(&program);
    run_ok(&mut command)?;
    Ok(program)
}

/// Builds the program with the compiler's counters, trains it, and builds it with the counts.
fn compiler_optimized(folder: &Path, keys: &str) -> Result<PathBuf> {
    let [raw, counts] = ["profraw", "profdata"].map(|end| folder.join(format!("{keys}.{end}")));
    let option = |name: &str, file: &Path| format!("-fprofile-{name}={}", file.display());
    let generate = ["-fprofile-generate".to_owned()];
    let counting = build(folder, "counting", &generate, Compiler::Clang)?;
    let mut training = Command::new(counting);
    run_ok(
        training
            .args([keys, SEARCHES[0]])
            .env("LLVM_PROFILE_FILE", &raw),
    )?;
    let mut merge = Command::new(installed("llvm-profdata-22")?);
    run_ok(merge.args(["merge", "-o"]).arg(&counts).arg(&raw))?;
    let name = format!("{keys}.compiler");
    build(folder, &name, &[option("use", &counts)], Compiler::Clang)
}

/// Writes two plans of a training run: `NAME.plan` with all lines, and `NAME.early.plan` without
/// unpredictable branches.
///
/// # Errors
/// If training fails, or a plan cannot be written.
pub(super) fn train(folder: &Path, plain: &Path, name: &str, words: &[&str]) -> Result<()> {
    let plan = folder.join(format!("{name}.plan"));
    let mut train = holloway_command(["plan", "train", "-o"]);
    train.arg(&plan).arg(plain).arg("--").args(words);
    run_ok(&mut train)?;
    remove_marks(&plan, &folder.join(format!("{name}.early.plan")))
}

/// Writes a plan without its unpredictable branches.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn remove_marks(plan: &Path, counts: &Path) -> Result<()> {
    let text = std::fs::read_to_string(plan)?;
    let lines = text.lines();
    let lines = lines.filter(|line| !line.starts_with("unpredictable "));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    Ok(std::fs::write(counts, text)?)
}

/// Builds a program with the plan of this name.
///
/// # Errors
/// If the program cannot be built.
pub(super) fn apply(folder: &Path, plain: &Path, plan: &str) -> Result<PathBuf> {
    let program = folder.join(format!("{plan}.optimized"));
    let mut apply = holloway_command(["plan", "apply", "-o"]);
    apply.arg(&program).arg(plain).arg("--plan");
    run_ok(apply.arg(folder.join(format!("{plan}.plan"))))?;
    Ok(program)
}

/// Takes the CPU times of several builds. Runs each build once in each round. The next round begins
/// with another build.
///
/// # Errors
/// If a run fails, or the builds print different things.
pub(super) fn measure<const N: usize>(
    builds: &[PathBuf; N],
    words: &[&str],
    rounds: NonZeroUsize,
) -> Result<[Samples; N]> {
    let command = |build: &Path| {
        let mut command = Command::new(build);
        command.args(words);
        command
    };
    let expected = run_ok(&mut command(&builds[0]))?.stdout;
    for build in builds {
        let printed = run_ok(&mut command(build))?.stdout;
        ensure!(
            printed == expected,
            "{} prints something else",
            build.display()
        );
    }
    let mut samples: [Samples; N] = std::array::from_fn(|_| Samples::default());
    for round in 0..rounds.get() {
        for number in 0..N {
            let index = (round + number) % N;
            let mut command = command(&builds[index]);
            let child = command.stdout(Stdio::null()).spawn();
            let used = child.context("cannot start the program")?.wait4()?;
            ensure!(used.status.success(), "{}", used.status);
            samples[index].push((used.rusage.utime + used.rusage.stime).as_secs_f64());
        }
    }
    Ok(samples)
}

fn row(keys: &str, samples: &[Samples; BUILDS]) -> String {
    let [plain, others @ ..] = samples;
    let mut row = format!("| {keys} | {:.3} s |", plain.median());
    for other in others {
        row += &format!(" {:.2} |", other.over(plain).median());
    }
    row + "\n"
}
