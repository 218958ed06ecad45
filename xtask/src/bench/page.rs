//! Formats the tables for the terminal and for docs/benchmarks.md. The last part of the page is
//! written by hand and is kept.

use super::paper;
use super::results::Results;
use super::rounds::{Measured, Row};
use super::samples::Samples;
use super::setup::{BURSTS, Setup};
use super::summary::mean;
use super::targets::{self, Verdict, percent};
use anyhow::{Context, Result};
use holloway_tests::workload::Flavor;
use std::fmt::Write;
use std::path::Path;

/// The text before the tables.
const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask bench` down to the line that says otherwise. The same programs, inputs and optimization level (`-O2` for C,
`--release` for Rust) in each flavor: *native*; *paths*: every path counted, exactly; *edges*: every edge counted, exactly; *peer*: the
compilers' own edge counters (clang's `-fprofile-generate`, rustc's `-Cprofile-generate`), which lose counts under threads. The flavors run in
turn, round by round; a ratio is the median of the rounds' ratios to native, ± the width of their middle half; times are medians of
wall-clock seconds. Every flavor's output was the native one. What stands under \"Streams\" was run by `holloway run`, whose collector analyses
the stream while the program runs: the times are of both, to the end of the collector.
";

/// The line before the part that is written by hand.
const BY_HAND: &str =
    "<!-- Below this line the page is written by hand; `cargo xtask bench` keeps it. -->";

/// The machine was too noisy if the ratios of half of the programs have a larger spread.
const MAX_SPREAD: f64 = 0.05;

/// Returns the reason why the results are not worth keeping, if there is one.
pub(crate) fn too_noisy(results: &Results) -> Option<String> {
    let mut spreads = Samples::default();
    for row in results.suite.iter().filter(|r| r.workload.threads == 1) {
        row.ratios(Setup::WithoutCollector(Flavor::Paths))
            .into_iter()
            .for_each(|r| spreads.push(r.spread()));
    }
    let middle = spreads.median();
    (middle > MAX_SPREAD).then(|| {
        format!(
            "half of the ratios spread over more than {:.0} %",
            middle * 100.0
        )
    })
}

/// Writes the page, and keeps the part that is written by hand.
///
/// # Errors
/// If the page cannot be written.
pub(crate) fn write(results: &Results, file: &Path) -> Result<()> {
    let old = std::fs::read_to_string(file).unwrap_or_default();
    let by_hand = old.split_once(BY_HAND).map_or("\n", |(_, rest)| rest);
    let page = format!(
        "{HEAD}\nMeasured on {}, on {}. What this run did not measure is not in its tables.\n\n{}\n{BY_HAND}{by_hand}",
        results.date,
        results.machine,
        tables(results)
    );
    std::fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))
}

/// Formats all tables of a run.
pub(crate) fn tables(results: &Results) -> String {
    let mut text = String::from("## Targets\n\n");
    text += &targets_table(results);
    for (title, threads) in [("One thread", 1), ("Two threads", 2)] {
        let rows: Vec<&Row> = results
            .suite
            .iter()
            .filter(|r| r.workload.threads == threads)
            .collect();
        let (title, table) = (title.to_owned(), times_table_with_mean(&rows, Part::Counts));
        text += &format!("\n## {title}\n\n{table}");
    }
    text += &streams_tables(results);
    text += "\n## Tight loops\n\nOne C file each in tests/workloads/micro; no part of the means above.\n\n";
    text += &times_table(&results.micro.iter().collect::<Vec<_>>(), Part::Counts);
    text += &exact_table(results);
    text += "\n## Memory and code\n\nPeak memory of the largest process (of streams: the collector's, too), and bytes of machine code, over the native program's.\n\n";
    text += &space_table(results);
    text += &builds_table(results);
    text += &paper::table(results);
    text
}

/// Formats a table for tuning, with minima and medians of times.
pub(crate) fn tuning(results: &Results) -> String {
    let mut text = String::from(
        "| program | flavor | median s | ratio of medians by round | of minima | of processor time | peak MiB | code |\n|---|---|---|---|---|---|---|---|\n",
    );
    for row in results.suite.iter().chain(&results.micro) {
        let native = row.native();
        for m in &row.setups {
            let ratio = m.seconds.over(&native.seconds);
            line(
                &mut text,
                format_args!(
                    "| {} | {} | {:.3} | {} | {:.3}× | {:.3}× | {:.1} | {:.2}× |",
                    row.workload.name,
                    m.setup.name(),
                    m.seconds.median(),
                    times(&ratio),
                    m.seconds.least() / native.seconds.least(),
                    m.cpu.over(&native.cpu).median(),
                    m.peak.median() / f64::from(1 << 20),
                    m.code as f64 / native.code as f64,
                ),
            );
        }
    }
    let setups: Vec<Setup> = results.suite.first().map_or_else(Vec::new, |row| {
        row.setups.iter().skip(1).map(|m| m.setup).collect()
    });
    for (threads, setup) in [1, 2]
        .into_iter()
        .flat_map(|t| setups.iter().map(move |w| (t, *w)))
    {
        if let Some(mean) = mean(&results.suite, threads, setup) {
            line(
                &mut text,
                format_args!(
                    "\ngeometric mean, {threads} thread(s), {}: {}",
                    setup.name(),
                    percent(mean)
                ),
            );
        }
    }
    text
}

fn targets_table(results: &Results) -> String {
    let mut text = String::from("| target | reach | measured | |\n|---|---|---|---|\n");
    for t in targets::all(results) {
        let verdict = match t.verdict {
            Verdict::Reached => "reached".to_owned(),
            Verdict::MissedBy(excess) => format!("**missed** by {excess}"),
        };
        line(
            &mut text,
            format_args!("| {} | {} | {} | {verdict} |", t.name, t.limit, t.measured),
        );
    }
    text
}

/// The setups of running programs that a table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Programs that run without a collector, and the peers.
    Counts,
    /// Programs that run with a collector.
    Streams,
}

impl Part {
    /// The setups of a row that belong to this part, except native.
    fn setups(self, row: Option<&&Row>) -> Vec<Setup> {
        let setups = row.into_iter().flat_map(|row| &row.setups).skip(1);
        let setups = setups.map(|m| m.setup);
        setups
            .filter(|setup| setup.is_stream() == (self == Self::Streams))
            .collect()
    }
}

/// Formats the cost of streams. The result is empty if no stream was measured.
fn streams_tables(results: &Results) -> String {
    let mut text = String::new();
    for (title, threads) in [("Streams, one thread", 1), ("Streams, two threads", 2)] {
        let rows = results.suite.iter();
        let rows: Vec<&Row> = rows.filter(|r| r.workload.threads == threads).collect();
        if !Part::Streams.setups(rows.first()).is_empty() {
            let table = times_table_with_mean(&rows, Part::Streams);
            text += &format!("\n## {title}\n\n{table}");
        }
    }
    text
}

/// Formats native seconds and the ratio of each other setup.
fn times_table(rows: &[&Row], part: Part) -> String {
    let others = part.setups(rows.first());
    if rows.is_empty() {
        return String::new();
    }
    let counted = part == Part::Counts;
    let mut text = String::from("| program | | native s |");
    (others.iter()).for_each(|setup| text += &format!(" {} |", setup.name()));
    text += if counted { " paths counted |\n" } else { "\n" };
    text += "|---|---|---|";
    text += &"---|".repeat(others.len() + usize::from(counted));
    text += "\n";
    for row in rows {
        text += &times_row(row, &others);
        if counted {
            let paths = row.totals.map(|t| format!("{:.1} M", t.paths as f64 / 1e6));
            text += &format!(" {} |", paths.unwrap_or_default());
        }
        text += "\n";
    }
    text
}

/// [`times_table`], with the geometric mean of each ratio in the last row.
fn times_table_with_mean(rows: &[&Row], part: Part) -> String {
    let mut text = times_table(rows, part);
    if rows.is_empty() {
        return text;
    }
    text += "| **geometric mean** | | |";
    for setup in part.setups(rows.first()) {
        let slowdowns = rows.iter().filter_map(|r| r.slowdown(setup));
        text += &format!(" **{:.3}×** |", super::samples::geometric_mean(slowdowns));
    }
    text += match part {
        Part::Counts => " |\n",
        Part::Streams => "\n",
    };
    text
}

fn times_row(row: &Row, others: &[Setup]) -> String {
    let native = &row.native().seconds;
    let mut text = format!(
        "| {} | {} | {:.3} ± {:.1} % |",
        row.workload.name,
        row.workload.about,
        native.median(),
        native.spread() * 100.0
    );
    for setup in others {
        let ratios = row.ratios(*setup);
        text += &format!(" {} |", ratios.map_or_else(String::new, |r| times(&r)));
    }
    text
}

fn exact_table(results: &Results) -> String {
    let mut text = String::new();
    if results.exact.is_empty() {
        return text;
    }
    text += "\nCalls of that small function found in the profiles:\n\n| threads | calls made | paths | edges | peer |\n|---|---|---|---|---|\n";
    for c in &results.exact {
        let share = |n: u64| {
            if n == c.made {
                "all".to_owned()
            } else {
                format!("{:.1} %", n as f64 / c.made as f64 * 100.0)
            }
        };
        line(
            &mut text,
            format_args!(
                "| {} | {} | {} | {} | {} |",
                c.threads,
                c.made,
                share(c.ours[0]),
                share(c.ours[1]),
                share(c.peers)
            ),
        );
    }
    text
}

fn space_table(results: &Results) -> String {
    let Some(first) = results.suite.first() else {
        return String::new();
    };
    // The memory table shows one setup of each kind.
    let setups = first.setups.iter().skip(1).map(|m| m.setup);
    let is_left_out = |setup: &Setup| match *setup {
        Setup::Loops(k) => k != 8,
        Setup::Variation(pass) => pass != BURSTS[0],
        setup => setup == Setup::LoopsOneCore,
    };
    let others: Vec<Setup> = setups.filter(|setup| !is_left_out(setup)).collect();
    let names: String = others.iter().map(|w| format!(" {} |", w.name())).collect();
    let mut text = format!("| program | native MiB |{names} native code KiB |{names}");
    text += &format!("\n|---|{}\n", "---|".repeat(2 + 2 * others.len()));
    for row in &results.suite {
        let native = row.native();
        text += &format!(
            "| {} | {:.1} |",
            row.workload.name,
            native.peak.median() / f64::from(1 << 20)
        );
        let over = |figure: &dyn Fn(&Measured) -> f64| -> String {
            others
                .iter()
                .filter_map(|f| row.of(*f))
                .map(|m| format!(" {:.2}× |", figure(m) / figure(native)))
                .collect()
        };
        text += &over(&|m| m.peak.median());
        text += &format!(" {:.0} |", native.code as f64 / 1024.0);
        text += &over(&|m| m.code as f64);
        text += "\n";
    }
    text
}

fn builds_table(results: &Results) -> String {
    let mut text = String::new();
    let Some(builds) = &results.builds else {
        return text;
    };
    text += "\n## Build times\n\nWith all dependencies, from nothing built or cached (*first*), and again after a function was added to the program's own crate (*second*): `cargo build --release` and `cargo holloway build --release`, of SQLite `clang -O2` and `holloway cc -O2`. brotli and oxipng have `lto = \"fat\"`. CPU time is that of all processes, user and system. `cargo xtask study builds` measures only this table.\n\n";
    text + &builds.table()
}

/// Formats a ratio with its spread.
fn times(ratios: &Samples) -> String {
    format!("{:.3}× ± {:.1} %", ratios.median(), ratios.spread() * 100.0)
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string takes everything");
}
