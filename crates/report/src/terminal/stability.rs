//! Writes the stability of timed runs: the net variation of each run's first-ranked paths in the
//! other runs. The tables show the bar charts of Figures 4 and 5 of the paper (Perelman, Chilimbi,
//! Calder 2005).

use holloway_format::Count;
use std::io::{self, BufWriter, Write};

use holloway_analysis::variation::stability::{Stability, stability};
use holloway_analysis::variation::{RankOptions, VariationRun};

use super::paint::{Ink, clip_start};
use super::sheet::PLACE;
use super::sheet::Sheet;
use super::table::{Align, Table};
use super::variation::report::{place_of, time};
use crate::numbers::{grouped, one_decimal, plural};
use crate::options::Options;
use crate::path_names::short_name;
use crate::variation::{letter, trail_of};

/// A run with fewer samples in all than this number times the number of first paths gets a warning.
/// The net variation of a path with a hundred samples is known to about 10 %.
const MIN_SAMPLES: u64 = 100;

/// Writes the net variation of each run's first paths in all runs.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(
    runs: &[&VariationRun],
    options: &Options<'_>,
    rank_options: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let Some(first_run) = runs.first() else {
        return Ok(());
    };
    let sheet = &mut Sheet::new(&first_run.run, options, &mut out);
    let first = sheet.top();
    let stability = stability(runs, rank_options, first, &|function| {
        sheet.names.name(function)
    });
    let heading = format!(
        "the first {} of each run by certain net variation, evaluated in every run",
        plural(first as u64, "path")
    );
    let letters: Vec<String> = (0..runs.len()).map(letter).collect();
    let profiles = letters.iter().zip(runs);
    let profiles: Vec<_> = profiles.map(|(name, run)| (&**name, &run.run)).collect();
    super::cpu_time::write_runs(sheet, &profiles)?;
    sheet.page.text(Ink::Strong, "Stability of variation")?;
    sheet
        .page
        .wrapped(super::paint::Line::new(), Ink::Faint, &heading)?;
    for (index, run) in runs.iter().enumerate() {
        sheet.fact(&letter(index), &description(run))?;
    }
    let has_few_samples =
        |run: &&VariationRun| run.stats.samples < Count(MIN_SAMPLES.saturating_mul(first as u64));
    let advice = advice(runs);
    if runs.iter().any(has_few_samples) {
        let sentence = format!(
            "a run with fewer than {} samples ({MIN_SAMPLES} for each first path) may rank other paths first the next time: {advice}",
            grouped(MIN_SAMPLES.saturating_mul(first as u64))
        );
        sheet.labeled(Ink::Alarm, "few samples", &sentence)?;
    }
    if stability.paths.is_empty() {
        let text = format!("nothing varies for certain in any of the runs: {advice}");
        sheet.page.gap()?;
        sheet
            .page
            .wrapped(super::paint::Line::new(), Ink::Alarm, &text)?;
        return out.flush();
    }
    write_across_runs(sheet, &stability)?;
    write_all_and_first(sheet, &stability)?;
    write_paths(sheet, runs, &stability)?;
    out.flush()
}

/// How to get more samples. An exact run times all paths already, so only a longer run has more.
fn advice(runs: &[&VariationRun]) -> &'static str {
    match runs.iter().all(|run| run.is_exact) {
        true => "let the program run longer",
        false => "let the program run longer, or time more with --burst 100",
    }
}

fn description(run: &VariationRun) -> String {
    let images: Vec<&str> = run.run.images.iter().map(|image| &*image.name).collect();
    let cycles = time(run.stats.cycles.to_f64(), run.frequency());
    format!(
        "{} · {} in all threads · {}",
        images.join(", "),
        cycles,
        plural(run.stats.samples, "sample")
    )
}

fn percent(share: f64) -> String {
    format!("{} %", one_decimal(100.0 * share))
}

/// Writes Figure 4: the net variation of each run's first paths in each run.
fn write_across_runs(sheet: &mut Sheet<'_>, stability: &Stability) -> io::Result<()> {
    sheet.title(
        "First paths across runs",
        "net variation in per cent of the time of the run that they are evaluated on",
    )?;
    let heads: Vec<String> = (0..stability.all.len())
        .map(|run| format!("on {}", letter(run)))
        .collect();
    let mut columns = vec![("first of", Align::Left)];
    columns.extend(heads.iter().map(|head| (&**head, Align::Right)));
    let mut table = Table::new(&columns);
    for (run, shares) in stability.shares.iter().enumerate() {
        let mut cells = vec![(Ink::Plain, letter(run))];
        cells.extend(shares.iter().enumerate().map(|(evaluated_run, share)| {
            let ink = if evaluated_run == run {
                Ink::Number
            } else {
                Ink::Plain
            };
            (ink, percent(*share))
        }));
        table.row(cells);
    }
    table.write(&mut sheet.page)
}

/// Writes Figure 5: the net variation of all paths of a run, of its own first paths, and of the
/// other runs' first paths.
fn write_all_and_first(sheet: &mut Sheet<'_>, stability: &Stability) -> io::Result<()> {
    sheet.title(
        "All variation and that of first paths",
        "in per cent of the run's time; kept: mean net variation of the others' first paths in per cent of that of its own",
    )?;
    let columns = [
        ("run", Align::Left),
        ("all that vary", Align::Right),
        ("its own first", Align::Right),
        ("the others' first", Align::Right),
        ("kept", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for (run, all) in stability.all.iter().enumerate() {
        let own_share = stability.shares[run][run];
        let shares_of_others: Vec<f64> = (0..stability.all.len())
            .filter(|other| *other != run)
            .map(|other| stability.shares[other][run])
            .collect();
        let sum_of_others = shares_of_others.iter().sum::<f64>();
        let mean = sum_of_others / (shares_of_others.len().max(1) as f64);
        let (mean_of_others, kept) = if shares_of_others.is_empty() {
            ("-".to_owned(), "-".to_owned())
        } else {
            let share_of_own = if own_share > 0.0 {
                percent(mean / own_share)
            } else {
                "-".to_owned()
            };
            (percent(mean), share_of_own)
        };
        table.row(vec![
            (Ink::Plain, letter(run)),
            (Ink::Plain, percent(*all)),
            (Ink::Number, percent(own_share)),
            (Ink::Number, mean_of_others),
            (Ink::Plain, kept),
        ]);
    }
    table.write(&mut sheet.page)
}

/// Writes the first paths of all runs, ordered by their best rank.
fn write_paths(
    sheet: &mut Sheet<'_>,
    runs: &[&VariationRun],
    stability: &Stability,
) -> io::Result<()> {
    let path_count = grouped(stability.paths.len() as u64);
    let shown = format!("{path_count} that are among the first of any run: rank and share in each");
    sheet.title("Paths", &shown)?;
    let heads: Vec<String> = (0..runs.len()).map(letter).collect();
    let mut columns: Vec<(&str, Align)> = Vec::new();
    for head in &heads {
        columns.push((head, Align::Right));
        columns.push(("share", Align::Right));
    }
    columns.push(("place", Align::Left));
    columns.push(("path", Align::Left));
    let mut table = Table::new(&columns);
    for path in &stability.paths {
        let function = runs[path.run].run.function(path.function);
        let mut cells = Vec::new();
        for (rank, share) in path.ranks.iter().zip(&path.shares) {
            cells.push(match rank {
                Some(rank) if *rank < sheet.top() => (Ink::Number, (rank + 1).to_string()),
                Some(rank) => (Ink::Plain, (rank + 1).to_string()),
                None => (Ink::Alarm, "-".to_owned()),
            });
            cells.push((Ink::Plain, percent(*share)));
        }
        let trail = trail_of(function, path.path);
        let place = trail.map_or_else(String::new, |trail| place_of(sheet, function, &trail));
        cells.push((Ink::Place, clip_start(&place, PLACE)));
        let name = sheet.names.name(function);
        let short_name = short_name(function, path.path);
        cells.push((Ink::Strong, format!("{name}{short_name} {}", path.path)));
        table.row(cells);
        let decided = sheet.decisions_row(function, path.path);
        decided.into_iter().for_each(|line| table.note(line));
    }
    table.write(&mut sheet.page)
}
