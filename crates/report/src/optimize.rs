//! Writes what an optimization gained, as text and as JSON.

use std::io::{self, Write};

use holloway_analysis::paired::{Gain, Instructions, QUIET, Verdict, is_noisy};
use serde::Serialize;

use crate::json::{SCHEMA, write_document};
use crate::numbers::{grouped, plural, unpredictable_branches};

/// The name of the step that uses the counts before the optimizer.
const EARLY: &str = "early";
/// The name of the step that makes selects of unpredictable branches.
const SELECTS: &str = "selects";

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
    /// The gain of the program with early counts.
    pub gain: Gain,
    /// The instructions that the program and the one with early counts execute, if they were
    /// counted.
    pub instructions: Option<Instructions>,
    /// Whether early counts are kept, and why.
    pub verdict: Verdict,
    /// The selects.
    pub selects: SelectStep,
}

/// The step that makes selects of unpredictable branches.
#[derive(Clone, Copy, Debug)]
pub enum SelectStep {
    /// The step changes nothing, so it was not measured.
    Unmeasured {
        /// The unpredictable branches.
        branches: usize,
    },
    /// The program with early counts and selects was measured.
    Measured {
        /// The unpredictable branches.
        branches: usize,
        /// Its gain over the program with early counts.
        own: Gain,
        /// Its gain over the program.
        total: Gain,
        /// Whether the step is kept, and why.
        verdict: Verdict,
    },
}

impl SelectStep {
    /// Whether the program with early counts and selects is kept.
    pub fn is_kept(self) -> bool {
        match self {
            Self::Unmeasured { .. } => false,
            Self::Measured { verdict, .. } => verdict.keeps(),
        }
    }
}

impl Optimization {
    /// Whether the output is optimized.
    fn is_optimized(&self) -> bool {
        self.verdict.keeps() || self.selects.is_kept()
    }
}

/// Where the counts of a plan come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSource {
    /// A run of the program.
    Training,
    /// So many files.
    Files(usize),
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
        gain,
        instructions,
        verdict,
        selects,
    } = optimization;
    // The name of a file may have a line break.
    let [program, output] = [program, output].map(|name| name.replace('\n', "\\n"));
    let source = match source {
        PlanSource::Training => "training".to_owned(),
        PlanSource::Files(count) => plural(*count as u64, "plan"),
    };
    let functions = plural(*functions as u64, "function");
    writeln!(
        out,
        "plan          {functions} from {source}: {} ran, {} are in the program",
        grouped(*functions_that_ran as u64),
        grouped(*planned_functions)
    )?;
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
            "              the machine is too noisy: more than {:.1} %; times decide nothing",
            QUIET * 100.0
        )?;
    }
    writeln!(out, "CPU time      {} ({pairs})", percent(*gain))?;
    match instructions {
        Some(counted) => writeln!(
            out,
            "instructions  {:+.2} % saved ({} -> {}, callgrind)",
            counted.saving() * 100.0,
            grouped(counted.plain),
            grouped(counted.other)
        )?,
        None => writeln!(
            out,
            "instructions  not counted: valgrind is missing or cannot run the program, or a run takes longer than 4 s"
        )?,
    }
    write_selects(*selects, &pairs, out)?;
    writeln!(out, "early counts  {}", sentence(*verdict))?;
    match selects {
        SelectStep::Unmeasured { .. } => {}
        SelectStep::Measured {
            verdict: selects, ..
        } => {
            let with_counts = match selects.keeps() && !verdict.keeps() {
                true => " (with early counts)",
                false => "",
            };
            writeln!(
                out,
                "selects       {}{with_counts}",
                time_sentence(*selects)
            )?;
        }
    }
    match optimization.is_optimized() {
        true => writeln!(out, "{output} is optimized"),
        false => writeln!(out, "{output} is a copy of {program}"),
    }
}

/// Writes what selects gain.
fn write_selects(step: SelectStep, pairs: &str, out: &mut dyn Write) -> io::Result<()> {
    match step {
        SelectStep::Unmeasured { branches: 0 } => writeln!(
            out,
            "selects       none: no branch is unpredictable, so there is nothing to measure"
        ),
        SelectStep::Unmeasured { branches } => writeln!(
            out,
            "selects       none: {} marked, but the compiler makes the same program",
            unpredictable_branches(branches)
        ),
        SelectStep::Measured {
            branches,
            own,
            total,
            ..
        } => {
            let branches = unpredictable_branches(branches);
            writeln!(out, "selects       {} ({pairs}, {branches})", percent(own))?;
            writeln!(out, "both steps    {} ({pairs})", percent(total))
        }
    }
}

/// Writes the optimization as JSON, one object and a newline. Section `optimize` of docs/json.md
/// explains the keys.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(optimization: &Optimization, out: &mut dyn Write) -> io::Result<()> {
    let is_optimized = optimization.is_optimized();
    let mut steps = vec![(EARLY, is_optimized)];
    let mut gain = optimization.gain;
    let (branches, own) = match optimization.selects {
        SelectStep::Unmeasured { branches } => (branches, None),
        SelectStep::Measured {
            branches,
            own,
            total,
            verdict,
        } => {
            steps.push((SELECTS, verdict.keeps()));
            if verdict.keeps() {
                gain = total;
            }
            (branches, Some(own))
        }
    };
    let (kept, dropped): (Vec<_>, Vec<_>) = steps.into_iter().partition(|(_, is_kept)| *is_kept);
    let [kept, dropped] =
        [kept, dropped].map(|steps| steps.into_iter().map(|(name, _)| name).collect());
    let document = Document {
        schema: SCHEMA,
        gain: gain.into(),
        kept,
        dropped,
        noise_percent: optimization.noise.median * 100.0,
        too_noisy: is_noisy(optimization.noise),
        pairs: optimization.pairs,
        instructions: optimization.instructions.map(|counted| InstructionsRecord {
            plain: counted.plain,
            optimized: counted.other,
        }),
        functions: optimization.functions,
        functions_that_ran: optimization.functions_that_ran,
        planned_functions: optimization.planned_functions,
        recipe_bytes: optimization.recipe_size,
        unpredictable_branches: branches,
        early: optimization.gain.into(),
        selects: own.map(GainRecord::from),
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
    recipe_bytes: usize,
    unpredictable_branches: usize,
    early: GainRecord,
    selects: Option<GainRecord>,
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
            "dropped: the machine is too noisy, and instructions do not show mispredictions"
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

    fn example(verdict: Verdict) -> Optimization {
        let gain = |median, low, high| Gain { median, low, high };
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
            gain: gain(0.0625, 0.05, 0.07),
            instructions: Some(Instructions {
                plain: 1000,
                other: 950,
            }),
            verdict,
            selects: SelectStep::Unmeasured { branches: 0 },
        }
    }

    fn with_selects(early: Verdict, selects: Verdict) -> Optimization {
        let gain = |median, low, high| Gain { median, low, high };
        Optimization {
            selects: SelectStep::Measured {
                branches: 2,
                own: gain(0.5, 0.48, 0.52),
                total: gain(0.25, 0.24, 0.26),
                verdict: selects,
            },
            ..example(early)
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
early counts  kept: the program is faster
app.fast is optimized
";
        assert_eq!(text, expect);
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
both steps    +25.00 % saved (95 %: +24.00 to +26.00) (10 pairs)
";
        check(
            Verdict::NoDifference,
            Verdict::Faster,
            &format!(
                "{gains}\
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
selects       dropped: the machine is too noisy, and instructions do not show mispredictions
app.fast is optimized
"
            ),
        );
        let same = Optimization {
            selects: SelectStep::Unmeasured { branches: 1 },
            ..example(Verdict::Slower)
        };
        let text = written(|out| write(&same, out));
        assert!(text.contains(
            "selects       none: 1 unpredictable branch marked, but the compiler makes the same program\n"
        ));
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
                text.contains("\"unpredictable_branches\":2,\"early\":{\"gain_percent\":6.25,"),
                "{text}"
            );
            let own = "\"selects\":{\"gain_percent\":50.0,\"low\":48.0,\"high\":52.0}}\n";
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
        assert!(text.ends_with("\"selects\":null}\n"), "{text}");
    }
}
