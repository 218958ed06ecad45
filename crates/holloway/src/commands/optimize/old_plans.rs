//! Plans that were made earlier, perhaps of another version of the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holloway_analysis::old_plans::{self, CarriedOver, IgnoredLine, IgnoredPlace, Program};
use holloway_collect::image;
use holloway_format::image::decode_image;
use holloway_format::{Plan, Text};

use super::carried::Carried;
use holloway_report::plural;

use crate::failure::{Context, Failure, Result};
use crate::status;

/// Reads plans, makes each a plan for the program, and adds them up. Warns of lines that have no
/// effect.
///
/// # Errors
/// If a file cannot be read or is no plan, the program cannot be linked, or the plans have no
/// function of the program.
pub(crate) fn carry_over(carried: &Carried, files: &[PathBuf]) -> Result<CarriedOver> {
    let plans = files.iter().map(|file| Ok((file, read_plan(file)?)));
    let plans: Vec<_> = plans.collect::<Result<_>>()?;
    let program = program(carried)?;
    let mut sum = CarriedOver::default();
    for (file, plan) in plans {
        let CarriedOver {
            plan,
            summary,
            ignored,
            lost_tails,
            lost_loads,
        } = old_plans::carry_over(&plan, &program);
        warn_of_ignored(file, &ignored);
        warn_of_lost(file, "tail", &lost_tails);
        warn_of_lost(file, "load", &lost_loads);
        sum.plan.add_plan(plan);
        sum.summary.add(summary);
    }
    if !sum.summary.has_matches() {
        return Err(carried.no_function());
    }
    Ok(sum)
}

/// Warns of the lines that fit nothing in the program: of each sort, the first line.
fn warn_of_ignored(file: &Path, lines: &[IgnoredLine]) {
    let mut by_sort: BTreeMap<&str, Vec<&IgnoredLine>> = BTreeMap::new();
    for line in lines {
        by_sort.entry(word(&line.place)).or_default().push(line);
    }
    for (word, lines) in by_sort {
        let IgnoredLine { function, place } = lines[0];
        let remedy = match lines.len() {
            1 => "remove the line, or train again".to_owned(),
            all => format!("remove all {all} such lines, or train again"),
        };
        status::warn(&format!(
            "{}: a line `{word}` of {function} has no effect, because {}: {remedy}",
            file.display(),
            reason(place)
        ));
    }
}

/// The first word of a line.
fn word(place: &IgnoredPlace) -> &'static str {
    match place {
        IgnoredPlace::Unpredictable(_) => "unpredictable",
        IgnoredPlace::Tail(_) => "tail",
        IgnoredPlace::Target(_) => "target",
        IgnoredPlace::Size(_) => "size",
        IgnoredPlace::Load { .. } => "load",
    }
}

/// Why a line fits nothing.
fn reason(place: &IgnoredPlace) -> String {
    match place {
        IgnoredPlace::Unpredictable(edge) => format!("edge {edge} is no outcome of a condition"),
        IgnoredPlace::Tail(edges) => {
            let edges: Vec<String> = edges.iter().map(usize::to_string).collect();
            format!("the edges {} do not follow one another", edges.join("-"))
        }
        IgnoredPlace::Target(site) => format!("the function has no indirect call {site}"),
        IgnoredPlace::Size(site) => {
            format!("the function has no memory operation {site} of unknown size")
        }
        IgnoredPlace::Load { line, column: 0 } => {
            format!("no code that is counted has line {line}")
        }
        IgnoredPlace::Load { line, column } => {
            format!("no code that is counted has line {line} and column {column}")
        }
    }
}

/// Warns of lines of functions that have changed.
fn warn_of_lost(file: &Path, word: &str, functions: &[Text]) {
    if let [first, ..] = functions {
        status::warn(&format!(
            "{}: left out {} `{word}` of functions that changed or are gone ({first} is the first): train again",
            file.display(),
            plural(functions.len() as u64, "line")
        ));
    }
}

/// The functions of the program, from the path map of a build for training.
fn program(carried: &Carried) -> Result<Program> {
    let built = carried.for_training()?;
    let bytes = image::read_map(&built).map_err(Failure::new)?;
    let map =
        decode_image(&bytes).cannot(|| format!("read the path map of {}", built.display()))?;
    let modules = map.modules.iter();
    let functions = modules.flat_map(|placed| &placed.module.functions);
    Ok(functions.collect())
}

/// Reads a plan.
///
/// # Errors
/// If the file cannot be read, or is no plan.
pub(crate) fn read_plan(file: &Path) -> Result<Plan> {
    if file.is_dir() {
        return Err(Failure::usage(format_args!(
            "cannot read {}: it is a directory; name a file that `holloway plan train` wrote",
            file.display()
        )));
    }
    let bytes = std::fs::read(file).cannot(|| format!("read {}", file.display()))?;
    Plan::parse(&bytes).cannot(|| format!("take {} for a plan", file.display()))
}
