//! Measures how many branches per second the branch stream emits.
//!
//! Usage: `cargo run --release -p holloway-analysis --example branch_stream [-- MILLIONS]`
//!
//! The program is a loop with seven branches. Its trace has MILLIONS of branches (1,000 by
//! default). The example measures three traces, from easy to hard:
//!
//! - regular: the same phrase of 100 paths over and over
//! - phrases: phrases of 5 to 60 paths, each drawn at random from 1,000 phrases
//! - random: each path drawn at random, which no grammar compresses; a tenth of the length, because
//!   such a grammar is as long as the trace
//!
//! For each trace, the example prints the size of the grammar, the size of the table, and the rates
//! of three consumers: one that adds up the taken branches, the hot spot detector, and all of
//! `holloway phases`.

use std::sync::Arc;
use std::time::Instant;

use holloway_abi::Kind;
use holloway_analysis::branch_stream::{BranchSet, BranchStream, Direction};
use holloway_analysis::phases::{Answer, HotSpotDetector, Parameters, Question, TriggerParameters};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::Limits;
use holloway_analysis::trace::code::Code;
use holloway_format::{FunctionMap, ImageMap, Outcome};
use holloway_testkit::build::function;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace_with;

/// Number of branches of each iteration.
const BRANCHES: u32 = 7;

/// A loop whose body is a chain of six conditions.
fn chain() -> FunctionMap {
    let mut build = function("chain", "chain.c", 1);
    let last = 3 * (BRANCHES - 1) + 1;
    for _ in 0..=last {
        build = build.block(5, &[]);
    }
    build = build.block(0, &[]).edge(0, 1, Outcome::Jump);
    for condition in 0..BRANCHES - 1 {
        let block = 3 * condition + 1;
        build = build
            .edge(block, block + 1, Outcome::True)
            .edge(block, block + 2, Outcome::False)
            .edge(block + 1, block + 3, Outcome::Jump)
            .edge(block + 2, block + 3, Outcome::Jump);
    }
    build
        .edge(last, 1, Outcome::True)
        .edge(last, last + 1, Outcome::False)
        .done()
}

/// A generator of pseudo-random numbers (Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        let Random(state) = self;
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % limit
    }
}

fn main() {
    let millions = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let branches = millions.unwrap_or(1000) * 1_000_000;
    let image = placed(vec![chain()], Kind::Trace);
    let paths = image.modules[0].module.functions[0].path_count;
    let length = (branches / u64::from(BRANCHES)) as usize;
    let mut random = Random(1);
    let mut phrase =
        |length: u64| -> Vec<u32> { (0..length).map(|_| random.below(paths) as u32).collect() };
    let regular = phrase(100);
    let phrases: Vec<Vec<u32>> = (0..1000).map(|index| phrase(5 + index % 56)).collect();
    let noise = phrase(length as u64 / 10);
    let mut choice = Random(2);
    let phrases = std::iter::from_fn(|| Some(&phrases[choice.below(1000) as usize]));
    let cases: [(&str, Vec<u32>); 3] = [
        (
            "regular",
            regular.iter().copied().cycle().take(length).collect(),
        ),
        ("phrases", phrases.flatten().copied().take(length).collect()),
        ("random", noise),
    ];
    for (name, paths) in cases {
        measure(name, &image, paths);
    }
}

fn measure(name: &str, image: &Arc<ImageMap>, mut words: Vec<u32>) {
    let first = Words::new(image).functions().next().map_or(0, |f| f.first);
    words.iter_mut().for_each(|word| *word += first);
    let trace = trace_with(image, &words, Limits::default());
    drop(words);
    let code = Code::new(image);
    let start = Instant::now();
    let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
    let (mut events, mut taken) = (0u64, 0u64);
    for run in stream.runs() {
        events += run.len() as u64;
        let is_taken = run
            .iter()
            .filter(|event| event.direction == Direction::Taken);
        taken += is_taken.count() as u64;
    }
    assert_eq!(events, stream.len());
    println!(
        "{name}: {events} branches, {taken} taken; grammar {} symbols, table {}",
        trace.grammar.size(),
        stream.table_len(),
    );
    row("stream", events, start);
    let start = Instant::now();
    let mut detector = HotSpotDetector::new(Parameters::default(), stream.sites())
        .expect("the paper's parameters make a detector");
    stream.runs().for_each(|run| detector.feed(run));
    let hot_spots = detector.finish().hot_spots.len();
    row("hot spots", events, start);
    drop(stream);
    let start = Instant::now();
    let question = Question {
        trigger: Some(TriggerParameters::default()),
        ..Question::default()
    };
    let answer = Answer::new(&code, &trace, &question).expect("the default question is valid");
    row("phases", events, start);
    let phases = answer.exact.phases.len();
    println!("  {hot_spots} hot spots, {phases} phases");
}

fn row(consumer: &str, branches: u64, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let rate = branches as f64 / seconds / 1e6;
    println!("  {consumer:10} {seconds:8.3} s {rate:8.1} M branches/s");
}
