//! Writes the comparison of two runs: their common paths or edges, and their largest differences.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use holloway_abi::Unit;
use holloway_analysis::edges::target;
use holloway_analysis::overlap::{
    Alone, Both, Difference, Overlap, Pair, Side, Why, edge_of, overlap,
};
use holloway_analysis::paths::regenerate;
use holloway_analysis::trail::{End, first_place, is_choice, trail};
use holloway_analysis::{Exits, Function, RunProfile};
use holloway_flow::PathId;
use holloway_format::{Count, Place};

use super::outcome;

use super::decisions::{MIN_DECISIONS_WIDTH, decisions};
use super::paint::{Ink, Line, clip_start};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::notes::sentence;
use crate::numbers::{grouped, plural, share};
use crate::options::Options;
use crate::path_names::{keep_chosen_path, numbered_name};
use crate::samples::basis_words;

const IN_COMMON: [(&str, Align); 3] = [("", Align::Left), ("A", Align::Right), ("B", Align::Right)];

const FUNCTIONS: [(&str, Align); 6] = [
    ("A", Align::Right),
    ("B", Align::Right),
    ("common", Align::Right),
    ("only A", Align::Right),
    ("only B", Align::Right),
    ("function", Align::Name),
];

/// Columns of differences between paths.
const DIFFERENCES: [(&str, Align); 7] = [
    ("A", Align::Right),
    ("B", Align::Right),
    ("which", Align::Left),
    ("from", Align::Left),
    ("to", Align::Left),
    ("branches", Align::Left),
    ("function", Align::Name),
];

const EDGES: [(&str, Align); 7] = {
    let mut columns = DIFFERENCES;
    columns[5].0 = "branch";
    columns
};

const ALONE: [(&str, Align); 4] = [
    ("run", Align::Left),
    ("share", Align::Right),
    ("why", Align::Left),
    ("function", Align::Name),
];

/// Profiles with a larger overlap are usually called similar.
const SIMILAR: f64 = 0.9;
/// Maximum number of notes of damage that are listed for each run.
pub(super) const MAX_NOTES: usize = 5;
/// Minimum columns of a place.
const MIN_PLACE_WIDTH: usize = 20;

/// Writes the comparison of two runs.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(
    runs: Both<&RunProfile>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut sheet = Sheet::new(runs[0], options, &mut out);
    let overlap = {
        let keep = |function: &Function| {
            let map = &function.map;
            sheet.names.matches(&map.linkage_name, &map.name)
        };
        let mut overlap = overlap(runs, &keep, &|function| sheet.names.name(function));
        keep_chosen_path(&mut overlap, runs, &sheet.names);
        overlap
    };
    Comparison { runs, overlap }.write(&mut sheet)?;
    out.flush()
}

struct Comparison<'a> {
    runs: Both<&'a RunProfile>,
    overlap: Overlap,
}

impl<'a> Comparison<'a> {
    fn write(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let Overlap {
            overlap: value,
            sides,
            ..
        } = &self.overlap;
        super::cpu_time::write_runs(sheet, &[("A", self.runs[0]), ("B", self.runs[1])])?;
        sheet.page.text(Ink::Strong, "Overlap of A and B")?;
        for (name, run) in ["A", "B"].into_iter().zip(self.runs) {
            sheet.fact(name, &description(run))?;
            if let Some(text) = basis_words(run.basis) {
                sheet.fact("", &text)?;
            }
        }
        let verdict = if *value > SIMILAR {
            "similar"
        } else {
            "not similar"
        };
        // Only a complete overlap is shown as 1.000.
        let shown = if *value < 1.0 { value.min(0.999) } else { 1.0 };
        let units = match self.overlap.unit {
            Unit::Paths => "paths",
            Unit::Edges => "edges",
        };
        sheet.fact(
            "overlap",
            &format!("{shown:.3}, {verdict}: sum over {units} of the smaller share, 1 where all are equal, similar above {SIMILAR}"),
        )?;
        if self.overlap.by_exits > 0 {
            let noun = match self.overlap.unit {
                Unit::Paths => "path",
                Unit::Edges => "edge",
            };
            let text = format!(
                "{} not listed: frames left in calls, which only one run counts, may explain the difference",
                plural(self.overlap.by_exits, noun)
            );
            sheet.fact("exits", &text)?;
        }
        if self.overlap.cut_elsewhere > 0 {
            let text = format!(
                "paths are cut at different edges in A and B in {}, so the same route is a different path; compare runs of --collect edges to include all functions",
                plural(self.overlap.cut_elsewhere, "function")
            );
            sheet.fact("cut", &text)?;
        }
        if let Some(side) = self.overlap.ends_at_calls {
            let text = format!(
                "{}'s paths end at calls (a trace): functions that call have no counterpart",
                ["A", "B"][side]
            );
            sheet.fact("cut", &text)?;
        }
        for (name, run) in ["A", "B"].into_iter().zip(self.runs) {
            for note in run.damage.iter().take(MAX_NOTES) {
                let text = format!("{name}: {}", sentence(note));
                sheet.labeled(Ink::Alarm, "damaged", &text)?;
            }
        }
        if sides.iter().all(|side| side.executions == Count::ZERO) {
            sheet.page.gap()?;
            return sheet.page.text(
                Ink::Alarm,
                "nothing to compare: no function that the filter keeps ran",
            );
        }
        self.write_common(sheet)?;
        self.write_functions(sheet)?;
        self.write_differences(sheet)?;
        self.write_without_counterpart(sheet)
    }

    fn write_common(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        sheet.title("In common", "share of what each run did")?;
        let mut table = Table::new(&IN_COMMON);
        let common = self.overlap.common;
        let mut row = |name: &str, ink: Ink, cell: &dyn Fn(&Side) -> String| {
            let [a, b] = &self.overlap.sides;
            table.row(vec![
                (Ink::Plain, name.to_owned()),
                (ink, cell(a)),
                (ink, cell(b)),
            ]);
        };
        let part = |part: u64, whole: u64| format!("{}  {}", grouped(part), share(part, whole));
        let part_of_count = |count: Count, whole: Count| part(count.into(), whole.into());
        let (distinct, runs, common_runs, instructions) = match self.overlap.unit {
            Unit::Paths => (
                "different paths",
                "path executions",
                "of them on common paths",
                "of them on common paths",
            ),
            Unit::Edges => (
                "different edges",
                "edges taken",
                "of them common ones",
                "of them in common blocks",
            ),
        };
        row(distinct, Ink::Plain, &|side| grouped(side.distinct));
        row("of them common", Ink::Number, &|side| {
            part(common, side.distinct)
        });
        row(runs, Ink::Plain, &|side| grouped(side.executions));
        row(common_runs, Ink::Number, &|side| {
            part_of_count(side.common_executions, side.executions)
        });
        row("instructions", Ink::Plain, &|side| {
            grouped(side.instructions)
        });
        row(instructions, Ink::Number, &|side| {
            part_of_count(side.common_instructions, side.instructions)
        });
        table.write(&mut sheet.page)
    }

    fn write_functions(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let pair_indices: BTreeSet<usize> = self
            .overlap
            .differences
            .iter()
            .map(|difference| difference.pair)
            .collect();
        let pairs: Vec<&Pair> = pair_indices
            .iter()
            .map(|&pair| &self.overlap.pairs[pair])
            .collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let shown = format!(
            "{} of {} whose shares of executions differ",
            pairs.len().min(sheet.top()),
            plural(pairs.len() as u64, "function")
        );
        sheet.title("Functions that differ most", &shown)?;
        let mut table = Table::new(&FUNCTIONS);
        for pair in pairs.into_iter().take(sheet.top()) {
            let name = sheet.names.name(self.runs[0].function(pair.functions[0]));
            table.row(vec![
                (Ink::Number, self.share(0, pair.sides[0].executions)),
                (Ink::Number, self.share(1, pair.sides[1].executions)),
                (Ink::Plain, grouped(pair.common)),
                (Ink::Plain, grouped(pair.sides[0].distinct - pair.common)),
                (Ink::Plain, grouped(pair.sides[1].distinct - pair.common)),
                (Ink::Strong, name.to_string()),
            ]);
        }
        table.write(&mut sheet.page)
    }

    fn write_differences(&self, sheet: &mut Sheet<'a>) -> io::Result<()> {
        let differences = &self.overlap.differences;
        if differences.is_empty() {
            return match &sheet.options.path {
                Some(choice) => {
                    sheet.page.gap()?;
                    let text = format!(
                        "{}{} has the same share of executions in both runs",
                        choice.function, choice.prefix
                    );
                    sheet.page.wrapped(Line::new(), Ink::Plain, &text)
                }
                None => Ok(()),
            };
        }
        let (title, noun, columns) = match self.overlap.unit {
            Unit::Paths => ("Paths that differ most", "path", &DIFFERENCES),
            Unit::Edges => ("Edges that differ most", "edge", &EDGES),
        };
        let shown = format!(
            "{} of {} whose shares of executions differ",
            differences.len().min(sheet.top()),
            plural(differences.len() as u64, noun)
        );
        sheet.title(title, &shown)?;
        let mut table = Table::new(columns);
        for difference in differences.iter().take(sheet.top()) {
            table.row(self.difference_row(sheet, difference));
        }
        table.write(&mut sheet.page)
    }

    fn difference_row(&self, sheet: &Sheet<'a>, difference: &Difference) -> Vec<(Ink, String)> {
        let function = self.runs[difference.side].function(difference.function);
        let [path_or_edge, from, to, branches] = match self.overlap.unit {
            Unit::Paths => path_ends(sheet, function, PathId(difference.number)),
            Unit::Edges => edge_ends(sheet, function, difference.number),
        };
        let cell = |side: usize| match difference.counts[side] {
            Count::ZERO => (Ink::Alarm, "never".to_owned()),
            count => (Ink::Number, self.share(side, count)),
        };
        vec![
            cell(0),
            cell(1),
            (Ink::Faint, path_or_edge),
            (Ink::Place, from),
            (Ink::Place, to),
            (Ink::Outcome, branches),
            (Ink::Strong, sheet.names.name(function).to_string()),
        ]
    }

    fn write_without_counterpart(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let alone_in = |side: usize| {
            self.overlap.alone[side]
                .iter()
                .map(move |alone| (side, alone))
        };
        let mut functions: Vec<(usize, &Alone)> = alone_in(0).chain(alone_in(1)).collect();
        if functions.is_empty() {
            return Ok(());
        }
        let weight = |&(side, alone): &(usize, &Alone)| {
            holloway_analysis::overlap::share(alone.executions, self.overlap.sides[side].executions)
        };
        functions.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        let shown = format!(
            "{} of {} with executions, but without counterpart in the other run",
            functions.len().min(sheet.top()),
            plural(functions.len() as u64, "function")
        );
        sheet.title("Without counterpart", &shown)?;
        let mut table = Table::new(&ALONE);
        for &(side, alone) in functions.iter().take(sheet.top()) {
            let reason = match alone.why {
                Why::Changed => "has another graph in the other run",
                Why::Missing => "has no counters in the other run",
            };
            let name = sheet.names.name(self.runs[side].function(alone.function));
            table.row(vec![
                (Ink::Strong, ["A", "B"][side].to_owned()),
                (Ink::Number, self.share(side, alone.executions)),
                (Ink::Plain, reason.to_owned()),
                (Ink::Strong, name.to_string()),
            ]);
        }
        table.write(&mut sheet.page)
    }

    fn share(&self, side: usize, count: Count) -> String {
        share(count, self.overlap.sides[side].executions)
    }
}

/// The images of a run, the kinds of its counts, and the number of its profiles and functions.
pub(super) fn description(run: &RunProfile) -> String {
    let images: Vec<&str> = run.images.iter().map(|image| &*image.name).collect();
    let processes: usize = run.images.iter().map(|image| image.processes.len()).sum();
    let ran = run.functions.iter().filter(|function| function.ran());
    format!(
        "{} · {}, exits {} · {} · {} of {} ran",
        images.join(", "),
        kinds(run),
        match run.exits() {
            Exits::On => "on",
            Exits::Off => "off",
            Exits::Mixed => "on in some",
        },
        plural(processes as u64, "profile"),
        grouped(ran.count() as u64),
        plural(run.functions.len() as u64, "function")
    )
}

/// The kinds of counts in the functions that ran.
fn kinds(run: &RunProfile) -> &'static str {
    let has = |unit: Unit| {
        let mut functions = run.functions.iter();
        functions.any(|function| function.ran() && function.unit() == unit)
    };
    match (has(Unit::Paths), has(Unit::Edges)) {
        (true, true) => "paths and edges",
        (true, false) => "paths",
        (false, true) => "edges",
        (false, false) => match run.unit() {
            Unit::Paths => "paths",
            Unit::Edges => "edges",
        },
    }
}

/// Four cells for a path: its number, its first place, how and where it ends, and its branches.
pub(super) fn path_ends<'a>(sheet: &Sheet<'a>, function: &'a Function, id: PathId) -> [String; 4] {
    let Some(path) = regenerate(function, id) else {
        return Default::default();
    };
    let trail = trail(&function.map, &path);
    let last = trail.steps.last().map(|step| step.place);
    let start = place(sheet, function, trail.at);
    let near = |to: Option<Place>| near(&start, place(sheet, function, to));
    let to = match trail.end {
        End::Back(head) => format!("back to {}", near(head)),
        End::Cut(next) => format!("cut at {}", near(next)),
        End::Exit(outcome) => format!("{} {}", near(last), outcome::word(outcome)),
    };
    let width = MIN_DECISIONS_WIDTH.max(sheet.page.width() / 3);
    let branches = decisions(&sheet.branches(function), &trail, width);
    [numbered_name(function, id), start, to, branches]
}

/// Four cells for an edge: its blocks, the place at its start, the place at its end, and its
/// decision.
pub(super) fn edge_ends<'a>(
    sheet: &Sheet<'a>,
    function: &'a Function,
    common_number: u64,
) -> [String; 4] {
    let Some((number, edge)) = edge_of(&function.map, common_number) else {
        return Default::default();
    };
    let places = |block: u32| &*function.map.blocks[block as usize].places;
    let from = edge.place.or_else(|| places(edge.from).last().copied());
    let from = place(sheet, function, from);
    let target = target(&function.map, edge.to);
    let decided = if is_choice(edge.outcome) {
        let branches = sheet.branches(function);
        branches.unless_shown(number, edge.place, target)
    } else {
        String::new()
    };
    let (name, to) = if target == function.map.exit {
        ("exit".to_owned(), "exit".to_owned())
    } else {
        let to = place(sheet, function, first_place(places(target)));
        (format!("b{target}"), near(&from, to))
    };
    [format!("b{} → {name}", edge.from), from, to, decided]
}

/// Shortens a place to its line if it is in the same file as the place `other`.
fn near(other: &str, place: String) -> String {
    let file = |place: &str| place.rsplit_once(':').map(|(file, _)| file.to_owned());
    match place.rsplit_once(':') {
        Some((place_file, line)) if Some(place_file) == file(other).as_deref() => {
            format!(":{line}")
        }
        _ => place,
    }
}

fn place(sheet: &Sheet<'_>, function: &Function, place: Option<Place>) -> String {
    let scope = |place: Place| function.map.scopes.get(place.scope as usize);
    let text = place
        .filter(|place| place.line != 0)
        .and_then(|place| Some(sheet.place(&scope(place)?.file, place.line)))
        .unwrap_or_else(|| "-".to_owned());
    clip_start(&text, MIN_PLACE_WIDTH.max(sheet.page.width() / 4))
}
