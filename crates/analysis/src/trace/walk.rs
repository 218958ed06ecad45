//! A block of a trace, cut into pieces, read in steps as large as what is open allows.

use super::builder::GrammarBuilder;
use super::level::Level;
use super::symbols::Symbols;
use crate::stream::{Activations, Effects};

/// Levels whose pieces' effects are worked out: steps of some hundred words are fast enough.
const LEVELS: usize = 4;

/// Effects of the pieces that a grammar knows, by level.
#[derive(Default)]
pub(super) struct Known([Effects; LEVELS]);

impl Known {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Effects::clear);
    }

    /// Works out the effects of pieces that are new.
    pub(super) fn learn(&mut self, grammar: &GrammarBuilder, symbols: &mut Symbols) {
        for (at, (level, _)) in grammar.levels().take(LEVELS).enumerate() {
            let (below, here) = self.0.split_at_mut(at);
            let here = &mut here[0];
            for piece in here.len()..level.pieces() {
                let side = level.piece(piece as u32);
                match below.last() {
                    Some(below) => here.push_stretches(below, side),
                    None => here.push_words(&mut symbols.words, side),
                }
            }
        }
    }

    /// Reads a grammar's block from symbol `read` on, as far as it fits what is open: words that stand side by side in the stream, up to position `end`.
    /// Gives the number of symbols read.
    pub(super) fn read(
        &self,
        grammar: &GrammarBuilder,
        symbols: &mut Symbols,
        activations: &mut Activations<()>,
        read: usize,
        end: u64,
    ) -> usize {
        let length = grammar.length();
        let mut walk = Walk {
            symbols,
            activations,
            effects: &self.0,
            levels: grammar.levels().take(LEVELS).collect(),
            begin: end.wrapping_sub(4 * length as u64),
            place: 0,
            read,
        };
        let top = walk.levels.len();
        let pieces = walk.levels.last().map_or(&[][..], |level| level.1);
        pieces.iter().all(|&piece| walk.step(top, piece));
        let paths = (walk.read - read) as u64;
        let next = end.wrapping_sub(4 * (length - walk.read) as u64);
        walk.activations.advance(paths, next);
        walk.read
    }
}

/// A walk over a block's pieces.
struct Walk<'a> {
    symbols: &'a mut Symbols,
    activations: &'a mut Activations<()>,
    effects: &'a [Effects; LEVELS],
    /// Pieces, and those of the block.
    levels: Vec<(&'a Level, &'a [u32])>,
    /// Position in the stream that the block's first symbol has, or would have.
    begin: u64,
    /// Symbols walked over.
    place: usize,
    /// Symbols read.
    read: usize,
}

impl Walk<'_> {
    /// Steps over the next piece, which is one of level `top` (1: of symbols), as far as it isn't read. Where it doesn't fit, over as many of its parts as do; whether all was walked over.
    fn step(&mut self, top: usize, piece: u32) -> bool {
        let effects = &self.effects[top - 1];
        let end = self.place + effects.length(piece);
        let position = self.begin.wrapping_add(4 * self.place as u64);
        if end > self.read {
            let fits = self.place == self.read && self.activations.apply(effects, piece, position);
            if !fits {
                return self.step_into(top, piece);
            }
            self.read = end;
        }
        self.place = end;
        true
    }

    /// The same, part by part.
    #[cold]
    fn step_into(&mut self, top: usize, piece: u32) -> bool {
        let parts = self.levels[top - 1].0.piece(piece);
        if top > 1 {
            return parts.iter().all(|&part| self.step(top - 1, part));
        }
        for &word in parts {
            if self.place == self.read {
                let mut effect = Effects::default();
                effect.push_words(&mut self.symbols.words, &[word]);
                let position = self.begin.wrapping_add(4 * self.place as u64);
                if !self.activations.apply(&effect, 0, position) {
                    return false;
                }
                self.read += 1;
            }
            self.place += 1;
        }
        true
    }
}
