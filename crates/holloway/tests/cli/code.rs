//! `holloway graph` and `holloway annotate`: one function or file of a run.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::cli_support::Project;

const PROGRAM: &str = r#"use std::hint::black_box;

#[inline(never)]
fn score(text: &[u8]) -> u32 {
    let mut score = 0;
    for &byte in text {
        if byte == b'a' {
            score += black_box(2);
        } else if byte > b'x' {
            score += black_box(3);
        }
    }
    score
}

#[inline(never)]
fn never(text: &[u8]) -> u32 {
    black_box(text.len() as u32)
}

fn main() {
    let mut sum = 0;
    for _ in 0..10 {
        sum += score(black_box(b"abcaxyz"));
    }
    if sum == 1 {
        sum += never(b"");
    }
    println!("{sum}");
}
"#;

/// A project with a recorded run of paths, and one of edges.
fn recorded() -> (&'static Project, [PathBuf; 2]) {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::binary("", PROGRAM);
        project
            .cargo_holloway("run --release --no-report -o paths")
            .ok();
        let edges = "run --release --no-report --collect edges -o edges";
        project.cargo_holloway(edges).ok();
        project
    });
    (
        project,
        ["paths", "edges"].map(|run| project.path().join(run)),
    )
}

fn print(words: &str) -> String {
    recorded().0.holloway(words).ok().stdout
}

/// The number of a path is the sum of the values along it, and of the increments of its chords.
#[test]
fn the_numbers_of_all_paths_add_up() {
    let report = recorded()
        .0
        .holloway("report paths --format json")
        .ok()
        .json();
    let score = report.functions("app::score")[0].clone();
    let paths = score["paths"].as_array().unwrap();
    assert!(paths.len() >= 3, "{score:#}");
    for path in paths {
        let number = path["id"].as_i64().unwrap();
        let text = print(&format!("graph score paths --numbering --path {number}"));
        let line = text.lines().find(|line| line.contains("(values)")).unwrap();
        let sums = line.split_once(" = ").unwrap().1;
        let (values, chords) = sums.split_once(" (values) = ").unwrap();
        let chords = chords.strip_suffix(" (chords)").unwrap().replace('−', "-");
        let sum = |terms: &str, separator: &str| -> i64 {
            terms
                .split(separator)
                .map(|term| term.parse::<i64>().unwrap())
                .sum()
        };
        assert_eq!(sum(values, " + "), number, "{text}");
        assert_eq!(sum(&chords, " "), number, "{text}");
        let count = path["count"].as_u64().unwrap();
        assert!(text.contains(&format!("· {count} execution")), "{text}");
    }
}

/// The graph of a run of edges has the same counts as that of a run of paths.
#[test]
fn graphs_of_paths_and_edges_have_equal_counts() {
    let counts = |run: &str| {
        let text = print(&format!("graph score {run} --all"));
        let rows = text.lines().skip_while(|line| !line.contains("entry"));
        let counts = rows.map_while(|line| {
            let line = line.trim_start_matches(['┃', ' ']);
            let count: String = line.chars().take_while(char::is_ascii_digit).collect();
            (!line.is_empty()).then_some(count)
        });
        counts.filter(|count| !count.is_empty()).collect::<Vec<_>>()
    };
    let of_paths = counts("paths");
    assert!(of_paths.contains(&"70".to_owned()), "{of_paths:?}");
    assert_eq!(of_paths, counts("edges"));
    let edges = print("graph score edges --numbering");
    assert!(edges.contains("chord: counter "), "{edges}");
}

#[test]
fn dot_is_the_export() {
    let exported = print("export --format dot --function ^app::score$ paths");
    assert_eq!(print("graph score paths --dot"), exported);
    let marked = print("graph score paths --dot --path 0");
    assert!(
        !exported.contains("color=red") && marked.contains("color=red"),
        "{marked}"
    );
}

#[test]
fn a_path_is_chosen_by_number_or_name() {
    let by_number = print("graph score paths --path 0");
    let name = by_number.split_once("p0#").unwrap().1;
    let name = name.split_once(' ').unwrap().0;
    assert_eq!(print("graph score paths --path p0"), by_number);
    assert_eq!(
        print(&format!("graph score paths --path #{name}")),
        by_number
    );
    assert_eq!(print(&format!("graph score#{name} paths")), by_number);
}

#[test]
fn bad_questions_have_one_clear_answer() {
    let fails = |words: &str, text: &str| {
        recorded().0.holloway(words).exits(2).complains(text);
    };
    fails("graph score paths --path 1000", "there is no path p1000");
    fails(
        "graph score paths --path x",
        "give a path's number or short name",
    );
    fails(
        "graph score edges --path 0",
        "edges were recorded, not paths",
    );
    fails("graph never paths", "no function with this name ran");
    fails("graph scor_ paths", "score");
    fails("graph . paths", "functions match: ");
    fails(
        "graph ( paths",
        "no function has the name (, and it is no regex",
    );
    fails("annotate nothing.rs paths", "nothing.rs");
}

/// The margin has the counts of the lines view, and outcomes have the counts of the branches.
#[test]
fn a_file_is_annotated_with_the_counts_of_its_lines() {
    let text = print("annotate main.rs paths");
    let json = recorded()
        .0
        .holloway("report paths --view lines --all-code --format json");
    let json = json.ok().json();
    let lines = json.0["lines"].as_array().unwrap().iter();
    let lines = lines.filter(|line| line["file"].as_str().unwrap().ends_with("main.rs"));
    let number = |line: &serde_json::Value, key: &str| line[key].as_u64().unwrap();
    let expected: Vec<(u64, u64)> = lines
        .map(|line| (number(line, "line"), number(line, "count")))
        .collect();
    assert!(!expected.is_empty());
    let rows = text.lines().filter_map(|row| {
        let mut cells = row.split('│').map(|cell| cell.trim().replace(',', ""));
        let count = cells.next()?.parse::<u64>().ok()?;
        Some((cells.next()?.parse::<u64>().ok()?, count))
    });
    let mut expected = expected;
    expected.sort_unstable();
    assert_eq!(rows.collect::<Vec<_>>(), expected, "{text}");
    assert!(text.contains("line 8 ×20 (28.6 %)"), "{text}");
    // The whole file is there, also lines without code.
    assert!(text.contains("│ use std::hint::black_box;"), "{text}");
}

#[test]
fn a_function_is_annotated_from_its_declaration_to_its_end() {
    let text = print("annotate score paths");
    assert!(text.starts_with("app::score  src/main.rs:4–"), "{text}");
    assert!(text.contains("fn score(text: &[u8]) -> u32 {"), "{text}");
    assert!(!text.contains("fn never"), "{text}");
    let never = print("annotate never paths");
    assert!(
        never.contains("0 of ") && never.contains("fn never"),
        "{never}"
    );
}

/// If a source file has changed since the build, one warning names it.
#[test]
fn sources_that_have_changed_are_named() {
    let text = "int main(int count, char **words) {\n  int sum = 0;\n  while (sum < 9) sum += count;\n  return sum == 0;\n}\n";
    let project = Project::new(&[("sub/app.c", text)]);
    project.holloway("cc -O1 -g sub/app.c -o app").ok();
    project.holloway("run --no-report -o run -- ./app").ok();
    let traced = project.holloway("cc --collect trace -O1 -g sub/app.c -o traced");
    traced.ok();
    let run = project.holloway("run --no-report -o traced-run -- ./traced");
    run.ok();
    let changed = "warning: sub/app.c has changed since the program was built";
    let views = [
        "annotate main run",
        "annotate app.c run",
        "graph main run",
        "coverage run",
        "report run",
        "report run --view lines,paths",
        "report run --html page.html",
        "overlap run run",
        "diff run run",
        "report traced-run",
        "trace cat traced-run",
        "trace diff traced-run traced-run",
    ];
    let warnings = |words: &str| {
        let called = project.holloway(words).ok();
        called.stderr.matches(changed).count()
    };
    for words in views {
        assert_eq!(warnings(words), 0, "{words}");
    }
    project.write("sub/app.c", &format!("// A comment.\n{text}"));
    for words in views {
        assert_eq!(warnings(words), 1, "{words}");
    }
    // No text is shown, so none is wrong.
    assert_eq!(warnings("export run --format folded"), 0);

    let says = |reason: &str| {
        project.holloway("annotate main run").ok().says(reason);
    };
    project.write("sub/app.c", "");
    says("the file has fewer lines than when it was compiled");
    let file = project.path().join("sub/app.c");
    std::fs::remove_file(&file).unwrap();
    says("the file is not on this machine");
    std::fs::create_dir(&file).unwrap();
    says("the file cannot be read (it is no regular file)");
}

#[test]
fn colors_follow_the_terminal() {
    let with = |term: &str, colorterm: &str| {
        let call = recorded().0.holloway("annotate score paths --color always");
        let call = call.env("TERM", term).env("COLORTERM", colorterm);
        call.ok().stdout
    };
    assert!(with("xterm", "").contains("\u{1b}[91m"));
    assert!(with("xterm-256color", "").contains("\u{1b}[38;5;160m"));
    assert!(with("xterm-256color", "truecolor").contains("\u{1b}[38;2;230;30;47m"));
    // A pipe has no colors, and neither has anything under NO_COLOR.
    assert!(!print("annotate score paths").contains('\u{1b}'));
}

/// `run` leaves the loop's frame early once it has three turns or more: in seven of ten calls.
const JUMP: &str = r#"
#include <setjmp.h>
#include <stdio.h>
static jmp_buf env;
__attribute__((noinline)) void check(int i) { if (i % 3 == 2) longjmp(env, 1); }
__attribute__((noinline)) int turns(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) { check(i); sum += i; }
    return sum;
}
int main(void) {
    volatile int total = 0;
    for (volatile int r = 0; r < 10; r++)
        if (!setjmp(env)) total += turns(r);
    printf("%d\n", total);
}
"#;

/// Each function shows how many of its frames were left early, and whether they were counted.
#[test]
fn functions_show_the_frames_that_were_left_early() {
    let project = Project::new(&[("jump.c", JUMP)]);
    let shown = |exits: &str| {
        let build = format!("cc -O1 -g --exits {exits} jump.c -o jump-{exits}");
        project.holloway(&build).ok();
        let run = format!("run --no-report -o {exits} -- ./jump-{exits}");
        project.holloway(&run).ok();
        let functions = project.holloway(&format!("report {exits} --view functions"));
        let functions = functions.ok().stdout;
        assert!(functions.contains("left early"), "{functions}");
        let row = functions
            .lines()
            .find(|line| line.ends_with("  turns"))
            .unwrap();
        let left = row.split_whitespace().rev().nth(1).unwrap().to_owned();
        let graph = project
            .holloway(&format!("graph turns {exits}"))
            .ok()
            .stdout;
        (left, graph)
    };
    let (left, graph) = shown("on");
    assert_eq!(left, "7");
    assert!(graph.contains(" · 7 frames left early"), "{graph}");
    let (left, graph) = shown("off");
    assert_eq!(left, "≥7");
    assert!(
        graph.contains("at least 7 frames left early, not counted"),
        "{graph}"
    );
}
