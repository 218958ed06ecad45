//! Compares two streams. The comparison is a value; the terminal and JSON reports write it.

use std::collections::HashMap;

use holloway_analysis::trace::diff::{Alphabet, Diff, Unit, diff, first};

use super::labels::LabeledStream;
use super::question::{AskError, Comparison, MAX_SEQUENCES};

/// The differences between two streams. The sequences in [`diff`](Self::diff) consist of common
/// numbers: numbers that both streams use for the same event or function.
pub(crate) struct StreamDiff {
    pub(crate) alphabet: Alphabet,
    pub(crate) diff: Diff,
    unit: Unit,
    /// For each of the two streams: its own terminal or function number for each common number.
    stream_numbers: [HashMap<u32, u32>; 2],
}

/// The terminal or function that a common number means in one of the streams.
pub(crate) enum SharedSymbol {
    Terminal(u32),
    Function(u32),
}

impl StreamDiff {
    pub(crate) fn new(
        labeled_streams: &[LabeledStream<'_>; 2],
        comparison: &Comparison,
    ) -> Result<StreamDiff, AskError> {
        let streams = [labeled_streams[0].stream, labeled_streams[1].stream];
        let alphabet = Alphabet::new(
            streams.map(|stream| stream.code),
            streams.map(|stream| &*stream.trace.terminals),
            &|map| {
                labeled_streams[0]
                    .names
                    .name_of(&map.linkage_name, &map.name)
            },
        );
        let events = [&*labeled_streams[0].events, &*labeled_streams[1].events];
        let traces = streams.map(|stream| stream.trace);
        let diff = diff(
            traces,
            events,
            &alphabet,
            comparison.unit,
            comparison.max_len.max(1),
            MAX_SEQUENCES,
        )?;
        let numbers = match comparison.unit {
            Unit::Events => &alphabet.terminals,
            Unit::Functions => &alphabet.functions,
        };
        let stream_numbers =
            [0, 1].map(|side: usize| numbers[side].iter().copied().zip(0u32..).collect());
        Ok(StreamDiff {
            stream_numbers,
            alphabet,
            diff,
            unit: comparison.unit,
        })
    }

    /// Returns the meaning of a common number in the stream `side`, or `None` if that stream lacks
    /// it.
    pub(crate) fn symbol_in(&self, side: usize, symbol: u32) -> Option<SharedSymbol> {
        let number = *self.stream_numbers[side].get(&symbol)?;
        Some(match self.unit {
            Unit::Events => SharedSymbol::Terminal(number),
            Unit::Functions => SharedSymbol::Function(number),
        })
    }

    /// Returns the positions of the first and the last event of a sequence's first execution in the
    /// stream `side`.
    pub(crate) fn first_execution(
        &self,
        labeled_streams: &[LabeledStream<'_>; 2],
        side: usize,
        sequence: &[u32],
    ) -> Option<(u64, u64)> {
        let labeled = &labeled_streams[side];
        let symbols = self.alphabet.symbols(side, &labeled.events, self.unit);
        first(&labeled.stream.trace.grammar, &symbols, sequence)
    }
}
