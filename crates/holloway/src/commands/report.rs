//! `holloway report [RUN]`, and the report at the end of a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::Unit;
use holloway_analysis::samples::{RecordedBranches, SampledRun};
use holloway_analysis::{Function, RunProfile};
use holloway_collect::load::Loaded;
use holloway_collect::samples;
use holloway_report::{Files, Head, LoopsOptions, Options, SampleView, Sort, View as ReportView};

use crate::cli::{OutputFormat, ReportArgs, SortKey, View, ViewArgs};
use crate::commands::{page, phases, trace};
use crate::failure::{Failure, Result};
use crate::kinds::Page;
use crate::printing::{
    self, check_selection, code_filter, options, rank_options, source, warn_of_changed_files,
    write_out,
};
use crate::{kinds, latest, loading, status};

/// Reports the run that the user names, or the latest run.
///
/// # Errors
/// If there is no run, no part of it can be read, the view has no data, or stdout cannot be
/// written.
pub(crate) fn main(args: &ReportArgs) -> Result<ExitCode> {
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    if let Some(file) = &args.html {
        page::write(args, &run, file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut view = args.view.clone();
    view.code.workspace = args.workspace;
    let views = view.each_view().map_err(Failure::usage)?;
    if loading::has_samples(&run) {
        print_samples(&run, &views, std::env::current_dir().ok())?;
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = loading::load_with_streams(&run)?;
    for view in &views {
        refuse_view_without_data(&loaded, view)?;
    }
    let base = std::env::current_dir().ok();
    match args.phase {
        Some(phase) => print_phase(loaded, phase, &views, base.as_deref())?,
        None => print_loaded(loaded, &views, base.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the report of a run's directory on stdout. A closed pipe is no error.
///
/// # Errors
/// If no part of the run can be read, or stdout cannot be written.
pub(crate) fn print(run: &Path, view: &ViewArgs) -> Result<()> {
    print_below(run, view, std::env::current_dir().ok())
}

/// Prints the report of a run's directory. Paths of source files are shown relative to `base`.
///
/// # Errors
/// If no part of the run can be read, or stdout cannot be written.
pub(crate) fn print_below(run: &Path, view: &ViewArgs, base: Option<PathBuf>) -> Result<()> {
    let views = view.each_view().map_err(Failure::usage)?;
    if loading::has_samples(run) {
        return print_samples(run, &views, base);
    }
    let loaded = loading::load_with_streams(run)?;
    let mut refusals = views
        .iter()
        .map(|view| refuse_view_without_data(&loaded, view));
    if let Some(Err(refusal)) = refusals.find(Result::is_err) {
        // The program has run already, so the report shows the data that the run has.
        status::warn(&refusal.message);
        let list = view.list.clone();
        return print_loaded(loaded, &[ViewArgs::plain(list)], base.as_deref());
    }
    print_loaded(loaded, &views, base.as_deref())
}

/// Refuses a view without data in the run, and options without effect on the view. The JSON
/// document of counts contains all views except loops and variation, which have separate documents.
/// So for JSON only these two views can be refused.
///
/// # Errors
/// If the view is refused, or an option has no effect.
fn refuse_view_without_data(loaded: &Loaded, view: &ViewArgs) -> Result<()> {
    let is_path_view = matches!(view.view, Some(View::Paths | View::PathsFromEdges));
    let is_text = view.list.style.format == OutputFormat::Text;
    let profile = &loaded.profile;
    let counts_edges = profile.unit() == Unit::Edges;
    if is_path_view && is_text && counts_edges && profile.functions.iter().any(Function::ran) {
        return Err(Failure::usage(
            "edges were recorded, not paths: build with --collect paths to see them",
        ));
    }
    kinds::check_view(&loaded.kinds, view)?;
    if view.sort == Some(SortKey::Time) && profile.samples().is_none() {
        return Err(Failure::usage(
            "--sort time needs samples of CPU time, and this run has none: the program ran too briefly, was not started by `holloway run`, or the kernel refused to sample; sort by instructions",
        ));
    }
    Ok(())
}

/// Prints the counts of one phase of a trace.
fn print_phase(loaded: Loaded, phase: char, views: &[ViewArgs], base: Option<&Path>) -> Result<()> {
    let has_no_counts = |view: &ViewArgs| {
        matches!(view.view, Some(View::Loops | View::Variation)) || view.uncovered
    };
    if views.iter().any(has_no_counts) {
        return Err(Failure::usage(
            "--phase shows counts: leave out --uncovered, --view loops, and --view variation",
        ));
    }
    let source = source();
    let (profile, text) = phases::of_phase(loaded, phase)?;
    let first = views.first().expect("at least one view");
    check_selection(&[&profile], &report_options(first, base, &source))?;
    status::note(&text);
    print_counts(&profile, views, |view| report_options(view, base, &source))
}

fn report_options<'a>(view: &ViewArgs, base: Option<&Path>, source: &'a Files) -> Options<'a> {
    Options {
        view: match view.uncovered {
            true => Some(ReportView::Uncovered),
            false => view.view.and_then(report_view),
        },
        sort: match view.sort {
            Some(SortKey::Count) => Sort::Count,
            Some(SortKey::Instructions) => Sort::Instructions,
            Some(SortKey::Time) | None => Sort::default(),
        },
        by_time: view.sort == Some(SortKey::Time),
        code: code_filter(&view.code),
        cwd: base.map(Path::to_owned),
        ..options(&view.list, source)
    }
}

fn print_loaded(loaded: Loaded, views: &[ViewArgs], base: Option<&Path>) -> Result<()> {
    let source = source();
    // Several views are views of counts.
    let view = views.first().expect("at least one view");
    let options = report_options(view, base, &source);
    check_selection(&[&loaded.profile], &options)?;
    let page = Page::for_view(&loaded.kinds, view);
    if let Some(left_out) = kinds::left_out(&loaded.kinds, page, view.view) {
        status::note(&left_out);
    }
    match page {
        Page::Loops => print_loops(loaded, view, &options),
        Page::Variation => print_variation(loaded, view, &options),
        Page::Trace => trace::summary(loaded, &options),
        Page::Counts if views.iter().any(|view| view.view == Some(View::Branches)) => {
            let (profile, previous_paths) = loaded.into_branches();
            print_counts(&profile, views, |view| Options {
                previous_paths: Some(&previous_paths),
                ..report_options(view, base, &source)
            })
        }
        Page::Counts => print_counts(&loaded.profile, views, |view| {
            report_options(view, base, &source)
        }),
    }
}

/// Prints views of counts. The head of the report is printed once.
fn print_counts<'o>(
    profile: &RunProfile,
    views: &[ViewArgs],
    options: impl Fn(&ViewArgs) -> Options<'o>,
) -> Result<()> {
    write_out(|out| {
        for (index, view) in views.iter().enumerate() {
            let options = Options {
                head: head(index),
                ..options(view)
            };
            match view.list.style.format {
                OutputFormat::Text => holloway_report::terminal::write(profile, &options, out)?,
                OutputFormat::Json => holloway_report::json::write(profile, &options, out)?,
            }
        }
        Ok(())
    })?;
    let first = views.first().expect("at least one view");
    warn_of_changed_files(&[profile], &options(first));
    Ok(())
}

/// Whether a view has the head of the report: the first one has.
fn head(index: usize) -> Head {
    match index {
        0 => Head::Shown,
        _ => Head::Hidden,
    }
}

fn print_samples(run: &Path, views: &[ViewArgs], base: Option<PathBuf>) -> Result<()> {
    let run = samples::load(run)?;
    let sample_views: Vec<SampleView> = views
        .iter()
        .map(|view| sample_view(view, &run))
        .collect::<Result<_>>()?;
    let view = views.first().expect("at least one view");
    let source = source();
    let options = Options {
        code: code_filter(&view.code),
        cwd: base,
        ..options(&view.list, &source)
    };
    printing::warn_partly(holloway_report::check_sampled(&run, &options))?;
    if view.list.style.format == OutputFormat::Json {
        return write_out(|out| holloway_report::json::samples::write(&run, &options, out));
    }
    let mut options = options;
    write_out(|out| {
        for (index, sample_view) in sample_views.into_iter().enumerate() {
            options.head = head(index);
            holloway_report::terminal::samples::write(&run, sample_view, &options, out)?;
        }
        Ok(())
    })?;
    let maps = run.files.iter().filter_map(|file| file.map.as_ref());
    let modules = maps.flat_map(|map| &map.modules);
    let sources = modules.flat_map(|placed| &placed.module.sources);
    printing::warn_of_changes(sources, &options);
    Ok(())
}

/// The view of samples that the options ask for.
///
/// # Errors
/// If samples have no such view.
fn sample_view(args: &ViewArgs, run: &SampledRun) -> Result<SampleView> {
    let counted_only = args.uncovered || args.sort.is_some() || args.min_share.is_some();
    let has_samples = run.files.iter().any(|file| !file.code.is_empty());
    let has = |what: fn(&RecordedBranches) -> bool| run.records.as_ref().is_some_and(what);
    let has_branches = has(RecordedBranches::has_branches);
    match args.view {
        None if !counted_only && !has_samples && has_branches => Ok(SampleView::Edges),
        None if !counted_only => Ok(SampleView::Functions),
        Some(View::Paths) if has(RecordedBranches::has_paths) => Ok(SampleView::Paths),
        Some(View::Paths) if has_branches => Err(Failure::usage(
            "this run has branches without stacks, which show no paths: use --view edges or branches, or record stacks (perf record -j any,u)",
        )),
        Some(View::Functions) => Ok(SampleView::Functions),
        Some(View::Blocks) => Ok(SampleView::Blocks),
        Some(View::Lines) => Ok(SampleView::Lines),
        Some(View::Edges) => Ok(SampleView::Edges),
        Some(View::Branches) => Ok(SampleView::Branches),
        None | Some(View::Paths | View::Loops | View::Variation | View::PathsFromEdges) => {
            Err(Failure::usage(
                "this run has samples, not counts: use --view functions, blocks, lines, edges, or branches",
            ))
        }
    }
}

fn print_loops(loaded: Loaded, view: &ViewArgs, options: &Options<'_>) -> Result<()> {
    let loops_options = LoopsOptions {
        min_share: view.min_share.unwrap_or(LoopsOptions::default().min_share),
        stats: view.stats,
    };
    let loops = loaded.into_loops();
    write_out(|out| match view.list.style.format {
        OutputFormat::Text => {
            holloway_report::terminal::loops::write(&loops, options, loops_options, out)
        }
        OutputFormat::Json => {
            holloway_report::json::loops::write(&loops, options, loops_options, out)
        }
    })?;
    warn_of_changed_files(&[&loops.run], options);
    Ok(())
}

fn print_variation(loaded: Loaded, view: &ViewArgs, options: &Options<'_>) -> Result<()> {
    let rank_options = rank_options(view.times);
    let run = loaded.into_variation();
    write_out(|out| match view.list.style.format {
        OutputFormat::Text => {
            holloway_report::terminal::variation::write(&run, options, rank_options, out)
        }
        OutputFormat::Json => {
            holloway_report::json::variation::write(&run, options, rank_options, out)
        }
    })?;
    warn_of_changed_files(&[&run.run], options);
    Ok(())
}

/// The report's view of counts. `None` for loops and variation, which have separate pages.
fn report_view(view: View) -> Option<ReportView> {
    Some(match view {
        View::Paths => ReportView::Paths,
        View::Functions => ReportView::Functions,
        View::Edges => ReportView::Edges,
        View::Branches => ReportView::Branches,
        View::Blocks => ReportView::Blocks,
        View::Lines => ReportView::Lines,
        View::PathsFromEdges => ReportView::PathsFromEdges,
        View::Loops | View::Variation => return None,
    })
}
