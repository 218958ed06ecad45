//! Reads the counts of an independent counter: clang's `-fprofile-generate`. The counts are read
//! from the IR that `-fprofile-use` annotates.
//!
//! At -O0 clang and Holloway see the same graph. `-fprofile-use -S -emit-llvm` writes function
//! entry counts and branch weights (`!prof`) into the text. With `-g` each branch also has a line
//! and a column. Counts stay below 2^32 in the tests, where LLVM does not scale weights. A branch
//! without weights in a function that has a count never ran.

use crate::tool::{clean, installed, run_ok};
use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A function as clang counted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Name in the object.
    pub name: String,
    /// Calls; `None` if clang did not profile the function.
    pub calls: Option<u64>,
    /// Its conditional branches and switches, in the order of its blocks. Branches of functions
    /// that are always inlined are left out, because clang counts them before it inlines them.
    pub branches: Vec<Branch>,
}

/// A conditional branch or a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Line, 0 if there is none.
    pub line: u32,
    /// Column, 0 if there is none.
    pub column: u32,
    /// Each outcome with its count, in ascending order. Outcomes that lead to the same block are
    /// one, which has the name of the first.
    pub outcomes: Vec<(Outcome, u64)>,
}

/// An outcome of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The default of a switch.
    Default,
    /// A case.
    Case(i64),
}

/// Builds the files with clang's counters at -O0, runs the program, and reads the counts of each
/// file back.
///
/// `run` starts the executable as often as the woven program is started. It needs no settings,
/// because the counts are written to a separate directory.
///
/// # Errors
/// If a tool is missing or fails.
pub fn count(
    files: &[PathBuf],
    flags: &[String],
    libraries: &[String],
    scratch: &Path,
    run: impl FnOnce(&Path) -> Result<()>,
) -> Result<Vec<(PathBuf, Vec<Function>)>> {
    let clang = installed("clang-22")?;
    let raw = scratch.join("clang-raw");
    let start = || {
        let mut command = Command::new(&clang);
        clean(&mut command);
        command
            .current_dir(scratch)
            .args(["-O0", "-g", "-w"])
            .args(flags);
        command
    };
    let executable = scratch.join("clang-counted");
    let generate = format!("-fprofile-generate={}", raw.display());
    run_ok(
        start()
            .arg(generate)
            .args(files)
            .args(libraries)
            .arg("-o")
            .arg(&executable),
    )?;
    run(&executable)?;
    let merged = scratch.join("clang.profdata");
    run_ok(
        Command::new(installed("llvm-profdata-22")?)
            .args(["merge", "-o"])
            .arg(&merged)
            .arg(&raw),
    )?;
    let mut all = Vec::new();
    for file in files {
        let ir = scratch.join("clang-counted.ll");
        let used = format!("-fprofile-use={}", merged.display());
        run_ok(
            start()
                .args([&used, "-S", "-emit-llvm"])
                .arg(file)
                .arg("-o")
                .arg(&ir),
        )?;
        let text = std::fs::read_to_string(&ir)?;
        all.push((
            file.clone(),
            parse(&text).with_context(|| format!("clang's IR of {}", file.display()))?,
        ));
    }
    Ok(all)
}

/// Reads the functions of an IR text.
///
/// # Errors
/// If the text is not as LLVM 22 writes it.
pub fn parse(text: &str) -> Result<Vec<Function>> {
    let nodes = metadata(text);
    let mut functions = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("define ") {
            continue;
        }
        let name = defined_name(line).with_context(|| format!("no name in {line}"))?;
        let calls = attached(line, "!prof").and_then(|id| entry_count(nodes.get(id)?));
        let jumps = jumps(lines.clone());
        let mut branches = Vec::new();
        // The outcomes of the current branch or switch, each with its label.
        let mut open: Vec<(Outcome, &str)> = Vec::new();
        for line in lines.by_ref() {
            let line = line.trim();
            if line == "}" {
                break;
            }
            if let Some(rest) = line.strip_prefix("br i1 ") {
                let mut ways = labels(rest).into_iter();
                let (yes, no) = (ways.next(), ways.next());
                let both = yes
                    .zip(no)
                    .with_context(|| format!("not two labels in {line}"))?;
                open = vec![(Outcome::True, both.0), (Outcome::False, both.1)];
            } else if line.starts_with("switch ") {
                let label = labels(line)
                    .pop()
                    .with_context(|| format!("no label in {line}"))?;
                open = vec![(Outcome::Default, label)];
                continue;
            } else if open.is_empty() {
                continue;
            } else if !line.starts_with(']') {
                // Inside the brackets of a switch: `i32 7, label %x`; then `], !dbg !1, !prof !2`.
                let value = line
                    .split_whitespace()
                    .nth(1)
                    .and_then(|v| v.trim_end_matches(',').parse().ok());
                let value = value.with_context(|| format!("no case value in {line}"))?;
                let label = labels(line)
                    .pop()
                    .with_context(|| format!("no label in {line}"))?;
                open.push((Outcome::Case(value), label));
                continue;
            }
            branches.extend(branch(line, &std::mem::take(&mut open), &jumps, &nodes)?);
        }
        functions.push(Function {
            name,
            calls,
            branches,
        });
    }
    Ok(functions)
}

fn branch(
    line: &str,
    ways: &[(Outcome, &str)],
    jumps: &HashMap<&str, (&str, &str)>,
    nodes: &HashMap<&str, &str>,
) -> Result<Option<Branch>> {
    let counts = match attached(line, "!prof").and_then(|id| nodes.get(id)) {
        Some(node) => weights(node),
        None => vec![0; ways.len()],
    };
    ensure!(
        counts.len() == ways.len(),
        "{} weights for {} ways in {line}",
        counts.len(),
        ways.len()
    );
    let dbg = attached(line, "!dbg");
    let is_switch = line.starts_with(']');
    let mut by_label: Vec<(&str, Outcome, u64)> = Vec::new();
    for ((outcome, label), count) in ways.iter().zip(counts) {
        // clang's counters split critical edges. A block that only jumps, at the place of the
        // branch, is the block of such an edge.
        let target = match jumps.get(label) {
            Some((target, at)) if is_switch && Some(*at) == dbg => target,
            _ => label,
        };
        match by_label.iter_mut().find(|(known, ..)| known == target) {
            Some((_, _, total)) => *total += count,
            None => by_label.push((target, *outcome, count)),
        }
    }
    let mut outcomes: Vec<_> = by_label
        .into_iter()
        .map(|(_, outcome, count)| (outcome, count))
        .collect();
    outcomes.sort_unstable();
    let place = dbg
        .and_then(|id| nodes.get(id))
        .copied()
        .unwrap_or_default();
    if place.contains("inlinedAt: ") {
        return Ok(None);
    }
    Ok(Some(Branch {
        line: field(place, "line: "),
        column: field(place, "column: "),
        outcomes,
    }))
}

/// The blocks of a function that only jump: by label, the target and the place's node.
fn jumps<'a>(lines: impl Iterator<Item = &'a str>) -> HashMap<&'a str, (&'a str, &'a str)> {
    let mut jumps = HashMap::new();
    let mut label = None;
    for line in lines.take_while(|l| *l != "}") {
        if !line.starts_with([' ', '\t']) {
            label = line.split_once(':').map(|(label, _)| label);
        } else if let Some(label) = label.take()
            && line.trim_start().starts_with("br label ")
            && let (Some(target), Some(at)) = (labels(line).pop(), attached(line, "!dbg"))
        {
            jumps.insert(label, (target, at));
        }
    }
    jumps
}

/// Returns the labels of all `label %x` in a line.
fn labels(line: &str) -> Vec<&str> {
    line.split("label %")
        .skip(1)
        .filter_map(|part| part.split([',', ' ']).next())
        .collect()
}

/// `!12 = …` lines by number.
fn metadata(text: &str) -> HashMap<&str, &str> {
    text.lines()
        .filter(|l| l.starts_with('!'))
        .filter_map(|l| l.split_once(" = "))
        .collect()
}

/// Returns the node that is attached to a line: `… !prof !46` gives `!46` for `!prof`.
fn attached<'a>(line: &'a str, kind: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("{kind} "))?;
    rest.split([' ', ',', '{']).next()
}

fn defined_name(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('@')?;
    match rest.strip_prefix('"') {
        Some(quoted) => Some(quoted.split('"').next()?.to_owned()),
        None => Some(rest.split('(').next()?.to_owned()),
    }
}

fn entry_count(node: &str) -> Option<u64> {
    let (_, rest) = node.split_once("\"function_entry_count\", i64 ")?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

/// Reads `!{!"branch_weights", i32 5, i32 -1}`. Weights are unsigned, but printed as signed.
fn weights(node: &str) -> Vec<u64> {
    let numbers = node
        .split([',', '}'])
        .filter_map(|part| part.trim().strip_prefix("i32 ")?.parse::<i64>().ok());
    numbers.map(|n| u64::from(n as u32)).collect()
}

fn field(node: &str, name: &str) -> u32 {
    let number = node
        .split_once(name)
        .and_then(|(_, rest)| rest.split([',', ')']).next());
    number.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn clang_counts_what_is_known_beforehand() {
        let scratch = crate::tool::scratch("clang-counts").unwrap();
        let file = scratch.path().join("known.c");
        let text = "static int f(int n) {\n  switch (n % 4) {\n  case 1: return 5;\n  case -2: return 6;\n  default: return 7;\n  }\n}\n\
                    int g(void) { return 0; }\n\
                    int main(void) {\n  int sum = 0;\n  for (int i = 0; i < 10; i++)\n    sum += f(i);\n  return sum == 0;\n}\n";
        std::fs::write(&file, text).unwrap();
        let run = |exe: &Path| run_ok(&mut Command::new(exe)).map(|_| ());
        let counted = count(&[file], &[], &[], scratch.path(), run).unwrap();
        let function = |name: &str| {
            counted[0]
                .1
                .iter()
                .find(|f| f.name == name)
                .unwrap()
                .clone()
        };
        let outcomes = vec![
            (Outcome::Default, 7),
            (Outcome::Case(-2), 0),
            (Outcome::Case(1), 3),
        ];
        let switch = Branch {
            line: 2,
            column: 3,
            outcomes,
        };
        assert_eq!(
            function("f"),
            Function {
                name: "f".to_owned(),
                calls: Some(10),
                branches: vec![switch]
            }
        );
        assert_eq!(function("g").calls, Some(0));
        let turn = Branch {
            line: 11,
            column: 3,
            outcomes: vec![(Outcome::True, 10), (Outcome::False, 1)],
        };
        assert_eq!(function("main").branches, [turn]);
    }
}
