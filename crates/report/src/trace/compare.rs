//! Comparison of two streams, as a value. Reports show it.

use std::collections::HashMap;

use holloway_analysis::trace::diff::{Alphabet, Diff, Unit, diff, first};

use super::labels::LabeledStream;
use super::question::{AskError, Comparison, LIMIT};

/// The differences between two streams, and the meaning of the numbers in them.
pub(crate) struct Compared {
    pub(crate) alphabet: Alphabet,
    pub(crate) diff: Diff,
    unit: Unit,
    /// By side: the stream's own number for each common number.
    shown: [HashMap<u32, u32>; 2],
}

/// The meaning of a common number in one of the traces.
pub(crate) enum SharedSymbol {
    Terminal(u32),
    Function(u32),
}

impl Compared {
    pub(crate) fn new(
        labeled_streams: &[LabeledStream<'_>; 2],
        how: &Comparison,
    ) -> Result<Compared, AskError> {
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
            how.unit,
            how.max_len.max(1),
            LIMIT,
        )?;
        let numbers = match how.unit {
            Unit::Events => &alphabet.terminals,
            Unit::Functions => &alphabet.functions,
        };
        let shown = [0, 1].map(|side: usize| numbers[side].iter().copied().zip(0u32..).collect());
        Ok(Compared {
            shown,
            alphabet,
            diff,
            unit: how.unit,
        })
    }

    /// The meaning of a common number in one of the traces.
    pub(crate) fn shown(&self, side: usize, symbol: u32) -> Option<SharedSymbol> {
        let number = *self.shown[side].get(&symbol)?;
        Some(match self.unit {
            Unit::Events => SharedSymbol::Terminal(number),
            Unit::Functions => SharedSymbol::Function(number),
        })
    }

    /// Positions of the first and the last event of a sequence's first execution.
    pub(crate) fn first(
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
