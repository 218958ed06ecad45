//! The variation view: paths that are usually fast but sometimes slow, ranked by certain net
//! variation.
//!
//! ```text
//!          net   share   runs  base  p50    p99    max  samples  place             path
//!   1   1.23 s  12.3 %  12.3M    52   61  1,204  88.1k    1,234  src/list.c:40-44  walk p3
//! ```
//! The view has these parts:
//!
//! 1. the table, with ties marked (`≈`), and a line that lists the ties;
//! 2. the number of paths whose variation is not certain, with the reasons;
//! 3. for each of the first five paths: its lines and a histogram of its times;
//! 4. a summary.
//!
//! If no path has certain net variation, the reasons replace the table.

mod advice;
mod chart;
mod doubts;
pub(super) mod report;
mod summary;
mod ties;

use holloway_format::{Count, Cycles};
use std::io::{self, BufWriter, Write};
use std::ops::Range;

use holloway_analysis::Function;
use holloway_analysis::variation::advice::is_interrupted;
use holloway_analysis::variation::rank::{Disturbed, RankedPath, Time};
use holloway_analysis::variation::{RankOptions, VariationRun, rank};

use super::coverage::write_with;
use super::paint::{Ink, Line, clip_start};
use super::paths::write_rows;
use super::sheet::{Detail, PLACE, Sheet};
use super::table::{Align, Table};
use crate::numbers::{grouped, plural, seconds, short};
use crate::options::Options;
use crate::variation::selected_paths;
use report::Report;

/// Maximum number of paths with a histogram.
const MAX_CHARTS: usize = 5;

/// Minimum width of a page on which a row has the place and the path after the numbers. On a
/// narrower page, the place and the path are on a second line.
const WIDE: usize = 110;
/// Number of numeric columns of the table.
const NUMBERS: usize = 9;

const COLUMNS: [(&str, Align); 11] = [
    ("", Align::Right),
    ("net", Align::Right),
    ("share", Align::Right),
    ("runs", Align::Right),
    ("base", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("max", Align::Right),
    ("samples", Align::Right),
    ("place", Align::Left),
    ("path", Align::Name),
];

/// Writes the paths of a run, ranked by certain net variation.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    run: &VariationRun,
    options: &Options<'_>,
    rank_options: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(&run.run, options, &mut out);
    let ran = if run.is_exact { "ran" } else { "were sampled" };
    write_with(sheet, ran, &|sheet, _| {
        summary::write_measurement(sheet, run)
    })?;
    if options.function.is_some() {
        super::answer::write(sheet)?;
    }
    let is_sampled = run.run.functions.iter().any(Function::ran);
    if !is_sampled && !run.is_exact && run.stats.clocks > Count::ZERO && !sheet.has_losses() {
        sheet.page.gap()?;
        let text = "no path was timed: every thread ended before its first burst; run it for longer, with --burst 10, or build it with --collect times, which times all paths";
        sheet.page.wrapped(Line::new(), Ink::Alarm, text)?;
    } else if !is_sampled {
        sheet.write_nothing_ran()?;
    } else {
        write_ranking(sheet, run, rank_options)?;
    }
    out.flush()
}

fn write_ranking(
    sheet: &mut Sheet<'_>,
    run: &VariationRun,
    rank_options: RankOptions,
) -> io::Result<()> {
    let ranking = rank(run, rank_options);
    let (mut shown, _) = selected_paths(run, &ranking, &sheet.names, usize::MAX);
    // Paths with certain net variation have the first ranks.
    let others = shown.split_off(shown.partition_point(|index| *index < ranking.certain));
    let varying = shown.len();
    shown.truncate(sheet.top());
    let report = Report {
        run,
        ranking: &ranking,
        frequency: run.frequency(),
        rank_options,
    };
    if shown.is_empty() {
        if others.is_empty() {
            sheet.title("Variation", "nothing can be told")?;
            none_has_samples(sheet, &report)?;
        } else {
            sheet.title("Variation", "nothing varies here")?;
            doubts::write_nothing(sheet, &report, &others)?;
        }
    } else {
        sheet.title("Variation", &heading(shown.len(), varying, rank_options))?;
        // The last shown path may be tied with the next path.
        let mut ties = ranking.ties(shown.last().map_or(0, |last| last + 2));
        ties.retain(|tie| shown.iter().any(|index| tie.contains(index)));
        report.table(sheet, &shown, &ties)?;
        ties::write(sheet, &report, &ties)?;
        write_overlap(sheet, &report, &shown)?;
        doubts::write_others(sheet, &report, &others)?;
        for index in shown.iter().take(MAX_CHARTS) {
            report.path(sheet, *index)?;
        }
    }
    summary::write(sheet, &report)
}

fn none_has_samples(sheet: &mut Sheet<'_>, report: &Report<'_>) -> io::Result<()> {
    let scope = match sheet.options.function {
        Some(_) => " of these functions",
        None => "",
    };
    let with_own_time = match report.rank_options.time {
        Time::Inclusive => "",
        Time::Exclusive => " whose own time is known",
    };
    let advice = match report.run.is_exact {
        true => "run it for longer".to_owned(),
        false => ties::advice(report),
    };
    let text = format!("no path{scope} has two samples{with_own_time}: {advice}");
    sheet.page.wrapped(Line::new(), Ink::Alarm, &text)
}

/// If the first paths are of functions whose paths take longer than the run, writes what that
/// means.
fn write_overlap(sheet: &mut Sheet<'_>, report: &Report<'_>, shown: &[usize]) -> io::Result<()> {
    if report.rank_options.time == Time::Exclusive {
        return Ok(());
    }
    let overlapping = report.ranking.overlapping();
    let functions = shown
        .iter()
        .map(|&index| report.ranking.paths[index].function);
    let of_overlapping = functions.filter(|function| overlapping.contains(function));
    let paths = of_overlapping.count();
    if 2 * paths < shown.len() || paths == 0 {
        return Ok(());
    }
    let text = format!(
        "overlap: {paths} of these {} paths are of functions whose paths take longer, all together, than the run. If such a function calls itself, a call's time is in its callers' paths again: --time exclusive ranks paths by their own time. If not, the processor overlaps executions that the clock measures one by one",
        shown.len()
    );
    let mut line = Line::new();
    line.put(Ink::Plain, "  ↻  ");
    sheet.page.wrapped(line, Ink::Strong, &text)
}

fn heading(shown: usize, varying: usize, rank_options: RankOptions) -> String {
    let time = match rank_options.time {
        Time::Inclusive => "with what they call",
        Time::Exclusive => "without woven code that they call",
    };
    let disturbed = match rank_options.disturbed {
        Disturbed::LeftOut => "",
        Disturbed::Included => ", preempted and moved ones too",
    };
    format!(
        "{} of {}, by net variation: time of all executions above the base time, {time}; cycles{disturbed}",
        grouped(shown as u64),
        match varying {
            1 => "1 path that varies".to_owned(),
            varying => format!("{} paths that vary", grouped(varying as u64)),
        },
    )
}

impl Report<'_> {
    fn table(
        &self,
        sheet: &mut Sheet<'_>,
        shown: &[usize],
        ties: &[Range<usize>],
    ) -> io::Result<()> {
        let is_wide = sheet.page.width() >= WIDE;
        let columns = if is_wide {
            &COLUMNS
        } else {
            &COLUMNS[..NUMBERS]
        };
        let mut table = Table::new(columns);
        for &index in shown {
            let rank = &self.ranking.paths[index];
            let mut cells = self.numbers(rank);
            cells.insert(0, (Ink::Faint, ties::marked_rank(index, ties)));
            let place = clip_start(&self.place(sheet, rank), PLACE);
            let name = self.name(sheet, rank);
            let function = sheet.run.function(rank.function);
            let decided = sheet.decisions_row(function, rank.path);
            if is_wide {
                cells.extend([(Ink::Place, place), (Ink::Strong, name)]);
                table.row(cells);
            } else {
                table.row(cells);
                let mut note = Line::new();
                note.up_to(5)
                    .put(Ink::Strong, &name)
                    .put(Ink::Place, &format!("  {place}"));
                table.note(note);
            }
            decided.into_iter().for_each(|line| table.note(line));
        }
        table.write(&mut sheet.page)
    }

    fn numbers(&self, rank: &RankedPath) -> Vec<(Ink, String)> {
        let times = &rank.times;
        let cycles = |cycles: Cycles| (Ink::Plain, self.cycles(cycles));
        vec![
            (Ink::Strong, self.time(rank.net)),
            (Ink::Number, self.share(rank.net)),
            (Ink::Plain, short(rank.executions)),
            cycles(rank.base),
            cycles(times.quantile(0.5)),
            cycles(times.quantile(0.99)),
            cycles(times.largest()),
            (Ink::Faint, short(rank.samples().to_f64())),
        ]
    }

    /// Writes a path with its lines and its histogram.
    fn path(&self, sheet: &mut Sheet<'_>, index: usize) -> io::Result<()> {
        let rank = &self.ranking.paths[index];
        let function = sheet.run.function(rank.function);
        let mut head = Line::new();
        head.right(Ink::Faint, &(index + 1).to_string(), 3)
            .put(Ink::Plain, "  ")
            .put(Ink::Strong, &self.name(sheet, rank))
            .put(Ink::Plain, " ")
            .put(Ink::Place, &format!(" {}", self.place(sheet, rank)));
        sheet.page.gap()?;
        sheet.page.line(&head)?;
        sheet.indented(Ink::Plain, &self.sentence(rank))?;
        if rank.with_untimed_callees > Count::ZERO && self.rank_options.time == Time::Inclusive {
            let warning = format!(
                "its time includes functions that it calls (in {} of its samples): what varies may be theirs; look for their own paths",
                summary::share_of(
                    rank.with_untimed_callees,
                    rank.samples() + self.left_out(rank)
                )
            );
            sheet.indented(Ink::Faint, &warning)?;
        }
        write_rows(sheet, rank.function, rank.path, Detail::Excerpt)?;
        chart::write(sheet, rank)?;
        if is_interrupted(rank) {
            sheet.indented(Ink::Outcome, INTERRUPTED)?;
        }
        advice::write(sheet, function, rank)
    }

    fn sentence(&self, rank: &RankedPath) -> String {
        let times = &rank.times;
        let seconds = |cycles: f64| match self.frequency {
            Some(frequency) if cycles >= 0.5 => format!(" ({})", seconds(cycles / frequency)),
            _ => String::new(),
        };
        let cycles = |cycles: Cycles| {
            let most = self.most(cycles).to_f64();
            format!("{}{}", self.cycles(cycles), seconds(most))
        };
        let mut text = format!(
            "{} in all, {}{} of it above the base; cycles of one: base {}, average {}{}, 90 % {}",
            self.time(rank.total),
            self.time(rank.net),
            plus_minus(rank.error),
            cycles(rank.base),
            short(times.mean()),
            seconds(times.mean()),
            cycles(times.quantile(0.9)),
        );
        if self.left_out(rank) > Count::ZERO {
            let left_out = plural(rank.disturbed, "sample");
            text += &format!("; {left_out} preempted or moved, left out");
        }
        text
    }
}

/// What rare and long executions mean.
const INTERRUPTED: &str = "few executions, but long ones, make up most of this: cache misses rarely take so long, page faults, system calls, and locks do";

/// ` ± 12 %`, or nothing if the error rounds to 0 %.
fn plus_minus(error: f64) -> String {
    match (100.0 * error).round() {
        0.0 => String::new(),
        percent => format!(" ± {percent} %"),
    }
}
