//! The phases of a thread, as a report shows them. [`terminal::phases`](crate::terminal::phases)
//! and [`json::phases`](crate::json::phases) write the report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use holloway_analysis::phases::{Answer, CodeSet, Detector, Phase, PhaseId, Question};
use holloway_format::{Count, FunctionMap};

use crate::places::{short, user_place};
use crate::thread::Thread;
use crate::trace::LabeledStream;

/// The phases of a thread.
#[derive(Clone, Copy)]
pub struct Phases<'a> {
    /// The thread.
    pub thread: Thread<'a>,
    /// What was asked.
    pub question: &'a Question,
    /// The answer.
    pub answer: &'a Answer<'a>,
}

/// The source lines of blocks, by file: `src/a.c:3-5, 9`. The file with the most lines is first. Of
/// more than `max_ranges` ranges of lines in a file, only the first are listed.
pub(crate) fn source_lines(
    map: &FunctionMap,
    blocks: &BTreeSet<u32>,
    cwd: Option<&Path>,
    max_ranges: usize,
) -> Vec<String> {
    let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for &block in blocks {
        for place in &map.blocks[block as usize].places {
            if let Some((file, line)) = user_place(map, place) {
                lines.entry(file).or_default().insert(line);
            }
        }
    }
    let mut files: Vec<(&str, BTreeSet<u32>)> = lines.into_iter().collect();
    files.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.len()));
    let files = files.iter();
    let files =
        files.map(|(file, lines)| format!("{}:{}", short(file, cwd), ranges(lines, max_ranges)));
    files.collect()
}

/// Numbers as ranges: `3-5, 9`.
fn ranges(numbers: &BTreeSet<u32>, max_ranges: usize) -> String {
    let numbers: Vec<u32> = numbers.iter().copied().collect();
    let ranges = numbers.chunk_by(|a, b| a + 1 == *b);
    let ranges = ranges.map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    let mut ranges: Vec<String> = ranges.collect();
    if ranges.len() > max_ranges {
        ranges.truncate(max_ranges);
        ranges.push("…".to_owned());
    }
    ranges.join(", ")
}

/// A function of an exact phase.
pub(crate) struct PhaseFunction {
    pub(crate) function: u32,
    /// Instructions of its paths in the phase.
    pub(crate) instructions: u64,
    /// The terminals of its paths, with their executions, most instructions first.
    pub(crate) paths: Vec<(u32, Count)>,
}

impl PhaseFunction {
    /// The blocks of the hottest paths, which have at least nine tenths of the instructions.
    pub(crate) fn hot_blocks(&self, labeled: &LabeledStream<'_>) -> BTreeSet<u32> {
        let mut covered = 0u64;
        let needed = self.instructions.saturating_mul(9);
        let hottest = self.paths.iter().take_while(|&&(terminal, count)| {
            let is_needed = covered.saturating_mul(10) < needed;
            let instructions = labeled.events[terminal as usize].instructions();
            covered = covered.saturating_add(count.0.saturating_mul(instructions));
            is_needed
        });
        let stream = labeled.stream;
        let terminals = hottest.map(|&(terminal, _)| stream.trace.terminals[terminal as usize]);
        let code = CodeSet::of_paths(stream.code, terminals);
        code.functions
            .get(&self.function)
            .cloned()
            .unwrap_or_default()
    }
}

/// The functions of an exact phase, most instructions first.
pub(crate) fn phase_functions(labeled: &LabeledStream<'_>, phase: &Phase) -> Vec<PhaseFunction> {
    let mut functions: BTreeMap<u32, PhaseFunction> = BTreeMap::new();
    for &(terminal, count) in &phase.paths {
        let event = labeled.events[terminal as usize];
        if let Some(function) = event.function() {
            let entry = functions.entry(function).or_insert_with(|| PhaseFunction {
                function,
                instructions: 0,
                paths: Vec::new(),
            });
            entry.instructions += count.0 * event.instructions();
            entry.paths.push((terminal, count));
        }
    }
    let mut functions: Vec<PhaseFunction> = functions.into_values().collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.instructions));
    functions
}

/// The name of a phase: A is the first phase, B the second, and so on.
pub fn phase_name(phase: PhaseId) -> char {
    u8::try_from(phase.0)
        .ok()
        .filter(|number| *number < 26)
        .map_or('?', |number| (b'A' + number).into())
}

/// The words for a detector.
pub(crate) fn detector_name(detector: Detector) -> &'static str {
    match detector {
        Detector::HotSpotsLeft => "hot spots left",
        Detector::HotSpotDetected => "hot spot detected",
        Detector::HotSpotEntered => "hot spot entered",
        Detector::Trigger => "trigger counter",
    }
}

/// A function of a hot spot.
pub(crate) struct HotFunction<'a> {
    pub(crate) function: u32,
    pub(crate) blocks: &'a BTreeSet<u32>,
    /// Executions of its branches in the buffer when the hot spot was detected.
    pub(crate) executed: u64,
}

/// The functions of a hot spot, most executions first.
pub(crate) fn hot_functions<'a>(answer: &'a Answer<'_>, hot_spot: usize) -> Vec<HotFunction<'a>> {
    let code: &CodeSet = &answer.hot_code[hot_spot];
    let mut executed: BTreeMap<u32, u64> = BTreeMap::new();
    for hot in &answer.hot_spots.hot_spots[hot_spot].branches {
        let function = answer.stream.site(hot.branch).function;
        *executed.entry(function).or_default() += u64::from(hot.executed);
    }
    let functions = code.functions.iter();
    let functions = functions.map(|(&function, blocks)| HotFunction {
        function,
        blocks,
        executed: executed.get(&function).copied().unwrap_or(0),
    });
    let mut functions: Vec<HotFunction<'a>> = functions.collect();
    functions.sort_by_key(|hot| std::cmp::Reverse(hot.executed));
    functions
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_shown_as_ranges() {
        let numbers = [3, 4, 5, 9, 11, 12].into();
        assert_eq!(ranges(&numbers, 3), "3-5, 9, 11-12");
        assert_eq!(ranges(&numbers, 1), "3-5, …");
        assert_eq!(ranges(&[7].into(), 1), "7");
    }
}
