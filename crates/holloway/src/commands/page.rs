//! `holloway report --html FILE`: the report as one HTML page.

use std::path::Path;
use std::process::{Command, Stdio};

use holloway_abi::{Kind, Unit};
use holloway_analysis::RunProfile;
use holloway_analysis::branch_stream::BranchStream;
use holloway_analysis::phases::{Answer, Question};
use holloway_collect::load::Streams;
use holloway_collect::samples;
use holloway_collect::thread_traces::TraceSelection;
use holloway_report::html::{self, Baseline, Subject};
use holloway_report::phases::Phases;
use holloway_report::thread::Thread;
use holloway_report::trace::Stream;
use holloway_report::{Files, LoopsOptions, Options, grouped, json};

use super::trace::RunTraces;
use crate::cli::ReportArgs;
use crate::cli::trace::ChoiceArgs;
use crate::failure::{Failure, Result};
use crate::printing::{
    check_selection, code_filter, options, rank_options, source, warn_of_changed_files,
};
use crate::progress::Progress;
use crate::{latest, loading, output_file, status};

/// The program that opens a file in the desktop's browser.
const OPENER: &str = "xdg-open";
/// Number of functions with samples in a page.
const SAMPLED_FUNCTIONS: usize = 1000;
/// Branches of a trace up to which a page has its phases. Following them takes about ten seconds.
const PHASED_BRANCHES: u64 = 200_000_000;

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
    let options = page_options(args, &source);
    let mut loaded = load_any(args, run, &options)?;
    let baseline = args.baseline.as_deref();
    let baseline = baseline.map(|run| load_baseline(args, run, &options));
    let baseline = baseline.transpose()?;
    let profiles = [&loaded.profile].into_iter();
    let before = baseline.as_ref().map(|(_, before)| &before.profile);
    let profiles: Vec<&RunProfile> = profiles.chain(before).collect();
    check_selection(&profiles, &options)?;
    let traced = std::mem::take(&mut loaded.traced);
    // The damage of the run is in its profile.
    let no_profile = RunProfile::new(Vec::new());
    let traces = RunTraces::of_streams(traced, no_profile, TraceSelection::All);
    let page = page(&loaded, &traces, run, baseline.as_ref(), &options)?;
    output_file::write_bytes(file, page.as_bytes())?;
    status::line("Wrote", &status::shown(file).to_string());
    warn_of_changed_files(&profiles[..1], &options);
    match args.open {
        true => open(file),
        false => Ok(()),
    }
}

/// The options that select the page's functions.
fn page_options<'a>(args: &ReportArgs, source: &'a Files) -> Options<'a> {
    let mut code = args.view.code.clone();
    code.workspace = args.workspace;
    Options {
        code: code_filter(&code),
        ..options(&args.view.list, source)
    }
}

/// The data of a page.
struct LoadedRun {
    profile: RunProfile,
    /// JSON documents.
    loops: Option<String>,
    variation: Option<String>,
    samples: Option<String>,
    /// The streams of traces, which have not been read yet.
    traced: Vec<Streams>,
}

/// The counts or samples of a run, and its streams.
fn load_any(args: &ReportArgs, run: &Path, options: &Options<'_>) -> Result<LoadedRun> {
    match loading::has_samples(run) {
        true => load_samples(args, run),
        false => load(args, run, options),
    }
}

/// The counts of a run, and its streams.
fn load(args: &ReportArgs, run: &Path, options: &Options<'_>) -> Result<LoadedRun> {
    let mut loaded = loading::load_with_streams(run)?;
    let streams = std::mem::take(&mut loaded.streams);
    let is_trace = |streams: &Streams| streams.head.kind == Kind::Trace;
    let (traced, others) = streams.into_iter().partition::<Vec<_>, _>(is_trace);
    loaded.streams = others;
    let all = loaded.into_all();
    let loops = all.loops.as_ref().map(|loops| {
        let loops_options = LoopsOptions::default();
        text(|out| json::loops::write(loops, options, loops_options, out))
    });
    let variation = all.variation.as_ref().map(|variation| {
        let rank = rank_options(args.view.times);
        text(|out| json::variation::write(variation, options, rank, out))
    });
    Ok(LoadedRun {
        profile: all.profile,
        loops: loops.transpose()?,
        variation: variation.transpose()?,
        samples: None,
        traced,
    })
}

/// The estimated counts of a run of samples, or the paths in its branch records.
fn load_samples(args: &ReportArgs, run: &Path) -> Result<LoadedRun> {
    let sampled = samples::load(run)?;
    let source = source();
    let options = Options {
        top: Some(SAMPLED_FUNCTIONS),
        ..page_options(args, &source)
    };
    Ok(LoadedRun {
        profile: loading::load_samples(run, Unit::Paths)?,
        loops: None,
        variation: None,
        samples: Some(text(|out| json::samples::write(&sampled, &options, out))?),
        traced: Vec::new(),
    })
}

/// The run with which the page compares its run, with its title.
fn load_baseline(
    args: &ReportArgs,
    run: &Path,
    options: &Options<'_>,
) -> Result<(String, LoadedRun)> {
    let run = latest::resolve(run)?;
    let loaded = load_any(args, &run, options)?;
    Ok((title(&loaded.profile, &run), loaded))
}

/// Makes the page.
fn page(
    loaded: &LoadedRun,
    traces: &RunTraces,
    run: &Path,
    baseline: Option<&(String, LoadedRun)>,
    options: &Options<'_>,
) -> Result<String> {
    let codes = traces.codes_with_addresses();
    let chosen = traces.selected(&ChoiceArgs::default());
    let streams = chosen.iter().map(|index| traces.stream(index, &codes));
    let streams: Vec<Stream<'_>> = streams.collect();
    let longest = traces.longest(&chosen, &codes);
    let longest = longest.map(|index| traces.stream(index, &codes));
    let question = Question::default();
    let (mut notes, mut answer) = (Vec::new(), None);
    if let Some(stream) = &longest {
        match phases_of(stream, &question)? {
            Ok(found) => answer = Some(found),
            Err(note) => notes.push(note),
        }
    }
    let phases = longest.as_ref().zip(answer.as_ref());
    let subject = Subject {
        title: title(&loaded.profile, run),
        notes,
        loops: loaded.loops.clone(),
        variation: loaded.variation.clone(),
        samples: loaded.samples.clone(),
        traces: &streams,
        phases: phases.map(|(stream, answer)| Phases {
            thread: Thread {
                stream,
                other_streams: streams.len() - 1,
                damage: &[],
                profile: Some(&loaded.profile),
            },
            question: &question,
            answer,
        }),
        baseline: baseline.map(|(title, before)| Baseline {
            title,
            run: &before.profile,
            loops: before.loops.as_deref(),
            variation: before.variation.as_deref(),
            samples: before.samples.as_deref(),
        }),
    };
    html::page(&loaded.profile, &subject, options)
        .map_err(|error| Failure::new(format_args!("cannot make the page: {error}")))
}

/// The phases of a trace, or a sentence that says why the page has none.
fn phases_of<'a>(
    stream: &Stream<'a>,
    question: &Question,
) -> Result<std::result::Result<Answer<'a>, String>> {
    let branches = BranchStream::new(stream.code, stream.trace, question.branches).len();
    if branches > PHASED_BRANCHES {
        return Ok(Err(format!(
            "the page has no phases: the longest trace has {} branches, and following them takes long; `holloway phases` shows them",
            grouped(branches)
        )));
    }
    let _progress = Progress::start("Following", "the branches");
    let answer = Answer::new(stream.code, stream.trace, question).map_err(Failure::usage)?;
    Ok(Ok(answer))
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
