//! Golden files of reports, in tests/snapshots.
//! `INSTA_UPDATE=always cargo test -p holloway-report` updates them.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::{build, narrow};
use std::path::PathBuf;

use build::{
    SLIDE_FIRST, SLIDE_SECOND, function, gone, image, mangled, module, profile, skipped, slide,
};
use holloway_analysis::{Function, RunProfile};
use holloway_format::{Damage, DamagedFile, FunctionMap, ImageMap, ModuleMap, Outcome, PathId};
use holloway_report::source::Nothing;
use holloway_report::{
    CodeFilter, Colors, Glob, Options, Origin, PathChoice, Sort, Source, View, check_selection,
    json, terminal,
};
use insta::assert_snapshot;
use regex::Regex;

/// Sources of the test program.
struct Sources;

impl Source for Sources {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let text = match file {
            "slide.c" => SLIDE,
            "/home/me/app/src/search.rs" => SEARCH,
            _ => return None,
        };
        text.lines()
            .nth(line.checked_sub(1)? as usize)
            .map(str::to_owned)
    }
}

const SLIDE: &str = "int slide(int a) {
\tif (a > 2)
\t\tif (f(a))
\t\t\t{
\tc(a);
\t\t\t}
\tif (d(a))
\t\te(a);

\treturn a;
}";

const SEARCH: &str = "pub fn search(text: &[u8], wanted: u8) -> usize {
    let mut found = 0;
    for byte in text.iter() {
        match byte {
            0 => found += 1,
            7 => panic!(\"\\u{1b}[31mbell\"),
            _ if *byte == wanted => found += 2,
            _ => {}
        }
    }
    found
}";

const RANGE: &str =
    "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/slice/iter/macros.rs";

/// A Rust function: a loop over an inlined iterator, a match, a panic.
fn search() -> FunctionMap {
    let file = "/home/me/app/src/search.rs";
    mangled("_RNvCs1234_3app6search", "search", file, 1)
        .inlined("_RNvNvCs1_4core5slice4next", RANGE, 0, 3)
        .inlined("_RNvCs1_4core2eq", RANGE, 1, 160)
        .block(3, &[(0, 2)])
        .block(4, &[(1, 159), (2, 90), (1, 161)])
        .block(2, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(2, &[(0, 6)])
        .block(2, &[(0, 7)])
        .block(1, &[(0, 11)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 6, Outcome::False)
        .edge(2, 3, Outcome::Case(0))
        .edge(2, 4, Outcome::Case(7))
        .edge(2, 5, Outcome::Default)
        .edge(3, 1, Outcome::Jump)
        .edge(5, 1, Outcome::True)
        .edge(5, 1, Outcome::False)
        .edge(4, 7, Outcome::Noreturn)
        .edge(6, 7, Outcome::Return)
        .done()
}

/// A function of many lines without branches, with a hash table of counters.
fn long() -> FunctionMap {
    let places: Vec<(u32, u32)> = (2..60).map(|line| (0, line)).collect();
    function("long_one", "gen/long.c", 1)
        .block(100, &places[..30])
        .block(100, &places[30..])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .cut()
        .edge(1, 2, Outcome::TailCall)
        .hashed()
        .done()
}

fn never() -> FunctionMap {
    function("never", "slide.c", 11)
        .block(1, &[(0, 11)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

fn app() -> ImageMap {
    let mut c = module("slide.o", vec![slide(), never()]);
    c.skipped = vec![
        skipped("start", "naked function"),
        skipped("resolve", "resolver of an ifunc"),
    ];
    c.gone = vec![gone("unused")];
    let mut rust = module("app", vec![search(), long()]);
    rust.skipped = vec![skipped("_RNvCs1234_3app4left", "left out by --only")];
    rust.gone = vec![gone("_RNvCs1_4core2eq")];
    image("app", vec![c, rust])
}

fn run() -> RunProfile {
    let app = app();
    // `search` enters the loop 3 times, takes all its paths, returns twice, and panics once.
    let search: &[(u64, u64)] = &[(0, 3), (5, 1200), (6, 34_500), (7, 2), (9, 1)];
    let first = profile(
        &app,
        100,
        &[
            (0, 0, SLIDE_FIRST),
            (1, 0, search),
            (1, 1, &[(0, 5), (1, 5)]),
        ],
    );
    let mut second = profile(&app, 101, &[(0, 0, SLIDE_SECOND)]);
    (second.head.forked, second.head.threads) = (true, 16);
    RunProfile::new(vec![(app, vec![first, second])])
}

fn options(view: View) -> Options<'static> {
    Options {
        view: Some(view),
        width: 110,
        cwd: Some(PathBuf::from("/home/me/app")),
        ..Options::new(&Sources)
    }
}

/// The keys that other programs read, at the top level of the report.
#[test]
fn branches_in_json_have_their_keys_and_order() {
    let mut out = Vec::new();
    json::write(&run(), &options(View::Branches), &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let branches = document["branches"].as_array().unwrap();
    let keys = [
        "function",
        "file",
        "line",
        "executions",
        "taken",
        "entropy",
        "mispredictions",
    ];
    for branch in branches {
        assert!(keys.iter().all(|key| branch.get(key).is_some()), "{branch}");
    }
    let figures = branches
        .iter()
        .map(|branch| branch["mispredictions"].as_u64());
    assert!(figures.collect::<Vec<_>>().is_sorted_by(|a, b| a >= b));
    // A branch of library code names the line of the user's code.
    let mut inlined = branches
        .iter()
        .filter(|branch| branch["function"] == "app::search");
    let inlined = inlined.find(|branch| branch["line"] == 161).unwrap();
    assert!(
        inlined["file"]
            .as_str()
            .unwrap()
            .ends_with("/slice/iter/macros.rs")
    );
    let user = &inlined["inlined_at"];
    assert!(
        user["file"].as_str().unwrap().ends_with("src/search.rs"),
        "{inlined}"
    );
    assert!(user["line"].is_u64(), "{inlined}");
}

fn print(run: &RunProfile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    terminal::write(run, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn print_json(run: &RunProfile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    json::write(run, options, &mut out).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn paths_by_count() {
    let by_count = Options {
        sort: Sort::Count,
        ..options(View::Paths)
    };
    assert_snapshot!(print(&run(), &by_count));
}

/// `long_one` runs ten times only, but each time 100 instructions.
#[test]
fn paths_are_sorted_by_instructions() {
    let text = print(&run(), &options(View::Paths));
    let rank = |path: &str| text.find(path).unwrap();
    assert!(
        rank("= 500  long_one#6fa8  p0") < rank("slide#8204  p5"),
        "{text}"
    );
    assert!(
        rank("= 2,600  slide#156e  p3") < rank("= 1,200  slide#5f21  p0"),
        "{text}"
    );
}

#[test]
fn top_counts_lines_in_the_lines_view() {
    let top = |top: usize| {
        let options = Options {
            top: Some(top),
            ..options(View::Lines)
        };
        print(&run(), &options)
    };
    let (one, two) = (top(1), top(2));
    assert!(one.contains("Hottest lines  1 of "), "{one}");
    assert!(two.contains("Hottest lines  2 of "), "{two}");
    let options = Options {
        top: Some(2),
        ..options(View::Lines)
    };
    let json: serde_json::Value = serde_json::from_str(&print_json(&run(), &options)).unwrap();
    assert_eq!(json["lines"].as_array().unwrap().len(), 2);
}

/// `slide`, and an allocator shim with the line of a `static` in slide.c that runs more often.
fn run_with_a_shim() -> RunProfile {
    let shim = "_RNvCs1_7___rustc12___rust_alloc";
    let shim = mangled(shim, "__rust_alloc", "slide.c", 9)
        .block(3, &[(0, 9)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done();
    let app = image("app", vec![module("app", vec![slide(), shim])]);
    let counts: &[(u64, u64)] = &[(0, 1_000_000)];
    let counts = profile(&app, 1, &[(0, 0, &[(0, 7)]), (0, 1, counts)]);
    RunProfile::new(vec![(app, vec![counts])])
}

/// The numbers of the lines that a lines view shows with this count.
fn lines_with_count(text: &str, count: &str) -> Vec<u32> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.split('│').map(str::trim);
        (cells.next()? == count).then(|| cells.next()?.parse().ok())?
    });
    rows.collect()
}

#[test]
fn lines_of_glue_and_lines_that_never_ran_are_not_the_hottest() {
    let top = |top| Options {
        top,
        ..options(View::Lines)
    };
    let run = run_with_a_shim();
    let hottest = print(&run, &top(Some(2)));
    assert!(hottest.contains("Hottest lines  2 of"), "{hottest}");
    assert_eq!(lines_with_count(&hottest, "1,000,000"), [0; 0], "{hottest}");
    assert_eq!(lines_with_count(&hottest, "7").len(), 2, "{hottest}");
    assert_eq!(lines_with_count(&hottest, "0"), [0; 0], "{hottest}");
    assert!(hottest.contains("1 line of glue"), "{hottest}");
    let json: serde_json::Value = serde_json::from_str(&print_json(&run, &top(Some(2)))).unwrap();
    let counts = json["lines"].as_array().unwrap().iter();
    let counts: Vec<_> = counts.map(|line| line["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [7, 7]);
    // If all lines that ran are shown, so are the others of their files.
    let all = print(&run, &top(None));
    assert!(all.contains("\nLines  "), "{all}");
    assert_eq!(lines_with_count(&all, "1,000,000"), [9], "{all}");
    assert!(!lines_with_count(&all, "0").is_empty(), "{all}");
}

/// The names of the functions that a filter on code keeps, in the order of the JSON document.
fn kept(code: CodeFilter) -> Vec<String> {
    let options = Options {
        code,
        ..options(View::Functions)
    };
    let text = print(&run(), &options);
    let json: serde_json::Value = serde_json::from_str(&print_json(&run(), &options)).unwrap();
    let functions = json["functions"].as_array().unwrap().iter();
    let ran = functions.filter(|function| !function["paths"].as_array().unwrap().is_empty());
    let names = ran.map(|function| function["name"].as_str().unwrap().to_owned());
    let names: Vec<String> = names.collect();
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    names
}

/// The names in a list of the JSON document.
fn names(options: &Options<'_>, list: &str) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_str(&print_json(&run(), options)).unwrap();
    let records = json[list].as_array().unwrap().iter();
    let names = records.map(|record| record["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn json_lists_the_functions_that_ran_unless_all_code_is_asked_for() {
    let with = |origin, function: Option<&str>, top| {
        let code = CodeFilter {
            origin,
            ..CodeFilter::default()
        };
        Options {
            code,
            function: function.map(|name| Regex::new(name).unwrap()),
            top,
            ..options(View::Functions)
        }
    };
    let functions = |origin, function, top| names(&with(origin, function, top), "functions");
    let ran = functions(Origin::ByView, None, None);
    let all = functions(Origin::All, None, None);
    let run = run();
    let count = |keeps: fn(&Function) -> bool| {
        let functions = run.functions.iter();
        functions.filter(|function| keeps(function)).count()
    };
    assert_eq!(ran.len(), count(Function::ran));
    assert_eq!(all.len(), count(|_| true));
    assert!(ran.len() < all.len(), "{all:?}");
    // Functions that the user names are listed, whether or not they ran.
    assert_eq!(functions(Origin::ByView, Some(""), None), all);
    // Of N functions, the first are listed, and those of the N hottest paths.
    let first = functions(Origin::ByView, None, Some(1));
    assert_eq!(first[0], ran[0]);
    assert!((1..=2).contains(&first.len()), "{first:?}");
    assert_eq!(functions(Origin::ByView, None, Some(0)), [""; 0]);
    for list in ["skipped", "gone"] {
        let whole = names(&with(Origin::ByView, None, None), list);
        let first = names(&with(Origin::ByView, None, Some(1)), list);
        assert!(whole.len() > 1, "{whole:?}");
        assert_eq!(first, whole[..1]);
    }
}

/// The cells of the first row that ends with this label: share, path runs, calls, instructions.
fn row_of<'a>(text: &'a str, label: &str) -> Vec<&'a str> {
    let row = text.lines().find(|line| line.ends_with(label));
    let row = row.unwrap_or_else(|| panic!("no {label} in {text}"));
    let cells = row.strip_suffix(label).unwrap().split("  ");
    cells
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

#[test]
fn functions_have_sums_of_the_shown_and_of_the_others() {
    let with = |top, crates: &[&str]| Options {
        top: Some(top),
        code: CodeFilter {
            crates: crates.iter().map(|&name| name.to_owned()).collect(),
            ..CodeFilter::default()
        },
        ..options(View::Functions)
    };
    // The paths in `run`: search 35,706 runs of 5 paths, slide 540 of 5, long_one 10 of 2.
    let text = print(&run(), &with(1, &[]));
    let shown = row_of(&text, "sum of 1 shown");
    assert_eq!(shown, ["97.6 %", "35,706", "3", "247,548", "5"]);
    let others = row_of(&text, "sum of 2 not shown (--top)");
    assert_eq!(others, ["2.4 %", "550", "545", "6,200", "7"]);
    let all = row_of(&text, "sum of all 3");
    assert_eq!(all, ["100.0 %", "36,256", "548", "253,748", "12"]);
    // Shares of selected code are shares of the run.
    let app = print(&run(), &with(9, &["app"]));
    let selected = row_of(&app, "sum of all 2 selected");
    assert_eq!(selected, ["98.0 %", "35,716", "8", "248,548", "7"]);
    // A single function is its own sum.
    let one = print(&run(), &with(9, &["slide.o"]));
    assert!(!one.contains("sum of"), "{one}");
    assert!(!one.contains("By "), "{one}");
}

#[test]
fn sums_in_json_are_those_of_all_functions_and_of_each_part() {
    let top = Options {
        top: Some(1),
        ..options(View::Functions)
    };
    let document: serde_json::Value = serde_json::from_str(&print_json(&run(), &top)).unwrap();
    let (sums, totals) = (&document["sums"], &document["totals"]);
    for key in ["path_executions", "distinct_paths", "instructions", "calls"] {
        assert_eq!(sums["all"][key], totals[key], "{key}");
        let parts = sums["by_part"].as_array().unwrap().iter();
        let sum: u64 = parts.map(|part| part[key].as_u64().unwrap()).sum();
        assert_eq!(sum, totals[key].as_u64().unwrap(), "{key}");
    }
    assert_eq!(sums["all"]["functions"], totals["functions_run"]);
    assert_eq!(sums["by_part"][0]["crate"], "app");
    assert_eq!(sums["by_part"][1]["file"], "slide.c");
    let lines = print_json(&run(), &options(View::Lines));
    assert!(!lines.contains("by_part"));
}

#[test]
fn filters_select_code_by_crate_file_and_origin() {
    let crates = |name: &str| {
        kept(CodeFilter {
            crates: vec![name.to_owned()],
            ..CodeFilter::default()
        })
    };
    let files = |globs: &[&str]| {
        kept(CodeFilter {
            files: globs.iter().map(|glob| Glob::new(glob)).collect(),
            ..CodeFilter::default()
        })
    };
    // The module `app` holds `search` and the C function `long_one`.
    assert_eq!(crates("app"), ["app::search", "long_one"]);
    assert_eq!(crates("slide.o"), ["slide"]);
    assert_eq!(crates("no_such"), [""; 0]);
    assert_eq!(files(&["src/*.rs"]), ["app::search"]);
    assert_eq!(files(&["search.rs", "slide.c"]), ["app::search", "slide"]);
    assert_eq!(files(&["*.py"]), [""; 0]);
    assert_eq!(files(&["!*.rs"]), ["slide", "long_one"]);
    assert_eq!(files(&["!*.rs", "slide.c"]), ["slide"]);
    assert_eq!(files(&["slide.c", "!slide.c"]), [""; 0]);
    let workspace = kept(CodeFilter {
        origin: Origin::Workspace,
        ..CodeFilter::default()
    });
    assert_eq!(workspace, ["app::search", "slide", "long_one"]);
}

#[test]
fn code_that_no_filter_finds_is_said() {
    let code = CodeFilter {
        crates: vec!["no_such".to_owned()],
        ..CodeFilter::default()
    };
    let text = print(
        &run(),
        &Options {
            code,
            ..options(View::Paths)
        },
    );
    assert!(
        text.ends_with("no function that ran is in this code; crates that ran: app, slide.o\n"),
        "{text}"
    );
}

/// The answer of [`check_selection`] for these crates and files, as text.
fn checked(crates: &[&str], globs: &[&str]) -> Result<Vec<String>, String> {
    let code = CodeFilter {
        crates: crates.iter().map(ToString::to_string).collect(),
        files: globs.iter().map(|glob| Glob::new(glob)).collect(),
        ..CodeFilter::default()
    };
    let options = Options {
        code,
        ..options(View::Lines)
    };
    let checked = check_selection(&[&run()], &options);
    let text = |errors: Vec<_>| errors.iter().map(ToString::to_string).collect();
    checked.map(text).map_err(|error| error.to_string())
}

#[test]
fn a_file_that_does_not_exist_is_an_error() {
    assert_eq!(checked(&[], &["slide.c"]), Ok(vec![]));
    assert_eq!(
        checked(&[], &["serch.rs", "*.py"]).unwrap_err(),
        "no file of this program matches --file serch.rs, *.py: `src/search.rs`?"
    );
    assert!(
        checked(&[], &["*.py"])
            .unwrap_err()
            .contains("--file *.py: a pattern is a file's path or the end of it (main.rs, ")
    );
    let excluded = checked(&[], &["!*.py"]).unwrap();
    assert!(excluded[0].contains("--file !*.py"), "{excluded:?}");
    // A pattern that matches is no mistake, and the others are worth a warning.
    let warnings = checked(&[], &["slide.c", "serch.rs"]).unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("--file serch.rs: "), "{warnings:?}");
}

#[test]
fn a_crate_that_does_not_exist_is_an_error() {
    // Of inlined code, too.
    for name in ["app", "slide.o", "core"] {
        assert_eq!(checked(&[name], &[]), Ok(vec![]), "{name}");
    }
    let sentence = "no code belongs to --crate no_such; crates of this program: app, slide.o, core";
    assert_eq!(checked(&["no_such"], &[]).unwrap_err(), sentence);
    assert_eq!(checked(&["app", "no_such"], &[]).unwrap(), [sentence]);
}

/// A name that no function has is an error. A function that never ran, that was inlined, or that
/// has no counters is a function.
#[test]
fn a_function_that_does_not_exist_is_an_error() {
    let checked = |run: &RunProfile, pattern: &str| {
        let function = Some(Regex::new(pattern).unwrap());
        let options = Options {
            function,
            ..options(View::Paths)
        };
        let checked = check_selection(&[run], &options);
        checked.map_err(|error| error.to_string())
    };
    let run = run();
    for pattern in [
        "^slide$",
        "next",
        "search|no_such",
        "^never$",
        "resolve",
        "unused",
    ] {
        assert_eq!(checked(&run, pattern), Ok(vec![]), "{pattern}");
    }
    assert_eq!(
        checked(&run, "^serch$").unwrap_err(),
        "no function matches ^serch$: `app::search`?"
    );
    assert_eq!(
        checked(&run, "printf").unwrap_err(),
        "no function matches printf: it was never instantiated, or is not part of this program; --view functions lists the functions that ran"
    );
    let app = image(
        "slide",
        vec![ModuleMap {
            skipped: vec![skipped("libz.a", "machine code without bitcode")],
            ..module("slide.o", vec![slide()])
        }],
    );
    let counts = profile(&app, 1, &[]);
    let run = RunProfile::new(vec![(app, vec![counts])]);
    assert!(
        checked(&run, "libz")
            .unwrap_err()
            .contains("part of this program, or part of code without bitcode; --view")
    );
}

/// The lines view hides the inlined code of the standard library, unless the user wants it.
#[test]
fn the_lines_view_shows_the_workspace() {
    let with_origin = |origin: Origin| {
        let code = CodeFilter {
            origin,
            ..CodeFilter::default()
        };
        print(
            &run(),
            &Options {
                code,
                ..options(View::Lines)
            },
        )
    };
    let hidden = "outside the workspace (std)";
    assert!(with_origin(Origin::ByView).contains(hidden));
    assert!(!with_origin(Origin::All).contains(hidden));
    assert!(!with_origin(Origin::Workspace).contains(hidden));
}

#[test]
fn paths_by_instructions_in_a_narrow_terminal() {
    let narrow = Options {
        sort: Sort::Instructions,
        top: Some(4),
        width: 60,
        ..options(View::Paths)
    };
    let text = print(&run(), &narrow);
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    assert_snapshot!(text);
}

#[test]
fn narrow_terminals_lose_no_number() {
    let views = [
        View::Paths,
        View::Functions,
        View::Edges,
        View::Blocks,
        View::Lines,
    ];
    let functions = [None, Some(Regex::new("slide|left|unused|eq").unwrap())];
    for view in views.into_iter().chain([View::PathsFromEdges]) {
        for function in &functions {
            // Source text is clipped, so these reports have none.
            narrow::check(None, &|width| {
                let options = Options {
                    width,
                    function: function.clone(),
                    source: &Nothing,
                    ..options(view)
                };
                print(&run(), &options)
            });
        }
    }
}

#[test]
fn one_path_is_shown_whole() {
    let function = Some(Regex::new("long").unwrap());
    assert_snapshot!(print(
        &run(),
        &Options {
            top: Some(1),
            function,
            ..options(View::Paths)
        }
    ));
}

#[test]
fn colours() {
    assert_snapshot!(
        print(
            &run(),
            &Options {
                colors: Colors::Ansi16,
                top: Some(2),
                ..options(View::Paths)
            }
        )
        .replace('\u{1b}', "^")
    );
}

#[test]
fn functions() {
    assert_snapshot!(print(&run(), &options(View::Functions)));
}

/// A program and its plugin have a function of the same name, `slide`. Another build of the program
/// has a function of the plugin's, `plug`.
#[test]
fn functions_of_one_name_in_two_images() {
    let part = |image_name: &str, functions| {
        let image = image(image_name, vec![module("part.o", functions)]);
        let counts = profile(&image, 1, &[(0, 0, SLIDE_FIRST), (0, 1, SLIDE_SECOND)]);
        (image, vec![counts])
    };
    let other = || FunctionMap {
        name: "glide".into(),
        linkage_name: "glide".into(),
        ..slide()
    };
    let plug = || FunctionMap {
        name: "plug".into(),
        linkage_name: "plug".into(),
        ..slide()
    };
    let run = RunProfile::new(vec![
        part("app", vec![slide(), other()]),
        part("libplugin.so", vec![slide(), plug()]),
        part("app", vec![plug(), other()]),
    ]);
    for view in [View::Functions, View::Paths, View::Blocks, View::Edges] {
        let text = print(
            &run,
            &Options {
                top: Some(40),
                ..options(view)
            },
        );
        for name in ["slide", "plug"] {
            for image in ["app", "libplugin.so"] {
                // The paths view has the short name of a path after the function's name.
                let pattern = format!("{name}(#[0-9a-f]{{4}})? in {image}");
                assert!(Regex::new(&pattern).unwrap().is_match(&text), "{text}");
            }
        }
        assert!(!text.contains("glide in"), "{text}");
    }
    assert_snapshot!(print(&run, &options(View::Functions)));
}

#[test]
fn edges() {
    assert_snapshot!(print(&run(), &options(View::Edges)));
}

#[test]
fn lines() {
    assert_snapshot!(print(&run(), &options(View::Lines)));
}

#[test]
fn lines_of_one_function() {
    let function = Some(Regex::new("^slide$").unwrap());
    assert_snapshot!(print(
        &run(),
        &Options {
            function,
            ..options(View::Lines)
        }
    ));
}

#[test]
fn lines_of_one_function_as_json() {
    let function = Some(Regex::new("^slide$").unwrap());
    let list = |view: View| {
        let options = Options {
            function: function.clone(),
            ..options(view)
        };
        let value: serde_json::Value = serde_json::from_str(&print_json(&run(), &options)).unwrap();
        value["lines"].clone()
    };
    let line = |line: u32, count: u64| serde_json::json!({"file": "slide.c", "line": line, "count": count});
    let expect = [
        (1, 540),
        (2, 540),
        (3, 240),
        (5, 500),
        (7, 540),
        (8, 320),
        (10, 540),
    ];
    let expect: Vec<_> = expect.map(|(number, count)| line(number, count)).into();
    assert_eq!(list(View::Lines), serde_json::Value::Array(expect));
    assert_eq!(list(View::Paths), serde_json::Value::Null);
}

/// `eq` has no counters: it is inlined into `search`. `next` contains `eq` in turn.
#[test]
fn an_inlined_function_shows_the_paths_through_it() {
    let options = Options {
        function: Some(Regex::new("^core::eq$").unwrap()),
        top: Some(1),
        ..options(View::Paths)
    };
    let text = print(&run(), &options);
    assert!(text.contains("Hottest paths  1 of "), "{text}");
    assert!(text.contains("app::search"), "{text}");
    assert!(!text.contains("slide.c"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&print_json(&run(), &options)).unwrap();
    let functions = json["functions"].as_array().unwrap();
    assert_eq!(functions.len(), 1);
    assert_eq!(functions[0]["name"], "app::search");
    assert_eq!(functions[0]["paths"].as_array().unwrap().len(), 1);
    assert_snapshot!(text);
}

#[test]
fn where_functions_went() {
    let function = Some(Regex::new("search|eq|left|start|unused|never").unwrap());
    assert_snapshot!(print(
        &run(),
        &Options {
            function,
            top: Some(6),
            ..options(View::Functions)
        }
    ));
}

#[test]
fn nothing_ran() {
    let app = app();
    let empty = profile(&app, 1, &[]);
    assert_snapshot!(print(
        &RunProfile::new(vec![(app, vec![empty])]),
        &options(View::Paths)
    ));
    assert_snapshot!(print(
        &RunProfile::new(vec![(app_without_functions(), vec![])]),
        &options(View::Paths)
    ));
}

fn app_without_functions() -> ImageMap {
    image("empty", vec![ModuleMap::default()])
}

#[test]
fn damage_and_loss_are_said() {
    let mut app = app();
    app.damage = vec![
        Damage::of_file(DamagedFile::Map, 99, "bad checksum")
            .of_function(3, "lost_one")
            .in_module(0),
    ];
    let mut hurt = profile(&app, 7, &[(0, 0, &[(0, 1), (77, 5)])]);
    hurt.damage = vec![Damage::of_file(
        DamagedFile::Profile,
        4096,
        "extent cut short",
    )];
    hurt.head.lost = 2;
    let run = RunProfile::new(vec![(app, vec![hurt])]);
    assert_snapshot!(print(&run, &options(View::Functions)));
}

/// docs/json.md has the document of the function `slide` with the counts of its first profile.
#[test]
fn the_documented_json_is_what_is_written() {
    let mut slide = module("slide.o", vec![slide()]);
    slide.skipped = vec![skipped("_start", "naked function")];
    slide.gone = vec![gone("f")];
    let app = image("slide", vec![slide]);
    let profile = profile(&app, 42, &[(0, 0, SLIDE_FIRST)]);
    let mut out = Vec::new();
    json::write(
        &RunProfile::new(vec![(app, vec![profile])]),
        &options(View::Paths),
        &mut out,
    )
    .unwrap();
    let docs = include_str!("../../../docs/json.md");
    let (_, example) = docs.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    // The documents are compared without line breaks and spaces. Only one string of the example,
    // the reason, has a space.
    let bare = |text: &str| text.replace([' ', '\n'], "");
    assert_eq!(bare(example), bare(&String::from_utf8(out).unwrap()));
}

#[test]
fn all_as_json() {
    assert_snapshot!(print_json(&run(), &options(View::Paths)));
}

#[test]
fn some_as_json() {
    let function = Some(Regex::new("search|start|eq").unwrap());
    assert_snapshot!(print_json(
        &run(),
        &Options {
            function,
            top: Some(2),
            ..options(View::Paths)
        }
    ));
}

/// A second program of the run has the functions of the first one, and calls `never`.
fn run_of_two_programs() -> RunProfile {
    let first = app();
    let second = image(
        "other",
        app()
            .modules
            .into_iter()
            .map(|placed| placed.module)
            .collect(),
    );
    let counts = profile(
        &first,
        1,
        &[(0, 0, SLIDE_FIRST), (1, 0, &[(0, 3), (6, 20)])],
    );
    let other = profile(&second, 2, &[(0, 0, SLIDE_SECOND), (0, 1, &[(0, 9)])]);
    RunProfile::new(vec![(first, vec![counts]), (second, vec![other])])
}

#[test]
fn code_that_never_ran() {
    let text = print(&run_of_two_programs(), &options(View::Uncovered));
    assert!(
        !text.contains("slide.c:11"),
        "`never` ran in the second program\n{text}"
    );
    assert_eq!(
        text.matches("long_one").count(),
        1,
        "one row for a function\n{text}"
    );
    assert_snapshot!(text);
}

#[test]
fn code_that_never_ran_as_json() {
    let json = |options: &Options<'_>| -> serde_json::Value {
        serde_json::from_str(&print_json(&run_of_two_programs(), options)).unwrap()
    };
    let all = json(&options(View::Uncovered));
    assert_eq!(all["schema"], 1);
    let uncovered = &all["uncovered"];
    assert_eq!(uncovered["functions"][0]["name"], "long_one");
    assert_eq!(uncovered["functions"].as_array().unwrap().len(), 1);
    let totals = &uncovered["totals"]["functions"];
    assert_eq!(totals, &serde_json::json!({"never_ran": 1, "all": 4}));
    let top = json(&Options {
        top: Some(1),
        ..options(View::Uncovered)
    });
    for list in ["functions", "lines", "branches", "paths"] {
        assert_eq!(
            top["uncovered"][list].as_array().unwrap().len(),
            1,
            "{list}"
        );
    }
    assert_eq!(top["uncovered"]["totals"], uncovered["totals"]);
    let std = CodeFilter {
        files: vec![Glob::new("<std>/**")],
        ..CodeFilter::default()
    };
    let std = json(&Options {
        code: std,
        ..options(View::Uncovered)
    });
    // `next` and `eq`, both inlined into `search`.
    assert_eq!(std["uncovered"]["totals"]["functions"]["all"], 2);
}

/// The options for one path, as `--function` takes it.
fn one_path(text: &str) -> Options<'static> {
    let choice = PathChoice::parse(text).unwrap();
    Options {
        function: Some(choice.functions()),
        path: Some(choice),
        ..options(View::Paths)
    }
}

#[test]
fn a_path_is_shown_by_its_short_name() {
    let run = run();
    for name in ["slide#156e", "slide#156ed4552c8367a7"] {
        let options = one_path(name);
        assert_eq!(check_selection(&[&run], &options), Ok(vec![]));
        let text = print(&run, &options);
        assert!(text.contains("Hottest paths  1 of 1 path,"), "{text}");
        assert!(text.contains("slide#156e  p3"), "{text}");
        assert!(!text.contains("slide#5f21"), "{text}");
    }
}

#[test]
fn an_unknown_short_name_lists_the_paths_that_ran() {
    let error = check_selection(&[&run()], &one_path("slide#0000")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no path `slide#0000` ran; these ran: #156e (p3), #5f21 (p0), #a753 (p1), #8204 (p5), #c0d3 (p4)"
    );
    let error = check_selection(&[&run()], &one_path("slid#0000")).unwrap_err();
    assert_eq!(error.to_string(), "no function matches slid: `slide`?");
}

/// A function with ten branches in a row has 1,024 paths. Some of their names begin alike.
#[test]
fn an_ambiguous_short_name_lists_longer_names() {
    let mut build = function("f", "f.c", 1);
    for block in 0..31 {
        build = build.block(1, &[(0, block + 2)]);
    }
    build = build.block(0, &[]);
    for branch in 0..10 {
        let from = 3 * branch;
        build = build
            .edge(from, from + 1, Outcome::True)
            .edge(from, from + 2, Outcome::False)
            .edge(from + 1, from + 3, Outcome::Jump)
            .edge(from + 2, from + 3, Outcome::Jump);
    }
    let map = build.edge(30, 31, Outcome::Return).done();
    assert_eq!(map.path_count, 1024);
    let counts: Vec<(u64, u64)> = (0..1024).map(|path| (path, 1)).collect();
    let run = holloway_testkit::build::run_of(map, &counts);
    let function = &run.functions[0];
    let paths = (0..1024).map(|id| (function.path_name(PathId(id)).unwrap().full(), id));
    let mut names: Vec<(String, u64)> = paths.collect();
    names.sort();
    let alike = names
        .windows(2)
        .find(|pair| pair[0].0[..4] == pair[1].0[..4])
        .unwrap();
    let [(first, a), (second, b)] = alike else {
        unreachable!()
    };
    // Six digits are shown of the names in a function with 1,024 routes.
    let error = check_selection(&[&run], &one_path(&format!("f#{}", &first[..4]))).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "`f#{}` is not one path: write f#{} (p{a}) or f#{} (p{b})",
            &first[..4],
            &first[..6],
            &second[..6]
        )
    );
    assert_eq!(
        check_selection(&[&run], &one_path(&format!("f#{}", &first[..6]))),
        Ok(vec![])
    );
}
