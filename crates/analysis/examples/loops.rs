//! Measures how fast slab forests are built.
//!
//! Usage: `cargo run --release -p holloway-analysis --example loops -- [STREAM.u32 [MAP.hwm]]`
//!
//! `STREAM.u32` contains the words of a stream as little-endian `u32` numbers, and `MAP.hwm` the
//! path map of its image. Without a map, the words may be any numbers. The example then uses them
//! as paths of one loop. Without a stream, the example generates several kinds of streams.
//!
//! For each k, the example prints the speed in million words per second of processor time, and the
//! number of nodes. For comparison, it prints the speed of reading activations without building a
//! forest, and the speed of a hash table that only counts paths.
#![allow(clippy::unwrap_used, reason = "an example fails by panicking")]

use std::hint::black_box;
use std::sync::Arc;

use holloway_analysis::loops::{Limits, LoopsBuilder};
use holloway_analysis::stream::{Activations, EndedPath, Listener, Words};
use holloway_format::{
    BlockMap, Counters, DagEdgeMap, DagKind, EdgeMap, FunctionMap, ImageMap, ModuleMap, Outcome,
    PlacedModule, decode_image,
};

const KS: [u32; 7] = [2, 3, 4, 6, 8, 11, 16];
const WORDS: usize = 4_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let stored = arguments.first().map(|stream| {
        let bytes = std::fs::read(stream).unwrap();
        let words = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        words.take(WORDS).collect::<Vec<_>>()
    });
    match (stored, &arguments[..]) {
        (Some(words), [stream, map]) => {
            let image = decode_image(&std::fs::read(map).unwrap()).unwrap();
            return measure(stream, &Arc::new(image), &words);
        }
        (Some(mut words), [stream]) => {
            let cases = words.iter().max().map_or(1, |largest| largest + 1);
            words.iter_mut().for_each(|word| *word += 1 + cases + 2);
            return measure(stream, &Arc::new(image(1, cases)), &words);
        }
        _ => {}
    }
    let image = Arc::new(image(256, 64));
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    measure(
        "one path again and again",
        &image,
        &loop_words(&mut random, |_, _| 0),
    );
    measure(
        "period of 5",
        &image,
        &loop_words(&mut random, |_, round| (round % 5) as u32),
    );
    measure(
        "two paths at random",
        &image,
        &loop_words(&mut random, |random, _| random.below(2)),
    );
    measure(
        "60 paths, skewed",
        &image,
        &loop_words(&mut random, |random, _| random.skewed(60)),
    );
    measure(
        "60 paths at random",
        &image,
        &loop_words(&mut random, |random, _| random.below(60)),
    );
    measure(
        "nested calls of short loops",
        &image,
        &nested_loop_words(&mut random),
    );
}

fn measure(name: &str, image: &Arc<ImageMap>, stream: &[u32]) {
    println!("{name}: {} words", stream.len());
    let rate = rate_of(stream.len(), || {
        let mut counts = HashedCounters::new();
        stream.iter().for_each(|&word| counts.count(word));
        black_box(&counts.slots);
    });
    println!("  hashed counters      {rate:8.1} M words/s");
    let rate = rate_of(stream.len(), || {
        let (mut words, mut activations) = (Words::new(image), Activations::default());
        for (index, batch) in stream.chunks(1 << 14).enumerate() {
            activations.feed(&mut words, &mut NullListener, (index << 16) as u64, batch);
        }
        black_box(activations.stream_counts());
    });
    println!("  activations alone    {rate:8.1} M words/s");
    for k in KS {
        let build = || {
            let mut builder = LoopsBuilder::new(Words::new(image), k, Limits::default());
            for (index, batch) in stream.chunks(1 << 14).enumerate() {
                builder.feed((index << 16) as u64, batch);
            }
            builder.finish()
        };
        let rate = rate_of(stream.len(), || {
            black_box(build().nodes());
        });
        let forest = build();
        let losses = forest.losses();
        println!(
            "  k = {k:4}             {rate:8.1} M words/s  {} nodes, {} words in dropped nodes",
            forest.nodes(),
            losses.words
        );
    }
}

/// A listener that does nothing.
struct NullListener;

impl Listener for NullListener {
    type State = u32;

    fn path_ended(&mut self, path: EndedPath, state: &mut u32) {
        *state = black_box(path.word);
    }
}

/// Million words per second of processor time.
fn rate_of(words: usize, mut run: impl FnMut()) -> f64 {
    run();
    let (start, mut runs) = (processor_time(), 0);
    // The clock ticks a few hundred times per second, so the loop runs for at least 0.1 s.
    while runs == 0 || processor_time() - start < 1e8 {
        run();
        runs += 1;
    }
    (words * runs) as f64 / (processor_time() - start) * 1e3
}

/// Nanoseconds of processor time of this thread. Other programs on the machine do not count.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// A hash table of counters, as instrumented code uses it for functions with many paths.
struct HashedCounters {
    slots: Vec<(u64, u64)>,
    bits: u32,
    used: usize,
}

impl HashedCounters {
    fn new() -> HashedCounters {
        HashedCounters {
            slots: vec![(0, 0); 1 << 10],
            bits: 10,
            used: 0,
        }
    }

    fn count(&mut self, word: u32) {
        let key = u64::from(word);
        let mut slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits)) as usize;
        loop {
            let (slot_key, count) = &mut self.slots[slot];
            if *slot_key == key {
                *count += 1;
                return;
            }
            if *slot_key == 0 {
                break;
            }
            slot = (slot + 1) & ((1 << self.bits) - 1);
        }
        self.slots[slot] = (key, 1);
        self.used += 1;
        if 2 * self.used > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        self.bits += 1;
        let old_slots = std::mem::replace(&mut self.slots, vec![(0, 0); 1 << self.bits]);
        for (key, count) in old_slots.into_iter().filter(|slot| slot.0 != 0) {
            let mut slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits)) as usize;
            while self.slots[slot].0 != 0 {
                slot = (slot + 1) & ((1 << self.bits) - 1);
            }
            self.slots[slot] = (key, count);
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % below
    }

    /// A random number below the limit. Small numbers are much more frequent than large numbers.
    fn skewed(&mut self, below: u32) -> u32 {
        (self.below(1 << 16).trailing_ones() * 4 + self.below(4)) % below
    }
}

/// A function with a switch in a loop. Its paths, in the order of their numbers, lead from the
/// entry to the return; for each case, from the entry to the back edge; from the loop head to the
/// return; and for each case, from the loop head to the back edge.
fn switch(cases: u32) -> FunctionMap {
    let (head, ret, exit) = (1, 2 + cases, 3 + cases);
    let edge = |from, to| EdgeMap {
        from,
        to,
        kind: holloway_format::EdgeKind::Plain,
        outcome: Outcome::Jump,
        place: None,
    };
    let mut edges = vec![edge(0, head), edge(head, ret), edge(ret, exit)];
    let (mut dag, mut value) = (Vec::new(), 1);
    for case in 0..cases {
        let (to, number) = (2 + case, edges.len() as u32);
        edges.extend([edge(head, to), edge(to, head)]);
        dag.push(DagEdgeMap {
            from: head,
            to,
            kind: DagKind::Edge(number),
            value,
        });
        dag.push(DagEdgeMap {
            from: to,
            to: exit,
            kind: DagKind::Back(number + 1),
            value: 0,
        });
        value += 1;
    }
    let plain_edge = |from, to, number| DagEdgeMap {
        from,
        to,
        kind: DagKind::Edge(number),
        value: 0,
    };
    dag.extend([
        plain_edge(0, head, 0),
        plain_edge(head, ret, 1),
        plain_edge(ret, exit, 2),
    ]);
    dag.push(DagEdgeMap {
        from: 0,
        to: head,
        kind: DagKind::Start(head),
        value,
    });
    FunctionMap {
        name: "switch".into(),
        linkage_name: "switch".into(),
        blocks: vec![BlockMap::default(); exit as usize + 1],
        entry: 0,
        exit,
        edges,
        dag,
        path_count: 2 * value,
        ..FunctionMap::default()
    }
}

fn image(functions: u64, cases: u32) -> ImageMap {
    let map = switch(cases);
    let functions = (0..functions).map(|index| FunctionMap {
        counters: Counters::Array {
            offset: 8 * index * map.path_count,
            len: map.path_count,
        },
        ..map.clone()
    });
    let module = ModuleMap {
        functions: functions.collect(),
        ..ModuleMap::default()
    };
    ImageMap {
        modules: vec![PlacedModule { base: 0, module }],
        ..ImageMap::default()
    }
}

/// The word of the path from the entry of a function through a case to the back edge.
fn enter(function: u32, case: u32) -> u32 {
    1 + function * 130 + 1 + case
}

/// The word of the path from the loop head through a case to the back edge.
fn round(function: u32, case: u32) -> u32 {
    1 + function * 130 + 66 + case
}

/// The word of the path from the loop head to the return.
fn leave(function: u32) -> u32 {
    1 + function * 130 + 65
}

/// Words of activations of one function, each with 1,000 rounds.
fn loop_words(random: &mut Random, mut case: impl FnMut(&mut Random, usize) -> u32) -> Vec<u32> {
    let mut words = Vec::with_capacity(WORDS);
    while words.len() < WORDS {
        words.push(enter(0, 0));
        for index in 0..1000 {
            words.push(round(0, case(random, index)));
        }
        words.push(leave(0));
    }
    words
}

/// Words of loops with ten rounds that call functions with loops of five rounds.
fn nested_loop_words(random: &mut Random) -> Vec<u32> {
    let mut words = Vec::with_capacity(WORDS);
    while words.len() < WORDS {
        let outer = random.skewed(200);
        words.push(enter(outer, 0));
        for _ in 0..10 {
            let inner = 200 + random.skewed(50);
            words.push(enter(inner, 1));
            for _ in 0..5 {
                words.push(round(inner, random.skewed(20)));
            }
            words.push(leave(inner));
            words.push(round(outer, random.skewed(20)));
        }
        words.push(leave(outer));
    }
    words
}
