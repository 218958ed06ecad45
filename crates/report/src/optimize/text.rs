//! Writes what an optimization gained as text.

use std::io::{self, Write};

use holloway_analysis::paired::{Gain, Instructions, QUIET, Verdict, is_noisy};

use super::optimization::{
    Measurement, Optimization, OrderStep, PathsStep, PlanSource, PrefetchStep,
};
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
        "plan          {functions} from {source}: {} ran, {} are in the program",
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
    let paths = paths.measurement();
    let prefetch = prefetch.measurement();
    let order = order.measurement();
    let decided_later = [selects, late, &paths, &prefetch, &order]
        .into_iter()
        .flatten();
    if let Some(kept) = kept.filter(|_| decided_later.clone().any(|step| step.verdict.keeps())) {
        writeln!(out, "kept steps    {} ({pairs})", percent(kept))?;
    }
    let with_counts = |step: &Measurement| match step.verdict.keeps() && !early.verdict.keeps() {
        true => " (with early counts)",
        false => "",
    };
    writeln!(out, "early counts  {}", sentence(early.verdict))?;
    if let Some(selects) = selects {
        let sentence = time_sentence(selects.verdict);
        writeln!(out, "selects       {sentence}{}", with_counts(selects))?;
    }
    if let Some(late) = late {
        let sentence = sentence(late.verdict);
        writeln!(out, "late counts   {sentence}{}", with_counts(late))?;
    }
    if let Some(paths) = paths {
        let sentence = time_sentence(paths.verdict);
        writeln!(out, "paths         {sentence}{}", with_counts(&paths))?;
    }
    if let Some(prefetch) = prefetch {
        let sentence = time_sentence(prefetch.verdict);
        writeln!(out, "prefetches    {sentence}{}", with_counts(&prefetch))?;
    }
    if let Some(order) = order {
        let sentence = time_sentence(order.verdict);
        writeln!(out, "order         {sentence}{}", with_counts(&order))?;
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
