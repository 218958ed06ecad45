//! Golden files of simulated predictors, in tests/snapshots.
//! `INSTA_UPDATE=always cargo test -p holloway-report` updates them.
//!
//! The program has a loop whose turns choose between two blocks at random.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::PathBuf;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::note::Note;
use holloway_analysis::predictors::answer::Sweep;
use holloway_analysis::predictors::{Answer, Estimates, Question};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::Trace;
use holloway_analysis::trace::code::Code;
use holloway_format::{FunctionMap, ImageMap, Outcome};
use holloway_report::predictors::Predictions;
use holloway_report::source::Source;
use holloway_report::thread::Thread;
use holloway_report::trace::Stream;
use holloway_report::{Options, json, terminal};
use holloway_testkit::build::{function, path_number};
use holloway_testkit::narrow;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use insta::assert_snapshot;

/// A loop with a diamond: b1 leads to b2 or b3, and b4 back to b1 or to b5.
fn dice() -> FunctionMap {
    let at = |line: u32| [(0, 10 + line)];
    function("dice", "/home/me/app/main.c", 10)
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

/// The text of line 12.
struct Line12;

impl Source for Line12 {
    fn line(&self, _file: &str, line: u32) -> Option<String> {
        (line == 12).then(|| "    if (die() > 3)".to_owned())
    }
}

/// A call with this number of turns.
fn record(image: &Arc<ImageMap>, turns: u32) -> Trace {
    let first: Vec<u32> = Words::new(image).functions().map(|f| f.first).collect();
    let map = dice();
    let path = |blocks: &[u32]| first[0] + path_number(&map, blocks) as u32;
    let (enter, exit) = (path(&[0, 1, 2, 4]), path(&[1, 3, 4, 5]));
    let (left, right) = (path(&[1, 2, 4]), path(&[1, 3, 4]));
    let mut state = 1u32;
    let turns = (0..turns).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { left } else { right }
    });
    let words = [enter].into_iter().chain(turns).chain([exit]);
    trace(image, &words.collect::<Vec<u32>>())
}

fn options(width: usize) -> Options<'static> {
    Options {
        width,
        cwd: Some(PathBuf::from("/home/me/app")),
        ..Options::new(&Line12)
    }
}

/// All intervals between dumps, from 50,000 instructions down.
const ESTIMATES: Option<Estimates> = Some(Estimates {
    dump_interval: 50_000,
    sweep: Sweep::On,
});

/// Writes the predictions for a trace with `write`.
fn report(
    image: &Arc<ImageMap>,
    trace: &Trace,
    damage: &[Note],
    estimates: Option<Estimates>,
    write: impl Fn(&Predictions<'_>) -> Vec<u8>,
) -> String {
    let code = Code::new(image);
    let stream = Stream {
        image: "app",
        process: 100,
        thread: 101,
        nth: None,
        code: &code,
        trace,
        part: None,
        file_bytes: Some(64),
        checked: None,
        damage,
    };
    let question = Question { estimates };
    let answer = Answer::new(&code, trace, &question);
    let predictions = Predictions {
        thread: Thread {
            stream: &stream,
            other_streams: 2,
            damage: &[],
            profile: None,
        },
        answer: &answer,
    };
    String::from_utf8(write(&predictions)).unwrap()
}

fn text(
    words: impl Fn(&Arc<ImageMap>) -> Trace,
    estimates: Option<Estimates>,
    width: usize,
) -> String {
    let damage = [Note::Trace("block 3 cut short".into())];
    let image = placed(vec![dice()], Kind::Trace);
    report(&image, &words(&image), &damage, estimates, |predictions| {
        let mut out = Vec::new();
        terminal::predictors::write(predictions, &options(width), &mut out).unwrap();
        out
    })
}

#[test]
fn predictions_as_text() {
    let text = text(|image| record(image, 30_000), None, 110);
    assert_snapshot!("predictions", text);
}

#[test]
fn estimates_follow_the_predictions() {
    let record = |image: &Arc<ImageMap>| record(image, 30_000);
    let with_estimates = text(record, ESTIMATES, 110);
    let estimates = with_estimates.strip_prefix(&text(record, None, 110));
    assert_snapshot!("estimates", estimates.unwrap());
}

#[test]
fn a_thread_without_branches_has_no_predictions() {
    let text = text(|image| trace(image, &[]), ESTIMATES, 110);
    assert_snapshot!("no_predictions", text);
}

#[test]
fn narrow_terminals_lose_no_number() {
    narrow::check(None, &|width| {
        text(|image| record(image, 3000), ESTIMATES, width)
    });
}

#[test]
fn predictions_as_json() {
    let image = placed(vec![dice()], Kind::Trace);
    let trace = record(&image, 30_000);
    let write = |estimates| -> serde_json::Value {
        let text = report(&image, &trace, &[], estimates, |predictions| {
            let mut out = Vec::new();
            json::predictors::write(predictions, &options(usize::MAX), &mut out).unwrap();
            out
        });
        serde_json::from_str(&text).unwrap()
    };
    let mut value = write(ESTIMATES);
    assert_eq!(value["schema"], 1);
    assert_eq!(value["executed_branches"], 2 * 30_002);
    let schemes = value["schemes"].as_array().unwrap();
    assert_eq!(schemes.len(), 12);
    for scheme in schemes {
        let thresholds = scheme["tse"].as_object().unwrap().keys();
        assert_eq!(thresholds.collect::<Vec<_>>(), ["0.1", "1", "3", "5"]);
    }
    // Only the schemes depend on the option.
    value.as_object_mut().unwrap().remove("schemes");
    assert_eq!(write(None), value);
    // The die is fair. The only other branch is the loop's.
    let die = &value["branches"][0];
    assert_eq!((&die["line"], &die["select"]), (&12.into(), &9.into()));
    let missed = die["mispredictions"]["tage"].as_u64().unwrap();
    assert!((13_000..17_000).contains(&missed), "{missed}");
    assert!(value["select"]["mispredictions"].as_u64().unwrap() >= missed);
    let in_paths = value["paths"].as_array().unwrap().iter();
    let in_paths = in_paths.map(|path| path["mispredictions"].as_u64().unwrap());
    assert_eq!(
        in_paths.sum::<u64>(),
        value["models"][2]["mispredictions"].as_u64().unwrap()
    );
}
