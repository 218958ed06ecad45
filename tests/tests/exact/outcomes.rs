//! Compares the decisions that reports show on paths with the counts that the program itself
//! prints. A path that leaves a loop by its `break` must say so on that line, at every optimization
//! level, and no other path may say so.
//!
//! The output of the program says how often each `break` was taken.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use std::path::Path;

const PROGRAM: &str = include_str!("outcomes.c");

#[test]
fn breaks_are_shown_as_exits_at_every_level() {
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
        let exits = left_at_break(&paths, function, level)?;
        ensure!(
            exits == breaks,
            "{function}: {exits} breaks, not {breaks}\n{paths:#?}"
        );
    }
    Ok(())
}

/// A path of the report.
#[derive(Debug)]
struct ShownPath {
    function: String,
    count: u64,
    /// Source lines, each with the text of its decision.
    lines: Vec<(usize, String)>,
}

/// Executions of a function's paths that leave the loop on the line of its `break`.
fn left_at_break(paths: &[ShownPath], function: &str, level: &str) -> Result<u64> {
    let text: Vec<&str> = PROGRAM.lines().collect();
    let has = |line: usize, text_part: &str| text[line - 1].contains(text_part);
    let mut left = 0;
    for path in paths.iter().filter(|path| path.function == function) {
        for (index, (line, decision)) in path.lines.iter().enumerate() {
            if !has(*line, "break;") {
                continue;
            }
            // A path that ends with a back edge shows the line where the next path starts.
            let back = decision.strip_prefix("back to line ");
            let next = match back.map(str::parse).transpose()? {
                Some(line) => Some(line),
                None => path.lines.get(index + 1).map(|(line, _)| *line),
            };
            let stays_inside = next.is_some_and(|next| has(next, "// inside"));
            let leaves = decision.ends_with("leaves the loop");
            // In optimized code, a copy of the first turn may precede the loop, and is not part of
            // the loop.
            let by_line = next.is_some_and(|next| decision.ends_with(&format!("line {next}")));
            let is_right = match stays_inside {
                true => !leaves && by_line,
                false => leaves || (level != "-O0" && by_line),
            };
            ensure!(
                is_right,
                "{function}: line {line} says {decision:?}, and the next line is {next:?}"
            );
            left += if stays_inside { 0 } else { path.count };
        }
    }
    Ok(left)
}

/// All paths of a run as the terminal shows them.
fn paths(folder: &Path) -> Result<Vec<ShownPath>> {
    let report = ["report", "data", "--view", "paths", "--top", "1000"];
    let output = run_ok(holloway_command(report).current_dir(folder))?.text();
    let shown = output.split_once("Hottest paths").context("no paths")?.1;
    let mut paths: Vec<ShownPath> = Vec::new();
    for line in shown.lines() {
        if let Some((_, place)) = line.split_once("│ loops.c:") {
            let (line, rest) = place.split_once(' ').unwrap_or((place, ""));
            let decision = rest.rsplit_once("→ ").map_or("", |(_, decision)| decision);
            let path = paths.last_mut().context("a line of no path")?;
            path.lines.push((line.parse()?, decision.to_owned()));
        } else if let Some((head, rest)) = line.split_once(" × ") {
            let count = head.split_whitespace().next_back().context("a count")?;
            // The function and the short name of the path: `inner#174a`.
            let name = rest.split_whitespace().rev().nth(1);
            let (function, _) = name
                .and_then(|name| name.split_once('#'))
                .context("a name")?;
            paths.push(ShownPath {
                function: function.to_owned(),
                count: count.replace(',', "").parse()?,
                lines: Vec::new(),
            });
        }
    }
    Ok(paths)
}
