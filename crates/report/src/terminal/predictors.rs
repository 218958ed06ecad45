//! Writes what simulated branch predictors find in a thread.

use std::io::{self, BufWriter, Write};

use holloway_analysis::branch_stream::BranchSet;
use holloway_analysis::predictors::{HardBranch, Model, SchemeResult, THRESHOLDS};
use holloway_format::Count;

use super::paint::{Ink, Line, clip, clip_start};
use super::route::route_of;
use super::table::{Align, Table};
use super::thread::{ThreadSheet, branches};
use crate::numbers::{grouped, one_decimal, plural, share};
use crate::options::Options;
use crate::places::{branch_place, file_and_line};
use crate::predictors::{Predictions, Remedy, longer_history, model_name, scheme_name, selects};

/// Maximum columns of a place.
const PLACE_WIDTH: usize = 32;
/// Columns before the note below a branch.
const INDENT: usize = 8;
/// Maximum columns of a source line.
const SOURCE_WIDTH: usize = 48;

/// The output.
struct PredictionsSheet<'a> {
    predictions: &'a Predictions<'a>,
    sheet: ThreadSheet<'a>,
}

/// Writes what simulated branch predictors find in a thread.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    predictions: &Predictions<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut sheet = PredictionsSheet {
        predictions,
        sheet: ThreadSheet::begin(predictions.thread, options, &mut out)?,
    };
    let answer = predictions.answer;
    let has_branches = sheet
        .sheet
        .head(&answer.stream, BranchSet::Choices, answer.instructions)?;
    if has_branches {
        sheet.models()?;
        sheet.branches()?;
        sheet.paths()?;
        if let Some(schemes) = &answer.schemes {
            sheet.schemes(schemes)?;
        }
    }
    out.flush()
}

impl PredictionsSheet<'_> {
    /// Writes how often each model was wrong.
    fn models(&mut self) -> io::Result<()> {
        let answer = self.predictions.answer;
        self.sheet.page.gap()?;
        let text = "of simulated predictors; the figures rank branches, they are not what a \
                    processor counts";
        self.sheet.heading("Mispredictions", text)?;
        let mut table = Table::new(&[
            ("model", Align::Left),
            ("tables", Align::Right),
            ("mispredictions", Align::Right),
            ("of all branches", Align::Right),
            ("per 1,000 instructions", Align::Right),
        ]);
        for model in Model::ALL {
            let mispredictions = answer.mispredictions[model.index()];
            let rate = 1000.0 * mispredictions.0 as f64 / answer.instructions.0.max(1) as f64;
            table.row(vec![
                (Ink::Strong, model_name(model).to_owned()),
                (
                    Ink::Plain,
                    format!(
                        "{} KiB",
                        one_decimal(answer.sizes[model.index()] as f64 / 1024.0)
                    ),
                ),
                (Ink::Number, grouped(mispredictions)),
                (Ink::Number, share(mispredictions, answer.stream.len())),
                (Ink::Number, format!("{rate:.2}")),
            ]);
        }
        table.write(&mut self.sheet.page)?;
        let all = answer.mispredictions[Model::Tage.index()];
        let text = match removed(&longer_history(answer), all) {
            Some(removed) => format!("would remove {removed}"),
            None => "would remove no misprediction".to_owned(),
        };
        self.sheet.fact("longer history", &text)?;
        let text = match removed(&selects(answer), all) {
            Some(removed) => format!("could remove {removed}; see the column select"),
            None => "no mispredicted branch has the shape of a select".to_owned(),
        };
        self.sheet.fact("select", &text)
    }

    /// Writes the branches with most mispredictions.
    fn branches(&mut self) -> io::Result<()> {
        let answer = self.predictions.answer;
        let shown = answer.branches.len().min(self.sheet.top());
        self.sheet.page.gap()?;
        let all = answer.mispredictions[Model::Tage.index()];
        let sum = answer.branches[..shown]
            .iter()
            .map(|hard| hard.of(Model::Tage))
            .fold(Count::ZERO, Count::saturating_add);
        let text = format!(
            "{} of {} that TAGE mispredicted, with {} of the mispredictions",
            grouped(shown as u64),
            branches(answer.branches.len() as u64),
            share(sum, all)
        );
        self.sheet.heading("Branches", &text)?;
        let mut table = Table::new(&[
            ("share", Align::Right),
            ("rate", Align::Right),
            ("TAGE", Align::Right),
            ("bimodal", Align::Right),
            ("gshare", Align::Right),
            ("longer", Align::Right),
            ("executions", Align::Right),
            ("select", Align::Right),
            ("branch", Align::Left),
            ("function", Align::Name),
        ]);
        table.group(2..6, "mispredictions");
        for hard in &answer.branches[..shown] {
            let (row, note) = self.branch(hard, all);
            table.row(row);
            if let Some(note) = note {
                table.note(note);
            }
        }
        table.write(&mut self.sheet.page)
    }

    /// The row of a branch, and its source line.
    fn branch(&self, hard: &HardBranch, all: Count) -> (Vec<(Ink, String)>, Option<Line>) {
        let sheet = &self.sheet;
        let function = hard.branch.function;
        let map = self.predictions.thread.stream.code.function(function);
        let place = map.and_then(|map| branch_place(map, hard.branch.block));
        let shown_place = place.map_or_else(
            || format!("b{}", hard.branch.block),
            |(file, line)| file_and_line(file, line, sheet.options.cwd.as_deref()),
        );
        let select = match hard.select {
            Some(instructions) => format!("{instructions} instr."),
            None => "-".to_owned(),
        };
        let tage = hard.of(Model::Tage);
        let row = vec![
            (Ink::Number, share(tage, all)),
            (Ink::Number, share(tage, hard.executions)),
            (Ink::Plain, grouped(tage)),
            (Ink::Plain, grouped(hard.of(Model::Bimodal))),
            (Ink::Plain, grouped(hard.of(Model::Gshare))),
            (Ink::Plain, grouped(hard.of(Model::LongerHistory))),
            (Ink::Plain, grouped(hard.executions)),
            (Ink::Plain, select),
            (Ink::Place, clip_start(&shown_place, PLACE_WIDTH)),
            (Ink::Strong, sheet.labeled.function(function).to_string()),
        ];
        let text = place.and_then(|(file, line)| sheet.options.source.line(file, line));
        let text = text.map(|text| text.trim().to_owned());
        let note = text.filter(|text| !text.is_empty()).map(|text| {
            let mut line = Line::new();
            line.up_to(INDENT)
                .put(Ink::Plain, &clip(&text, SOURCE_WIDTH));
            line
        });
        (row, note)
    }

    /// Writes the paths with most mispredictions.
    fn paths(&mut self) -> io::Result<()> {
        let answer = self.predictions.answer;
        let shown = answer.paths.len().min(self.sheet.top());
        if shown == 0 {
            return Ok(());
        }
        self.sheet.page.gap()?;
        let text = format!(
            "{} of {} with mispredictions of TAGE",
            grouped(shown as u64),
            plural(answer.paths.len() as u64, "path")
        );
        self.sheet.heading("Paths", &text)?;
        let all = answer.mispredictions[Model::Tage.index()];
        let mut table = Table::new(&[
            ("share", Align::Right),
            ("mispredictions", Align::Right),
            ("executions", Align::Right),
            ("each", Align::Right),
            ("path", Align::Name),
        ]);
        for path in &answer.paths[..shown] {
            let each = path.mispredictions.0 as f64 / path.executions.0.max(1) as f64;
            table.row(vec![
                (Ink::Number, share(path.mispredictions, all)),
                (Ink::Plain, grouped(path.mispredictions)),
                (Ink::Plain, grouped(path.executions)),
                (Ink::Plain, format!("{each:.2}")),
                (Ink::Strong, self.sheet.labeled.label(path.terminal)),
            ]);
            let mut line = Line::new();
            let route = route_of(&self.sheet.labeled, path.terminal);
            line.up_to(INDENT).put(Ink::Place, &route);
            table.note(line);
        }
        table.write(&mut self.sheet.page)
    }

    /// Writes how far profiles from predictors would mislead a compiler.
    fn schemes(&mut self, schemes: &[SchemeResult]) -> io::Result<()> {
        self.sheet.page.gap()?;
        let text = "estimated from predictor tables (Conte et al. 1994, simulated); the errors \
                    compare them with this exact profile";
        self.sheet.heading("Profiles from predictors", text)?;
        let thresholds: Vec<String> = THRESHOLDS
            .iter()
            .map(|threshold| format!("{} %", 100.0 * threshold))
            .collect();
        let mut columns = vec![
            ("scheme", Align::Left),
            ("dump every", Align::Right),
            ("dumps", Align::Right),
        ];
        let of_thresholds = thresholds.iter().map(|text| (&**text, Align::Right));
        columns.extend(of_thresholds);
        columns.push(("arc weight error", Align::Right));
        let mut table = Table::new(&columns);
        table.group(
            3..3 + THRESHOLDS.len(),
            "trace selection error, blocks from",
        );
        for result in schemes {
            let percent = |fraction: f64| (Ink::Number, format!("{:.2} %", 100.0 * fraction));
            let mut row = vec![
                (Ink::Strong, scheme_name(result.scheme).to_owned()),
                (Ink::Plain, grouped(result.dump_interval)),
                (Ink::Plain, grouped(result.dumps)),
            ];
            row.extend(result.trace_selection_errors.map(percent));
            row.push(percent(result.arc_weight_error.error));
            table.row(row);
        }
        table.write(&mut self.sheet.page)
    }
}

/// What a remedy removes, in words. `None` if it removes nothing.
fn removed(remedy: &Remedy, all: Count) -> Option<String> {
    (remedy.branches > 0).then(|| {
        format!(
            "{} of TAGE's mispredictions ({}), at {}",
            share(remedy.mispredictions, all),
            grouped(remedy.mispredictions),
            branches(remedy.branches)
        )
    })
}
