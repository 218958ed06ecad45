//! Iterations of loops are executions of their bodies. Every optimization level must give the same
//! number, which a comment after each call in the sources states.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli_support::Project;

const C: &str = include_str!("loops.c");
const RUST: &str = include_str!("loops.rs");
const LEVELS: [&str; 4] = ["0", "1", "2", "3"];

/// Executions and iterations of the loops of each function. The loop with the most iterations comes
/// first.
type Counts = BTreeMap<String, Vec<[u64; 2]>>;

/// The rows of the loops view of a run.
fn loops(project: &Project, run: &str) -> Vec<Value> {
    let report = project.holloway(&format!(
        "report {run} --view loops --format json --top 100"
    ));
    report.ok().json().0["loops"].as_array().unwrap().clone()
}

fn counts(loops: &[Value], names: &[&str]) -> Counts {
    let mut counts = Counts::new();
    for row in loops {
        let name = row["function"].as_str().unwrap();
        let name = name.rsplit("::").next().unwrap();
        if names.contains(&name) {
            let numbers = ["executions", "iterations"].map(|field| row[field].as_u64().unwrap());
            counts.entry(name.to_owned()).or_default().push(numbers);
        }
    }
    counts
}

fn expected(table: &[(&str, &[[u64; 2]])]) -> Counts {
    let rows = table.iter();
    rows.map(|(name, counts)| ((*name).to_owned(), counts.to_vec()))
        .collect()
}

/// Builds the C program at a level and runs it.
fn c_run(project: &Project, level: &str) -> Vec<Value> {
    let cc = format!("cc --collect loops -O{level} loops.c -o loops{level}");
    project.holloway(&cc).ok();
    let run = format!("run --no-report -o run{level} -- ./loops{level}");
    project.holloway(&run).ok();
    loops(project, &format!("run{level}"))
}

#[test]
fn iterations_of_c_are_executions_of_the_body_at_every_level() {
    let project = Project::new(&[("loops.c", C)]);
    let expected = expected(&[
        ("counted", &[[5, 50]]),
        ("ten", &[[5, 50]]),
        ("waited", &[[5, 35]]),
        ("at_the_end", &[[5, 30]]),
        ("left", &[[10, 40]]),
        ("found", &[[10, 40]]),
        ("on_one_line", &[[5, 25]]),
        ("both", &[[10, 30]]),
        ("either", &[[5, 50]]),
        ("skipping", &[[5, 60]]),
        ("nested", &[[20, 120], [5, 20]]),
        ("last_thing", &[[5, 25]]),
        ("endless", &[[5, 40]]),
        ("two_breaks", &[[5, 45]]),
        ("do_break", &[[10, 30]]),
        ("again", &[[5, 35]]),
    ]);
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    for level in LEVELS {
        let loops = c_run(&project, level);
        assert_eq!(counts(&loops, &names), expected, "-O{level}");
        check_transformed_loops(&loops, level);
        check_select(&project, level);
    }
}

/// Checks that the report says whether the compiler unrolled or vectorized a loop, and that it
/// guesses no iterations.
fn check_transformed_loops(loops: &[Value], level: &str) {
    let loops_of = |name: &'static str| loops.iter().filter(move |row| row["function"] == name);
    let number = |row: &Value, field: &str| row[field].as_u64();
    let holder = loops_of("holds_unrolled").collect::<Vec<_>>();
    assert!(
        !holder.is_empty() && holder.iter().all(|row| row["copies"].is_null()),
        "-O{level}: {holder:?}"
    );
    if level == "0" {
        for name in ["unrolled", "vectorized"] {
            assert_eq!(loops_of(name).count(), 1);
            let row = loops_of(name).next().unwrap();
            assert_eq!(number(row, "iterations"), Some(515));
            assert!(
                ["copies", "peeled", "vectorized"]
                    .iter()
                    .all(|field| row[*field].is_null())
            );
        }
        return;
    }
    // Five executions, each with 25 turns of four copies and 3 turns of the remaining loop.
    let unrolled = loops_of("unrolled").map(|row| {
        let copies = number(row, "copies").unwrap_or(1);
        (copies, number(row, "iterations").unwrap())
    });
    assert_eq!(
        unrolled.collect::<Vec<_>>(),
        [(4, 125), (1, 15)],
        "-O{level}"
    );
    if level != "1" {
        let vectorized = loops_of("vectorized").all(|row| row["vectorized"] == true);
        assert!(
            vectorized && loops_of("vectorized").count() > 0,
            "-O{level}"
        );
    }
}

/// Checks the function `chosen`: if the optimizer turns its branch into a select, one path remains,
/// and the report counts the select.
fn check_select(project: &Project, level: &str) {
    let report = project.holloway(&format!("report run{level} --format json --view paths"));
    let report = report.ok().json();
    let chosen = report.functions("chosen")[0];
    let numbers = ["possible_paths", "selects"].map(|field| chosen[field].as_u64().unwrap());
    assert_eq!(
        numbers,
        if level == "0" { [2, 0] } else { [1, 1] },
        "-O{level}"
    );
    let report = project.holloway(&format!(
        "report run{level} --view functions --function ^chosen$"
    ));
    let report = report.ok();
    let names_selects = report
        .stdout
        .contains("1 select (choices made without a branch)");
    assert_eq!(names_selects, level != "0", "{report}");
}

#[test]
fn iterations_of_rust_are_executions_of_the_body_at_every_level() {
    let project = Project::binary("", RUST);
    let expected = expected(&[
        ("counted", &[[5, 50]]),
        ("slice", &[[5, 30]]),
        ("breaks", &[[10, 40]]),
        ("both", &[[10, 40]]),
        ("whiles", &[[10, 55]]),
        ("zips", &[[5, 25]]),
        ("at_the_end", &[[5, 30]]),
        ("middle", &[[5, 25]]),
    ]);
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    for level in LEVELS {
        let run = format!("run --release --collect loops --no-report -o run{level}");
        let call = project.cargo_holloway(&run);
        call.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level).ok();
        let loops = loops(&project, &format!("run{level}"));
        assert_eq!(counts(&loops, &names), expected, "opt-level {level}");
    }
}
