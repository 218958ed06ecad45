//! `holloway coverage`: what ran, of several runs, and by test.

use std::process::Command;

use serde_json::Value;

use crate::cli_support::Project;

const PROGRAM: &str = r#"
#[inline(never)]
fn sign(n: i64) -> i64 {
    if n > 0 {
        return 1;
    }
    if n < 0 && n > -100 {
        return -1;
    }
    0
}
fn main() {
    let n = std::env::args().nth(1).unwrap().parse().unwrap();
    println!("{}", sign(n));
}
#[cfg(test)]
mod tests {
    #[test]
    fn positive() { assert_eq!(super::sign(4), 1); }
    #[test]
    fn negative() { assert_eq!(super::sign(-4), -1); }
    #[test]
    fn wrong() { assert_eq!(super::sign(7), 0, "seven"); }
}
"#;

fn ratio(coverage: &Value, measure: &str) -> [u64; 2] {
    let ratio = &coverage["coverage"]["totals"][measure];
    ["covered", "possible"].map(|field| ratio[field].as_u64().unwrap())
}

#[test]
fn several_runs_are_merged() {
    let project = Project::binary("", PROGRAM);
    for (run, number) in [("up", "3"), ("down", "-3"), ("far", "-300")] {
        let words = format!("run --graph source --no-report -o {run} -- {number}");
        project.cargo_holloway(&words).ok();
    }
    let coverage = |runs: &str| -> Value {
        let words = format!("coverage --format json --function ::sign$ {runs}");
        project.holloway(&words).ok().json().0
    };
    // The returns of 1, -1, and 0, the last by each of two conditions.
    assert_eq!(ratio(&coverage("up"), "paths"), [1, 4]);
    assert_eq!(ratio(&coverage("up down"), "paths"), [2, 4]);
    let all = coverage("up down far");
    assert_eq!(ratio(&all, "paths"), [3, 4]);
    assert_eq!(ratio(&all, "conditions"), [1, 2]);
    // Limits are on the same figures.
    let one = coverage("up");
    for measure in ["functions", "lines", "branches", "paths", "conditions"] {
        let [covered, possible] = ratio(&one, measure);
        let percent = 100.0 * covered as f64 / possible as f64;
        let budget = format!(
            "[[limit]]\nmeasure = '{measure}-covered'\nfunction = '::sign$'\nmin = {percent}\nmax = {percent}\n"
        );
        project.write("budget.toml", &budget);
        let kept = project.holloway("check budget.toml up").ok();
        kept.says(&format!("{percent:.2} %"));
    }
    let nothing = project.holloway("coverage up --function ::main$").ok();
    nothing.says("branches      none");
    nothing.says("conditions    none");

    let text = project.holloway("coverage --tests up down far").ok();
    text.says("3 of 3 tests keep all paths; no smaller set does");
    project
        .holloway("coverage --tests up")
        .exits(2)
        .complains("--tests needs several tests");
    project
        .holloway("coverage --line src/main.rs:5 up")
        .exits(2)
        .complains("--tests");
}

#[test]
fn each_test_runs_by_itself() {
    let project = Project::binary("", PROGRAM);
    let run = project.cargo_holloway("test --graph source --per-test --no-report -o run");
    let run = run.exits(101);
    run.says("test tests::positive ... ok");
    run.says("test tests::wrong ... FAILED");
    run.says("seven");
    run.says("test result: FAILED. 2 passed; 1 failed");
    let tests: Value = project
        .holloway("coverage run --tests --format json")
        .ok()
        .json()
        .0;
    let list = tests["tests"]["list"].as_array().unwrap();
    let passed: Vec<bool> = list
        .iter()
        .map(|test| test["passed"].as_bool().unwrap())
        .collect();
    // In the order of their names.
    assert_eq!(passed, [true, true, false]);
    project
        .holloway("coverage run --tests")
        .ok()
        .says("tests::wrong (failed)");
    // A run counts once, and a merged run knows the tests of its runs.
    std::os::unix::fs::symlink("run", project.path().join("link")).unwrap();
    let linked = project.holloway("coverage run link --tests --format json");
    let linked = linked.ok();
    linked.complains("counts once");
    assert_eq!(linked.json().0["tests"]["list"], tests["tests"]["list"]);
    let copy = "cp -r run copy";
    let copied = Command::new("sh")
        .args(["-c", copy])
        .current_dir(project.path())
        .status();
    assert!(copied.unwrap().success());
    project.holloway("merge -o both run copy").ok();
    let both = project.holloway("coverage both --tests --format json").ok();
    let both = both.json().0["tests"]["list"].as_array().unwrap().clone();
    assert_eq!(both.len(), 6);
    for test in &both {
        let first = list.iter().find(|one| {
            let name = test["name"].as_str().unwrap();
            name.starts_with(one["name"].as_str().unwrap())
        });
        assert_eq!(test["covers"], first.unwrap()["covers"], "{test}");
    }

    // Damage is named, with what to do about it.
    let refuses = |damage: &str, message: &str| {
        let damage = format!("rm -rf damaged && cp -r run damaged && {damage}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &damage]).current_dir(project.path());
        assert!(shell.status().unwrap().success());
        let refused = project.holloway("coverage damaged --tests").exits(125);
        refused.fails_with(message);
        refused.fails_with("record ");
    };
    refuses("echo x >> damaged/tests.jsonl", "damaged/tests.jsonl:4: ");
    refuses(
        "printf '\\377' > damaged/tests.jsonl",
        "damaged/tests.jsonl:1: ",
    );
    refuses(
        "printf '' > damaged/tests.jsonl",
        "damaged/tests.jsonl names no test",
    );
    refuses(
        "for f in damaged/*.hwp; do printf '' > $f; done",
        "cannot read any profile in damaged",
    );
    refuses("rm $(ls damaged/*.hwp | head -1)", "does not exist");
    project
        .cargo_holloway("test --per-test -- --list")
        .exits(2)
        .complains("--list lists the tests and runs none");
    project
        .cargo_holloway("run --per-test -- 3")
        .exits(2)
        .complains("--per-test goes with `cargo holloway test` only");
    project
        .cargo_holloway("build --graph late")
        .exits(2)
        .complains("late");
}
