//! Tests that the path forest computed from a trace equals the path forest of its stream, for any
//! k.

use std::collections::BTreeMap;
use std::sync::Arc;

use holloway_analysis::loops::{Limits as Nodes, LoopsBuilder};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::loops::loops;
use holloway_analysis::trace::stats::{depth, stats};
use holloway_analysis::trace::{Assembler, Limits, Recorded, Terminal, Trace, TraceBuilder};
use holloway_format::{Count, ImageMap};
use proptest::prelude::*;

use holloway_abi::Kind;

use super::streams::{Simulator, program};

/// Parts of a stream with their positions.
type Parts<'a> = [(u64, &'a [u32])];

/// The trace of a stream, recorded in small blocks.
fn record(image: &Arc<ImageMap>, parts: &Parts<'_>) -> Trace {
    let limits = Limits {
        block: 50,
        pieces: 200,
    };
    let mut builder = TraceBuilder::new(Words::new(image), limits);
    for &(at, words) in parts {
        builder.feed(at, words);
    }
    let (mut assembler, mut terminals) = (Assembler::default(), Vec::new());
    for recorded in builder.flush() {
        let Recorded::Block(block) = recorded else {
            unreachable!("one thread");
        };
        terminals.extend_from_slice(&block.terminals);
        assembler.push(&block).unwrap();
    }
    let grammar = assembler.finish().unwrap();
    Trace { terminals, grammar }
}

fn online(image: &Arc<ImageMap>, parts: &Parts<'_>, k: u32) -> BTreeMap<Vec<u32>, u64> {
    let mut builder = LoopsBuilder::new(Words::new(image), k, Nodes::default());
    for &(at, words) in parts {
        builder.feed(at, words);
    }
    let kipf = builder.finish().k_ipf(k);
    let nodes = (0u32..).zip(kipf.nodes());
    nodes
        .map(|(place, node)| (kipf.sequence(place), node.count.0))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_forest_of_a_trace_equals_the_forest_of_its_stream(seed in 1u64.., k in prop_oneof![1u32..10, Just(64)], fuel in 1u32..80, gap in any::<bool>()) {
        let mut state = seed;
        let mut choices = |below: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u32 % below
        };
        let mut simulator = Simulator::new(Kind::Trace, 0, fuel, &mut choices);
        simulator.run();
        // In half of the cases, some words are missing.
        let third = simulator.stream.len() / 3;
        let from = if gap { 2 * third } else { third };
        let parts = [(0, &simulator.stream[..third]), (4 * from as u64, &simulator.stream[from..])];

        let image = program(Kind::Trace);
        let trace = record(&image, &parts);
        let code = Code::new(&image);
        let events = code.events(&trace.terminals);
        let functions: Vec<_> = Words::new(&image).functions().collect();
        let word = |id: u32| match trace.terminals[id as usize] {
            Terminal::Path { function, path } => functions[function as usize].first + path,
            other => panic!("{other:?} in a sequence"),
        };
        let actual = loops(&trace.grammar, &events, k as usize, 1 << 20).unwrap();
        let actual = actual.nodes().map(|(id, node)| {
            (actual.symbols(id).into_iter().map(word).collect(), node.count.0)
        });
        prop_assert_eq!(actual.collect::<BTreeMap<Vec<u32>, u64>>(), online(&image, &parts, k));

        // As many activations end as begin.
        let stats = stats(&trace.grammar, &events);
        if !gap {
            let open = depth(&trace.grammar, &events, stats.events.0);
            prop_assert_eq!(stats.enters.0 as i64, (stats.leaves + stats.left).0 as i64 + open);
            prop_assert_eq!(stats.enters, Count(simulator.truth.activations.len() as u64));
        }
    }
}
