//! Two streams compared, before that is shown.

use std::collections::HashMap;

use holloway_analysis::trace::diff::{Alphabet, Diff, Unit, diff, first};

use super::labels::LabeledStream;
use super::question::{AskError, Comparison, LIMIT};

/// What was found, and what its numbers stand for.
pub(crate) struct Compared {
    pub(crate) alphabet: Alphabet,
    pub(crate) diff: Diff,
    unit: Unit,
    /// By side: what a common number is there.
    shown: [HashMap<u32, u32>; 2],
}

/// What a common number stands for in one of the traces.
pub(crate) enum SharedSymbol {
    Terminal(u32),
    Function(u32),
}

impl Compared {
    pub(crate) fn new(
        sights: &[LabeledStream<'_>; 2],
        how: &Comparison,
    ) -> Result<Compared, AskError> {
        let streams = [sights[0].stream, sights[1].stream];
        let alphabet = Alphabet::new(
            streams.map(|stream| stream.code),
            streams.map(|stream| &*stream.trace.terminals),
            &|map| sights[0].names.name_of(&map.linkage_name, &map.name),
        );
        let events = [&*sights[0].events, &*sights[1].events];
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

    /// What a common number stands for.
    pub(crate) fn shown(&self, side: usize, symbol: u32) -> Option<SharedSymbol> {
        let number = *self.shown[side].get(&symbol)?;
        Some(match self.unit {
            Unit::Events => SharedSymbol::Terminal(number),
            Unit::Functions => SharedSymbol::Function(number),
        })
    }

    /// Positions of the first and the last event of a sequence, the first time that it runs.
    pub(crate) fn first(
        &self,
        sights: &[LabeledStream<'_>; 2],
        side: usize,
        sequence: &[u32],
    ) -> Option<(u64, u64)> {
        let sight = &sights[side];
        let symbols = self.alphabet.symbols(side, &sight.events, self.unit);
        first(&sight.stream.trace.grammar, &symbols, sequence)
    }
}
