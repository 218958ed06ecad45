//! How often a block uses each piece of a level.

/// What is known of the pieces of a level as rules.
#[derive(Default)]
pub(super) struct Uses {
    /// By piece: its rule, or one of the two below.
    pub(super) rules: Vec<u32>,
    /// By piece: uses in this block so far.
    pub(super) counts: Vec<u32>,
    /// Pieces with a count.
    pub(super) counted: Vec<u32>,
}

/// Not written yet.
pub(super) const NEVER: u32 = u32::MAX;
/// Written in an earlier block, where it was used once.
pub(super) const ONCE: u32 = u32::MAX - 1;

impl Uses {
    pub(super) fn count(&mut self, piece: u32, times: u32) {
        let count = &mut self.counts[piece as usize];
        if *count == 0 {
            self.counted.push(piece);
        }
        *count = count.saturating_add(times);
    }

    /// So many pieces are known.
    pub(super) fn know(&mut self, pieces: usize) {
        self.rules.resize(pieces, NEVER);
        self.counts.resize(pieces, 0);
    }

    /// Remembers which pieces were written, and forgets the counts.
    pub(super) fn settle(&mut self) {
        for piece in self.counted.drain(..) {
            self.counts[piece as usize] = 0;
            let rule = &mut self.rules[piece as usize];
            *rule = (*rule).min(ONCE);
        }
    }
}
