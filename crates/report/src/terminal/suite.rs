//! Writes the tables of several runs.

use std::io::{self, BufWriter, Write};

use holloway_analysis::overlap::Overlap;

use super::paint::{Ink, Line, Page};
use super::table::{Align, Table};
use crate::numbers::{grouped, one_decimal, plural};
use crate::options::Options;
use crate::suite_runs::{Suite, SuiteRun};

const PREDICTED: [(&str, Align); 7] = [
    ("run", Align::Left),
    ("functions", Align::Right),
    ("paths", Align::Right),
    ("executions", Align::Right),
    ("paths right", Align::Right),
    ("executions right", Align::Right),
    ("hottest right", Align::Right),
];

const TRAINED: [(&str, Align); 8] = [
    ("run", Align::Left),
    ("train paths", Align::Right),
    ("paths", Align::Right),
    ("common", Align::Right),
    ("of paths", Align::Right),
    ("of executions", Align::Right),
    ("of instructions", Align::Right),
    ("overlap", Align::Right),
];

/// Writes the tables.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(suite: &Suite, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut page = Page::new(&mut out, options);
    write_predicted(suite, &mut page)?;
    if suite.runs.iter().any(|run| run.train.is_some()) {
        page.gap()?;
        write_trained(suite, &mut page)?;
    }
    out.flush()
}

fn write_predicted(suite: &Suite, page: &mut Page<'_>) -> io::Result<()> {
    let runs = plural(suite.runs.len() as u64, "run");
    let mut line = Line::new();
    line.put(Ink::Strong, "Paths predicted from edges")
        .put(Ink::Plain, "  ");
    let subtitle = format!("{runs}; shares that the edge counts predict");
    page.wrapped(line, Ink::Faint, &subtitle)?;
    let mut table = Table::new(&PREDICTED);
    for run in &suite.runs {
        let real = &run.prediction.real;
        table.row(vec![
            (Ink::Strong, run.name.clone()),
            (Ink::Plain, grouped(run.prediction.functions.len() as u64)),
            (Ink::Plain, grouped(real.paths)),
            (Ink::Plain, grouped(real.executions)),
            (Ink::Number, percent(run.paths_right())),
            (Ink::Number, percent(run.executions_right())),
            (Ink::Number, percent(run.hottest_right())),
        ]);
    }
    if suite.runs.len() > 1 {
        let mean = |figure: fn(&SuiteRun) -> f64| (Ink::Number, percent(suite.mean(figure)));
        table.row(vec![
            (Ink::Faint, "mean".to_owned()),
            (Ink::Plain, String::new()),
            (Ink::Plain, String::new()),
            (Ink::Plain, String::new()),
            mean(SuiteRun::paths_right),
            mean(SuiteRun::executions_right),
            mean(SuiteRun::hottest_right),
        ]);
    }
    table.write(page)
}

fn write_trained(suite: &Suite, page: &mut Page<'_>) -> io::Result<()> {
    let mut line = Line::new();
    line.put(Ink::Strong, "Training runs").put(Ink::Plain, "  ");
    let subtitle = "shares of each run on paths that its training run took too";
    page.wrapped(line, Ink::Faint, subtitle)?;
    let mut table = Table::new(&TRAINED);
    let trained: Vec<(&SuiteRun, &Overlap)> = suite
        .runs
        .iter()
        .filter_map(|run| Some((run, run.train.as_ref()?)))
        .collect();
    for (run, overlap) in &trained {
        let [train, reference] = overlap.sides;
        table.row(vec![
            (Ink::Strong, run.name.clone()),
            (Ink::Plain, grouped(train.distinct)),
            (Ink::Plain, grouped(reference.distinct)),
            (Ink::Plain, grouped(overlap.common)),
            (Ink::Number, percent(SuiteRun::paths_common(overlap))),
            (Ink::Number, percent(SuiteRun::executions_common(overlap))),
            (Ink::Number, percent(SuiteRun::instructions_common(overlap))),
            (Ink::Number, format!("{:.3}", overlap.overlap)),
        ]);
    }
    if trained.len() > 1 {
        let mean = |figure: &dyn Fn(&Overlap) -> f64| suite.mean_of_trained(figure).unwrap_or(0.0);
        let share = |figure: &dyn Fn(&Overlap) -> f64| (Ink::Number, percent(mean(figure)));
        let empty = || (Ink::Plain, String::new());
        table.row(vec![
            (Ink::Faint, "mean".to_owned()),
            empty(),
            empty(),
            empty(),
            share(&SuiteRun::paths_common),
            share(&SuiteRun::executions_common),
            share(&SuiteRun::instructions_common),
            (
                Ink::Number,
                format!("{:.3}", mean(&|overlap| overlap.overlap)),
            ),
        ]);
    }
    table.write(page)
}

/// A share as percents with one decimal.
fn percent(share: f64) -> String {
    format!("{} %", one_decimal(share * 100.0))
}
