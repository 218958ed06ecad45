//! One ring's words on their way into the analysis, as far as the sample contains them.
//!
//! A sample consists of *bursts*: the words of one chunk each. The words between two bursts are
//! left out, except the words that announce another thread.

use std::sync::Arc;

use holloway_abi::{CHUNK, OPERAND, WORD_CAUGHT, WORD_OWNER};

use crate::kinds::stream_kind::RingAnalysis;
use crate::recording::Recording;

/// The streams of a ring, one after the other.
pub(crate) struct RingStream {
    recording: Arc<Recording>,
    /// None: nothing can be analyzed.
    analysis: Option<Box<dyn RingAnalysis>>,
    /// Operands that may follow the last words, which ended at `next`.
    operands: Operands,
    next: u64,
}

/// The operands of a control word that are still to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Operands {
    left: u8,
    of_owner: bool,
}

impl Operands {
    /// Passes a word. Tells whether the word is a [`WORD_OWNER`] or its operand. An operand may
    /// look like any control word.
    fn pass(&mut self, word: u32) -> bool {
        let (left, of_owner) = match word {
            word if word & OPERAND == 0 => (0, false),
            _ if self.left > 0 => (self.left - 1, self.of_owner),
            WORD_CAUGHT => (3, false),
            WORD_OWNER => (1, true),
            _ => (0, false),
        };
        *self = Self { left, of_owner };
        of_owner
    }

    /// Passes many words. Only the last words matter.
    fn pass_all(&mut self, words: &[u32]) {
        let plain = words.iter().rposition(|word| word & OPERAND == 0);
        for word in &words[plain.unwrap_or(0)..] {
            self.pass(*word);
        }
    }
}

impl RingStream {
    /// The streams of a ring, at their beginning.
    pub(crate) fn new(recording: Arc<Recording>, analysis: Option<Box<dyn RingAnalysis>>) -> Self {
        Self {
            recording,
            analysis,
            operands: Operands::default(),
            next: 0,
        }
    }

    /// Feeds the words at position `at`. Gives how many words of paths were left out.
    pub(crate) fn feed(&mut self, mut at: u64, mut words: &[u32]) -> u64 {
        let sample = self.recording.sample();
        if sample == 1 {
            self.recording.analyze(words.len() as u64);
            self.analyze(at, words);
            return 0;
        }
        let mut left_out = 0;
        while !words.is_empty() {
            let to_chunks_end = (CHUNK - at % CHUNK).div_ceil(4) as usize;
            let (piece, rest) = words.split_at(words.len().min(to_chunks_end));
            let is_path = |word: &&u32| **word != 0 && **word & OPERAND == 0;
            let paths = piece.iter().filter(is_path).count() as u64;
            if at != self.next {
                self.operands = Operands::default();
            }
            if (at / CHUNK).is_multiple_of(sample) {
                self.recording.analyze(paths);
                self.analyze(at, piece);
                self.operands.pass_all(piece);
            } else {
                self.recording.leave_out(paths);
                self.analyze_owners(at, piece);
                left_out += paths;
            }
            at = at.wrapping_add(4 * piece.len() as u64);
            self.next = at;
            words = rest;
        }
        left_out
    }

    fn analyze_owners(&mut self, at: u64, words: &[u32]) {
        for (at, word) in (at..).step_by(4).zip(words) {
            if self.operands.pass(*word) {
                self.analyze(at, std::slice::from_ref(word));
            }
        }
    }

    fn analyze(&mut self, at: u64, words: &[u32]) {
        if let Some(analysis) = &mut self.analysis {
            analysis.feed(at, words);
        }
    }

    /// Hands everything over to the process's analysis. More words may follow.
    pub(crate) fn hand_over(&mut self) {
        if let Some(analysis) = &mut self.analysis {
            analysis.hand_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_that_looks_like_a_control_word_is_none() {
        let words = [
            7,
            WORD_CAUGHT,
            WORD_OWNER,
            OPERAND,
            OPERAND | 7,
            WORD_OWNER,
            WORD_OWNER,
            WORD_OWNER,
            WORD_CAUGHT,
            8,
        ];
        let expect = [5, 6, 7, 8];
        let mut operands = Operands::default();
        let found = (0..words.len()).filter(|&at| operands.pass(words[at]));
        assert_eq!(found.collect::<Vec<_>>(), expect);
        // The same wherever a piece that was fed as a whole ends.
        for end in 0..words.len() {
            let mut operands = Operands::default();
            operands.pass_all(&words[..end]);
            let found = (end..words.len()).filter(|&at| operands.pass(words[at]));
            let expect = expect.iter().filter(|&&at| at >= end);
            assert_eq!(
                found.collect::<Vec<_>>(),
                expect.copied().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_word_that_ends_a_path_ends_what_was_awaited() {
        let mut operands = Operands::default();
        operands.pass_all(&[WORD_CAUGHT, OPERAND, 3]);
        assert!(operands.pass(WORD_OWNER));
    }
}
