//! An independent counter: clang's `-fprofile-generate`, read back from the IR that `-fprofile-use` annotates.
//!
//! At -O0 clang and Holloway see the same graph. `-fprofile-use -S -emit-llvm` writes function entry counts and branch
//! weights (`!prof`) into the text; with `-g` each branch has a line and a column too. Counts stay below 2^32 in
//! the tests, where LLVM writes weights unscaled. A branch without weights in a function that has a count never ran.

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
    /// Times it was entered; `None`: clang didn't profile it.
    pub calls: Option<u64>,
    /// Its conditional branches and switches, in the order of its blocks.
    pub branches: Vec<Branch>,
}

/// A conditional branch (outcomes true, false) or a switch (default, then the cases).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Line, 0 if there is none.
    pub line: u32,
    /// Column, 0 if there is none.
    pub column: u32,
    /// Case values of a switch; `None` for a conditional branch.
    pub cases: Option<Vec<i64>>,
    /// A count an outcome.
    pub counts: Vec<u64>,
}

/// Builds the files with clang's counters at -O0, runs the program, and reads the counts of each file back.
///
/// `run` gets the executable and starts it as often as the woven one is started; its command needs no setting, the
/// counts go to a directory of their own.
///
/// # Errors
/// A tool is missing or fails.
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
/// The text isn't as LLVM 22 writes it.
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
        let mut branches = Vec::new();
        for line in lines.by_ref() {
            let line = line.trim();
            if line == "}" {
                break;
            }
            if line.starts_with("br i1 ") {
                branches.push(branch(line, None, &nodes)?);
            } else if line.starts_with("switch ") {
                branches.push(Branch {
                    line: 0,
                    column: 0,
                    cases: Some(Vec::new()),
                    counts: Vec::new(),
                });
            } else if let Some(Branch {
                cases: Some(cases),
                counts,
                ..
            }) = branches.last_mut()
                && counts.is_empty()
            {
                // Inside the brackets of a switch: `i32 7, label %x`, then `], !dbg !1, !prof !2`.
                if line.starts_with(']') {
                    let cases = cases.clone();
                    branches.pop();
                    branches.push(branch(line, Some(cases), &nodes)?);
                } else {
                    let value = line
                        .split_whitespace()
                        .nth(1)
                        .and_then(|v| v.trim_end_matches(',').parse().ok());
                    cases.push(value.with_context(|| format!("no case value in {line}"))?);
                }
            }
        }
        functions.push(Function {
            name,
            calls,
            branches,
        });
    }
    Ok(functions)
}

fn branch(line: &str, cases: Option<Vec<i64>>, nodes: &HashMap<&str, &str>) -> Result<Branch> {
    let outcomes = cases.as_ref().map_or(2, |c| c.len() + 1);
    let counts = match attached(line, "!prof").and_then(|id| nodes.get(id)) {
        Some(node) => weights(node),
        None => vec![0; outcomes],
    };
    ensure!(
        counts.len() == outcomes,
        "{} weights for {outcomes} outcomes in {line}",
        counts.len()
    );
    let place = attached(line, "!dbg")
        .and_then(|id| nodes.get(id))
        .copied()
        .unwrap_or_default();
    Ok(Branch {
        line: field(place, "line: "),
        column: field(place, "column: "),
        cases,
        counts,
    })
}

/// `!12 = …` lines by number.
fn metadata(text: &str) -> HashMap<&str, &str> {
    text.lines()
        .filter(|l| l.starts_with('!'))
        .filter_map(|l| l.split_once(" = "))
        .collect()
}

/// The node attached under a kind: `… !prof !46` gives `!46`.
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

/// `!{!"branch_weights", i32 5, i32 -1}`: weights are unsigned, printed signed.
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
        let switch = Branch {
            line: 2,
            column: 3,
            cases: Some(vec![1, -2]),
            counts: vec![7, 3, 0],
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
            cases: None,
            counts: vec![10, 1],
        };
        assert_eq!(function("main").branches, [turn]);
    }
}
