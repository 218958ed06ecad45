//! Times of paths, as users see them: `--collect variation` and `--collect times`, `--burst`, the
//! variation view, and `stability`.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::cli_support::{Call, CallResult, Project, Report};
use serde_json::Value;

/// `step` takes three paths. The last path is long, and runs once in a thousand turns. Each path
/// takes longer in one of four turns.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <string.h>
static volatile long sink;
char buffer[1 << 14];
static const unsigned sizes[] = {16, 16, 16, sizeof buffer};
__attribute__((noinline)) void step(int i) {
    memset(buffer, i, sizes[i >> 1 & 3]);
    if (i % 1000 == 999) { for (int k = 0; k < 100; k++) sink += k; return; }
    if (i & 1) sink += 3; else sink ^= 5;
}
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) step(i); }
int main(int count, char **words) { work(count > 1 ? atoi(words[1]) : 1000); return 0; }
"#;

const KINDS: [&str; 3] = ["paths", "times", "variation"];

fn built(kind: &str) -> PathBuf {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::new(&[("app.c", PROGRAM)]);
        for kind in KINDS {
            let words = format!("cc --collect {kind} -O1 app.c -o {kind}");
            project.holloway(&words).ok();
        }
        project
    });
    project.path().join(kind)
}

fn run(project: &Project, options: &str, kind: &str, turns: &str) -> CallResult {
    let mut call = project.holloway(&format!("run {options} --"));
    call.command.arg(built(kind)).arg(turns);
    call.ok()
}

fn view(project: &Project, run: &str) -> Value {
    let words = format!("report {run} --view variation --format json");
    project.holloway(&words).ok().json().0
}

fn paths(project: &Project, run: &str) -> Report {
    let words = format!("report {run} --format json");
    project.holloway(&words).ok().json()
}

fn damage(report: &Value) -> Vec<&str> {
    let damage = report["damage"].as_array().unwrap().iter();
    damage.map(|sentence| sentence.as_str().unwrap()).collect()
}

#[test]
fn a_run_shows_paths_that_vary() {
    let project = Project::new(&[]);
    let result = run(&project, "-o few --burst 50:2", "variation", "300000");
    result.says("Variation ").says("step#");
    let few = view(&project, "few");
    assert_eq!(few["timed"], "bursts");
    assert_eq!(damage(&few), [""; 0]);
    let (samples, begun) = (&few["samples"]["samples"], &few["samples"]["begun"]);
    let (samples, begun) = (samples.as_u64().unwrap(), begun.as_u64().unwrap());
    // Each turn runs a path of `work` and a path of `step`. Every thousandth turn runs a hundred
    // more paths. 2 of 52 paths are timed.
    let expected = 300_000 * 2 + 300 * 100;
    assert!(
        begun.abs_diff(expected) < 1_000,
        "{begun} begun, {expected} expected"
    );
    assert!(
        (samples * 26).abs_diff(begun) < begun / 10,
        "{samples} of {begun}"
    );
    // The report says that counts of paths are estimates.
    let estimates = paths(&project, "few");
    let sentences = damage(&estimates.0);
    assert!(
        matches!(sentences[..], [sentence] if sentence.contains("this is a sample: counts are estimates")),
        "{sentences:?}"
    );
    let calls = estimates.calls("step");
    assert!(calls.abs_diff(300_000) < 30_000, "{calls} calls");
    project
        .holloway("report few --view paths")
        .ok()
        .says("this is a sample");
}

#[test]
fn times_of_all_paths_give_exact_counts() {
    let project = Project::new(&[]);
    run(&project, "-o all", "times", "20000").says("all were timed");
    run(&project, "-o counted --no-report", "paths", "20000");
    let (all, counted) = (paths(&project, "all"), paths(&project, "counted"));
    assert_eq!(damage(&all.0), [""; 0]);
    assert_eq!(
        all.total("path_executions"),
        counted.total("path_executions")
    );
    assert_eq!(all.calls("step"), 20_000);
    let ranking = view(&project, "all");
    assert_eq!(ranking["timed"], "all");
    let ranking = ranking["variation"].as_array().unwrap();
    let executions = ranking.iter().filter(|row| row["function"] == "step");
    let entered: f64 = executions
        .filter(|row| row["blocks"][0] == 0)
        .map(|row| row["executions"].as_f64().unwrap())
        .sum();
    assert!((entered - 20_000.0).abs() < 1.5, "{entered}");
    project
        .holloway("report all --time exclusive --include-preempted")
        .ok();
}

/// A program without a collector writes the same samples that a collector would have read.
#[test]
fn a_run_without_a_collector_has_the_same_samples() {
    let project = Project::new(&[]);
    let run_without_collector = |data: &str, burst: &str| {
        let app = built("variation");
        let call = project.program(app.to_str().unwrap());
        let call = call.env("HOLLOWAY_DATA", project.path().join(data));
        call.env("HOLLOWAY_BURST", burst).arg("30000").result()
    };
    run_without_collector("often", "0:1");
    let often = view(&project, "often");
    let all = often["samples"]["begun"].as_u64().unwrap();
    assert_eq!(
        often["samples"]["samples"].as_u64(),
        Some(all),
        "each is timed"
    );
    assert!(all.abs_diff(63_000) < 100, "{all}");
    let result = run_without_collector("usual", "ten");
    assert_eq!(result.code, Some(0), "{result}");
    assert_eq!(
        result.stderr.matches("HOLLOWAY_BURST").count(),
        1,
        "{result}"
    );
    // The option overrides the variable.
    let mut call = project.holloway("run -o stronger --no-report --burst 0:1 --");
    call = call.env("HOLLOWAY_BURST", "1000:1");
    call.command.arg(built("variation")).arg("30000");
    call.ok();
    assert_eq!(view(&project, "stronger")["samples"]["begun"], all);
}

#[test]
fn stability_compares_runs() {
    let project = Project::new(&[]);
    for (name, turns) in [("a", "100000"), ("b", "200000"), ("c", "300000")] {
        run(
            &project,
            &format!("-o {name} --no-report --burst 20:1"),
            "variation",
            turns,
        );
    }
    run(&project, "-o counted --no-report", "paths", "1000");
    let result = project.holloway("stability a b").ok();
    result.says("step");
    assert_eq!(result.stderr, "");
    assert!(!result.stdout.contains("few samples"), "{result}");
    run(
        &project,
        "-o few --no-report --burst 20:1",
        "variation",
        "1000",
    );
    let result = project.holloway("stability a few").ok();
    result.says("few samples");
    run(&project, "-o other --no-report", "times", "1000");
    let result = project.holloway("stability a other").ok();
    result.complains("warning: the runs are of programs with different names: a is of variation, other is of times; ");
    assert_eq!(result.stderr.lines().count(), 1, "{result}");
    let json = project
        .holloway("stability a b c --top 2 --format json")
        .ok()
        .json()
        .0;
    assert_eq!(json["schema"], 1);
    assert_eq!(json["shares"].as_array().unwrap().len(), 3);
    assert!(json["paths"].as_array().unwrap().len() >= 2);
    project.holloway("stability a").exits(2);
    project.holloway("stability a b --function x").exits(2);
    let result = project.holloway("run --collect variation -- x").exits(2);
    result.complains("--collect is chosen when a program is built");
    let result = project.holloway("stability a counted").exits(2);
    result.fails_with(
        "counted: no times of paths were recorded: build with --collect variation to see them; there are paths",
    );
}

#[test]
fn wrong_options_are_usage_errors() {
    let project = Project::binary("", "fn main() {}");
    let app = built("paths");
    let check = |call: Call, expect: &str| {
        call.exits(2).complains(expect);
    };
    for burst in ["", "x", "1:0", "-1:1"] {
        let call = project
            .holloway("run")
            .arg(format!("--burst={burst}"))
            .arg("--")
            .arg(&app);
        check(call, "as in 10000:1");
    }
    let call = project.holloway("run --burst 10 --").arg(&app);
    check(call, "--burst goes with --collect variation, not paths");
    let call = project.cargo_holloway("run --burst 10");
    check(call, "--burst goes with --collect variation, not paths");
    let call = project.holloway("cc --collect variation --exits on a.c");
    check(call, "leave it out");
    run(&project, "-o counted --no-report", "paths", "10");
    let call = project.holloway("report counted --view variation");
    check(
        call,
        "no times of paths were recorded: build with --collect variation",
    );
}

#[test]
fn a_missing_file_of_timings_is_named() {
    let project = Project::new(&[]);
    run(
        &project,
        "-o few --no-report --burst 5:1",
        "variation",
        "1000",
    );
    let files = std::fs::read_dir(project.path().join("few")).unwrap();
    let timings = files.map(|file| file.unwrap().path());
    let timings: Vec<_> = timings
        .filter(|file| file.extension().is_some_and(|extension| extension == "hwv"))
        .collect();
    let [timings] = &timings[..] else {
        panic!("{timings:?}")
    };
    // The name of the file of timings stands for its profile.
    project
        .holloway("report")
        .arg(timings)
        .ok()
        .says("Variation ");
    std::fs::remove_file(timings).unwrap();
    project
        .holloway("report few --view paths")
        .ok()
        .says(".hwv is missing");
}

#[test]
fn cargo_verbs_collect_times() {
    let main = "#[inline(never)] fn step(i: u64) -> u64 { if i % 3 == 0 { i } else { i * 7 } }\n\
         fn main() { let mut sum = 0; for i in 0..200000 { sum ^= std::hint::black_box(step(i)); } println!(\"{sum}\"); }\n";
    let project = Project::binary("", main);
    let result = project
        .cargo_holloway("run --release --collect variation --burst 20")
        .ok();
    result.says("Variation ");
    let view = project.holloway("report --view variation --format json");
    let view = view.ok().json().0;
    let rows = view["variation"].as_array().unwrap();
    let function = |row: &Value| row["function"].as_str().unwrap().to_owned();
    assert!(rows.iter().any(|row| function(row).starts_with("app::")));
}

/// A program has no times if it has no timed function, enters no timed function, or ends before its
/// first burst.
#[test]
fn the_reason_for_missing_times_is_reported() {
    let check = |source: &str, why: &str| {
        let project = Project::new(&[("app.c", source)]);
        project
            .holloway("cc --collect variation -O1 -fno-inline app.c -o app")
            .ok();
        let result = project.holloway("run -- ./app").ok();
        assert!(format!("{result}").contains(why), "{why}: {result}");
    };
    let short = "int main(int count, char **words) { return count > 3; }";
    check(
        short,
        "no profile was written: no function of ./app is instrumented (1 left out: it is too short to be timed",
    );
    let work =
        "int work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum ^= sum + i; return sum; }";
    let entered = format!("{work} int main(int count, char **words) {{ return work(count) > 9; }}");
    check(
        &entered,
        "no path was timed: every thread ended before its first burst; run it for longer, with --burst 10, or build it with --collect times",
    );
    check(
        &format!("{work} {short}"),
        "no profile was written: ./app ended before any instrumented function was entered, or",
    );
}
