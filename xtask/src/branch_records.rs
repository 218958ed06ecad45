//! `cargo xtask study branch-records`: how well branch records show edges and paths, by the number
//! of stacks.
//!
//! 1. `machine` executes the longest trace of each program on a simulated machine: blocks have
//!    addresses in the order of the path map, and taken branches are recorded.
//! 2. Stacks of the last 32 branches are taken after random numbers of branches. The edges and
//!    paths in the stacks are compared with the executed ones.
//!
//! Nothing is timed, so the machine may be busy.

mod machine;

use crate::bench::{KeptBuilds, geometric_mean};
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result};
use holloway_analysis::branch_records::{BranchRecords, TakenBranch};
use holloway_analysis::trace::{Terminal, Trace};
use holloway_collect::load::load_with_streams;
use holloway_collect::settings::Settings;
use holloway_collect::thread_traces::TraceSelection;
use holloway_format::ImageMap;
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, Scale, Workload};
use machine::{Code, Execution, STACK};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Numbers of stacks that are compared.
const SIZES: [u64; 5] = [100, 300, 1000, 3000, 10_000];
/// Maximum number of paths of a trace that are executed.
const MAX_PATHS: usize = 20_000_000;

/// The text before the tables.
const HEAD: &str = "\
# How well branch records show edges and paths

Written by `cargo xtask study branch-records`. The longest trace of each program of the suite ran on a
simulated machine with [branch records](../import.md): stacks of the last 32 taken branches, taken
after random numbers of branches. The tables compare the edges and paths that the stacks show with
those that ran: 1 means that each edge or path has the same share in both, and is best.

The machine has the blocks in the order of the path map, and executes woven code only. At most the first
20 million paths of a trace ran. In traces, paths end before calls. So they are shorter than the paths
of other kinds, and fit into a stack more often. Nothing was timed.
";

/// The options of `cargo xtask study branch-records`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Use smaller inputs
    #[arg(long)]
    quick: bool,
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
}

/// The overlap of a program's branch records with its execution.
struct Fidelity {
    name: &'static str,
    /// Taken branches.
    branches: u64,
    /// By element of [`SIZES`]: edges and paths. `None` if there are not so many stacks.
    overlaps: Vec<Option<[f64; 2]>>,
    /// The share of executed paths that span more branches than a stack holds.
    long_paths: f64,
}

/// Runs the study, prints it, and writes the page if the whole suite ran.
///
/// # Errors
/// If a build or a run fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let scale = match options.quick {
        true => Scale::Quick,
        false => Scale::Full,
    };
    let kept_builds = KeptBuilds::open()?;
    let chosen = suite::chosen(&options.only);
    kept_builds.build(chosen.iter().copied(), &[Flavor::Trace], scale)?;
    let mut programs = Vec::new();
    for workload in chosen {
        let program = measure(&kept_builds, workload, scale).with_context(|| workload.name)?;
        eprintln!("{}: {} branches", program.name, program.branches);
        programs.push(program);
    }
    let tables = tables(&programs);
    println!("{tables}");
    if options.only.is_empty() && !options.quick {
        let page = root().join("docs/studies/branch-records.md");
        std::fs::write(&page, format!("{HEAD}\n{tables}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/branch-records.md");
    }
    Ok(())
}

fn measure(
    kept_builds: &KeptBuilds,
    workload: &'static Workload,
    scale: Scale,
) -> Result<Fidelity> {
    let scratch = scratch(&format!("branches-{}", workload.name))?;
    let data = scratch.path().join("run");
    let executable = kept_builds.executable(workload.source, Flavor::Trace);
    let input = kept_builds.input(workload, scale)?;
    workload.run(&executable, &input, scale, Some(&data))?;
    let loaded = load_with_streams(&data, &Settings::default())?;
    let threads = loaded.streams.iter().flat_map(|streams| {
        let traces = streams.traces(TraceSelection::All).into_iter();
        traces.map(|thread| (Arc::clone(&streams.map), thread.trace))
    });
    let longest = threads.max_by_key(|(_, trace)| trace.grammar.len());
    let (map, trace) = longest.context("no trace")?;
    Ok(compare(workload.name, &map, &trace))
}

/// The terminals of a trace, in order.
fn terminals(trace: &Trace) -> impl Iterator<Item = Terminal> + '_ {
    let expanded = trace.grammar.expand().take(MAX_PATHS);
    expanded.map(|terminal| trace.terminals[terminal as usize])
}

fn compare(name: &'static str, map: &Arc<ImageMap>, trace: &Trace) -> Fidelity {
    let code = Code::new(map, &trace.terminals);
    // The first execution counts the branches.
    let mut execution = Execution::new(&code);
    for terminal in terminals(trace) {
        execution.run(terminal, &mut |_| ());
    }
    let exact = execution.finish();
    let mut samplers: Vec<Sampler> = SIZES
        .iter()
        .zip(1..)
        .filter(|&(&size, _)| size * STACK as u64 <= exact.branches)
        .map(|(&size, seed)| Sampler::new(map, &code, exact.branches / size, seed))
        .collect();
    let mut execution = Execution::new(&code);
    let mut last: Vec<TakenBranch> = Vec::new();
    for terminal in terminals(trace) {
        execution.run(terminal, &mut |branch| {
            last.push(branch);
            if last.len() >= 64 * STACK {
                last.drain(..last.len() - STACK);
            }
            for sampler in &mut samplers {
                sampler.branch(&last);
            }
        });
    }
    let overlaps = (0..SIZES.len()).map(|size| {
        let (functions, _) = samplers.get(size)?.records.counts();
        let mut edges = HashMap::new();
        let mut paths = HashMap::new();
        for function in functions {
            let found = function.edges.iter();
            edges.extend(found.map(|edge| ((function.index, edge.edge), edge.count.0)));
            let found = function.paths.iter();
            paths.extend(found.map(|&(path, count)| ((function.index, path), count.0)));
        }
        Some([overlap(&edges, &exact.edges), overlap(&paths, &exact.paths)])
    });
    let executed: u64 = exact.paths.values().sum();
    Fidelity {
        name,
        branches: exact.branches,
        overlaps: overlaps.collect(),
        long_paths: exact.long_paths as f64 / executed.max(1) as f64,
    }
}

/// Takes stacks after random numbers of branches.
struct Sampler {
    records: BranchRecords,
    period: u64,
    left: u64,
    state: u64,
}

impl Sampler {
    fn new(map: &Arc<ImageMap>, code: &Code, period: u64, seed: u64) -> Self {
        let mut sampler = Self {
            records: BranchRecords::new(Arc::clone(map), code.layout()),
            period: period.max(1),
            left: 0,
            state: seed,
        };
        sampler.left = sampler.draw();
        sampler
    }

    /// Half to one and a half of the period.
    fn draw(&mut self) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.period / 2 + (self.state >> 33) % self.period + 1
    }

    /// A branch was taken. It is the last one of `branches`.
    fn branch(&mut self, branches: &[TakenBranch]) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.draw();
            self.records
                .add_stack(&branches[branches.len().saturating_sub(STACK)..]);
        }
    }
}

/// The sum of the smaller shares.
fn overlap<K: Hash + Eq>(sampled: &HashMap<K, u64>, exact: &HashMap<K, u64>) -> f64 {
    let sum = |counts: &HashMap<K, u64>| counts.values().sum::<u64>().max(1) as f64;
    let (all_sampled, all_exact) = (sum(sampled), sum(exact));
    let shares = sampled.iter().map(|(key, &count)| {
        let exact = exact.get(key).copied().unwrap_or(0) as f64 / all_exact;
        (count as f64 / all_sampled).min(exact)
    });
    shares.sum()
}

fn tables(programs: &[Fidelity]) -> String {
    let mut text = String::new();
    for (which, title) in ["Edges", "Paths"].into_iter().enumerate() {
        let sizes = SIZES.map(|size| format!(" {size} |"));
        text += &format!(
            "\n## {title}, by number of stacks\n\n| program | branches | longer than a stack |{}\n",
            sizes.concat()
        );
        text += &format!("|---|--:|--:|{}\n", "--:|".repeat(SIZES.len()));
        for program in programs {
            let cells = program.overlaps.iter().map(|overlaps| match overlaps {
                Some(overlaps) => format!(" {:.3} |", overlaps[which]),
                None => " |".to_owned(),
            });
            let cells: String = cells.collect();
            text += &format!(
                "| {} | {} | {:.2} % |{cells}\n",
                program.name,
                program.branches,
                100.0 * program.long_paths
            );
        }
        let means = (0..SIZES.len()).map(|size| {
            let values = programs.iter().map(|program| program.overlaps[size]);
            let values: Option<Vec<_>> = values.collect();
            match values {
                Some(values) => format!(
                    " {:.3} |",
                    geometric_mean(values.into_iter().map(|overlaps| overlaps[which]))
                ),
                None => " |".to_owned(),
            }
        });
        text += &format!("| **mean** | | |{}\n", means.collect::<String>());
    }
    text
}
