//! Compares a report with the expectations in a program's directives.

use crate::directives::{Directives, Expectation};
use crate::kind::Kind;
use crate::report::{Block, ExecutedPath, Function, Report};
use std::collections::{HashMap, HashSet};

/// The marked lines: (file name, line) to label.
pub type Labels = HashMap<(String, u64), String>;

/// Returns a message for each expectation that does not hold.
#[must_use]
pub fn failures<'a>(
    report: &Report,
    kind: Kind,
    directives: &Directives,
    expectations: impl IntoIterator<Item = &'a Expectation>,
) -> Vec<String> {
    expectations
        .into_iter()
        .filter_map(|e| failure(report, kind, &directives.labels, e))
        .collect()
}

fn failure(
    report: &Report,
    kind: Kind,
    labels: &Labels,
    expectation: &Expectation,
) -> Option<String> {
    let unknown = expectation
        .marks()
        .into_iter()
        .find(|mark| !labels.values().any(|label| label == mark));
    if let Some(mark) = unknown {
        return Some(format!("no line is marked // @{mark}"));
    }
    match expectation {
        Expectation::Calls(name, count) => {
            differs(&format!("calls of {name}"), report.calls(name), *count)
        }
        Expectation::Total(name, count) => differs(
            &format!("paths run in {name}"),
            report.named(name).map(Function::total).sum(),
            *count,
        ),
        Expectation::Distinct(name, count) => {
            let actual = report.named(name).map(|f| f.paths.len() as u64).sum();
            differs(&format!("different paths of {name}"), actual, *count)
        }
        Expectation::Possible(name, count, at_least) => {
            let actual: u64 = report.named(name).map(|f| f.possible_paths).sum();
            if *at_least && actual >= *count {
                None
            } else {
                differs(&format!("possible paths of {name}"), actual, *count)
            }
        }
        Expectation::Runs(label, count) => {
            let actual = runs(report, kind, label, labels);
            differs(&format!("runs of line @{label}"), actual, *count)
        }
        Expectation::Edge {
            function,
            from,
            to,
            count,
        } => {
            let between = |f: &Function| -> u64 {
                let from = with_parts(f, marked(f, from, labels));
                let to = marked(f, to, labels);
                let edges = f.edges.iter();
                edges
                    .filter(|e| from.contains(&e.0) && to.contains(&e.1))
                    .map(|e| e.2)
                    .sum()
            };
            let actual = report.named(function).map(between).sum();
            differs(
                &format!("edge @{from} to @{to} of {function}"),
                actual,
                *count,
            )
        }
        Expectation::Left(label, count) => {
            let left = |f: &Function| -> i64 {
                let blocks = marked(f, label, labels);
                let exits = f.left.iter();
                exits
                    .filter(|(block, _)| blocks.contains(block))
                    .map(|(_, count)| count)
                    .sum()
            };
            let actual = report.functions.iter().map(left).sum::<i64>();
            differs(&format!("frames left at line @{label}"), actual, *count)
        }
        Expectation::Path {
            function,
            count,
            words,
        } => {
            let paths: Vec<&ExecutedPath> = report.named(function).flat_map(|f| &f.paths).collect();
            let actual = paths
                .iter()
                .filter(|p| words_of(p, labels) == *words)
                .map(|p| p.count)
                .sum();
            let line = differs(
                &format!("path {} of {function}", words.join(" ")),
                actual,
                *count,
            )?;
            let path_list: Vec<String> = paths
                .iter()
                .map(|p| format!("{} {}", p.count, words_of(p, labels).join(" ")))
                .collect();
            Some(format!("{line}; there are: {}", path_list.join(" | ")))
        }
        Expectation::Skipped(name) => {
            let listed = report
                .skipped
                .iter()
                .any(|(n, _)| n == name || n.rsplit("::").next() == Some(name));
            (!listed).then(|| format!("{name} isn't listed as skipped"))
        }
    }
}

fn differs<T: PartialEq + Copy + std::fmt::Display>(
    subject: &str,
    actual: T,
    expected: T,
) -> Option<String> {
    (actual != expected).then(|| format!("{subject}: {actual}, not {expected}"))
}

/// Returns how often a marked line ran: the executions of paths through it, or the arrivals at its
/// blocks if not all executions are on paths.
#[must_use]
pub fn runs(report: &Report, kind: Kind, label: &str, labels: &Labels) -> u64 {
    let is_on_paths = !kind.has_exits() && !kind.counts_edges();
    let count = if is_on_paths { runs_of_paths } else { arrivals };
    report
        .functions
        .iter()
        .map(|f| count(f, label, labels))
        .sum()
}

/// Executions of paths through a marked line.
fn runs_of_paths(function: &Function, label: &str, labels: &Labels) -> u64 {
    let paths = function.paths.iter();
    paths
        .filter(|p| words_of(p, labels).iter().any(|w| w == label))
        .map(|p| p.count)
        .sum()
}

/// Returns how often control came to the blocks of a marked line: from other blocks, from these
/// blocks by a jump backward (a loop on that line), or from a call that came back once more.
fn arrivals(function: &Function, label: &str, labels: &Labels) -> u64 {
    let mut blocks = marked(function, label, labels);
    // A block without places belongs to the blocks before it.
    for block in function.blocks.iter().filter(|b| b.places.is_empty()) {
        let mut before = function.edges.iter().filter(|e| e.1 == block.id);
        if before.all(|e| blocks.contains(&e.0)) {
            blocks.insert(block.id);
        }
    }
    let sum = |wanted: &dyn Fn(i64, i64) -> bool| -> u64 {
        let edges = function.edges.iter();
        edges.filter(|e| wanted(e.0, e.1)).map(|e| e.2).sum()
    };
    let again = |block: &&Block| blocks.contains(&block.id);
    let again = function.blocks.iter().filter(again);
    let again: u64 = again
        .map(|b| b.count.saturating_sub(sum(&|_, to| to == b.id)))
        .sum();
    again + sum(&|from, to| blocks.contains(&to) && (!blocks.contains(&from) || from >= to))
}

/// Adds to the blocks all blocks that always run after them: blocks are divided after calls that
/// may not come back.
fn with_parts(function: &Function, mut blocks: HashSet<i64>) -> HashSet<i64> {
    let mut worklist: Vec<i64> = blocks.iter().copied().collect();
    while let Some(block) = worklist.pop() {
        let mut out = function.edges.iter().filter(|e| e.0 == block);
        if let (Some((_, next, _)), None) = (out.next(), out.next())
            && *next != -1
            && function.edges.iter().filter(|e| e.1 == *next).count() == 1
            && blocks.insert(*next)
        {
            worklist.push(*next);
        }
    }
    blocks
}

/// The blocks that contain a place of a marked line.
fn marked(function: &Function, label: &str, labels: &Labels) -> HashSet<i64> {
    let holds = |place: &String| label_of(place, labels).is_some_and(|l| l == label);
    let blocks = function.blocks.iter();
    blocks
        .filter(|block| block.places.iter().any(holds))
        .map(|block| block.id)
        .collect()
}

/// A path as words: its start, its marked lines in order, and its end. A line that is repeated
/// without another line in between is listed once.
fn words_of(path: &ExecutedPath, labels: &Labels) -> Vec<String> {
    let mut words = vec![path.start.clone()];
    for place in &path.places {
        if let Some(label) = label_of(place, labels)
            && words.last() != Some(label)
        {
            words.push(label.clone());
        }
    }
    words.push(path.end.clone());
    words
}

fn label_of<'a>(place: &str, labels: &'a Labels) -> Option<&'a String> {
    let mut parts = place.rsplitn(3, ':');
    let (_column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let file = file.rsplit('/').next()?;
    labels.get(&(file.to_owned(), line.parse().ok()?))
}
