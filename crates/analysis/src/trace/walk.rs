//! Reads a block of a trace that is cut into pieces, in steps as large as the open activations
//! allow.

use super::builder::GrammarBuilder;
use super::level::Level;
use super::symbols::Symbols;
use crate::stream::{Activations, Effects};

/// Number of levels for whose pieces effects are computed. Their steps of some hundred words are
/// fast enough.
const LEVELS: usize = 4;

/// The effects of the pieces that a grammar builder knows, by level.
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
                let symbols_of_piece = level.piece(piece as u32);
                match below.last() {
                    Some(below) => current.push_stretches(below, symbols_of_piece),
                    None => current.push_words(&mut symbols.words, symbols_of_piece),
                }
            }
        }
    }

    /// Reads the block of a grammar builder from symbol `read` on, as far as its pieces fit the
    /// open activations. The symbols are words that are adjacent in the stream and end at position
    /// `end`. Returns the number of symbols of the block that are read now.
    pub(super) fn read(
        &self,
        grammar: &GrammarBuilder,
        symbols: &mut Symbols,
        activations: &mut Activations<()>,
        read: usize,
        end: u64,
    ) -> usize {
        let length = grammar.length();
        let mut walk = BlockWalk {
            symbols,
            activations,
            effects: &self.0,
            levels: grammar.levels().take(LEVELS).collect(),
            block_start: end.wrapping_sub(4 * length as u64),
            passed: 0,
            read,
        };
        let top = walk.levels.len();
        let pieces = walk.levels.last().map_or(&[][..], |level| level.1);
        pieces.iter().all(|&piece| walk.pass(top, piece));
        let paths = (walk.read - read) as u64;
        let next = end.wrapping_sub(4 * (length - walk.read) as u64);
        walk.activations.advance(paths, next);
        walk.read
    }
}

/// A walk over the pieces of a block.
struct BlockWalk<'a> {
    symbols: &'a mut Symbols,
    activations: &'a mut Activations<()>,
    effects: &'a [Effects; LEVELS],
    /// By level: all known pieces, and the pieces of the block.
    levels: Vec<(&'a Level, &'a [u32])>,
    /// Position of the block's first symbol in the stream, assuming that all symbols are words.
    block_start: u64,
    /// Number of symbols that the walk has passed.
    passed: usize,
    /// Number of symbols that are read.
    read: usize,
}

impl BlockWalk<'_> {
    /// Passes the next piece, of level `top` (1: pieces of symbols), and reads its unread symbols.
    /// If the piece does not fit, passes its parts up to the first part that does not fit. Returns
    /// whether all of the piece was passed.
    fn pass(&mut self, top: usize, piece: u32) -> bool {
        let effects = &self.effects[top - 1];
        let end = self.passed + effects.length(piece);
        let position = self.block_start.wrapping_add(4 * self.passed as u64);
        if end > self.read {
            let fits = self.passed == self.read && self.activations.apply(effects, piece, position);
            if !fits {
                return self.pass_parts(top, piece);
            }
            self.read = end;
        }
        self.passed = end;
        true
    }

    /// Passes a piece part by part.
    #[cold]
    fn pass_parts(&mut self, top: usize, piece: u32) -> bool {
        let parts = self.levels[top - 1].0.piece(piece);
        if top > 1 {
            return parts.iter().all(|&part| self.pass(top - 1, part));
        }
        for &word in parts {
            if self.passed == self.read {
                let mut effect = Effects::default();
                effect.push_words(&mut self.symbols.words, &[word]);
                let position = self.block_start.wrapping_add(4 * self.passed as u64);
                if !self.activations.apply(&effect, 0, position) {
                    return false;
                }
                self.read += 1;
            }
            self.passed += 1;
        }
        true
    }
}
