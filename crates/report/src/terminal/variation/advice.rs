//! Advice on prefetching a path's loads: the statement to insert, below its source line.
//!
//! ```text
//!      prefetch  src/list.c:41 loads from a list: the pointer to the next node stands …
//!                41 │ sum += p->value;
//!                   + if (p->next) __builtin_prefetch(p->next);
//! ```

use std::io;

use holloway_analysis::Function;
use holloway_analysis::variation::advice::loads;
use holloway_analysis::variation::rank::RankedPath;
use holloway_format::Load;

use crate::numbers::plural;
use crate::terminal::paint::{Ink, Line};
use crate::terminal::sheet::Sheet;
use crate::variation::{load_lines, prefetch};

/// Maximum number of loads that are shown for a path.
const MAX_LOADS: usize = 3;
/// Columns before the text.
const INDENT: usize = 15;

pub(super) fn write(
    sheet: &mut Sheet<'_>,
    function: &Function,
    rank: &RankedPath,
) -> io::Result<()> {
    let loads = loads(function, rank);
    for load in loads.iter().take(MAX_LOADS) {
        write_load(sheet, function, load)?;
    }
    if loads.len() > MAX_LOADS {
        let more = format!(
            "… {} more",
            plural((loads.len() - MAX_LOADS) as u64, "load")
        );
        let mut line = Line::new();
        line.up_to(INDENT).put(Ink::Faint, &more);
        sheet.page.line(&line)?;
    }
    Ok(())
}

fn write_load(sheet: &mut Sheet<'_>, function: &Function, load: &Load) -> io::Result<()> {
    let lines = load_lines(function, load);
    let (file, line) = lines.first().copied().unwrap_or(("", load.place.line));
    let (reason, statement) = prefetch(load.shape, file);
    let mut head = Line::new();
    head.up_to(5).left(Ink::Outcome, "prefetch", INDENT - 5);
    let inlined = lines.get(1).map_or_else(String::new, |(file, line)| {
        format!(" (inlined: {})", sheet.place(file, *line))
    });
    let text = format!("{}{inlined} {reason}:", sheet.place(file, line));
    sheet.page.wrapped(head, Ink::Plain, &text)?;
    let number = line.to_string();
    if let Some(source) = sheet.options.source.line(file, line) {
        let mut text = Line::new();
        text.up_to(INDENT)
            .put(Ink::Place, &number)
            .put(Ink::Faint, " │ ")
            .put_clipped(Ink::Plain, source.trim());
        sheet.page.line(&text)?;
    }
    let mut line = Line::new();
    line.up_to(INDENT + number.len())
        .put(Ink::Number, " + ")
        .put(Ink::Plain, &statement);
    sheet.page.line(&line)
}
