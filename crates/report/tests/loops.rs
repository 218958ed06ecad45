//! Golden files of the loops view, as in golden.rs. The tests build streams from names of paths,
//! which are made of block numbers.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::{build, narrow};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use build::{Build, function, image, mangled, module, numbering_of};
use holloway_abi::Kind;
use holloway_analysis::branches::PreviousPaths;
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::note::Note;
use holloway_analysis::stream::Words;
use holloway_flow::PathId;
use holloway_format::damage::{Fact, Percent, Sample};
use holloway_format::{
    Count, Counters, FunctionMap, ImageMap, LoopMap, LoopsHead, LoopsProfile, Outcome,
    ProcessImage, read_loops, write_loops,
};
use holloway_report::notes::sentence;
use holloway_report::source::Nothing;
use holloway_report::{LoopsOptions, Options, View, json, terminal};
use insta::assert_snapshot;
use regex::Regex;

/// A switch with three cases in a loop. The third case may leave the loop. The blocks are 0
/// (entry), 1 (loop head), 2 to 4 (cases), and 5 (return).
fn scan() -> FunctionMap {
    let next = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/next.rs";
    let build = mangled(
        "_RNvCs1234_3app4scan",
        "scan",
        "/home/me/app/src/scan.rs",
        1,
    );
    cases(build.inlined("_RNvCs1_4core4next", next, 0, 3)).done()
}

fn cases(build: Build) -> Build {
    build
        .block(1, &[(0, 2)])
        .block(3, &[(0, 3)])
        .block(2, &[(0, 4), (0, 5)])
        .block(2, &[(0, 6)])
        .block(2, &[(0, 7)])
        .block(1, &[(0, 9)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::Case(1))
        .edge(1, 3, Outcome::Case(2))
        .edge(1, 4, Outcome::Default)
        .edge(2, 1, Outcome::Jump)
        .edge(3, 1, Outcome::Jump)
        .edge(4, 1, Outcome::True)
        .edge(4, 5, Outcome::False)
        .edge(5, 6, Outcome::Return)
}

fn app() -> Arc<ImageMap> {
    let plain = |name| cases(function(name, "/home/me/app/src/more.c", 1)).done();
    let mut functions = vec![
        scan(),
        plain("one"),
        plain("first"),
        plain("trips"),
        plain("steady"),
    ];
    functions.push(plain("noise"));
    stream_image(functions)
}

/// A loop in a loop. Block 1 is the head of the outer loop, and block 2 of the inner loop.
fn nest() -> FunctionMap {
    let build = function("nest", "/home/me/app/src/nest.c", 1);
    let build = (2..8).fold(build, |build, line| build.block(1, &[(0, line)]));
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 5, Outcome::False)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 2, Outcome::Jump)
        .edge(4, 1, Outcome::Jump)
        .edge(5, 6, Outcome::Return)
        .done()
}

fn stream_image(mut functions: Vec<FunctionMap>) -> Arc<ImageMap> {
    let mut offset = 0;
    for map in &mut functions {
        let Counters::Array { len, .. } = map.counters else {
            unreachable!("built so")
        };
        map.counters = Counters::Array { offset, len };
        offset += 8 * len;
    }
    let mut module = module("app", functions);
    module.counters_size = offset;
    let mut image = image("app", vec![module]);
    image.kind = Kind::Loops;
    Arc::new(image)
}

/// The word of each path, by the path's name: its function and blocks. `scan 012` is the path from
/// the entry to the back edge of block 2.
fn names(words: &Words) -> BTreeMap<String, u32> {
    let mut names = BTreeMap::new();
    for function in words.functions() {
        let map = words.image().function(function.index).unwrap();
        let numbering = numbering_of(map);
        for path in 0..function.paths {
            let blocks = numbering.regenerate(PathId(path.into())).unwrap().blocks;
            let blocks: String = blocks.iter().map(|block| block.0.to_string()).collect();
            names.insert(format!("{} {blocks}", map.name), function.first + path);
        }
    }
    names
}

/// The words of an activation. `turns` has the case of each turn. The last turn leaves the loop.
fn activation(name: &str, turns: &str, names: &BTreeMap<String, u32>) -> Vec<u32> {
    let last = turns.len() - 1;
    let words = turns.char_indices().map(|(turn, case)| {
        let before = if turn == 0 { "01" } else { "1" };
        let after = if turn == last { "5" } else { "" };
        names[&format!("{name} {before}{case}{after}")]
    });
    words.collect()
}

fn run() -> LoopsRun {
    changed_run(0, &|_| {})
}

/// A run with a gap of `gap` bytes after each activation. `change` changes the profile.
fn changed_run(gap: u64, change: &dyn Fn(&mut LoopsProfile)) -> LoopsRun {
    let image = app();
    let names = names(&Words::new(&image));
    let mut turns: Vec<(&str, String)> = Vec::new();
    // As in Figure 4 of the paper, the sequence 2 3 3 3 4 repeats, with other paths in between.
    for round in 0..12 {
        turns.push((
            "scan",
            format!("{}{}4", "23334".repeat(20), "2432".repeat(round % 3)),
        ));
    }
    turns.push(("one", format!("{}4", "3".repeat(400))));
    for _ in 0..30 {
        turns.push(("first", format!("22{}4", "3".repeat(12))));
        turns.push(("trips", "2324".to_owned()));
    }
    turns.push(("steady", format!("{}{}4", "2".repeat(300), "3".repeat(300))));
    let mut state = 1u64;
    let noise = (0..300).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ['2', '3', '4'][(state >> 33) as usize % 3]
    });
    turns.push(("noise", noise.collect::<String>() + "4"));
    let mut builder = LoopsBuilder::new(Words::new(&image), 10, Limits::default());
    let mut position = 0;
    for (name, turns) in &turns {
        let words = activation(name, turns, &names);
        builder.feed(position, &words);
        position += 4 * words.len() as u64 + gap;
    }
    let mut profile = sealed(&image, builder);
    change(&mut profile);
    LoopsRun::new(vec![((*image).clone(), vec![profile])])
}

/// The profile that `builder` collected, after it was written and read again.
fn sealed(image: &Arc<ImageMap>, builder: LoopsBuilder) -> LoopsProfile {
    let head = LoopsHead {
        process: ProcessImage {
            build_id: image.build_id,
            image: "app".to_owned(),
            image_path: "/tmp/app".into(),
            pid: 100,
            threads: 1,
            ..ProcessImage::default()
        },
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let forest = builder.finish();
    let bytes = write_loops(&seal(head, &Words::new(image), &forest, counts));
    read_loops(&bytes, image).unwrap()
}

fn options() -> Options<'static> {
    Options {
        width: 110,
        cwd: Some(PathBuf::from("/home/me/app")),
        ..Options::new(&Nothing)
    }
}

fn print(run: &LoopsRun, options: &Options<'_>, how: LoopsOptions) -> String {
    let mut out = Vec::new();
    terminal::loops::write(run, options, how, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn print_json(run: &LoopsRun, options: &Options<'_>, how: LoopsOptions) -> String {
    let mut out = Vec::new();
    json::loops::write(run, options, how, &mut out).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

const STATS: LoopsOptions = LoopsOptions {
    min_share: 100,
    stats: true,
};

#[test]
fn loops_by_iterations() {
    let run = run();
    assert_snapshot!(print(&run, &options(), STATS));
}

#[test]
fn branches_given_previous_paths() {
    let run = run();
    let mut previous_paths = PreviousPaths::default();
    previous_paths.add_loops(&run);
    let branches = Options {
        view: Some(View::Branches),
        previous_paths: Some(&previous_paths),
        ..options()
    };
    let mut out = Vec::new();
    terminal::write(&run.run, &branches, &mut out).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap());
    let mut out = Vec::new();
    json::write(&run.run, &branches, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let first = &document["branches"][0];
    assert_eq!(first["context"], "previous_paths");
    let previous = first["mispredictions_previous"].as_array().unwrap();
    assert_eq!(previous.len(), 7);
    assert_eq!(first["mispredictions"], previous[6]);
}

/// A path that is a turn of an inner loop has not left the outer loop.
#[test]
fn a_turn_of_an_inner_loop_does_not_end_the_outer_loop() {
    let image = stream_image(vec![nest()]);
    let names = names(&Words::new(&image));
    let mut builder = LoopsBuilder::new(Words::new(&image), 8, Limits::default());
    let turn = ["123", "23", "24"];
    let paths = ["0124", "124"].into_iter().chain(turn.repeat(50));
    let words: Vec<u32> = paths
        .chain(["156"])
        .filter_map(|blocks| names.get(&format!("nest {blocks}")).copied())
        .collect();
    assert!(words.len() > 150, "{names:?}");
    builder.feed(0, &words);
    let run = LoopsRun::new(vec![((*image).clone(), vec![sealed(&image, builder)])]);
    let text = print(&run, &options(), LoopsOptions::default());
    assert!(text.contains("1 execution, 53 iterations"), "{text}");
    let (inner, outer) = text.split_once("1 execution,").unwrap();
    assert!(text.contains("50 executions, 100 iterations"), "{text}");
    assert!(inner.contains("over after 2 turns"), "{text}");
    assert!(!outer.contains("over after"), "{text}");
}

/// The view shows the compiler's changes to a loop, and the number of selects of its function.
#[test]
fn loops_that_the_compiler_changed_are_marked() {
    let mut map = scan();
    map.selects = 3;
    map.loops.push(LoopMap {
        head: 1,
        start: None,
        copies: 4,
        peeled: 1,
        vectorized: false,
        must_progress: true,
    });
    let run_of = |map: FunctionMap| {
        let image = stream_image(vec![map]);
        let names = names(&Words::new(&image));
        let mut builder = LoopsBuilder::new(Words::new(&image), 8, Limits::default());
        builder.feed(
            0,
            &activation("scan", &format!("{}4", "23".repeat(20)), &names),
        );
        LoopsRun::new(vec![((*image).clone(), vec![sealed(&image, builder)])])
    };
    let json = |run: &LoopsRun| -> serde_json::Value {
        serde_json::from_str(&print_json(run, &options(), LoopsOptions::default())).unwrap()
    };
    let scan_only = Regex::new("scan").unwrap();
    let options = Options {
        function: Some(scan_only),
        width: 200,
        ..options()
    };
    let run = run_of(map.clone());
    let text = print(&run, &options, LoopsOptions::default());
    for sentence in [
        "seems unrolled: one iteration here holds 4 copies of the loop's code, and a loop beside it may run the rest",
        "peeled: of each execution up to 1 iteration may run before the loop, not counted here",
        "3 selects (choices made without a branch)",
    ] {
        assert!(text.contains(sentence), "{sentence}\n{text}");
    }
    let record = &json(&run)["loops"][0];
    assert_eq!(
        (&record["copies"], &record["peeled"], &record["vectorized"]),
        (&4.into(), &1.into(), &serde_json::Value::Null)
    );
    map.loops[0].vectorized = true;
    let run = run_of(map.clone());
    let text = print(&run, &options, LoopsOptions::default());
    assert!(
        text.contains("vectorized: one iteration here is several of the source's"),
        "{text}"
    );
    assert!(!text.contains("unrolled"), "{text}");
    assert_eq!(json(&run)["loops"][0]["vectorized"], true);
    map.loops.clear();
    map.selects = 0;
    let text = print(&run_of(map), &options, LoopsOptions::default());
    assert!(
        !["vectorized", "peeled", "select"]
            .iter()
            .any(|word| text.contains(word)),
        "{text}"
    );
}

/// The report of two loops at the same place. Both ran a few times, always with the same number of
/// turns.
fn two_loops_at_one_place(executions: usize) -> String {
    let add_loops = |build: Build| {
        let blocks = (0..5).fold(build, |build, _| build.block(1, &[(0, 7)]));
        let outcomes = [Outcome::Jump, Outcome::True, Outcome::False, Outcome::True];
        let edges = [(0, 1), (1, 1), (1, 2), (2, 2)];
        let build = edges
            .into_iter()
            .zip(outcomes)
            .fold(blocks.block(0, &[]), |build, ((from, to), outcome)| {
                build.edge(from, to, outcome)
            });
        build
            .edge(2, 3, Outcome::False)
            .edge(3, 4, Outcome::Jump)
            .edge(4, 5, Outcome::Return)
            .done()
    };
    let long = format!("/usr/include/{}/twins.h", "deep/".repeat(20));
    let image = stream_image(vec![add_loops(function("twins", &long, 1))]);
    let names = names(&Words::new(&image));
    let words = ["01", "1", "12", "2", "234"].map(|blocks| {
        let name = format!("twins {blocks}");
        *names.get(&name).unwrap_or_else(|| panic!("{names:?}"))
    });
    let mut builder = LoopsBuilder::new(Words::new(&image), 8, Limits::default());
    builder.feed(0, &words.repeat(executions));
    let run = LoopsRun::new(vec![((*image).clone(), vec![sealed(&image, builder)])]);
    print(&run, &options(), LoopsOptions::default())
}

#[test]
fn a_few_executions_give_no_advice() {
    let (few, many) = (two_loops_at_one_place(15), two_loops_at_one_place(16));
    assert!(!few.contains("over after"), "{few}");
    assert!(many.contains("over after 3 turns in 100.0 %"), "{many}");
}

#[test]
fn loops_at_one_place_are_distinguished_by_their_blocks() {
    let text = two_loops_at_one_place(20);
    let heads = text.lines().filter(|line| line.contains("  twins  …"));
    let heads: Vec<&str> = heads.map(|line| line.rsplit_once(' ').unwrap().1).collect();
    assert_eq!(heads, ["b1", "b2"], "{text}");
    assert!(!text.contains("/usr/include"), "{text}");
}

#[test]
fn a_sample_is_no_damage() {
    let mut run = run();
    let sample = Sample::Streams {
        analyzed: Percent { tenths: 125 },
    };
    let note = Note::Trace(Fact::Sample(sample));
    let sentence = sentence(&note);
    run.run.damage = vec![note, Note::Trace("a file is gone".into())];
    let text = print(&run, &options(), LoopsOptions::default());
    for line in [
        format!("  sample        {sentence}"),
        "  damaged       a file is gone".to_owned(),
    ] {
        assert!(text.lines().any(|text_line| text_line == line), "{text}");
    }
}

/// If data is lost, the report does not claim that no function ran.
#[test]
fn with_losses_no_function_is_known_to_have_run() {
    let mut run = LoopsRun::new(vec![((*app()).clone(), vec![LoopsProfile::default()])]);
    let text = |run: &LoopsRun| print(run, &options(), LoopsOptions::default());
    assert!(text(&run).contains("no instrumented function ran"));
    run.run.damage.push(Note::Trace("a file is gone".into()));
    let text = text(&run);
    assert!(
        text.contains("no instrumented function is known to have run"),
        "{text}"
    );
}

#[test]
fn one_loop_in_a_narrow_terminal() {
    let narrow = Options {
        width: 60,
        function: Some(Regex::new("scan").unwrap()),
        ..options()
    };
    let text = print(&run(), &narrow, LoopsOptions::default());
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    assert_snapshot!(text);
}

#[test]
fn narrow_terminals_lose_no_number() {
    narrow::check(None, &|width| {
        let options = Options { width, ..options() };
        print(&run(), &options, STATS)
    });
}

#[test]
fn rare_sequences_where_asked_for() {
    let how = LoopsOptions {
        min_share: 10,
        ..LoopsOptions::default()
    };
    let options = Options {
        function: Some(Regex::new("^noise$").unwrap()),
        ..options()
    };
    assert_snapshot!(print(&run(), &options, how));
}

/// The first case calls a function that may not come back. If the call does not come back, the turn
/// is not counted.
#[test]
fn loops_with_frames_left_uncounted_are_marked() {
    let run_with_leak = |block: u32| {
        let map = FunctionMap {
            leaks: vec![block],
            ..scan()
        };
        let image = stream_image(vec![map]);
        let words = Words::new(&image);
        let names = names(&words);
        let mut builder = LoopsBuilder::new(words, 2, Limits::default());
        for _ in 0..3 {
            builder.feed(0, &activation("scan", "2334", &names));
        }
        let profile = sealed(&image, builder);
        LoopsRun::new(vec![((*image).clone(), vec![profile])])
    };
    let text = print(&run_with_leak(2), &options(), LoopsOptions::default());
    assert!(text.contains("≥3 executions, ≥12 iterations"), "{text}");
    assert!(text.contains("≥ as many or more"), "{text}");
    let json = print_json(&run_with_leak(2), &options(), LoopsOptions::default());
    assert!(json.contains("\"bound\": \"at_least\""), "{json}");
    // A leak in a block outside the loop does not affect the counts of the loop.
    let text = print(&run_with_leak(0), &options(), LoopsOptions::default());
    assert!(text.contains("3 executions, 12 iterations"), "{text}");
    assert!(!text.contains('≥'), "{text}");
}

#[test]
fn loops_as_json() {
    let options = Options {
        top: Some(2),
        ..options()
    };
    assert_snapshot!(print_json(&run(), &options, STATS));
}

#[test]
fn losses_are_said() {
    let run = changed_run(8, &|profile| {
        let forest = profile.functions.last_mut().unwrap();
        forest.dropped = vec![(PathId(4), Count(7)), (PathId(5), Count(20))];
        let stats = &mut profile.head.stats;
        (stats.prunings, stats.dropped_nodes, stats.dropped_words) = (1, 20, 27);
        stats.lost_words = 5;
    });
    let noise = Options {
        function: Some(Regex::new("^noise$").unwrap()),
        ..options()
    };
    assert_snapshot!(print(&run, &noise, STATS));
    assert_snapshot!(print_json(&run, &noise, STATS));
}

#[test]
fn nothing_ran() {
    let run = LoopsRun::new(vec![((*app()).clone(), Vec::new())]);
    assert_snapshot!(print(&run, &options(), STATS));
    assert_snapshot!(print_json(&run, &options(), LoopsOptions::default()));
}
