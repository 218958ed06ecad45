//! Code that never ran (`--uncovered`): functions, lines, ways of branches, and paths, merged over
//! all processes and programs of the run.
//!
//! ```text
//! Never ran  in the workspace, 3 processes of 2 programs merged
//!   functions     1 of 12
//!   lines         9 of 80
//!   branches      3 of 22 ways
//!   paths         20 of 44 in functions that ran; many of them may be impossible
//! ```

use std::collections::BTreeSet;
use std::io;

use holloway_analysis::RunProfile;
use holloway_analysis::paths::regenerate;
use holloway_analysis::trail::trail;
use holloway_analysis::uncovered::{Uncovered, UncoveredPaths, UncoveredWay};
use holloway_flow::PathId;

use super::paint::{Ink, Line, clip, clip_start};
use super::paths::in_brief;
use super::sheet::{PLACE, Sheet};
use super::table::{Align, Table};
use crate::numbers::{grouped, plural};
use crate::path_names::numbered_name;
use crate::places::short;
use crate::uncovered::{of_run, shows_workspace};

const FUNCTIONS: [(&str, Align); 3] = [
    ("lines", Align::Right),
    ("declared at", Align::Left),
    ("function", Align::Name),
];

const WAYS: [(&str, Align); 5] = [
    ("branch ran", Align::Right),
    ("branch", Align::Left),
    ("never goes", Align::Left),
    ("function", Align::Left),
    ("source", Align::Left),
];

const PATHS: [(&str, Align); 4] = [
    ("ran", Align::Right),
    ("possible", Align::Right),
    ("function", Align::Left),
    ("a path that never ran", Align::Left),
];

/// Minimum columns of a source line.
const MIN_WIDTH: usize = 20;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let uncovered = of_run(sheet.run, &sheet.names, sheet.options, 1);
    write_totals(sheet, &uncovered)?;
    write_functions(sheet, &uncovered)?;
    write_lines(sheet, &uncovered)?;
    write_ways(sheet, &uncovered)?;
    write_paths(sheet, &uncovered)
}

fn write_totals(sheet: &mut Sheet<'_>, uncovered: &Uncovered<'_>) -> io::Result<()> {
    let merged = merged(sheet.run);
    let code = match shows_workspace(&sheet.names, sheet.options) {
        true => "in the workspace, ",
        false => "",
    };
    sheet.title("Never ran", &format!("{code}{merged}"))?;
    let share = |never: u64, all: u64| format!("{} of {}", grouped(never), grouped(all));
    let functions = uncovered.functions.len() as u64;
    sheet.fact("functions", &share(functions, uncovered.function_count))?;
    let lines = share(uncovered.uncovered_line_count, uncovered.line_count);
    sheet.fact("lines", &lines)?;
    let ways = share(uncovered.ways.len() as u64, uncovered.way_count);
    sheet.fact("branches", &format!("{ways} ways of branches that ran"))?;
    if uncovered.path_count > 0 {
        let never = uncovered.path_count.saturating_sub(uncovered.paths_run);
        let paths = share(never, uncovered.path_count);
        let text = format!("{paths} in functions that ran; many of them may be impossible");
        sheet.fact("paths", &text)?;
    }
    if uncovered.allocator_shims > 0 {
        let shims = plural(uncovered.allocator_shims, "function");
        let text =
            format!("{shims} that the compiler makes to call the allocator (__rust_alloc, …)");
        sheet.fact("left out", &text)?;
    }
    Ok(())
}

/// The number of processes and programs of a run: `3 processes of 2 programs merged`. A process may
/// have several woven images: its program and shared objects.
pub(super) fn merged(run: &RunProfile) -> String {
    let images = || run.images.iter();
    let processes = images().flat_map(|image| &image.processes);
    let processes: BTreeSet<u32> = processes.map(|process| process.pid).collect();
    let programs = images().filter(|image| !image.processes.is_empty());
    let programs = programs.filter(|image| !is_shared_object(&image.name));
    let processes = match processes.len() {
        1 => "1 process".to_owned(),
        count => format!("{} processes", grouped(count as u64)),
    };
    match programs.count() {
        0 => format!("{processes} merged"),
        count => format!("{processes} of {} merged", plural(count as u64, "program")),
    }
}

/// Whether a file name is that of a shared object: `libz.so`, `libz.so.1`.
fn is_shared_object(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

/// Writes the heading of a list: the number of rows and the order. Returns whether there are rows.
pub(super) fn write_heading(
    sheet: &mut Sheet<'_>,
    title: &str,
    rows: usize,
    order: &str,
) -> io::Result<bool> {
    if rows > 0 {
        let shown = rows.min(sheet.top());
        let more = match rows > shown {
            true => "; --top N shows more",
            false => "",
        };
        let shown = grouped(shown as u64);
        let all = grouped(rows as u64);
        sheet.title(title, &format!("{shown} of {all}, {order}{more}"))?;
    }
    Ok(rows > 0)
}

fn write_functions(sheet: &mut Sheet<'_>, uncovered: &Uncovered<'_>) -> io::Result<()> {
    let functions = &uncovered.functions;
    let title = "Functions that never ran";
    if !write_heading(sheet, title, functions.len(), "most lines first")? {
        return Ok(());
    }
    let mut table = Table::new(&FUNCTIONS);
    for function in functions.iter().take(sheet.top()) {
        let name = sheet
            .names
            .name_of(&function.scope.linkage_name, &function.scope.name);
        let place = clip_start(&sheet.place(function.file, function.line), PLACE);
        table.row(vec![
            (Ink::Number, grouped(function.lines)),
            (Ink::Place, place),
            (Ink::Strong, name.to_string()),
        ]);
    }
    table.write(&mut sheet.page)
}

fn write_lines(sheet: &mut Sheet<'_>, uncovered: &Uncovered<'_>) -> io::Result<()> {
    let mut files: Vec<(&String, &Vec<u32>)> = uncovered.lines.iter().collect();
    // The sort is stable: files with equally many lines stay in the order of their names.
    files.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.len()));
    let title = "Files with lines that never ran";
    let order = "most lines first, without functions that never ran";
    if !write_heading(sheet, title, files.len(), order)? {
        return Ok(());
    }
    let max_ranges = match files.len() {
        1 => usize::MAX,
        _ => MAX_RANGES,
    };
    let shown = files.into_iter().take(sheet.top());
    for (file, lines) in shown {
        let mut head = Line::new();
        let count = plural(lines.len() as u64, "line");
        head.put(Ink::Plain, "  ")
            .put(Ink::Place, &short(file, sheet.options.cwd.as_deref()))
            .put(Ink::Faint, &format!("  {count}: "));
        sheet
            .page
            .wrapped(head, Ink::Plain, &ranges(lines, max_ranges))?;
    }
    Ok(())
}

/// Maximum number of ranges of lines of one file, if several files are listed.
const MAX_RANGES: usize = 12;

/// Line numbers as ranges: `4, 7-9`. Of more than `max` ranges, the longest are shown.
fn ranges(lines: &[u32], max: usize) -> String {
    let mut ranges: Vec<&[u32]> = lines.chunk_by(|a, b| a + 1 == *b).collect();
    let mut more = String::new();
    if ranges.len() > max {
        ranges.sort_by_key(|range| std::cmp::Reverse(range.len()));
        let hidden = ranges.split_off(max);
        ranges.sort();
        let hidden = hidden.iter().map(|range| range.len() as u64).sum::<u64>();
        more = format!(
            "; {} in shorter ranges (--file FILE shows all)",
            plural(hidden, "line")
        );
    }
    let ranges = ranges.iter().map(|range| match range {
        [line] => line.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<_>>().join(", ") + &more
}

fn write_ways(sheet: &mut Sheet<'_>, uncovered: &Uncovered<'_>) -> io::Result<()> {
    let ways = &uncovered.ways;
    let title = "Ways of branches that were never taken";
    if !write_heading(sheet, title, ways.len(), "most executed branch first")? {
        return Ok(());
    }
    let mut table = Table::new(&WAYS);
    let shown = &ways[..ways.len().min(sheet.top())];
    let line = |way: &UncoveredWay<'_>| sheet.place(way.file, way.line);
    let line_and_column = |way: &UncoveredWay<'_>| format!("{}:{}", line(way), way.column);
    for way in shown {
        // Branches on one line have their columns.
        let is_other = |other: &&UncoveredWay<'_>| (other.file, other.line) == (way.file, way.line);
        let mut on_line = shown.iter().filter(is_other);
        let place = match on_line.any(|other| other.column != way.column) {
            true => line_and_column(way),
            false => line(way),
        };
        table.row(way_row(sheet, way, &place));
    }
    table.write(&mut sheet.page)
}

fn way_row(sheet: &Sheet<'_>, way: &UncoveredWay<'_>, branch: &str) -> Vec<(Ink, String)> {
    let function = sheet.run.function(way.function);
    let place = function.map.edges[way.edge as usize].place;
    let branches = sheet.branches(function);
    let destination = branches.destination(way.edge);
    let goes = place.map_or_else(String::new, |place| {
        branches.in_words(place, &[destination])
    });
    let text = sheet.options.source.line(way.file, way.line);
    vec![
        (Ink::Number, grouped(way.executions)),
        (Ink::Place, clip_start(branch, PLACE)),
        (Ink::Outcome, goes),
        (Ink::Strong, sheet.names.name(function).to_string()),
        (
            Ink::Plain,
            clip(
                text.unwrap_or_default().trim(),
                MIN_WIDTH.max(sheet.page.width() / 3),
            ),
        ),
    ]
}

fn write_paths(sheet: &mut Sheet<'_>, uncovered: &Uncovered<'_>) -> io::Result<()> {
    let functions = &uncovered.paths;
    let title = "Functions with paths that never ran";
    if !write_heading(sheet, title, functions.len(), "most instructions first")? {
        return Ok(());
    }
    let mut table = Table::new(&PATHS);
    for paths in functions.iter().take(sheet.top()) {
        let function = sheet.run.function(paths.function);
        let never = paths
            .never
            .first()
            .map(|&path| in_words(sheet, paths, path));
        table.row(vec![
            (Ink::Number, grouped(paths.ran)),
            (Ink::Plain, grouped(paths.possible)),
            (Ink::Strong, sheet.names.name(function).to_string()),
            (Ink::Plain, never.unwrap_or_default()),
        ]);
    }
    table.write(&mut sheet.page)
}

/// The number of a path, and its lines with the decisions there.
fn in_words(sheet: &Sheet<'_>, paths: &UncoveredPaths, path: PathId) -> String {
    let function = sheet.run.function(paths.function);
    let lines = regenerate(function, path).map_or_else(Vec::new, |path| {
        in_brief(sheet, function, &trail(&function.map, &path))
    });
    let name = numbered_name(function, path);
    match lines.is_empty() {
        true => name,
        false => format!("{name}: {}", lines.join(" · ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{merged, ranges};
    use holloway_analysis::RunProfile;
    use holloway_testkit::build::{image, module, profile, slide};

    #[test]
    fn a_process_with_two_woven_images_is_one_process_of_one_program() {
        let [app, lib, other] = ["app", "lib.so.1", "other"].map(slide_image);
        let of = |image, pids: &[u32]| {
            let pids = pids.iter();
            pids.map(|&pid| profile(image, pid, &[]))
                .collect::<Vec<_>>()
        };
        let profiles = [of(&app, &[7, 8]), of(&lib, &[7, 8, 9]), of(&other, &[9])];
        let [of_app, of_lib, of_other] = profiles;
        let run = RunProfile::new(vec![
            (app, of_app),
            (lib, of_lib.clone()),
            (other, of_other),
        ]);
        assert_eq!(merged(&run), "3 processes of 2 programs merged");
        let lib = slide_image("lib.so.1");
        assert_eq!(
            merged(&RunProfile::new(vec![(lib, of_lib)])),
            "3 processes merged"
        );
    }

    fn slide_image(name: &str) -> holloway_format::ImageMap {
        image(name, vec![module("part.o", vec![slide()])])
    }

    #[test]
    fn consecutive_lines_form_ranges() {
        let lines = [4, 7, 8, 9, 12, 13];
        assert_eq!(ranges(&[], 2), "");
        assert_eq!(ranges(&[4], 2), "4");
        assert_eq!(ranges(&lines, 3), "4, 7-9, 12-13");
        assert_eq!(
            ranges(&lines, 2),
            "7-9, 12-13; 1 line in shorter ranges (--file FILE shows all)"
        );
    }
}
