//! Golden files of the report of a watched run.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::samples::{
    RecordedBranches, SampledCode, SampledFile, SampledRun, SourceLine,
};
use holloway_format::branches::{
    BranchFile, BranchQuality, EdgeSamples, FunctionBranches, RecordSource,
};
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
        records: None,
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

/// The run, with branch records of the function `slide`: ten times path 1, and 20 calls.
fn with_records(depth: u64) -> SampledRun {
    let map = image("app", vec![module("a", vec![slide()])]);
    let edge = |edge, count, mispredicted| EdgeSamples {
        edge,
        count: Count(count),
        mispredicted: Count(mispredicted),
    };
    let function = FunctionBranches {
        index: FunctionIndex::default(),
        calls: Count(20),
        edges: vec![
            edge(0, 19, 0),
            edge(4, 19, 0),
            edge(6, 12, 3),
            edge(7, 11, 0),
            edge(8, 10, 0),
        ],
        paths: match depth {
            0 => Vec::new(),
            _ => vec![(1, Count(10))],
        },
    };
    SampledRun {
        records: Some(RecordedBranches {
            facts: BranchFile {
                source: RecordSource::PerfData,
                name: "perf.data".to_owned(),
                event: "cycles:u".to_owned(),
                depth,
                kernel: 4,
                other_events: 0,
                damaged: 0,
                quality: BranchQuality {
                    stacks: 5,
                    branches: 160,
                    runs: 99,
                    impossible_runs: 1,
                    transitions: 200,
                    unmatched: 1,
                    ambiguous: 1,
                    paths: 9,
                },
                files: Vec::new(),
            },
            files: vec![(map, vec![function])],
        }),
        ..run()
    }
}

#[test]
fn branch_records_show_edges_and_paths_as_sampled() {
    let options = Options::new(&Numbered);
    for (view, texts) in [
        (
            SampleView::Paths,
            [
                "sampled, not exact: paths in stacks of up to 32 taken branches, 160 in all",
                "10 ×",
                "Hottest paths",
            ],
        ),
        (
            SampleView::Edges,
            [
                "sampled, not exact: edges in stacks of up to 32",
                "b3 → b4",
                "Hottest edges",
            ],
        ),
        (
            SampleView::Branches,
            [
                "3 on 71 edges taken, measured: slide b3 100.0 %",
                "Hardest branches",
                "kernel",
            ],
        ),
        (
            SampleView::Functions,
            [
                "imported      perf.data, event cycles:u",
                "160 taken, in 5 stacks of up to 32; 9 paths within one stack",
                "1.0 % of 100 runs between two branches are impossible",
            ],
        ),
    ] {
        let shown = text(&with_records(32), view, &options);
        let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in texts {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(joined.contains(&text), "{view:?}: {text}\n{shown}");
        }
    }
    let mut out = Vec::new();
    json::samples::write(&with_records(32), &options, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let function = &document["records"]["functions"][0];
    assert_eq!(
        (&function["calls"], &function["paths"][0]["count"]),
        (&20.into(), &10.into())
    );
    assert_eq!(function["edges"][2]["mispredicted"], 3, "{function}");
    // Without stacks there are no paths.
    let shown = text(&with_records(0), SampleView::Paths, &options);
    assert!(
        shown.contains("no selected path lies within one stack"),
        "{shown}"
    );
}

#[test]
fn records_that_show_nothing_say_whether_the_program_is_known() {
    let options = Options::new(&Numbered);
    let check = |files: Vec<SampledFile>, expected: &str| {
        let mut run = with_records(0);
        run.files = files;
        run.without_file = Count::ZERO;
        if let Some(records) = &mut run.records {
            records.files = vec![(image("app", Vec::new()), Vec::new())];
        }
        let shown = text(&run, SampleView::Functions, &options);
        assert!(shown.contains(expected), "{expected}\n{shown}");
    };
    let known = KnownBlocks::Known {
        map: [7; 16],
        left_out: 0,
    };
    let known = file("/opt/app", known, Vec::new());
    check(
        vec![known],
        "no record shows an edge or a call between known blocks",
    );
    check(Vec::new(), "no record lies in a program that was found");
}
