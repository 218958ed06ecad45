//! Writes docs/studies/paths.md: the tables of the slides for our suite. The averages of the slides
//! are the last rows of each table.

use super::record::Program;
use crate::slides::{self, COMMON, OVERHEADS, PREDICTIONS, Programs, common, overhead, prediction};
use anyhow::{Context, Result};
use std::path::Path;

/// The text before the tables.
const HEAD: &str = "\
# Paths of the suite, counted

Written by `cargo xtask study paths`: the tables of the slides on efficient path profiling (Ball,
Larus 1996) for our suite, as far as they are counts. Nothing here was timed. What counting costs is
in [the benchmarks](../benchmarks.md#the-path-papers-table). Averages are arithmetic, over programs,
as in the slides. Instructions of SPEC95 are the machine's, ours are LLVM's. Programs of two threads
(xz-2, zstd-2, parallel, ripgrep-2) divide their work as it comes, so their counts differ a little
from run to run.
";

/// The maximum width of a line of text.
const MAX_COLUMNS: usize = 100;

/// Writes the page.
///
/// # Errors
/// If the page cannot be written.
pub(super) fn write(programs: &[Program], file: &Path) -> Result<()> {
    let page = format!("{HEAD}\n{}", tables(programs));
    std::fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))
}

/// Formats all tables.
pub(super) fn tables(programs: &[Program]) -> String {
    format!(
        "{}\n{}\n{}\n{}",
        setting(programs),
        increments(programs),
        predictions(programs),
        overlaps(programs)
    )
}

/// Formats whether the runs counted frames that were left in calls.
fn setting(programs: &[Program]) -> String {
    let counted = |is: &dyn Fn(&Program) -> bool| {
        let on = programs.iter().filter(|p| is(p)).count();
        match on {
            0 => "are not counted".to_owned(),
            _ if on == programs.len() => "are counted (`--exits on`)".to_owned(),
            _ => format!("are counted in {on} of {} programs", programs.len()),
        }
    };
    let paths = counted(&|p| p.figures.paths.exits);
    let edges = counted(&|p| p.figures.edges.exits);
    let text = match paths == edges {
        true => format!("Frames that are left early {paths}."),
        false => format!(
            "Frames that are left early {paths} in the runs that count paths, and {edges} in those that count edges."
        ),
    };
    wrapped(&text) + "\n"
}

/// Formats the first table of the slides.
fn increments(programs: &[Program]) -> String {
    let mut table = Table::new(
        "## Increments",
        "How often a run increments counters. *Path increments* are those of path counters: one for each path that runs, and another one where a path \
         goes on behind a call that may not come back. *Edge increments* are those of the counters of an edge profile of the same run, as a multiple of the path increments. \
         *Hashed* is the share of path executions that were counted in hash tables. The slides have these columns beside the overheads. Lower is better.",
        [
            "paths (million)",
            "path increments (million)",
            "edge increments (× path)",
            "hashed %",
            "instructions a path",
        ],
        [1, 1, 1, 1, 1],
    );
    for Program { workload, figures } in programs {
        let (paths, edges) = (&figures.paths, &figures.edges);
        table.row(
            workload.name,
            [
                paths.paths as f64 / 1e6,
                paths.increments as f64 / 1e6,
                edges.increments_over(paths),
                paths.hashed_share() * 100.0,
                paths.length(),
            ],
        );
    }
    table.slides(&OVERHEADS, |row| {
        let million = row(overhead::MILLION);
        [
            million,
            million,
            row(overhead::EDGE_INCREMENTS),
            row(overhead::HASHED),
            row(overhead::LENGTH),
        ]
    });
    table.finish()
}

/// Formats the second table of the slides.
fn predictions(programs: &[Program]) -> String {
    let mut table = Table::new(
        "## Paths predicted from edges",
        "The paths that ran, and which of them an edge profile of the same run predicts (`holloway report --view paths-from-edges`). *Correct* is the slides' word: the share of the \
         distinct paths that are predicted. *Executions* is the share of path executions that are predicted right. The slides don't have it. It is mostly larger, as hot paths are predicted more often than cold ones. \
         *Longest* and *average* are lengths of the longest path and of the average execution. *Paths of a function* are the most in one function, and the average of those that ran. \
         The slides don't say how they predict. Ours takes the hottest edges that are left until all are explained.",
        [
            "paths",
            "longest: edges",
            "instructions",
            "average: edges",
            "instructions",
            "**correct %**",
            "executions %",
            "longest correct: edges",
            "instructions",
            "average correct: edges",
            "instructions",
            "functions",
            "paths of a function: most",
            "average",
        ],
        [0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1],
    );
    for Program { workload, figures } in programs {
        let prediction = &figures.prediction;
        let functions = prediction.functions.len() as f64;
        let most = prediction.functions.iter().map(|f| f.real.paths).max();
        let [real, right] = [&prediction.real, &prediction.right];
        let paths = real.paths as f64;
        table.row(
            workload.name,
            [
                paths,
                real.edges.longest as f64,
                real.instructions.longest as f64,
                real.edges.mean_run,
                real.instructions.mean_run,
                prediction.right_share.paths * 100.0,
                prediction.right_share.executions * 100.0,
                right.edges.longest as f64,
                right.instructions.longest as f64,
                right.edges.mean_run,
                right.instructions.mean_run,
                functions,
                most.unwrap_or(0) as f64,
                paths / functions.max(1.0),
            ],
        );
    }
    table.slides(&PREDICTIONS, |row| {
        use prediction as p;
        [
            row(p::PATHS),
            row(p::LONGEST[0]),
            row(p::LONGEST[1]),
            row(p::MEAN[0]),
            row(p::MEAN[1]),
            row(p::CORRECT),
            None,
            row(p::PREDICTED_LONGEST[0]),
            row(p::PREDICTED_LONGEST[1]),
            row(p::PREDICTED_MEAN[0]),
            row(p::PREDICTED_MEAN[1]),
            row(p::ROUTINES),
            row(p::OF_A_ROUTINE[0]),
            row(p::OF_A_ROUTINE[1]),
        ]
    });
    table.finish()
}

/// Formats the third table of the slides.
fn overlaps(programs: &[Program]) -> String {
    let mut table = Table::new(
        "## Paths and instructions in common",
        "What a run with another input (*train*) has in common with the full run (*ref*), by `holloway overlap TRAIN REF`. *Static* is the share of the distinct paths of either run that \
         both took. *Dynamic* is the share of the full run's path executions that were on such paths, and then of its instructions. Copies of a function in several modules are one \
         function here, so a run may have fewer paths than above. The slides print no averages of this table: theirs are the means of their rows.",
        [
            "paths in train",
            "in ref",
            "common",
            "static %",
            "dynamic %",
            "common instructions (million)",
            "dynamic %",
        ],
        [0, 0, 0, 1, 1, 1, 1],
    );
    for Program { workload, figures } in programs {
        let overlap = &figures.overlap;
        let percent = |part: u64, total: u64| part as f64 / total.max(1) as f64 * 100.0;
        let full = &overlap.b;
        table.row(
            &format!("{} ({})", workload.name, workload.training()),
            [
                overlap.a.distinct as f64,
                full.distinct as f64,
                overlap.common as f64,
                percent(overlap.common, overlap.union()),
                percent(full.common_executions, full.executions),
                full.common_instructions as f64 / 1e6,
                percent(full.common_instructions, full.instructions),
            ],
        );
    }
    table.slides(&COMMON, |row| {
        [
            None,
            None,
            row(common::PATHS),
            row(common::STATIC),
            row(common::DYNAMIC),
            row(common::INSTRUCTIONS).map(|n| n / 1e6),
            row(common::DYNAMIC_INSTRUCTIONS),
        ]
    });
    table.finish()
}

/// A Markdown table of numbers, with averages below its rows.
struct Table<const COLUMNS: usize> {
    text: String,
    decimals: [usize; COLUMNS],
    /// By column: whether its numbers are shares in percent.
    shares: [bool; COLUMNS],
    rows: Vec<[f64; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    fn new(title: &str, about: &str, heads: [&str; COLUMNS], decimals: [usize; COLUMNS]) -> Self {
        let mut text = format!("{title}\n\n{}\n\n| program |", wrapped(about));
        heads.iter().for_each(|head| text += &format!(" {head} |"));
        text += &format!("\n|---|{}\n", "--:|".repeat(COLUMNS));
        Self {
            text,
            decimals,
            shares: heads.map(|head| head.contains('%')),
            rows: Vec::new(),
        }
    }

    fn row(&mut self, name: &str, figures: [f64; COLUMNS]) {
        self.line(name, figures.map(Some));
        self.rows.push(figures);
    }

    /// Adds the averages of the suite and of the slides. `of` selects the columns of the slides
    /// that this table shows.
    fn slides<const THEIRS: usize>(
        &mut self,
        table: &slides::Table<THEIRS>,
        of: impl Fn(&dyn Fn(usize) -> Option<f64>) -> [Option<f64>; COLUMNS],
    ) {
        let count = self.rows.len().max(1) as f64;
        let mut means = [0.0; COLUMNS];
        for row in &self.rows {
            for (mean, figure) in means.iter_mut().zip(row) {
                *mean += figure / count;
            }
        }
        self.line("**the suite**", means.map(Some));
        for programs in Programs::EACH {
            let figures = of(&|column| Some(table.average(programs, column)));
            self.line(&format!("*{}*", programs.name()), figures);
        }
    }

    fn line(&mut self, name: &str, figures: [Option<f64>; COLUMNS]) {
        self.text += &format!("| {name} |");
        for (column, figure) in figures.into_iter().enumerate() {
            let places = self.decimals[column];
            let shown = match figure {
                None => String::new(),
                // A share below 100 % is not rounded to 100.0.
                Some(share) if self.shares[column] && (99.95..100.0).contains(&share) => {
                    "> 99.9".to_owned()
                }
                Some(figure) => format!("{figure:.places$}"),
            };
            self.text += &format!(" {shown} |");
        }
        self.text += "\n";
    }

    fn finish(self) -> String {
        self.text
    }
}

/// Wraps text into lines of at most [`MAX_COLUMNS`] columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("the first line always exists");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= MAX_COLUMNS {
            *line += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}
