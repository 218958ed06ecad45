//! The document of HTML pages: its numbers equal those of the JSON report, and it stays small.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod large_run;

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use holloway_analysis::{CountBasis, RunProfile};
use holloway_format::Count;
use holloway_report::html::{Streams, Subject, page};
use holloway_report::source::Nothing;
use holloway_report::{Options, Source, View, json};
use holloway_testkit::build::{SLIDE_FIRST, image, module, profile, slide};
use large_run::large_run;
use serde_json::Value;

/// The lines of a page's document.
fn document(page: &str) -> Vec<Value> {
    let (_, from) = page.split_once("id=\"document\">").unwrap();
    let (packed, _) = from.split_once("</script>").unwrap();
    let mut text = String::new();
    let bytes = STANDARD.decode(packed).unwrap();
    GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn page_of(run: &RunProfile, source: &dyn Source, streams: Streams) -> String {
    let subject = Subject {
        title: "slide".to_owned(),
        streams,
    };
    page(run, &subject, &Options::new(source)).unwrap()
}

fn slide_run() -> RunProfile {
    let image = image("slide", vec![module("slide.c", vec![slide()])]);
    let profile = profile(&image, 7, &[(0, 0, SLIDE_FIRST)]);
    RunProfile::new(vec![(image, vec![profile])])
}

fn json_of(run: &RunProfile) -> Value {
    let mut bytes = Vec::new();
    json::write(run, &Options::new(&Nothing), &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// The paths of a function's line: numbers and counts.
fn paths(function: &Value) -> Vec<(u64, u64)> {
    let fields: Vec<u64> = function["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field.as_u64().unwrap())
        .collect();
    let mut number = 0;
    fields
        .chunks(2)
        .map(|pair| {
            number += pair[0];
            (number, pair[1])
        })
        .collect()
}

#[test]
fn the_numbers_of_a_page_are_those_of_the_json_report() {
    let run = slide_run();
    let report = json_of(&run);
    let document = document(&page_of(&run, &Nothing, Streams::default()));
    let [head, function, _file, _streams] = &document[..] else {
        panic!("a head, a function, a file, and the streams");
    };
    for total in [
        "distinct_paths",
        "possible_paths",
        "instructions",
        "functions_run",
    ] {
        assert_eq!(head["totals"][total], report["totals"][total], "{total}");
    }
    let reported = &report["functions"][0];
    assert_eq!(head["functions"]["names"][0], reported["name"]);
    let mut expected: Vec<(u64, u64)> = reported["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| {
            (
                path["id"].as_u64().unwrap(),
                path["count"].as_u64().unwrap(),
            )
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(paths(function), expected);
    for block in reported["blocks"].as_array().unwrap() {
        let id = block["id"].as_u64().unwrap() as usize;
        assert_eq!(function["counts"][id], block["count"], "b{id}");
        assert_eq!(function["instructions"][id], block["instructions"], "b{id}");
    }
    let hottest = &reported["paths"][0];
    assert_eq!(head["hot"]["numbers"][0], hottest["id"]);
    assert_eq!(head["hot"]["counts"][0], hottest["count"]);
    assert_eq!(head["hot"]["instructions"][0], hottest["instructions"]);
}

#[test]
fn a_page_says_that_counts_are_estimated() {
    let mut run = slide_run();
    let head = |run: &RunProfile| document(&page_of(run, &Nothing, Streams::default())).remove(0);
    assert_eq!(head(&run)["basis"], Value::Null);
    run.basis = CountBasis::Time { samples: Count(70) };
    let head = head(&run);
    let basis = head["basis"].as_str().unwrap();
    assert!(basis.contains("estimated from 70 samples"), "{basis}");
}

#[test]
fn a_page_says_what_the_edges_predict() {
    let run = slide_run();
    let options = Options {
        view: Some(View::PathsFromEdges),
        ..Options::new(&Nothing)
    };
    let mut bytes = Vec::new();
    json::write(&run, &options, &mut bytes).unwrap();
    let report: Value = serde_json::from_slice(&bytes).unwrap();
    let document = document(&page_of(&run, &Nothing, Streams::default()));
    let right = &report["prediction"]["functions"][0]["right"]["executions"];
    assert_eq!(&document[0]["functions"]["predicted"][0], right);
}

#[test]
fn a_page_has_the_source_of_functions_that_ran() {
    struct Lines;
    impl Source for Lines {
        fn line(&self, file: &str, line: u32) -> Option<String> {
            assert_eq!(file, "slide.c");
            (line <= 12).then(|| format!("</script> line {line}"))
        }
    }
    let page = page_of(&slide_run(), &Lines, Streams::default());
    let document = document(&page);
    let excerpts = &document[2]["excerpts"];
    assert_eq!(excerpts["first"], serde_json::json!([1]));
    let text = excerpts["text"][0].as_str().unwrap();
    assert!(text.starts_with("</script> line 1\n"), "{text}");
    assert!(text.ends_with("line 12"), "{text}");
}

#[test]
fn the_last_line_has_the_documents_of_the_streams() {
    let streams = Streams {
        loops: Some(
            "{\"schema\":1,\n\"k\":8,\"loops\":[\
             {\"linkage_name\":\"slide\",\"module\":\"slide.c\",\"image\":\"slide\"},\
             {\"linkage_name\":\"slide\",\"module\":\"other.c\",\"image\":\"slide\"}]}\n"
                .to_owned(),
        ),
        variation: None,
    };
    let document = document(&page_of(&slide_run(), &Nothing, streams));
    let last = document.last().unwrap();
    assert_eq!(last["loops"]["document"]["k"], 8);
    assert_eq!(last["loops"]["functions"], serde_json::json!([0, -1]));
    assert_eq!(last["variation"], Value::Null);
    assert_eq!(document[0]["has_loops"], true);
    assert_eq!(document[0]["has_variation"], false);
}

#[test]
fn the_same_run_gives_the_same_page() {
    let write = || page_of(&slide_run(), &Nothing, Streams::default());
    assert_eq!(write(), write());
}

/// A tenth of the example's run. The whole run takes half a minute without optimization.
#[test]
fn a_hundred_thousand_paths_in_ten_thousand_functions_take_less_than_a_megabyte() {
    const LIMIT: usize = 1_000_000;
    let run = large_run(10);
    let page = page_of(&run, &Nothing, Streams::default());
    let paths: usize = run.functions.iter().map(|each| each.counts.len()).sum();
    assert_eq!((run.functions.len(), paths), (10_000, 100_000));
    assert!(page.len() < LIMIT, "{} bytes", page.len());
}
