//! The document of HTML pages: its numbers equal those of the JSON report, and it stays small.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod large_run;

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use holloway_analysis::deciding::deciding_edges;
use holloway_analysis::increments::{Increment, Increments};
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::{LookAhead, Sequitur, Terminal, Trace};
use holloway_analysis::trail::is_choice;
use holloway_analysis::{CountBasis, RunProfile};
use holloway_format::{Count, ImageMap, Outcome};
use holloway_report::html::{Baseline, Subject, page};
use holloway_report::source::Nothing;
use holloway_report::trace::{Cost, HotQuestion, Method, MinCost, Question, Run, Stream};
use holloway_report::{Options, Source, View, json};
use holloway_testkit::build::{SLIDE_FIRST, function, image, module, profile, slide};
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

fn page_of(run: &RunProfile, source: &dyn Source) -> String {
    page_with(run, source, &Subject::default())
}

fn page_with(run: &RunProfile, source: &dyn Source, subject: &Subject<'_>) -> String {
    page(run, subject, &Options::new(source)).unwrap()
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
    let document = document(&page_of(&run, &Nothing));
    let [head, function, _file] = &document[..] else {
        panic!("a head, a function, and a file");
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
fn the_increments_of_a_page_are_those_of_the_chords() {
    let run = slide_run();
    let function = &run.functions[0];
    let graph = function.graph().unwrap();
    let increments = Increments::new(&function.map, graph);
    let record = document(&page_of(&run, &Nothing)).remove(1);
    let fields = record["increments"].as_array().unwrap();
    assert_eq!(fields.len(), 2 * function.map.edges.len());
    let mut chords = 0;
    for (edge, terms) in increments.edges.iter().enumerate() {
        for (term, field) in [terms.before, terms.after].iter().zip(&fields[2 * edge..]) {
            match term.map(|term| term.increment) {
                Some(Increment::Chord(increment)) => {
                    chords += 1;
                    assert_eq!(field, increment);
                }
                Some(Increment::Tree) | None => assert!(field.is_null()),
                Some(Increment::Unknown) => panic!("the map marks its chords"),
            }
        }
    }
    assert!(chords > 0);
}

#[test]
fn lists_of_paths_name_the_decision_that_decides_each() {
    let run = slide_run();
    let function = &run.functions[0];
    let is_decision = |edge: u32| is_choice(function.map.edges[edge as usize].outcome);
    let deciding = deciding_edges(function, &is_decision);
    let document = document(&page_of(&run, &Nothing));
    let wired: Vec<i64> = deciding
        .iter()
        .map(|edge| edge.map_or(-1, i64::from))
        .collect();
    assert_eq!(document[1]["deciding"], Value::from(wired));
    let hot = &document[0]["hot"];
    let numbers = hot["numbers"].as_array().unwrap();
    assert_eq!(numbers.len(), function.counts.len());
    for (number, route) in numbers.iter().zip(hot["routes"].as_array().unwrap()) {
        let mut paths = function.counts.iter().zip(&deciding);
        let (_, edge) = paths
            .find(|((id, _), _)| number.as_u64() == Some(id.0))
            .unwrap();
        let edge = edge.unwrap() as usize;
        let words = document[1]["words"][edge].as_str().unwrap();
        let line = function.map.edges[edge].place.unwrap().line;
        let route = route.as_str().unwrap();
        assert!(
            route.starts_with(&format!("line {line} → {words}, in line")),
            "{route}"
        );
    }
}

/// A branch of library code, inlined into line 5 of the user's code. The page shows it on line 5,
/// so lines of the library need the name of their file.
#[test]
fn lines_of_inlined_library_code_have_the_name_of_their_file() {
    let map = function("f", "app.c", 1)
        .inlined("next", "/usr/include/c++/14/vector.h", 0, 5)
        .block(1, &[(1, 30)])
        .block(1, &[(1, 31)])
        .block(1, &[(1, 33)])
        .block(1, &[(0, 7)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::Return)
        .done();
    let image = image("app", vec![module("app.c", vec![map])]);
    let profile = profile(&image, 7, &[(0, 0, &[(0, 30), (1, 20)])]);
    let run = RunProfile::new(vec![(image, vec![profile])]);
    let document = document(&page_of(&run, &Nothing));
    let words = document[1]["words"].as_array().unwrap();
    assert_eq!(words[..2], ["vector.h:31", "vector.h:33"]);
    // The page lights the lines that the words name.
    let files = document[0]["files"]["names"].as_array().unwrap();
    let name = "/usr/include/c++/14/vector.h";
    let file = files.iter().position(|file| file == name).unwrap();
    let targets = document[1]["targets"].as_array().unwrap();
    assert_eq!(targets[..4], [file, 31, file, 33]);
    assert!(targets[4..].chunks(2).all(|target| target == [-1, 0]));
    assert_eq!(
        document[1]["file_names"],
        serde_json::json!(["vector.h", "app.c"])
    );
    let routes = document[0]["hot"]["routes"].as_array().unwrap();
    let has = |words: &str| {
        routes
            .iter()
            .any(|route| route.as_str().unwrap().starts_with(words))
    };
    assert!(has("line 5 → vector.h:31, in line"), "{routes:?}");
    assert!(has("line 5 → vector.h:33, in line"), "{routes:?}");
}

/// A branch of a header's code, which is inlined. Where it leads is named relative to the header,
/// and so is a way to another column of the branch's line.
#[test]
fn ways_are_named_relative_to_the_file_of_their_branch() {
    let map = function("f", "app.c", 1)
        .inlined("find", "find.h", 0, 5)
        .block(1, &[(1, 30)])
        .block(1, &[(1, 31)])
        .block_at(&[(1, 33, 7)])
        .block(1, &[(0, 7)])
        .block_at(&[(1, 33, 20)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .at(1, 30)
        .edge(0, 2, Outcome::False)
        .at(1, 30)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::True)
        .at_column(1, 33, 7)
        .edge(2, 4, Outcome::False)
        .at_column(1, 33, 7)
        .edge(4, 3, Outcome::Jump)
        .edge(3, 5, Outcome::Return)
        .done();
    let image = image("app", vec![module("app.c", vec![map])]);
    let profile = profile(&image, 7, &[(0, 0, &[(0, 30), (1, 20), (2, 10)])]);
    let run = RunProfile::new(vec![(image, vec![profile])]);
    let document = document(&page_of(&run, &Nothing));
    let words = document[1]["words"].as_array().unwrap();
    assert_eq!(words[..2], ["line 31", "line 33"]);
    assert_eq!(words[3..5], ["app.c:7", "column 20 of line 33"]);
    let routes = document[0]["hot"]["routes"].as_array().unwrap();
    let is_named = |route: &serde_json::Value| route.as_str().unwrap().starts_with("find.h:3");
    assert!(routes.iter().all(is_named), "{routes:?}");
}

/// The paths of the slides: ACDF ran 90 times, ACDEF 60, ABCDEF 100, and ABDF 20. The edge counts
/// predict ACDEF 150 times, ABCDF 100, ABDF 10, and ABDEF 10.
#[test]
fn the_missed_paths_are_those_that_are_predicted_too_rarely() {
    let run = slide_run();
    let head = document(&page_of(&run, &Nothing)).remove(0);
    let missed = &head["missed"];
    assert_eq!(missed["counts"], serde_json::json!([100, 90]));
    assert_eq!(missed["predicted"], serde_json::json!([0, 0]));
    assert_eq!(missed["instructions"], serde_json::json!([13, 6]));
    assert_eq!(missed["all"], 2);
    // Of ABDF, with 8 instructions, 10 executions are missed.
    let instructions = 100 * 13 + 90 * 6 + 10 * 8;
    assert_eq!(
        head["functions"]["missed_instructions"],
        serde_json::json!([instructions])
    );
    assert_eq!(head["functions"]["predicted"], serde_json::json!([60 + 10]));
}

#[test]
fn a_page_says_that_counts_are_estimated() {
    let mut run = slide_run();
    let head = |run: &RunProfile| document(&page_of(run, &Nothing)).remove(0);
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
    let document = document(&page_of(&run, &Nothing));
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
    let page = page_of(&slide_run(), &Lines);
    let document = document(&page);
    let excerpts = &document[2]["excerpts"];
    assert_eq!(excerpts["first"], serde_json::json!([1]));
    let text = excerpts["text"][0].as_str().unwrap();
    assert!(text.starts_with("</script> line 1\n"), "{text}");
    assert!(text.ends_with("line 12"), "{text}");
}

#[test]
fn a_run_with_loops_has_a_line_with_their_document() {
    let subject = Subject {
        loops: Some(
            "{\"schema\":1,\n\"k\":8,\"loops\":[\
             {\"linkage_name\":\"slide\",\"module\":\"slide.c\",\"image\":\"slide\"},\
             {\"linkage_name\":\"slide\",\"module\":\"other.c\",\"image\":\"slide\"}]}\n"
                .to_owned(),
        ),
        ..Subject::default()
    };
    let document = document(&page_with(&slide_run(), &Nothing, &subject));
    let last = document.last().unwrap();
    assert_eq!(last["now"]["document"]["k"], 8);
    assert_eq!(last["now"]["functions"], serde_json::json!([0, -1]));
    assert_eq!(last["before"], Value::Null);
    assert_eq!(document[0]["parts"], serde_json::json!(["loops"]));
}

/// The events of a trace in a document: terminals, and for each leaf the number of its events.
fn expand(grammar: &Value, rows: usize) -> Vec<Result<u64, u64>> {
    let numbers = |field: &str| -> Vec<u64> {
        let all = grammar[field].as_array().unwrap().iter();
        all.map(|number| number.as_u64().unwrap()).collect()
    };
    let (sizes, symbols, leaves) = (numbers("sizes"), numbers("symbols"), numbers("leaves"));
    let mut rules = Vec::new();
    let mut rest = &symbols[..];
    for size in sizes {
        let (rule, after) = rest.split_at(size as usize);
        rules.push(rule);
        rest = after;
    }
    assert_eq!(rest, [0; 0]);
    let mut events = Vec::new();
    let mut stack = vec![1];
    while let Some(symbol) = stack.pop() {
        let number = symbol / 3;
        match symbol % 3 {
            0 => events.push(Ok(number)),
            1 => stack.extend(rules[number as usize].iter().rev()),
            _ => events.push(Err(leaves[(2 + rows) * number as usize + 1])),
        }
    }
    events
}

/// A run of `slide` that was traced: its paths in a regular order, with a gap.
fn traced_slide(image: &ImageMap) -> Trace {
    let paths = Code::new(image).function(0).unwrap().path_count as u32;
    let terminal = |path| Terminal::Path { function: 0, path };
    let terminals: Vec<Terminal> = (0..paths).map(terminal).chain([Terminal::Gap]).collect();
    let mut sequitur = Sequitur::new(LookAhead::One);
    for round in 0..400u32 {
        let part = [0, 1, round * round % paths, 2 % paths];
        part.iter().for_each(|&event| sequitur.push(event));
        if round == 100 {
            sequitur.push(paths);
        }
    }
    Trace {
        terminals,
        grammar: sequitur.finish(),
    }
}

#[test]
fn a_trace_that_is_its_own_baseline_has_equal_counts() {
    let map = image("slide", vec![module("slide.c", vec![slide()])]);
    let (code, trace) = (Code::new(&map), traced_slide(&map));
    let short = Trace {
        terminals: trace.terminals.clone(),
        grammar: Sequitur::new(LookAhead::One).finish(),
    };
    let stream = |trace| Stream {
        image: "slide",
        process: 7,
        thread: 8,
        nth: None,
        code: &code,
        trace,
        part: None,
        file_bytes: None,
        checked: None,
        damage: &[],
    };
    let run = slide_run();
    let compared = |now: &[Stream<'_>], before: &[Stream<'_>]| {
        let baseline = Baseline {
            title: "before",
            run: &run,
            loops: None,
            variation: None,
            samples: None,
            traces: before,
            phases: None,
        };
        let subject = Subject {
            traces: now,
            baseline: Some(baseline),
            ..Subject::default()
        };
        let document = document(&page_with(&run, &Nothing, &subject));
        document.last().unwrap()["traces"].clone()
    };
    // The longest traces are compared, and the second longest have no counterpart.
    let traces = compared(&[stream(&short), stream(&trace)], &[stream(&trace)]);
    let before = &traces[0]["before"];
    assert_eq!(before["stats"], traces[0]["stats"]);
    assert_eq!(before["instructions"], traces[0]["instructions"]);
    assert_eq!(before["hot"], traces[0]["hot"]["counts"]);
    assert!(!before["hot"].as_array().unwrap().is_empty());
    assert_eq!(traces[1]["before"], Value::Null);
    let traces = compared(&[stream(&trace)], &[stream(&short)]);
    let before = &traces[0]["before"];
    assert_eq!(before["instructions"], serde_json::json!([0]));
    let hot = before["hot"].as_array().unwrap();
    assert!(!hot.is_empty() && hot.iter().all(|count| *count == 0));
}

#[test]
fn a_traced_run_has_a_line_with_its_grammar() {
    let map = image("slide", vec![module("slide.c", vec![slide()])]);
    let (code, trace) = (Code::new(&map), traced_slide(&map));
    let stream = Stream {
        image: "slide",
        process: 7,
        thread: 8,
        nth: None,
        code: &code,
        trace: &trace,
        part: None,
        file_bytes: None,
        checked: None,
        damage: &[],
    };
    let subject = Subject {
        traces: &[stream],
        ..Subject::default()
    };
    let document = document(&page_with(&slide_run(), &Nothing, &subject));
    assert_eq!(document[0]["parts"], serde_json::json!(["traces"]));
    let traces = document.last().unwrap();
    assert_eq!(traces["left_out"], 0);
    let record = &traces["traces"][0];
    let expected: Vec<_> = trace.grammar.expand().map(|id| Ok(id.into())).collect();
    assert_eq!(expand(&record["grammar"], 2), expected);
    assert_eq!(record["functions"], serde_json::json!([0]));

    let run = Run {
        streams: &[stream],
        damage: &[],
        accounts: &[],
        interrupt: None,
        profile: None,
    };
    let answer = |question: Question<'_>| -> Value {
        let mut bytes = Vec::new();
        json::trace::write(&question, &run, &Options::new(&Nothing), &mut bytes).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        document["streams"][0]["answer"].clone()
    };
    let stats = answer(Question::Stats);
    for (field, value) in record["stats"].as_object().unwrap() {
        if field != "events" {
            assert_eq!(value, &stats[field], "{field}");
        }
    }
    assert_eq!(record["stats"]["events"], trace.grammar.len());
    let hot = answer(Question::Hot(HotQuestion {
        min_len: 2,
        max_len: 10,
        min_cost: MinCost::Percent(1.0),
        cost: Cost::Instructions,
        method: Method::Exact,
        all: false,
    }));
    assert_eq!(record["hot"]["found"], hot["found"]);
    assert_eq!(record["hot"]["total"], hot["total"]);
    let sequences = hot["sequences"].as_array().unwrap();
    assert!(sequences.len() > 3);
    for (index, sequence) in sequences.iter().take(100).enumerate() {
        assert_eq!(record["hot"]["counts"][index], sequence["count"]);
        assert_eq!(record["hot"]["costs"][index], sequence["cost"]);
    }
}

#[test]
fn the_same_run_gives_the_same_page() {
    let write = || page_of(&slide_run(), &Nothing);
    assert_eq!(write(), write());
}

/// A tenth of the example's run. The whole run takes half a minute without optimization.
#[test]
fn a_hundred_thousand_paths_in_ten_thousand_functions_take_less_than_a_megabyte() {
    const LIMIT: usize = 1_000_000;
    let run = large_run(10);
    let page = page_of(&run, &Nothing);
    let paths: usize = run.functions.iter().map(|each| each.counts.len()).sum();
    assert_eq!((run.functions.len(), paths), (10_000, 100_000));
    assert!(page.len() < LIMIT, "{} bytes", page.len());
}
