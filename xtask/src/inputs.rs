//! `cargo xtask study inputs`: what `holloway optimize` gains by profiles that were taken without
//! training.
//!
//! Each program is built once, so that it carries its bitcode. The profiles are taken with the
//! training input:
//!
//! 1. counts of the program of `holloway plan instrument`;
//! 2. samples of `holloway monitor` of the plain program, as many runs as give enough of them;
//! 3. simulated branch records of the plain program: callgrind tells how often each instruction
//!    ran, and a part of these executions is taken (`records`).
//!
//! Instructions are counted by callgrind with another input, so the machine may be busy.

mod records;

use crate::bench::{
    BRANCH_OPTIONS, Branches, count_at, count_instructions, geometric_mean, restart_with,
};
use crate::workspace::{BuildProfile, build_holloway, root};
use crate::{optimize, suite};
use anyhow::{Context, Result, ensure};
use holloway_collect::samples;
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use std::path::{Path, PathBuf};

/// Samples that the monitor takes, at least.
const SAMPLES: u64 = 5_000;
/// Runs that the monitor watches, at most.
const MAX_RUNS: usize = 50;

/// The programs of the page.
const PROGRAMS: [&str; 4] = ["bzip2", "lua", "minisat", "zlib"];
/// The ways in which a program is built here.
const BUILDS: [&str; 6] = ["plain", "trained", "early", "exact", "sampled", "records"];

/// The text before the table.
const HEAD: &str = "\
# Optimizing by any profile

Written by `cargo xtask study inputs`: what [`holloway optimize --profile`](../optimize.md#profiles)
gains without a training run, beside what training gains. Profiles are taken with the training input
of each program, and the builds are measured on another one.

- *trained*: training, with early and [late counts](../optimize.md#late-counts).
- *early*: training, with early counts only. Profiles have no late counts.
- *exact*: a run of the program of `holloway plan instrument`.
- *sampled*: samples of `holloway monitor` of the plain program (the kernel's software clock).
- *records*: simulated branch records of the plain program. Callgrind counts how often each
  instruction ran, and one of about 1,000 executions of each straight section is taken.

Instructions are callgrind's, over those of the plain program: below 1 is better. *Share* is the
part of the gain by early counts that samples and records reach. *Taken* are taken branches within
functions, over those of the plain program.
";

/// The options of `cargo xtask study inputs`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs of the suite, and do not write the page
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
}

/// The figures of a program, by build.
struct Figures {
    name: &'static str,
    samples: u64,
    instructions: [u64; 6],
    taken: [u64; 6],
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
    let mut figures = Vec::new();
    for workload in suite::chosen(&names) {
        let measured = measure(workload);
        figures.push(measured.with_context(|| workload.name.to_owned())?);
        println!("{}", table(&figures));
    }
    if options.only.is_empty() {
        let page = root().join("docs/studies/inputs.md");
        std::fs::write(&page, format!("{HEAD}\n{}", table(&figures)))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/inputs.md");
    }
    Ok(())
}

fn measure(workload: &'static Workload) -> Result<Figures> {
    let scratch = scratch("study-inputs")?;
    let folder = workload.prepare(scratch.path())?;
    let training = scratch.path().join("train");
    workload.write_input(&training, Scale::Train)?;
    let input = scratch.path().join("input");
    workload.write_input(&input, Scale::Small)?;
    let plain = workload.build(&folder, Flavor::Embedded)?;

    let [early, trained] =
        optimize::holloway_optimized(workload, &plain, &training, scratch.path())?;
    let study = Study {
        workload,
        plain: &plain,
        training: &training,
        folder: scratch.path(),
    };
    let exact = study.exact()?;
    let (runs, samples) = study.sampled()?;
    let records = study.records()?;
    let [exact, sampled, records] = [("exact", exact), ("sampled", runs), ("records", records)]
        .map(|(name, profiles)| study.optimized(name, &profiles));
    let builds = [plain.clone(), trained, early, exact?, sampled?, records?];

    let outputs = |build: &Path| -> Result<Vec<Vec<u8>>> {
        let outputs = workload.run(build, &input, Scale::Small, None)?;
        Ok(outputs.into_iter().map(|output| output.stdout).collect())
    };
    let expected = outputs(&plain)?;
    let (mut instructions, mut taken) = ([0; 6], [0; 6]);
    for (index, build) in builds.iter().enumerate() {
        let same = outputs(build)? == expected;
        ensure!(same, "{} prints something else", BUILDS[index]);
        let (label, options) = (BUILDS[index], &BRANCH_OPTIONS);
        let costs = count_instructions(workload, build, &input, label, options, scratch.path())?;
        for cost in costs {
            instructions[index] += cost.instructions;
            taken[index] += Branches::read(&cost.file)?.taken;
        }
    }
    Ok(Figures {
        name: workload.name,
        samples,
        instructions,
        taken,
    })
}

/// A program whose profiles are taken.
struct Study<'a> {
    workload: &'static Workload,
    plain: &'a Path,
    training: &'a Path,
    folder: &'a Path,
}

impl Study<'_> {
    /// Counts the instrumented program.
    fn exact(&self) -> Result<Vec<PathBuf>> {
        let instrumented = self.folder.join("instrumented");
        let mut instrument = holloway_command(["plan", "instrument"]);
        instrument.arg("-o").arg(&instrumented).arg(self.plain);
        run_ok(&mut instrument)?;
        let run = self.folder.join("exact-run");
        self.workload
            .run(&instrumented, self.training, Scale::Train, Some(&run))?;
        Ok(vec![run])
    }

    /// Samples runs of the plain program. Returns the number of samples, too.
    fn sampled(&self) -> Result<(Vec<PathBuf>, u64)> {
        let mut runs = Vec::new();
        let mut total = 0;
        while total < SAMPLES && runs.len() < MAX_RUNS {
            let commands = self
                .workload
                .commands(self.plain, self.training, Scale::Train);
            for command in commands {
                let run = self.folder.join(format!("sampled-{}", runs.len()));
                let mut monitor = holloway_command(["monitor", "--no-report", "-o"]);
                monitor.arg(&run).arg("--").arg(self.plain);
                monitor.args(command.get_args()).current_dir(self.training);
                run_ok(&mut monitor)?;
                let files = samples::load(&run)?.files.into_iter();
                let own = files.filter(|file| Path::new(&file.path) == self.plain);
                let own = own.flat_map(|file| file.code);
                total += own.map(|code| code.samples.0).sum::<u64>();
                runs.push(run);
            }
        }
        Ok((runs, total))
    }

    /// Simulates branch records of the plain program.
    fn records(&self) -> Result<Vec<PathBuf>> {
        let costs = count_at(
            Scale::Train,
            self.workload,
            self.plain,
            self.training,
            "train",
            &BRANCH_OPTIONS,
            self.folder,
        )?;
        let program = self.plain.file_name().context("a program has a name")?;
        let texts = costs.iter().enumerate().map(|(number, cost)| {
            let text = self.folder.join(format!("records-{number}.txt"));
            let callgrind = std::fs::read_to_string(&cost.file)?;
            std::fs::write(&text, records::pre_aggregated(&callgrind, program))?;
            Ok(text)
        });
        texts.collect()
    }

    /// Builds the program by profiles.
    fn optimized(&self, name: &str, profiles: &[PathBuf]) -> Result<PathBuf> {
        let plan = self.folder.join(format!("{name}.plan"));
        let mut from = holloway_command(["plan", "from", "-o"]);
        from.arg(&plan).arg(self.plain).args(profiles);
        run_ok(&mut from)?;
        let optimized = self.folder.join(format!("by-{name}"));
        let mut apply = holloway_command(["plan", "apply", "-o"]);
        apply
            .arg(&optimized)
            .arg("--plan")
            .arg(&plan)
            .arg(self.plain);
        run_ok(&mut apply)?;
        Ok(optimized)
    }
}

impl Figures {
    /// The instructions of a build over those of the plain program.
    fn instructions(&self, index: usize) -> f64 {
        self.instructions[index] as f64 / self.instructions[0] as f64
    }

    fn taken(&self, index: usize) -> f64 {
        self.taken[index] as f64 / self.taken[0] as f64
    }
}

/// A row of the table: of one program, or the mean of several.
fn row(name: &str, facts: [&str; 2], programs: &[Figures]) -> String {
    let instructions = |index| geometric_mean(programs.iter().map(|p| p.instructions(index)));
    let taken = |index| geometric_mean(programs.iter().map(|p| p.taken(index)));
    let share = |index| (1.0 - instructions(index)) / (1.0 - instructions(2));
    format!(
        "| {name} | {} | {} | {:.4} | {:.4} | {:.4} | {:.4} | {:.4} | {:.0} % | {:.0} % | {:.3} | {:.3} | {:.3} | {:.3} |\n",
        facts[0],
        facts[1],
        instructions(1),
        instructions(2),
        instructions(3),
        instructions(4),
        instructions(5),
        100.0 * share(4),
        100.0 * share(5),
        taken(1),
        taken(2),
        taken(4),
        taken(5)
    )
}

fn table(figures: &[Figures]) -> String {
    let mut table = String::from(
        "| program | plain | samples | trained | early | exact | sampled | records | share, sampled | share, records | taken, trained | early | sampled | records |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for program in figures {
        let plain = format!("{:.1} M", program.instructions[0] as f64 / 1e6);
        let samples = program.samples.to_string();
        table += &row(
            program.name,
            [&plain, &samples],
            std::slice::from_ref(program),
        );
    }
    table + &row("*geometric mean*", ["", ""], figures)
}
