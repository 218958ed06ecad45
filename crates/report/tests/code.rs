//! Golden files of the views that show one function or file: the flow graph, and the annotated
//! source. `INSTA_UPDATE=always cargo test -p holloway-report --test code` updates them.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::RunProfile;
use holloway_format::{FunctionMap, Outcome, PathId};
use holloway_report::terminal::annotate;
use holloway_report::terminal::graph::{self, GraphChoice};
use holloway_report::{
    Choice, Colors, OneFunctionError, Options, Source, annotation, one_function,
};
use holloway_testkit::build::{
    SLIDE_FIRST, count_edges, function, image, module, path_number, profile, slide,
};
use holloway_testkit::narrow;
use insta::assert_snapshot;
use regex::Regex;

/// Sources of the test program.
struct Sources;

impl Source for Sources {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let text = match file {
            "find.c" => FIND,
            _ => return None,
        };
        let line = text.lines().nth(line.checked_sub(1)? as usize);
        line.map(str::to_owned)
    }
}

const FIND: &str = "// Counts bytes.
int find(const char *text, char wanted) {
    int found = 0;
    for (; *text; text++) {
        if (*text == wanted)
            found++;
        if (found > 1000)
            abort();
    }
    return found;
}
int unused(void) { return 1; }";

/// A loop with two branches, the second one a check.
fn find() -> FunctionMap {
    function("find", "find.c", 2)
        .inlined("wants", "find.h", 0, 5)
        .block(2, &[(0, 3)])
        .block(3, &[(0, 4)])
        .block(2, &[(0, 5), (1, 9)])
        .block(1, &[(0, 6)])
        .block(2, &[(0, 7)])
        .block(1, &[(0, 8)])
        .block(1, &[(0, 10)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 6, Outcome::False)
        .edge(2, 3, Outcome::True)
        .at(0, 5)
        .edge(2, 4, Outcome::False)
        .at(0, 5)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 5, Outcome::True)
        .edge(4, 1, Outcome::False)
        .edge(5, 7, Outcome::Noreturn)
        .edge(6, 7, Outcome::Return)
        .done()
}

fn unused() -> FunctionMap {
    function("unused", "find.c", 12)
        .block(1, &[(0, 12)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

/// The paths of [`find`], as their blocks, and how often they ran.
const RAN: [(&[u32], u64); 4] = [
    (&[0, 1, 2, 4], 3),
    (&[1, 2, 4], 40_000),
    (&[1, 2, 3, 4], 1_200),
    (&[1, 6], 3),
];

fn run_of_find(find: &FunctionMap, counters: &[(u64, u64)]) -> RunProfile {
    let functions = vec![slide(), find.clone(), unused()];
    let image = image("app", vec![module("app.o", functions)]);
    let counts = profile(&image, 1, &[(0, 0, SLIDE_FIRST), (0, 1, counters)]);
    RunProfile::new(vec![(image, vec![counts])])
}

fn run() -> RunProfile {
    let find = find();
    let mut counters = RAN.map(|(blocks, count)| (path_number(&find, blocks), count));
    counters.sort_unstable();
    run_of_find(&find, &counters)
}

fn options(name: &str) -> Options<'static> {
    Options {
        function: Some(Regex::new(name).unwrap()),
        width: 100,
        ..Options::new(&Sources)
    }
}

fn graph_of(run: &RunProfile, choice: GraphChoice, options: &Options<'_>) -> String {
    let function = one_function(run, options).unwrap();
    let mut out = Vec::new();
    graph::write(run, function, choice, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_graph_keeps_loops_together_and_marks_the_hottest_path() {
    let text = graph_of(&run(), GraphChoice::default(), &options("find"));
    assert_snapshot!(text);
}

#[test]
fn numbering_adds_up_to_the_number_of_the_path() {
    let path = path_number(&find(), &[1, 2, 3, 4]);
    let choice = GraphChoice {
        path: Some(PathId(path)),
        numbering: true,
        all_blocks: true,
    };
    let text = graph_of(&run(), choice, &options("find"));
    assert_snapshot!(text);
    let numbers = text.lines().find(|line| line.contains("(values)")).unwrap();
    let (_, sums) = numbers.split_once(" = ").unwrap();
    let (values, chords) = sums.split_once(" (values) = ").unwrap();
    let sum = |terms: &str| -> i64 {
        let terms = terms.replace('−', "-").replace(" + ", " ");
        terms
            .split(' ')
            .map(|term| term.parse::<i64>().unwrap())
            .sum()
    };
    assert_eq!(sum(values), path.cast_signed());
    let chords = chords.strip_suffix(" (chords)").unwrap();
    assert_eq!(sum(chords), path.cast_signed());
}

#[test]
fn graphs_of_edges_have_counters_and_no_path() {
    let map = count_edges(&find(), &[]).unwrap();
    let run = run_of_find(&map, &[(0, 3), (1, 1_200), (2, 0), (3, 3)]);
    let choice = GraphChoice {
        numbering: true,
        ..GraphChoice::default()
    };
    assert_snapshot!(graph_of(&run, choice, &options("find")));
}

/// Maps of earlier versions do not mark the chords.
#[test]
fn unmarked_chords_are_no_guess() {
    let map = FunctionMap {
        chords: Vec::new(),
        ..find()
    };
    let run = run_of_find(&map, &[(0, 3)]);
    let choice = GraphChoice {
        numbering: true,
        ..GraphChoice::default()
    };
    let wide = Options {
        width: usize::MAX,
        ..options("find")
    };
    let text = graph_of(&run, choice, &wide);
    assert!(text.contains("did not record the chords"), "{text}");
    assert!(text.contains("value "), "{text}");
    assert!(!text.contains("chord ") && !text.contains("tree"), "{text}");
}

#[test]
fn narrow_graphs_lose_no_number() {
    let run = run();
    for numbering in [false, true] {
        narrow::check(None, &|width| {
            let choice = GraphChoice {
                numbering,
                all_blocks: true,
                path: None,
            };
            let options = Options {
                width,
                source: &holloway_report::source::Nothing,
                ..options("find")
            };
            graph_of(&run, choice, &options)
        });
    }
}

#[test]
fn one_function_must_have_run() {
    let run = run();
    let error = |name: &str| one_function(&run, &options(name)).unwrap_err();
    assert_eq!(error("^unused$"), OneFunctionError::NothingRan);
    let into = vec!["find".to_owned()];
    assert_eq!(error("^wants$"), OneFunctionError::OnlyInlined { into });
    let OneFunctionError::Several(several) = error(".") else {
        panic!("{:?}", error("."));
    };
    let names = several.functions.iter().map(|function| &*function.name);
    assert_eq!(names.collect::<Vec<_>>(), ["slide", "find"]);
    assert_eq!((several.count, several.choice), (2, Choice::Name));
}

fn annotated(run: &RunProfile, options: &Options<'_>, file: Option<&str>) -> String {
    let annotations = match file {
        Some(file) => annotation::of_files(run, file, options),
        None => annotation::of_functions(run, options),
    };
    let mut out = Vec::new();
    annotate::write(run, &annotations, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_whole_function_is_annotated() {
    assert_snapshot!(annotated(&run(), &options("find"), None));
}

#[test]
fn a_whole_file_is_annotated() {
    let options = Options {
        width: 100,
        ..Options::new(&Sources)
    };
    assert_snapshot!(annotated(&run(), &options, Some("find.c")));
}

/// Without the file's text, the lines with code have their counts.
#[test]
fn a_file_that_is_not_here_is_annotated() {
    let text = annotated(&run(), &options("slide"), None);
    assert!(text.contains("not on this machine"), "{text}");
    // Slide has code on the lines 1, 2, 3, 5, 7, 8, and 10.
    let numbers = text
        .lines()
        .filter_map(|line| line.split('│').nth(1)?.trim().parse().ok());
    assert_eq!(
        numbers.collect::<Vec<u32>>(),
        [1, 2, 3, 5, 7, 8, 10],
        "{text}"
    );
}

#[test]
fn narrow_annotations_lose_no_number() {
    let run = run();
    narrow::check(None, &|width| {
        let options = Options {
            width,
            source: &holloway_report::source::Nothing,
            ..options("find|slide")
        };
        annotated(&run, &options, None)
    });
}

/// The counts have the colors of their heat. Without colors, the text is the same.
#[test]
fn counts_have_the_color_of_their_heat() {
    let with = |colors| {
        let options = Options {
            colors,
            ..options("find")
        };
        annotated(&run(), &options, None)
    };
    let colored = with(Colors::Ansi256);
    assert_snapshot!(colored.replace('\u{1b}', "^"));
    let escape = Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    let bare = escape.replace_all(&colored, "");
    let (bare, legend) = bare.split_once("\ncolors from a count of").unwrap();
    assert!(
        legend.contains("1  ") && legend.ends_with("0: never ran\n"),
        "{legend}"
    );
    assert_eq!(bare, with(Colors::None));
}
