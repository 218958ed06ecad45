//! Predicts each token, and codes it relative to the prediction. The predictions are, in this
//! order:
//!
//! 1. the token after the last occurrence of the last few tokens ([`super::history`]);
//! 2. one of the three tokens that last followed the last two tokens, the *pair*
//!    ([`super::context`]);
//! 3. one of the three tokens that last followed the last token, the *single*.
//!
//! If all predictions are wrong, the model codes the number of the token.
//!
//! In long repetitions, a token takes a thousandth of a bit and little time. If paths depend on
//! data, three tokens in four are among the predictions of the pair and the single.
//!
//! The encoder knows the next tokens. So it looks up the contexts of many tokens before it codes
//! them, and the cache misses overlap. The decoder cannot do this.
//!
//! Cost: coding a token takes 5-25 nanoseconds in repetitions and 30-50 elsewhere. Decoding a token
//! takes about 100. A model takes a few MB.

use super::coder::{ALPHABET, Probabilities, Symbols};
use super::context::{CANDIDATES, Context, Contexts, RANK_HISTORIES};
use super::history::{History, LONG, MIN_LENGTH};
use super::symbol::Symbol;
use super::token::Token;

/// Predicts tokens, learns from them, and codes them.
pub(super) struct Model {
    last_tokens: LastTokens,
    pairs: Contexts,
    singles: Contexts,
    history: History,
    /// Whether a long repetition ends.
    repetition_ends: Probabilities,
    /// Probabilities of the symbols [`PREDICTED`], 1 + the token's rank in the pair, and
    /// [`UNKNOWN`]. [`pair_index`] computes the index.
    pair_ranks: Vec<Probabilities>,
    /// Probabilities of the token's rank in the single, and of [`CANDIDATES`] + its kind if the
    /// token is not there. The index is 4 · the single's rank history + the kind of the last token.
    single_ranks: Vec<Probabilities>,
    numbers: NumberCoder,
}

/// The last tokens, which determine the contexts of the next token.
struct LastTokens {
    /// The last token, and the token before it.
    last: [u32; 2],
    /// For each open right side, the last two tokens before it.
    outer: Vec<[u32; 2]>,
    /// Number of rules.
    rules: u32,
    /// Hash of the last [`MIN_LENGTH`] tokens.
    hash: u32,
}

/// The contexts of the next token.
#[derive(Clone, Copy, Default)]
struct TokenContexts {
    /// Hash of the last two tokens.
    pair: u32,
    /// Hash of the last token.
    single: u32,
    /// Kind of the last token.
    kind: usize,
    /// Hash of the last [`MIN_LENGTH`] tokens.
    recent: u32,
}

/// The symbol for a token that the repetition predicts. The symbols after it are the pair's ranks +
/// 1.
const PREDICTED: usize = 0;
/// The symbol for a token that neither the repetition nor the pair predicts.
const UNKNOWN: usize = 1 + CANDIDATES;
/// Number of rank histories of a pair that are distinguished in repetitions. Only the last two
/// ranks matter there.
const SHORT_HISTORIES: usize = 1 << 5;
/// Number of classes of lengths of repetitions.
const LENGTH_CLASSES: usize = 4;

/// Number of tokens that are looked up together before they are coded, so that their cache misses
/// overlap.
const LOOKAHEAD: usize = 32;

impl Model {
    pub(super) fn new() -> Self {
        Self {
            last_tokens: LastTokens {
                last: [Token::NONE; 2],
                outer: Vec::new(),
                rules: 0,
                hash: 0,
            },
            pairs: Contexts::new(18),
            singles: Contexts::new(16),
            history: History::new(),
            repetition_ends: Probabilities::default(),
            pair_ranks: vec![
                Probabilities::default();
                RANK_HISTORIES + 2 * LENGTH_CLASSES * SHORT_HISTORIES
            ],
            single_ranks: vec![Probabilities::default(); 4 * RANK_HISTORIES],
            numbers: NumberCoder::new(),
        }
    }

    /// Encodes tokens.
    pub(super) fn write<S: Symbols>(&mut self, symbols: &mut S, tokens: &[Token]) {
        let mut contexts = [TokenContexts::default(); LOOKAHEAD];
        for tokens in tokens.chunks(LOOKAHEAD) {
            for (contexts, token) in contexts.iter_mut().zip(tokens) {
                *contexts = self.last_tokens.contexts();
                self.last_tokens.append(token.bits());
            }
            self.prefetch(&contexts[..tokens.len()]);
            for (contexts, token) in contexts.iter().zip(tokens) {
                self.code(symbols, token.bits(), *contexts);
            }
        }
    }

    /// Decodes a token.
    pub(super) fn read<S: Symbols>(&mut self, symbols: &mut S) -> u32 {
        let token = self.code(symbols, 0, self.last_tokens.contexts());
        self.last_tokens.append(token);
        token
    }

    /// Loads the entries of these contexts into the cache.
    fn prefetch(&self, contexts: &[TokenContexts]) {
        // The sum keeps the compiler from removing the loads.
        let mut sum = 0;
        let mut positions = [0; LOOKAHEAD];
        let positions = &mut positions[..contexts.len()];
        for (position, contexts) in positions.iter_mut().zip(contexts) {
            *position = self.history.last_position(contexts.recent);
            sum ^= self.pairs.prefetch(contexts.pair) ^ self.singles.prefetch(contexts.single);
        }
        for position in positions {
            sum ^= self.history.token_at(*position);
        }
        std::hint::black_box(sum);
    }

    /// Codes a token. As in [`Symbols`], an encoder writes `token`, and a decoder ignores it.
    /// Returns the token that was written or read.
    #[inline]
    fn code<S: Symbols>(&mut self, symbols: &mut S, token: u32, contexts: TokenContexts) -> u32 {
        self.history.find(contexts.recent);
        let mut predicted = self.history.predicted();
        if self.history.length >= LONG {
            let ends = usize::from(token != predicted);
            if symbols.symbol(ends, &mut self.repetition_ends) == 0 {
                self.history.append(predicted);
                self.history.next += 1;
                return predicted;
            }
            self.history.length = 0;
            predicted = Token::NONE;
        }
        let token = self.code_in_context(symbols, token, predicted, contexts);
        self.history.push(token, predicted);
        token
    }

    /// Codes a token outside a long repetition.
    #[inline]
    fn code_in_context<S: Symbols>(
        &mut self,
        symbols: &mut S,
        token: u32,
        predicted: u32,
        contexts: TokenContexts,
    ) -> u32 {
        let pair = self.pairs.get_or_create(contexts.pair);
        let rank = match token == predicted {
            true => PREDICTED,
            false => 1 + pair.rank(token),
        };
        let index = pair_index(pair, predicted, self.history.length);
        let probabilities = &mut self.pair_ranks[index];
        let rank = symbols.symbol(rank, probabilities);
        let token = match rank {
            PREDICTED => predicted,
            UNKNOWN.. => {
                let single = self.singles.get_or_create(contexts.single);
                let rank = single.rank(token);
                let rank = if rank < CANDIDATES {
                    rank
                } else {
                    CANDIDATES + kind(token)
                };
                let probabilities =
                    &mut self.single_ranks[4 * single.rank_history() + contexts.kind];
                let rank = symbols.symbol(rank, probabilities);
                let token = match single.tokens.get(rank) {
                    Some(&token) => token,
                    None => self.numbers.code(symbols, rank - CANDIDATES, token),
                };
                // The single learns only from tokens that the pair does not predict.
                single.learn(token);
                token
            }
            _ => pair.tokens[rank - 1],
        };
        pair.learn(token);
        if self.history.token_count.is_multiple_of(1024) {
            self.pairs.grow(self.history.token_count);
            self.singles.grow(self.history.token_count);
            self.history.grow();
        }
        token
    }
}

impl LastTokens {
    /// The contexts of the next token.
    #[inline]
    fn contexts(&self) -> TokenContexts {
        let [last, second_last] = self.last;
        let single = mix(last);
        TokenContexts {
            pair: mix(second_last.rotate_left(13) ^ single),
            single,
            kind: kind(last),
            recent: self.hash,
        }
    }

    #[inline]
    fn append(&mut self, token: u32) {
        // Each token shifts the hash by six bits, so a token no longer affects the hash after six
        // more tokens.
        self.hash = (self.hash.wrapping_add(token).wrapping_add(1)).wrapping_mul(0x9E37_79B1 << 6);
        match token {
            Token::OPEN => {
                self.outer.push(self.last);
                self.last = [token, self.last[0]];
            }
            Token::CLOSE => {
                // After a right side, the context is as if its rule had been used here.
                let outer = self.outer.pop().unwrap_or(self.last);
                self.last = [Symbol::rule(self.rules).bits(), outer[0]];
                self.rules = (self.rules + 1) % Symbol::LIMIT;
            }
            _ => self.last = [token, self.last[0]],
        }
    }
}

/// Index in [`Model::pair_ranks`], from the pair, and from the repetition's prediction and length.
#[inline]
fn pair_index(pair: &Context, predicted: u32, length: u32) -> usize {
    let rank_history = pair.rank_history();
    if predicted == Token::NONE {
        return rank_history;
    }
    let short_history = if rank_history < SHORT_HISTORIES / 2 {
        rank_history
    } else {
        (SHORT_HISTORIES / 2) | (rank_history & (SHORT_HISTORIES / 2 - 1))
    };
    let length_class = length.saturating_sub(MIN_LENGTH) / 6;
    let length_class = length_class.min(LENGTH_CLASSES as u32 - 1) as usize;
    let agrees = usize::from(pair.tokens[0] == predicted);
    RANK_HISTORIES + (2 * length_class + agrees) * SHORT_HISTORIES + short_history
}

#[inline]
fn mix(token: u32) -> u32 {
    let mixed = token.wrapping_mul(0x9E37_79B1);
    (mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B)
}

/// Codes the number of a token that no context predicted. The size of a number is its number of
/// bits below the highest 1. The coder codes the size, then two groups of three bits, and then the
/// other bits without predicting them.
struct NumberCoder {
    /// For each kind of token, the probabilities of size / 4.
    coarse_sizes: [Probabilities; 2],
    /// For each kind and size / 4, the probabilities of size modulo 4.
    fine_sizes: [Probabilities; 2 * ALPHABET],
    /// For each kind and size, the probabilities of the first group of bits.
    first_bits: Vec<Probabilities>,
    /// For each kind, size, and first group of bits, the probabilities of the second group.
    second_bits: Vec<Probabilities>,
}

/// Number of bits in a group.
const GROUP_BITS: u32 = 3;
/// The kinds of tokens.
const TERMINALS: usize = 0;
const RULES: usize = 1;
const OPENS: usize = 2;
const CLOSES: usize = 3;

impl NumberCoder {
    fn new() -> Self {
        Self {
            coarse_sizes: [Probabilities::default(); 2],
            fine_sizes: [Probabilities::default(); 2 * ALPHABET],
            first_bits: vec![Probabilities::default(); 2 * 32],
            second_bits: vec![Probabilities::default(); 2 * 32 * ALPHABET],
        }
    }

    fn code<S: Symbols>(&mut self, symbols: &mut S, kind: usize, token: u32) -> u32 {
        match kind {
            OPENS => return Token::OPEN,
            TERMINALS | RULES => {}
            _ => return Token::CLOSE,
        }
        // Adding 1 gives each number a highest 1.
        let value = (token & !Token::RULE).wrapping_add(1);
        let size = 31 - value.max(1).leading_zeros();
        let coarse = symbols.symbol(size as usize / 4, &mut self.coarse_sizes[kind]);
        let fine = symbols.symbol(
            size as usize % 4,
            &mut self.fine_sizes[ALPHABET * kind + coarse],
        );
        let size = (4 * coarse + fine).min(31) as u32;
        let index = 32 * kind + size as usize;
        let (mut coded_bits, mut bits_left) = (1, size);
        let mut probabilities = &mut self.first_bits[index];
        for group in 0..2 {
            let count = bits_left.min(GROUP_BITS);
            bits_left -= count;
            let digit = (value >> bits_left) as usize & ((1 << count) - 1);
            let digit = symbols.symbol(digit, probabilities) & ((1 << count) - 1);
            coded_bits = coded_bits << count | digit as u32;
            if group == 0 {
                probabilities = &mut self.second_bits[ALPHABET * index + digit];
            }
            if bits_left == 0 {
                break;
            }
        }
        let low_bits = symbols.flat(value & ((1 << bits_left) - 1), bits_left);
        let value = coded_bits << bits_left | low_bits;
        (kind as u32 * Token::RULE) | (value.wrapping_sub(1) & !Token::RULE)
    }
}

#[inline]
fn kind(token: u32) -> usize {
    match token {
        Token::OPEN => OPENS,
        Token::CLOSE => CLOSES,
        _ if token & Token::RULE != 0 => RULES,
        _ => TERMINALS,
    }
}
