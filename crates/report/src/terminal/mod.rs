//! The report on the terminal: coverage first, then what was asked for.
//!
//! Every view is a file of its own here; [`write()`] is the order they come in.

mod answer;
mod coverage;
mod edges;
mod functions;
mod lines;
mod outcome;
mod paint;
mod paths;
mod table;

use std::io::{self, BufWriter, Write};

use holloway_analysis::{FunctionId, RunProfile};
use paint::{Ink, Page};

use crate::filter::Filter;
use crate::{Options, View};

/// Rows shown where the reader doesn't say.
const TOP: usize = 10;

/// Writes the whole report: coverage, where the functions asked for went, and the view.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(run: &RunProfile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    write_all(&mut Sheet::new(run, options, &mut out))?;
    out.flush()
}

fn write_all(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let Sheet { run, options, .. } = *sheet;
    coverage::write(sheet)?;
    if options.function.is_some() {
        answer::write(sheet)?;
    }
    if !run.functions.iter().any(holloway_analysis::Function::ran) {
        return sheet.nothing_ran();
    }
    let kept = run
        .ids()
        .any(|(id, function)| function.ran() && sheet.keeps(id));
    if !kept && options.view != View::Lines {
        // The answer above says where the functions asked for went.
        return Ok(());
    }
    match options.view {
        View::Paths => paths::write(sheet),
        View::Functions => functions::write(sheet),
        View::Edges => edges::write(sheet),
        View::Lines => lines::write(sheet),
    }
}

/// What every view needs.
struct Sheet<'a> {
    run: &'a RunProfile,
    options: &'a Options<'a>,
    names: Filter<'a>,
    page: Page<'a>,
}

impl<'a> Sheet<'a> {
    fn new(run: &'a RunProfile, options: &'a Options<'a>, out: &'a mut dyn Write) -> Sheet<'a> {
        let names = Filter::new(options.function.as_ref());
        Sheet {
            run,
            options,
            names,
            page: Page::new(out, options.color, options.width),
        }
    }

    /// Rows to show.
    fn top(&self) -> usize {
        self.options.top.unwrap_or(TOP)
    }

    fn keeps(&self, id: FunctionId) -> bool {
        self.names.keeps(self.run, id)
    }

    fn place(&self, file: &str, line: u32) -> String {
        crate::places::at(file, line, self.options.cwd.as_deref())
    }

    fn nothing_ran(&mut self) -> io::Result<()> {
        self.page.gap()?;
        let text = if self
            .run
            .images
            .iter()
            .all(|image| image.processes.is_empty())
        {
            "no profile of this program: it has not run, or its data went elsewhere (HOLLOWAY_DATA)"
        } else if self.run.functions.is_empty() {
            "no function is instrumented: nothing was counted"
        } else {
            "no instrumented function ran"
        };
        self.page.text(Ink::Alarm, text)
    }
}
