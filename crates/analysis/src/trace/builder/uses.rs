//! Counts how often a block uses each piece of a level. The counts decide which pieces are written
//! as rules.

/// The rules and use counts of a level's pieces.
#[derive(Default)]
pub(super) struct Uses {
    /// By piece: the number of its rule, `UNWRITTEN`, or `WRITTEN_INLINE`.
    pub(super) rules: Vec<u32>,
    /// By piece: uses in the current block so far.
    pub(super) counts: Vec<u32>,
    /// The pieces whose count is not 0.
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

    /// Extends the tables to this number of pieces.
    pub(super) fn resize(&mut self, pieces: usize) {
        self.rules.resize(pieces, UNWRITTEN);
        self.counts.resize(pieces, 0);
    }

    /// Ends a block: marks its pieces as written, and clears their counts.
    pub(super) fn end_block(&mut self) {
        for piece in self.counted.drain(..) {
            self.counts[piece as usize] = 0;
            let rule = &mut self.rules[piece as usize];
            *rule = (*rule).min(WRITTEN_INLINE);
        }
    }
}
