//! `cargo xtask study tails`: what copies of paths gain beyond counts of edges.
//!
//! 1. Each program is trained with `--paths`. From its plan, one build has all lines but the copied
//!    paths, and the other build has all lines.
//! 2. Both must print what the plain program prints.
//! 3. Instructions and branches are counted by callgrind with another input. CPU times are taken in
//!    rounds.

use crate::bench::{BRANCH_OPTIONS, Branches, Samples, count_command, restart_with, without_lines};
use crate::suite;
use crate::workspace::{BuildProfile, build_holloway, root};
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch, tests_directory};
use holloway_tests::workload::{Flavor, Scale, Workload};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wait4::Wait4 as _;

/// The programs of the page.
const PROGRAMS: [&str; 4] = ["bzip2", "lua", "minisat", "zlib"];
/// The loops of the page, in tests/workloads/tails, with the turns of training and of measured
/// runs.
const LOOPS: [&str; 2] = ["join", "period"];
const TURNS: [&str; 2] = ["300000", "3000000"];

/// The text before the table.
const HEAD: &str = include_str!("tails/head.md");
/// The text after the table.
const FOOT: &str = include_str!("tails/foot.md");

/// The options of `cargo xtask study tails`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs of the suite, and do not write the page
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Take CPU times in this many rounds
    #[arg(long, value_name = "N", default_value = "11")]
    rounds: NonZeroUsize,
}

/// The figures of a program: without copied paths, and with them.
struct Figures {
    name: &'static str,
    /// The copied paths of the plans.
    tails: usize,
    instructions: [u64; 2],
    branches: [Branches; 2],
    cpu: [Samples; 2],
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// If a build or a run fails, or an optimized program prints something else.
pub(crate) fn run(options: &Options) -> Result<()> {
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return Err(restart_with(&build_holloway(BuildProfile::Release)?));
    }
    let names = match options.only.as_slice() {
        [] => PROGRAMS.map(str::to_owned).to_vec(),
        names => names.to_vec(),
    };
    let mut table = String::from(
        "| program | paths | instructions | over edges | taken | over edges | mispredicted | over edges | time over edges |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for name in LOOPS {
        table += &row(&of_loop(name, options.rounds).with_context(|| name.to_owned())?);
    }
    for workload in suite::chosen(&names) {
        let figures = of_workload(workload, options.rounds);
        table += &row(&figures.with_context(|| workload.name.to_owned())?);
        println!("{table}");
    }
    if options.only.is_empty() {
        let page = root().join("docs/studies/tails.md");
        std::fs::write(&page, format!("{HEAD}\n{table}\n{FOOT}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/tails.md");
    }
    Ok(())
}

/// A program with the commands that run its builds.
struct Measured<'a> {
    name: &'static str,
    tails: usize,
    builds: [PathBuf; 2],
    plain: PathBuf,
    counted: &'a dyn Fn(&Path) -> Vec<Command>,
    timed: &'a dyn Fn(&Path) -> Vec<Command>,
    rounds: NonZeroUsize,
}

fn of_loop(name: &'static str, rounds: NonZeroUsize) -> Result<Figures> {
    let scratch = scratch("study-tails")?;
    let folder = scratch.path();
    let plain = folder.join(name);
    let mut build = holloway_command(["cc", "--embed", "-O2", "-o"]);
    build.env("HOLLOWAY_CLANG", installed("clang-22")?);
    let source = tests_directory().join(format!("workloads/tails/{name}.c"));
    run_ok(build.arg(&plain).arg(source))?;
    let command = |turns: &'static str| {
        move |build: &Path| {
            let mut command = Command::new(build);
            command.arg(turns);
            vec![command]
        }
    };
    let [training, run] = TURNS.map(command);
    let (builds, tails) = optimized(&plain, &training(&plain), folder, folder)?;
    let (counted, timed) = (&run, &run);
    measure(
        &Measured {
            name,
            tails,
            builds,
            plain,
            counted,
            timed,
            rounds,
        },
        folder,
    )
}

fn of_workload(workload: &'static Workload, rounds: NonZeroUsize) -> Result<Figures> {
    let scratch = scratch("study-tails")?;
    let folder = workload.prepare(scratch.path())?;
    let inputs = [Scale::Train, Scale::Small, Scale::Quick];
    let [training, small, quick] = inputs.map(|scale| {
        let input = scratch.path().join(format!("{scale:?}"));
        workload.write_input(&input, scale).map(|()| input)
    });
    let (training, small, quick) = (training?, small?, quick?);
    let plain = workload.build(&folder, Flavor::Embedded)?;
    let commands = workload.commands(&plain, &training, Scale::Train);
    let (builds, tails) = optimized(&plain, &commands, &training, scratch.path())?;
    let counted = |build: &Path| workload.commands(build, &small, Scale::Small);
    let timed = |build: &Path| workload.commands(build, &quick, Scale::Quick);
    let name = workload.name;
    measure(
        &Measured {
            name,
            tails,
            builds,
            plain,
            counted: &counted,
            timed: &timed,
            rounds,
        },
        scratch.path(),
    )
}

/// Trains a program with each command in `directory`, and builds it with the sum of the plans,
/// without copied paths and with them. Returns the number of lines `tail`, too.
fn optimized(
    plain: &Path,
    training: &[Command],
    directory: &Path,
    folder: &Path,
) -> Result<([PathBuf; 2], usize)> {
    let mut builds = ["edges", "paths"].map(|name| {
        let optimized = folder.join(name);
        let mut apply = holloway_command(["plan", "apply", "-o"]);
        apply.arg(&optimized).arg(plain);
        (optimized, apply)
    });
    let mut tails = 0;
    for (number, command) in training.iter().enumerate() {
        let [edges, paths] =
            ["edges", "paths"].map(|name| folder.join(format!("{number}.{name}.plan")));
        let mut train = holloway_command(["plan", "train", "--paths", "-o"]);
        train
            .arg(&paths)
            .arg(plain)
            .arg("--")
            .args(command.get_args());
        run_ok(train.current_dir(directory))?;
        let text = std::fs::read_to_string(&paths)?;
        let is_other = |line: &&str| !line.starts_with("unpredictable ");
        let write = |file: &Path, lines: Vec<&str>| std::fs::write(file, lines.join("\n") + "\n");
        let all: Vec<&str> = text.lines().filter(is_other).collect();
        let others = all.iter().filter(|line| !line.starts_with("tail "));
        let others: Vec<&str> = others.copied().collect();
        tails += all.len() - others.len();
        write(&paths, all)?;
        write(&edges, others)?;
        for ((_, apply), plan) in builds.iter_mut().zip([edges, paths]) {
            apply.arg("--plan").arg(plan);
        }
    }
    for (_, apply) in &mut builds {
        run_ok(apply)?;
    }
    Ok((builds.map(|(optimized, _)| optimized), tails))
}

fn measure(program: &Measured<'_>, folder: &Path) -> Result<Figures> {
    let outputs = |build: &Path| -> Result<Vec<Vec<u8>>> {
        let mut commands = (program.counted)(build);
        let outputs = commands
            .iter_mut()
            .map(|command| Ok(run_ok(command)?.stdout));
        outputs.collect()
    };
    let expected = outputs(&program.plain)?;
    let mut figures = Figures {
        name: program.name,
        tails: program.tails,
        instructions: [0; 2],
        branches: [Branches::default(); 2],
        cpu: Default::default(),
    };
    std::fs::create_dir_all(folder.join("stripped"))?;
    for (index, build) in program.builds.iter().enumerate() {
        ensure!(
            outputs(build)? == expected,
            "{} prints something else",
            build.display()
        );
        let stripped = without_lines(build, &folder.join("stripped"))?;
        for (number, command) in (program.counted)(&stripped).iter().enumerate() {
            let file = folder.join(format!("callgrind.{index}.{number}"));
            let cost = count_command(command, &BRANCH_OPTIONS, file, folder)?;
            figures.instructions[index] += cost.instructions;
            let Branches {
                taken,
                mispredicted,
            } = Branches::read(&cost.file)?;
            figures.branches[index].taken += taken;
            figures.branches[index].mispredicted += mispredicted;
        }
    }
    for round in 0..program.rounds.get() {
        for number in 0..2 {
            let index = (round + number) % 2;
            let mut seconds = 0.0;
            for mut command in (program.timed)(&program.builds[index]) {
                clean(&mut command);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                let used = command.spawn()?.wait4()?;
                ensure!(used.status.success(), "{}", used.status);
                seconds += (used.rusage.utime + used.rusage.stime).as_secs_f64();
            }
            figures.cpu[index].push(seconds);
        }
    }
    Ok(figures)
}

fn row(figures: &Figures) -> String {
    let Figures {
        name,
        tails,
        instructions,
        branches,
        cpu,
    } = figures;
    let pair = |[edges, paths]: [u64; 2]| {
        let over = paths as f64 / edges as f64;
        format!("{:.1} M | {over:.4}", edges as f64 / 1e6)
    };
    let taken = pair(branches.each_ref().map(|branches| branches.taken));
    let mispredicted = pair(branches.each_ref().map(|branches| branches.mispredicted));
    let (instructions, time) = (pair(*instructions), cpu[1].over(&cpu[0]).median());
    format!("| {name} | {tails} | {instructions} | {taken} | {mispredicted} | {time:.3} |\n")
}
