//! Coverage by file: functions, branches, and lines, whether or not they ran.
//!
//! Lines have the counts of the lines view. Branches are those of `--uncovered`: the ways of a
//! branch are merged over all copies of the code, and checks of the compiler are no branches. All
//! of these counts are exact for paths and for edges.

use std::collections::BTreeMap;

use holloway_analysis::lines::{Lines, frame_entries};
use holloway_analysis::ways::branch_ways;
use holloway_format::Count;

use super::run::ExportRun;
use crate::filter::Filter;
use crate::lines::line_counts;
use crate::places::is_library;

/// Coverage of a file.
#[derive(Default)]
pub(super) struct FileCoverage {
    /// Calls of each function, by its line and name. Calls of inlined copies count.
    pub(super) functions: BTreeMap<(u32, String), Count>,
    /// Branches in the order of lines and columns.
    pub(super) branches: Vec<BranchCoverage>,
    /// Counts of lines with code.
    pub(super) lines: Lines,
}

/// Coverage of a branch of the source.
pub(super) struct BranchCoverage {
    pub(super) line: u32,
    /// The number of the branch on its line, from 0.
    pub(super) number: u32,
    /// By way: how often it was taken. At least two.
    pub(super) ways: Vec<Count>,
}

impl BranchCoverage {
    /// Whether the branch ran.
    pub(super) fn ran(&self) -> bool {
        self.taken() > 0
    }

    /// Number of ways that were taken.
    pub(super) fn taken(&self) -> usize {
        self.ways
            .iter()
            .filter(|&&count| count > Count::ZERO)
            .count()
    }
}

/// Coverage of all files with code that the options select, by file.
pub(super) fn coverage(export: &ExportRun<'_>) -> BTreeMap<String, FileCoverage> {
    let names = Filter::new(export.options);
    let mut files: BTreeMap<String, FileCoverage> = BTreeMap::new();
    for (file, lines) in line_counts(export.run, &names) {
        files.entry(file).or_default().lines = lines;
    }
    add_functions(export, &names, &mut files);
    add_branches(export, &names, &mut files);
    files
}

fn add_functions(
    export: &ExportRun<'_>,
    names: &Filter<'_>,
    files: &mut BTreeMap<String, FileCoverage>,
) {
    for function in &export.run.functions {
        let map = &function.map;
        let is_kept: Vec<bool> = map
            .scopes
            .iter()
            .map(|scope| {
                let is_known = !scope.file.is_empty() && scope.line != 0;
                is_known && names.keeps_scope(export.run, function, scope)
            })
            .collect();
        if !is_kept.contains(&true) {
            continue;
        }
        for (number, count) in frame_entries(function) {
            let Some(scope) = map.scopes.get(number as usize) else {
                continue;
            };
            if !is_kept[number as usize] {
                continue;
            }
            let name = match scope.parent {
                None => names.name(function),
                Some(_) => names.name_of(&scope.linkage_name, &scope.name),
            };
            let file = files.entry(scope.file.to_string()).or_default();
            let sum = file.functions.entry((scope.line, name.to_string()));
            let sum = sum.or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

fn add_branches(
    export: &ExportRun<'_>,
    names: &Filter<'_>,
    files: &mut BTreeMap<String, FileCoverage>,
) {
    let run = export.run;
    let keep = |function: &_, scope: &_| names.keeps_scope(run, function, scope);
    for (branch, ways) in branch_ways(run, &keep, is_library) {
        if ways.len() < 2 {
            continue;
        }
        let branches = &mut files.entry(branch.file.to_owned()).or_default().branches;
        let before = branches.iter().rev();
        let before = before.take_while(|other| other.line == branch.line).count();
        branches.push(BranchCoverage {
            line: branch.line,
            number: before as u32,
            ways: ways.iter().map(|way| way.count).collect(),
        });
    }
}

/// Parts that ran, and all parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) hit: usize,
    pub(super) found: usize,
}

impl Share {
    pub(super) fn of_lines(file: &FileCoverage) -> Share {
        let hit = file.lines.values().filter(|&&count| count > Count::ZERO);
        Share {
            hit: hit.count(),
            found: file.lines.len(),
        }
    }

    pub(super) fn of_ways(file: &FileCoverage) -> Share {
        Share {
            hit: file.branches.iter().map(BranchCoverage::taken).sum(),
            found: file.branches.iter().map(|branch| branch.ways.len()).sum(),
        }
    }

    pub(super) fn of_functions(file: &FileCoverage) -> Share {
        let hit = file
            .functions
            .values()
            .filter(|&&count| count > Count::ZERO);
        Share {
            hit: hit.count(),
            found: file.functions.len(),
        }
    }

    pub(super) fn and(self, other: Share) -> Share {
        Share {
            hit: self.hit + other.hit,
            found: self.found + other.found,
        }
    }
}
