//! Time-based samples: blocks and edges by the number of samples.
//!
//! 1. Each program runs once with edges counted, and once with `--collect none` while
//!    `holloway monitor --system` samples it.
//! 2. A part of the samples is chosen at random, always the same part. The executions estimated
//!    from it are compared with the counted ones (`holloway overlap`).

use super::plot::{Line, Panel, plot};
use super::section::Section;
use crate::bench::{KeptBuilds, geometric_mean};
use crate::monitor::Monitor;
use anyhow::{Context, Result, ensure};
use holloway_analysis::RunProfile;
use holloway_analysis::estimate::estimate;
use holloway_analysis::overlap::overlap;
use holloway_analysis::samples::SampledRun;
use holloway_format::Count;
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, Scale, Workload};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;

/// Samples per second while a program runs.
const FREQUENCY: NonZeroUsize = NonZeroUsize::new(8000).expect("not zero");
/// Numbers of samples that are compared.
const SIZES: [u64; 5] = [100, 300, 1000, 3000, 10_000];
/// The file of the plot.
const PLOT: &str = "fidelity-time.svg";
/// What is compared.
const UNITS: [&str; 2] = ["Blocks", "Edges"];

/// The text before the tables.
const HEAD: &str = "\
## By time

A [monitor](../monitor.md) sampled each program of the suite, built with `--collect none`, 8,000
times per second. Holloway estimated the executions of blocks and edges from a random part of the
samples.

Samples tell where time goes, not what runs often. A block that waits for memory, or that runs
after a mispredicted branch, gets more samples than its executions deserve. More samples do not
remove this difference. Higher is better, and 1 is best.

![Overlap of estimates with exact counts, by number of samples](fidelity-time.svg)

Each thin line is a program, the thick line is the mean of all programs.
";

/// The overlap of a program's estimates with its counts.
struct Fidelity {
    name: &'static str,
    /// Samples in known blocks.
    samples: u64,
    /// By element of [`SIZES`]: blocks and edges. `None` if there are not so many samples.
    parts: Vec<Option<[f64; 2]>>,
    /// All samples: blocks and edges.
    all: [f64; 2],
}

/// Runs the study.
///
/// # Errors
/// If a build or a run fails, or if the machine does not permit sampling.
pub(super) fn study(kept_builds: &KeptBuilds, chosen: &[&'static Workload]) -> Result<Section> {
    let flavors = [Flavor::Edges, Flavor::None];
    kept_builds.build(chosen.iter().copied(), &flavors, Scale::Full)?;
    let mut programs = Vec::new();
    for workload in chosen {
        let program = measure(kept_builds, workload).with_context(|| workload.name)?;
        let [blocks, edges] = program.all;
        eprintln!("{}: blocks {blocks:.3}, edges {edges:.3}", program.name);
        programs.push(program);
    }
    Ok(Section {
        text: format!("{HEAD}{}", tables(&programs)),
        plot_name: PLOT,
        plot: plot(&UNITS.map(|unit| panel(&programs, unit))),
    })
}

/// The overlaps of all programs, and their mean.
fn panel(programs: &[Fidelity], unit: &'static str) -> Panel {
    let which = usize::from(unit == UNITS[1]);
    let points = |overlaps: &dyn Fn(usize) -> Option<f64>| -> Vec<(f64, f64)> {
        let sizes = SIZES.iter().enumerate();
        let points = sizes.map(|(number, &size)| Some((size as f64, overlaps(number)?)));
        points.flatten().collect()
    };
    let lines = programs.iter().map(|program| Line {
        name: program.name.to_owned(),
        points: points(&|size| program.parts[size].map(|overlaps| overlaps[which])),
    });
    Panel {
        title: unit,
        lines: lines.collect(),
        mean: Line {
            name: "mean".to_owned(),
            points: points(&|size| mean(programs, |program| program.parts[size], which)),
        },
    }
}

fn measure(kept_builds: &KeptBuilds, workload: &'static Workload) -> Result<Fidelity> {
    let input = kept_builds.input(workload, Scale::Full)?;
    let scratch = scratch("study-fidelity")?;
    let [counted, watched] = ["counted", "watched"].map(|name| scratch.path().join(name));
    let counting = kept_builds.executable(workload.source, Flavor::Edges);
    execute(workload, &counting, &input, Some(&counted))?;
    let monitor = Monitor::start(&watched, Some(FREQUENCY))?;
    let plain = kept_builds.executable(workload.source, Flavor::None);
    execute(workload, &plain, &input, None)?;
    monitor.stop()?;
    let counts = holloway_collect::load::load(&counted)?;
    let samples = holloway_collect::samples::load(&watched)?;
    let total = in_blocks(&samples);
    ensure!(total > 0, "no sample is in a known block");
    let parts = SIZES.iter().map(|&size| {
        let part = (size <= total).then(|| part(&samples, size, total));
        part.map(|part| compare(&estimate(&part), &counts))
    });
    Ok(Fidelity {
        name: workload.name,
        samples: total,
        parts: parts.collect(),
        all: compare(&estimate(&samples), &counts),
    })
}

fn execute(
    workload: &Workload,
    executable: &Path,
    input: &Path,
    data: Option<&Path>,
) -> Result<()> {
    for mut command in workload.commands(executable, input, Scale::Full) {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        if let Some(data) = data {
            command.env(holloway_collect::run_directory::DATA, data);
        }
        let status = command.status();
        let status = status.with_context(|| format!("cannot start {command:?}"))?;
        ensure!(status.success(), "{command:?}: {status}");
    }
    Ok(())
}

/// The number of samples in known blocks.
fn in_blocks(run: &SampledRun) -> u64 {
    let code = run.files.iter().flat_map(|file| &file.code);
    let known = code.filter(|code| code.block.is_some());
    known.map(|code| code.samples.0).sum()
}

/// About `size` of the `total` samples.
fn part(run: &SampledRun, size: u64, total: u64) -> SampledRun {
    let share = size as f64 / total as f64;
    let mut part = run.clone();
    part.frequency = ((run.frequency as f64 * share) as u64).max(1);
    for (file, sampled) in part.files.iter_mut().enumerate() {
        for (number, code) in sampled.code.iter_mut().enumerate() {
            let is_chosen = |sample: &u64| {
                let mut hasher = DefaultHasher::new();
                (file, number, sample).hash(&mut hasher);
                hasher.finish() as f64 / u64::MAX as f64 <= share
            };
            code.samples = Count((0..code.samples.0).filter(is_chosen).count() as u64);
        }
    }
    part
}

/// The overlap of blocks, and of edges.
fn compare(estimate: &RunProfile, counts: &RunProfile) -> [f64; 2] {
    let overlap = overlap([estimate, counts], &|_| true, &|function| {
        Rc::from(&*function.map.linkage_name)
    });
    [overlap.overlap_of_instructions, overlap.overlap]
}

fn tables(programs: &[Fidelity]) -> String {
    let mut text = String::new();
    for (which, title) in UNITS.into_iter().enumerate() {
        let sizes = SIZES.map(|size| format!(" {size} |"));
        text += &format!(
            "\n### {title}\n\n| program | samples |{} all |\n",
            sizes.concat()
        );
        text += &format!("|---|--:|{}--:|\n", "--:|".repeat(SIZES.len()));
        for program in programs {
            let cells = program.parts.iter().map(|part| match part {
                Some(part) => format!(" {:.3} |", part[which]),
                None => " |".to_owned(),
            });
            let cells: String = cells.collect();
            let (name, samples, all) = (program.name, program.samples, program.all[which]);
            text += &format!("| {name} | {samples} |{cells} {all:.3} |\n");
        }
        let means: Vec<Option<f64>> = (0..SIZES.len())
            .map(|size| mean(programs, |program| program.parts[size], which))
            .chain([mean(programs, |program| Some(program.all), which)])
            .collect();
        let cells = means.iter().map(|mean| match mean {
            Some(mean) => format!(" {mean:.3} |"),
            None => " |".to_owned(),
        });
        text += &format!("| **mean** | |{}\n", cells.collect::<String>());
    }
    text
}

/// The geometric mean over all programs. `None` if one has no value: means over different programs
/// cannot be compared.
fn mean(
    programs: &[Fidelity],
    value: impl Fn(&Fidelity) -> Option<[f64; 2]>,
    which: usize,
) -> Option<f64> {
    let values: Option<Vec<_>> = programs.iter().map(value).collect();
    let values = values?.into_iter().map(|overlaps| overlaps[which]);
    Some(geometric_mean(values))
}
