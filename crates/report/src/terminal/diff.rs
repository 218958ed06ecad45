//! Writes the changes from one run to another: the totals, the functions, and the paths or edges.

use std::io::{self, BufWriter, Write};

use holloway_abi::Unit;
use holloway_analysis::diff::{FunctionChange, Pairing, PartChange, Trend, Work, change};
use holloway_analysis::{Function, RunProfile};
use holloway_flow::PathId;
use holloway_format::Count;

use super::overlap::{MAX_NOTES, description, edge_ends, path_ends};
use super::paint::{Ink, Line};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::changes::{Changes, trend_word};
use crate::notes::sentence;
use crate::numbers::{difference, grouped, plural, relative_change};
use crate::options::Options;
use crate::samples::basis_words;

const TOTALS: [(&str, Align); 5] = [
    ("", Align::Left),
    ("A", Align::Right),
    ("B", Align::Right),
    ("change", Align::Right),
    ("", Align::Right),
];

const FUNCTIONS: [(&str, Align); 6] = [
    ("change", Align::Right),
    ("A", Align::Right),
    ("B", Align::Right),
    ("by calls", Align::Right),
    ("", Align::Left),
    ("function", Align::Name),
];

/// Columns of changes of paths.
const PATHS: [(&str, Align); 8] = [
    ("change", Align::Right),
    ("A", Align::Right),
    ("B", Align::Right),
    ("which", Align::Left),
    ("from", Align::Left),
    ("to", Align::Left),
    ("branches", Align::Left),
    ("function", Align::Name),
];

const EDGES: [(&str, Align); 8] = {
    let mut columns = PATHS;
    columns[6].0 = "branch";
    columns
};

/// Writes the changes from one run to another.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(
    changes: &Changes<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut sheet = Sheet::new(changes.runs[0], options, &mut out);
    Page { changes }.write(&mut sheet)?;
    out.flush()
}

struct Page<'a> {
    changes: &'a Changes<'a>,
}

impl<'a> Page<'a> {
    fn write(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let (runs, diff) = (self.changes.runs, &self.changes.diff);
        super::cpu_time::write_runs(sheet, &[("A", runs[0]), ("B", runs[1])])?;
        sheet.page.text(Ink::Strong, "Changes from A to B")?;
        for (name, run) in ["A", "B"].into_iter().zip(runs) {
            sheet.fact(name, &description(run))?;
            if let Some(text) = basis_words(run.basis) {
                sheet.fact("", &text)?;
            }
        }
        self.write_limits(sheet)?;
        for (name, run) in ["A", "B"].into_iter().zip(runs) {
            for note in run.damage.iter().take(MAX_NOTES) {
                let text = format!("{name}: {}", sentence(note));
                sheet.labeled(Ink::Alarm, "damaged", &text)?;
            }
        }
        if diff.ran == 0 {
            sheet.page.gap()?;
            let text = "nothing to compare: no function that the filter keeps ran";
            return sheet.page.text(Ink::Alarm, text);
        }
        self.write_totals(sheet)?;
        self.write_functions(sheet)?;
        self.write_parts(sheet)
    }

    /// Writes what the comparison leaves out.
    fn write_limits(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let diff = &self.changes.diff;
        let noun = self.noun();
        if diff.by_exits > 0 {
            let text = format!(
                "{} not listed: frames left in calls, which only one run counts, may explain the difference",
                plural(diff.by_exits, noun)
            );
            sheet.fact("exits", &text)?;
        }
        if diff.cut_elsewhere > 0 {
            let text = format!(
                "paths are cut at different edges in A and B in {}, so the same route is a different path; compare runs of --collect edges to include all functions",
                plural(diff.cut_elsewhere, "function")
            );
            sheet.fact("cut", &text)?;
        }
        Ok(())
    }

    fn write_totals(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let diff = &self.changes.diff;
        sheet.page.gap()?;
        let mut table = Table::new(&TOTALS);
        let mut row = |name: &str, count: &dyn Fn(&Work) -> Count| {
            let [a, b] = diff.totals.each_ref().map(count);
            table.row(vec![
                (Ink::Plain, name.to_owned()),
                (Ink::Plain, grouped(a)),
                (Ink::Plain, grouped(b)),
                (Ink::Number, difference(i128::from(b.0) - i128::from(a.0))),
                (Ink::Number, relative_change(a, b).unwrap_or_default()),
            ]);
        };
        row("instructions", &|work| work.instructions);
        row("calls", &|work| work.calls);
        let (executions, distinct) = match diff.unit {
            Unit::Paths => ("path executions", "different paths"),
            Unit::Edges => ("edges taken", "different edges"),
        };
        row(executions, &|work| work.executions);
        row(distinct, &|work| Count(work.distinct));
        table.write(&mut sheet.page)
    }

    fn write_functions(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let diff = &self.changes.diff;
        if diff.functions.is_empty() {
            sheet.page.gap()?;
            let text = format!(
                "no difference: {} ran, with the same counts in both runs",
                plural(diff.ran, "function")
            );
            return sheet.page.wrapped(Line::new(), Ink::Plain, &text);
        }
        let shown = format!(
            "{} of {} that changed or moved, of {} that ran; instructions",
            diff.functions.len().min(sheet.top()),
            plural(diff.functions.len() as u64, "function"),
            grouped(diff.ran)
        );
        sheet.title("Functions", &shown)?;
        let mut table = Table::new(&FUNCTIONS);
        for function in diff.functions.iter().take(sheet.top()) {
            table.row(self.function_row(sheet, function));
        }
        table.write(&mut sheet.page)?;
        let left_out = diff.functions.iter().skip(sheet.top());
        let rest: i128 = left_out.map(FunctionChange::change).sum();
        if rest != 0 {
            let listed = change(diff.totals) - rest;
            let text = format!(
                "these functions: {}; all functions: {}; --top N lists more",
                difference(listed),
                difference(change(diff.totals))
            );
            sheet.indented(Ink::Faint, &text)?;
        }
        Ok(())
    }

    fn function_row(&self, sheet: &Sheet<'a>, function: &FunctionChange) -> Vec<(Ink, String)> {
        let [a, b] = function.work.map(|work| grouped(work.instructions));
        let trend = function.trend();
        let ink = match trend {
            Some(Trend::New | Trend::Hotter) => Ink::Alarm,
            Some(Trend::Gone | Trend::Colder | Trend::Shifted) | None => Ink::Number,
        };
        let by_calls = function.by_calls().filter(|calls| calls.round() != 0.0);
        vec![
            (ink, difference(function.change())),
            (Ink::Plain, a),
            (Ink::Plain, b),
            (
                Ink::Plain,
                by_calls.map_or_else(String::new, |calls| difference(calls.round() as i128)),
            ),
            (Ink::Outcome, trend_word(trend).to_owned()),
            (Ink::Strong, self.function_name(sheet, function)),
        ]
    }

    /// The name of a function, with what happened to it besides its counts.
    fn function_name(&self, sheet: &Sheet<'a>, change: &FunctionChange) -> String {
        let function = |side: usize| {
            let id = change.functions[side]?;
            Some(self.changes.runs[side].function(id))
        };
        let name = |function: &Function| sheet.names.name(function).to_string();
        let file = |function: &Function| {
            crate::places::short(&function.map.file, sheet.options.cwd.as_deref())
        };
        match (function(0), function(1)) {
            (Some(a), Some(b)) => match change.pairing {
                Pairing::Same | Pairing::Absent => name(b),
                Pairing::Changed => format!("{} (other code)", name(b)),
                Pairing::Renamed => format!("{} (was {})", name(b), name(a)),
                Pairing::Moved if name(a) == name(b) => format!("{} (was in {})", name(b), file(a)),
                Pairing::Moved => format!("{} (was {})", name(b), name(a)),
            },
            (Some(only), None) | (None, Some(only)) => name(only),
            (None, None) => String::new(),
        }
    }

    fn write_parts(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let diff = &self.changes.diff;
        if diff.parts.is_empty() {
            return match &sheet.options.path {
                Some(choice) => {
                    sheet.page.gap()?;
                    let path = format!("{}{}", choice.function, choice.prefix);
                    let text = self.without_difference(&path);
                    sheet.page.wrapped(Line::new(), Ink::Plain, &text)
                }
                None => Ok(()),
            };
        }
        let (title, measure, columns) = match diff.unit {
            Unit::Paths => ("Paths", "instructions, executions", &PATHS),
            Unit::Edges => ("Edges", "executions", &EDGES),
        };
        let shown = format!(
            "{} of {} whose counts differ, in functions with the same graph; {measure}",
            diff.parts.len().min(sheet.top()),
            plural(diff.parts.len() as u64, self.noun())
        );
        sheet.title(title, &shown)?;
        let mut table = Table::new(columns);
        for part in diff.parts.iter().take(sheet.top()) {
            table.row(self.part_row(sheet, part));
        }
        table.write(&mut sheet.page)
    }

    /// Why there is no difference of a path.
    fn without_difference(&self, path: &str) -> String {
        let diff = &self.changes.diff;
        if diff.unit == Unit::Edges {
            return format!("{path} is not compared: one of the runs counted edges");
        }
        match self.changes.lost_path() {
            Some(Pairing::Absent) => format!("{path} is not compared: one run lacks its function"),
            Some(_) => format!("{path} is not compared: its function has other code in B"),
            None if diff.by_exits > 0 => format!(
                "{path} does not differ, except for frames left in calls, which only one run counts"
            ),
            None => format!("{path} has the same count in both runs"),
        }
    }

    fn part_row(&self, sheet: &Sheet<'a>, part: &PartChange) -> Vec<(Ink, String)> {
        let run: &'a RunProfile = self.changes.runs[part.side];
        let function = run.function(part.function);
        let unit = self.changes.diff.unit;
        let [which, from, to, branches] = match unit {
            Unit::Paths => path_ends(sheet, function, PathId(part.number)),
            Unit::Edges => edge_ends(sheet, function, part.number),
        };
        let [a, b] = match unit {
            Unit::Paths => part.instructions,
            Unit::Edges => part.counts,
        };
        let ink = if b > a { Ink::Alarm } else { Ink::Number };
        let cell = |count: Count| match count {
            Count::ZERO => (Ink::Faint, "never".to_owned()),
            count => (Ink::Plain, grouped(count)),
        };
        vec![
            (ink, difference(i128::from(b.0) - i128::from(a.0))),
            cell(part.counts[0]),
            cell(part.counts[1]),
            (Ink::Faint, which),
            (Ink::Place, from),
            (Ink::Place, to),
            (Ink::Outcome, branches),
            (Ink::Strong, sheet.names.name(function).to_string()),
        ]
    }

    fn noun(&self) -> &'static str {
        match self.changes.diff.unit {
            Unit::Paths => "path",
            Unit::Edges => "edge",
        }
    }
}
