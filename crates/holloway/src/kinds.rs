//! The kinds of profile: what a run has of each, how to see it, and which options go with which.
//!
//! An option that the kind, or the view, has no use for is refused: nobody is to believe that it
//! did something.

use std::fmt;

use clap::ValueEnum as _;
use holloway_abi::Kind;
use holloway_collect::recorded::RecordedKinds;

use crate::cli::{OutputFormat, StreamArgs, View, ViewArgs};
use crate::failure::{Failure, Result};

/// What shows a kind.
fn command(kind: Kind) -> &'static str {
    match kind {
        Kind::Paths => "holloway report --view paths",
        Kind::Edges => "holloway report --view edges",
        Kind::Loops => "holloway report --view loops",
        Kind::Trace => "holloway trace stats",
        Kind::Variation | Kind::Times => "holloway report --view variation",
    }
}

/// What a page leaves out and how to see it, where the run has other kinds too. Who asks for a view
/// of counts (`is_asked_for`) gets all of them: every kind has counts.
pub(crate) fn others(recorded: &RecordedKinds, page: Page, is_asked_for: bool) -> Option<String> {
    if page == Page::Counts && is_asked_for {
        return None;
    }
    let others = recorded
        .iter()
        .filter(|(kind, _)| Page::of_kind(*kind) != page);
    let others = others.map(|(kind, images)| {
        let names: Vec<&str> = images.iter().map(String::as_str).collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let names = names[..names.len().min(NAMED)].join(", ");
        format!("{kind} of {names}{more} (`{}`)", command(kind))
    });
    let others: Vec<String> = others.collect();
    (!others.is_empty()).then(|| {
        let (these, others) = (page, others.join(", "));
        format!("only {these} are shown here; the run also has {others}")
    })
}

/// What is said to one who asks for `what`, which only a build with `--collect build` has.
pub(crate) fn lack(recorded: &RecordedKinds, what: &str, build: Kind) -> String {
    let there = recorded
        .iter()
        .map(|(kind, _)| format!("{kind} (`{}`)", command(kind)));
    let there: Vec<String> = there.collect();
    let there = there.join(" and ");
    format!("no {what} were recorded: build with --collect {build} to see them; there are {there}")
}

/// Images that are named; of more only the number is said.
const NAMED: usize = 3;

/// What a report consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// How often paths, edges, lines and so on ran.
    Counts,
    /// Sequences of paths over iterations.
    Loops,
    /// Traces' numbers.
    Trace,
    /// How long paths took.
    Variation,
}

impl Page {
    /// What is reported of a run.
    pub(crate) fn of(kinds: &RecordedKinds, view: &ViewArgs) -> Self {
        match view.view {
            Some(View::Loops) => Self::Loops,
            Some(View::Variation) => Self::Variation,
            Some(_) => Self::Counts,
            None if view.list.format == OutputFormat::Json => Self::Counts,
            None if kinds.has(Kind::Loops) => Self::Loops,
            None if kinds.is_timed() => Self::Variation,
            // Where a function went is said with the counts.
            None if kinds.has(Kind::Trace) && view.list.function.is_none() => Self::Trace,
            None => Self::Counts,
        }
    }

    /// The page that shows everything a kind collects. Counts are known for every kind, but they
    /// are not all there is.
    fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Paths | Kind::Edges => Self::Counts,
            Kind::Loops => Self::Loops,
            Kind::Trace => Self::Trace,
            Kind::Variation | Kind::Times => Self::Variation,
        }
    }
}

impl fmt::Display for Page {
    /// What it shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counts => "counts",
            Self::Loops => "loops",
            Self::Trace => "a trace's numbers",
            Self::Variation => "times of paths",
        })
    }
}

/// Refuses options of a run that a program of this kind has no use for.
///
/// # Errors
/// There is one.
fn check_stream(kind: Kind, args: &StreamArgs) -> Result<()> {
    const STREAMS: &[Kind] = &[Kind::Loops, Kind::Trace];
    let given = [
        ("--k", args.k.is_some(), &[Kind::Loops][..]),
        ("--sample", args.sample.is_some(), STREAMS),
        ("--memory", args.memory.is_some(), STREAMS),
        ("--burst", args.burst.is_some(), &[Kind::Variation]),
    ];
    for (option, is_given, with) in given {
        if is_given && !with.contains(&kind) {
            let with: Vec<String> = with.iter().map(ToString::to_string).collect();
            return Err(Failure::usage(format_args!(
                "{option} goes with --collect {}, not {kind}: leave it out, or build with that",
                with.join(" or ")
            )));
        }
    }
    Ok(())
}

/// Refuses a view that the run has nothing for, and options that the view has no use for.
///
/// # Errors
/// There is one.
pub(crate) fn check_view(kinds: &RecordedKinds, view: &ViewArgs) -> Result<()> {
    match view.view {
        Some(View::Loops) if !kinds.has(Kind::Loops) && kinds.has(Kind::Trace) => {
            return Err(Failure::usage(
                "a trace was recorded: `holloway trace loops 8` shows its loops",
            ));
        }
        Some(View::Loops) if !kinds.has(Kind::Loops) => {
            return Err(Failure::usage(lack(kinds, "loops", Kind::Loops)));
        }
        Some(View::Variation) if !kinds.is_timed() => {
            return Err(Failure::usage(lack(
                kinds,
                "times of paths",
                Kind::Variation,
            )));
        }
        _ => {}
    }
    let page = Page::of(kinds, view);
    let sorted = [
        None,
        Some(View::Paths),
        Some(View::Functions),
        Some(View::Blocks),
    ];
    let is_sorted = page == Page::Counts && sorted.contains(&view.view);
    let (loops, timed) = (page == Page::Loops, page == Page::Variation);
    let times = &view.times;
    let given = [
        (
            "--sort",
            view.sort.is_some(),
            is_sorted,
            "paths, functions or blocks",
        ),
        ("--min-share", view.min_share.is_some(), loops, "loops"),
        ("--stats", view.stats, loops, "loops"),
        ("--time", times.time.is_some(), timed, "variation"),
        (
            "--include-preempted",
            times.include_preempted,
            timed,
            "variation",
        ),
    ];
    let shown = view.view.as_ref().and_then(View::to_possible_value);
    let shown = shown.map_or_else(|| page.to_string(), |view| view.get_name().to_owned());
    for (option, is_given, is_of_use, with) in given {
        if is_given && !is_of_use {
            return Err(Failure::usage(format_args!(
                "{option} goes with --view {with}, not with {shown}: leave it out, or ask for that view"
            )));
        }
    }
    Ok(())
}

/// The same for a run that is to be of one kind, and its report.
///
/// # Errors
/// There is an option that this kind has no use for, or a view that it has not.
pub(crate) fn check(kind: Kind, stream: &StreamArgs, view: Option<&ViewArgs>) -> Result<()> {
    check_stream(kind, stream)?;
    let Some(view) = view else { return Ok(()) };
    let mut kinds = RecordedKinds::default();
    kinds.add(kind, "");
    check_view(&kinds, view)
}
