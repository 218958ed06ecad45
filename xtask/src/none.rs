//! `cargo xtask study none`: what it costs to build a program with `--collect none`, so that a
//! monitor knows its blocks.
//!
//! Each program is built in three ways: by the compiler alone, with `--collect none`, and through
//! the same pipeline without probes (`HOLLOWAY_SKIP`). The third build tells the cost of the probes
//! from that of the pipeline: LLVM runs a second time, after the optimizer, on other units of code.
//!
//! Instructions are counted by callgrind, so the machine may be busy. Programs with two threads
//! divide their work differently in each run, so only their sizes are compared.

use crate::bench::{KeptBuilds, code_bytes, geometric_mean, record_instructions};
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result};
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, Scale, Workload};
use object::{Object as _, ObjectSection as _};
use std::path::Path;

/// The builds, in the order of the columns.
const FLAVORS: [Flavor; 3] = [Flavor::Native, Flavor::Unprobed, Flavor::None];
/// Sections that only `--collect none` adds.
const ADDED: [&str; 2] = [".pseudo_probe", holloway_abi::MAP_SECTION];

/// The text before the table.
const HEAD: &str = "\
# The cost of being watchable

Written by `cargo xtask study none`: what it costs to build a program with `--collect none`, so
that a [monitor](../monitor.md) knows its blocks. *Pipeline* compares a build through Holloway
without probes with a build by the compiler alone. *Probes* compares `--collect none` with the
pipeline. Instructions are those of a run with a small input, counted by callgrind, of programs
with one thread. *Map* and *probes* are the sections with the path map and with the addresses of
blocks, as a share of the file without them. The second is not loaded. Lower is better.

The probes are no instructions, but they keep the code generator from merging some blocks. The rest
of the difference comes from the pipeline. Rust programs gain or lose code because the linker sees
other units: rustc's own link merges code of all crates only with LTO, and Holloway generates the
code of each crate's units once more, after the optimizer. The suite runs three programs with one
thread and with two: they are listed once.
";

/// The options of `cargo xtask study none`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Build only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Write the page although programs are left out
    #[arg(long)]
    write: bool,
}

/// The figures of a program, by element of [`FLAVORS`].
struct Figures {
    name: &'static str,
    code: [u64; 3],
    instructions: Option<[u64; 3]>,
    /// Bytes of the sections of [`ADDED`], over the bytes of the rest of the file.
    added: [f64; 2],
}

/// Runs the study, prints it, and writes the page if the whole suite was built.
///
/// # Errors
/// If a build or a run fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let chosen = suite::chosen(&options.only);
    kept_builds.build(chosen.iter().copied(), &FLAVORS, Scale::Small)?;
    let mut all_figures: Vec<Figures> = Vec::new();
    for workload in chosen {
        // Several workloads may run one program.
        let source = workload.source.name();
        if workload.threads > 1 && all_figures.iter().any(|figures| figures.name == source) {
            continue;
        }
        let figures = figures(&kept_builds, workload).with_context(|| workload.name)?;
        eprintln!("{}: {:?}", workload.name, figures.instructions);
        all_figures.push(figures);
    }
    let table = table(&all_figures);
    println!("{table}");
    if options.only.is_empty() || options.write {
        let page = root().join("docs/studies/none.md");
        let coverage = suite::coverage(&options.only);
        std::fs::write(&page, format!("{HEAD}\n{coverage}\n\n{table}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/none.md");
    }
    Ok(())
}

fn figures(kept_builds: &KeptBuilds, workload: &'static Workload) -> Result<Figures> {
    let executables = FLAVORS.map(|flavor| kept_builds.executable(workload.source, flavor));
    let mut code = [0; 3];
    let mut instructions = [0; 3];
    for (number, flavor) in FLAVORS.into_iter().enumerate() {
        code[number] = code_bytes(&executables[number])?;
        if workload.threads == 1 {
            let scratch = scratch("study-none")?;
            let commands = record_instructions(kept_builds, workload, flavor, scratch.path())?;
            instructions[number] = commands.iter().map(|command| command.instructions).sum();
        }
    }
    Ok(Figures {
        name: workload.name,
        code,
        instructions: (workload.threads == 1).then_some(instructions),
        added: added(&executables[2])?,
    })
}

/// The sections of [`ADDED`], over the rest of the file.
fn added(executable: &Path) -> Result<[f64; 2]> {
    let bytes = std::fs::read(executable)?;
    let file = object::File::parse(&*bytes)?;
    let sizes = ADDED.map(|name| {
        file.section_by_name(name)
            .map_or(0, |section| section.size())
    });
    let rest = bytes.len() as u64 - sizes.iter().sum::<u64>();
    Ok(sizes.map(|size| size as f64 / rest as f64))
}

fn table(all_figures: &[Figures]) -> String {
    let mut text = "\
| program | code, native (KiB) | pipeline | probes | instructions, native (M) | pipeline | probes | section of probes | map |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    let increase = |ratio: f64| format!("{:+.2} %", 100.0 * (ratio - 1.0));
    let over = |figures: [u64; 3]| {
        let [native, unprobed, none] = figures.map(|figure| figure as f64);
        [unprobed / native, none / unprobed]
    };
    for figures in all_figures {
        let [pipeline, probes] = over(figures.code).map(increase);
        let code = figures.code[0] as f64 / 1024.0;
        text += &format!("| {} | {code:.1} | {pipeline} | {probes} |", figures.name);
        match figures.instructions {
            Some(instructions) => {
                let [pipeline, probes] = over(instructions).map(increase);
                let native = instructions[0] as f64 / 1e6;
                text += &format!(" {native:.1} | {pipeline} | {probes} |");
            }
            None => text += " | | |",
        }
        let [probes, map] = figures.added.map(|share| format!("{:.1} %", 100.0 * share));
        text += &format!(" {probes} | {map} |\n");
    }
    let mean = |ratios: Vec<[f64; 2]>| {
        let mean = |which: usize| geometric_mean(ratios.iter().map(|ratio| ratio[which]));
        [mean(0), mean(1)].map(increase)
    };
    let [pipeline, probes] = mean(
        all_figures
            .iter()
            .map(|figures| over(figures.code))
            .collect(),
    );
    text += &format!("| **mean** | | {pipeline} | {probes} |");
    let instructions = all_figures
        .iter()
        .filter_map(|figures| figures.instructions);
    let [pipeline, probes] = mean(instructions.map(over).collect());
    text + &format!(" | {pipeline} | {probes} | | |\n")
}
