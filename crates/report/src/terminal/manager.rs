//! The list of the programs in a store of profiles.
//!
//! ```text
//! Profiles  time-based: 2 runs with 3,000 samples added to /var/lib/holloway/profiles
//! samples  runs  stored  of code  moved  advice          program
//!   3,000     2  1.2 KB    2.1 %  0.0 %  keep            /usr/bin/app
//! ```

use std::io::{self, BufWriter, Write};

use holloway_analysis::block_times::{
    Advice, ENOUGH_SAMPLES, KeptProgram, StoreUpdate, WORTHWHILE_SHARE,
};

use super::paint::{Ink, Line, Page};
use super::table::{Align, Table};
use crate::notes::sentence;
use crate::numbers::{grouped, plural, share};
use crate::options::Options;

const COLUMNS: [(&str, Align); 7] = [
    ("samples", Align::Right),
    ("runs", Align::Right),
    ("bytes stored", Align::Right),
    ("of code", Align::Right),
    ("moved", Align::Right),
    ("advice", Align::Left),
    ("program", Align::Name),
];

/// Writes what an update changed, and the programs in the store.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    update: &StoreUpdate,
    store: &str,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut page = Page::new(&mut out, options);
    let text = format!(
        "time-based: {} with {} added to {store}",
        plural(update.runs, "run"),
        plural(update.samples, "sample")
    );
    let mut line = Line::new();
    line.put(Ink::Strong, "Profiles").put(Ink::Plain, "  ");
    page.wrapped(line, Ink::Faint, &text)?;
    let fact = |page: &mut Page<'_>, ink: Ink, label: &str, text: &str| {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(ink, label, 14);
        page.wrapped(line, Ink::Plain, text)
    };
    if update.unfinished > 0 {
        let text = format!(
            "{} left for the next update: a monitor still writes",
            plural(update.unfinished, "run")
        );
        fact(&mut page, Ink::Faint, "unfinished", &text)?;
    }
    for program in &update.programs {
        if let Some(over) = &program.carried_over {
            let text = format!(
                "{}: {} carried over, {} with {} of the time changed and dropped",
                program.path,
                plural(over.kept as u64, "function"),
                grouped(over.dropped as u64),
                percent(over.dropped_share)
            );
            fact(&mut page, Ink::Faint, "rebuilt", &text)?;
        }
    }
    for path in &update.forgotten {
        let text = format!("{path}: the store is full (--max-size)");
        fact(&mut page, Ink::Alarm, "forgotten", &text)?;
    }
    for note in &update.damage {
        fact(&mut page, Ink::Alarm, "damage", &sentence(note))?;
    }
    page.gap()?;
    if update.programs.is_empty() {
        let text = "no program yet: build with --collect none, and watch it with holloway monitor";
        page.text(Ink::Alarm, text)?;
        return out.flush();
    }
    let mut table = Table::new(&COLUMNS);
    for program in &update.programs {
        table.row(row(program));
    }
    table.write(&mut page)?;
    page.gap()?;
    let legend = format!(
        "moved: share of the time in functions whose profile changed since the last build · optimize: at least {} samples, and no earlier build or more than {} moved",
        grouped(ENOUGH_SAMPLES),
        percent(WORTHWHILE_SHARE)
    );
    page.wrapped(Line::new(), Ink::Faint, &legend)?;
    out.flush()
}

fn row(program: &KeptProgram) -> Vec<(Ink, String)> {
    let of_code = program
        .code_bytes
        .map(|code| share(program.stored_bytes, code));
    let (ink, advice) = match program.advice() {
        Advice::Wait => (Ink::Faint, "more samples"),
        Advice::Optimize => (Ink::Strong, "optimize"),
        Advice::Keep => (Ink::Plain, "keep"),
    };
    vec![
        (Ink::Number, grouped(program.samples)),
        (Ink::Plain, grouped(program.runs)),
        (Ink::Plain, grouped(program.stored_bytes)),
        (Ink::Plain, of_code.unwrap_or_default()),
        (Ink::Plain, program.moved.map(percent).unwrap_or_default()),
        (ink, advice.to_owned()),
        (Ink::Strong, program.path.clone()),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
