//! Writes what an optimization gained as text.

use std::io::{self, Write};

use holloway_analysis::paired::{Gain, Instructions, QUIET, Verdict, is_noisy};

use super::optimization::{
    BlamedFunction, Optimization, OrderStep, PathsStep, PlanSource, PrefetchStep, Step,
};
use crate::names::display;
use crate::numbers::{grouped, plural, unpredictable_branches};
use crate::plan::matched;

/// Writes the optimization as text.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(optimization: &Optimization, out: &mut dyn Write) -> io::Result<()> {
    let Optimization {
        program,
        output,
        source,
        functions,
        functions_that_ran,
        planned_functions,
        recipe_size,
        pairs,
        noise,
        early,
        selects,
        late,
        paths,
        prefetch,
        order,
        blamed,
        kept,
        instructions,
        late_instructions,
        unpredictable_branches: branches,
        late_functions,
        tails,
        prefetches,
    } = optimization;
    // The name of a file may have a line break.
    let [program, output] = [program, output].map(|name| name.replace('\n', "\\n"));
    let (source, summary) = match source {
        PlanSource::Training => ("training".to_owned(), None),
        PlanSource::Given {
            plans,
            profiles,
            summary,
        } => {
            let given = [(plans, "plan"), (profiles, "profile")];
            let given = given.into_iter().filter(|(count, _)| **count > 0);
            let given = given.map(|(count, noun)| plural(*count as u64, noun));
            let summary = Some(summary).filter(|_| *plans > 0);
            (given.collect::<Vec<_>>().join(" and "), summary)
        }
    };
    let functions = plural(*functions as u64, "function");
    writeln!(
        out,
        "plan          {functions} from {source}: {} ran, {} in the program's modules",
        grouped(*functions_that_ran as u64),
        grouped(*planned_functions)
    )?;
    if let Some(summary) = summary {
        writeln!(out, "matched       {}", matched(summary))?;
    }
    let recipe = grouped(*recipe_size as u64);
    writeln!(out, "recipe        {recipe} bytes of {program}")?;
    let pairs = plural(*pairs as u64, "pair");
    writeln!(
        out,
        "noise         {} ({pairs}, {program} with itself)",
        percent(*noise)
    )?;
    if is_noisy(*noise) {
        writeln!(
            out,
            "              the machine is too noisy: more than {:.1} %; times do not decide about counts",
            QUIET * 100.0
        )?;
    }
    writeln!(out, "CPU time      {} ({pairs})", percent(early.gain))?;
    match instructions {
        Some(counted) => writeln!(out, "instructions  {}", saving(*counted))?,
        None => writeln!(
            out,
            "instructions  not counted: valgrind is missing or cannot run the program, or a run takes longer than 4 s"
        )?,
    }
    let branches_text = unpredictable_branches(*branches);
    match (selects, branches) {
        (Some(selects), _) => {
            let gain = percent(selects.gain);
            writeln!(out, "selects       {gain} ({pairs}, {branches_text})")?;
        }
        (None, 0) => writeln!(
            out,
            "selects       none: no branch is unpredictable, so there is nothing to measure"
        )?,
        (None, _) => writeln!(
            out,
            "selects       none: {branches_text} marked, but the compiler makes the same program"
        )?,
    }
    match (late, late_functions) {
        (Some(late), _) => {
            let functions = plural(*late_functions as u64, "function");
            let gain = percent(late.gain);
            writeln!(out, "late counts   {gain} ({pairs}, {functions})")?;
            if let Some(counted) = late_instructions {
                writeln!(out, "instructions  {}", saving(*counted))?;
            }
        }
        (None, 0) => writeln!(out, "late counts   none: the plan has no late counts")?,
        (None, _) => writeln!(
            out,
            "late counts   none: the compiler makes the same program"
        )?,
    }
    let tails = plural(*tails as u64, "path");
    if let Some(text) = paths_text(*paths, &pairs, &tails) {
        writeln!(out, "paths         {text}")?;
    }
    let loads = plural(*prefetches as u64, "load");
    writeln!(
        out,
        "prefetches    {}",
        prefetch_text(*prefetch, &pairs, &loads)
    )?;
    writeln!(out, "order         {}", order_text(*order, &pairs))?;
    let [paths, prefetch, order] = [
        paths.measurement(),
        prefetch.measurement(),
        order.measurement(),
    ];
    for BlamedFunction {
        step,
        function,
        gain,
    } in blamed
    {
        writeln!(
            out,
            "{:<14}{} without {}",
            step.title(),
            percent(*gain),
            display(function, "")
        )?;
    }
    let steps = optimization.steps();
    let is_more = |(step, is_kept): (Step, bool)| step != Step::Early && is_kept;
    if let Some(kept) = kept.filter(|_| steps.into_iter().any(is_more)) {
        writeln!(out, "kept steps    {} ({pairs})", percent(kept))?;
    }
    let decisions = [
        (Step::Early, Some(early)),
        (Step::Selects, selects.as_ref()),
        (Step::Late, late.as_ref()),
        (Step::Paths, paths.as_ref()),
        (Step::Prefetch, prefetch.as_ref()),
        (Step::Order, order.as_ref()),
    ];
    for (step, measurement) in decisions {
        let Some(measurement) = measurement else {
            continue;
        };
        let verdict = measurement.verdict;
        let blamed = optimization.blamed_for(step);
        let is_kept = verdict.keeps() || blamed.is_some();
        let sentence = match (blamed, step) {
            (Some(blamed), _) => {
                let function = display(&blamed.function, "");
                format!("kept without {function}: the program is faster")
            }
            (None, Step::Early | Step::Late) => sentence(verdict).to_owned(),
            (None, Step::Selects | Step::Paths | Step::Prefetch | Step::Order) => {
                time_sentence(verdict).to_owned()
            }
        };
        let with_counts = match is_kept && step != Step::Early && !early.verdict.keeps() {
            true => " (with early counts)",
            false => "",
        };
        writeln!(out, "{:<14}{sentence}{with_counts}", step.title())?;
    }
    match optimization.is_optimized() {
        true => writeln!(out, "{output} is optimized"),
        false => writeln!(out, "{output} is a copy of {program}"),
    }
}

/// What copied paths gain, or why they do not count. `None` if nobody asked for them.
fn paths_text(paths: PathsStep, pairs: &str, tails: &str) -> Option<String> {
    match paths {
        PathsStep::Measured { step, noise } => {
            let (gain, noise) = (percent(step.gain), noise.median * 100.0);
            Some(format!("{gain} ({pairs}, {tails}, noise {noise:+.2} %)"))
        }
        PathsStep::NotWanted => None,
        PathsStep::NoPaths => {
            Some("none: no path decides a branch that edges leave open".to_owned())
        }
        PathsStep::SameProgram => Some(format!(
            "none: {tails} may be copied, but the compiler makes the same program"
        )),
        PathsStep::NotMeasured => Some(format!(
            "none: {tails} may be copied, but the measurement failed"
        )),
    }
}

/// What prefetches gain, or why they do not count.
fn prefetch_text(prefetch: PrefetchStep, pairs: &str, loads: &str) -> String {
    match prefetch {
        PrefetchStep::Measured { step, noise } => {
            let (gain, noise) = (percent(step.gain), noise.median * 100.0);
            format!("{gain} ({pairs}, {loads}, noise {noise:+.2} %)")
        }
        PrefetchStep::NoLoads => {
            "none: no load that waits for memory has a predictable address".to_owned()
        }
        PrefetchStep::SameProgram => {
            format!("none: {loads} may wait, but none can be prefetched safely")
        }
        PrefetchStep::NotMeasured => format!("none: {loads} may wait, but the measurement failed"),
    }
}

/// What the order of functions gains, or why it does not count.
fn order_text(order: OrderStep, pairs: &str) -> String {
    match order {
        OrderStep::Measured { step, noise } => {
            let (gain, noise) = (percent(step.gain), noise.median * 100.0);
            format!("{gain} ({pairs}, noise {noise:+.2} %)")
        }
        OrderStep::NoOrder => "none: the plan has no order of functions".to_owned(),
        OrderStep::LinkerTakesNone => {
            "none: the linker takes no order of functions (GNU ld and lld do)".to_owned()
        }
        OrderStep::FitsInCache { bytes } => format!(
            "none: the functions that ran have {} bytes, which fit in the instruction cache",
            grouped(bytes)
        ),
        OrderStep::NotMeasured => "none: it could not be measured".to_owned(),
    }
}

/// The saving of instructions: `+5.00 % saved (1,000 -> 950, callgrind)`.
fn saving(counted: Instructions) -> String {
    let [plain, other] = [counted.plain, counted.other].map(grouped);
    let saving = counted.saving() * 100.0;
    format!("{saving:+.2} % saved ({plain} -> {other}, callgrind)")
}

/// A gain with its interval: `+3.2 % (95 %: +2.9 to +3.6)`.
fn percent(gain: Gain) -> String {
    let Gain { median, low, high } = gain;
    let [median, low, high] = [median, low, high].map(|share| share * 100.0);
    format!("{median:+.2} % saved (95 %: {low:+.2} to {high:+.2})")
}

/// The sentence about a step that only time decides.
fn time_sentence(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::TooNoisy => {
            "dropped: the machine is too noisy, and instructions do not show how long the processor waits"
        }
        Verdict::Faster | Verdict::FewerInstructions | Verdict::Slower | Verdict::NoDifference => {
            sentence(verdict)
        }
    }
}

fn sentence(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "kept: the program is faster",
        Verdict::FewerInstructions => {
            "kept: the program executes fewer instructions (times are too noisy to decide)"
        }
        Verdict::Slower => "dropped: the program is slower",
        Verdict::NoDifference => "dropped: the gain cannot be told from noise",
        Verdict::TooNoisy => {
            "dropped: the machine is too noisy, and instructions do not show a gain of 0.5 %"
        }
    }
}
