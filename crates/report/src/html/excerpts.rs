//! The source text of a page: only the lines of functions that ran, with some lines around them.
//! Whole files would make the page of a program with one large file, such as SQLite, several times
//! larger.

use holloway_format::FunctionMap;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::source::Source;

/// Lines before and after a function.
const AROUND: u32 = 6;

/// The lines to show of each file, as ranges from the first to the last line.
#[derive(Default)]
pub(super) struct Ranges {
    files: BTreeMap<String, Vec<(u32, u32)>>,
}

/// Parts of a file, in order.
#[derive(Serialize, Default, Debug, PartialEq)]
pub(super) struct Excerpts {
    /// The first line of each part.
    first: Vec<u32>,
    /// The text of each part.
    text: Vec<String>,
}

impl Ranges {
    /// Adds the lines of a function, and of the functions inlined into it.
    pub(super) fn add_function(&mut self, map: &FunctionMap) {
        let lines = |scope: &holloway_format::Scope| Some(scope.line).filter(|&line| line != 0);
        let mut spans: Vec<Option<(u32, u32)>> = map
            .scopes
            .iter()
            .map(|scope| lines(scope).map(|line| (line, line)))
            .collect();
        let mut add = |scope: u32, line: u32| {
            if let Some(span) = spans.get_mut(scope as usize)
                && line != 0
            {
                let (first, last) = span.unwrap_or((line, line));
                *span = Some((first.min(line), last.max(line)));
            }
        };
        for place in map.blocks.iter().flat_map(|block| &block.places) {
            add(place.scope, place.line);
        }
        for scope in &map.scopes {
            if let Some(parent) = scope.parent {
                add(parent, scope.call_line);
            }
        }
        for (scope, span) in map.scopes.iter().zip(spans) {
            if let Some(span) = span {
                self.files
                    .entry(scope.file.to_string())
                    .or_default()
                    .push(span);
            }
        }
    }

    /// The parts of a file that the source has.
    pub(super) fn excerpts(&self, file: &str, source: &dyn Source) -> Excerpts {
        let mut excerpts = Excerpts::default();
        for (first, last) in merged(self.files.get(file).map_or(&[], Vec::as_slice)) {
            let lines = (first..=last).map_while(|line| source.line(file, line));
            let lines: Vec<String> = lines.collect();
            if !lines.is_empty() {
                excerpts.first.push(first);
                excerpts.text.push(lines.join("\n"));
            }
        }
        excerpts
    }
}

/// The ranges with the lines around them. Ranges that touch become one.
fn merged(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (first, last) in sorted {
        let (first, last) = (
            first.saturating_sub(AROUND).max(1),
            last.saturating_add(AROUND),
        );
        match merged.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn ranges_that_touch_become_one() {
        assert_eq!(merged(&[(40, 50), (3, 20)]), [(1, 26), (34, 56)]);
        assert_eq!(
            merged(&[(20, 30), (40, 41), (60, 60)]),
            [(14, 47), (54, 66)]
        );
        assert_eq!(merged(&[]), []);
    }
}
