//! The options that choose counts and the placement of probes, with real builds: `--collect`,
//! `--exits`, `--guide`, and the command `overlap`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli_support::{Call, CallResult, Project, Report};

/// A product that is left early by longjmp when a factor is zero.
const PRODUCT: &str = r#"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf out;
static volatile int sink;
__attribute__((noinline)) static void leave(int x) { if (x == 0) longjmp(out, 1); sink = x; }
__attribute__((noinline)) static int product(const int *factors, int count) {
    int all = 1;
    for (int i = 0; i < count; i++) { leave(factors[i]); all *= factors[i]; }
    return all;
}
int main(int argc, char **argv) {
    int factors[6] = {1, 2, 3, 4, 5, 6}, n = argc > 1 ? atoi(argv[1]) : 4;
    if (n < 6) factors[n] = 0;
    if (setjmp(out) == 0) printf("%d\n", product(factors, 6));
    else puts("zero");
    return 0;
}
"#;

/// Unwinds through `middle`, which has nothing to clean up. `main` catches the unwinding.
const UNWINDING: &str = r#"
#[inline(never)]
fn leaf(n: u32) -> u32 { if n % 4 == 3 { std::panic::resume_unwind(Box::new(())) } else { n } }
#[inline(never)]
fn middle(n: u32) -> u32 { leaf(std::hint::black_box(n)) + leaf(std::hint::black_box(n / 2)) }
fn main() {
    let n = std::env::args().nth(1).map_or(12, |n| n.parse().unwrap());
    let caught = (0..n).filter(|&n| std::panic::catch_unwind(|| middle(n)).is_err()).count();
    println!("caught {caught}");
}
"#;

/// A C project.
fn c_project(sources: &[(&str, &str)]) -> Project {
    Project::new(sources)
}

/// `holloway WORDS` with a cache in the project's directory.
fn holloway(project: &Project, words: &str) -> Call {
    let cache = project.path().join("cache");
    project.holloway(words).env("HOLLOWAY_CACHE", cache)
}

/// Builds `fact.c` with these options, and records a run of it in the directory `run`.
fn record(project: &Project, options: &str, argument: &str, run: &str) -> CallResult {
    let built = holloway(project, &format!("cc {options} -O1 fact.c -o fact")).ok();
    let line = format!("run --no-report -o {run} -- ./fact {argument}");
    holloway(project, &line).ok();
    built
}

fn json(project: &Project, run: &str) -> Report {
    let line = format!("report {run} --format json");
    project.holloway(&line).ok().json()
}

/// Which edges of a report a test looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edges {
    Exits,
    Others,
}

/// Counts of the edges that ran: either the exit edges, or all other edges.
fn edge_counts(report: &Report, edges: Edges) -> BTreeMap<(String, i64, i64), i64> {
    let mut counts = BTreeMap::new();
    for function in report.0["functions"].as_array().unwrap() {
        let name = function["name"].as_str().unwrap();
        for edge in function["edges"].as_array().unwrap() {
            let count = edge["count"].as_i64().unwrap();
            if count != 0 && (edge["left"] == true) == (edges == Edges::Exits) {
                let end = |end: &str| edge[end].as_i64().unwrap();
                let key = (name.to_owned(), end("from"), end("to"));
                *counts.entry(key).or_default() += count;
            }
        }
    }
    counts
}

/// The report's number of frames that were left in a call.
fn left_frames(report: &Report) -> i64 {
    report.0["totals"]["left"].as_i64().unwrap()
}

#[test]
fn a_frame_left_by_longjmp_counts_alike_in_edges_and_paths() {
    let project = c_project(&[("fact.c", PRODUCT)]);
    record(&project, "--collect edges", "4", "edges");
    record(&project, "", "4", "paths");
    record(&project, "--exits off", "4", "plain");
    record(&project, "--collect=edges --exits=off", "4", "bare");
    let [by_edges, by_paths, plain, bare] =
        ["edges", "paths", "plain", "bare"].map(|run| json(&project, run));
    assert_eq!(
        edge_counts(&by_edges, Edges::Others),
        edge_counts(&by_paths, Edges::Others)
    );
    assert_eq!(
        edge_counts(&by_edges, Edges::Exits),
        edge_counts(&by_paths, Edges::Exits)
    );
    // `longjmp` leaves the frames of leave and product, and re-enters the frame of main.
    assert_eq!((left_frames(&by_edges), left_frames(&by_paths)), (2, 2));
    assert_eq!(by_edges.calls("leave"), 5);
    assert_eq!(by_edges.calls("product"), 1);
    // Without exits, paths that did not end are missing.
    assert_eq!((left_frames(&plain), left_frames(&bare)), (0, 0));
    assert_eq!(plain.calls("leave"), 5, "a call of longjmp ends a path");
    assert_ne!(
        edge_counts(&plain, Edges::Others),
        edge_counts(&by_paths, Edges::Others)
    );
    assert_eq!(plain.0["images"][0]["collected"], "paths");
    assert_eq!(bare.0["images"][0]["collected"], "edges");
}

#[test]
fn the_default_view_shows_the_recorded_kind() {
    let project = c_project(&[("fact.c", PRODUCT)]);
    record(&project, "--collect edges", "4", "edges");
    record(&project, "--collect paths", "4", "paths");
    let succeed = |line: &str| project.holloway(line).ok();
    succeed("report edges").says("Hottest edges");
    succeed("report paths").says("Hottest paths");
    succeed("report paths --view blocks").says("Hottest blocks");
    succeed("report edges --view lines").says("product(factors, 6)");
    succeed("report paths --view paths-from-edges").says("Paths from edges");
    succeed("report paths --view branches").says("path so far");
    succeed("report edges --view branches").says("Hardest branches");
    for view in ["paths", "paths-from-edges"] {
        project
            .holloway(&format!("report edges --view {view}"))
            .exits(2)
            .fails_with("edges were recorded, not paths: build with --collect paths to see them");
    }
    succeed("report edges --view paths --format json").says("\"collected\"");
    project
        .holloway("report edges --view sideways")
        .exits(2)
        .complains("paths-from-edges");
}

#[test]
fn kind_and_exits_come_from_options_then_variables() {
    let project = c_project(&[("fact.c", PRODUCT)]);
    let collected = |call: Call, run: &str| {
        call.ok();
        let line = format!("run --no-report -o {run} -- ./fact 4");
        holloway(&project, &line).ok();
        let report = json(&project, run);
        let kind = report.0["images"][0]["collected"].as_str().unwrap();
        (kind.to_owned(), left_frames(&report))
    };
    let cc = |options: &str| holloway(&project, &format!("cc {options} fact.c -o fact"));
    let edges = |left_frames| ("edges".to_owned(), left_frames);
    let by_variable = cc("").env("HOLLOWAY_COLLECT", "edges");
    assert_eq!(collected(by_variable, "a"), edges(2));
    let by_two_variables = cc("")
        .env("HOLLOWAY_COLLECT", "edges")
        .env("HOLLOWAY_EXITS", "off");
    assert_eq!(collected(by_two_variables, "b"), edges(0));
    let after_the_source = holloway(
        &project,
        "cc fact.c -O1 --collect edges -o fact --exits=off",
    );
    assert_eq!(collected(after_the_source, "d"), edges(0));
    cc("--exits maybe")
        .exits(2)
        .fails_with("--exits maybe: say on or off");
    let by_option = cc("--exits on --collect edges")
        .env("HOLLOWAY_EXITS", "nonsense")
        .env("HOLLOWAY_COLLECT", "nonsense");
    assert_eq!(collected(by_option, "c"), edges(2));
    // The error appears when a file is compiled, not only when it is linked.
    for (name, value, expect) in [
        ("HOLLOWAY_EXITS", "yes", "HOLLOWAY_EXITS=yes: say on or off"),
        (
            "HOLLOWAY_COLLECT",
            "branches",
            "HOLLOWAY_COLLECT=branches: no such kind; there are paths, edges, loops (loops=K), trace, variation and times",
        ),
    ] {
        let call = holloway(&project, "cc -c fact.c").env(name, value);
        call.exits(2).fails_with(expect);
    }
    holloway(&project, "cc -c fact.c")
        .env("HOLLOWAY_GUIDE", "gone")
        .exits(125)
        .fails_with("cannot take gone for a guide");
}

#[test]
fn holloway_ld_takes_the_options_too() {
    let project = c_project(&[("f.c", "int f(int x) { return x ? x * 3 : 7; }\n")]);
    holloway(&project, "cc -O1 -fPIC -c f.c").ok();
    holloway(&project, "ld --collect edges -shared f.o -o libf.so").ok();
    holloway(&project, "ld --collect branches -shared f.o -o libf.so")
        .exits(2)
        .fails_with(
            "--collect branches: no such kind; there are paths, edges, loops (loops=K), trace, variation and times",
        );
    holloway(&project, "ld --exits")
        .exits(2)
        .fails_with("--exits wants on or off");
}

#[test]
fn a_guide_does_not_change_counts() {
    let project = c_project(&[("fact.c", PRODUCT)]);
    record(&project, "", "7", "train");
    record(&project, "--collect edges", "7", "train-edges");
    for (options, plain) in [
        ("", "paths"),
        ("--collect edges", "edges"),
        ("--exits off", "no-exits"),
    ] {
        record(&project, options, "4", plain);
        for train in ["train", "train-edges"] {
            let run = format!("{plain}-by-{train}");
            let built = record(&project, &format!("{options} --guide {train}"), "4", &run);
            built.complains("the guide has counts for 3 of 3 functions\n");
            assert_eq!(built.stderr.lines().count(), 1, "{built}");
            let (before, after) = (json(&project, plain), json(&project, &run));
            for edges in [Edges::Others, Edges::Exits] {
                assert_eq!(
                    edge_counts(&before, edges),
                    edge_counts(&after, edges),
                    "{run}"
                );
            }
        }
    }
}

#[test]
fn an_unusable_guide_is_named() {
    let changed = PRODUCT.replace("i++", "i += 2").replace("x == 0", "x <= 0");
    let project = c_project(&[
        ("fact.c", PRODUCT),
        ("other.c", &changed),
        ("empty/kept", ""),
    ]);
    let build = |words: &str| holloway(&project, &format!("cc {words}"));
    record(&project, "--collect edges", "7", "train");
    build("--guide nowhere fact.c -o fact").exits(125).fails_with(
        "cannot take nowhere for a guide: No such file or directory (os error 2); name a run's directory",
    );
    build("--guide empty fact.c -o fact")
        .exits(125)
        .fails_with("cannot take empty for a guide: cannot find a profile in empty");
    build("--guide fact.c fact.c -o fact")
        .exits(125)
        .fails_with("cannot take fact.c for a guide: ");
    build("--guide latest fact.c -o fact")
        .exits(125)
        .fails_with("cannot find a run");
    build("-c --guide latest fact.c").ok();
    build("fact.o --guide latest -o fact")
        .exits(125)
        .fails_with("cannot find a run");
    build("fact.c --guide -O2 -o fact")
        .exits(2)
        .fails_with("--guide wants a run: --guide latest, not -O2");
    let unlike = "int main(void) { return 0; }\n";
    project.write("unlike.c", unlike);
    build("--guide train unlike.c -o unlike")
        .ok()
        .fails_with("warning: the guide has counts for none of the 1 functions");
    // The guide has counts for unchanged functions only.
    build("--guide train -O1 other.c -o other")
        .ok()
        .complains("the guide has counts for ")
        .complains(" functions that are woven; the others didn't run there or have changed");
    let profile = profiles(&project.path().join("train")).remove(0);
    let mut bytes = std::fs::read(&profile).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&profile, &bytes).unwrap();
    build("--guide train -O1 fact.c -o fact")
        .ok()
        .complains("warning: the guide train is damaged, the rest of it is used: ")
        .complains("the guide has counts for ");
    std::fs::write(&profile, &bytes[..16]).unwrap();
    build("--guide train fact.c -o fact")
        .exits(125)
        .fails_with("cannot take train for a guide");
}

fn profiles(run: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(run).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "hwp"))
        .collect()
}

#[test]
fn cargo_links_again_if_the_guide_has_changed() {
    let project = Project::binary("", UNWINDING);
    let build = |words: &str| {
        project
            .cargo_holloway(&format!("build --release {words}"))
            .ok()
    };
    let run = |words: &str| {
        let line = format!("run --release --no-report {words}");
        project.cargo_holloway(&line).ok()
    };
    run("-o one --collect edges -- 12").says("caught 4");
    run("-o two --collect edges -- 40");
    build("--guide one").complains("the guide has counts for ");
    let program = project.built("release", "app");
    let linked = || std::fs::metadata(&program).unwrap().modified().unwrap();
    let first = linked();
    let silent = build("--guide one");
    assert!(
        !silent.stderr.contains("guide"),
        "nothing is linked: {silent}"
    );
    assert_eq!(linked(), first);
    let variable = project
        .cargo_holloway("build --release")
        .env("HOLLOWAY_GUIDE", project.path().join("one"))
        .ok();
    assert!(
        !variable.stderr.contains("guide"),
        "the same guide: {variable}"
    );
    build("--guide two").complains("the guide has counts for ");
    assert_ne!(linked(), first, "another guide");
    // A guide with the same name and another content.
    std::fs::remove_dir_all(project.path().join("two")).unwrap();
    run("-o two --collect edges -- 80");
    build("--guide two").complains("the guide has counts for ");
    project
        .cargo_holloway("build --guide three")
        .exits(125)
        .fails_with("cannot take three for a guide");
    // `latest` is the latest run of the project. The guide changes no count.
    let guided = run("--collect edges --guide two -- 12");
    guided.says("caught 4");
    let latest = run("--collect edges --guide latest -- 12");
    latest.complains("the guide has counts for ");
    let compare = project
        .holloway("overlap one latest --format json")
        .ok()
        .json();
    let overlap = compare.0["overlap"].as_f64().unwrap();
    assert!((overlap - 1.0).abs() < 1e-9, "{overlap}");
}

#[test]
fn frames_left_by_unwinding_count_by_default() {
    let project = Project::binary("", UNWINDING);
    let report = |options: &str, run: &str| {
        let line = format!("run --release --no-report -o {run} {options} -- 16");
        project.cargo_holloway(&line).ok().says("caught 6");
        json(&project, run)
    };
    let counted = report("", "paths");
    let by_edges = report("--collect edges", "edges");
    let missing = report("--collect edges --exits off", "off");
    // `middle` is called 16 times. Each call calls `leaf` once, and again if the first call
    // returned.
    for report in [&counted, &by_edges] {
        assert_eq!(report.calls("middle"), 16);
        assert_eq!(report.calls("leaf"), 28);
    }
    assert_eq!(
        edge_counts(&counted, Edges::Others),
        edge_counts(&by_edges, Edges::Others)
    );
    assert_eq!(
        edge_counts(&counted, Edges::Exits),
        edge_counts(&by_edges, Edges::Exits)
    );
    assert!(missing.calls("middle") < 16, "{}", missing.calls("middle"));
}

#[test]
fn two_runs_of_one_program_are_compared() {
    let project = c_project(&[("fact.c", PRODUCT)]);
    record(&project, "", "7", "whole");
    record(&project, "", "2", "early");
    record(&project, "--collect edges", "2", "edges");
    let overlap = |words: &str| project.holloway(&format!("overlap {words}"));
    overlap("whole early")
        .ok()
        .says("Overlap of A and B")
        .says("paths");
    let same = overlap("whole whole --format json").ok().json();
    assert_eq!(same.0["overlap"], 1.0);
    let differ = overlap("whole early --format json").ok().json();
    let share = differ.0["overlap"].as_f64().unwrap();
    assert!(share > 0.0 && share < 1.0, "{share}");
    assert_eq!(differ.0["compared"], "paths");
    let mixed = overlap("whole edges --format json --function product")
        .ok()
        .json();
    assert_eq!(mixed.0["compared"], "edges");
    assert!(mixed.functions("main").is_empty());
    assert_eq!(mixed.functions("product").len(), 1);
    let top = overlap("whole early --top 1 --format json").ok().json();
    assert_eq!(top.0["differences"].as_array().unwrap().len(), 1);
    overlap("whole gone")
        .exits(125)
        .fails_with("cannot read the run gone");
    overlap("whole").exits(2).complains("<B>");
    project
        .cargo_holloway("overlap whole early")
        .ok()
        .says("Overlap of A and B");
}

#[test]
fn help_and_completions_name_the_kinds() {
    let project = Project::new(&[]);
    for call in [
        project.cargo_holloway("run --help"),
        project.cargo_holloway("build -h"),
        project.holloway("demo --help"),
        project.holloway("help cc"),
        project.holloway("cc --help"),
        project.holloway("c++ --help"),
    ] {
        call.ok().says("--collect").says("edges").says("--exits");
    }
    for language in ["cc", "c++"] {
        let asked = project.holloway(&format!("{language} --help")).ok();
        asked.says("Examples:").says("Everything else is clang's");
        let help = project.holloway(&format!("help {language}")).ok();
        assert_eq!(asked.stdout, help.stdout);
    }
    project
        .holloway("completions zsh")
        .ok()
        .says("paths edges")
        .says("overlap");
    project.holloway("help overlap").ok().says("runs/train");
}

/// A program with 2^13 paths through a loop, so that paths are cut.
fn many_paths() -> String {
    let ifs: String = (0..13)
        .map(|bit| format!("        if (n & {}) x = x * 3 + {bit};\n", 1 << bit))
        .collect();
    format!(
        "#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv) {{\n    volatile unsigned x = 1;\n    \
         for (int n = atoi(argv[argc - 1]); n > 0; n--) {{\n{ifs}    }}\n    printf(\"%u\\n\", x);\n}}\n"
    )
}

/// A branch that alternates, and a branch with the same condition.
const ALTERNATING: &str = "#include <stdlib.h>
volatile long sink;
int main(int argc, char **argv) {
    int n = atoi(argv[argc - 1]);
    for (int i = 0; i < n; i++) {
        int odd = i & 1;
        if (odd) { sink += 3; sink = sink / 5; } else sink ^= 5;
        if (odd) sink -= 7;
    }
    return 0;
}
";

/// Each kind has its contexts: none, the path so far, or the previous path.
#[test]
fn branches_are_predicted_with_the_context_of_the_kind() {
    let project = c_project(&[("fact.c", ALTERNATING)]);
    for (kind, context, lines) in [
        ("edges", "none", [500, 500]),
        ("paths", "path", [500, 2]),
        ("loops", "previous_paths", [3, 3]),
        ("trace", "previous_paths", [3, 3]),
    ] {
        // Optimized code has one branch for both conditions.
        let build = format!("cc --collect {kind} -O0 -g fact.c -o fact");
        holloway(&project, &build).ok();
        let run = format!("run --no-report -o {kind} -- ./fact 1000");
        holloway(&project, &run).ok();
        let report = project.holloway(&format!("report {kind} --view branches --format json"));
        let document = report.ok().json().0;
        let branches = document["branches"].as_array().unwrap();
        for (line, most) in [7, 8].into_iter().zip(lines) {
            let mut all = branches.iter();
            let branch = all.find(|branch| branch["line"] == line).unwrap();
            assert_eq!(branch["function"], "main");
            assert_eq!(branch["context"], context);
            assert_eq!(branch["executions"], 1000);
            assert_eq!(branch["taken"], 500);
            assert_eq!(branch["entropy"], 1.0);
            assert_eq!(branch["mispredictions_alone"], 500);
            let expected = branch["mispredictions"].as_u64().unwrap();
            assert!(expected <= most, "{kind}, line {line}: {branch}");
            assert!(
                expected == most || most < 500,
                "{kind}, line {line}: {branch}"
            );
        }
    }
}

#[test]
fn overlap_says_if_paths_are_cut_elsewhere() {
    let project = c_project(&[("fact.c", &many_paths())]);
    record(&project, "", "20", "plain");
    record(&project, "", "9", "again");
    record(&project, "--guide plain", "20", "guided");
    record(&project, "--collect loops", "20", "loops");
    record(&project, "--collect trace", "20", "trace");
    record(&project, "--collect edges", "20", "edges");
    let overlap = |runs: &str| {
        let json = project.holloway(&format!("overlap {runs} --format json"));
        let text = project.holloway(&format!("overlap {runs}")).ok().stdout;
        (json.ok().json().0, text)
    };
    let (same, text) = overlap("plain again");
    assert_eq!(same.get("cut_elsewhere"), None);
    assert!(!text.contains("elsewhere"), "{text}");
    let (guided, text) = overlap("plain guided");
    assert_eq!(guided["cut_elsewhere"], 1);
    assert!(text.contains("in A and B in 1 function"), "{text}");
    // The edges are the same, wherever paths end.
    let (edges, _) = overlap("plain edges");
    assert_eq!(edges.get("cut_elsewhere"), None);
    assert_eq!(edges["overlap"], 1.0);
    // A run of loops has the same paths.
    let (loops, _) = overlap("plain loops");
    assert_eq!(loops.get("cut_elsewhere"), None);
    assert_eq!(loops["overlap"], 1.0);
    let (trace, text) = overlap("plain trace");
    assert_eq!(trace["ends_at_calls"], "b");
    assert!(text.contains("B's paths end at calls"), "{text}");
}

#[test]
fn counts_that_exits_off_makes_inexact_are_marked() {
    const SOURCE: &str = "#include <setjmp.h>
static jmp_buf target; static volatile int sink;
#define NOINLINE __attribute__((noinline)) static
NOINLINE int leaf(int x) { return x * 3 + 1; }
NOINLINE int middle(int x) { int y = leaf(x); if (y > 10) longjmp(target, 1); return y; }
NOINLINE int outer(int x) { int a = x + 1; a += middle(a); return sink = a; }
int main(void) {
    for (volatile int i = 0; i < 10; i++)
        if (!setjmp(target)) outer(i);
    return 0;
}
";
    let project = c_project(&[("fact.c", SOURCE)]);
    for kind in ["paths", "edges", "loops"] {
        let built = |exits: &str| {
            let run = format!("{kind}-{exits}");
            record(
                &project,
                &format!("--collect {kind} --exits {exits} -g"),
                "1",
                &run,
            );
            let view = project.holloway(&format!("report {run} --view functions"));
            (json(&project, &run), view.ok().stdout)
        };
        let (on, text) = built("on");
        assert!(!text.contains('≥'), "{text}");
        let bound = |report: &Report, name: &str| report.functions(name)[0].get("bound").cloned();
        assert_eq!(bound(&on, "outer"), None);
        assert_eq!(on.calls("outer"), 10);
        let (off, text) = built("off");
        assert_eq!(off.calls("outer"), 3, "seven frames are missing");
        assert_eq!(bound(&off, "outer"), Some("at_least".into()), "{kind}");
        assert_eq!(bound(&off, "leaf"), None, "no frame can be left there");
        let row = |name: &str| text.lines().find(|line| line.ends_with(name)).unwrap();
        assert!(row("outer").contains(" ≥3 "), "{text}");
        assert!(!row("leaf").contains('≥'), "{text}");
        assert!(text.contains("≥ as many or more"), "{text}");
        // With edges, a line in which a frame was left counts as run to its end.
        let mark = if kind == "edges" { "~" } else { "≥" };
        let lines = project.holloway(&format!("report {kind}-off --view lines --top 100"));
        let lines = lines.ok();
        lines.says(&format!("{mark}3 │     6")).says("10 │     4");
    }
}
