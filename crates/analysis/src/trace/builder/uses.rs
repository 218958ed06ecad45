//! Counts the uses of a level's pieces in a block.

/// The rules and use counts of a level's pieces.
#[derive(Default)]
pub(super) struct Uses {
    /// By piece: its rule, `UNWRITTEN`, or `WRITTEN_INLINE`.
    pub(super) rules: Vec<u32>,
    /// By piece: uses in this block so far.
    pub(super) counts: Vec<u32>,
    /// Pieces with a count in this block.
    pub(super) counted: Vec<u32>,
}

/// The piece was never written.
pub(super) const UNWRITTEN: u32 = u32::MAX;
/// The piece was written in an earlier block, but not as a rule.
pub(super) const WRITTEN_INLINE: u32 = u32::MAX - 1;

impl Uses {
    pub(super) fn count(&mut self, piece: u32, times: u32) {
        let count = &mut self.counts[piece as usize];
        if *count == 0 {
            self.counted.push(piece);
        }
        *count = count.saturating_add(times);
    }

    /// Makes room for this number of known pieces.
    pub(super) fn resize(&mut self, pieces: usize) {
        self.rules.resize(pieces, UNWRITTEN);
        self.counts.resize(pieces, 0);
    }

    /// Ends a block: remembers the written pieces and clears their counts.
    pub(super) fn end_block(&mut self) {
        for piece in self.counted.drain(..) {
            self.counts[piece as usize] = 0;
            let rule = &mut self.rules[piece as usize];
            *rule = (*rule).min(WRITTEN_INLINE);
        }
    }
}
