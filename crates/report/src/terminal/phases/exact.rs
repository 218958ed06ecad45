//! Writes the exact phases, and how well detectors find their transitions.

use std::collections::BTreeMap;
use std::io;

use holloway_analysis::phases::PhaseId;
use holloway_format::Count;

use super::{MAX_FUNCTIONS, PhasesSheet};
use crate::numbers::{grouped, plural, share};
use crate::phases::{PhaseFunction, detector_name, phase_functions, phase_name};
use crate::terminal::paint::{Ink, Line};
use crate::terminal::table::{Align, Table};
use crate::terminal::thread::{LABEL_WIDTH, branches};

/// Maximum columns of the order of phases.
const MAX_COLUMNS: usize = 100;

impl PhasesSheet<'_> {
    /// Writes which phases the run has, how long each is, and what is hot in each.
    pub(super) fn exact_phases(&mut self) -> io::Result<()> {
        let exact = &self.phases.answer.exact;
        self.sheet.page.gap()?;
        let count = plural(exact.phases.len() as u64, "phase");
        let windows = plural(exact.windows, "window");
        let text = match exact.phases.len() {
            1 => format!(
                "{count}: no two parts of the run differ clearly, in {windows} of {}",
                branches(exact.window)
            ),
            _ => format!(
                "{count} in {}, from {windows} of {}; silhouette {:.2}",
                plural(exact.segments.len() as u64, "segment"),
                branches(exact.window),
                exact.silhouette
            ),
        };
        self.sheet.heading("Phases", &text)?;
        self.order()?;
        for phase in (0..exact.phases.len() as u32).map(PhaseId) {
            self.phase(phase)?;
        }
        Ok(())
    }

    /// Writes the order of the phases: a column shows the phase that has most of its branches.
    fn order(&mut self) -> io::Result<()> {
        let exact = &self.phases.answer.exact;
        let all = self.phases.answer.stream.len();
        let room = self.sheet.page.width().saturating_sub(LABEL_WIDTH + 4);
        let columns = room.clamp(10, MAX_COLUMNS).min(exact.windows as usize) as u64;
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .left(Ink::Faint, "order", LABEL_WIDTH)
            .put(Ink::Faint, "│");
        let marks = (0..columns).map(|column| {
            let from = u128::from(all) * u128::from(column) / u128::from(columns);
            let to = u128::from(all) * u128::from(column + 1) / u128::from(columns);
            let mut shares: BTreeMap<PhaseId, u128> = BTreeMap::new();
            for segment in &exact.segments {
                let (start, end) = (segment.start.0.into(), segment.end.0.into());
                let common = to.min(end).saturating_sub(from.max(start));
                *shares.entry(segment.phase).or_default() += common;
            }
            let most = shares.iter().rev().max_by_key(|(_, share)| **share);
            most.map_or('?', |(phase, _)| phase_name(*phase))
        });
        let marks: String = marks.collect();
        line.put(Ink::Outcome, &marks).put(Ink::Faint, "│");
        self.sheet.page.line(&line)
    }

    fn phase(&mut self, id: PhaseId) -> io::Result<()> {
        let answer = self.phases.answer;
        let phase = &answer.exact.phases[id.index()];
        let own = answer
            .exact
            .segments
            .iter()
            .filter(|segment| segment.phase == id);
        let starts = own.clone().map(|segment| segment.start);
        let longest = own.map(|segment| segment.end - segment.start).max();
        self.sheet.page.gap()?;
        let mut line = Line::new();
        line.right(Ink::Strong, &phase_name(id).to_string(), 3)
            .right(
                Ink::Number,
                &share(phase.instructions, answer.instructions),
                9,
            )
            .put(Ink::Plain, "  ");
        let starts: Vec<String> = starts.take(MAX_FUNCTIONS).map(grouped).collect();
        let more = match phase.segments.saturating_sub(starts.len() as u64) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        let text = format!(
            "of the instructions; {} in {}{}; begins at branch {}{more}",
            branches(phase.branches.0),
            plural(phase.segments, "segment"),
            match phase.segments {
                0 | 1 => String::new(),
                _ => format!(
                    ", the longest has {}",
                    branches(longest.unwrap_or_default().0)
                ),
            },
            starts.join(", "),
        );
        self.sheet.page.wrapped(line, Ink::Plain, &text)?;
        let functions = phase_functions(&self.sheet.labeled, phase);
        let is_shown = |(index, function): &(usize, &PhaseFunction)| {
            let percent = function.instructions.saturating_mul(100);
            *index == 0 || percent >= phase.instructions.0
        };
        let shown = functions.iter().enumerate().filter(is_shown);
        let shown: Vec<&PhaseFunction> = shown.map(|(_, function)| function).collect();
        for function in shown.iter().take(MAX_FUNCTIONS) {
            let blocks = function.hot_blocks(&self.sheet.labeled);
            let share = share(function.instructions, phase.instructions);
            self.function(&share, function.function, &blocks)?;
        }
        self.more_functions(functions.len() - shown.len().min(MAX_FUNCTIONS))
    }

    /// Writes how many transitions each detector finds, and how late.
    pub(super) fn detectors(&mut self) -> io::Result<()> {
        let answer = self.phases.answer;
        let transitions = answer.exact.transitions().count() as u64;
        let detectors = answer.detectors();
        let has_alarms = detectors.iter().any(|(_, result)| result.false_alarms > 0);
        if transitions == 0 && !has_alarms {
            return Ok(());
        }
        self.sheet.page.gap()?;
        let text = format!(
            "of {}; a latency is the number of branches from a transition to its first signal",
            plural(transitions, "transition")
        );
        self.sheet.heading("Detectors", &text)?;
        let mut table = Table::new(&[
            ("detector", Align::Left),
            ("signals", Align::Right),
            ("found", Align::Right),
            ("missed", Align::Right),
            ("false alarms", Align::Right),
            ("median latency", Align::Right),
            ("longest", Align::Right),
        ]);
        for (detector, result) in detectors {
            let latency = |count: Option<Count>| count.map_or_else(|| "–".to_owned(), grouped);
            let figures = [
                grouped(result.signals),
                grouped(result.found()),
                grouped(result.missed),
                grouped(result.false_alarms),
                latency(result.median_latency()),
                latency(result.latencies.last().copied()),
            ];
            let figures = figures.map(|figure| (Ink::Number, figure));
            let name = (Ink::Strong, detector_name(detector).to_owned());
            table.row([name].into_iter().chain(figures).collect());
        }
        table.write(&mut self.sheet.page)?;
        if answer.trigger.is_some() {
            let text = "the trigger counter is Holloway's own design, after US patent 7,032,217";
            self.sheet.page.wrapped(Line::new(), Ink::Faint, text)?;
        }
        Ok(())
    }
}
