//! Reads the words of a grammar builder's block piece by piece: applies the effect of each piece to
//! the open activations.
//!
//! A large piece is read in one step if its effect *fits*, which means that the activations it
//! requires are open. If it does not fit, its parts (pieces of the level below) are read one after
//! the other.
//!
//! Cost: a few comparisons for each piece of the highest level that fits.

use super::builder::GrammarBuilder;
use super::level::Level;
use super::symbols::Symbols;
use crate::stream::{Activations, Effects};

/// Number of levels for whose pieces effects are computed. A piece of the last of these levels has
/// a few hundred words, so larger pieces would hardly save time.
const LEVELS: usize = 4;

/// By level: the effects of the pieces that a grammar builder knows.
#[derive(Default)]
pub(super) struct KnownEffects([Effects; LEVELS]);

impl KnownEffects {
    /// Forgets all effects.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Effects::clear);
    }

    /// Computes the effects of new pieces.
    pub(super) fn learn(&mut self, grammar: &GrammarBuilder, symbols: &mut Symbols) {
        for (index, (level, _)) in grammar.levels().take(LEVELS).enumerate() {
            let (below, current) = self.0.split_at_mut(index);
            let current = &mut current[0];
            for piece in current.len()..level.pieces() {
                let parts = level.piece(piece as u32);
                match below.last() {
                    Some(below) => current.push_pieces(below, parts),
                    None => current.push_words(&mut symbols.words, parts),
                }
            }
        }
    }

    /// Reads the unread symbols of a grammar builder's block, up to the first word that does not
    /// fit. The first `read_count` symbols of the block are already read. The unread symbols are
    /// words that are adjacent in the stream, and the last of them ends at position `end`. Returns
    /// the new number of symbols that are read.
    pub(super) fn read(
        &self,
        grammar: &GrammarBuilder,
        symbols: &mut Symbols,
        activations: &mut Activations<()>,
        read_count: usize,
        end: u64,
    ) -> usize {
        let length = grammar.length();
        let mut walk = BlockWalk {
            symbols,
            activations,
            effects: &self.0,
            levels: grammar.levels().take(LEVELS).collect(),
            block_start: end.wrapping_sub(4 * length as u64),
            passed_count: 0,
            read_count,
        };
        let level_count = walk.levels.len();
        let pieces = walk.levels.last().map_or(&[][..], |level| level.1);
        for &piece in pieces {
            if !walk.pass(level_count, piece) {
                break;
            }
        }
        // Each symbol that was read now is the word of a path.
        let paths = (walk.read_count - read_count) as u64;
        let next_position = end.wrapping_sub(4 * (length - walk.read_count) as u64);
        walk.activations.advance(paths, next_position);
        walk.read_count
    }
}

/// A walk over the pieces of a block. It passes all symbols from the start of the block on, because
/// pieces may begin before the first unread symbol.
struct BlockWalk<'a> {
    symbols: &'a mut Symbols,
    activations: &'a mut Activations<()>,
    /// By level.
    effects: &'a [Effects; LEVELS],
    /// By level: all known pieces, and the pieces of the block.
    levels: Vec<(&'a Level, &'a [u32])>,
    /// Position of the block's first symbol in the stream, as if all symbols were words.
    block_start: u64,
    /// Number of symbols that the walk has passed.
    passed_count: usize,
    /// Number of symbols of the block that are read.
    read_count: usize,
}

impl BlockWalk<'_> {
    /// Passes the next piece and reads its unread symbols. `level` is the number of the piece's
    /// level, from 1 on. If the piece does not fit, passes its parts up to the first part that does
    /// not fit. Returns whether all of the piece was passed.
    fn pass(&mut self, level: usize, piece: u32) -> bool {
        let effects = &self.effects[level - 1];
        let end = self.passed_count + effects.length(piece);
        if end > self.read_count {
            let is_unread = self.passed_count == self.read_count;
            let position = self.stream_position();
            if !is_unread || !self.activations.apply(effects, piece, position) {
                return self.pass_parts(level, piece);
            }
            self.read_count = end;
        }
        self.passed_count = end;
        true
    }

    /// Passes a piece part by part.
    #[cold]
    fn pass_parts(&mut self, level: usize, piece: u32) -> bool {
        let parts = self.levels[level - 1].0.piece(piece);
        if level > 1 {
            return parts.iter().all(|&part| self.pass(level - 1, part));
        }
        for &word in parts {
            if self.passed_count == self.read_count {
                let mut effect = Effects::default();
                effect.push_words(&mut self.symbols.words, &[word]);
                let position = self.stream_position();
                if !self.activations.apply(&effect, 0, position) {
                    return false;
                }
                self.read_count += 1;
            }
            self.passed_count += 1;
        }
        true
    }

    /// Position in the stream of the next symbol to pass.
    fn stream_position(&self) -> u64 {
        self.block_start.wrapping_add(4 * self.passed_count as u64)
    }
}
