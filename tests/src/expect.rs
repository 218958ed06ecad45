//! Holds a report against what a program's directives expect.

use crate::directives::{Directives, Expectation};
use crate::report::{Function, Path1, Report};
use std::collections::HashMap;

type Labels = HashMap<(String, u64), String>;

/// Every expectation that doesn't hold, one line each; none: all is well.
#[must_use]
pub fn failures<'a>(
    report: &Report,
    directives: &Directives,
    expectations: impl IntoIterator<Item = &'a Expectation>,
) -> Vec<String> {
    expectations
        .into_iter()
        .filter_map(|e| failure(report, &directives.labels, e))
        .collect()
}

fn failure(report: &Report, labels: &Labels, expectation: &Expectation) -> Option<String> {
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
            if !labels.values().any(|l| l == label) {
                return Some(format!("no line is marked // @{label}"));
            }
            let paths = report.functions.iter().flat_map(|f| &f.paths);
            let found = paths
                .filter(|p| words_of(p, labels).iter().any(|w| w == label))
                .map(|p| p.count)
                .sum();
            differs(&format!("runs of line @{label}"), found, *count)
        }
        Expectation::Path {
            function,
            count,
            words,
        } => {
            let paths: Vec<&Path1> = report.named(function).flat_map(|f| &f.paths).collect();
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

fn differs(what: &str, found: u64, expected: u64) -> Option<String> {
    (found != expected).then(|| format!("{what}: {found}, not {expected}"))
}

/// Start, marked lines in order (each once in a row), end.
fn words_of(path: &Path1, labels: &Labels) -> Vec<String> {
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
