//! The kinds of profile: which command shows a kind, and which options and views go with a kind.
//!
//! Commands refuse an option that has no effect on the kind or the view. So an option never looks
//! as if it had worked.

use std::fmt;

use clap::ValueEnum as _;
use holloway_abi::Kind;
use holloway_collect::recorded::RecordedKinds;

use crate::cli::{OutputFormat, SortKey, StreamArgs, View, ViewArgs};
use crate::failure::{Failure, Result};

/// The command that shows a kind.
fn command(kind: Kind) -> &'static str {
    match kind {
        Kind::Paths | Kind::Nothing => "holloway report --view paths",
        Kind::Edges => "holloway report --view edges",
        Kind::Loops => "holloway report --view loops",
        Kind::Trace => "holloway trace stats",
        Kind::Variation | Kind::Times => "holloway report --view variation",
    }
}

/// Names the kinds that a page leaves out, and the commands that show them. `None` if the page
/// shows the whole run. Every kind has counts, so a view of counts that the user chose leaves out
/// no kind. `chosen` is the view that the user chose.
pub(crate) fn left_out(
    recorded: &RecordedKinds,
    page: Page,
    chosen: Option<View>,
) -> Option<String> {
    if page == Page::Counts && chosen.is_some() {
        return None;
    }
    let other_kinds = recorded
        .iter()
        .filter(|(kind, _)| Page::of_kind(*kind) != page);
    let kinds = other_kinds.map(|(kind, images)| {
        let names: Vec<&str> = images.iter().map(String::as_str).collect();
        let unnamed = match names.len().saturating_sub(MAX_NAMED_IMAGES) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let names = names[..names.len().min(MAX_NAMED_IMAGES)].join(", ");
        format!("{kind} of {names}{unnamed} (`{}`)", command(kind))
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| {
        let kinds = kinds.join(", ");
        format!("only {page} are shown here; the run also has {kinds}")
    })
}

/// The message for a run without the data that `missing` names. Builds with `--collect {build}`
/// record this data.
pub(crate) fn no_data(recorded: &RecordedKinds, missing: &str, build: Kind) -> String {
    let kinds = recorded
        .iter()
        .map(|(kind, _)| format!("{kind} (`{}`)", command(kind)));
    let kinds: Vec<String> = kinds.collect();
    let kinds = kinds.join(" and ");
    format!(
        "no {missing} were recorded: build with --collect {build} to see them; there are {kinds}"
    )
}

/// The maximum number of images that a message names. It counts the others.
const MAX_NAMED_IMAGES: usize = 3;

/// A page of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// Counts of paths, edges, lines, and so on.
    Counts,
    /// Sequences of paths over iterations.
    Loops,
    /// Sizes and events of traces.
    Trace,
    /// Times of paths.
    Variation,
}

impl Page {
    /// The page that reports a run.
    pub(crate) fn for_view(kinds: &RecordedKinds, view: &ViewArgs) -> Self {
        match view.view {
            _ if view.uncovered => Self::Counts,
            Some(View::Loops) => Self::Loops,
            Some(View::Variation) => Self::Variation,
            Some(_) => Self::Counts,
            None if view.list.style.format == OutputFormat::Json => Self::Counts,
            None if kinds.has(Kind::Loops) => Self::Loops,
            None if kinds.is_timed() => Self::Variation,
            // Only the page of counts says whether the selected functions were inlined or skipped,
            // and a trace has no filter on code.
            None if kinds.has(Kind::Trace) && !is_filtered(view) => Self::Trace,
            None => Self::Counts,
        }
    }

    /// The page that shows all data of a kind. Every kind has counts, but some have more.
    fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Paths | Kind::Edges | Kind::Nothing => Self::Counts,
            Kind::Loops => Self::Loops,
            Kind::Trace => Self::Trace,
            Kind::Variation | Kind::Times => Self::Variation,
        }
    }
}

impl fmt::Display for Page {
    /// The contents of the page, as messages name them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counts => "counts",
            Self::Loops => "loops",
            Self::Trace => "statistics of traces",
            Self::Variation => "times of paths",
        })
    }
}

fn is_filtered(view: &ViewArgs) -> bool {
    view.list.function.is_some() || view.code.is_given()
}

/// Refuses options of a run that have no effect on a program of this kind.
///
/// # Errors
/// If one of the given options has no effect.
fn check_stream(kind: Kind, args: &StreamArgs) -> Result<()> {
    const STREAMS: &[Kind] = &[Kind::Loops, Kind::Trace];
    let options = [
        ("--k", args.k.is_some(), &[Kind::Loops][..]),
        ("--sample", args.sample.is_some(), STREAMS),
        ("--memory", args.memory.is_some(), STREAMS),
        ("--phases", args.phases, &[Kind::Trace]),
        ("--burst", args.burst.is_some(), &[Kind::Variation]),
    ];
    for (option, is_given, kinds) in options {
        if is_given && !kinds.contains(&kind) {
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            return Err(Failure::usage(format_args!(
                "{option} goes with --collect {}, not {kind}: leave it out, or build with that",
                kinds.join(" or ")
            )));
        }
    }
    Ok(())
}

/// Refuses a view without data in the run, and options without effect on the view.
///
/// # Errors
/// If the view has no data, or one of the given options has no effect.
pub(crate) fn check_view(kinds: &RecordedKinds, view: &ViewArgs) -> Result<()> {
    if view.uncovered && kinds.is_timed() {
        return Err(Failure::usage(
            "times of paths were recorded, which leave out short functions, so --uncovered cannot tell what never ran: build with --collect paths",
        ));
    }
    match view.view {
        Some(View::Loops) if !kinds.has(Kind::Loops) && kinds.has(Kind::Trace) => {
            return Err(Failure::usage(
                "a trace was recorded: `holloway trace loops 8` shows its loops",
            ));
        }
        Some(View::Loops) if !kinds.has(Kind::Loops) => {
            return Err(Failure::usage(no_data(kinds, "loops", Kind::Loops)));
        }
        Some(View::Variation) if !kinds.is_timed() => {
            return Err(Failure::usage(no_data(
                kinds,
                "times of paths",
                Kind::Variation,
            )));
        }
        _ => {}
    }
    let page = Page::for_view(kinds, view);
    let sortable_views = [
        None,
        Some(View::Paths),
        Some(View::Functions),
        Some(View::Blocks),
        Some(View::Edges),
    ];
    let is_sortable = page == Page::Counts && sortable_views.contains(&view.view);
    let (is_loops, is_variation) = (page == Page::Loops, page == Page::Variation);
    let is_json_of_counts = page == Page::Counts && view.list.style.format == OutputFormat::Json;
    let times = &view.times;
    let function = view.list.function.as_ref();
    let names_path = function.is_some_and(|function| function.path.is_some());
    let is_path_view = matches!(view.view, None | Some(View::Paths)) && !view.uncovered;
    let options = [
        (
            "--function NAME#DIGITS",
            names_path,
            is_loops || is_variation || is_path_view,
            "paths, loops, or variation",
        ),
        (
            "--sort",
            view.sort.is_some(),
            is_sortable,
            "paths, functions, blocks or edges",
        ),
        (
            "--sort time",
            view.sort == Some(SortKey::Time),
            view.view == Some(View::Functions) || is_json_of_counts,
            "functions",
        ),
        (
            "--all-code",
            view.code.all_code,
            view.uncovered || view.view == Some(View::Lines) || is_json_of_counts,
            "lines, --uncovered, or --format json",
        ),
        ("--min-share", view.min_share.is_some(), is_loops, "loops"),
        ("--stats", view.stats, is_loops, "loops"),
        ("--time", times.time.is_some(), is_variation, "variation"),
        (
            "--include-preempted",
            times.include_preempted,
            is_variation,
            "variation",
        ),
    ];
    let view_name = view.view.as_ref().and_then(View::to_possible_value);
    let view_name = view_name.map_or_else(|| page.to_string(), |view| view.get_name().to_owned());
    for (option, is_given, has_effect, views) in options {
        if is_given && !has_effect {
            return Err(Failure::usage(format_args!(
                "{option} goes with --view {views}, not with {view_name}: leave it out, or ask for that view"
            )));
        }
    }
    Ok(())
}

/// Checks the options of a run of one kind, and of its report, before the run.
///
/// # Errors
/// If an option has no effect with this kind, or the view has no data.
pub(crate) fn check(kind: Kind, stream: &StreamArgs, view: Option<&ViewArgs>) -> Result<()> {
    check_stream(kind, stream)?;
    let Some(view) = view else { return Ok(()) };
    let mut kinds = RecordedKinds::default();
    kinds.add(kind, "");
    let views = view.each_view().map_err(Failure::usage)?;
    views.iter().try_for_each(|view| check_view(&kinds, view))
}
