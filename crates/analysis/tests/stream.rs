//! Tests of reading streams as activations: handwritten streams, and streams of random programs,
//! which are compared with the activations that the program really ran.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::streams;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::stream::{Activations, EndedPath, Listener, StreamCounts, Words};
use holloway_format::{Count, ImageMap};
use proptest::prelude::*;
use streams::{JUMP, PADS, PLAIN, Simulator, caught, owner, program};

/// Records all calls of a listener.
#[derive(Default)]
struct CallRecorder {
    /// The words of each activation.
    activations: Vec<Vec<u32>>,
    /// The calls as text. A path is the index of its activation; `+` marks the first path of an
    /// activation, and `.` marks a path that closes it.
    text: Vec<String>,
    opened: u64,
    closed: u64,
    left: u64,
}

impl Listener for CallRecorder {
    type State = usize;

    fn path_ended(&mut self, path: EndedPath, state: &mut usize) {
        if path.is_first {
            self.activations.push(Vec::new());
            *state = self.activations.len() - 1;
            self.opened += 1;
        }
        self.activations[*state].push(path.word);
        self.closed += u64::from(path.closes);
        let first = ["", "+"][usize::from(path.is_first)];
        let last = ["", "."][usize::from(path.closes)];
        self.text.push(format!("{first}{}{last}", state));
    }

    fn frames_left(&mut self, activations: u64) {
        self.left += activations;
        self.text.push(format!("left {activations}"));
    }

    fn gap(&mut self, activations: u64) {
        self.left += activations;
        self.text.push(format!("gap {activations}"));
    }

    fn new_owner(&mut self, thread: u32, activations: u64) {
        self.left += activations;
        self.text.push(format!("owner {thread} {activations}"));
    }
}

/// The words of a function's paths: entry to back edge, loop to back edge, loop to exit, entry to
/// exit.
struct Paths {
    path_0: u32,
    enter: u32,
    round: u32,
    leave: u32,
    whole: u32,
}

/// The words of a function's paths; 0 if the function has no path of this form. With `catches`, the
/// words of paths that run a landing pad.
fn paths(image: &Arc<ImageMap>, function_index: usize, catches: bool) -> Paths {
    let mut words = Words::new(image);
    let function = words.functions().nth(function_index).unwrap();
    let mut find = |starts: bool, ends: bool| {
        let mut all = function.first..function.first + function.paths;
        all.find(|&word| {
            let word = words.word(word).unwrap();
            (word.starts_at_entry, word.ends_at_exit, word.catches) == (starts, ends, catches)
        })
        .unwrap_or(0)
    };
    Paths {
        path_0: function.first,
        enter: find(true, false),
        round: find(false, false),
        leave: find(false, true),
        whole: find(true, true),
    }
}

fn read(image: &Arc<ImageMap>, batches: &[(u64, &[u32])]) -> (CallRecorder, StreamCounts) {
    let (mut words, mut activations, mut recorder) = (
        Words::new(image),
        Activations::default(),
        CallRecorder::default(),
    );
    for (start, batch) in batches {
        activations.feed(&mut words, &mut recorder, *start, batch);
    }
    (recorder, activations.stream_counts())
}

fn check(image: &Arc<ImageMap>, stream: &[u32], expect: &str) {
    let (recorder, counts) = read(image, &[(0, stream)]);
    assert_eq!(recorder.text.join(" "), expect);
    assert_eq!(counts.strangers, 0);
}

#[test]
fn recursion_nests() {
    let image = program(Kind::Loops);
    let p = paths(&image, PLAIN, false);
    check(
        &image,
        &[
            p.enter, p.enter, p.round, p.whole, p.leave, p.round, p.leave,
        ],
        "+0 +1 1 +2. 1. 0 0.",
    );
}

#[test]
fn frames_left_through_unwoven_code_are_reported_when_the_caller_continues() {
    let image = program(Kind::Loops);
    let (f, g) = (paths(&image, PADS, false), paths(&image, PLAIN, false));
    let j = paths(&image, JUMP, false);
    check(
        &image,
        &[f.enter, g.enter, g.enter, j.enter, f.round, f.leave],
        "+0 +1 +2 +3 left 3 0 0.",
    );
}

#[test]
fn activations_opened_after_the_catcher_are_left() {
    let image = program(Kind::Loops);
    let (f, g) = (paths(&image, PADS, false), paths(&image, PLAIN, false));
    let with_pad = paths(&image, PADS, true);
    // f calls f, which calls g, which throws: the inner f catches. Both activations of f have ended
    // a path.
    let mut stream = vec![f.enter, f.enter, g.enter];
    stream.extend(caught(4, f.path_0));
    stream.extend([with_pad.round, f.leave, f.leave]);
    check(&image, &stream, "+0 +1 +2 left 1 1 1. 0.");
    // The outer f catches; it was entered at 0.
    let mut stream = vec![f.enter, f.enter, g.enter];
    stream.extend(caught(0, f.path_0));
    stream.extend([with_pad.round, f.leave]);
    check(&image, &stream, "+0 +1 +2 left 2 0 0.");
}

#[test]
fn a_catcher_without_a_path_replaces_the_activation_in_doubt() {
    let image = program(Kind::Loops);
    let (f, with_pad) = (paths(&image, PADS, false), paths(&image, PADS, true));
    // f's first path calls f, which goes around its loop and then throws.
    let mut stream = vec![f.enter, f.round];
    stream.extend(caught(0, f.path_0));
    stream.extend([with_pad.enter, f.leave]);
    check(&image, &stream, "+0 0 left 1 +1 1.");
    // No activation had ended a path, so no activation is in doubt.
    let mut stream = vec![];
    stream.extend(caught(0, f.path_0));
    stream.extend([with_pad.enter, f.leave]);
    check(&image, &stream, "+0 0.");
}

#[test]
fn if_paths_end_at_calls_the_catcher_is_below_its_callees() {
    let image = program(Kind::Trace);
    let (f, g) = (paths(&image, PADS, false), paths(&image, PLAIN, false));
    let with_pad = paths(&image, PADS, true);
    // f's first word is missing. It called g, which called f, which throws past both.
    let mut stream = vec![g.enter, f.enter];
    stream.extend(caught(0, f.path_0));
    stream.extend([with_pad.round, f.leave]);
    check(&image, &stream, "+0 +1 left 2 +2 2.");
}

#[test]
fn a_callee_after_the_catch_is_not_the_catcher() {
    let image = program(Kind::Loops);
    let (f, with_pad) = (paths(&image, PADS, false), paths(&image, PADS, true));
    // f has ended a path, catches, and calls itself before it ends the next path.
    let mut stream = vec![f.enter];
    stream.extend(caught(0, f.path_0));
    stream.extend([f.enter, f.leave, with_pad.round, f.leave]);
    check(&image, &stream, "+0 +1 1. 0 0.");
    // The callee catches as well.
    let mut stream = vec![f.enter];
    stream.extend(caught(0, f.path_0));
    stream.extend(caught(4 * 5, f.path_0));
    stream.extend([with_pad.enter, f.leave, with_pad.round, f.leave]);
    check(&image, &stream, "+0 +1 1. 0 0.");
}

#[test]
fn a_resumed_catcher_closes() {
    let image = program(Kind::Loops);
    let (f, with_pad) = (paths(&image, PADS, false), paths(&image, PADS, true));
    let mut stream = vec![f.enter, f.enter];
    stream.extend(caught(4, f.path_0));
    stream.extend([with_pad.whole]);
    stream.extend(caught(0, f.path_0));
    stream.extend([with_pad.leave]);
    check(&image, &stream, "+0 +1 left 1 +2. 0.");
}

#[test]
fn a_forked_child_continues_activations_older_than_its_stream() {
    let image = program(Kind::Loops);
    let (f, g) = (paths(&image, PADS, false), paths(&image, PLAIN, false));
    check(
        &image,
        &[g.enter, g.leave, g.round, g.leave, g.leave, f.leave],
        "+0 0. +1 1. +2. +3.",
    );
    // A word continues an activation that is older than the stream, so all open activations are
    // discarded.
    check(&image, &[g.enter, f.round], "+0 left 1 +1");
}

#[test]
fn owners_divide_a_ring() {
    let image = program(Kind::Loops);
    let f = paths(&image, PLAIN, false);
    let mut stream = owner(7).to_vec();
    stream.extend([f.enter, f.round]);
    stream.extend(owner(8));
    stream.extend([f.round]);
    check(&image, &stream, "owner 7 0 +0 0 owner 8 1 +1");
}

#[test]
fn operands_may_come_in_any_number_of_batches() {
    let image = program(Kind::Loops);
    let (f, with_pad) = (paths(&image, PADS, false), paths(&image, PADS, true));
    let far = 5 << 40;
    let mut stream = vec![f.enter, f.enter];
    stream.extend(caught(far + 4, f.path_0));
    stream.extend([with_pad.round]);
    stream.extend(owner(9));
    for size in 1..=stream.len() {
        let batches = stream.chunks(size).enumerate();
        let batches: Vec<(u64, &[u32])> = batches
            .map(|(index, batch)| (far + 4 * (index * size) as u64, batch))
            .collect();
        let (recorder, counts) = read(&image, &batches);
        assert_eq!(recorder.text.join(" "), "+0 +1 1 owner 9 2");
        assert_eq!(
            (counts.gaps, counts.strangers, counts.caught),
            (0, 0, Count(1))
        );
    }
}

#[test]
fn gaps_holes_and_strangers_are_counted() {
    let image = program(Kind::Trace);
    let f = paths(&image, PLAIN, false);
    let (recorder, counts) = read(
        &image,
        &[
            (0, &[f.enter, 0, 0, f.round]),
            (16, &[f.enter]),
            (24, &[f.round, 1 << 27, 0xFFFF_FFF0, 0x8000_0001]),
        ],
    );
    assert_eq!(recorder.text.join(" "), "+0 0 +1 gap 2 +2");
    let expect = StreamCounts {
        paths: Count(4),
        holes: 2,
        strangers: 3,
        gaps: 1,
        caught: Count(0),
    };
    assert_eq!(counts, expect);
    assert_eq!(recorder.opened, recorder.closed + recorder.left + 1);
}

#[test]
fn a_misplaced_operand_is_a_stranger() {
    let image = program(Kind::Loops);
    let f = paths(&image, PLAIN, false);
    let record = caught(0, f.path_0);
    let stream = [record[0], record[1], f.enter, record[2], record[3], f.round];
    let (recorder, counts) = read(&image, &[(0, &stream)]);
    assert_eq!(recorder.text.join(" "), "+0 0");
    assert_eq!((counts.caught, counts.strangers), (Count(0), 2));
}

#[test]
fn a_damaged_function_has_no_words() {
    let mut image = (*program(Kind::Loops)).clone();
    let functions = &mut image.modules[0].module.functions;
    functions[PADS].path_count += 1;
    functions[JUMP].dag[0].to = 10_000;
    let image = Arc::new(image);
    let mut words = Words::new(&image);
    for function in words.functions().collect::<Vec<_>>() {
        let known = words.word(function.first).is_some();
        assert_eq!(known, function.index.function as usize == PLAIN);
    }
    assert_eq!(words.word(0), None);
    assert_eq!(words.word(words.end()), None);
    assert_eq!(words.word(u32::MAX), None);
}

/// Random numbers, seeded by bytes.
fn choices(bytes: &[u8]) -> impl FnMut(u32) -> u32 {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for byte in bytes {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    }
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32 % below
    }
}

fn check_random_program(kind: Kind, seed: &[u8], batch: usize) {
    let mut choices = choices(seed);
    let mut simulator = Simulator::new(kind, 1 << 20, 60, &mut choices);
    simulator.run();
    let image = program(kind);
    let (mut words, mut activations, mut recorder) = (
        Words::new(&image),
        Activations::default(),
        CallRecorder::default(),
    );
    for (index, batch_words) in simulator.stream.chunks(batch).enumerate() {
        let position = simulator.start + 4 * (index * batch) as u64;
        activations.feed(&mut words, &mut recorder, position, batch_words);
    }
    assert_eq!(recorder.activations, simulator.truth.activations);
    assert_eq!(
        recorder.opened,
        recorder.closed + recorder.left + activations.open_count()
    );
    assert_eq!(
        simulator.truth.left,
        recorder.left + activations.open_count()
    );
    assert_eq!(activations.stream_counts().strangers, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn streams_of_random_programs_match_their_runs(seed in prop::array::uniform8(0u8..), batch in 1usize..50) {
        check_random_program(Kind::Loops, &seed, batch);
        check_random_program(Kind::Trace, &seed, batch);
    }

    #[test]
    fn any_words_are_read(stream in prop::collection::vec(prop_oneof![
        0u32..60, Just(0), 0xFFFF_FF00u32.., 0x8000_0000u32..0x8000_0080, 0u32..,
    ], 0..300), batch in 1usize..50) {
        let image = program(Kind::Trace);
        let batches = stream.chunks(batch).enumerate().map(|(index, words)| (4 * (index * batch) as u64, words));
        let (recorder, counts) = read(&image, &batches.collect::<Vec<_>>());
        prop_assert!(recorder.opened >= recorder.closed + recorder.left);
        prop_assert!(counts.paths.0 + counts.holes + counts.strangers + 4 * counts.caught.0 <= 2 * stream.len() as u64);
    }
}
