//! Golden files of answers to questions about traces, in tests/snapshots.
//! `INSTA_UPDATE=always cargo test -p holloway-report` updates them.
//!
//! The program is a loop: in each round, `main` takes a lock, works, and releases the lock. In its
//! third round, it forgets to release the lock.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::{build, narrow};
use std::path::PathBuf;

use build::{function, image, mangled, module};
use holloway_analysis::note::{Account, Note, Origin};
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::diff::Unit;
use holloway_analysis::trace::stats::{counts, depth};
use holloway_analysis::trace::{Checked, Extent, LookAhead, Sequitur, Terminal, Trace};
use holloway_format::trace::TracePosition;
use holloway_format::{Count, FunctionMap, ImageMap, Outcome, PathId};
use holloway_report::notes::sentence;
use holloway_report::source::Nothing;
use holloway_report::trace::{
    AskError, Comparison, Cost, HotQuestion, Method, MinCost, Question, Run, Stream,
};
use holloway_report::{Options, json, terminal};
use insta::assert_snapshot;
use proptest::prelude::*;

const MAIN: u32 = 0;
const LOCK: u32 = 1;
const UNLOCK: u32 = 2;
const WORK: u32 = 3;

/// Block 2 calls `lock`, block 3 `work`, and block 4 `unlock`. The mistake is an edge from block 3
/// that does not lead to block 4.
fn main() -> FunctionMap {
    function("main", "/home/me/app/main.c", 1)
        .block(3, &[(0, 2)])
        .block(2, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(2, &[(0, 5), (0, 6)])
        .block(1, &[(0, 7)])
        .block(1, &[(0, 9)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .cut()
        .edge(1, 5, Outcome::False)
        .edge(2, 3, Outcome::Jump)
        .cut()
        .edge(3, 4, Outcome::True)
        .cut()
        .edge(3, 1, Outcome::False)
        .edge(4, 1, Outcome::Jump)
        .edge(5, 6, Outcome::Return)
        .done()
}

fn straight(linkage_name: &str, name: &str, line: u32) -> FunctionMap {
    mangled(linkage_name, name, "/home/me/app/lock.cc", line)
        .block(4, &[(0, line + 1)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

/// A function whose code was all inlined from another file, including parts of the standard
/// library.
fn unlock() -> FunctionMap {
    mangled("_ZN3app6unlockEi", "unlock", "/home/me/app/lock.cc", 20)
        .inlined("drop", "/home/me/app/guard.h", 0, 21)
        .inlined("store", "/rustc/abc/library/core/src/sync.rs", 1, 8)
        .block(4, &[(1, 7), (2, 900)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

fn work() -> FunctionMap {
    function("work", "/home/me/app/work.c", 1)
        .block(1, &[(0, 2)])
        .block(5, &[(0, 3)])
        .block(1, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 1, Outcome::True)
        .edge(1, 2, Outcome::False)
        .edge(2, 3, Outcome::Return)
        .done()
}

fn app(build_id: u8) -> ImageMap {
    let c = module("main.o", vec![main()]);
    let lock = straight("_ZN3app4lockEi", "lock", 10);
    let cc = module("lock.o", vec![lock, unlock(), work()]);
    ImageMap {
        build_id: [build_id; 16],
        ..image("app", vec![c, cc])
    }
}

/// A trace that is being built.
struct Recorder<'a> {
    code: &'a Code<'a>,
    terminals: Vec<Terminal>,
    numbers: Vec<u32>,
}

impl Recorder<'_> {
    fn event(&mut self, terminal: Terminal) {
        let known = self.terminals.iter().position(|&one| one == terminal);
        let number = known.unwrap_or_else(|| {
            self.terminals.push(terminal);
            self.terminals.len() - 1
        });
        self.numbers.push(number as u32);
    }

    /// The path that runs these blocks and ends with an edge to `next`.
    fn path(&mut self, function: u32, blocks: &[u32], next: u32) {
        let map = self.code.function(function).unwrap();
        let runs = |number: &u32| {
            let path = self.code.path(function, PathId((*number).into())).unwrap();
            let end = map.edges[path.end.edge().index()].to;
            path.blocks
                .iter()
                .map(|block| block.0)
                .eq(blocks.iter().copied())
                && end == next
        };
        let path = (0..map.path_count as u32).find(runs).unwrap();
        self.event(Terminal::Path { function, path });
    }

    fn work(&mut self, turns: u32) {
        self.path(WORK, &[0, 1], 1);
        (2..turns).for_each(|_| self.path(WORK, &[1], 1));
        self.path(WORK, &[1, 2], 3);
    }

    fn finish(self) -> Trace {
        let mut sequitur = Sequitur::new(LookAhead::One);
        self.numbers
            .iter()
            .for_each(|&number| sequitur.push(number));
        Trace {
            terminals: self.terminals,
            grammar: sequitur.finish(),
        }
    }
}

/// The trace of `rounds` rounds. In the round `forgets`, `main` does not release the lock.
fn record(code: &Code<'_>, rounds: u32, forgets: Option<u32>) -> Trace {
    let mut recorder = Recorder {
        code,
        terminals: Vec::new(),
        numbers: Vec::new(),
    };
    recorder.path(MAIN, &[0, 1], 2);
    for round in 0..rounds {
        recorder.path(LOCK, &[0], 1);
        recorder.path(MAIN, &[2], 3);
        recorder.work(3 + round % 2);
        let ends = round + 1 == rounds;
        let (back, next) = if ends {
            (&[1, 5][..], 6)
        } else {
            (&[1][..], 2)
        };
        let mut last = vec![if forgets == Some(round) { 3 } else { 4 }];
        last.extend(back);
        if forgets != Some(round) {
            recorder.path(MAIN, &[3], 4);
            recorder.path(UNLOCK, &[0], 1);
        }
        recorder.path(MAIN, &last, next);
    }
    recorder.finish()
}

fn stream<'a>(code: &'a Code<'a>, trace: &'a Trace) -> Stream<'a> {
    Stream {
        image: "app",
        process: 100,
        thread: 101,
        nth: None,
        code,
        trace,
        part: None,
        file_bytes: Some(64),
        checked: None,
        damage: &[],
    }
}

/// The result of a check of a trace's file.
fn checked(trace: &Trace, is_same: bool) -> Checked {
    Checked {
        is_same,
        counts: counts(&trace.grammar, trace.terminals.len()),
        events: Count(trace.grammar.len()),
        rules: trace.grammar.rules().into(),
        symbols: trace.grammar.size() as u64,
        damage: None,
    }
}

fn options() -> Options<'static> {
    Options {
        width: 110,
        cwd: Some(PathBuf::from("/home/me/app")),
        ..Options::new(&Nothing)
    }
}

/// The text and the JSON of an answer about the trace in which main forgets to release.
fn ask(question: &Question<'_>) -> String {
    let map = app(1);
    let code = Code::new(&map);
    let trace = record(&code, 6, Some(2));
    both(question, &[stream(&code, &trace)], &options())
}

/// The text and the JSON of an answer.
fn both(question: &Question<'_>, streams: &[Stream<'_>], options: &Options<'_>) -> String {
    let run = Run {
        streams,
        damage: &[],
        accounts: &[],
        interrupt: None,
        profile: None,
    };
    both_of_run(question, &run, options).0
}

/// Like `both`, for a run. Also returns whether the traces are good.
fn both_of_run(question: &Question<'_>, run: &Run<'_>, options: &Options<'_>) -> (String, bool) {
    let (mut text, mut data) = (Vec::new(), Vec::new());
    let good = terminal::trace::write(question, run, options, &mut text).unwrap();
    let too = json::trace::write(question, run, options, &mut data).unwrap();
    assert_eq!(good, too);
    (shown(text, &data), good)
}

fn shown(text: Vec<u8>, data: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(data).unwrap();
    let text = String::from_utf8(text).unwrap();
    format!("{text}----\n{}", compact(&value))
}

/// JSON with a line for each stream, terminal and sequence.
fn compact(value: &serde_json::Value) -> String {
    let text = serde_json::to_string(value).unwrap();
    text.replace("},{", "},\n{")
        .replace("[{", "[\n{")
        .replace("\"terminals\":[\n", "\n\"terminals\":[\n")
}

#[test]
fn stats_and_verify() {
    let map = app(1);
    let code = Code::new(&map);
    let (one, two) = (record(&code, 6, Some(2)), record(&code, 500, None));
    let damage = [Note::Trace("block 3 cut short".into())];
    let second = Stream {
        thread: 102,
        file_bytes: None,
        damage: &damage,
        ..stream(&code, &two)
    };
    let mut streams = [stream(&code, &one), second];
    assert_snapshot!("stats", both(&Question::Stats, &streams, &options()));
    let checked = [checked(&one, true), checked(&two, false)];
    for (stream, checked) in streams.iter_mut().zip(&checked) {
        stream.checked = Some(checked);
    }
    assert_snapshot!("verify", both(&Question::Verify, &streams, &options()));
}

#[test]
fn narrow_terminals_lose_no_number() {
    let map = app(1);
    let code = Code::new(&map);
    let trace = record(&code, 6, Some(2));
    let questions = [
        Question::Stats,
        Question::Verify,
        Question::Cat {
            from: 0,
            count: None,
        },
        Question::Hot(HOT),
        Question::Freq("lock main work"),
        Question::Before("unlock", "lock"),
        Question::Context("app::lock"),
        Question::Query("lock (!unlock)* lock"),
        Question::Loops(3),
    ];
    for question in &questions {
        narrow::check(None, &|width| {
            let options = Options { width, ..options() };
            let streams = [stream(&code, &trace)];
            let run = Run {
                streams: &streams,
                damage: &[],
                accounts: &[],
                interrupt: None,
                profile: None,
            };
            let mut text = Vec::new();
            terminal::trace::write(question, &run, &options, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        });
    }
}

#[test]
fn a_trace_is_not_good_if_the_run_is_damaged() {
    let map = app(1);
    let code = Code::new(&map);
    let trace = record(&code, 6, None);
    let streams = [stream(&code, &trace)];
    let origin = Origin {
        image: "app".to_owned(),
        process: 100,
    };
    let damage = [Note::Streams {
        origin,
        fact: "7 paths are lost".into(),
    }];
    let (whole, part) = (
        Run {
            streams: &streams,
            damage: &[],
            accounts: &[],
            interrupt: None,
            profile: None,
        },
        Run {
            streams: &streams,
            damage: &damage,
            accounts: &[],
            interrupt: None,
            profile: None,
        },
    );
    assert!(both_of_run(&Question::Verify, &whole, &options()).1);
    let (text, good) = both_of_run(&Question::Verify, &part, &options());
    assert!(!good);
    assert_eq!(text.matches("7 paths are lost").count(), 2, "{text}");
    assert!(text.contains(r#""good":false"#), "{text}");
    let (text, good) = both_of_run(&Question::Freq("lock"), &part, &options());
    assert!(good);
    assert_eq!(text.matches("7 paths are lost").count(), 2, "{text}");
}

#[test]
fn a_profile_is_compared_with_its_traces() {
    let check = |missing, surplus, expect: &str| {
        let account = Account {
            image: "app".to_owned(),
            process: 100,
            counted: Count(52_310),
            missing: Count(missing),
            surplus: Count(surplus),
        };
        let damage: Vec<Note> = account.note().into_iter().collect();
        let sentences: Vec<String> = damage.iter().map(sentence).collect();
        assert_eq!(sentences.concat(), expect);
        let run = Run {
            streams: &[],
            damage: &damage,
            accounts: &[account],
            interrupt: None,
            profile: None,
        };
        both_of_run(&Question::Verify, &run, &options())
    };
    // There is no stream.
    let (text, good) = check(0, 0, "");
    assert!(!good && text.contains("no trace: "), "{text}");
    check(
        1,
        0,
        "app, process 100: 1 path of the 52,310 that its profile counted is missing from its trace; record it again",
    );
    check(
        0,
        1000,
        "app, process 100: its trace has 1,000 paths that its profile did not count: it is of another run, or was changed; record it again",
    );
    check(
        52_310,
        0,
        "app, process 100: all 52,310 paths that its profile counted are missing from its trace; record it again",
    );
    let (text, good) = check(
        52_000,
        2,
        "app, process 100: 52,000 paths of the 52,310 that its profile counted are missing from its trace, which has 2 paths that were not counted: it is of another run, or was changed; record it again",
    );
    assert!(!good);
    assert_snapshot!("verify_nothing", text);
}

#[test]
fn only_the_longest_of_many_traces_are_shown() {
    let map = app(1);
    let code = Code::new(&map);
    let traces: Vec<Trace> = (1..=5).map(|rounds| record(&code, rounds, None)).collect();
    let streams: Vec<Stream<'_>> = (200..)
        .zip(&traces)
        .map(|(thread, trace)| Stream {
            thread,
            ..stream(&code, trace)
        })
        .collect();
    let options = Options {
        top: Some(2),
        ..options()
    };
    for question in [Question::Stats, Question::Hot(HOT)] {
        let text = both(&question, &streams, &options);
        assert!(!text.contains(r#""thread":202"#), "{text}");
        let text = text.split("----").next().unwrap();
        assert!(text.contains("… and 3 more traces"), "{text}");
        assert!(text.contains("204") && !text.contains("201"), "{text}");
    }
}

#[test]
fn cat() {
    let question = Question::Cat {
        from: 13,
        count: Some(10),
    };
    assert_snapshot!(ask(&question));
    let beyond = Question::Cat {
        from: 1000,
        count: None,
    };
    assert!(
        ask(&beyond).contains("there is no event 1,000"),
        "{}",
        ask(&beyond)
    );
}

#[test]
fn frames_left_and_missing_events_are_shown() {
    let map = app(1);
    let code = Code::new(&map);
    let trace = Trace {
        terminals: vec![Terminal::Left(1), Terminal::Left(3), Terminal::Gap],
        ..record(&code, 1, None)
    };
    let mut sequitur = Sequitur::new(LookAhead::One);
    (0..3).for_each(|number| sequitur.push(number));
    let trace = Trace {
        grammar: sequitur.finish(),
        ..trace
    };
    let question = Question::Cat {
        from: 0,
        count: None,
    };
    assert_snapshot!(both(&question, &[stream(&code, &trace)], &options()));
}

/// The events of a part are shown like the same events of the whole trace. This also holds if the
/// trace begins inside activations, as in the child of a fork.
#[test]
fn cat_of_a_part() {
    let map = app(1);
    let code = Code::new(&map);
    let recorded = record(&code, 6, Some(2));
    let events = code.events(&recorded.terminals);
    let numbers: Vec<u32> = recorded.grammar.expand().collect();
    let trace_from = |first: usize| {
        let mut sequitur = Sequitur::new(LookAhead::One);
        numbers[first..]
            .iter()
            .for_each(|&number| sequitur.push(number));
        Trace {
            terminals: recorded.terminals.clone(),
            grammar: sequitur.finish(),
        }
    };
    let event_count = numbers.len() as u64;
    // At these starts, events leave activations that began before the trace, so depths are below 0.
    for begin in [0, 3, 5] {
        let trace = trace_from(begin);
        for start in begin..numbers.len() {
            let later_events = trace_from(start);
            let before = TracePosition {
                events: (start - begin) as u64,
                depth: depth(&trace.grammar, &events, (start - begin) as u64),
            };
            let events = event_count - begin as u64;
            let part = Stream {
                part: Some(Extent { before, events }),
                ..stream(&code, &later_events)
            };
            let question = Question::Cat {
                from: before.events + 1,
                count: Some(7),
            };
            let shown = both(&question, &[stream(&code, &trace)], &options());
            assert_eq!(both(&question, &[part], &options()), shown);
            let lines = |from| {
                let question = Question::Cat { from, count: None };
                both(&question, &[stream(&code, &trace)], &options())
            };
            let text = |from| lines(from).split("----").next().unwrap().to_owned();
            let (first, later) = (text(0), text(before.events));
            let later: Vec<&str> = later.lines().skip(1).collect();
            assert!(
                first.lines().skip(1).collect::<Vec<_>>().ends_with(&later),
                "{first}\n{later:?}"
            );
        }
    }
}

const HOT: HotQuestion = HotQuestion {
    min_len: 2,
    max_len: 4,
    min_cost: MinCost::Percent(20.0),
    cost: Cost::Instructions,
    method: Method::Exact,
    all: false,
};

#[test]
fn hot() {
    assert_snapshot!("hot", ask(&Question::Hot(HOT)));
    let all = HotQuestion {
        method: Method::Figure7,
        cost: Cost::Paths,
        min_cost: MinCost::Cost(10),
        max_len: 30,
        ..HOT
    };
    assert_snapshot!("hot_as_printed", ask(&Question::Hot(all)));
}

#[test]
fn a_long_hot_sequence_is_shown_in_part() {
    let long = HotQuestion {
        min_len: 30,
        max_len: 30,
        all: true,
        ..HOT
    };
    let text = ask(&Question::Hot(long));
    assert!(text.contains("… 10 more events"), "{text}");
    assert!(text.contains(" sequences of 30 events that cost"), "{text}");
}

#[test]
fn freq() {
    assert_snapshot!(ask(&Question::Freq("lock main work")));
    assert!(ask(&Question::Freq("unlock lock")).contains("never"));
}

/// Two functions: one has spaces in its name, and one has generic parameters and a trait.
#[test]
fn names_can_be_given_as_they_are_printed() {
    let names = ["<&T as core::fmt::Debug>::fmt", "work(int, int)", "work"];
    let functions = names.map(|name| straight(name, name, 1)).to_vec();
    let map = image("app", vec![module("a.o", functions)]);
    let code = Code::new(&map);
    let mut recorder = Recorder {
        code: &code,
        terminals: Vec::new(),
        numbers: Vec::new(),
    };
    [0, 1, 1, 2]
        .iter()
        .for_each(|&function| recorder.path(function, &[0], 1));
    let trace = recorder.finish();
    let count = |text: &str| {
        let streams = [stream(&code, &trace)];
        let text = both(&Question::Query(text), &streams, &options());
        let (_, data) = text.split_once(r#""count":"#).unwrap();
        data.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(count("work(int, int):0"), 2);
    assert_eq!(count("\"work(int, int)\":0"), 2);
    assert_eq!(count("\"work(int, int):0\" \"work(int, int):0\""), 1);
    assert_eq!(count("work:0"), 3);
    assert_eq!(
        count("<&T as core::fmt::Debug>::fmt:0 work(int, int):0+"),
        1
    );
    assert_eq!(
        count("enter <&T as core::fmt::Debug>::fmt work(int, int)"),
        1
    );
    assert_eq!(count("(<&T as core::fmt::Debug>::fmt)|(work)"), 4);
}

#[test]
fn a_function_is_counted_by_its_calls() {
    let text = ask(&Question::Freq("work"));
    assert!(text.contains("called        6 times"), "{text}");
    assert!(text.contains(r#""count":6,"counted":"calls""#), "{text}");
    let text = ask(&Question::Context("work"));
    assert!(text.contains("called        6 times"), "{text}");
    let text = ask(&Question::Freq("work:0"));
    assert!(text.contains(r#""counted":"events""#), "{text}");
}

#[test]
fn the_wrong_part_of_a_long_pattern_is_shown() {
    let long = format!("{}|) {}", "lock ".repeat(1000), "unlock ".repeat(1000));
    let message = refused(&Question::Query(&long));
    assert!(message.chars().count() < 250, "{message}");
    assert!(message.contains("lock |) unlock"), "{message}");
}

#[test]
fn before() {
    assert_snapshot!("before", ask(&Question::Before("unlock", "lock")));
    assert_snapshot!("before_never", ask(&Question::Before("lock", "main:2")));
}

#[test]
fn context() {
    assert_snapshot!(ask(&Question::Context("app::lock")));
}

#[test]
fn loops() {
    assert_snapshot!(ask(&Question::Loops(3)));
}

#[test]
fn query() {
    assert_snapshot!("query", ask(&Question::Query("lock (!unlock)* lock")));
    assert_snapshot!(
        "query_none",
        ask(&Question::Query("unlock (!lock)* unlock"))
    );
    assert_snapshot!(
        "query_long",
        ask(&Question::Query("enter main .* return .* leave main"))
    );
}

#[test]
fn short_names_and_numbers_name_the_same_paths() {
    for [short_name, number] in [
        ["work#06af", "work:0"],
        ["app::lock(int)#2a1321b833951bed", "lock:0"],
    ] {
        let answers = [short_name, number].map(|pattern| ask(&Question::Query(pattern)));
        assert!(answers[0].contains(" matches"), "{}", answers[0]);
        assert_eq!(answers[0], answers[1]);
        let answers = [short_name, number].map(|pattern| ask(&Question::Context(pattern)));
        assert_eq!(answers[0], answers[1]);
    }
}

fn refused(question: &Question<'_>) -> String {
    let map = app(1);
    let code = Code::new(&map);
    let trace = record(&code, 2, None);
    let run = Run {
        streams: &[stream(&code, &trace)],
        damage: &[],
        accounts: &[],
        interrupt: None,
        profile: None,
    };
    let answer = terminal::trace::write(question, &run, &options(), &mut Vec::new());
    answer.unwrap_err().to_string()
}

#[test]
fn errors_describe_the_mistake() {
    let expect = [
        (
            Question::Query("lock | ("),
            "pattern `lock | (`, at character 9: an event is missing: a function's name, `f#3fa2`, `f:12`, `enter f`, `leave f`, `return`, `left` or `.`",
        ),
        (
            Question::Freq("loc"),
            "pattern `loc`, at character 1: no function `loc` was recorded: `app::lock(int)`, `app::unlock(int)`?",
        ),
        (
            Question::Context("printf"),
            "pattern `printf`, at character 1: no function `printf` was recorded: it may be inlined or skipped (`holloway report --function` says where it went)",
        ),
        (
            Question::Query("lock:0 lock:999"),
            "pattern `lock:0 lock:999`, at character 8: `lock` has no such path: it has 1 path, numbered from 0",
        ),
        (
            Question::Query("lock#0000"),
            "pattern `lock#0000`, at character 1: no path `lock#0000` ran; these ran: #2a13 (p0)",
        ),
        (
            Question::Query("work#0000"),
            "pattern `work#0000`, at character 1: no path `work#0000` ran; these ran: #06af (p0), #6174 (p2), #6929 (p3)",
        ),
        (
            Question::Before("lock", "unlock*"),
            "pattern `unlock*`, at character 1: a sequence of single events is asked for: without `*`, `+` and `?` (`holloway trace query` takes them)",
        ),
    ];
    for (question, message) in expect {
        assert_eq!(refused(&question), message);
    }
}

#[test]
fn no_stream_is_no_error() {
    assert_snapshot!(both(&Question::Query("x"), &[], &options()));
}

/// The sum covers three threads of the same build, one of which is in another process. It does not
/// include the stream of another image.
#[test]
fn threads_of_an_image_are_summed() {
    let (map, same) = (app(1), app(1));
    let other = image("lib", vec![module("work.o", vec![work()])]);
    let [code, forked, other] = [&map, &same, &other].map(Code::new);
    let traces = [(6, Some(2)), (3, None), (4, Some(0))];
    let traces = traces.map(|(rounds, forgets)| record(&code, rounds, forgets));
    let mut alone = Recorder {
        code: &other,
        terminals: Vec::new(),
        numbers: Vec::new(),
    };
    alone.path(0, &[0, 1], 1);
    alone.path(0, &[1, 2], 3);
    let alone = alone.finish();
    let streams = [
        stream(&code, &traces[0]),
        Stream {
            thread: 102,
            ..stream(&code, &traces[1])
        },
        Stream {
            process: 200,
            thread: 200,
            ..stream(&forked, &traces[2])
        },
        Stream {
            image: "lib.so",
            ..stream(&other, &alone)
        },
    ];
    let asked = [
        Question::Freq("lock"),
        Question::Query("lock (!unlock)* lock"),
        Question::Before("unlock", "lock"),
        Question::Context("work"),
    ];
    let mut texts = String::new();
    for question in asked {
        let both = both(&question, &streams, &options());
        let (text, data) = both.split_once("----\n").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let [sum] = &data["sums"].as_array().unwrap()[..] else {
            panic!("{data}")
        };
        assert_eq!((&sum["image"], &sum["streams"]), (&"app".into(), &3.into()));
        let of_image = data["streams"].as_array().unwrap().iter();
        let of_image = of_image.filter(|stream| stream["image"] == "app");
        let of_image: Vec<&serde_json::Value> = of_image.collect();
        let total = |field: &str| {
            let number =
                |stream: &&serde_json::Value| stream.pointer(field).unwrap().as_u64().unwrap();
            of_image.iter().map(number).sum::<u64>()
        };
        let mut fields = vec!["/events"];
        match question {
            Question::Before(..) => fields.extend([
                "/answer/p/count",
                "/answer/q/count",
                "/answer/at_once",
                "/answer/next",
                "/answer/later",
                "/answer/preceded",
                "/answer/without/count",
                "/answer/unanswered/count",
            ]),
            _ => fields.push("/answer/count"),
        }
        for field in fields {
            assert_eq!(sum.pointer(field).unwrap(), total(field), "{field}");
        }
        let (_, shown) = text.split_once("app, 3 traces together").unwrap();
        texts += &format!(
            "{question:?}\napp, 3 traces together{shown}{}\n\n",
            compact(sum)
        );
    }
    assert_snapshot!("sums", texts);
    // A single thread has no sum, and answers without counts have none.
    for (question, streams) in [
        (Question::Freq("lock"), &streams[..1]),
        (Question::Stats, &streams),
    ] {
        let text = both(&question, streams, &options());
        assert!(
            !text.contains("sums") && !text.contains("together"),
            "{text}"
        );
    }
}

/// Only one image has a function with this name, so the stream of the other image is left out.
#[test]
fn streams_without_the_name_are_left_out() {
    let (map, other) = (app(1), image("lib", vec![module("work.o", vec![work()])]));
    let (code, other) = (Code::new(&map), Code::new(&other));
    let trace = record(&code, 2, None);
    let empty = Trace {
        terminals: Vec::new(),
        grammar: Sequitur::new(LookAhead::One).finish(),
    };
    let streams = [stream(&other, &empty), stream(&code, &trace)];
    let text = both(&Question::Freq("lock"), &streams, &options());
    assert_eq!(text.matches("thread 101").count(), 1, "{text}");
}

#[test]
fn traces_may_have_only_their_first_event_in_common() {
    let map = app(1);
    let code = Code::new(&map);
    let [a, b] = [LOCK, UNLOCK].map(|then| {
        let mut recorder = Recorder {
            code: &code,
            terminals: Vec::new(),
            numbers: Vec::new(),
        };
        recorder.path(MAIN, &[0, 1], 2);
        recorder.path(then, &[0], 1);
        recorder.finish()
    });
    let how = Comparison::default();
    let text = compare(&stream(&code, &a), &stream(&code, &b), &how).unwrap();
    assert!(text.contains("the first event is the same"), "{text}");
}

/// The message about an event after the end of the trace has the number of events.
#[test]
fn numbers_of_events_have_separators() {
    let map = app(1);
    let code = Code::new(&map);
    let trace = record(&code, 500, None);
    let question = Question::Cat {
        from: 9_999_999,
        count: None,
    };
    let text = both(&question, &[stream(&code, &trace)], &options());
    let expect = "there is no event 9,999,999 in it: it has 4,251";
    assert!(text.contains(expect), "{text}");
}

fn compare(a: &Stream<'_>, b: &Stream<'_>, how: &Comparison) -> Result<String, AskError> {
    let (mut text, mut data) = (Vec::new(), Vec::new());
    let pairs = [[*a, *b]];
    terminal::trace::diff(&pairs, how, &options(), &mut text)?;
    json::trace::diff(&pairs, how, &options(), &mut data)?;
    Ok(shown(text, &data))
}

#[test]
fn two_traces() {
    let (map, rebuilt) = (app(1), app(2));
    let (code, other) = (Code::new(&map), Code::new(&rebuilt));
    let (good, bad) = (record(&code, 6, None), record(&other, 6, Some(2)));
    let (good, bad) = (stream(&code, &good), stream(&other, &bad));
    assert_snapshot!(
        "diff",
        compare(&good, &bad, &Comparison::default()).unwrap()
    );
    let functions = Comparison {
        unit: Unit::Functions,
        max_len: 3,
    };
    assert_snapshot!("diff_functions", compare(&good, &bad, &functions).unwrap());
    assert_snapshot!("diff_same", compare(&good, &good, &functions).unwrap());
}

#[test]
fn different_pairs_are_listed_first() {
    let map = app(1);
    let code = Code::new(&map);
    let (good, bad) = (record(&code, 6, None), record(&code, 6, Some(2)));
    let good = stream(&code, &good);
    let bad = Stream {
        thread: 300,
        ..stream(&code, &bad)
    };
    let pairs = [[good, good], [good, good], [good, bad]];
    let options = Options {
        top: Some(1),
        ..options()
    };
    let (mut text, mut data) = (Vec::new(), Vec::new());
    terminal::trace::diff(&pairs, &Comparison::default(), &options, &mut text).unwrap();
    json::trace::diff(&pairs, &Comparison::default(), &options, &mut data).unwrap();
    let text = shown(text, &data);
    let (text, data) = text.split_once("----").unwrap();
    assert!(text.contains("3 pairs of threads"), "{text}");
    assert!(text.contains("2 the same"), "{text}");
    assert!(text.contains("thread 300"), "{text}");
    assert!(text.contains("… and 2 more pairs"), "{text}");
    assert!(data.contains(r#""question":"diff","same":false"#), "{data}");
}

/// The example of docs/json.md.
#[test]
fn the_documented_json_is_what_is_written() {
    let map = app(1);
    let code = Code::new(&map);
    let trace = record(&code, 6, Some(2));
    let question = Question::Query("lock (!unlock)* lock");
    let mut out = Vec::new();
    let run = Run {
        streams: &[stream(&code, &trace)],
        damage: &[],
        accounts: &[],
        interrupt: None,
        profile: None,
    };
    json::trace::write(&question, &run, &options(), &mut out).unwrap();
    let docs = include_str!("../../../docs/json.md");
    let (_, trace) = docs.split_once("\n## Trace\n").unwrap();
    let (_, example) = trace.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    // The documents are compared without line breaks and spaces.
    let bare = |text: &str| text.replace([' ', '\n'], "");
    assert_eq!(bare(example), bare(&String::from_utf8(out).unwrap()));
}

fn any_terminal() -> impl Strategy<Value = Terminal> {
    prop_oneof![
        8 => (0u32..6, 0u32..12).prop_map(|(function, path)| Terminal::Path { function, path }),
        1 => (0u32..4).prop_map(Terminal::Left),
        1 => Just(Terminal::Gap),
    ]
}

/// An arbitrary trace. It may have paths that are not in the map, terminals that do not occur, and
/// equal terminals.
fn any_trace() -> impl Strategy<Value = Trace> {
    let string = prop::collection::vec(any::<prop::sample::Index>(), 0..60);
    let terminals = prop::collection::vec(any_terminal(), 1..12);
    (terminals, string).prop_map(|(terminals, string)| {
        let mut sequitur = Sequitur::new(LookAhead::One);
        for index in string {
            sequitur.push(index.index(terminals.len()) as u32);
        }
        let grammar = sequitur.finish();
        Trace { terminals, grammar }
    })
}

fn any_question() -> impl Strategy<Value = Question<'static>> {
    let hot = (0usize..4, 0usize..6, 0u64..50, any::<bool>(), any::<bool>());
    let hot = hot.prop_map(|(min_len, max_len, cost, all, exact)| {
        Question::Hot(HotQuestion {
            min_len,
            max_len,
            min_cost: if all {
                MinCost::Cost(cost)
            } else {
                MinCost::Percent(cost as f64)
            },
            cost: if exact {
                Cost::Instructions
            } else {
                Cost::Paths
            },
            method: if exact {
                Method::Exact
            } else {
                Method::Figure7
            },
            all,
        })
    });
    prop_oneof![
        Just(Question::Stats),
        Just(Question::Verify),
        Just(Question::Freq("lock . work")),
        Just(Question::Before("lock", "!main")),
        Just(Question::Context("work|left")),
        Just(Question::Query("(lock|enter work) .* return")),
        (0u32..6).prop_map(Question::Loops),
        (0u64..80, prop::option::of(0u64..80))
            .prop_map(|(from, count)| Question::Cat { from, count }),
        hot,
    ]
}

proptest! {
    #[test]
    fn any_question_to_any_trace_is_answered(a in any_trace(), b in any_trace(), question in any_question(), top in prop::option::of(0usize..4)) {
        let map = app(1);
        let code = Code::new(&map);
        let options = Options { top, width: 40, ..options() };
        let (a, b) = (stream(&code, &a), stream(&code, &b));
        both(&question, &[stream(&code, a.trace), stream(&code, b.trace)], &options);
        for unit in [Unit::Events, Unit::Functions] {
            let how = Comparison { unit, max_len: 3 };
            compare(&a, &b, &how).unwrap();
        }
    }
}
