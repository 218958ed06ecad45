//! The outcomes of branches on a path, compared with what the program itself counted: a path that
//! leaves a loop by its `break` says so on that line, at every optimization level, and no other
//! path does.
//!
//! The program's functions return where they stopped, so its output says how often each `break` was
//! taken.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use std::path::Path;

const PROGRAM: &str = include_str!("outcomes.c");

#[test]
fn what_leaves_a_loop_is_told_at_every_level() {
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        check(level).unwrap_or_else(|error| panic!("{level}: {error:#}"));
    }
}

fn check(level: &str) -> Result<()> {
    let scratch = scratch("outcomes")?;
    let folder = scratch.path();
    std::fs::write(folder.join("loops.c"), PROGRAM)?;
    let build = ["cc", level, "-g", "loops.c", "-o", "loops"];
    run_ok(holloway_command(build).current_dir(folder))?;
    let run = ["run", "--no-report", "-o", "data", "--", "./loops"];
    let printed = run_ok(holloway_command(run).current_dir(folder))?.text();
    let paths = paths(folder)?;
    for line in printed.lines().filter(|line| line.contains(" breaks ")) {
        let mut words = line.split(' ');
        let function = words.next().context("a function")?;
        let breaks: u64 = words.next_back().context("a number")?.parse()?;
        let found = left_at_break(&paths, function, level)?;
        ensure!(
            found == breaks,
            "{function}: {found} breaks, not {breaks}\n{paths:#?}"
        );
    }
    Ok(())
}

/// A path of the report.
#[derive(Debug)]
struct Shown {
    function: String,
    count: u64,
    /// Source lines, each with what was decided there.
    lines: Vec<(usize, String)>,
}

/// Executions of a function's paths that leave the loop on the line of its `break`.
fn left_at_break(paths: &[Shown], function: &str, level: &str) -> Result<u64> {
    let text: Vec<&str> = PROGRAM.lines().collect();
    let has = |line: usize, what: &str| text[line - 1].contains(what);
    let mut left = 0;
    for path in paths.iter().filter(|path| path.function == function) {
        for (index, (line, decided)) in path.lines.iter().enumerate() {
            if !has(*line, "break;") {
                continue;
            }
            // A path that ends with its turn says where the next one goes on.
            let back = decided.strip_prefix("back to line ");
            let next = match back.map(str::parse).transpose()? {
                Some(line) => Some(line),
                None => path.lines.get(index + 1).map(|(line, _)| *line),
            };
            let goes_on = next.is_some_and(|next| has(next, "// inside"));
            let leaves = decided.ends_with("leaves the loop");
            // A first turn that stands before the loop of an optimized program is not in it.
            let by_line = next.is_some_and(|next| decided.ends_with(&format!("line {next}")));
            let is_true = match goes_on {
                true => !leaves && by_line,
                false => leaves || (level != "-O0" && by_line),
            };
            ensure!(
                is_true,
                "{function}: line {line} says {decided:?}, and the next line is {next:?}"
            );
            left += if goes_on { 0 } else { path.count };
        }
    }
    Ok(left)
}

/// All paths of a run as the terminal shows them.
fn paths(folder: &Path) -> Result<Vec<Shown>> {
    let report = ["report", "data", "--view", "paths", "--top", "1000"];
    let output = run_ok(holloway_command(report).current_dir(folder))?.text();
    let shown = output.split_once("Hottest paths").context("no paths")?.1;
    let mut paths: Vec<Shown> = Vec::new();
    for line in shown.lines() {
        if let Some((_, place)) = line.split_once("│ loops.c:") {
            let (line, rest) = place.split_once(' ').unwrap_or((place, ""));
            let decided = rest.rsplit_once("→ ").map_or("", |(_, decided)| decided);
            let path = paths.last_mut().context("a line of no path")?;
            path.lines.push((line.parse()?, decided.to_owned()));
        } else if let Some((head, rest)) = line.split_once(" × ") {
            let count = head.split_whitespace().next_back().context("a count")?;
            let function = rest.split_whitespace().rev().nth(1);
            paths.push(Shown {
                function: function.context("a function")?.to_owned(),
                count: count.replace(',', "").parse()?,
                lines: Vec::new(),
            });
        }
    }
    Ok(paths)
}
