//! `holloway tui`, in a pseudo terminal.

use std::sync::OnceLock;

use crate::cli_support::Project;
use crate::cli_support::terminal::Terminal;

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
fn other(n: u32) -> u32 {
    if black_box(n) > 3 { 1 } else { 2 }
}

fn main() {
    let mut sum = 0;
    for n in 0..10 {
        sum += score(black_box(b"abcaxyz")) + other(n);
    }
    println!("{sum}");
}
"#;

fn recorded() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let project = Project::binary("", PROGRAM);
        project
            .cargo_holloway("run --release --no-report -o run")
            .ok();
        project
    })
}

const RIGHT: &str = "\u{1b}[C";
const LEFT: &str = "\u{1b}[D";

/// Search a function, step along its hottest path, go to the next path, copy it, and leave.
#[test]
fn a_user_searches_and_steps_along_a_path() {
    let mut terminal = Terminal::start(&recorded().holloway("tui run"), 30, 100);
    let first = terminal.wait_for("q leave");
    for name in ["app::main", "app::score", "app::other"] {
        assert!(first.contains(name), "{first}");
    }
    terminal.press("/score");
    let found = terminal.wait_until("the search", |text| text.contains("Functions  1 of "));
    assert!(
        found.contains("app::score") && !found.contains("app::other"),
        "{found}"
    );
    terminal.press("\r");
    let opened = terminal.wait_for("step ");
    assert!(
        opened.contains("app::score  src/main.rs:4 · 10 calls"),
        "{opened}"
    );
    // The source has the counts of its lines: `score` itself is called ten times.
    assert!(
        opened.contains("10 │     4 │ fn score(text: &[u8]) -> u32 {"),
        "{opened}"
    );
    terminal.press(&LEFT.repeat(20));
    terminal.wait_for("step 1 of ");
    terminal.press(RIGHT);
    terminal.wait_for("step 2 of ");
    terminal.press("c");
    let hottest = terminal.wait_for("copied p");
    terminal.press("]");
    terminal.wait_until("the keys again", |text| !text.contains("copied p"));
    terminal.press("c");
    let second = terminal.wait_for("copied p");
    let copied = |text: &str| text.lines().last().map(str::to_owned);
    assert_ne!(copied(&hottest), copied(&second), "{second}");
    terminal.press("?");
    terminal.wait_for("step along the path");
    terminal.press("xq");
    let (code, last) = terminal.end();
    assert_eq!(code, Some(0), "{last}");
}

#[test]
fn narrow_terminals_show_the_same() {
    let mut terminal = Terminal::start(&recorded().holloway("tui run"), 24, 60);
    terminal.wait_for("q leave");
    terminal.press("/score\r");
    let opened = terminal.wait_for("step ");
    assert!(
        opened.lines().all(|line| line.chars().count() <= 60),
        "{opened}"
    );
    assert!(opened.contains("src/main.rs"), "{opened}");
    // Ctrl-C leaves.
    terminal.press("\u{3}");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn a_pipe_is_no_terminal() {
    let call = recorded().holloway("tui run").exits(2);
    call.fails_with("needs a terminal: use `holloway report`");
}
