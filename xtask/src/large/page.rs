//! The page of `cargo xtask study large`.

use super::programs::Program;
use super::results::{Measured, Results};
use super::steps::Step;
use crate::bench::{Samples, geometric_mean};
use holloway_analysis::paired::{Gain, Pair};
use std::fmt::Write as _;

/// The text before the tables.
const HEAD: &str = "\
# Optimizing large programs

Written by `cargo xtask study large`: what [`holloway optimize`](../optimize.md) gains on programs
with megabytes of code, beside link-time optimization, the compilers' own profile-guided
optimization, and BOLT (Panchenko et al. 2019). All train on one input, and are measured on another
one. All builds print the same.

- *native*: Rust programs by cargo's release build, with 16 codegen units. C++ programs by
  `clang++-22 -O2`. Without LTO.
- *fat LTO*: the same with `lto = \"fat\"`, or with `-flto`.
- *PGO*: `-Cprofile-generate`, a run, and `-Cprofile-use`, without LTO and with it. For C++,
  `-fprofile-generate` and `-fprofile-use`.
- *PGO, BOLT*: the program of *PGO* (without LTO), linked with relocations, with BOLT's counters, a
  run, and `llvm-bolt` with `-reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions
  -split-all-cold -split-eh -icf=1`.
- *early*: by early counts of Holloway, each crate or C++ file alone in one unit.
- *late*: by early and [late counts](../optimize.md#late-counts).
- *holloway*: by both, in the plan's [order of functions](../optimize.md#order-of-functions).
- *holloway, merged*: the same with `lto = \"fat\"`: all crates are one module. It is not measured for
  each program. C++ files are never merged.

[Selects](../optimize.md#unpredictable-branches) and [prefetches](../optimize.md#prefetches) are left
out: `holloway optimize` keeps them by measured time only.
";

/// The text before the tables of costs.
const COSTS: &str = "\
## At run time

Instructions and misses of the first instruction cache are callgrind's, over those of *native*: below
1 is better. The simulated cache has 32 KiB, 8 ways, and lines of 64 bytes. It knows no prefetches
and no pages. Code is the size of all executable sections. BOLT leaves functions that it has not
seen where they were, and keeps the old code of the others.
";

/// The text before the table of build times.
const TIMES: &str = "\
## At build time

CPU seconds of all processes of a step, because the machine was busy, and the memory of the largest
process. Each row has all steps from the sources to the program. Steps that two builds share appear
in both. Build scripts and proc macros are built before, but not for the builds with bitcode, which
have a directory of their own. `holloway optimize` also measures, which takes about 50 runs of the
program more.

Plans of this study have no marks of unpredictable branches, unlike the plan of training. So the
first build with the plan runs the optimizer again for modules with such branches. Before builds
shared the optimizer's work and workers used mimalloc, training of *css* took 1,051 s of CPU time, and
that of *js* 955 s (measured once).
";

/// The page for the results of some programs.
pub(super) fn page(all: &[(&Program, Results)]) -> String {
    let mut page = format!("{HEAD}\n| program | code, native | work |\n|---|--:|---|\n");
    for (program, results) in all {
        let code = results.builds.first().map_or(0, |build| build.costs.code);
        let (name, about) = (program.name, program.about);
        let _ = writeln!(page, "| {name} | {} | {about} |", megabytes(code));
    }
    let _ = write!(page, "\n{COSTS}\n{}", costs(all));
    let _ = write!(page, "\n{TIMES}\n{}", steps(all));
    if let Some((_, results)) = all.first() {
        let _ = writeln!(page, "\nMachine: {}.", results.machine);
    }
    page
}

/// The table of costs at run time, and what the times are worth.
fn costs(all: &[(&Program, Results)]) -> String {
    let mut table = "\
| program | build | code | instructions | misses | CPU time | saved CPU time (95 %) |
|---|---|--:|--:|--:|--:|---|
"
    .to_owned();
    for (program, results) in all {
        let Some(native) = results.builds.first() else {
            continue;
        };
        let base = native.costs.samples();
        for build in &results.builds {
            let is_native = std::ptr::eq(build, native);
            table += &format!("| {} | {} |", program.name, build.name);
            table += &match is_native {
                true => native_row(native, &base),
                false => row(native, build, &base),
            };
        }
        let mut again = Samples::default();
        results.again.iter().for_each(|&time| again.push(time));
        let saved = saving(&base, &again);
        let ratio = again.over(&base).median();
        let name = program.name;
        table += &format!("| {name} | *native, again* | | | | {ratio:.3} | {saved} |\n");
    }
    if all.len() > 1 {
        table += &means(all);
    }
    let rounds = all.iter().map(|(_, results)| results.again.len());
    let rounds = rounds.min().unwrap_or(0);
    table
        + &format!(
            "\nOf *native*, the table has millions of instructions and of misses, and seconds. CPU times \
             are medians\nof at least {rounds} rounds. The interval contains the median with 95 % confidence. \
             *native, again*\nis the same program: its interval shows how good the times are.\n"
        )
}

fn native_row(native: &Measured, times: &Samples) -> String {
    let costs = &native.costs;
    format!(
        " {} | {} | {} | {:.2} s | |\n",
        megabytes(costs.code),
        millions(costs.instructions),
        millions(costs.cache_misses),
        times.median()
    )
}

fn row(native: &Measured, build: &Measured, base: &Samples) -> String {
    let [code, instructions, misses] = ratios(native, build);
    let times = build.costs.samples();
    format!(
        " {code:.3} | {instructions:.4} | {misses:.3} | {:.3} | {} |\n",
        times.over(base).median(),
        saving(base, &times)
    )
}

/// Code, instructions, and misses of a build over those of the native one.
fn ratios(native: &Measured, build: &Measured) -> [f64; 3] {
    let (native, costs) = (&native.costs, &build.costs);
    [
        costs.code as f64 / native.code as f64,
        costs.instructions as f64 / native.instructions as f64,
        costs.cache_misses as f64 / native.cache_misses as f64,
    ]
}

/// The saved CPU time, with its interval.
fn saving(base: &Samples, times: &Samples) -> String {
    let pairs = base.all().iter().zip(times.all());
    let pairs: Vec<Pair> = pairs
        .map(|(&plain, &other)| Pair { plain, other })
        .collect();
    Gain::of_pairs(&pairs).map_or_else(String::new, |gain| {
        let [median, low, high] = [gain.median, gain.low, gain.high].map(|share| 100.0 * share);
        format!("{median:+.1} % ({low:+.1} to {high:+.1})")
    })
}

/// Rows with the geometric means of the programs, for each build but the first that all have.
fn means(all: &[(&Program, Results)]) -> String {
    let mut rows = String::new();
    for name in all[0].1.builds.iter().skip(1).map(|build| &build.name) {
        let pairs = all.iter().map(|(_, results)| {
            let build = results.builds.iter().find(|build| build.name == *name)?;
            Some((&results.builds[0], build))
        });
        let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let ratios = pairs.iter().map(|(native, build)| ratios(native, build));
        let ratios: Vec<[f64; 3]> = ratios.collect();
        let mean = |which: usize| geometric_mean(ratios.iter().map(|ratios| ratios[which]));
        let times = pairs.iter().map(|(native, build)| {
            let times = build.costs.samples();
            times.over(&native.costs.samples()).median()
        });
        rows += &format!(
            "| *mean* | {name} | {:.3} | {:.4} | {:.3} | {:.3} | |\n",
            mean(0),
            mean(1),
            mean(2),
            geometric_mean(times)
        );
    }
    rows
}

/// The table of build times.
fn steps(all: &[(&Program, Results)]) -> String {
    let mut table = "\
| program | build | CPU time | memory | steps |
|---|---|--:|--:|---|
"
    .to_owned();
    for (program, results) in all {
        for build in &results.builds {
            let cpu: f64 = build.steps.iter().map(|step| step.cpu).sum();
            let memory = build.steps.iter().map(|step| step.memory).max();
            let each: Vec<String> = build.steps.iter().map(step).collect();
            table += &format!(
                "| {} | {} | {cpu:.0} s | {} | {} |\n",
                program.name,
                build.name,
                megabytes(memory.unwrap_or(0)),
                each.join(", ")
            );
        }
    }
    table
}

fn step(step: &Step) -> String {
    format!("{} {:.0}", step.name, step.cpu)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn millions(count: u64) -> String {
    format!("{:.1} M", count as f64 / 1e6)
}
