//! `cargo xtask study prefetch`: what prefetches gain on loops that wait for memory.
//!
//! Each kernel of tests/workloads/prefetch is trained on one size of its data, and built with the
//! plan and without the plan's loads. Both builds run on a larger size, in rounds, and report the
//! CPU time of the kernel without the setup.

use crate::bench::{Samples, geometric_mean, restart_with};
use crate::machine;
use crate::workspace::{BuildProfile, build_holloway, root};
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch, tests_directory};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernels: name, and what waits.
const KERNELS: [(&str, &str); 12] = [
    (
        "join",
        "a hash table with lists: the first entry of each list",
    ),
    ("probe", "a hash table with open addressing: the slot"),
    ("histogram", "counters at hashed keys: the counter"),
    ("objects", "an array of pointers: the object"),
    ("gather", "an array of indices: the element"),
    ("list", "a list: the next node"),
    (
        "breadth_first",
        "a graph of four edges per node: the neighbor",
    ),
    ("triangles", "a graph of four edges per node: the neighbor"),
    (
        "sparse",
        "a sparse matrix of four elements per row: the vector's element",
    ),
    ("sift", "Figure 8, a heap: the elements below"),
    (
        "nest",
        "Figure 9, rows behind pointers: the element of the next rows",
    ),
    (
        "prices",
        "Figure 10, a list whose nodes lead to objects: the next node",
    ),
];

/// The scale of the training run, and of the measured runs.
const SCALES: [&str; 2] = ["3", "4"];

/// The text before the table.
const HEAD: &str = "\
# Prefetching loads that wait for memory

Written by `cargo xtask study prefetch`. Twelve irregular kernels on data that does not fit into the
L2 cache (tests/workloads/prefetch). The last three are the loops of Figures 8 to 10 of
Perelman, Chilimbi, and Calder (2005). Each kernel was trained on smaller data than it was measured
on. *Loads* is the number of loads in the plan, and *inserted* the number of prefetch instructions
in the program. *Without* is the CPU time of the kernel with counts, and *with* also has
prefetches ([how](../optimize.md#prefetches)).

All prefetches are inserted here. `holloway optimize` measures them, and keeps only those that gain.

";

/// The text after the table.
const DESIGNS: &str = "
## Designs

The following prefetches were written by hand into the source, and measured on a busy machine: in 3
rounds, and in one for nest. Times vary by a tenth and more.

| kernel | design | without / with | now |
|---|---|--:|---|
| breadth_first | the row of a node 12 places ahead in the queue | 1.54 | inserted |
| | also its first edge, 8 places ahead | 2.37 | no: the loop may change the queue |
| | also that edge's node, 4 places ahead | 2.17 | no |
| triangles | the node of an edge 32 edges ahead, in a later row | 1.80 | inserted |
| sparse | the same | 1.40 | inserted |
| nest | 8, 16, 32, 64 rows ahead | 1.2, 1.3, 1.1, 1.0 | through the index |
| | the next turn of the outer loop, as in the paper | 1.3 | if there is no other way |
| | the same five with 2 MiB pages | 0.8 to 1.0 | |
| prices | the next node at the turn's beginning | 0.8 | not chosen |
| | what the next node points to | 0.9 | not chosen |
| | also the node after that | 0.9 | not chosen |
| join | the bucket 22, 8 keys ahead | 0.98, 1.07 | inserted |
| | also its first entry, 11, 8 keys ahead | 0.80, 1.12 | not inserted |

- **nest** does not gain reliably. Its loads do not depend on each other, so the processor probably
  has many of them under way without prefetches.
- **prices** waits for one node after the other, and little else takes time. A prefetch cannot fetch
  a node whose address is not known. A loop closer to the paper's (arcs that lead to nodes, which
  lead to arcs, and a heap of the best arcs) had 0.9 to 1.2, with the next arc or with its node, on
  lists from 16 MB to 1 GB. Repetitions differed as much. Lists with so short turns are no longer
  chosen.
- **join**: its loads of buckets do not depend on each other, either. The entries do depend on them.
  To fetch the first entry ahead, its bucket must be loaded ahead.
";

/// The options of `cargo xtask study prefetch`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Measure this many rounds
    #[arg(long, value_name = "N", default_value = "9")]
    rounds: NonZeroUsize,
    /// Measure only this kernel; may be repeated. Writes no page
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// The figures of a kernel.
struct Figures {
    loads: usize,
    inserted: usize,
    without: Samples,
    with: Samples,
    /// The time without prefetches over the time with them, by round.
    ratio: Samples,
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// If a build or a run fails, or a build prints something else.
pub(crate) fn run(options: &Options) -> Result<()> {
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return Err(restart_with(&build_holloway(BuildProfile::Release)?));
    }
    let scratch = scratch("study-prefetch")?;
    let folder = scratch.path();
    let program = build(folder)?;
    let mut table = String::from(
        "| kernel | what waits | loads | inserted | without (s) | with (s) | without / with |\n\
         |---|---|--:|--:|--:|--:|--:|\n",
    );
    let mut gains = Vec::new();
    for (name, waits) in KERNELS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        let figures = measure(folder, &program, name, options.rounds);
        let figures = figures.with_context(|| name.to_owned())?;
        let row = format!(
            "| {name} | {waits} | {} | {} | {:.3} | {:.3} | {:.2} |",
            figures.loads,
            figures.inserted,
            figures.without.median(),
            figures.with.median(),
            figures.ratio.median()
        );
        println!("{row}");
        writeln!(table, "{row}")?;
        if figures.inserted > 0 {
            gains.push(figures.ratio.median());
        }
    }
    let mean = geometric_mean(gains.iter().copied());
    let kept: Vec<f64> = gains.iter().copied().filter(|&gain| gain > 1.0).collect();
    let mean_of_kept = geometric_mean(kept.iter().copied());
    writeln!(
        table,
        "\nMedians of {} rounds; the ratio is the median of the rounds' ratios. The geometric mean of the\n\
         {} kernels with prefetches is {mean:.2}, and of the {} that gain {mean_of_kept:.2}.\n\nMeasured on: {}.",
        options.rounds,
        gains.len(),
        kept.len(),
        machine::description()
    )?;
    println!("{table}");
    if options.only.is_empty() {
        let page = root().join("docs/studies/prefetch.md");
        std::fs::write(&page, format!("{HEAD}{table}{DESIGNS}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/prefetch.md");
    }
    Ok(())
}

fn build(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("kernels");
    let mut command = holloway_command(["cc", "--embed"]);
    clean(&mut command);
    command
        .env("HOLLOWAY_CLANG", installed("clang-22")?)
        .args(["-O2", "-g"])
        .arg(tests_directory().join("workloads/prefetch/kernels.c"))
        .arg("-o")
        .arg(&program);
    run_ok(&mut command)?;
    Ok(program)
}

fn measure(folder: &Path, program: &Path, name: &str, rounds: NonZeroUsize) -> Result<Figures> {
    let plan = folder.join(format!("{name}.plan"));
    let mut train = holloway_command(["plan", "train", "-o"]);
    train.arg(&plan).arg(program).args(["--", name, SCALES[0]]);
    run_ok(&mut train)?;
    let text = std::fs::read_to_string(&plan)?;
    let counts = text.split("prefetches\n").next().unwrap_or_default();
    let bare = folder.join(format!("{name}.bare"));
    std::fs::write(
        &bare,
        format!("{}end\n", counts.strip_suffix("end\n").unwrap_or(counts)),
    )?;
    let builds = [("without", &bare), ("with", &plan)];
    let mut programs = Vec::new();
    for (build, plan) in builds {
        let output = folder.join(format!("{name}.{build}"));
        let mut apply = holloway_command(["plan", "apply", "-o"]);
        apply.arg(&output).arg("--plan").arg(plan).arg(program);
        run_ok(&mut apply)?;
        programs.push(output);
    }
    let mut objdump = Command::new("objdump");
    let code = run_ok(objdump.arg("-d").arg(&programs[1]))?.text();
    let expected = seconds(program, name)?.1;
    let mut times = [Samples::default(), Samples::default()];
    let mut ratio = Samples::default();
    for round in 0..rounds.get() {
        let mut of_round = [0.0; 2];
        for number in 0..programs.len() {
            let index = (round + number) % programs.len();
            let (time, printed) = seconds(&programs[index], name)?;
            ensure!(
                printed == expected,
                "{} prints something else",
                builds[index].0
            );
            times[index].push(time);
            of_round[index] = time;
        }
        ratio.push(of_round[0] / of_round[1]);
    }
    let [without, with] = times;
    Ok(Figures {
        loads: text
            .lines()
            .filter(|line| line.starts_with("load "))
            .count(),
        inserted: code.matches("prefetcht0").count(),
        without,
        with,
        ratio,
    })
}

/// Runs a kernel. Returns its CPU time in seconds, and what it printed.
fn seconds(program: &Path, name: &str) -> Result<(f64, String)> {
    let mut command = Command::new(program);
    let output = command.args([name, SCALES[1]]).output()?;
    ensure!(output.status.success(), "{name} failed");
    let time = String::from_utf8(output.stderr)?;
    let time = time.trim().parse().context("the kernel prints its time")?;
    Ok((time, String::from_utf8(output.stdout)?))
}
