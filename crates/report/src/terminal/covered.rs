//! Writes the coverage of a run (`holloway coverage`): totals, files, functions, decisions, and the
//! paths that never ran next to the nearest paths that ran.

use std::io::{self, BufWriter, Write};

use holloway_analysis::covered::{
    CodeCoverage, ConditionCoverage, DecisionCoverage, Evidence, FunctionCoverage, Measures, Ratio,
};
use holloway_analysis::missing_paths::{MissingPath, Nearest};
use holloway_analysis::paths::regenerate;
use holloway_analysis::prime_paths::MAX_PRIME_PATHS;
use holloway_analysis::trail::{Start, trail};
use holloway_analysis::{Function, FunctionId};
use holloway_flow::Path;
use holloway_format::Count;

use super::paint::{Ink, Line, clip_start};
use super::paths::in_brief;
use super::sheet::{PLACE, Sheet};
use super::table::{Align, Table};
use super::uncovered::{merged, write_heading};
use crate::covered::{by_missing_code, is_incomplete, of_run, without_conditions};
use crate::numbers::{grouped, plural, share};
use crate::options::Options;
use crate::path_names::numbered_name;
use crate::places::short;
use crate::uncovered::shows_workspace;

/// The columns of measures, with the ratio that each shows.
type Column = (&'static str, fn(&Measures) -> Ratio);

const COLUMNS: [Column; 6] = [
    ("functions", |measures| measures.functions),
    ("lines", |measures| measures.lines),
    ("branches", |measures| measures.branches),
    ("paths", |measures| measures.paths),
    ("prime paths", |measures| measures.prime_paths),
    ("conditions", |measures| measures.conditions),
];

/// Paths listed for a function, unless the user selects functions.
const PATHS_OF_FUNCTION: usize = 1;

/// Writes the coverage. [`Options::top`] is the number of rows of each list (default 10).
///
/// # Errors
/// If writing to `out` fails.
pub fn write(evidence: Evidence<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(evidence.run, options, &mut out);
    let paths = match options.function.is_some() {
        true => sheet.top(),
        false => PATHS_OF_FUNCTION,
    };
    let coverage = of_run(evidence, &sheet.names, options, paths);
    write_totals(sheet, &coverage)?;
    write_files(sheet, &coverage)?;
    write_functions(sheet, &coverage)?;
    write_decisions(sheet, &coverage)?;
    write_paths(sheet, &coverage)?;
    out.flush()
}

fn write_totals(sheet: &mut Sheet<'_>, coverage: &CodeCoverage<'_>) -> io::Result<()> {
    let code = match shows_workspace(&sheet.names, sheet.options) {
        true => "in the workspace, ",
        false => "",
    };
    let merged = merged(sheet.run);
    sheet.title("Coverage", &format!("{code}{merged}"))?;
    let totals = &coverage.totals;
    let fact = |ratio: Ratio, noun: &str| match ratio.possible {
        0 => "none".to_owned(),
        possible => {
            let share = share(ratio.covered, possible);
            format!("{}{noun}, {share}", out_of(ratio))
        }
    };
    sheet.fact("functions", &fact(totals.functions, ""))?;
    sheet.fact("lines", &fact(totals.lines, ""))?;
    sheet.fact("branches", &fact(totals.branches, " ways of branches"))?;
    if totals.paths.possible > 0 {
        let text = fact(totals.paths, "");
        let which = "without those that end in a panic or are left in a call";
        sheet.fact(
            "paths",
            &format!("{text} ({which}); some may be impossible"),
        )?;
    }
    write_prime_paths(sheet, coverage)?;
    let decisions = &coverage.decisions;
    let measured = decisions.iter().filter(|decision| decision.is_measured);
    let measured = measured.count() as u64;
    if let Some(reason) = without_conditions(coverage) {
        return sheet.fact("conditions", reason);
    }
    let of = format!(" conditions of {} (MC/DC)", plural(measured, "decision"));
    sheet.fact("conditions", &fact(totals.conditions, &of))?;
    let cut = decisions.len() as u64 - measured;
    if cut > 0 {
        let text = format!(
            "{}: paths begin inside them, so their conditions are not known",
            plural(cut, "decision")
        );
        sheet.fact("not measured", &text)?;
    }
    if coverage.large_decisions > 0 {
        let text = format!(
            "{} with more than {} conditions",
            plural(coverage.large_decisions, "decision"),
            holloway_analysis::decisions::MAX_CONDITIONS
        );
        sheet.fact("not measured", &text)?;
    }
    Ok(())
}

fn write_prime_paths(sheet: &mut Sheet<'_>, coverage: &CodeCoverage<'_>) -> io::Result<()> {
    let Some(uncounted) = coverage.uncounted_primes else {
        return Ok(());
    };
    let ratio = coverage.totals.prime_paths;
    let lossy = match uncounted.is_lossy {
        true => ", at least: rare sequences were dropped (--memory keeps more)",
        false => "",
    };
    let text = match ratio.possible {
        0 => "none".to_owned(),
        possible => {
            let share = share(ratio.covered, possible);
            format!("{}, {share}{lossy}", out_of(ratio))
        }
    };
    sheet.fact("prime paths", &text)?;
    if uncounted.long_paths > 0 {
        let text = format!(
            "{} over more iterations than the run recorded (--collect loops=K follows K)",
            plural(uncounted.long_paths, "prime path")
        );
        sheet.fact("not counted", &text)?;
    }
    if uncounted.functions > 0 {
        let text = format!(
            "prime paths of {} with more than {} of them, or with too long a search",
            plural(uncounted.functions, "function"),
            grouped(MAX_PRIME_PATHS as u64)
        );
        sheet.fact("not counted", &text)?;
    }
    Ok(())
}

/// A ratio in words: `3 of 4`.
fn out_of(ratio: Ratio) -> String {
    format!("{} of {}", grouped(ratio.covered), grouped(ratio.possible))
}

/// A ratio as a cell of a table. Empty if there is nothing to cover.
fn cell(ratio: Ratio) -> (Ink, String) {
    match ratio.possible {
        0 => (Ink::Faint, String::new()),
        _ if ratio.covered == ratio.possible => (Ink::Plain, out_of(ratio)),
        _ => (Ink::Number, out_of(ratio)),
    }
}

/// The columns that have anything to show.
fn columns(coverage: &CodeCoverage<'_>, columns: &[Column]) -> Vec<Column> {
    let columns = columns.iter().copied();
    let is_measured = |(_, ratio): &Column| ratio(&coverage.totals).possible > 0;
    columns.filter(is_measured).collect()
}

fn heads(columns: &[Column], last: &[(&'static str, Align)]) -> Vec<(&'static str, Align)> {
    let heads = columns.iter().map(|&(head, _)| (head, Align::Right));
    heads.chain(last.iter().copied()).collect()
}

fn cells(columns: &[Column], measures: &Measures) -> Vec<(Ink, String)> {
    let ratios = columns.iter().map(|(_, ratio)| ratio(measures));
    ratios.map(cell).collect()
}

fn write_files(sheet: &mut Sheet<'_>, coverage: &CodeCoverage<'_>) -> io::Result<()> {
    let files = &coverage.files;
    if !write_heading(sheet, "Files", files.len(), "by name")? {
        return Ok(());
    }
    let columns = columns(coverage, &COLUMNS);
    let heads = heads(&columns, &[("file", Align::Name)]);
    let mut table = Table::new(&heads);
    for (file, measures) in files.iter().take(sheet.top()) {
        let mut row = cells(&columns, measures);
        let file = short(file, sheet.options.cwd.as_deref());
        row.push((Ink::Place, file));
        table.row(row);
    }
    table.write(&mut sheet.page)
}

fn write_functions(sheet: &mut Sheet<'_>, coverage: &CodeCoverage<'_>) -> io::Result<()> {
    let functions = by_missing_code(coverage);
    let title = "Functions that did not run completely";
    if !write_heading(sheet, title, functions.len(), "most missing lines first")? {
        return Ok(());
    }
    let columns = columns(coverage, &COLUMNS[1..]);
    let heads = heads(
        &columns,
        &[("declared at", Align::Left), ("function", Align::Name)],
    );
    let mut table = Table::new(&heads);
    for function in functions.into_iter().take(sheet.top()) {
        let mut row = cells(&columns, &function.measures);
        let place = clip_start(&sheet.place(function.file, function.line), PLACE);
        let name = sheet
            .names
            .name_of(&function.scope.linkage_name, &function.scope.name);
        row.extend([(Ink::Place, place), (Ink::Strong, name.to_string())]);
        table.row(row);
    }
    table.write(&mut sheet.page)
}

fn write_decisions(sheet: &mut Sheet<'_>, coverage: &CodeCoverage<'_>) -> io::Result<()> {
    let decisions = coverage.decisions.iter();
    let incomplete: Vec<_> = decisions
        .filter(|decision| decision.is_measured && is_incomplete(decision))
        .collect();
    let title = "Decisions with conditions that never acted by themselves";
    let order = "in the order of the source";
    if !write_heading(sheet, title, incomplete.len(), order)? {
        return Ok(());
    }
    for decision in incomplete.into_iter().take(sheet.top()) {
        write_decision(sheet, decision)?;
    }
    Ok(())
}

fn write_decision(sheet: &mut Sheet<'_>, decision: &DecisionCoverage<'_>) -> io::Result<()> {
    let line = decision.conditions.first().map_or(0, |first| first.line);
    let function = sheet.run.function(decision.function);
    let mut head = Line::new();
    head.put(Ink::Plain, "  ")
        .put(Ink::Place, &sheet.place(decision.file, line))
        .put(Ink::Plain, "  ")
        .put(Ink::Strong, &sheet.names.name(function))
        .put(Ink::Plain, "  ")
        .put(Ink::Number, &out_of(decision.ratio()))
        .put(Ink::Plain, " conditions, ")
        .put(
            Ink::Plain,
            &plural(decision.vectors.len() as u64, "combination"),
        )
        .put(Ink::Plain, " ran");
    sheet.page.line(&head)?;
    if let Some(text) = sheet.options.source.line(decision.file, line) {
        sheet.indented(Ink::Faint, text.trim())?;
    }
    let conditions: Vec<String> = decision
        .conditions
        .iter()
        .map(|condition| {
            let place = match condition.line {
                0 => "?".to_owned(),
                of_line => format!("{of_line}:{}", condition.column),
            };
            format!("{place} {}", fate(condition))
        })
        .collect();
    sheet.indented(Ink::Plain, &conditions.join(" · "))
}

/// What the run shows about a condition.
fn fate(condition: &ConditionCoverage) -> &'static str {
    let [held, failed] = [condition.held, condition.failed].map(|count| count > Count::ZERO);
    match (condition.is_independent, held, failed) {
        (true, _, _) => "covered",
        (false, false, false) => "never evaluated",
        (false, true, false) => "never false",
        (false, false, true) => "never true",
        (false, true, true) => "true and false, but never alone",
    }
}

fn write_paths(sheet: &mut Sheet<'_>, coverage: &CodeCoverage<'_>) -> io::Result<()> {
    let missing: Vec<(FunctionId, &FunctionCoverage<'_>)> = coverage
        .functions
        .iter()
        .filter(|function| !function.missing.is_empty())
        .filter_map(|function| Some((function.function?, function)))
        .collect();
    let mut missing = missing;
    // The sort is stable: functions with equally near paths stay in the order of the source.
    missing.sort_by_key(|(_, function)| {
        let nearest = &function.missing[0].nearest;
        (nearest.distance, std::cmp::Reverse(nearest.count))
    });
    let title = "Paths that never ran, each next to the nearest path that ran";
    let order = "of each function; fewest other decisions first";
    if !write_heading(sheet, title, missing.len(), order)? {
        return Ok(());
    }
    for (id, function) in missing.into_iter().take(sheet.top()) {
        for path in &function.missing {
            write_path(sheet, id, path)?;
        }
    }
    Ok(())
}

fn write_path(sheet: &mut Sheet<'_>, id: FunctionId, missing: &MissingPath) -> io::Result<()> {
    let function = sheet.run.function(id);
    let nearest = &missing.nearest;
    let mut head = Line::new();
    head.put(Ink::Plain, "  ")
        .put(Ink::Strong, &sheet.names.name(function))
        .put(Ink::Plain, "  ")
        .put(Ink::Outcome, &departure(sheet, function, missing));
    sheet.page.line(&head)?;
    let rows = [("never ran", missing.path), ("nearest", nearest.path)];
    for (label, path) in rows {
        let lines = regenerate(function, path).map_or_else(Vec::new, |path| {
            in_brief(sheet, function, &trail(&function.map, &path))
        });
        let name = numbered_name(function, path);
        let times = match label {
            "nearest" => format!(", ran {}", plural(nearest.count, "time")),
            _ => String::new(),
        };
        let mut line = Line::new();
        line.put(Ink::Plain, "    ").left(Ink::Faint, label, 11);
        sheet.page.wrapped(
            line,
            Ink::Plain,
            &format!("{name}{times}: {}", lines.join(" · ")),
        )?;
    }
    Ok(())
}

/// Where a missing path departs from the nearest one: `a.c:6 → line 7 instead of → line 10`.
fn departure<'a>(sheet: &Sheet<'a>, function: &'a Function, missing: &MissingPath) -> String {
    let Nearest {
        path,
        departures,
        distance,
        ..
    } = &missing.nearest;
    let map = &function.map;
    let starts = [missing.path, *path].map(|path| regenerate(function, path));
    if let [Some(own), Some(other)] = &starts
        && own.start != other.start
    {
        let [own, other] = [own, other].map(|path| start(sheet, function, path));
        return format!("starts at {own} instead of {other}");
    }
    let Some(&first) = departures.first() else {
        return "goes on where the other path is left in a call".to_owned();
    };
    let edge = &map.edges[first as usize];
    let branches = sheet.branches(function);
    let words = |edge: u32| {
        let place = map.edges[edge as usize].place;
        branches.word(place, &branches.destination(edge))
    };
    let [_, nearest] = &starts;
    let taken = nearest.as_ref().and_then(|path| {
        let end = path.end.edge();
        let mut edges = path.edges.iter().copied().chain([end]).map(|edge| edge.0);
        edges.find(|&other| map.edges[other as usize].from == edge.from)
    });
    let place = edge.place.and_then(|place| {
        let scope = map.scopes.get(place.scope as usize)?;
        Some(sheet.place(&scope.file, place.line))
    });
    let place = place.unwrap_or_else(|| format!("b{}", edge.from));
    let instead = taken.map_or_else(String::new, |edge| format!(" instead of {}", words(edge)));
    let more = match distance.saturating_sub(1) {
        0 => String::new(),
        more => format!(", and {}", plural(more as u64, "more decision")),
    };
    format!("{place} → {}{instead}{more}", words(first))
}

/// Where a path starts: `the entry`, `the loop at a.c:12`.
fn start(sheet: &Sheet<'_>, function: &Function, path: &Path) -> String {
    let trail = trail(&function.map, path);
    let noun = match trail.start {
        Start::Entry => return "the entry".to_owned(),
        Start::Loop => "the loop",
        Start::Cut => "the cut",
    };
    let place = trail.at.and_then(|place| {
        let scope = function.map.scopes.get(place.scope as usize)?;
        Some(format!(" at {}", sheet.place(&scope.file, place.line)))
    });
    format!("{noun}{}", place.unwrap_or_default())
}
