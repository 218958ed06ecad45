//! Golden files of the report of a watched run.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::samples::{SampledCode, SampledFile, SampledRun, SourceLine};
use holloway_format::samples::{KnownBlocks, MonitorState, SampleClock};
use holloway_format::{Count, FunctionIndex, ProgramSamples};
use holloway_report::{Options, SampleView, Source, json, terminal};
use holloway_testkit::build::{image, module, slide};
use insta::assert_snapshot;

/// Source text that names its line.
struct Numbered;

impl Source for Numbered {
    fn line(&self, _: &str, line: u32) -> Option<String> {
        Some(format!("    code of line {line};"))
    }
}

fn in_block(block: u32, samples: u64) -> SampledCode {
    SampledCode {
        samples: Count(samples),
        block: Some((FunctionIndex::default(), block)),
        ..SampledCode::default()
    }
}

fn by_symbol(symbol: &str, samples: u64) -> SampledCode {
    SampledCode {
        samples: Count(samples),
        symbol: symbol.to_owned(),
        place: SourceLine {
            file: "/src/format.rs".to_owned(),
            line: 17,
        },
        ..SampledCode::default()
    }
}

fn file(path: &str, blocks: KnownBlocks, code: Vec<SampledCode>) -> SampledFile {
    SampledFile {
        path: path.to_owned(),
        blocks,
        map: matches!(blocks, KnownBlocks::Known { .. })
            .then(|| image("app", vec![module("part.o", vec![slide()])])),
        code,
    }
}

fn run() -> SampledRun {
    let known = KnownBlocks::Known {
        map: [7; 16],
        left_out: 2,
    };
    let unnamed = SampledCode {
        samples: Count(50),
        ..SampledCode::default()
    };
    let formatter = "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE";
    SampledRun {
        clock: SampleClock::CpuTime,
        state: MonitorState::Watching,
        frequency: 1024,
        duration_ns: 2_500_000_000,
        lost: 3,
        without_file: Count(10),
        programs: vec![
            ProgramSamples {
                path: "/home/me/app".to_owned(),
                samples: Count(1_060),
            },
            ProgramSamples {
                path: String::new(),
                samples: Count(40),
            },
        ],
        files: vec![
            file(
                "/home/me/app",
                known,
                vec![in_block(1, 600), in_block(2, 200), in_block(0, 100)],
            ),
            file(
                "/lib/libfmt.so",
                KnownBlocks::NotWoven,
                vec![by_symbol(formatter, 100), unnamed],
            ),
            file(
                "/lib/libstripped.so",
                KnownBlocks::NoSymbols,
                vec![by_symbol("", 40)],
            ),
        ],
        damage: Vec::new(),
    }
}

fn text(run: &SampledRun, view: SampleView, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    terminal::samples::write(run, view, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn functions() {
    assert_snapshot!(text(
        &run(),
        SampleView::Functions,
        &Options::new(&Numbered)
    ));
}

#[test]
fn blocks() {
    assert_snapshot!(text(&run(), SampleView::Blocks, &Options::new(&Numbered)));
}

#[test]
fn lines() {
    assert_snapshot!(text(&run(), SampleView::Lines, &Options::new(&Numbered)));
}

#[test]
fn json_of_one_function() {
    let options = Options {
        function: Some(regex::Regex::new("pad").unwrap()),
        ..Options::new(&Numbered)
    };
    let mut out = Vec::new();
    json::samples::write(&run(), &options, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["basis"], "time");
    assert_eq!(document["samples"], 1_100);
    assert_eq!(document["functions"].as_array().unwrap().len(), 1);
    assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn runs_without_samples_and_without_selected_functions_say_so() {
    let options = Options {
        function: Some(regex::Regex::new("nothing").unwrap()),
        ..Options::new(&Numbered)
    };
    let none_selected = text(&run(), SampleView::Functions, &options);
    assert!(none_selected.contains("no selected function has samples"));
    let empty = SampledRun {
        files: Vec::new(),
        without_file: Count(0),
        ..run()
    };
    let empty = text(&empty, SampleView::Blocks, &Options::new(&Numbered));
    assert!(empty.contains("no sample: the watched programs used no CPU time"));
}
