//! The report as one HTML page that needs no network and no server.
//!
//! The page contains a program (`web/`, bundled into `bundle/`) and the *document*: the run's data,
//! compressed with gzip and written in base64. The document is a sequence of lines. Each line is
//! one JSON text:
//!
//! ```text
//! line 0            the head: totals, the table of functions, the hottest paths, the files
//! line 1 …          one line for each function that ran, in the order of the table
//! next lines        one line for each file, in the order of the head's files
//! last lines        one line for each part that the run has, in the order of the head's parts:
//!                   loops and times of paths, with the indices of the functions of their records
//!                   (documents of docs/json.md); samples; traces, as grammars; phases
//! ```
//! The page reads line 0 when it opens. It reads another line when the user looks at its function
//! or file. So a page with a million paths opens as fast as a small one.
//!
//! A page may compare its run with another run, its *baseline*. The head, the functions, and the
//! files then also have the baseline's counts, in the form of the run's own (`baseline`).
//!
//! A path is two numbers: its path number (as the difference to the previous path) and its count.
//! The page regenerates the blocks of a path from the edge values, as [`holloway_flow`] does.
//! Numbers that a JavaScript number cannot hold are written as strings (`exact`).
//!
//! Cost: linear in the counted paths, plus the paths' prefixes; compression takes most of the time.

mod baseline;
mod branch_words;
mod exact;
mod excerpts;
mod files;
mod function;
mod functions;
mod grammar;
mod head;
mod hot;
mod indices;
mod markup;
mod missed;
mod pack;
mod parts;
mod phases;
mod subject;
mod trace;
mod trace_before;
mod trace_stats;

use std::io;

use holloway_analysis::RunProfile;
use holloway_analysis::functions::{Weight, hottest};

use crate::filter::Filter;
use crate::options::Options;
pub use baseline::Baseline;
use baseline::Compared;
use files::FileTable;
use function::FunctionRecord;
use head::Head;
use indices::FunctionIndices;
use missed::RanFunctions;
pub use subject::Subject;

/// Returns the page of a run. [`Options::function`] and [`Options::code`] select its functions.
///
/// # Errors
/// If the document cannot be written in memory.
pub fn page(run: &RunProfile, subject: &Subject<'_>, options: &Options<'_>) -> io::Result<String> {
    let names = Filter::new(options);
    let keep = |id| names.keeps(run, id);
    let ran = hottest(run, Weight::Instructions, None, &keep).functions;
    let ran = RanFunctions::new(run, ran);
    let ids = ran.ids();
    let mut files = FileTable::new(options);
    let mut document = pack::Document::default();
    let compared = subject
        .baseline
        .map(|baseline| Compared::new(run, baseline, &names));
    let mut records = Vec::new();
    for (index, &id) in ids.iter().enumerate() {
        let before = compared.as_ref().and_then(|compared| compared.before(id));
        records.push(FunctionRecord::new(
            run.function(id),
            ran.predicted(index),
            options,
            &names,
            &mut files,
            before.as_ref(),
        ));
    }
    let indices = FunctionIndices::new(run, &ids);
    let parts = parts::lines(subject, &ids, &indices, compared.as_ref(), options)?;
    let mut head = Head::new(
        run,
        subject,
        compared.as_ref(),
        &ran,
        &names,
        &mut files,
        options,
    );
    let before = compared.as_ref().map(|compared| compared.lines(&names));
    head.parts = parts.iter().map(|&(name, _)| name).collect();
    document.add(&head)?;
    for record in &records {
        document.add(record)?;
    }
    for file in files.records(run, &names, &ids, before.as_ref()) {
        document.add(&file)?;
    }
    for (_, line) in &parts {
        document.add_line(line)?;
    }
    Ok(markup::page(&subject.title, &document.packed()?))
}
