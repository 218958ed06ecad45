//! `holloway report --html FILE`: the report as one HTML page.

use std::path::Path;
use std::process::{Command, Stdio};

use holloway_abi::{Kind, Unit};
use holloway_analysis::RunProfile;
use holloway_analysis::branch_stream::BranchStream;
use holloway_analysis::phases::{Answer, Question};
use holloway_analysis::trace::code::Code;
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
    let loaded = load_any(args, run, &options)?;
    let baseline = args.baseline.as_deref();
    let baseline = baseline.map(|run| load_baseline(args, run, &options));
    let baseline = baseline.transpose()?;
    let profiles = [&loaded.profile].into_iter();
    let before = baseline.as_ref().map(|(_, before)| &before.profile);
    let profiles: Vec<&RunProfile> = profiles.chain(before).collect();
    check_selection(&profiles, &options)?;
    let title = title(&loaded.profile, run);
    let run = TracedRun::new(title, loaded);
    let baseline = baseline.map(|(title, before)| TracedRun::new(title, before));
    let page = page(&run, baseline.as_ref(), &options)?;
    output_file::write_bytes(file, page.as_bytes())?;
    status::line("Wrote", &status::shown(file).to_string());
    warn_of_changed_files(&[&run.loaded.profile], &options);
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

/// A run with its traces.
struct TracedRun {
    title: String,
    loaded: LoadedRun,
    traces: RunTraces,
}

impl TracedRun {
    /// Reads the traces of a run.
    fn new(title: String, mut loaded: LoadedRun) -> TracedRun {
        let traced = std::mem::take(&mut loaded.traced);
        // The damage of the run is in its profile.
        let no_profile = RunProfile::new(Vec::new());
        TracedRun {
            title,
            loaded,
            traces: RunTraces::of_streams(traced, no_profile, TraceSelection::All),
        }
    }
}

/// The streams of a run, and the phases of the longest.
struct PhasedStreams<'a> {
    streams: Vec<Stream<'a>>,
    longest: Option<(Stream<'a>, Answer<'a>)>,
    /// Why there are no phases.
    note: Option<String>,
}

impl<'a> PhasedStreams<'a> {
    fn new(traces: &'a RunTraces, codes: &'a [Code<'a>], question: &Question) -> Result<Self> {
        let chosen = traces.selected(&ChoiceArgs::default());
        let streams = chosen.iter().map(|index| traces.stream(index, codes));
        let mut phased = PhasedStreams {
            streams: streams.collect(),
            longest: None,
            note: None,
        };
        if let Some(longest) = traces.longest(&chosen, codes) {
            let stream = traces.stream(longest, codes);
            match phases_of(&stream, question)? {
                Ok(answer) => phased.longest = Some((stream, answer)),
                Err(note) => phased.note = Some(note),
            }
        }
        Ok(phased)
    }

    fn phases<'s>(&'s self, question: &'s Question, profile: &'s RunProfile) -> Option<Phases<'s>> {
        let (stream, answer) = self.longest.as_ref()?;
        Some(Phases {
            thread: Thread {
                stream,
                other_streams: self.streams.len() - 1,
                damage: &[],
                profile: Some(profile),
            },
            question,
            answer,
        })
    }
}

/// Makes the page.
fn page(run: &TracedRun, baseline: Option<&TracedRun>, options: &Options<'_>) -> Result<String> {
    let question = Question::default();
    let codes = run.traces.codes_with_addresses();
    let phased = PhasedStreams::new(&run.traces, &codes, &question)?;
    let before_codes = baseline.map(|before| before.traces.codes_with_addresses());
    let before = match (baseline, &before_codes) {
        (Some(run), Some(codes)) => Some((run, PhasedStreams::new(&run.traces, codes, &question)?)),
        (None, _) | (_, None) => None,
    };
    let loaded = &run.loaded;
    let subject = Subject {
        title: run.title.clone(),
        notes: phased.note.clone().into_iter().collect(),
        loops: loaded.loops.clone(),
        variation: loaded.variation.clone(),
        samples: loaded.samples.clone(),
        traces: &phased.streams,
        phases: phased.phases(&question, &loaded.profile),
        baseline: before.as_ref().map(|(run, phased)| Baseline {
            title: &run.title,
            run: &run.loaded.profile,
            loops: run.loaded.loops.as_deref(),
            variation: run.loaded.variation.as_deref(),
            samples: run.loaded.samples.as_deref(),
            traces: &phased.streams,
            phases: phased.phases(&question, &run.loaded.profile),
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
