//! Writes what an optimization gained, as text and as JSON.

use std::io::{self, Write};

use holloway_analysis::old_plans::Summary;
use holloway_analysis::paired::{Gain, Instructions, QUIET, Verdict, is_noisy};
use holloway_format::Count;
use serde::Serialize;

use crate::json::{SCHEMA, write_document};
use crate::numbers::{grouped, plural, unpredictable_branches};
use crate::plan::matched;

/// The name of the step that uses the counts before the optimizer.
const EARLY: &str = "early";
/// The name of the step that makes selects of unpredictable branches.
const SELECTS: &str = "selects";
/// The name of the step that uses the counts after the optimizer.
const LATE: &str = "late";
/// The step that prefetches, as JSON names it.
const PREFETCH: &str = "prefetch";
/// The step that orders functions, as JSON names it.
const ORDER: &str = "order";

/// An optimization of a program, and its measurement.
#[derive(Clone, Debug)]
pub struct Optimization {
    /// The program, as the user named it.
    pub program: String,
    /// The file that was written.
    pub output: String,
    /// Where the counts come from.
    pub source: PlanSource,
    /// Functions of the plan.
    pub functions: usize,
    /// Functions of the plan that ran.
    pub functions_that_ran: usize,
    /// Functions of the program that got counts of the plan.
    pub planned_functions: u64,
    /// The size of the recipe that the program carries, in bytes.
    pub recipe_size: usize,
    /// The number of pairs of runs.
    pub pairs: usize,
    /// The gain of the program over itself.
    pub noise: Gain,
    /// The step that uses early counts: its gain over the program.
    pub early: Measurement,
    /// The step that makes selects of unpredictable branches: its gain over the program with early
    /// counts. `None` if it changes nothing, so that it was not measured.
    pub selects: Option<Measurement>,
    /// The step that uses late counts: its gain over the program with early counts, and with selects
    /// if these are kept. `None` if it was not measured.
    pub late: Option<Measurement>,
    /// The step that prefetches.
    pub prefetch: PrefetchStep,
    /// The step that orders functions.
    pub order: OrderStep,
    /// The gain of all kept steps over the program. `None` if none is kept.
    pub kept: Option<Gain>,
    /// The instructions that the program and the one with early counts execute, if they were
    /// counted.
    pub instructions: Option<Instructions>,
    /// The instructions that the program executes without late counts, and with them, if they were
    /// counted: not if selects are kept.
    pub late_instructions: Option<Instructions>,
    /// The unpredictable branches.
    pub unpredictable_branches: usize,
    /// Functions of the plan with late counts.
    pub late_functions: usize,
    /// The plan's loads to prefetch.
    pub prefetches: usize,
}

/// What became of the loads to prefetch.
#[derive(Clone, Copy, Debug)]
pub enum PrefetchStep {
    /// The prefetches were measured.
    Measured {
        /// Their gain over the program with the steps that are kept before them, but at least with
        /// early counts.
        step: Measurement,
        /// The noise of their rounds.
        noise: Gain,
    },
    /// The plan has no loads to prefetch.
    NoLoads,
    /// The compiler makes the same program.
    SameProgram,
    /// The measurement failed, as a warning said.
    NotMeasured,
}

impl PrefetchStep {
    fn measurement(self) -> Option<Measurement> {
        match self {
            Self::Measured { step, .. } => Some(step),
            Self::NoLoads | Self::SameProgram | Self::NotMeasured => None,
        }
    }
}

/// What became of the order of functions.
#[derive(Clone, Copy, Debug)]
pub enum OrderStep {
    /// It was measured.
    Measured {
        /// Its gain over the program with the steps that are kept before it, but at least with early
        /// counts.
        step: Measurement,
        /// The noise of its rounds.
        noise: Gain,
    },
    /// The plan has no order.
    NoOrder,
    /// The program's linker takes no order.
    LinkerTakesNone,
    /// The functions fit in the instruction cache.
    FitsInCache {
        /// Their size.
        bytes: u64,
    },
    /// The measurement failed, as a warning said.
    NotMeasured,
}

impl OrderStep {
    fn measurement(self) -> Option<Measurement> {
        match self {
            Self::Measured { step, .. } => Some(step),
            Self::NoOrder
            | Self::LinkerTakesNone
            | Self::FitsInCache { .. }
            | Self::NotMeasured => None,
        }
    }
}

/// The measurement of a step.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// The step's own gain.
    pub gain: Gain,
    /// Whether the step is kept, and why.
    pub verdict: Verdict,
}

impl Optimization {
    /// The names of the steps that were measured, and whether each is kept.
    fn steps(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let is_kept = |step: Option<Measurement>| step.map(|step| step.verdict.keeps());
        let steps = [
            // Early counts are part of every other step.
            (EARLY, Some(self.is_optimized())),
            (SELECTS, is_kept(self.selects)),
            (LATE, is_kept(self.late)),
            (PREFETCH, is_kept(self.prefetch.measurement())),
            (ORDER, is_kept(self.order.measurement())),
        ];
        steps
            .into_iter()
            .filter_map(|(name, step)| Some((name, step?)))
    }

    /// Whether the output is optimized.
    fn is_optimized(&self) -> bool {
        self.kept.is_some()
    }
}

/// Where the counts of a plan come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSource {
    /// A run of the program.
    Training,
    /// Files: plans and profiles.
    Given {
        /// The number of plans.
        plans: usize,
        /// The number of profiles.
        profiles: usize,
        /// The functions and counts of the plans that were found again in the program.
        summary: Summary,
    },
}

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
        prefetch,
        order,
        kept,
        instructions,
        late_instructions,
        unpredictable_branches: branches,
        late_functions,
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
    let loads = plural(*prefetches as u64, "load");
    writeln!(
        out,
        "prefetches    {}",
        prefetch_text(*prefetch, &pairs, &loads)
    )?;
    writeln!(out, "order         {}", order_text(*order, &pairs))?;
    let prefetch = prefetch.measurement();
    let order = order.measurement();
    let decided_later = [selects, late, &prefetch, &order].into_iter().flatten();
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

/// Writes the optimization as JSON, one object and a newline. Section `optimize` of docs/json.md
/// explains the keys.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(optimization: &Optimization, out: &mut dyn Write) -> io::Result<()> {
    let (kept, dropped): (Vec<_>, Vec<_>) = optimization.steps().partition(|(_, is_kept)| *is_kept);
    let [kept, dropped] =
        [kept, dropped].map(|steps| steps.into_iter().map(|(name, _)| name).collect());
    let document = Document {
        schema: SCHEMA,
        gain: optimization.kept.unwrap_or(optimization.early.gain).into(),
        kept,
        dropped,
        noise_percent: optimization.noise.median * 100.0,
        too_noisy: is_noisy(optimization.noise),
        pairs: optimization.pairs,
        instructions: optimization.instructions.map(|counted| InstructionsRecord {
            plain: counted.plain,
            optimized: counted.other,
            late: optimization.late_instructions.map(|late| late.other),
        }),
        functions: optimization.functions,
        functions_that_ran: optimization.functions_that_ran,
        planned_functions: optimization.planned_functions,
        matched: match optimization.source {
            PlanSource::Training | PlanSource::Given { plans: 0, .. } => None,
            PlanSource::Given { summary, .. } => Some(summary.into()),
        },
        recipe_bytes: optimization.recipe_size,
        unpredictable_branches: optimization.unpredictable_branches,
        late_functions: optimization.late_functions,
        early: optimization.early.gain.into(),
        selects: optimization.selects.map(|step| step.gain.into()),
        late: optimization.late.map(|step| step.gain.into()),
        prefetches: optimization.prefetches,
        prefetch: optimization
            .prefetch
            .measurement()
            .map(|step| step.gain.into()),
        order: optimization
            .order
            .measurement()
            .map(|step| step.gain.into()),
    };
    write_document(&document, out)
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    #[serde(flatten)]
    gain: GainRecord,
    kept: Vec<&'static str>,
    dropped: Vec<&'static str>,
    noise_percent: f64,
    too_noisy: bool,
    pairs: usize,
    instructions: Option<InstructionsRecord>,
    functions: usize,
    functions_that_ran: usize,
    planned_functions: u64,
    matched: Option<MatchedRecord>,
    recipe_bytes: usize,
    unpredictable_branches: usize,
    late_functions: usize,
    early: GainRecord,
    selects: Option<GainRecord>,
    late: Option<GainRecord>,
    prefetches: usize,
    prefetch: Option<GainRecord>,
    order: Option<GainRecord>,
}

#[derive(Serialize)]
struct MatchedRecord {
    unchanged: usize,
    changed: usize,
    gone: usize,
    changed_executions: Count,
    changed_matched: Count,
    executions: Count,
    matched: Count,
}

impl From<Summary> for MatchedRecord {
    fn from(summary: Summary) -> Self {
        Self {
            unchanged: summary.unchanged,
            changed: summary.changed,
            gone: summary.gone,
            changed_executions: summary.changed_executions,
            changed_matched: summary.changed_matched,
            executions: summary.executions,
            matched: summary.matched,
        }
    }
}

#[derive(Serialize)]
struct GainRecord {
    gain_percent: f64,
    low: f64,
    high: f64,
}

impl From<Gain> for GainRecord {
    fn from(Gain { median, low, high }: Gain) -> Self {
        Self {
            gain_percent: median * 100.0,
            low: low * 100.0,
            high: high * 100.0,
        }
    }
}

#[derive(Serialize)]
struct InstructionsRecord {
    plain: u64,
    optimized: u64,
    late: Option<u64>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(median: f64, low: f64, high: f64) -> Gain {
        Gain { median, low, high }
    }

    fn example(verdict: Verdict) -> Optimization {
        let early = Measurement {
            gain: gain(0.0625, 0.05, 0.07),
            verdict,
        };
        Optimization {
            program: "./app".into(),
            output: "app.fast".into(),
            source: PlanSource::Training,
            functions: 120,
            functions_that_ran: 75,
            planned_functions: 118,
            recipe_size: 168_697,
            pairs: 10,
            noise: gain(0.001, -0.002, 0.004),
            early,
            selects: None,
            late: None,
            prefetch: PrefetchStep::NoLoads,
            order: OrderStep::NoOrder,
            kept: verdict.keeps().then_some(early.gain),
            instructions: Some(Instructions {
                plain: 1000,
                other: 950,
            }),
            late_instructions: None,
            unpredictable_branches: 0,
            late_functions: 0,
            prefetches: 0,
        }
    }

    fn with_selects(early: Verdict, selects: Verdict) -> Optimization {
        let example = example(early);
        let kept = match selects.keeps() {
            true => Some(gain(0.25, 0.24, 0.26)),
            false => example.kept,
        };
        Optimization {
            unpredictable_branches: 2,
            selects: Some(Measurement {
                gain: gain(0.5, 0.48, 0.52),
                verdict: selects,
            }),
            kept,
            ..example
        }
    }

    fn with_late_counts(early: Verdict, late: Verdict) -> Optimization {
        let example = example(early);
        let kept = match late.keeps() {
            true => Some(gain(0.075, 0.0625, 0.08)),
            false => example.kept,
        };
        Optimization {
            late: Some(Measurement {
                gain: gain(0.0125, 0.01, 0.015),
                verdict: late,
            }),
            late_instructions: Some(Instructions {
                plain: 950,
                other: 931,
            }),
            late_functions: 90,
            kept,
            ..example
        }
    }

    fn written(write: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("written");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn the_text_says_what_was_kept_and_why() {
        let text = written(|out| write(&example(Verdict::Faster), out));
        let expect = "\
plan          120 functions from training: 75 ran, 118 are in the program
recipe        168,697 bytes of ./app
noise         +0.10 % saved (95 %: -0.20 to +0.40) (10 pairs, ./app with itself)
CPU time      +6.25 % saved (95 %: +5.00 to +7.00) (10 pairs)
instructions  +5.00 % saved (1,000 -> 950, callgrind)
selects       none: no branch is unpredictable, so there is nothing to measure
late counts   none: the plan has no late counts
prefetches    none: no load that waits for memory has a predictable address
order         none: the plan has no order of functions
early counts  kept: the program is faster
app.fast is optimized
";
        assert_eq!(text, expect);
    }

    #[test]
    fn given_plans_say_how_much_was_matched() {
        let summary = Summary {
            unchanged: 30,
            changed: 8,
            gone: 4,
            changed_executions: Count(1000),
            changed_matched: Count(920),
            executions: Count(10_000),
            matched: Count(9_700),
        };
        let optimization = Optimization {
            source: PlanSource::Given {
                plans: 2,
                profiles: 0,
                summary,
            },
            ..example(Verdict::Faster)
        };
        let text = written(|out| write(&optimization, out));
        let mut lines = text.lines();
        let expect = [
            "plan          120 functions from 2 plans: 75 ran, 118 are in the program",
            "matched       42 functions: 30 unchanged, 8 changed (92.0 % of their counts), 4 gone; 97.0 % of all counts",
        ];
        assert_eq!([lines.next(), lines.next()], expect.map(Some));
        let text = written(|out| json(&optimization, out));
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let expect = serde_json::json!({
            "unchanged": 30, "changed": 8, "gone": 4, "changed_executions": 1000,
            "changed_matched": 920, "executions": 10_000, "matched": 9_700,
        });
        assert_eq!(document["matched"], expect);
        let text = written(|out| json(&example(Verdict::Faster), out));
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(
            document
                .as_object()
                .expect("an object")
                .contains_key("matched")
        );
        assert_eq!(document["matched"], serde_json::Value::Null);
    }

    #[test]
    fn a_plan_that_fits_is_unchanged() {
        let summary = Summary {
            unchanged: 1,
            executions: Count(7),
            matched: Count(7),
            ..Summary::default()
        };
        assert_eq!(matched(&summary), "1 function: 1 unchanged");
    }

    #[test]
    fn selects_have_a_gain_and_a_verdict_of_their_own() {
        let check = |early, selects, expect: &str| {
            let text = written(|out| write(&with_selects(early, selects), out));
            let (_, end) = text.split_once("callgrind)\n").expect("the measurements");
            assert_eq!(end, expect);
        };
        let gains = "\
selects       +50.00 % saved (95 %: +48.00 to +52.00) (10 pairs, 2 unpredictable branches)
late counts   none: the plan has no late counts
prefetches    none: no load that waits for memory has a predictable address
order         none: the plan has no order of functions
";
        check(
            Verdict::NoDifference,
            Verdict::Faster,
            &format!(
                "{gains}\
kept steps    +25.00 % saved (95 %: +24.00 to +26.00) (10 pairs)
early counts  dropped: the gain cannot be told from noise
selects       kept: the program is faster (with early counts)
app.fast is optimized
"
            ),
        );
        check(
            Verdict::FewerInstructions,
            Verdict::TooNoisy,
            &format!(
                "{gains}\
early counts  kept: the program executes fewer instructions (times are too noisy to decide)
selects       dropped: the machine is too noisy, and instructions do not show how long the processor waits
app.fast is optimized
"
            ),
        );
        let same = Optimization {
            unpredictable_branches: 1,
            ..example(Verdict::Slower)
        };
        let text = written(|out| write(&same, out));
        assert!(text.contains(
            "selects       none: 1 unpredictable branch marked, but the compiler makes the same program\n"
        ));
    }

    #[test]
    fn late_counts_have_a_gain_and_a_verdict_of_their_own() {
        let check = |early, late, expect: &str| {
            let text = written(|out| write(&with_late_counts(early, late), out));
            let (_, end) = text.split_once("to measure\n").expect("the measurements");
            assert_eq!(end, expect);
        };
        let gains = "\
late counts   +1.25 % saved (95 %: +1.00 to +1.50) (10 pairs, 90 functions)
instructions  +2.00 % saved (950 -> 931, callgrind)
prefetches    none: no load that waits for memory has a predictable address
order         none: the plan has no order of functions
";
        check(
            Verdict::Faster,
            Verdict::Faster,
            &format!(
                "{gains}\
kept steps    +7.50 % saved (95 %: +6.25 to +8.00) (10 pairs)
early counts  kept: the program is faster
late counts   kept: the program is faster
app.fast is optimized
"
            ),
        );
        check(
            Verdict::Faster,
            Verdict::Slower,
            &format!(
                "{gains}\
early counts  kept: the program is faster
late counts   dropped: the program is slower
app.fast is optimized
"
            ),
        );
        let same = Optimization {
            late_functions: 90,
            ..example(Verdict::Faster)
        };
        let text = written(|out| write(&same, out));
        assert!(text.contains("late counts   none: the compiler makes the same program\n"));
    }

    #[test]
    fn the_order_is_measured_or_has_a_reason() {
        let with = |order| Optimization {
            order,
            ..example(Verdict::Faster)
        };
        let line = |order| {
            let text = written(|out| write(&with(order), out));
            let (_, line) = text.split_once("\norder         ").expect("a line");
            line.lines().next().map(str::to_owned)
        };
        let expect = |text: &str| Some(text.to_owned());
        assert_eq!(
            line(OrderStep::FitsInCache { bytes: 9872 }),
            expect(
                "none: the functions that ran have 9,872 bytes, which fit in the instruction cache"
            )
        );
        assert_eq!(
            line(OrderStep::LinkerTakesNone),
            expect("none: the linker takes no order of functions (GNU ld and lld do)")
        );
        assert_eq!(
            line(OrderStep::NotMeasured),
            expect("none: it could not be measured")
        );
        let measured = |verdict| OrderStep::Measured {
            step: Measurement {
                gain: gain(0.01, 0.005, 0.02),
                verdict,
            },
            noise: gain(0.001, -0.002, 0.004),
        };
        assert_eq!(
            line(measured(Verdict::Faster)),
            expect("+1.00 % saved (95 %: +0.50 to +2.00) (10 pairs, noise +0.10 %)")
        );
        for (verdict, list) in [(Verdict::Faster, "kept"), (Verdict::Slower, "dropped")] {
            let text = written(|out| write(&with(measured(verdict)), out));
            assert!(
                text.contains(&format!("\norder         {list}: ")),
                "{text}"
            );
            let text = written(|out| json(&with(measured(verdict)), out));
            let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let steps = document[list].as_array().expect("a list");
            assert!(steps.contains(&ORDER.into()), "{text}");
            assert_eq!(document["order"]["gain_percent"], 1.0, "{text}");
        }
    }

    #[test]
    fn the_json_lists_kept_and_dropped_steps() {
        let check = |verdict, expect: &str| {
            let text = written(|out| json(&example(verdict), out));
            assert!(
                text.starts_with(&format!(
                    "{{\"schema\":1,\"gain_percent\":6.25,\"low\":5.0,\"high\":7.000000000000001,{expect}"
                )),
                "{text}"
            );
        };
        check(Verdict::Faster, "\"kept\":[\"early\"],\"dropped\":[],");
        check(Verdict::TooNoisy, "\"kept\":[],\"dropped\":[\"early\"],");
    }

    #[test]
    fn the_json_has_the_gain_of_each_step() {
        let check = |early, selects, expect: &str| {
            let text = written(|out| json(&with_selects(early, selects), out));
            assert!(text.starts_with(expect), "{text}");
            assert!(
                text.contains("\"unpredictable_branches\":2,\"late_functions\":0,\"early\":{\"gain_percent\":6.25,"),
                "{text}"
            );
            let own = "\"selects\":{\"gain_percent\":50.0,\"low\":48.0,\"high\":52.0},\"late\":null,\"prefetches\":0,\"prefetch\":null,\"order\":null}\n";
            assert!(text.ends_with(own), "{text}");
        };
        check(
            Verdict::NoDifference,
            Verdict::Faster,
            "{\"schema\":1,\"gain_percent\":25.0,\"low\":24.0,\"high\":26.0,\"kept\":[\"early\",\"selects\"],\"dropped\":[],",
        );
        check(
            Verdict::Faster,
            Verdict::Slower,
            "{\"schema\":1,\"gain_percent\":6.25,\"low\":5.0,\"high\":7.000000000000001,\"kept\":[\"early\"],\"dropped\":[\"selects\"],",
        );
        let text = written(|out| json(&example(Verdict::Faster), out));
        assert!(
            text.ends_with("\"selects\":null,\"late\":null,\"prefetches\":0,\"prefetch\":null,\"order\":null}\n"),
            "{text}"
        );
        let text = written(|out| json(&with_late_counts(Verdict::Faster, Verdict::Faster), out));
        assert!(
            text.starts_with(
                "{\"schema\":1,\"gain_percent\":7.5,\"low\":6.25,\"high\":8.0,\"kept\":[\"early\",\"late\"],\"dropped\":[],"
            ),
            "{text}"
        );
        assert!(
            text.contains("\"instructions\":{\"plain\":1000,\"optimized\":950,\"late\":931}"),
            "{text}"
        );
    }
}
