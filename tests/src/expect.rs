//! Holds a report against what a program's directives expect.

use crate::directives::{Directives, Expectation};
use crate::kind::Kind;
use crate::report::{Block, ExecutedPath, Function, Report};
use std::collections::{HashMap, HashSet};

/// Marks of lines: (file name, line) to label.
pub type Labels = HashMap<(String, u64), String>;

/// Every expectation that does not hold, one line each; none: all is well.
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
            let found = report.named(name).map(|f| f.paths.len() as u64).sum();
            differs(&format!("different paths of {name}"), found, *count)
        }
        Expectation::Possible(name, count, at_least) => {
            let found: u64 = report.named(name).map(|f| f.possible_paths).sum();
            if *at_least && found >= *count {
                None
            } else {
                differs(&format!("possible paths of {name}"), found, *count)
            }
        }
        Expectation::Runs(label, count) => {
            let found = runs(report, kind, label, labels);
            differs(&format!("runs of line @{label}"), found, *count)
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
            let found = report.named(function).map(between).sum();
            differs(
                &format!("edge @{from} to @{to} of {function}"),
                found,
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
            let found = report.functions.iter().map(left).sum::<i64>();
            differs(&format!("frames left at line @{label}"), found, *count)
        }
        Expectation::Path {
            function,
            count,
            words,
        } => {
            let paths: Vec<&ExecutedPath> = report.named(function).flat_map(|f| &f.paths).collect();
            let found = paths
                .iter()
                .filter(|p| words_of(p, labels) == *words)
                .map(|p| p.count)
                .sum();
            let line = differs(
                &format!("path {} of {function}", words.join(" ")),
                found,
                *count,
            )?;
            let all: Vec<String> = paths
                .iter()
                .map(|p| format!("{} {}", p.count, words_of(p, labels).join(" ")))
                .collect();
            Some(format!("{line}; there are: {}", all.join(" | ")))
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
    what: &str,
    found: T,
    expected: T,
) -> Option<String> {
    (found != expected).then(|| format!("{what}: {found}, not {expected}"))
}

/// Times a marked line ran: runs of paths through it, or, where not all that ran is on a path,
/// arrivals at its blocks.
#[must_use]
pub fn runs(report: &Report, kind: Kind, label: &str, labels: &Labels) -> u64 {
    let is_on_paths = !kind.has_exits() && !kind.counts_edges();
    let of = if is_on_paths { runs_of_paths } else { arrivals };
    report.functions.iter().map(|f| of(f, label, labels)).sum()
}

/// Runs of paths through a marked line.
fn runs_of_paths(function: &Function, label: &str, labels: &Labels) -> u64 {
    let paths = function.paths.iter();
    paths
        .filter(|p| words_of(p, labels).iter().any(|w| w == label))
        .map(|p| p.count)
        .sum()
}

/// Times control came to the blocks of a marked line from elsewhere, from them by a jump backwards
/// (a loop on that line), or out of a call that came back once more.
fn arrivals(function: &Function, label: &str, labels: &Labels) -> u64 {
    let mut blocks = marked(function, label, labels);
    // What has no place in the source belongs to where it comes from.
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

/// Blocks with all that runs straight on from them: behind a call that may not come back a block is
/// divided.
fn with_parts(function: &Function, mut blocks: HashSet<i64>) -> HashSet<i64> {
    let mut open: Vec<i64> = blocks.iter().copied().collect();
    while let Some(block) = open.pop() {
        let mut on = function.edges.iter().filter(|e| e.0 == block);
        if let (Some((_, next, _)), None) = (on.next(), on.next())
            && *next != -1
            && function.edges.iter().filter(|e| e.1 == *next).count() == 1
            && blocks.insert(*next)
        {
            open.push(*next);
        }
    }
    blocks
}

/// The blocks that a marked line lies in.
fn marked(function: &Function, label: &str, labels: &Labels) -> HashSet<i64> {
    let holds = |place: &String| label_of(place, labels).is_some_and(|l| l == label);
    let blocks = function.blocks.iter();
    blocks
        .filter(|block| block.places.iter().any(holds))
        .map(|block| block.id)
        .collect()
}

/// Start, marked lines in order (each once in a row), end.
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
