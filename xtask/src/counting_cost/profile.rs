//! Joins callgrind's instructions with the paths of the same run, by the name of the function.
//!
//! Symbols of Rust functions contain a hash that is different in both builds, so the names are
//! demangled.

use crate::bench::{CommandCost, KeptBuilds, Totals, record_instructions};
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Workload};
use serde::Deserialize;
use std::collections::HashMap;

/// A program, run natively and with paths counted.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Instructions of the native run, in all functions.
    pub(super) native: u64,
    /// Instructions of the run that counted paths, in all functions.
    pub(super) woven: u64,
    /// The paths that ran.
    pub(super) paths: u64,
    /// The increments of counters.
    pub(super) increments: u64,
    /// The functions that have paths and that run under the same name in both builds.
    pub(super) functions: Vec<Function>,
}

/// A function in both runs.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    /// Its own instructions, without those of its callees.
    pub(super) native: u64,
    pub(super) woven: u64,
    /// The paths that ran.
    pub(super) paths: u64,
}

impl Function {
    /// Instructions that counting added. Negative if the compiler inlined less into the function.
    pub(super) fn added(&self) -> i64 {
        self.woven.cast_signed() - self.native.cast_signed()
    }
}

/// The part of a report that is read.
#[derive(Deserialize)]
struct Report {
    functions: Vec<ReportedFunction>,
}

#[derive(Deserialize)]
struct ReportedFunction {
    name: String,
    linkage_name: String,
    paths: Vec<ReportedPath>,
}

#[derive(Deserialize)]
struct ReportedPath {
    count: u64,
}

impl Program {
    /// Runs the program twice.
    ///
    /// # Errors
    /// If a run or the report fails, or if the instructions of the functions do not add up.
    pub(super) fn run(kept_builds: &KeptBuilds, workload: &Workload) -> Result<Self> {
        let folder = scratch("counting-cost")?;
        let native = record_instructions(kept_builds, workload, Flavor::Native, folder.path())?;
        let woven = record_instructions(kept_builds, workload, Flavor::Paths, folder.path())?;
        let data = folder.path().join("data");
        let totals = Totals::of_run(&data)?;
        let mut report = holloway_command(["report", "--format", "json"]);
        let report: Report = serde_json::from_slice(&run_ok(report.arg(&data))?.stdout)?;
        Ok(Self {
            name: workload.name,
            native: native.iter().map(|c| c.instructions).sum(),
            woven: woven.iter().map(|c| c.instructions).sum(),
            paths: totals.paths,
            increments: totals.increments,
            functions: joined(&by_function(&native)?, &by_function(&woven)?, report),
        })
    }

    /// Instructions that counting added.
    pub(super) fn added(&self) -> i64 {
        self.woven.cast_signed() - self.native.cast_signed()
    }
}

/// Joins both runs with the report. Functions with one name, such as copies of a function in
/// several modules, become one.
fn joined(
    native: &HashMap<String, u64>,
    woven: &HashMap<String, u64>,
    report: Report,
) -> Vec<Function> {
    let mut functions: HashMap<String, Function> = HashMap::new();
    for reported in report.functions {
        let paths = reported.paths.iter().map(|p| p.count).sum::<u64>();
        let is_in_both = |name: &String| native.contains_key(name) && woven.contains_key(name);
        let mut names = [reported.name, reported.linkage_name].into_iter();
        let Some(name) = names.find(is_in_both) else {
            continue;
        };
        let (native, woven) = (native[&name], woven[&name]);
        let function = functions.entry(name.clone()).or_insert(Function {
            name,
            native,
            woven,
            paths: 0,
        });
        function.paths += paths;
    }
    let mut functions: Vec<_> = functions.into_values().filter(|f| f.paths > 0).collect();
    functions.sort_by(|a, b| (-a.added(), &a.name).cmp(&(-b.added(), &b.name)));
    functions
}

/// Adds up the instructions of each function over the commands of a run.
fn by_function(commands: &[CommandCost]) -> Result<HashMap<String, u64>> {
    let mut sums = HashMap::new();
    for command in commands {
        let text = std::fs::read_to_string(&command.file)
            .with_context(|| format!("cannot read {}", command.file.display()))?;
        let before: u64 = sums.values().sum();
        add_own_costs(&text, &mut sums)
            .with_context(|| format!("cannot understand {}", command.file.display()))?;
        let read = sums.values().sum::<u64>() - before;
        ensure!(
            read == command.instructions,
            "{} has {read} instructions, but {} were collected",
            command.file.display(),
            command.instructions
        );
    }
    Ok(sums)
}

/// Adds the cost of each function of a file in callgrind's format, without its callees.
///
/// The first `fn=(ID) NAME` or `cfn=(ID) NAME` gives an id its name, and later ones have only the
/// id. A line of numbers is a position and a cost of the last `fn`. The line after `calls=` is the
/// cost of the callee.
fn add_own_costs(text: &str, sums: &mut HashMap<String, u64>) -> Result<()> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut function = None;
    let mut is_callee = false;
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("fn=") {
            function = Some(id(named, &mut names)?);
        } else if let Some(named) = line.strip_prefix("cfn=") {
            id(named, &mut names)?;
        } else if line.starts_with("calls=") {
            is_callee = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c))
            && !std::mem::take(&mut is_callee)
        {
            let cost = line.split_whitespace().nth(1);
            let cost: u64 = cost.context("a line has no cost")?.parse()?;
            let name = function.and_then(|id| names.get(id));
            let name = name.with_context(|| format!("no function costs {line:?}"))?;
            *sums.entry(without_level(name).to_owned()).or_default() += cost;
        }
    }
    Ok(())
}

/// Returns the name without the level of recursion that callgrind adds, as in `parse'2`.
fn without_level(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((function, level)) if level.parse::<u32>().is_ok() => function,
        Some(_) | None => name,
    }
}

/// Reads `(ID) NAME` or `(ID)`, remembers the name, and returns the id.
fn id<'t>(named: &'t str, names: &mut HashMap<&'t str, &'t str>) -> Result<&'t str> {
    let (id, name) = named
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .with_context(|| format!("{named:?} has no id"))?;
    if let Some(name) = name.strip_prefix(' ') {
        names.insert(id, name);
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_and_repeated_ids_are_told_apart() {
        let text = "\
events: Ir
fn=(1) main
16 5
cfn=(2) work
calls=3 20
16 900
+1 2
fn=(2)
20 800
* 100
fn=(1)
-3 4
totals: 911
";
        let mut sums = HashMap::new();
        add_own_costs(text, &mut sums).expect("well formed");
        assert_eq!(
            sums,
            HashMap::from([("main".to_owned(), 11), ("work".to_owned(), 900)])
        );
    }

    #[test]
    fn levels_of_recursion_are_one_function() {
        let text = "fn=(1) walk\n1 5\nfn=(2) walk'2\n1 7\nfn=(3) f<'a>\n1 1\n";
        let mut sums = HashMap::new();
        add_own_costs(text, &mut sums).expect("well formed");
        assert_eq!(
            sums,
            HashMap::from([("walk".to_owned(), 12), ("f<'a>".to_owned(), 1)])
        );
    }

    #[test]
    fn a_cost_without_function_is_refused() {
        assert!(add_own_costs("1 2\n", &mut HashMap::new()).is_err());
    }

    #[test]
    fn copies_of_a_function_share_its_instructions() {
        let reported = |name: &str, counts: &[u64]| ReportedFunction {
            name: name.to_owned(),
            linkage_name: name.to_owned(),
            paths: counts.iter().map(|&count| ReportedPath { count }).collect(),
        };
        let native = HashMap::from([("f".to_owned(), 100), ("idle".to_owned(), 1)]);
        let woven = HashMap::from([("f".to_owned(), 130), ("new".to_owned(), 7)]);
        let functions = vec![
            reported("f", &[3, 4]),
            reported("f", &[5]),
            reported("new", &[1]),
            reported("idle", &[]),
        ];
        let functions = joined(&native, &woven, Report { functions });
        assert_eq!(functions.len(), 1);
        assert_eq!((functions[0].paths, functions[0].added()), (12, 30));
    }
}
