//! `holloway report --html FILE`: the report as one HTML page.

use std::path::Path;
use std::process::{Command, Stdio};

use holloway_abi::{Kind, Unit};
use holloway_analysis::RunProfile;
use holloway_report::html::{self, Streams, Subject};
use holloway_report::{LoopsOptions, Options, json};

use crate::cli::ReportArgs;
use crate::failure::{Failure, Result};
use crate::printing::{check_selection, code_filter, options, rank_options, source};
use crate::{loading, output_file, status};

/// The program that opens a file in the desktop's browser.
const OPENER: &str = "xdg-open";

/// Writes the page of a run, and opens it if the user asked for that.
///
/// # Errors
/// If no part of the run can be read, the file cannot be written, or no browser can be started.
pub(crate) fn write(args: &ReportArgs, run: &Path, file: &Path) -> Result<()> {
    if args.open && output_file::is_stdout(file) {
        return Err(Failure::usage(
            "--open needs a file: name one with --html FILE",
        ));
    }
    let source = source();
    let mut code = args.view.code.clone();
    code.workspace = args.workspace;
    let options = Options {
        code: code_filter(&code),
        ..options(&args.view.list, &source)
    };
    let (profile, streams) = load(args, run, &options)?;
    check_selection(&[&profile], &options)?;
    let subject = Subject {
        title: title(&profile, run),
        streams,
    };
    let page = html::page(&profile, &subject, &options)
        .map_err(|error| Failure::new(format_args!("cannot make the page: {error}")))?;
    output_file::write_bytes(file, page.as_bytes())?;
    status::line("Wrote", &status::shown(file).to_string());
    match args.open {
        true => open(file),
        false => Ok(()),
    }
}

/// The counts of a run, and the JSON documents of its streams. A run of samples has estimated
/// counts, or the paths in its branch records.
fn load(args: &ReportArgs, run: &Path, options: &Options<'_>) -> Result<(RunProfile, Streams)> {
    if loading::has_samples(run) {
        let profile = loading::load_samples(run, Unit::Paths)?;
        return Ok((profile, Streams::default()));
    }
    let loaded = loading::load_with_streams(run)?;
    if loaded.kinds.has(Kind::Trace) {
        status::note(
            "the page has the counts of the trace; `holloway trace stats` shows its events",
        );
    }
    let all = loaded.into_all();
    let loops = all.loops.as_ref().map(|loops| {
        let loops_options = LoopsOptions::default();
        text(|out| json::loops::write(loops, options, loops_options, out))
    });
    let variation = all.variation.as_ref().map(|variation| {
        let rank = rank_options(args.view.times);
        text(|out| json::variation::write(variation, options, rank, out))
    });
    let streams = Streams {
        loops: loops.transpose()?,
        variation: variation.transpose()?,
    };
    Ok((all.profile, streams))
}

/// The text that `write` writes.
///
/// # Errors
/// If it is no text.
fn text(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> Result<String> {
    let mut bytes = Vec::new();
    let failure =
        |error: &dyn std::fmt::Display| Failure::new(format_args!("cannot make the page: {error}"));
    write(&mut bytes).map_err(|error| failure(&error))?;
    String::from_utf8(bytes).map_err(|error| failure(&error))
}

/// The programs of a run, and its name: `app · 2026-11-28T12-00-00-1`.
fn title(profile: &RunProfile, run: &Path) -> String {
    let images = profile.images.iter();
    let ran = images.filter(|image| !image.processes.is_empty());
    let mut names: Vec<&str> = ran.map(|image| &*image.name).collect();
    names.dedup();
    names.truncate(3);
    let run = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    let run = run.file_name().map(|name| name.to_string_lossy());
    let parts = [names.join(", "), run.unwrap_or_default().into_owned()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// Opens a page in the desktop's browser.
///
/// # Errors
/// If the browser cannot be started.
fn open(file: &Path) -> Result<()> {
    let failure = |reason: &dyn std::fmt::Display| {
        let file = file.display();
        Failure::new(format_args!(
            "cannot open {file} in a browser: {OPENER} {reason}; open the file by hand"
        ))
    };
    let mut opener = Command::new(OPENER);
    opener.arg(file).stdin(Stdio::null()).stdout(Stdio::null());
    let status = opener.status().map_err(|error| failure(&error))?;
    match status.success() {
        true => Ok(()),
        false => Err(failure(&format_args!("failed ({status})"))),
    }
}
