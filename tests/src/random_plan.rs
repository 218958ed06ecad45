//! Fills plans with random numbers. A plan makes a program faster or slower, but never changes what
//! it does. So a program must print the same with any plan as without one.

use crate::corpus::Random;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The first line of a plan.
const FIRST_LINE: &str = "holloway plan 2";

/// A plan, divided into its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanParts {
    /// The functions with early counts.
    pub early: String,
    /// The functions with late counts. Empty if there are none.
    pub late: String,
    /// The functions in their order. Empty if there are none.
    pub order: String,
    /// The loads to prefetch. Empty if there are none.
    pub loads: String,
}

impl PlanParts {
    /// Divides the text of a plan.
    ///
    /// # Errors
    /// If it is no plan.
    pub fn of(plan: &str) -> Result<Self> {
        let body = plan.strip_prefix(FIRST_LINE).context("no first line")?;
        let body = body.trim_start_matches('\n');
        let body = body.strip_suffix("end\n").context("no last line")?;
        let (body, loads) = split_at_line(body, "prefetches");
        let (functions, order) = split_at_line(body, "order");
        let (early, late) = split_at_line(functions, "late");
        Ok(Self {
            early: early.to_owned(),
            late: late.to_owned(),
            order: order.to_owned(),
            loads: loads.to_owned(),
        })
    }

    /// The plan with random early and late counts, call targets, unpredictable branches, copied
    /// paths, a random order, and prefetches in these lines of the source. The optimizer makes
    /// other code with the early counts, so most late counts do not apply.
    #[must_use]
    pub fn random(&self, lines: &[usize], seed: u64) -> String {
        let parts = Self {
            early: random_functions(&self.early, Counts::Early, seed),
            late: random_functions(&self.late, Counts::Late, seed + 1),
            order: shuffled(&self.order, seed + 3),
            loads: self.random_loads(lines, seed + 2),
        };
        parts.text()
    }

    /// The plan with its early counts, and with random late counts and prefetches. The optimizer
    /// makes the code of training, so the late counts apply.
    #[must_use]
    pub fn random_late(&self, lines: &[usize], seed: u64) -> String {
        let parts = Self {
            early: self.early.clone(),
            late: random_functions(&self.late, Counts::Late, seed),
            order: shuffled(&self.order, seed + 2),
            loads: self.random_loads(lines, seed + 1),
        };
        parts.text()
    }

    /// The text of the plan.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            early,
            late,
            order,
            loads,
        } = self;
        let head = |name: &str, part: &str| match part {
            "" => String::new(),
            _ => format!("{name}\n"),
        };
        let late_head = head("late", late);
        let (order_head, loads_head) = (head("order", order), head("prefetches", loads));
        format!("{FIRST_LINE}\n{early}{late_head}{late}{order_head}{order}{loads_head}{loads}end\n")
    }

    /// Loads of half of the lines, in each function: inlining moves loads to other functions.
    fn random_loads(&self, lines: &[usize], seed: u64) -> String {
        let mut random = Random(seed);
        let mut loads = String::new();
        for name in names(&self.early).into_iter().chain(names(&self.late)) {
            for line in lines {
                if random.below(2) == 0 {
                    continue;
                }
                let turns = 1 + (random.bits() >> (32 + random.below(32)));
                // Column 0 stands for all loads of the line.
                let _ = writeln!(loads, "load {line} 0 {turns} {name}");
            }
        }
        loads
    }
}

/// Divides a text at the line `line`. The second part is empty if the line is missing.
fn split_at_line<'t>(text: &'t str, line: &str) -> (&'t str, &'t str) {
    let middle = format!("\n{line}\n");
    match text.split_once(&middle) {
        Some((before, after)) => (&text[..=before.len()], after),
        None => match text.strip_prefix(&middle[1..]) {
            Some(after) => ("", after),
            None => (text, ""),
        },
    }
}

/// The lines in a random order.
fn shuffled(lines: &str, seed: u64) -> String {
    let mut random = Random(seed);
    let mut lines: Vec<&str> = lines.lines().collect();
    let mut shuffled = String::new();
    while !lines.is_empty() {
        let next = lines.swap_remove(random.below(lines.len() as u64) as usize);
        let _ = writeln!(shuffled, "{next}");
    }
    shuffled
}

/// The part of a plan that functions belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Early,
    Late,
}

/// The functions of a part of a plan, each with its code, random calls, and random counts of all
/// edges. Early counts also have random call targets, sizes of memory operations, and paths to
/// copy, and half of the edges are unpredictable, if they lead out of a branch.
fn random_functions(functions: &str, counts: Counts, seed: u64) -> String {
    let mut random = Random(seed);
    let names = names(functions);
    let mut text = String::new();
    for (header, code) in headers(functions).zip(codes(functions)) {
        let words: Vec<&str> = header.splitn(4, ' ').collect();
        let [hash, _, edges, name] = words[..] else {
            continue;
        };
        let edges: u64 = edges.parse().unwrap_or(0);
        let _ = writeln!(
            text,
            "function {hash} {} {edges} {name}",
            any_count(&mut random)
        );
        text += code;
        for edge in 0..edges {
            let _ = writeln!(text, "{edge} {}", any_count(&mut random));
        }
        let sites = match counts {
            Counts::Early => 0..3,
            Counts::Late => 0..0,
        };
        for site in sites.clone() {
            for name in &names {
                let _ = writeln!(text, "target {site} {} {name}", any_count(&mut random));
            }
        }
        for site in sites {
            for bytes in [0, 1, 4, 12, 16, 64, 513] {
                let _ = writeln!(text, "size {site} {} {bytes}", any_count(&mut random));
            }
        }
        let early_edges = match counts {
            Counts::Early => 0..edges,
            Counts::Late => 0..0,
        };
        for edge in early_edges.filter(|_| random.below(2) == 0) {
            let _ = writeln!(text, "unpredictable {edge} {}", u64::MAX);
        }
        for path in random_paths(code, &mut random) {
            let path: Vec<String> = path.iter().map(usize::to_string).collect();
            let _ = writeln!(
                text,
                "tail {} {}",
                1 + any_count(&mut random),
                path.join("-")
            );
        }
    }
    text
}

/// Random paths through the graph of a function's line `code`, as the numbers of their edges.
fn random_paths(code: &str, random: &mut Random) -> BTreeSet<Vec<usize>> {
    let edges = code.split_once(" | ").map_or("", |(_, edges)| edges);
    let edges: Vec<(&str, &str)> = edges
        .split_whitespace()
        .filter_map(|edge| edge.split_once('-'))
        .collect();
    let mut paths = BTreeSet::new();
    for first in 0..edges.len() {
        let mut path = vec![first];
        for _ in 0..random.below(7) {
            let end = edges[path[path.len() - 1]].1;
            let next: Vec<usize> = (0..edges.len()).filter(|&e| edges[e].0 == end).collect();
            if !next.is_empty() {
                path.push(next[random.below(next.len() as u64) as usize]);
            }
        }
        if path.len() > 1 {
            paths.insert(path);
        }
    }
    paths
}

/// A count of any magnitude.
fn any_count(random: &mut Random) -> u64 {
    random.bits() >> random.below(64)
}

/// The lines that begin functions, after the word `function`.
fn headers(functions: &str) -> impl Iterator<Item = &str> {
    let lines = functions.lines();
    lines.filter_map(|line| line.strip_prefix("function "))
}

/// The line `code` of each function, with its end. Empty if the function has none.
fn codes(functions: &str) -> impl Iterator<Item = &str> {
    let functions = functions.split("function ").skip(1);
    functions.map(|function| {
        let mut lines = function.split_inclusive('\n');
        let code = lines.nth(1).filter(|line| line.starts_with("code "));
        code.unwrap_or_default()
    })
}

/// The names of the functions, in order.
fn names(functions: &str) -> BTreeSet<&str> {
    let names = headers(functions).filter_map(|header| header.splitn(4, ' ').nth(3));
    names.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    const PLAN: &str = "\
holloway plan 2
function 4f00c0a18b2d9e37 5 3 fib
code 5e91c07a 1f3a9c02 77aa8812+9c0d1e2f 00000000 | 0-1 0-2 1-2
0 2
target 0 4 compare
function 00c0a18b2d9e374f 5 0 a b
late
function 7c1e5b0f9a64d283 5 2 fib
0 2
order
place fib
place a b
prefetches
load 41 16 8 fib
end
";

    #[test]
    fn a_plan_is_its_parts() {
        let bare = "holloway plan 2\nend\n";
        let late = "holloway plan 2\nlate\nfunction 7c1e5b0f9a64d283 5 0 fib\nend\n";
        for plan in [PLAN, bare, late] {
            assert_eq!(PlanParts::of(plan).unwrap().text(), plan);
        }
        assert!(PlanParts::of("holloway plan 2\n").is_err());
    }

    #[test]
    fn random_plans_keep_graphs_and_names() {
        let parts = PlanParts::of(PLAN).unwrap();
        let random = PlanParts::of(&parts.random(&[1, 2, 3, 4], 7)).unwrap();
        assert_eq!(names(&random.early), ["a b", "fib"].into());
        assert!(random.early.contains("\n2 "), "{}", random.early);
        let code = "fib\ncode 5e91c07a 1f3a9c02 77aa8812+9c0d1e2f 00000000 | 0-1 0-2 1-2\n0 ";
        assert!(random.early.contains(code), "{}", random.early);
        let paths = random
            .early
            .lines()
            .filter_map(|line| line.strip_prefix("tail "));
        let paths: Vec<&str> = paths.map(|path| path.split_once(' ').unwrap().1).collect();
        assert!(paths.iter().all(|path| *path == "0-2"), "{paths:?}");
        let order: BTreeSet<&str> = random.order.lines().collect();
        assert_eq!(order, ["place a b", "place fib"].into());
        assert!(random.late.starts_with("function 7c1e5b0f9a64d283 "));
        assert!(!random.late.contains("target") && random.early.contains("target"));
        assert!(random.loads.contains("load "), "{}", random.loads);
        let late = PlanParts::of(&parts.random_late(&[], 7)).unwrap();
        assert_eq!((late.early, late.loads), (parts.early, String::new()));
    }
}
