//! Writes what an optimization gained, as text and as JSON.

use std::io::{self, Write};

use holloway_analysis::paired::{Gain, Instructions, QUIET, Verdict, is_noisy};
use serde::Serialize;

use crate::json::{SCHEMA, write_document};
use crate::numbers::{grouped, plural};

/// The name of the step that uses the counts before the optimizer.
const EARLY: &str = "early";

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
    /// The gain of the optimized program.
    pub gain: Gain,
    /// The instructions that both programs execute, if they were counted.
    pub instructions: Option<Instructions>,
    /// Whether the optimized program is kept, and why.
    pub verdict: Verdict,
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
    writeln!(out, "early counts  {}", sentence(*verdict))?;
    match verdict.keeps() {
        true => writeln!(out, "{output} is optimized"),
        false => writeln!(out, "{output} is a copy of {program}"),
    }
}

/// Writes the optimization as JSON, one object and a newline. Section `optimize` of docs/json.md
/// explains the keys.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(optimization: &Optimization, out: &mut dyn Write) -> io::Result<()> {
    let (kept, dropped) = match optimization.verdict.keeps() {
        true => (vec![EARLY], Vec::new()),
        false => (Vec::new(), vec![EARLY]),
    };
    let Gain { median, low, high } = optimization.gain;
    let document = Document {
        schema: SCHEMA,
        gain_percent: median * 100.0,
        low: low * 100.0,
        high: high * 100.0,
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
    };
    write_document(&document, out)
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    gain_percent: f64,
    low: f64,
    high: f64,
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
early counts  kept: the program is faster
app.fast is optimized
";
        assert_eq!(text, expect);
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
}
