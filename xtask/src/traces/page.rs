//! Writes docs/studies/traces.md: the tables of both papers for our suite. The last part of the
//! page is written by hand and is kept.

use super::files::{COMPRESSORS, Packed, SEQUITUR_SYMBOLS};
use super::forests::KS;
use super::hot::{COSTS, LENGTHS};
use super::results::{Program, Study};
use super::stopwatch::rate;
use anyhow::{Context, Result};
use holloway_analysis::loops::Limits;
use std::fmt::Write;
use std::path::Path;

/// The text before the tables.
const HEAD: &str = "\
# Traces and sequences over iterations, in numbers

Written by `cargo xtask study traces`, except for the [notes](#notes). This page has the tables and
figures of two papers, for our suite: \"Whole Program Paths\" (Larus 1999), and the paper on
k-iteration paths (D'Elia, Demetrescu, Finocchi 2013). It also compares our files with those of
general compressors.

How the figures were taken:

- The programs ran without a collector. Each wrote its own stream, and the study read the streams.
- A *word* is 4 bytes of a stream: one path that ended.
- Speeds are by CPU time.
- A file is made in two steps: the first makes blocks of the grammar, the second codes and writes
  them. The study ran both steps in one thread. The column \"ours s\" is the time of both steps.
  \"Words to file\" is the speed of the slower step, because the collector runs them in parallel.
- The three compressors ran at the same time, on two cores. Our steps ran alone. So the compressors
  look slower than they are, by an amount that was not measured.
- Each trace was expanded from the grammar in its file. It was equal to the recorded trace, path for
  path.
";

/// The text before the table of whole program paths.
const WPP_HEAD: &str = "\
## Whole program paths

The paper's Table 1.

- **trace MB**: the words that the threads appended, four bytes a path.
- **file KB**: the `.hwt` file, with arithmetic coding. The paper's file is the grammar as text.
- **paths**: distinct paths. **rules a path**: the rules of the grammar divided by the paths.

";

/// The text before the table of speeds, without its last item, which has a figure.
const SPEEDS_HEAD: &str = "\
## Speed of the grammar

In million paths per second:

- **words to file**: as in the collector. One thread makes blocks, another one codes and writes
  them. The figure is the speed of the slower one.
- **in one thread**: both steps, one after the other.
- **words to blocks**: the first step. **builder**: a part of this step, from path numbers to
  tokens.
- **file to grammar**: reading the file.
";

/// The line before the part that is written by hand.
const BY_HAND: &str =
    "<!-- Below this line the page is written by hand; `cargo xtask study traces` keeps it. -->";

/// Writes the page, and keeps the part that is written by hand.
///
/// # Errors
/// If the page cannot be written.
pub(super) fn write(study: &Study, file: &Path) -> Result<()> {
    let old = std::fs::read_to_string(file).unwrap_or_default();
    let by_hand = old.split_once(BY_HAND).map_or("\n", |(_, rest)| rest);
    let page = format!("{HEAD}\n{}\n{BY_HAND}{by_hand}", tables(study));
    std::fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))
}

/// Formats all tables.
pub(super) fn tables(study: &Study) -> String {
    let options = &study.options;
    let mut text = format!(
        "Measured on: {}. The study kept at most the first {} words of\neach program.\n",
        study.machine,
        count(options.max_words)
    );
    text += &verdicts(study);
    text += &format!("\n{WPP_HEAD}");
    text += &wpp(study);
    text += &format!(
        "\n{SPEEDS_HEAD}\
         - **plain SEQUITUR**: the paper's algorithm, on at most the first {} paths. The last columns\n  \
         have the number of these paths and of its rules.\n\n",
        count(SEQUITUR_SYMBOLS as u64)
    );
    text += &speeds(study);
    text += &format!(
        "\n## Beside general compressors\n\n\
         Of at most the first {} words. Each compressor has two columns: the size of its file, and\n\
         its time. The ratios in brackets are to our size and our time.\n\n",
        count(options.compare)
    );
    text += &compressors(study);
    text += &format!(
        "\n## Minimal hot subpaths\n\n\
         The paper's Figure 9: the number of minimal hot subpaths with at least ten paths, in the first\n\
         {} words of the first thread. The columns are the maximum length that was searched, in paths.\n\
         *Cost* is the minimum cost of a subpath in instructions.\n\n",
        count(options.figures)
    );
    text += &hot(study);
    text += &forests(study);
    text
}

/// Formats the targets, each compared with the results.
fn verdicts(study: &Study) -> String {
    let programs = &study.programs;
    let total = programs.len();
    let share = |is_good: &dyn Fn(&Program) -> bool| {
        let good = programs.iter().filter(|p| is_good(p)).count();
        format!("{good} of {total}")
    };
    let slowest = |rate: &dyn Fn(&Program) -> f64| {
        let least = programs.iter().map(|p| (rate(p), p.workload.name));
        let least = least.min_by(|a, b| a.0.total_cmp(&b.0));
        least.map_or_else(String::new, |(x, name)| format!("{x:.1} ({name})"))
    };
    let zstd = |p: &Program| p.trace.compared.others[1];
    let xz = |p: &Program| p.trace.compared.others[2];
    let ours = |p: &Program| p.trace.compared.ours;
    let words_to_file = |p: &Program| rate(p.trace.words, p.trace.slower());
    let rows = [
        (
            "file no larger than zstd -19",
            "≥ 75 % of the traces",
            share(&|p| ours(p).bytes <= zstd(p).bytes),
        ),
        (
            "file no larger than xz -9e",
            "",
            share(&|p| ours(p).bytes <= xz(p).bytes),
        ),
        (
            "made ≥ 20 times faster than zstd -19",
            "all",
            share(&|p| times(zstd(p), ours(p)) >= 20.0),
        ),
        (
            "words to file, slowest trace, million paths a second",
            "≥ 60",
            slowest(&words_to_file),
        ),
        (
            "grammar's builder alone, slowest trace",
            "≥ 60",
            slowest(&|p| rate(p.trace.stats.paths.0, p.trace.builder)),
        ),
        (
            "words to file at ≥ 500 million paths a second",
            "regular traces",
            share(&|p| words_to_file(p) >= 500.0),
        ),
        (
            "forest of k = 8 no slower than hashed counters",
            "all",
            share(&|p| p.forests.forests[4].rate >= p.forests.hashed),
        ),
    ];
    let mut text = String::from("\n## Targets\n\n| target | reach | measured |\n|---|---|---|\n");
    for (name, limit, measured) in rows {
        line(&mut text, format_args!("| {name} | {limit} | {measured} |"));
    }
    text
}

fn wpp(study: &Study) -> String {
    let mut text = String::from(
        "| program | events | trace MB | file KB | trace / file | threads | paths | rules | rules a path | grammar's symbols |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Program {
        workload, trace, ..
    } in &study.programs
    {
        let (stats, bytes) = (&trace.stats, 4 * trace.words);
        line(
            &mut text,
            format_args!(
                "| {} | {} | {:.1} | {:.1} | {:.1} | {} | {} | {} | {:.1} | {} |",
                workload.name,
                count(stats.events.0),
                bytes as f64 / 1e6,
                trace.bytes as f64 / 1e3,
                bytes as f64 / trace.bytes as f64,
                workload.threads,
                stats.distinct_paths,
                stats.rules,
                stats.rules as f64 / stats.distinct_paths.max(1) as f64,
                stats.symbols,
            ),
        );
    }
    text
}

fn speeds(study: &Study) -> String {
    let mut text = String::from(
        "| program | words to file | in one thread | words to blocks | builder | file to grammar | plain SEQUITUR | of paths | its rules |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for Program {
        workload, trace, ..
    } in &study.programs
    {
        let paths = trace.stats.paths.0;
        let sequitur = &trace.sequitur;
        line(
            &mut text,
            format_args!(
                "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} | {} |",
                workload.name,
                rate(paths, trace.slower()),
                rate(paths, trace.whole),
                rate(paths, trace.block_making),
                rate(paths, trace.builder),
                rate(paths, trace.reading),
                rate(sequitur.symbols, sequitur.time),
                count(sequitur.symbols),
                sequitur.rules,
            ),
        );
    }
    text
}

fn compressors(study: &Study) -> String {
    let names: String = COMPRESSORS
        .iter()
        .map(|words| format!(" {} {} | |", words[0], words[1]))
        .collect();
    let mut text = format!("| program | raw KB | ours KB | ours s |{names}\n|---|---|---|---|");
    text += &"---|".repeat(2 * COMPRESSORS.len());
    text += "\n";
    for Program {
        workload, trace, ..
    } in &study.programs
    {
        let compared = &trace.compared;
        let ours = compared.ours;
        text += &format!(
            "| {} | {:.0} | {:.1} | {:.3} |",
            workload.name,
            compared.raw as f64 / 1e3,
            ours.bytes as f64 / 1e3,
            ours.time.as_secs_f64(),
        );
        for other in &compared.others {
            text += &format!(
                " {:.1} KB ({:.2}×) | {:.3} s ({:.1}×) |",
                other.bytes as f64 / 1e3,
                other.bytes as f64 / ours.bytes as f64,
                other.time.as_secs_f64(),
                times(*other, ours),
            );
        }
        text += "\n";
    }
    text
}

/// The ratio of the first time to the second.
fn times(a: Packed, b: Packed) -> f64 {
    a.time.as_secs_f64() / b.time.as_secs_f64().max(1e-9)
}

fn hot(study: &Study) -> String {
    let lengths: String = LENGTHS.iter().map(|n| format!(" ≤ {n} |")).collect();
    let mut text = format!("| program | cost |{lengths}\n|---|---|");
    text += &"---|".repeat(LENGTHS.len());
    text += "\n";
    for program in &study.programs {
        for (cost, counts) in COSTS.iter().zip(&program.hot) {
            let counts: String = counts.iter().map(|n| format!(" {n} |")).collect();
            let name = program.workload.name;
            line(
                &mut text,
                format_args!("| {name} | ≥ {} |{counts}", count(*cost)),
            );
        }
    }
    text
}

fn forests(study: &Study) -> String {
    let figures = count(study.options.figures);
    let ks: String = KS.iter().map(|k| format!(" k = {k} |")).collect();
    let mut text = String::from("\n## Forests over k iterations\n");
    let table = |text: &mut String, title: &str, first: &str, cell: &dyn Fn(&Program) -> String| {
        let extra_columns = usize::from(!first.is_empty());
        let head = if first.is_empty() {
            String::new()
        } else {
            format!(" {first} |")
        };
        *text += &format!("\n{title}\n\n| program |{head}{ks}\n|---|");
        *text += &"---|".repeat(KS.len() + extra_columns);
        *text += "\n";
        for program in &study.programs {
            let cells = cell(program);
            line(text, format_args!("| {} |{cells}", program.workload.name));
        }
    };
    table(
        &mut text,
        &format!(
            "The speed of building the slab forest, in million words per second, of at most the first {}\n\
             words. *Hashed counters* is the speed of a hash table with one counter for each path. A forest has\n\
             at most {} nodes. To stay within this limit, it drops nodes. The share in brackets is that of\n\
             the words in dropped nodes.",
            count(study.options.forests),
            count(Limits::default().nodes as u64)
        ),
        "hashed counters",
        &|p| {
            let rates = p.forests.forests.iter().map(|f| match f.dropped {
                0.0 => format!(" {:.1} |", f.rate),
                dropped => format!(" {:.1} ({:.0} %) |", f.rate, 100.0 * dropped),
            });
            format!(" {:.1} |{}", p.forests.hashed, rates.collect::<String>())
        },
    );
    let cells = |cell: &dyn Fn(&super::forests::Forest) -> String, p: &Program| -> String {
        let forests = p.forests.forests.iter();
        forests.map(|f| format!(" {} |", cell(f))).collect()
    };
    let title = format!(
        "Figure 11, of the first {figures} words: the number of nodes of the slab forest, and after the slash\n\
         the number of nodes of the k-iteration path forest that is made from it."
    );
    table(&mut text, &title, "", &|p| {
        cells(&|f| format!("{} / {}", f.nodes, f.kipf.nodes), p)
    });
    table(
        &mut text,
        "Hash operations for each word, counted as in the paper: one for each slab.",
        "",
        &|p| cells(&|f| format!("{:.3}", f.lookups), p),
    );
    table(
        &mut text,
        "Figure 13: the average number of children of the inner nodes of the k-iteration path forest.",
        "",
        &|p| cells(&|f| format!("{:.2}", f.kipf.inner_degree()), p),
    );
    table(
        &mut text,
        "Figure 14: the average level of the leaves of this forest. Roots are on level 1.",
        "",
        &|p| cells(&|f| format!("{:.2}", f.kipf.leaf_level()), p),
    );
    text
}

/// A number with separators between thousands.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string takes everything");
}
