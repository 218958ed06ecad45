//! Makes traces of words, as the collector does.

use std::sync::Arc;

use holloway_analysis::stream::Words;
use holloway_analysis::trace::{Assembler, Limits, Recorded, Trace, TraceBuilder};
use holloway_format::ImageMap;

/// The trace of a thread that appended these words. The trace is cut into small blocks, so that
/// even a short trace has several blocks.
///
/// # Panics
/// If the words have several owners, or are not a trace.
pub fn trace(image: &Arc<ImageMap>, words: &[u32]) -> Trace {
    let limits = Limits {
        block: 50,
        pieces: 200,
    };
    trace_with(image, words, limits)
}

/// The trace of a thread that appended these words, with these limits.
///
/// # Panics
/// If the words have several owners, or are not a trace.
pub fn trace_with(image: &Arc<ImageMap>, words: &[u32], limits: Limits) -> Trace {
    let mut builder = TraceBuilder::new(Words::new(image), limits);
    builder.feed(0, words);
    let (mut assembler, mut terminals) = (Assembler::default(), Vec::new());
    for recorded in builder.flush() {
        let Recorded::Block(block) = recorded else {
            panic!("a trace of one thread has one owner");
        };
        terminals.extend_from_slice(&block.terminals);
        assembler.push(&block).expect("blocks make a grammar");
    }
    let grammar = assembler.finish().expect("blocks make a grammar");
    Trace { terminals, grammar }
}
