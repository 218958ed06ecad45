//! `cargo xtask study layout`: which order of blocks and of functions is best, judged by exact
//! counts before code is generated.
//!
//! 1. Each program is recorded with `--collect trace`. The counts of its paths give the counts of
//!    all edges, and its trace gives its calls (`calls`).
//! 2. The blocks of each function that ran, and the functions of the program, are ordered in each
//!    way of `holloway_analysis::layout`. The costs are added up over all functions.
//!
//! Nothing is timed, so the machine may be busy.

mod calls;

use crate::bench::{KeptBuilds, geometric_mean};
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result, ensure};
use calls::CallCounter;
use holloway_analysis::RunProfile;
use holloway_analysis::layout::{BlockOrder, CallDistance, FunctionOrder, StaticCost, block_graph};
use holloway_collect::load::{Loaded, load_with_streams};
use holloway_collect::settings::Settings;
use holloway_collect::thread_traces::TraceSelection;
use holloway_format::Count;
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, Scale, Workload};

/// The text before the tables.
const HEAD: &str = "\
# Orders of blocks and functions, judged by exact counts

Written by `cargo xtask study layout`: which order would be best, before code is generated. The
orders are those of `analysis::layout`:

- *original*: the blocks in the order of the path map, which is LLVM's after the optimizer.
- *ext-TSP*: Newell and Pupyrev (2018), LLVM's order.
- *preferences*: Burger and Dybvig (1998).
- *alignment*: Morph's greedy branch alignment (Zhang et al. 1997), with code that never ran last.

**LLVM lays blocks out again when it generates code.** So these figures compare orders, not programs.
The original order is the input of LLVM's layout, not its result. [Optimizing by
counts](optimize.md#branches) counts branches in the machine code.

The counts are exact: each program ran once with a small input and `--collect trace`. An LLVM
instruction counts as 4 bytes. Switches with three or more targets and computed jumps are left out,
because they are taken in any order. Nothing was timed.
";

/// The text before the tables of blocks.
const BLOCKS_HEAD: &str = "\
## Blocks

Sums over all functions. The original order has executions in millions. The other columns are
multiples of it: below 1 is better. *Jumps* are executed unconditional jumps. *Taken branches* are
these jumps, and conditional branches that were taken. *Mispredicted* are executions of conditional
branches that a static predictor gets wrong: it predicts that branches backward are taken, and others
are not. By jumps and mispredictions, Burger and Dybvig judge an order of blocks.

Preferences and alignment join the same chains along the edges that ran, so their jumps and taken
branches are equal. They differ in the order of the chains.
";

/// The text before the table of functions.
const FUNCTIONS_HEAD: &str = "\
## Functions

The distance of a call is from the start of the caller to the start of the callee, averaged over
executed calls, in bytes. *Far* is the share of calls over 4096 bytes or more. The calls are those of
the trace: a call through code that is not woven counts as a call by the last woven caller. The
original order is that of the path map. *Closest* is Pettis and Hansen's (1990), which Morph uses.
*C³* is Ottoni and Maher's (2017). Distances of the two are multiples of the original distance.
";

/// The options of `cargo xtask study layout`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Write the page although programs are left out
    #[arg(long)]
    write: bool,
}

/// The costs of a program.
struct Figures {
    name: &'static str,
    /// By element of [`BlockOrder::ALL`].
    blocks: Vec<StaticCost>,
    /// By element of [`FunctionOrder::ALL`].
    functions: Vec<CallDistance>,
}

/// Runs the study, prints it, and writes the page if the whole suite ran.
///
/// # Errors
/// If a build or a run fails, or events are missing.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let chosen = suite::chosen(&options.only);
    kept_builds.build(chosen.iter().copied(), &[Flavor::Trace], Scale::Quick)?;
    let mut all_figures = Vec::new();
    for workload in chosen {
        let figures = measure(&kept_builds, workload).with_context(|| workload.name)?;
        eprintln!("{}: {:?}", workload.name, figures.blocks);
        all_figures.push(figures);
    }
    let tables = tables(&all_figures);
    println!("{tables}");
    if options.only.is_empty() || options.write {
        let page = root().join("docs/studies/layout.md");
        let coverage = suite::coverage(&options.only);
        std::fs::write(&page, format!("{HEAD}\n{coverage}\n\n{tables}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/layout.md");
    }
    Ok(())
}

fn measure(kept_builds: &KeptBuilds, workload: &'static Workload) -> Result<Figures> {
    let scratch = scratch(&format!("layout-{}", workload.name))?;
    let data = scratch.path().join("run");
    let executable = kept_builds.executable(workload.source, Flavor::Trace);
    let input = kept_builds.input(workload, Scale::Quick)?;
    workload.run(&executable, &input, Scale::Quick, Some(&data))?;
    let loaded = load_with_streams(&data, &Settings::default())?;
    Ok(Figures {
        name: workload.name,
        blocks: block_costs(&loaded.profile),
        functions: call_distances(&loaded)?,
    })
}

/// The costs of all functions that ran, by order.
fn block_costs(profile: &RunProfile) -> Vec<StaticCost> {
    let mut costs = vec![StaticCost::default(); BlockOrder::ALL.len()];
    for function in profile.functions.iter().filter(|function| function.ran()) {
        let Some(graph) = block_graph(&function.map, function.flow()) else {
            continue;
        };
        for (cost, order) in costs.iter_mut().zip(BlockOrder::ALL) {
            *cost += StaticCost::new(&graph, &order.order(&graph));
        }
    }
    costs
}

/// The distances of the calls of all threads, by order.
fn call_distances(loaded: &Loaded) -> Result<Vec<CallDistance>> {
    let first = loaded.streams.first().context("no streams")?;
    let mut counter = CallCounter::new(&first.map);
    for streams in &loaded.streams {
        let is_same = streams.map.build_id == first.map.build_id;
        ensure!(is_same, "the program consists of several images");
        for thread in streams.traces(TraceSelection::All) {
            counter.add(&thread.trace);
        }
    }
    let graph = counter.graph();
    let orders = FunctionOrder::ALL.into_iter();
    let distances = orders.map(|order| CallDistance::new(&graph, &order.order(&graph)));
    Ok(distances.collect())
}

fn tables(all_figures: &[Figures]) -> String {
    let jumps = block_table(all_figures, |cost| cost.jumps);
    let taken = block_table(all_figures, |cost| cost.taken);
    let mispredicted = block_table(all_figures, |cost| cost.mispredicted);
    let functions = function_table(all_figures);
    format!(
        "{BLOCKS_HEAD}\n### Jumps\n\n{jumps}\n### Taken branches\n\n{taken}\n\
         ### Mispredicted\n\n{mispredicted}\n{FUNCTIONS_HEAD}\n{functions}"
    )
}

/// The table of one part of the costs of blocks.
fn block_table(all_figures: &[Figures], part: fn(&StaticCost) -> Count) -> String {
    let mut text = "\
| program | original | ext-TSP | preferences | alignment |
|---|--:|--:|--:|--:|
"
    .to_owned();
    let mut all_counts = Vec::new();
    for figures in all_figures {
        let counts = figures.blocks.iter().map(|cost| part(cost).to_f64());
        let counts: Vec<f64> = counts.collect();
        let ratios = ratios(&counts).map(|ratio| format!(" {ratio:.3} |"));
        let cells: String = ratios.collect();
        text += &format!("| {} | {:.1} |{cells}\n", figures.name, counts[0] / 1e6);
        all_counts.push(counts);
    }
    text + &format!("| **mean** | |{}\n", mean_ratios(&all_counts))
}

fn function_table(all_figures: &[Figures]) -> String {
    let mut text = "\
| program | calls (million) | original | closest | C³ | original: far | closest: far | C³: far |
|---|--:|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    let mut all_distances = Vec::new();
    for figures in all_figures {
        let calls = figures.functions[0].calls.to_f64();
        let distances = figures.functions.iter();
        let distances: Vec<f64> = distances
            .map(|distance| distance.bytes as f64 / calls)
            .collect();
        let ratios = ratios(&distances).map(|ratio| format!(" {ratio:.3} |"));
        let far = figures.functions.iter().map(|distance| {
            let share = distance.beyond_page.to_f64() / calls;
            format!(" {:.1} % |", 100.0 * share)
        });
        let (calls, original) = (calls / 1e6, distances[0]);
        let cells: String = ratios.chain(far).collect();
        text += &format!("| {} | {calls:.2} | {original:.0} |{cells}\n", figures.name);
        all_distances.push(distances);
    }
    text + &format!("| **mean** | | |{} | | |\n", mean_ratios(&all_distances))
}

/// The figures of all orders but the first, over those of the first.
fn ratios(figures: &[f64]) -> impl Iterator<Item = f64> {
    let first = figures[0];
    figures[1..].iter().map(move |figure| figure / first)
}

/// Cells with the geometric means of the ratios of all programs.
fn mean_ratios(rows: &[Vec<f64>]) -> String {
    let orders = rows.first().map_or(1, Vec::len) - 1;
    let mean = |order| geometric_mean(rows.iter().filter_map(|row| ratios(row).nth(order)));
    (0..orders)
        .map(|order| format!(" {:.3} |", mean(order)))
        .collect()
}
