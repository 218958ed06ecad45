//! Writes docs/studies/watch.md: the figures of Merten et al. (1999) for our suite, and how well
//! detectors find the exact transitions.

use super::predictors;
use super::record::{Detector, HotSpot, Program};
use super::timeline;
use anyhow::{Context, Result};
use std::path::Path;

/// The text before the tables.
const HEAD: &str = "\
# Hot spots, phases, and predictors

Written by `cargo xtask study watch`: the hot spots of our suite, by the simulated detector of
Merten and others (1999), the [phases](../phases.md) of the longest trace of each program, and what
[branch predictors](../predict.md) would make of it. Nothing here was timed.

The inputs are the small ones of the end-to-end tests. The paper counts the machine's instructions
and all branches, in libraries too. We count LLVM's instructions and the conditions and switches of
woven code.
";

/// Table 3 of the paper: hot spots, static instructions in them, their share of the executed static
/// instructions, and the shares of the execution in hot spots and in detected hot spots.
const TABLE_3: [(&str, u32, u32, f64, f64, f64); 11] = [
    ("go", 6, 2398, 3.46, 37.84, 35.39),
    ("m88ksim", 4, 1576, 2.78, 93.03, 92.30),
    ("gcc", 47, 17_665, 8.90, 58.42, 52.12),
    ("compress", 7, 918, 2.12, 99.93, 99.81),
    ("li", 8, 1447, 3.00, 91.28, 90.88),
    ("ijpeg", 8, 2556, 3.48, 91.07, 91.00),
    ("perl", 5, 1738, 2.13, 88.43, 85.99),
    ("vortex", 5, 2161, 1.76, 72.30, 71.93),
    ("MSWord(A)", 5, 3151, 1.17, 91.36, 91.08),
    ("MSWord(B)", 21, 12_541, 2.40, 69.13, 62.04),
    ("MSExcel", 25, 18_936, 2.94, 60.01, 54.85),
];

/// Writes the page.
///
/// # Errors
/// If the page cannot be written.
pub(super) fn write(programs: &[Program], file: &Path) -> Result<()> {
    let page = format!("{HEAD}{}\n\n{}", addresses(programs), tables(programs));
    std::fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))
}

/// How the addresses of the programs' branches were found.
fn addresses(programs: &[Program]) -> String {
    let count = |kind: &str| {
        let programs = programs.iter();
        programs
            .filter(|program| program.phases.addresses == kind)
            .count()
    };
    format!(
        "The addresses of all branches are real in {} programs, those of most in {}, and of none in {}.",
        count("real"),
        count("mixed"),
        count("synthetic")
    )
}

/// Formats all tables.
pub(super) fn tables(programs: &[Program]) -> String {
    [
        table_3(programs),
        timeline::figure_1(programs),
        figure_2(programs),
        figure_6(programs),
        detectors(programs),
        predictors::tables(programs),
    ]
    .join("\n")
}

/// The share of a part, in percent.
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn sum(program: &Program, part: fn(&HotSpot) -> u64) -> u64 {
    program.phases.hot_spots.iter().map(part).sum()
}

fn table_3(programs: &[Program]) -> String {
    let mut text = "\
## Table 3: hot spots

The last column is what could benefit from optimization while the program runs. The average of the
paper's 14 rows, of which 11 are below, is 79.6 % in hot spots, and 77.3 % in detected ones.

| program | branches (million) | hot spots | static instructions | static % | % in hot spots | % in detected | instructions after detection (million) |
|---|--:|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    for program in programs {
        let phases = &program.phases;
        let detected = sum(program, |spot| spot.after_detection.instructions);
        text += &format!(
            "| {} | {:.1} | {} | {} | {:.2} | {:.2} | {:.2} | {:.1} |\n",
            program.workload.name,
            phases.branches as f64 / 1e6,
            phases.hot_spots.len(),
            phases.hot_size,
            percent(phases.hot_size, phases.executed_size),
            percent(
                sum(program, |spot| spot.executed.instructions),
                phases.instructions
            ),
            percent(detected, phases.instructions),
            detected as f64 / 1e6,
        );
    }
    for (name, hot_spots, size, share, hot, detected) in TABLE_3 {
        text += &format!(
            "| *{name} (paper)* | | {hot_spots} | {size} | {share:.2} | {hot:.2} | {detected:.2} | |\n"
        );
    }
    text
}

fn figure_2(programs: &[Program]) -> String {
    let mut text = "\
## Figure 2: the distribution of branches in a hot spot

How many branches of the program's largest hot spot have half, nine tenths, and all of the
executions that the buffer had counted at its detection. The counters saturate at 511.

| program | half | nine tenths | all |
|---|--:|--:|--:|
"
    .to_owned();
    for program in programs {
        let hot_spots = program.phases.hot_spots.iter();
        let Some(largest) = hot_spots.max_by(|a, b| a.share.total_cmp(&b.share)) else {
            continue;
        };
        let mut executed: Vec<u64> = largest.branches.iter().map(|hot| hot.executed).collect();
        executed.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let all: u64 = executed.iter().sum();
        let needed = |tenths: u64| {
            let mut covered = 0;
            let prefix = executed.iter().take_while(|&&count| {
                let is_needed = 10 * covered < tenths * all;
                covered += count;
                is_needed
            });
            prefix.count()
        };
        text += &format!(
            "| {} | {} | {} | {} |\n",
            program.workload.name,
            needed(5),
            needed(9),
            executed.len()
        );
    }
    text
}

fn figure_6(programs: &[Program]) -> String {
    let mut text = "\
## Figure 6(a): size and share of each hot spot

Static instructions of each hot spot, with its share of the program's execution. Of more than eight
hot spots, those with the largest shares.

| program | hot spots |
|---|---|
"
    .to_owned();
    for program in programs {
        let mut hot_spots: Vec<&HotSpot> = program.phases.hot_spots.iter().collect();
        hot_spots.sort_by(|a, b| b.share.total_cmp(&a.share));
        let cells = hot_spots.iter().take(8);
        let cells = cells.map(|spot| format!("{} ({:.1} %)", spot.size, 100.0 * spot.share));
        let cells: Vec<String> = cells.collect();
        text += &format!("| {} | {} |\n", program.workload.name, cells.join(", "));
    }
    text
}

fn detectors(programs: &[Program]) -> String {
    let mut text = "\
## Detectors and exact phases

How many of the exact transitions each detector finds, with its false alarms and the median latency
in branches. The hot spot detector signals when control has *left* the known hot spots, and when a
hot spot is *detected*. *Entered* also has the entries of known hot spots, and *trigger* is the
trigger counter; these two are designs of our own.

| program | phases | transitions | left | detected | entered | trigger |
|---|--:|--:|---|---|---|---|
"
    .to_owned();
    for program in programs {
        let phases = &program.phases.phases;
        let segments: usize = phases.iter().map(|phase| phase.segments.len()).sum();
        let cell = |name: &str| {
            let mut detectors = program.phases.detectors.iter();
            let detector = detectors.find(|detector| detector.detector == name);
            detector.map_or_else(String::new, found)
        };
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            program.workload.name,
            phases.len(),
            segments.saturating_sub(1),
            cell("hot_spots_left"),
            cell("hot_spot_detected"),
            cell("hot_spot_entered"),
            cell("trigger"),
        );
    }
    text
}

/// The results of a detector, in words.
fn found(detector: &Detector) -> String {
    let late = match detector.median_latency {
        Some(branches) => format!(", {branches} late"),
        None => String::new(),
    };
    format!(
        "{} found, {} missed, {} of {} signals false{late}",
        detector.found, detector.missed, detector.false_alarms, detector.signals
    )
}
