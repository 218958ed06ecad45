//! Tests of turning streams of words into traces: every path in order, left frames, gaps, and new
//! owners.

use holloway_testkit::streams;
use std::collections::HashMap;

use holloway_abi::Kind;
use holloway_analysis::stream::{Activations, EndedPath, Listener, Words};
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::stats::change;
use holloway_analysis::trace::{
    Assembler, Excerpt, Limits, Recorded, Terminal, Trace, TraceBuilder,
};
use holloway_format::Count;
use holloway_format::trace::{TraceFile, TraceHead, TraceWriter};
use proptest::prelude::*;
use streams::{Simulator, caught, owner, program};

const LIMITS: Limits = Limits {
    block: 50,
    pieces: 500,
};

/// The recorded traces with their threads. The first thread is unknown.
fn traces(recorded: &[Recorded]) -> Vec<(Option<u32>, Vec<Terminal>)> {
    let mut all = vec![(None, Vec::new(), Assembler::default())];
    for entry in recorded {
        let (_, terminals, assembler) = all.last_mut().expect("there is one from the start");
        match entry {
            Recorded::Block(block) => {
                terminals.extend_from_slice(&block.terminals);
                assembler.push(block).expect("blocks are well formed");
            }
            Recorded::Owner(thread) => all.push((Some(*thread), Vec::new(), Assembler::default())),
        }
    }
    let events = all.into_iter().map(|(thread, terminals, assembler)| {
        let grammar = assembler.finish().expect("blocks are well formed");
        (thread, Trace { terminals, grammar }.events(0).collect())
    });
    events.collect()
}

/// A trace file of one thread's blocks.
fn file(recorded: &[Recorded]) -> Vec<u8> {
    let head = TraceHead {
        process: 1,
        build_id: [7; 16],
    };
    let mut writer = TraceWriter::new(Vec::new(), &head).expect("memory can be written");
    let stream = writer.stream(1).expect("memory can be written");
    for entry in recorded {
        match entry {
            Recorded::Block(block) => writer.block(stream, block),
            Recorded::Owner(_) => Ok(()),
        }
        .expect("memory can be written");
    }
    writer.finish().expect("memory can be written")
}

fn word(words: &Words, event: Terminal) -> Option<u32> {
    match event {
        Terminal::Path { function, path } => Some(words.function(function).first + path),
        Terminal::Left(_) | Terminal::Gap => None,
    }
}

/// Parts of a stream in which one activation opens and closes, with all activations that it calls.
fn calls(words: &mut Words, stream: &[u32]) -> Vec<Vec<u32>> {
    let mut calls = Vec::new();
    for begin in 0..stream.len() {
        let mut open = 0;
        for (place, &word) in stream.iter().enumerate().skip(begin).take(40) {
            let Some(word) = words.word(word) else { break };
            if open == 0 && !word.starts_at_entry {
                break;
            }
            open += i32::from(word.starts_at_entry) - i32::from(word.ends_at_exit);
            if open == 0 {
                calls.push(stream[begin..=place].to_vec());
                break;
            }
        }
    }
    calls
}

/// A generator of random numbers below its argument.
fn xorshift(mut state: u64) -> impl FnMut(u32) -> u32 {
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 33) % u64::from(below)) as u32
    }
}

/// A listener that ignores all calls.
struct IgnoringListener;

impl Listener for IgnoringListener {
    type State = ();

    fn path_ended(&mut self, _path: EndedPath, (): &mut ()) {}
}

/// Collects the events of a stream, word by word.
#[derive(Default)]
struct EventCollector {
    /// By function: the word of its path 0.
    firsts: Vec<u32>,
    traces: Vec<(Option<u32>, Vec<Terminal>)>,
}

impl EventCollector {
    fn push(&mut self, event: Terminal) {
        self.traces
            .last_mut()
            .expect("a trace exists from the start")
            .1
            .push(event);
    }
}

impl Listener for EventCollector {
    type State = ();

    fn path_ended(&mut self, path: EndedPath, (): &mut ()) {
        self.push(Terminal::Path {
            function: path.function,
            path: path.word - self.firsts[path.function as usize],
        });
    }

    fn frames_left(&mut self, activations: u64) {
        self.push(Terminal::Left(activations as u32));
    }

    fn gap(&mut self, _activations: u64) {
        self.push(Terminal::Gap);
    }

    fn new_owner(&mut self, thread: u32, _activations: u64) {
        self.traces.push((Some(thread), Vec::new()));
    }
}

#[test]
fn a_new_owner_has_its_own_trace() {
    let words = Words::new(&program(Kind::Trace));
    let first = words.function(0).first;
    let mut builder = TraceBuilder::new(words, LIMITS);
    builder.feed(0, &[first, first]);
    builder.feed(8, &owner(42));
    builder.feed(16, &[first]);
    let path = Terminal::Path {
        function: 0,
        path: 0,
    };
    assert_eq!(
        traces(&builder.flush()),
        [(None, vec![path, path]), (Some(42), vec![path])]
    );
    assert_eq!(builder.counts(), HashMap::from([((0, 0), Count(3))]));
    assert_eq!(builder.counts(), HashMap::new());
}

#[test]
fn a_gap_is_an_event() {
    let words = Words::new(&program(Kind::Trace));
    let first = words.function(0).first;
    let mut builder = TraceBuilder::new(words, LIMITS);
    builder.feed(0, &[first]);
    builder.feed(400, &[first]);
    let path = Terminal::Path {
        function: 0,
        path: 0,
    };
    assert_eq!(
        traces(&builder.flush()),
        [(None, vec![path, Terminal::Gap, path])]
    );
    assert_eq!(builder.stream_counts().gaps, 1);
}

#[test]
fn a_gap_before_many_paths_is_an_event() {
    let words = Words::new(&program(Kind::Trace));
    let first = words.function(0).first;
    let mut builder = TraceBuilder::new(words, LIMITS);
    builder.feed(0, &[first]);
    builder.feed(400, &vec![first; 20_000]);
    let path = Terminal::Path {
        function: 0,
        path: 0,
    };
    let expected = [vec![path, Terminal::Gap], vec![path; 20_000]].concat();
    assert_eq!(traces(&builder.flush()), [(None, expected)]);
}

#[test]
fn pieces_are_forgotten_when_the_limit_shrinks() {
    let mut choose = xorshift(7);
    let mut simulator = Simulator::new(Kind::Trace, 4096, 3000, &mut choose);
    simulator.run();
    let words = Words::new(&program(Kind::Trace));
    let large = Limits {
        block: 50,
        pieces: 1 << 20,
    };
    let mut builder = TraceBuilder::new(words, large);
    let half = simulator.stream.len() / 2;
    let (first, second) = simulator.stream.split_at(half);
    let fresh = |recorded: Vec<Recorded>| {
        let blocks = recorded.into_iter().map(|entry| match entry {
            Recorded::Block(block) => block.is_fresh,
            Recorded::Owner(_) => panic!("one thread"),
        });
        blocks.collect::<Vec<_>>()
    };
    builder.feed(4096, first);
    let before = fresh(builder.flush());
    assert!(before.len() > 3, "{before:?}");
    assert!(before[0] && !before[1..].contains(&true), "{before:?}");
    builder.set_limits(Limits {
        block: 50,
        pieces: 0,
    });
    builder.feed(4096 + 4 * half as u64, second);
    let after = fresh(builder.flush());
    assert!(after.len() > 3 && !after.contains(&false), "{after:?}");
}

proptest! {
    #[test]
    fn traces_contain_every_path_in_order_and_every_left_frame(state in 1u64.., batch in 1usize..70) {
        let mut choose = xorshift(state);
        let mut simulator = Simulator::new(Kind::Trace, 4096, 300, &mut choose);
        simulator.run();
        let words = Words::new(&program(Kind::Trace));
        let mut builder = TraceBuilder::new(words.clone(), LIMITS);
        let mut recorded = Vec::new();
        let mut position = simulator.start;
        for batch in simulator.stream.chunks(batch) {
            builder.feed(position, batch);
            recorded.extend(builder.take());
            position += 4 * batch.len() as u64;
        }
        recorded.extend(builder.flush());
        let traces = traces(&recorded);
        let events = &traces[0].1;
        let paths: Vec<u32> = events.iter().filter_map(|&event| word(&words, event)).collect();
        let mut known = words.clone();
        let mut expected: Vec<u32> = Vec::new();
        let mut operands = 0;
        for &word in &simulator.stream {
            match word {
                holloway_abi::WORD_CAUGHT => operands = 3,
                _ if operands > 0 => operands -= 1,
                _ => expected.extend(known.word(word).map(|_| word)),
            }
        }
        prop_assert_eq!(paths, expected);
        let mut counts: HashMap<(u32, u32), Count> = HashMap::new();
        for event in events {
            if let Terminal::Path { function, path } = *event {
                *counts.entry((function, path)).or_default() += Count(1);
            }
        }
        prop_assert_eq!(builder.counts(), counts);
        let left: u64 = events.iter().map(|event| match event {
            Terminal::Left(count) => u64::from(*count),
            _ => 0,
        }).sum();
        // Frames that nobody caught are open at the end.
        let mut activations = Activations::default();
        activations.feed(&mut known, &mut IgnoringListener, simulator.start, &simulator.stream);
        prop_assert_eq!(left + activations.open_count(), simulator.truth.left);
    }

    /// Reading piece by piece gives the same events as reading word by word, even if words are
    /// missing, moved, or invalid.
    #[test]
    fn pieces_give_the_events_of_their_words(
        state in 1u64..,
        batch in 1usize..300,
        rounds in 1usize..6,
        fault_count in 0u32..12,
    ) {
        let mut choose = xorshift(state);
        let words = Words::new(&program(Kind::Trace));
        let (start, mut stream) = {
            let mut simulator = Simulator::new(Kind::Trace, 4096, 400, &mut choose);
            simulator.run();
            (simulator.start, simulator.stream.clone())
        };
        for _ in 1..rounds {
            let from = choose(stream.len() as u32) as usize;
            stream.extend_from_within(from..);
        }
        for _ in 0..fault_count {
            let index = choose(stream.len() as u32) as usize;
            match choose(6) {
                0 => drop(stream.remove(index)),
                1 => stream.insert(index, 0),
                2 => stream.insert(index, words.end() + choose(1 << 30)),
                3 => stream.insert(index, choose(words.end())),
                4 => drop(stream.splice(index..index, owner(choose(100)))),
                _ => stream.rotate_left(index),
            }
        }
        let mut collector = EventCollector {
            firsts: words.functions().map(|function| function.first).collect(),
            traces: vec![(None, Vec::new())],
        };
        let mut activations = Activations::default();
        let mut known = words.clone();
        let limits = Limits { block: 50 + choose(400) as usize, pieces: 3000 };
        let mut builder = TraceBuilder::new(words, limits);
        let (mut position, mut recorded) = (start, Vec::new());
        for batch in stream.chunks(batch) {
            builder.feed(position, batch);
            activations.feed(&mut known, &mut collector, position, batch);
            match choose(40) {
                0 => recorded.extend(builder.flush()),
                1 => position += 4 * u64::from(choose(10)),
                2 => builder.set_limits(Limits { block: choose(400) as usize, pieces: choose(3000) as usize }),
                _ => recorded.extend(builder.take()),
            }
            position += 4 * batch.len() as u64;
        }
        recorded.extend(builder.flush());
        let mut counts: HashMap<(u32, u32), Count> = HashMap::new();
        for event in collector.traces.iter().flat_map(|trace| &trace.1) {
            if let Terminal::Path { function, path } = *event {
                *counts.entry((function, path)).or_default() += Count(1);
            }
        }
        prop_assert_eq!(builder.counts(), counts);
        prop_assert_eq!(traces(&recorded), collector.traces);
        prop_assert_eq!(builder.stream_counts(), activations.stream_counts());
    }

    /// The same for pieces of higher levels: sequences of calls, and longer sequences of these
    /// sequences, are repeated many times.
    #[test]
    fn pieces_of_higher_levels_give_the_events_of_their_words(state in 1u64.., fault_count in 0u32..4) {
        let mut choose = xorshift(state);
        let words = Words::new(&program(Kind::Trace));
        let stream = {
            let mut simulator = Simulator::new(Kind::Trace, 4096, 400, &mut choose);
            simulator.run();
            simulator.stream.clone()
        };
        let mut phrases = calls(&mut words.clone(), &stream);
        prop_assume!(!phrases.is_empty());
        for _ in 0..4 {
            let mut next = |_| -> Vec<u32> {
                let parts = (0..5).map(|_| &phrases[choose(phrases.len() as u32) as usize][..]);
                parts.collect::<Vec<_>>().concat()
            };
            phrases = (0..6).map(&mut next).collect();
        }
        let mut stream = Vec::new();
        while stream.len() < 40_000 {
            stream.extend_from_slice(&phrases[choose(6) as usize]);
        }
        for _ in 0..fault_count {
            let index = choose(stream.len() as u32) as usize;
            match choose(3) {
                0 => drop(stream.remove(index)),
                1 => stream.insert(index, choose(words.end())),
                _ => drop(stream.splice(index..index, caught(4 * u64::from(choose(40_000)), words.function(0).first))),
            }
        }
        let mut collector = EventCollector {
            firsts: words.functions().map(|function| function.first).collect(),
            traces: vec![(None, Vec::new())],
        };
        let mut activations = Activations::default();
        activations.feed(&mut words.clone(), &mut collector, 0, &stream);
        let mut builder = TraceBuilder::new(words, Limits { block: 12_000, pieces: 100_000 });
        builder.feed(0, &stream);
        prop_assert_eq!(traces(&builder.flush()), collector.traces);
        prop_assert_eq!(builder.stream_counts(), activations.stream_counts());
    }

    /// An excerpt contains the events of the whole trace, at the same depth.
    #[test]
    fn excerpts_are_parts_of_the_trace(state in 1u64.., from in any::<prop::sample::Index>(), count in 0u64..400) {
        let mut choose = xorshift(state);
        let mut simulator = Simulator::new(Kind::Trace, 4096, 600, &mut choose);
        simulator.run();
        let image = program(Kind::Trace);
        let mut builder = TraceBuilder::new(Words::new(&image), LIMITS);
        let (mut position, mut recorded) = (simulator.start, Vec::new());
        // Words are missing after each batch, so no activation is open across batches.
        for batch in simulator.stream.chunks(170) {
            builder.feed(position, batch);
            recorded.extend(builder.take());
            position += 4 * batch.len() as u64 + 8;
        }
        recorded.extend(builder.flush());
        let bytes = file(&recorded);
        let file = TraceFile::read(&bytes).expect("the file has a head");
        let stream = &file.streams[0];
        let (whole, _) = Trace::read(stream).expect("blocks are well formed");
        let code = Code::new(&image);
        let all: Vec<Terminal> = whole.events(0).collect();
        let from = from.index(all.len() + 1);
        let excerpt = Excerpt::read(stream, from as u64, count).expect("blocks are well formed");
        let Excerpt { before, trace } = excerpt.expect("nothing is damaged");
        let start = before.events as usize;
        let sum = |events: &[Terminal]| -> i64 { events.iter().map(|&event| change(code.event(event))).sum() };
        prop_assert_eq!(before.depth, sum(&all[..start]));
        prop_assert!(start <= from);
        let expected = &all[from..all.len().min(from + count as usize)];
        let there: Vec<Terminal> = trace.events((from - start) as u64).take(expected.len()).collect();
        prop_assert_eq!(&there, expected);
        prop_assert_eq!(stream.change, sum(&all));
        // Only blocks that contain requested events are read; a block has at most 50 events.
        prop_assert!(trace.grammar.len() <= count + 100);
    }
}
