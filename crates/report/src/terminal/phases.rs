//! Writes the phases of a thread.

mod exact;
mod timeline;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use holloway_analysis::phases::{HotSpots, ModeChange};
use holloway_format::Count;

use super::paint::{Ink, Line};
use super::thread::{ThreadSheet, branches};
use crate::numbers::{grouped, plural, share};
use crate::options::Options;
use crate::phases::{Phases, hot_functions, source_lines};

/// Columns of a function's name.
const NAME_WIDTH: usize = 24;
/// Maximum number of functions of a hot spot, of files of a function, and of ranges of lines in a
/// file.
const MAX_FUNCTIONS: usize = 5;
const MAX_FILES: usize = 2;
const MAX_RANGES: usize = 5;

/// The output.
struct PhasesSheet<'a> {
    phases: &'a Phases<'a>,
    sheet: ThreadSheet<'a>,
}

/// Writes the phases of a thread.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(phases: &Phases<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut sheet = PhasesSheet {
        phases,
        sheet: ThreadSheet::begin(phases.thread, options, &mut out)?,
    };
    let answer = phases.answer;
    let set = phases.question.branches;
    if !sheet.sheet.head(&answer.stream, set, answer.instructions)? {
        return out.flush();
    }
    sheet.exact_phases()?;
    sheet.hot_spots()?;
    sheet.detectors()?;
    sheet.timeline()?;
    out.flush()
}

impl PhasesSheet<'_> {
    /// Writes the hot spots, with the columns of table 3 of Merten et al. (1999).
    fn hot_spots(&mut self) -> io::Result<()> {
        let answer = self.phases.answer;
        let result = &answer.hot_spots;
        self.sheet.page.gap()?;
        let count = plural(result.hot_spots.len() as u64, "hot spot");
        let text = format!("{count} found by the detector of Merten et al. (1999), simulated");
        self.sheet.heading("Hot spots", &text)?;
        let code = self.phases.thread.stream.code;
        let sum = |part: fn(&holloway_analysis::phases::HotSpot) -> Count| {
            result
                .hot_spots
                .iter()
                .map(part)
                .fold(Count::ZERO, Count::saturating_add)
        };
        let whole = sum(|hot_spot| hot_spot.whole.instructions);
        let detected = sum(|hot_spot| hot_spot.detected.instructions);
        let text = format!(
            "{} of the instructions are in hot spots, {} after their detection",
            share(whole, answer.instructions),
            share(detected, answer.instructions)
        );
        self.sheet.fact("execution", &text)?;
        let (size, executed) = (
            answer.all_hot_code().instructions(code),
            answer.executed.instructions(code),
        );
        let text = format!(
            "{} of code, {} of the code that ran",
            plural(size, "instruction"),
            share(size, executed)
        );
        self.sheet.fact("size", &text)?;
        let text = mode_changes(result);
        self.sheet.fact("detector", &text)?;
        for index in 0..result.hot_spots.len().min(self.sheet.top()) {
            self.hot_spot(index)?;
        }
        match result.hot_spots.len().saturating_sub(self.sheet.top()) {
            0 => Ok(()),
            more => {
                let more = plural(more as u64, "more hot spot");
                self.sheet.page.gap()?;
                let text = format!("… and {more} (--top shows more)");
                self.sheet.page.wrapped(Line::new(), Ink::Faint, &text)
            }
        }
    }

    fn hot_spot(&mut self, index: usize) -> io::Result<()> {
        let phases = self.phases;
        let answer = phases.answer;
        let hot_spot = &answer.hot_spots.hot_spots[index];
        let code = phases.thread.stream.code;
        self.sheet.page.gap()?;
        let mut line = Line::new();
        line.right(Ink::Faint, &(index + 1).to_string(), 3)
            .right(
                Ink::Number,
                &share(hot_spot.whole.instructions, answer.instructions),
                9,
            )
            .put(Ink::Plain, "  ");
        let size = plural(answer.hot_code[index].instructions(code), "instruction");
        let branches = branches(hot_spot.branches.len() as u64);
        let text = format!(
            "of the instructions; detected at branch {}; {size} of code, {branches}",
            grouped(hot_spot.detected_at)
        );
        self.sheet.page.wrapped(line, Ink::Plain, &text)?;
        let functions = hot_functions(answer, index);
        let executed: u64 = functions.iter().map(|hot| hot.executed).sum();
        for hot in functions.iter().take(MAX_FUNCTIONS) {
            self.function(&share(hot.executed, executed), hot.function, hot.blocks)?;
        }
        self.more_functions(functions.len().saturating_sub(MAX_FUNCTIONS))
    }

    /// Writes a function with the source lines of its hot blocks.
    fn function(&mut self, share: &str, function: u32, blocks: &BTreeSet<u32>) -> io::Result<()> {
        let mut line = Line::new();
        line.right(Ink::Number, share, 14)
            .put(Ink::Plain, "  ")
            .left(
                Ink::Strong,
                &self.sheet.labeled.function(function),
                NAME_WIDTH,
            )
            .put(Ink::Plain, "  ");
        let map = self.phases.thread.stream.code.function(function);
        let lines = map.map(|map| {
            let files = source_lines(map, blocks, self.sheet.options.cwd.as_deref(), MAX_RANGES);
            files[..files.len().min(MAX_FILES)].join("; ")
        });
        line.put(Ink::Place, &lines.unwrap_or_default());
        self.sheet.page.line(&line)
    }

    /// Writes the number of functions that are not shown.
    fn more_functions(&mut self, left_out: usize) -> io::Result<()> {
        match left_out {
            0 => Ok(()),
            more => {
                let mut line = Line::new();
                line.put(Ink::Plain, &" ".repeat(16));
                let text = format!("… and {}", plural(more as u64, "more function"));
                self.sheet.page.wrapped(line, Ink::Faint, &text)
            }
        }
    }
}

/// The changes of the detector's mode, in words.
fn mode_changes(result: &HotSpots) -> String {
    let count = |is_wanted: fn(&ModeChange) -> bool| {
        let changes = result.changes.iter();
        changes.filter(|(_, change)| is_wanted(change)).count() as u64
    };
    let left = count(|change| matches!(change, ModeChange::Left));
    let returned = count(|change| matches!(change, ModeChange::Returned));
    let times = |number: u64| match number {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        number => format!("{} times", grouped(number)),
    };
    format!(
        "control left the known hot spots {}, and came back without a new hot spot {}; profiling was on for {} of the branches",
        times(left),
        times(returned),
        share(result.profiled, result.all.branches)
    )
}
