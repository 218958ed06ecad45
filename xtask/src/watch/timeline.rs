//! Figure 1 of Merten et al. (1999): which functions have important branches when, for each program
//! of the suite, above the exact phases of the same parts.

use super::record::{Phases, Program};
use std::collections::BTreeMap;

/// Columns of a timeline, and of the names before it.
const COLUMNS: usize = 60;
const NAME: usize = 30;
/// Functions of a program.
const FUNCTIONS: usize = 5;

/// Formats the timelines of all programs.
pub(super) fn figure_1(programs: &[Program]) -> String {
    let mut text = "\
## Figure 1: important branches over time

In regular samples of 10,000 branches, those branches count that ran 40 times or more (the paper's
samples are 2,000,000 branches apart; ours are closer in short runs). A mark says how many of a
function's branches count: ░ 1, ▒ 2-3, ▓ 4-7, █ 8 or more. Of each program, the five functions with
the most marks. The last line has the exact phases of the same parts, as in `holloway phases`.
"
    .to_owned();
    for program in programs {
        text += &format!("\n    {}\n", program.workload.name);
        for row in rows(&program.phases) {
            text += &format!("    {row}\n");
        }
    }
    text
}

/// The functions with the most marks, in the order of their branches, and the phases.
fn rows(phases: &Phases) -> Vec<String> {
    let timeline = &phases.timeline;
    let samples_per_column = timeline.samples.len().div_ceil(COLUMNS).max(1);
    let columns = timeline.samples.len().div_ceil(samples_per_column);
    // By function: its first branch, and by column: the largest number of its branches in a sample.
    let mut functions: BTreeMap<&str, (usize, Vec<usize>)> = BTreeMap::new();
    for (index, sample) in timeline.samples.iter().enumerate() {
        let mut marks: BTreeMap<&str, usize> = BTreeMap::new();
        for &branch in &sample.branches {
            let function = timeline.branches[branch].function.as_str();
            *marks.entry(function).or_default() += 1;
            let row = functions.entry(function);
            let row = row.or_insert_with(|| (branch, vec![0; columns]));
            row.0 = row.0.min(branch);
        }
        for (function, marks) in marks {
            if let Some((_, row)) = functions.get_mut(function) {
                let cell = &mut row[index / samples_per_column];
                *cell = marks.max(*cell);
            }
        }
    }
    let mut shown: Vec<(&str, (usize, Vec<usize>))> = functions.into_iter().collect();
    let marks = |row: &[usize]| row.iter().filter(|&&cell| cell > 0).count();
    shown.sort_by_key(|(_, (_, row))| std::cmp::Reverse(marks(row)));
    shown.truncate(FUNCTIONS);
    shown.sort_by_key(|(_, (first, _))| *first);
    let rows = shown.into_iter().map(|(function, (_, row))| {
        let row: String = row.into_iter().map(mark).collect();
        format!("{} │{row}│", name(function))
    });
    let column = samples_per_column as u64 * timeline.period;
    let order: String = (0..columns as u64)
        .map(|index| phase_at(phases, index * column, (index + 1) * column))
        .collect();
    rows.chain([format!("{} │{order}│", name("phases"))])
        .collect()
}

/// A function's name in a fixed number of columns. Of a long name, the end.
fn name(function: &str) -> String {
    let length = function.chars().count();
    match length.checked_sub(NAME) {
        None | Some(0) => format!("{function:NAME$}"),
        Some(excess) => {
            let end: String = function.chars().skip(excess + 1).collect();
            format!("…{end}")
        }
    }
}

fn mark(branches: usize) -> char {
    match branches {
        0 => ' ',
        1 => '░',
        2..4 => '▒',
        4..8 => '▓',
        8.. => '█',
    }
}

/// The letter of the phase with most of these branches.
fn phase_at(phases: &Phases, from: u64, to: u64) -> char {
    let covered = phases.phases.iter().map(|phase| {
        let segments = phase.segments.iter();
        let covered =
            segments.map(|segment| segment.to.min(to).saturating_sub(segment.from.max(from)));
        covered.sum::<u64>()
    });
    let most = ('A'..='Z').zip(covered).max_by_key(|&(_, covered)| covered);
    most.filter(|&(_, covered)| covered > 0)
        .map_or(' ', |(phase, _)| phase)
}
