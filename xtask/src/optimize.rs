//! `cargo xtask study optimize`: what `holloway optimize` gains, beside the compilers' own
//! profile-guided optimization.
//!
//! 1. Each program is built by the compiler alone, with the compiler's own counters, and by
//!    Holloway so that it carries its bitcode.
//! 2. Both kinds of counts are taken with the training input, and both optimized programs are
//!    built. They must print what the plain programs print.
//! 3. Instructions are counted by callgrind with another input. They are the same on every run,
//!    so the machine may be busy.
//! 4. CPU times are taken in rounds, in which each build runs once. The next round begins with
//!    another build.
//!
//! `selects` measures what becomes of a binary search, and `libraries` of the loops of libraries.

mod libraries;
mod selects;

use crate::bench::{
    BRANCH_OPTIONS, Branches, Samples, count_instructions, geometric_mean, restart_with,
};
use crate::suite;
use crate::workspace::{BuildProfile, build_holloway, root};
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, run_within, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wait4::Wait4 as _;

/// The programs of the page.
const PROGRAMS: [&str; 7] = [
    "bzip2", "lua", "minisat", "sqlite", "zlib", "json", "markdown",
];

/// The longest training. SQLite, a single module, is compiled four times.
const TRAINING_TIME: Duration = Duration::from_secs(1200);

/// The text before the table.
const HEAD: &str = "\
# Optimizing by counts

Written by `cargo xtask study optimize`: what [`holloway optimize`](../optimize.md) gains, beside the
compilers' own profile-guided optimization (`-fprofile-generate` and `-fprofile-use`, clang 22 and
rustc, without LTO). Both train on the same input, and both are measured on another one.

- *plain*: the program that carries its bitcode, before it is optimized. It shows whether compiling
  at the link costs anything.
- *compiler*: optimized by the compiler with its own counts.
- *early*: optimized by Holloway by early counts.
- *holloway*: by early and [late counts](../optimize.md#late-counts). [Selects](#selects) are measured
  below, because instructions do not show what they gain.

Instructions are callgrind's, over those of the program that the compiler builds alone: below 1 is
better. They are the same on every run. Rust programs are built by cargo's release profile with its
16 codegen units (native, compiler), and with one (plain, early, holloway).
";

/// The text before the table of branches.
const BRANCHES_HEAD: &str = "\
## Branches

Counted by callgrind in the machine code, within functions, over native. *Taken*: jumps, and
conditional branches that were taken. *Mispredicted*: executions of conditional branches that a
static predictor gets wrong, which predicts that branches backward are taken and others are not. By
these two counts, Burger and Dybvig (1998) judge an order of blocks.
";

/// The options of `cargo xtask study optimize`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs of the suite, and do not write the page
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Take CPU times in this many rounds
    #[arg(long, value_name = "N", default_value = "11")]
    rounds: NonZeroUsize,
    /// Measure only selects, and do not write the page
    #[arg(long, conflicts_with = "only")]
    selects: bool,
}

/// A way in which a program is built here.
const BUILDS: [&str; 5] = ["native", "plain", "compiler", "early", "holloway"];

/// The figures of a program, by build.
struct Figures {
    name: &'static str,
    instructions: [u64; 5],
    branches: [Branches; 5],
    cpu: [Samples; 5],
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// If a build or a run fails, or an optimized program prints something else.
pub(crate) fn run(options: &Options) -> Result<()> {
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return Err(restart_with(&build_holloway(BuildProfile::Release)?));
    }
    if options.selects {
        println!("{}", selects(options.rounds)?);
        return Ok(());
    }
    let names = match options.only.as_slice() {
        [] => PROGRAMS.map(str::to_owned).to_vec(),
        names => names.to_vec(),
    };
    let mut figures = Vec::new();
    for workload in suite::chosen(&names) {
        let measured = measure(workload, options.rounds);
        figures.push(measured.with_context(|| workload.name.to_owned())?);
        println!("{}", tables(&figures, options.rounds));
    }
    let table = tables(&figures, options.rounds);
    println!("{table}");
    if options.only.is_empty() {
        let selects = selects(options.rounds)?;
        println!("{selects}");
        let page = root().join("docs/studies/optimize.md");
        std::fs::write(&page, format!("{HEAD}\n{table}\n{selects}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/optimize.md");
    }
    Ok(())
}

/// The sections about selects.
fn selects(rounds: NonZeroUsize) -> Result<String> {
    let [searches, libraries] = [selects::section(rounds)?, libraries::section(rounds)?];
    Ok(format!("{searches}\n{libraries}"))
}

fn measure(workload: &'static Workload, rounds: NonZeroUsize) -> Result<Figures> {
    let scratch = scratch("study-optimize")?;
    let folder = workload.prepare(scratch.path())?;
    let training = scratch.path().join("train");
    workload.write_input(&training, Scale::Train)?;
    let input = scratch.path().join("input");
    workload.write_input(&input, Scale::Small)?;

    let native = workload.build(&folder, Flavor::Native)?;
    let compiler = compiler_optimized(workload, &folder, &training)?;
    let plain = workload.build(&folder, Flavor::Embedded)?;
    let [early, holloway] = holloway_optimized(workload, &plain, &training, scratch.path())?;
    let builds = [native, plain, compiler, early, holloway];

    let outputs = |build: &Path| -> Result<Vec<Vec<u8>>> {
        let outputs = workload.run(build, &input, Scale::Small, None)?;
        Ok(outputs.into_iter().map(|output| output.stdout).collect())
    };
    let expected = outputs(&builds[0])?;
    let mut instructions = [0; 5];
    let mut branches = [Branches::default(); 5];
    for (index, build) in builds.iter().enumerate() {
        let same = outputs(build)? == expected;
        ensure!(same, "{} prints something else", BUILDS[index]);
        let (label, options) = (BUILDS[index], &BRANCH_OPTIONS);
        let costs = count_instructions(workload, build, &input, label, options, scratch.path())?;
        for cost in costs {
            instructions[index] += cost.instructions;
            let Branches {
                taken,
                mispredicted,
            } = Branches::read(&cost.file)?;
            branches[index].taken += taken;
            branches[index].mispredicted += mispredicted;
        }
    }
    let quick = scratch.path().join("quick");
    workload.write_input(&quick, Scale::Quick)?;
    let mut cpu: [Samples; 5] = Default::default();
    for round in 0..rounds.get() {
        for number in 0..builds.len() {
            let index = (round + number) % builds.len();
            cpu[index].push(cpu_seconds(workload, &builds[index], &quick)?);
        }
    }
    Ok(Figures {
        name: workload.name,
        instructions,
        branches,
        cpu,
    })
}

/// Builds the program with the compiler's counters, runs the training input, and builds it with the
/// counts.
fn compiler_optimized(workload: &Workload, folder: &Path, training: &Path) -> Result<PathBuf> {
    let counting = workload.build(folder, Flavor::Peer)?;
    let raw = folder.join("peer-%p.profraw");
    for mut command in workload.commands(&counting, training, Scale::Train) {
        run_ok(command.env("LLVM_PROFILE_FILE", &raw))?;
    }
    let mut merge = Command::new(installed("llvm-profdata-22")?);
    merge.args(["merge", "-o"]).arg(Flavor::peer_counts(folder));
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "profraw") {
            merge.arg(path);
        }
    }
    run_ok(&mut merge)?;
    workload.build(folder, Flavor::PeerOptimized)
}

/// Trains a program that carries its bitcode, and builds it with the sum of the plans: with early
/// counts, and with late counts too.
pub(crate) fn holloway_optimized(
    workload: &Workload,
    plain: &Path,
    training: &Path,
    folder: &Path,
) -> Result<[PathBuf; 2]> {
    let mut builds = ["early", "holloway"].map(|name| {
        let optimized = folder.join(name);
        let mut apply = holloway_command(["plan", "apply"]);
        apply.arg("-o").arg(&optimized).arg(plain);
        (optimized, apply)
    });
    for (number, command) in workload
        .commands(plain, training, Scale::Train)
        .iter()
        .enumerate()
    {
        let [early, all] =
            ["early", "all"].map(|name| folder.join(format!("{number}.{name}.plan")));
        let mut train = holloway_command(["plan", "train"]);
        train.arg("-o").arg(&all).arg(plain);
        train.arg("--").args(command.get_args());
        let output = run_within(train.current_dir(training), TRAINING_TIME)?;
        let output = output.context("training does not end")?;
        ensure!(
            output.status.success(),
            "training failed: {}",
            output.stderr
        );
        selects::remove_marks(&all, &all)?;
        remove_late_counts(&all, &early)?;
        for ((_, apply), plan) in builds.iter_mut().zip([early, all]) {
            apply.arg("--plan").arg(plan);
        }
    }
    for (_, apply) in &mut builds {
        run_ok(apply)?;
    }
    Ok(builds.map(|(optimized, _)| optimized))
}

/// Writes a plan without its late counts.
fn remove_late_counts(plan: &Path, early: &Path) -> Result<()> {
    let text = std::fs::read_to_string(plan)?;
    let (counts, _) = text.split_once("\nlate\n").context("no late counts")?;
    Ok(std::fs::write(early, format!("{counts}\nend\n"))?)
}

/// The CPU time of a run.
fn cpu_seconds(workload: &Workload, executable: &Path, input: &Path) -> Result<f64> {
    let mut sum = 0.0;
    for mut command in workload.commands(executable, input, Scale::Quick) {
        clean(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let used = command.spawn()?.wait4()?;
        ensure!(used.status.success(), "{}", used.status);
        sum += (used.rusage.utime + used.rusage.stime).as_secs_f64();
    }
    Ok(sum)
}

impl Figures {
    /// The instructions of a build over those of another one.
    fn instructions(&self, index: usize, base: usize) -> f64 {
        self.instructions[index] as f64 / self.instructions[base] as f64
    }

    /// The CPU time of a build over that of the native one.
    fn time(&self, index: usize) -> f64 {
        self.cpu[index].over(&self.cpu[0]).median()
    }

    /// The branches of a build over those of the native one.
    fn branches(&self, index: usize, count: fn(&Branches) -> u64) -> f64 {
        count(&self.branches[index]) as f64 / count(&self.branches[0]) as f64
    }
}

/// The geometric mean of a figure over programs.
fn mean(programs: &[Figures], figure: impl Fn(&Figures) -> f64) -> f64 {
    geometric_mean(programs.iter().map(figure))
}

/// A row of the table of instructions and times: of one program, or the mean of several.
fn row(name: &str, native: &str, programs: &[Figures]) -> String {
    let instructions = |index, base| mean(programs, |program| program.instructions(index, base));
    let time = |index| mean(programs, |program| program.time(index));
    format!(
        "| {name} | {native} | {:.4} | {:.4} | {:.4} | {:.4} | {:.4} | {:.3} | {:.3} | {:.3} |\n",
        instructions(1, 0),
        instructions(2, 0),
        instructions(3, 0),
        instructions(4, 0),
        instructions(4, 2),
        time(2),
        time(3),
        time(4)
    )
}

/// A row of the table of branches: of one program, or the mean of several.
fn branch_row(name: &str, natives: [&str; 2], programs: &[Figures]) -> String {
    let taken = |index| {
        mean(programs, |program| {
            program.branches(index, |counts| counts.taken)
        })
    };
    let wrong = |index| {
        mean(programs, |program| {
            program.branches(index, |counts| counts.mispredicted)
        })
    };
    format!(
        "| {name} | {} | {:.3} | {:.3} | {:.3} | {} | {:.3} | {:.3} | {:.3} |\n",
        natives[0],
        taken(2),
        taken(3),
        taken(4),
        natives[1],
        wrong(2),
        wrong(3),
        wrong(4)
    )
}

fn millions(count: u64) -> String {
    format!("{:.1} M", count as f64 / 1e6)
}

fn tables(figures: &[Figures], rounds: NonZeroUsize) -> String {
    let mut table = String::from(
        "| program | native | plain | compiler | early | holloway | holloway / compiler | time, compiler | time, early | time, holloway |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for program in figures {
        let native = millions(program.instructions[0]);
        table += &row(program.name, &native, std::slice::from_ref(program));
    }
    table += &row("*geometric mean*", "", figures);
    table += &format!(
        "\nTimes are CPU times over native: medians of {rounds} rounds. They vary by a few percent.\n\n{BRANCHES_HEAD}\n\
         | program | taken, native | compiler | early | holloway | mispredicted, native | compiler | early | holloway |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for program in figures {
        let native = program.branches[0];
        let natives = [native.taken, native.mispredicted].map(millions);
        let natives = natives.each_ref().map(String::as_str);
        table += &branch_row(program.name, natives, std::slice::from_ref(program));
    }
    table + &branch_row("*geometric mean*", ["", ""], figures)
}
