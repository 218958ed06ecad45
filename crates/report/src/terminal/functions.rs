//! The functions view: a row for each function that ran, the sums of these rows and of the
//! functions that are not shown, and the sums by crate. Below a function stand the decisions on its
//! hottest path. The table has a column for selects only if a shown function has selects, a column
//! for frames that were left early only if there are any, and a column for the time only if the run
//! has samples of CPU time.
//!
//! ```text
//!    share    time  path runs  calls  instructions  paths run  possible    hottest path  function
//!   97.6 %  71.3 %     35,706      3       247,548          5        10  96.6 % p6#7330  app::search
//!       3 → line 5, 6 → line 3
//!   97.6 %  71.3 %     35,706      3       247,548          5                            sum of 1 shown
//!    2.4 %   0.8 %        550    545         6,200          7                            sum of 2 not shown
//!  100.0 %  72.1 %     36,256    548       253,748         12                            sum of all 3
//! ```

use std::io;

use holloway_abi::Unit;
use holloway_analysis::bounds::Bound;
use holloway_analysis::functions::{Ranking, Summary, Sums, Weight, hottest};
use holloway_analysis::left_frames::LeftFrames;
use holloway_analysis::paths::{Ratio, hottest_of};

use super::bounds::{legend, marked};
use super::paint::{Ink, Line};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::left_frames::in_brief;
use crate::numbers::{grouped, share};
use crate::parts::{Part, sums_by_part};
use crate::path_names::short_name;

/// The columns if all shown functions counted paths.
const BY_PATHS: [(&str, Align); 8] = [
    ("share", Align::Right),
    ("path runs", Align::Right),
    ("calls", Align::Right),
    ("instructions", Align::Right),
    ("paths run", Align::Right),
    ("possible", Align::Right),
    ("hottest path", Align::Right),
    ("function", Align::Name),
];

/// The columns if a shown function counted edges.
const BY_BLOCKS: [(&str, Align); 5] = [
    ("share", Align::Right),
    ("block runs", Align::Right),
    ("calls", Align::Right),
    ("instructions", Align::Right),
    ("function", Align::Name),
];

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let weight = sheet.options.function_weight(sheet.run);
    let ranking = hottest(sheet.run, weight, Some(sheet.top()), &|id| sheet.keeps(id));
    let noun = match ranking.weight {
        Weight::Paths => "path executions",
        Weight::Blocks => "block runs",
        Weight::Instructions => "instructions",
        Weight::Time => "samples of CPU time",
    };
    let shown = format!(
        "{} of {} that ran, by share of {} {noun}",
        ranking.functions.len(),
        grouped(ranking.ranked.functions),
        grouped(ranking.total)
    );
    sheet.title("Hottest functions", &shown)?;
    let have_paths = ranking
        .functions
        .iter()
        .all(|summary| summary.paths.is_some());
    let unit = if have_paths { Unit::Paths } else { Unit::Edges };
    let selects = |summary: &Summary| sheet.run.function(summary.function).map.selects;
    let has_selects = ranking.functions.iter().any(|summary| selects(summary) > 0);
    let mut columns = match unit {
        Unit::Paths => BY_PATHS.to_vec(),
        Unit::Edges => BY_BLOCKS.to_vec(),
    };
    if has_selects {
        columns.insert(columns.len() - 1, ("selects", Align::Right));
    }
    // Ranked by time, the share is the time.
    let samples = sheet.run.samples().map(|samples| samples.total);
    let samples = samples.filter(|_| ranking.weight != Weight::Time);
    if samples.is_some() {
        columns.insert(1, ("time", Align::Right));
    }
    let left = |summary: &Summary| LeftFrames::of(sheet.run.function(summary.function));
    let have_left = ranking
        .functions
        .iter()
        .any(|summary| left(summary).is_known());
    if have_left {
        columns.insert(columns.len() - 1, ("left early", Align::Right));
    }
    let mut table = Table::new(&columns);
    for summary in &ranking.functions {
        let share_of_all = share(summary.weight(ranking.weight), ranking.total);
        let mut row = row(sheet, summary, unit, share_of_all);
        if has_selects {
            let selects = grouped(selects(summary));
            row.insert(row.len() - 1, (Ink::Faint, selects));
        }
        if let Some(total) = samples {
            let time = summary.samples.map(|samples| share(samples, total));
            row.insert(1, (Ink::Number, time.unwrap_or_default()));
        }
        if have_left {
            let left = in_brief(sheet.run.function(summary.function));
            row.insert(row.len() - 1, (Ink::Plain, left));
        }
        table.row(row);
        if unit == Unit::Paths {
            let function = sheet.run.function(summary.function);
            let hottest = hottest_of(function, sheet.options.sort);
            let row = hottest.and_then(|(path, _)| sheet.decisions_row(function, path));
            row.into_iter().for_each(|line| table.note(line));
        }
    }
    let sums = sums(sheet, &ranking);
    for (label, sums) in &sums {
        let share_of_all = share(sums.weight(ranking.weight), ranking.total);
        let mut row = sums_row(sums, unit, share_of_all);
        if let Some(total) = samples {
            row.insert(1, (Ink::Number, share(sums.samples, total)));
        }
        row.resize(columns.len() - 1, (Ink::Plain, String::new()));
        row.push((Ink::Faint, label.clone()));
        table.row(row);
    }
    table.write(&mut sheet.page)?;
    if let Some(total) = samples {
        sheet.page.gap()?;
        let text = format!(
            "time: samples in the function itself, of {} of user time. A function that waits for memory takes \
             more time than its instructions suggest; --sort time ranks by time",
            grouped(total)
        );
        sheet.page.wrapped(Line::new(), Ink::Faint, &text)?;
    }
    let mut marks: Vec<Bound> = write_parts(sheet, &ranking, unit)?;
    let bounds = |summary: &Summary| {
        let bounds = sheet.run.function(summary.function).bounds();
        [bounds.calls, bounds.sum()]
    };
    marks.extend(ranking.functions.iter().flat_map(bounds));
    let sums = sums.iter();
    marks.extend(sums.flat_map(|(_, sums)| [sums.calls_bound, sums.bound]));
    legend(sheet, marks)
}

/// The sums below the functions, each with its label. There is no sum of a single function.
fn sums(sheet: &Sheet<'_>, ranking: &Ranking) -> Vec<(String, Sums)> {
    let selected = match sheet.names.keeps_all() {
        true => "",
        false => " selected",
    };
    let functions = |sums: &Sums| grouped(sums.functions);
    let all = format!("sum of all {}{selected}", functions(&ranking.ranked));
    match (ranking.ranked.functions, ranking.unlisted.functions) {
        (0 | 1, _) => Vec::new(),
        (_, 0) => vec![(all, ranking.ranked)],
        (_, 1..) => vec![
            (
                format!("sum of {} shown", functions(&ranking.listed)),
                ranking.listed,
            ),
            (
                format!("sum of {} not shown (--top)", functions(&ranking.unlisted)),
                ranking.unlisted,
            ),
            (all, ranking.ranked),
        ],
    }
}

/// The cells of sums: from the share to the instructions, and the paths that ran if paths were
/// counted.
fn sums_row(sums: &Sums, unit: Unit, share_of_all: String) -> Vec<(Ink, String)> {
    let runs = match unit {
        Unit::Paths => sums.path_executions,
        Unit::Edges => sums.blocks,
    };
    let mut row = vec![
        (Ink::Number, share_of_all),
        (Ink::Plain, marked(sums.bound, &grouped(runs))),
        (Ink::Plain, marked(sums.calls_bound, &grouped(sums.calls))),
        (Ink::Plain, marked(sums.bound, &grouped(sums.instructions))),
    ];
    if unit == Unit::Paths {
        row.push((Ink::Plain, grouped(sums.distinct_paths)));
    }
    row
}

/// Writes the sums by crate, and by file for code of other languages, if the functions are of
/// several. Returns the bounds of the sums.
fn write_parts(sheet: &mut Sheet<'_>, ranking: &Ranking, unit: Unit) -> io::Result<Vec<Bound>> {
    let parts = sums_by_part(sheet.run, &sheet.names, ranking.weight);
    if parts.len() < 2 {
        return Ok(Vec::new());
    }
    let is_file = |part: &Part| matches!(part, Part::File(_));
    let files = parts.iter().filter(|(part, _)| is_file(part)).count();
    let (title, noun) = match files {
        0 => ("By crate", "crate"),
        _ if files == parts.len() => ("By file", "file"),
        _ => ("By crate and file", "crate or file"),
    };
    let shown = parts.len().min(sheet.top());
    let subtitle = format!(
        "{shown} of {}, by the same share",
        grouped(parts.len() as u64)
    );
    sheet.title(title, &subtitle)?;
    let before_name = match unit {
        Unit::Paths => &BY_PATHS[..5],
        Unit::Edges => &BY_BLOCKS[..4],
    };
    let mut columns = before_name.to_vec();
    columns.extend([("functions", Align::Right), (noun, Align::Name)]);
    let mut table = Table::new(&columns);
    for (part, sums) in &parts[..shown] {
        let share_of_all = share(sums.weight(ranking.weight), ranking.total);
        let mut row = sums_row(sums, unit, share_of_all);
        let name = match part {
            Part::Crate(name) => name.clone(),
            Part::File(file) => crate::places::short(file, sheet.options.cwd.as_deref()),
        };
        row.extend([(Ink::Plain, grouped(sums.functions)), (Ink::Strong, name)]);
        table.row(row);
    }
    table.write(&mut sheet.page)?;
    let bounds = parts[..shown].iter();
    Ok(bounds
        .flat_map(|(_, sums)| [sums.calls_bound, sums.bound])
        .collect())
}

fn row(
    sheet: &Sheet<'_>,
    summary: &Summary,
    unit: Unit,
    share_of_all: String,
) -> Vec<(Ink, String)> {
    let function = sheet.run.function(summary.function);
    let (name, bounds) = (sheet.name(function), function.bounds());
    let sum = bounds.sum();
    let paths = summary.paths.filter(|_| unit == Unit::Paths);
    let runs = paths.map_or(summary.blocks, |paths| paths.executions);
    let mut row = vec![
        (Ink::Number, share_of_all),
        (Ink::Plain, marked(sum, &grouped(runs))),
        (Ink::Plain, marked(bounds.calls, &grouped(summary.calls))),
        (Ink::Plain, marked(sum, &grouped(summary.instructions))),
    ];
    if let Some(paths) = paths {
        row.push((Ink::Plain, grouped(paths.distinct)));
        row.push((Ink::Faint, grouped(paths.possible)));
        let hottest = hottest_of(function, sheet.options.sort);
        let hottest = hottest.map(|(path, Ratio { part, whole })| {
            let short_name = short_name(function, path);
            format!("{} {path}{short_name}", share(part, whole))
        });
        row.push((Ink::Plain, hottest.unwrap_or_default()));
    }
    row.push((Ink::Strong, name.to_string()));
    row
}
