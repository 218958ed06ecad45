//! The tables: on the terminal, as JSON below target/, as Markdown in docs/benchmarks.md.

use super::measure::{Samples, geometric_mean};
use super::{Builds, Results, Row};
use crate::root;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fmt::Write;

/// Prints the results and writes them down; docs/benchmarks.md only when all of it was measured, and in full.
///
/// # Errors
/// A file can't be written.
pub(crate) fn write(results: &Results, quick: bool, all: bool) -> Result<()> {
    let machine = machine();
    let table = markdown(results);
    println!("{machine}\n\n{table}");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let folder = target.join("bench");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("latest.json");
    let text = serde_json::to_string_pretty(&as_json(results, &machine, quick))?;
    std::fs::write(&file, text + "\n")
        .with_context(|| format!("cannot write {}", file.display()))?;
    let noise = noise(results);
    if noise > NOISY {
        println!(
            "the middle half of some ratio spreads over {:.0} %: too noisy for docs/benchmarks.md; run it on an idle machine",
            noise * 100.0
        );
    } else if all && !quick {
        let page = format!("{HEAD}\nMeasured on: {machine}.\n\n{table}");
        std::fs::write(root().join("docs/benchmarks.md"), page)?;
        println!("written to docs/benchmarks.md");
    }
    Ok(())
}

/// A spread of ratios beyond which the figures say more of the machine than of the programs.
const NOISY: f64 = 0.10;

/// The widest spread among the programs' ratios.
fn noise(results: &Results) -> f64 {
    let spreads = results
        .rows
        .iter()
        .flat_map(|r| [1, 2].map(|flavour| ratios(r, flavour).spread()));
    spreads.fold(0.0, f64::max)
}

const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask bench`; don't edit. The same program, input and optimisation level (`-O2` for C, `--release` for Rust),
*native*, *woven* (every path counted, exactly) and *peer* (the compilers' own edge counters: clang's `-fprofile-generate`,
rustc's `-Cprofile-generate`, which lose counts under threads) run in turn, round by round. Times are medians of wall-clock seconds,
± the middle half's width; a ratio is the median of the rounds' ratios to native, with the same width. `parallel` runs on all cores.
";

fn markdown(results: &Results) -> String {
    let mut text = String::new();
    if !results.rows.is_empty() {
        text += "| program | native s | woven s | peer s | paths counted | woven | peer |\n|---|---|---|---|---|---|---|\n";
        for row in &results.rows {
            let [native, woven, peer] = row.times.each_ref().map(seconds);
            let [w, p] = [1, 2].map(|flavour| times_native(&ratios(row, flavour)));
            line(
                &mut text,
                format_args!(
                    "| {} | {native} | {woven} | {peer} | {} | {w} | {p} |",
                    row.name,
                    millions(row.paths)
                ),
            );
        }
        let [w, p] =
            [1, 2].map(|i| geometric_mean(results.rows.iter().map(|r| ratios(r, i).median())));
        line(
            &mut text,
            format_args!("| **geometric mean** | | | | | **{w:.2}×** | **{p:.2}×** |"),
        );
    }
    if let Some(Builds { plain, woven }) = &results.builds {
        let ratio = woven.over(plain).median();
        text += "\n| build of ripgrep and its dependencies, from nothing | seconds |\n|---|---|\n";
        line(
            &mut text,
            format_args!("| `cargo build --release` | {} |", seconds(plain)),
        );
        line(
            &mut text,
            format_args!("| `cargo holloway build --release` | {} |", seconds(woven)),
        );
        line(&mut text, format_args!("| ratio | **{ratio:.2}×** |"));
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string takes everything");
}

fn seconds(samples: &Samples) -> String {
    format!(
        "{:.3} ± {:.1} %",
        samples.median(),
        samples.spread() * 100.0
    )
}

fn ratios(row: &Row, flavour: usize) -> Samples {
    row.times[flavour].over(&row.times[0])
}

fn times_native(ratios: &Samples) -> String {
    format!("{:.2}× ± {:.1} %", ratios.median(), ratios.spread() * 100.0)
}

fn millions(count: u64) -> String {
    format!("{:.1} M", count as f64 / 1e6)
}

fn as_json(results: &Results, machine: &str, quick: bool) -> Value {
    let rows: Vec<Value> = results
        .rows
        .iter()
        .map(|r| {
            let [native, woven, peer] = r.times.each_ref().map(Samples::all);
            json!({"program": r.name, "native": native, "woven": woven, "peer": peer, "path_executions": r.paths})
        })
        .collect();
    let builds = results
        .builds
        .as_ref()
        .map(|b| json!({"plain": b.plain.all(), "woven": b.woven.all()}));
    json!({"machine": machine, "quick": quick, "programs": rows, "ripgrep_build": builds})
}

/// Processor, cores, kernel: what a reader needs to place the figures, and nothing that names the machine.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .and_then(|l| l.split(": ").nth(1))
        .unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: String = kernel
        .trim()
        .split('.')
        .take(2)
        .collect::<Vec<_>>()
        .join(".");
    format!("{model}, {cores} cores, Linux {kernel}")
}
