//! Selects the words of a ring that `--sample N` analyzes, and feeds them to the analysis.
//!
//! The sample consists of every N-th chunk of the ring. The words of the other chunks are left out,
//! except for the control word and operand that name the ring's next owner.

use std::sync::Arc;

use holloway_abi::{CHUNK, OPERAND, WORD_CAUGHT, WORD_OWNER};

use crate::kinds::stream_kind::RingAnalysis;
use crate::recording::Recording;

/// The words of a ring: the streams of its owners, one after the other.
pub(crate) struct RingStream {
    recording: Arc<Recording>,
    /// `None` if the words cannot be analyzed.
    analysis: Option<Box<dyn RingAnalysis>>,
    /// The operands that are expected at position `next`.
    operands: ExpectedOperands,
    /// The position after the last word.
    next: u64,
}

/// The operands of the last control word that have not been read yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ExpectedOperands {
    count: u8,
    /// Whether the control word is [`WORD_OWNER`].
    is_owner: bool,
}

impl ExpectedOperands {
    /// Reads a word. Returns whether the word is a [`WORD_OWNER`] or its operand. An operand may
    /// have the same value as a control word.
    fn read(&mut self, word: u32) -> bool {
        let (count, is_owner) = match word {
            word if word & OPERAND == 0 => (0, false),
            _ if self.count > 0 => (self.count - 1, self.is_owner),
            WORD_CAUGHT => (3, false),
            WORD_OWNER => (1, true),
            _ => (0, false),
        };
        *self = Self { count, is_owner };
        is_owner
    }

    /// Reads many words. Only the words from the last path on matter, because a path's word has no
    /// operands.
    fn read_all(&mut self, words: &[u32]) {
        let last_path = words.iter().rposition(|word| word & OPERAND == 0);
        for word in &words[last_path.unwrap_or(0)..] {
            self.read(*word);
        }
    }
}

impl RingStream {
    /// Makes the stream of a ring, before its first word.
    pub(crate) fn new(recording: Arc<Recording>, analysis: Option<Box<dyn RingAnalysis>>) -> Self {
        Self {
            recording,
            analysis,
            operands: ExpectedOperands::default(),
            next: 0,
        }
    }

    /// Feeds the words from `position` on. Returns how many words of paths the sample leaves out.
    pub(crate) fn feed(&mut self, mut position: u64, mut words: &[u32]) -> u64 {
        let sample = self.recording.sample();
        if sample == 1 {
            self.recording.count_analyzed(words.len() as u64);
            self.analyze(position, words);
            return 0;
        }
        let mut left_out = 0;
        while !words.is_empty() {
            let words_to_chunk_end = (CHUNK - position % CHUNK).div_ceil(4) as usize;
            let (in_chunk, after_chunk) = words.split_at(words.len().min(words_to_chunk_end));
            let is_path = |word: &&u32| **word != 0 && **word & OPERAND == 0;
            let paths = in_chunk.iter().filter(is_path).count() as u64;
            if position != self.next {
                self.operands = ExpectedOperands::default();
            }
            if (position / CHUNK).is_multiple_of(sample) {
                self.recording.count_analyzed(paths);
                self.analyze(position, in_chunk);
                self.operands.read_all(in_chunk);
            } else {
                self.recording.count_left_out(paths);
                self.analyze_owners(position, in_chunk);
                left_out += paths;
            }
            position = position.wrapping_add(4 * in_chunk.len() as u64);
            self.next = position;
            words = after_chunk;
        }
        left_out
    }

    /// Analyzes only the words that name the ring's next owner.
    fn analyze_owners(&mut self, position: u64, words: &[u32]) {
        for (position, word) in (position..).step_by(4).zip(words) {
            if self.operands.read(*word) {
                self.analyze(position, std::slice::from_ref(word));
            }
        }
    }

    fn analyze(&mut self, position: u64, words: &[u32]) {
        if let Some(analysis) = &mut self.analysis {
            analysis.feed(position, words);
        }
    }

    /// Hands the results so far over to the process's analysis. More words may follow.
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
    fn an_operand_equal_to_a_control_word_is_no_control_word() {
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
        let mut operands = ExpectedOperands::default();
        let owner_words = (0..words.len()).filter(|&index| operands.read(words[index]));
        assert_eq!(owner_words.collect::<Vec<_>>(), expect);
        // `read_all` of any beginning and `read` of the other words give the same result.
        for end in 0..words.len() {
            let mut operands = ExpectedOperands::default();
            operands.read_all(&words[..end]);
            let owner_words = (end..words.len()).filter(|&index| operands.read(words[index]));
            let expect = expect.iter().filter(|&&index| index >= end);
            assert_eq!(
                owner_words.collect::<Vec<_>>(),
                expect.copied().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn no_operands_are_expected_after_the_word_of_a_path() {
        let mut operands = ExpectedOperands::default();
        operands.read_all(&[WORD_CAUGHT, OPERAND, 3]);
        assert!(operands.read(WORD_OWNER));
    }
}
