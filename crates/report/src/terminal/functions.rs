//! The functions view: a row for each function that ran, the sums of these rows and of the
//! functions that are not shown, and the sums by crate. The table has a column for selects only if
//! a shown function has selects.
//!
//! ```text
//!    share  path runs  calls  instructions  paths run  possible    hottest path  function
//!   97.6 %     35,706      3       247,548          5        10  96.6 % p6#7330  app::search
//!   97.6 %     35,706      3       247,548          5                            sum of 1 shown
//!    2.4 %        550    545         6,200          7                            sum of 2 not shown
//!  100.0 %     36,256    548       253,748         12                            sum of all 3
//! ```

use std::io;

use holloway_abi::Unit;
use holloway_analysis::bounds::Bound;
use holloway_analysis::functions::{Ranking, Summary, Sums, Weight, hottest};

use super::bounds::{legend, marked};
use super::paint::Ink;
use super::sheet::Sheet;
use super::table::{Align, Table};
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
    let sort = sheet.options.sort;
    let ranking = hottest(sheet.run, sort, Some(sheet.top()), &|id| sheet.keeps(id));
    let noun = match ranking.weight {
        Weight::Paths => "path executions",
        Weight::Blocks => "block runs",
        Weight::Instructions => "instructions",
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
    let before_name = columns.len() - 1;
    if has_selects {
        columns.insert(before_name, ("selects", Align::Right));
    }
    let mut table = Table::new(&columns);
    for summary in &ranking.functions {
        let share = share(summary.weight(ranking.weight), ranking.total);
        let mut row = row(sheet, summary, unit, share);
        if has_selects {
            let selects = grouped(selects(summary));
            row.insert(before_name, (Ink::Faint, selects));
        }
        table.row(row);
    }
    let sums = sums(sheet, &ranking);
    for (label, sums) in &sums {
        let share = share(sums.weight(ranking.weight), ranking.total);
        let mut row = sums_row(sums, unit, share);
        row.resize(columns.len() - 1, (Ink::Plain, String::new()));
        row.push((Ink::Faint, label.clone()));
        table.row(row);
    }
    table.write(&mut sheet.page)?;
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
        let share = share(sums.weight(ranking.weight), ranking.total);
        let mut row = sums_row(sums, unit, share);
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
        let (path, count) = paths.hottest;
        row.push((Ink::Plain, grouped(paths.distinct)));
        row.push((Ink::Faint, grouped(paths.possible)));
        row.push((
            Ink::Plain,
            format!(
                "{} {path}{}",
                share(count, paths.executions),
                short_name(function, path)
            ),
        ));
    }
    row.push((Ink::Strong, name.to_string()));
    row
}
