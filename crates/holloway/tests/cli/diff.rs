//! The command `diff`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::cli_support::{Project, Report};

/// Steps of the Collatz sequence: a loop with a decision.
const COLLATZ: &str = "
__attribute__((noinline)) unsigned collatz(unsigned n) {
    unsigned steps = 0;
    while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; }
    return steps;
}
";

/// Sorts a number into one of four classes.
fn classify(name: &str) -> String {
    format!(
        "extern volatile int sink;
__attribute__((noinline)) int {name}(int n) {{
    if (n % 3 == 0) sink = 1;
    if (n % 5 == 0) sink = 2;
    if (n % 7 == 0) return 3;
    return 4;
}}
"
    )
}

fn main(class: &str, weigh: &str, helper: &str, last: &str) -> String {
    format!(
        "#include <stdio.h>
volatile int sink;
unsigned collatz(unsigned n);
int {class}(int n);
__attribute__((noinline)) static int weigh(int n) {{ {weigh} }}
__attribute__((noinline)) static int {helper}(int n) {{ sink = n; return n; }}
int main(void) {{
    long sum = 0;
    for (int i = 1; i <= {last}; i++) sum += collatz(i) + {class}(i) + weigh(i) + {helper}(i);
    printf(\"%ld\\n\", sum);
    return 0;
}}
"
    )
}

/// A project with the runs of two versions of a program: `before` and `after`.
fn recorded() -> Project {
    let before = main("classify", "sink = n + 1; return n;", "dropped", "100");
    let after = main(
        "sort_out",
        "if (n % 2) sink = n; sink = 2; return n;",
        "added",
        "100",
    );
    let project = Project::new(&[
        ("before/main.c", &before),
        (
            "before/numbers.c",
            &format!("{COLLATZ}{}", classify("classify")),
        ),
        ("after/main.c", &after),
        ("after/steps.c", COLLATZ),
        ("after/classes.c", &classify("sort_out")),
    ]);
    for (version, files) in [
        ("before", "before/main.c before/numbers.c"),
        ("after", "after/main.c after/steps.c after/classes.c"),
    ] {
        project
            .holloway(&format!("cc -O1 -g {files} -o {version}/app"))
            .ok();
        project
            .holloway(&format!(
                "run --no-report -o runs/{version} -- {version}/app"
            ))
            .ok();
    }
    project
}

/// The record of the function that has this name in either run.
fn function<'a>(diff: &'a Value, name: &str) -> Option<&'a Value> {
    let functions = diff["functions"].as_array().unwrap();
    functions
        .iter()
        .find(|function| ["a", "b"].iter().any(|side| function[side]["name"] == name))
}

#[test]
fn functions_are_found_again_in_another_version() {
    let project = recorded();
    let diff = |words: &str| project.holloway(&format!("diff {words}"));
    let json = diff("runs/before runs/after --format json")
        .exits(1)
        .json()
        .0;
    assert_eq!(json["different"], true);
    let check = |name: &str, pairing: &str, trend: &str| {
        let function = function(&json, name).unwrap_or_else(|| panic!("no {name}: {json:#}"));
        assert_eq!(function["pairing"], pairing, "{name}");
        assert_eq!(function["trend"], trend, "{name}");
    };
    check("collatz", "moved", "equal");
    check("classify", "renamed", "equal");
    assert_eq!(
        function(&json, "classify").unwrap()["b"]["name"],
        "sort_out"
    );
    check("weigh", "changed", "hotter");
    // Calls and instructions of all functions add up to those of the run.
    let listed: i64 = json["functions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|function| {
            let cost = |side: &str| function[side]["instructions"].as_i64().unwrap_or(0);
            cost("b") - cost("a")
        })
        .sum();
    let total = |side: &str| json[side]["instructions"].as_i64().unwrap();
    assert_eq!(listed, total("b") - total("a"));
    let text = diff("runs/before runs/after").exits(1);
    text.says("Changes from A to B")
        .says("sort_out (was classify)")
        .says("collatz (was in ")
        .says("weigh (other code)");
}

#[test]
fn runs_with_equal_counts_do_not_differ() {
    let project = recorded();
    let diff = |words: &str| project.holloway(&format!("diff {words}"));
    diff("runs/before runs/before").ok().says("no difference");
    let same = diff("runs/before runs/before --format json").ok().json();
    assert_eq!(same.0["different"], false);
    assert_eq!(same.0["functions"].as_array().unwrap().len(), 0);
    // A function that has only moved is listed, but does not count as a difference.
    let moved = diff("runs/before runs/after --function ^collatz$").ok();
    moved.says("collatz (was in ");
    diff("runs/before runs/after --function ^weigh$").exits(1);
    // Either name of a renamed function finds it.
    for name in ["classify", "sort_out"] {
        diff(&format!("runs/before runs/after --function ^{name}$"))
            .ok()
            .says("sort_out (was classify)");
    }
    diff("runs/before gone")
        .exits(125)
        .fails_with("cannot read the run gone");
    diff("runs/before").exits(2).complains("<B>");
    diff("runs/before runs/after --function nothing_has_this_name")
        .exits(2)
        .complains("nothing_has_this_name");
}

/// A program whose work depends on its argument.
const DIVISORS: &str = "
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int divisors(int n) {
    int found = 0;
    for (int i = 1; i <= n; i++) if (n % i == 0) found++;
    return found;
}
int main(int argc, char **argv) {
    (void)argc;
    printf(\"%d\\n\", divisors(atoi(argv[1])));
    return 0;
}
";

/// A project with runs of `divisors.c`, built for this kind: `NAME` with the argument of that name.
fn divisors(collect: &str, runs: &[(&str, &str)]) -> Project {
    let project = Project::new(&[("divisors.c", DIVISORS)]);
    project
        .holloway(&format!(
            "cc --collect {collect} -O1 -g divisors.c -o divisors"
        ))
        .ok();
    for (run, argument) in runs {
        project
            .holloway(&format!(
                "run --no-report -o {run} -- ./divisors {argument}"
            ))
            .ok();
    }
    project
}

#[test]
fn merged_runs_have_the_sum_of_the_counts() {
    for collect in ["paths", "edges"] {
        let project = divisors(collect, &[("runs/a", "10"), ("runs/b", "300")]);
        project.holloway("merge -o runs/sum runs/a runs/b").ok();
        let json = |run: &str| {
            let words = format!("report {run} --format json");
            project.holloway(&words).ok().json()
        };
        let [a, b, sum] = ["runs/a", "runs/b", "runs/sum"].map(json);
        let calls = |report: &Report| report.calls("divisors");
        assert_eq!(calls(&sum), calls(&a) + calls(&b), "{collect}");
        let instructions = |report: &Report| report.0["totals"]["instructions"].as_i64();
        assert!(instructions(&a) > Some(0), "{:#}", a.0["totals"]);
        assert_eq!(
            instructions(&sum).unwrap(),
            instructions(&a).unwrap() + instructions(&b).unwrap()
        );
        // A run of both programs in one directory counts the same.
        for argument in ["10", "300"] {
            project
                .holloway(&format!("run --no-report -- ./divisors {argument}"))
                .env("HOLLOWAY_DATA", project.path().join("runs/both"))
                .ok();
        }
        project
            .holloway("diff runs/sum runs/both")
            .ok()
            .says("no difference");
        project
            .holloway("merge -o runs/sum runs/a runs/b")
            .exits(125)
            .fails_with("cannot merge into runs/sum: it is not empty");
        project
            .holloway("merge -o runs/again runs/a runs/gone")
            .exits(125)
            .fails_with("cannot read the run runs/gone");
        assert!(!project.path().join("runs/again").exists());
    }
}

#[test]
fn merged_runs_keep_their_streams() {
    let project = divisors("loops", &[("runs/a", "10"), ("runs/b", "20")]);
    project.holloway("merge -o runs/sum runs/a runs/b").ok();
    let iterations = |run: &str| {
        let words = format!("report {run} --view loops --format json");
        let json = project.holloway(&words).ok().json();
        let loops = json.0["loops"].as_array().unwrap().clone();
        let sum: i64 = loops
            .iter()
            .map(|one| one["iterations"].as_i64().unwrap())
            .sum();
        sum
    };
    let [a, b, sum] = ["runs/a", "runs/b", "runs/sum"].map(iterations);
    assert!(a > 0 && b > a, "{a} {b}");
    assert_eq!(sum, a + b);
}

#[test]
fn a_run_is_merged_once() {
    let project = divisors("paths", &[("runs/a", "10"), ("runs/b", "20")]);
    std::os::unix::fs::symlink("b", project.path().join("runs/latest")).unwrap();
    let merged = project
        .holloway("merge -o sum runs/a runs/b runs/latest runs/a")
        .ok();
    merged.complains("runs/latest is runs/b, and counts once");
    project.holloway("merge -o two runs/a runs/b").ok();
    project.holloway("diff sum two").ok().says("no difference");
    let suite = project.holloway("suite runs/a runs/b runs/latest --format json");
    assert_eq!(suite.ok().json().0["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_is_merged_into_an_empty_directory() {
    let project = divisors("paths", &[("runs/a", "10")]);
    let path = |name: &str| project.path().join(name);
    std::fs::create_dir(path("empty")).unwrap();
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path("empty"), private).unwrap();
    std::os::unix::fs::symlink("empty", path("link")).unwrap();
    project.holloway("merge -o link runs/a").ok();
    let mode = std::fs::metadata(path("empty")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    project.holloway("diff empty runs/a").ok();
    project.holloway("merge -o new runs/a").ok();
    let modes = ["new", "runs/a"].map(|run| {
        let permissions = std::fs::metadata(path(run)).unwrap().permissions();
        permissions.mode() & 0o777
    });
    assert_eq!(modes[0], modes[1]);
    project
        .holloway("merge runs/a")
        .exits(2)
        .complains("--output");
}

#[test]
fn runs_that_are_not_whole_are_not_merged() {
    let project = divisors("paths", &[("runs/a", "10"), ("runs/b", "20")]);
    let profile = std::fs::read_dir(project.path().join("runs/b"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|file| file.extension().is_some_and(|end| end == "hwp"))
        .unwrap();
    let bytes = std::fs::read(&profile).unwrap();
    std::fs::write(&profile, &bytes[..bytes.len() - 3]).unwrap();
    project
        .holloway("merge -o sum runs/a runs/b")
        .exits(125)
        .complains("runs/b");
    assert!(!project.path().join("sum").exists());
}

#[test]
fn a_path_of_changed_code_is_not_called_equal() {
    let project = recorded();
    let json = project.holloway("report runs/before --format json").ok();
    let json = json.json();
    let name = |function: &str| {
        let paths = json.functions(function)[0]["paths"]
            .as_array()
            .unwrap()
            .clone();
        let name = paths[0]["path_name"].as_str().unwrap();
        format!("{function}#{}", &name[..6])
    };
    let diff =
        |name: &str| project.holloway(&format!("diff runs/before runs/after --function {name}"));
    diff(&name("weigh"))
        .exits(1)
        .says("is not compared: its function has other code in B");
    diff(&name("collatz"))
        .ok()
        .says("has the same count in both runs");
}

#[test]
fn a_suite_has_a_row_for_each_run() {
    let project = divisors(
        "paths",
        &[
            ("ref/one", "10"),
            ("ref/two", "300"),
            ("train/one", "20"),
            ("train/two", "30"),
        ],
    );
    let suite = |words: &str| project.holloway(&format!("suite {words}"));
    let json = suite("ref/one ref/two --train train --format json")
        .ok()
        .json()
        .0;
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        let name = run["run"].as_str().unwrap();
        let words = format!("report ref/{name} --view paths-from-edges --format json");
        let report = project.holloway(&words).ok().json().0;
        assert_eq!(
            run["paths"], report["prediction"]["real"]["paths"],
            "{report:#}"
        );
        assert_eq!(run["paths_right"], report["prediction"]["right"]["paths"]);
        assert_eq!(
            run["executions_right"],
            report["prediction"]["right"]["executions"]
        );
        let words = format!("overlap train/{name} ref/{name} --format json");
        let overlap = project.holloway(&words).ok().json().0;
        assert_eq!(run["train"]["overlap"], overlap["overlap"]);
        assert_eq!(run["train"]["common_paths"], overlap["common"]);
    }
    suite("ref/one ref/two --train train")
        .ok()
        .says("Paths predicted from edges")
        .says("mean")
        .says("Training runs");
    suite("ref/one --train ref/two")
        .exits(125)
        .fails_with("ref/two has no run one, which would be the training run of one");
    suite("ref/one --train nosuch")
        .exits(2)
        .fails_with("there is no directory nosuch: --train takes a directory");
    suite("ref/one --function (")
        .exits(2)
        .complains("unclosed group");
    let edges = divisors("edges", &[("runs/a", "10")]);
    edges
        .holloway("suite runs/a")
        .exits(125)
        .complains("runs/a: it has no path counts");
}
