//! Golden files of phases, in tests/snapshots.
//! `INSTA_UPDATE=always cargo test -p holloway-report` updates them.
//!
//! The program has two loops in two functions. It runs the first for 30,000 rounds, then the
//! second, then the first again.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::PathBuf;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::note::Note;
use holloway_analysis::phases::{Answer, Question, TriggerParameters};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::Trace;
use holloway_analysis::trace::code::Code;
use holloway_format::{FunctionMap, ImageMap, Outcome};
use holloway_report::phases::Phases;
use holloway_report::source::Nothing;
use holloway_report::thread::Thread;
use holloway_report::trace::Stream;
use holloway_report::{Options, json, terminal};
use holloway_testkit::build::{function, path_number};
use holloway_testkit::narrow;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use insta::assert_snapshot;

/// A loop with a condition: b1 leads to b2 or b3, and b4 back to b1 or to b5.
fn counter(name: &str, first_line: u32) -> FunctionMap {
    let at = |line| [(0, first_line + line)];
    function(name, "/home/me/app/main.c", first_line)
        .block(2, &at(1))
        .block(3, &at(2))
        .block(4, &at(3))
        .block(5, &at(5))
        .block(2, &at(6))
        .block(1, &at(8))
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Jump)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 1, Outcome::True)
        .edge(4, 5, Outcome::False)
        .edge(5, 6, Outcome::Return)
        .done()
}

fn app() -> Arc<ImageMap> {
    placed(
        vec![counter("digits", 10), counter("words", 30)],
        Kind::Trace,
    )
}

/// A call of each of these functions, with 30,000 rounds.
fn record(image: &Arc<ImageMap>, functions: &[usize]) -> Trace {
    let first: Vec<u32> = Words::new(image).functions().map(|f| f.first).collect();
    let map = counter("f", 1);
    let path = |blocks: &[u32]| path_number(&map, blocks) as u32;
    let (enter, exit) = (path(&[0, 1, 2, 4]), path(&[1, 3, 4, 5]));
    let (left, right) = (path(&[1, 2, 4]), path(&[1, 3, 4]));
    let mut words = Vec::new();
    for &function in functions {
        let rounds = (0..30_000).map(|round| if round % 3 == 0 { right } else { left });
        let paths = [enter].into_iter().chain(rounds).chain([exit]);
        words.extend(paths.map(|path| first[function] + path));
    }
    trace(image, &words)
}

fn options(width: usize) -> Options<'static> {
    Options {
        width,
        cwd: Some(PathBuf::from("/home/me/app")),
        ..Options::new(&Nothing)
    }
}

/// Writes the phases with `write`.
fn report(functions: &[usize], damage: &[Note], write: impl Fn(&Phases<'_>) -> Vec<u8>) -> String {
    let image = app();
    let trace = record(&image, functions);
    let code = Code::new(&image);
    let stream = Stream {
        image: "app",
        process: 100,
        thread: 101,
        nth: None,
        code: &code,
        trace: &trace,
        part: None,
        file_bytes: Some(64),
        checked: None,
        damage,
    };
    let question = Question {
        trigger: Some(TriggerParameters::default()),
        ..Question::default()
    };
    let answer = Answer::new(&code, &trace, &question).unwrap();
    let phases = Phases {
        thread: Thread {
            stream: &stream,
            other_streams: 2,
            damage: &[],
            profile: None,
        },
        question: &question,
        answer: &answer,
    };
    String::from_utf8(write(&phases)).unwrap()
}

fn text(functions: &[usize], width: usize) -> String {
    let damage = [Note::Trace("block 3 cut short".into())];
    report(functions, &damage, |phases| {
        let mut out = Vec::new();
        terminal::phases::write(phases, &options(width), &mut out).unwrap();
        out
    })
}

#[test]
fn phases_as_text() {
    assert_snapshot!("phases", text(&[0, 1, 0], 110));
}

#[test]
fn a_thread_without_branches_has_no_phases() {
    assert_snapshot!("no_phases", text(&[], 110));
}

#[test]
fn narrow_terminals_lose_no_number() {
    narrow::check(None, &|width| text(&[0, 1], width));
}

#[test]
fn phases_as_json() {
    let text = report(&[0, 1, 0], &[], |phases| {
        let mut out = Vec::new();
        json::phases::write(phases, &options(usize::MAX), &mut out).unwrap();
        out
    });
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], 1);
    // The two branches of `digits` in turn are found after 15 × 2 + 8,191 branches.
    assert_eq!(value["hot_spots"][0]["detected_at"], 8221);
    assert_eq!(value["hot_spots"].as_array().unwrap().len(), 2);
    let phases = value["phases"].as_array().unwrap();
    let phases: Vec<_> = phases
        .iter()
        .map(|phase| &phase["functions"][0]["function"])
        .collect();
    assert_eq!(phases, ["digits", "words"]);
    let branches = value["hot_spots"][0]["branches"].as_array().unwrap();
    let places = branches.iter().map(|branch| &branch["line"]);
    assert_eq!(places.collect::<Vec<_>>(), [12, 16]);
    let text = serde_json::to_string(&value).unwrap();
    assert_snapshot!(
        "phases_json",
        text.replace("},{", "},\n{").replace("[{", "[\n{")
    );
}
