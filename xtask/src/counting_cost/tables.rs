//! Formats the tables, in Markdown.

use super::profile::{Function, Program};
use std::fmt::Write;

/// The bounds of the classes of the last table, in native instructions per path.
const LENGTHS: [f64; 5] = [10.0, 20.0, 40.0, 80.0, f64::INFINITY];

/// Formats all tables. The second one has the `top` functions of each program that add most.
pub(super) fn tables(programs: &[Program], top: usize) -> String {
    [
        by_program(programs),
        by_function(programs, top),
        by_length(programs),
    ]
    .join("\n")
}

/// A row for each program.
fn by_program(programs: &[Program]) -> String {
    let mut text = "\
| program | instructions (million) | with paths | instructions a path | increments a path | added a path |
|---|--:|--:|--:|--:|--:|
"
    .to_owned();
    for p in programs {
        line(
            &mut text,
            format_args!(
                "{} | {:.1} | {:.2}× | {:.1} | {:.2} | {:.1}",
                p.name,
                millions(p.native),
                p.woven as f64 / p.native as f64,
                per(p.native as f64, p.paths),
                per(p.increments as f64, p.paths),
                per(p.added() as f64, p.paths),
            ),
        );
    }
    text
}

/// A row for each of the functions that add most.
fn by_function(programs: &[Program], top: usize) -> String {
    let mut text = "\
| program | function | instructions (million) | with paths | of all added % | paths (million) | instructions a path | added a path |
|---|---|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    for p in programs {
        for f in p.functions.iter().take(top) {
            line(
                &mut text,
                format_args!(
                    "{} | `{}` | {:.1} | {:.2}× | {:.0} | {:.2} | {:.1} | {:.1}",
                    p.name,
                    f.name,
                    millions(f.native),
                    f.woven as f64 / f.native as f64,
                    f.added() as f64 / p.added() as f64 * 100.0,
                    millions(f.paths),
                    per(f.native as f64, f.paths),
                    per(f.added() as f64, f.paths),
                ),
            );
        }
    }
    text
}

/// A row for each class of functions, by native instructions per path.
fn by_length(programs: &[Program]) -> String {
    let functions = || programs.iter().flat_map(|p| &p.functions);
    let all: u64 = functions().map(|f| f.native).sum();
    let mut text = "\
| functions with instructions a path | share of instructions % | with paths | added a path |
|---|--:|--:|--:|
"
    .to_owned();
    let mut least = 0.0;
    for bound in LENGTHS {
        let class = functions().filter(|f| (least..bound).contains(&length(f)));
        let (mut native, mut woven, mut paths) = (0, 0, 0);
        for f in class {
            native += f.native;
            woven += f.woven;
            paths += f.paths;
        }
        if paths > 0 {
            let name = match bound.is_finite() {
                true => format!("{least} to {bound}"),
                false => format!("{least} or more"),
            };
            line(
                &mut text,
                format_args!(
                    "{name} | {:.0} | {:.2}× | {:.1}",
                    native as f64 / all as f64 * 100.0,
                    woven as f64 / native as f64,
                    per(woven as f64 - native as f64, paths),
                ),
            );
        }
        least = bound;
    }
    text
}

/// Native instructions per path.
fn length(function: &Function) -> f64 {
    per(function.native as f64, function.paths)
}

fn per(amount: f64, paths: u64) -> f64 {
    amount / paths.max(1) as f64
}

fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

fn line(text: &mut String, cells: std::fmt::Arguments<'_>) {
    writeln!(text, "| {cells} |").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(native: u64, woven: u64, paths: u64) -> Function {
        Function {
            name: "f".to_owned(),
            native,
            woven,
            paths,
        }
    }

    #[test]
    fn classes_divide_the_functions_by_the_length_of_their_paths() {
        let program = Program {
            name: "p",
            native: 4000,
            woven: 5000,
            paths: 250,
            increments: 300,
            // 5, 10, and 100 instructions a path.
            functions: vec![
                function(500, 800, 100),
                function(500, 600, 50),
                function(3000, 3060, 30),
            ],
        };
        let text = by_length(&[program]);
        let rows: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 0 to 10 | 12 | 1.60× | 3.0 |",
                "| 10 to 20 | 12 | 1.20× | 2.0 |",
                "| 80 or more | 75 | 1.02× | 2.0 |",
            ]
        );
    }

    #[test]
    fn programs_have_their_sums_per_path() {
        let program = Program {
            name: "p",
            native: 4_000_000,
            woven: 5_000_000,
            paths: 250_000,
            increments: 300_000,
            functions: vec![function(2_000_000, 2_500_000, 100_000)],
        };
        let text = tables(&[program], 1);
        assert!(
            text.contains("| p | 4.0 | 1.25× | 16.0 | 1.20 | 4.0 |"),
            "{text}"
        );
        assert!(
            text.contains("| p | `f` | 2.0 | 1.25× | 50 | 0.10 | 20.0 | 5.0 |"),
            "{text}"
        );
    }
}
