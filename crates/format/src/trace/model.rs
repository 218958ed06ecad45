//! Predicts the next token. The candidates, in order: the token that followed the last time that
//! the last few tokens occurred; one of three tokens that followed the last two tokens; one of
//! three that followed the last token. Failing these, the token's number is spelled out.
//!
//! In long repetitions a token costs a thousandth of a bit, and little time (a match model, as in
//! LPAQ). If paths depend on data, three tokens in four are among the candidates of
//! [`super::context`].
//!
//! A writer knows the next tokens, so it looks up the contexts of many before it codes them, and
//! their cache misses overlap. A reader cannot.
//!
//! Cost: writing a token takes 5-25 nanoseconds in repetitions and 30-50 elsewhere. Reading one
//! takes about 100. A model takes a few MB.

use super::coder::{ALPHABET, Chances, Symbols};
use super::context::{COURSES, Context, Contexts, WAYS};
use super::history::{History, LONG, TRUSTED};
use super::symbol::Symbol;
use super::token::Token;

/// Predicts tokens, learns from them, and codes them.
pub(super) struct Model {
    trail: Trail,
    pairs: Contexts,
    singles: Contexts,
    history: History,
    /// Whether a long repetition goes on.
    goes_on: Chances,
    /// By course of a pair: the token's rank, or [`PREDICTED`] or [`UNKNOWN`]. The second half is
    /// for tokens in a repetition.
    first: Vec<Chances>,
    /// By course of a single and kind of the last token: the token's rank, or the kind of a token
    /// that is spelled out.
    second: Vec<Chances>,
    number: Spelling,
}

/// The last tokens, from which the contexts of the next token follow.
struct Trail {
    /// The last token and the one before it.
    last: [u32; 2],
    /// The last tokens before each open right side.
    outer: Vec<[u32; 2]>,
    rules: u32,
    /// Hash of the last [`TRUSTED`] tokens.
    hash: u32,
}

/// The contexts of a token.
#[derive(Clone, Copy, Default)]
struct TokenContexts {
    /// Hash of the last token and the one before it.
    pair: u32,
    /// Hash of the last token.
    single: u32,
    /// Kind of the last token.
    kind: usize,
    /// Hash of the last [`TRUSTED`] tokens.
    recent: u32,
}

/// Ranks of a token that a repetition predicts, and of a token that neither the repetition nor the
/// pair predicts. The ranks of a pair lie between.
const PREDICTED: usize = 0;
const UNKNOWN: usize = 1 + WAYS;
/// Number of courses of a pair that repetitions distinguish: those of the last two ranks.
const SHORT: usize = 1 << 5;
/// Number of lengths of repetitions that are distinguished.
const LENGTHS: usize = 4;

/// Number of tokens that are looked up together before they are written, so that their cache misses
/// overlap.
const AHEAD: usize = 32;

impl Model {
    pub(super) fn new() -> Self {
        Self {
            trail: Trail {
                last: [Token::NONE; 2],
                outer: Vec::new(),
                rules: 0,
                hash: 0,
            },
            pairs: Contexts::new(18),
            singles: Contexts::new(16),
            history: History::new(),
            goes_on: Chances::default(),
            first: vec![Chances::default(); COURSES + 2 * LENGTHS * SHORT],
            second: vec![Chances::default(); 4 * COURSES],
            number: Spelling::new(),
        }
    }

    /// Writes tokens.
    pub(super) fn write<S: Symbols>(&mut self, symbols: &mut S, tokens: &[Token]) {
        let mut before = [TokenContexts::default(); AHEAD];
        for tokens in tokens.chunks(AHEAD) {
            for (before, token) in before.iter_mut().zip(tokens) {
                *before = self.trail.before();
                self.trail.step(token.bits());
            }
            self.touch(&before[..tokens.len()]);
            for (before, token) in before.iter().zip(tokens) {
                self.code(symbols, token.bits(), *before);
            }
        }
    }

    /// Reads a token.
    pub(super) fn read<S: Symbols>(&mut self, symbols: &mut S) -> u32 {
        let token = self.code(symbols, 0, self.trail.before());
        self.trail.step(token);
        token
    }

    /// Loads the entries that coding these tokens needs into the cache.
    fn touch(&self, before: &[TokenContexts]) {
        let mut sum = 0;
        let mut places = [0; AHEAD];
        let places = &mut places[..before.len()];
        for (place, before) in places.iter_mut().zip(before) {
            *place = self.history.place(before.recent);
            sum ^= self.pairs.look(before.pair) ^ self.singles.look(before.single);
        }
        for place in places {
            sum ^= self.history.at(*place);
        }
        std::hint::black_box(sum);
    }

    /// Codes a token.
    #[inline]
    fn code<S: Symbols>(&mut self, symbols: &mut S, token: u32, before: TokenContexts) -> u32 {
        self.history.find(before.recent);
        let mut predicted = self.history.predicted();
        if self.history.length >= LONG {
            let ends = usize::from(token != predicted);
            if symbols.symbol(ends, &mut self.goes_on) == 0 {
                self.history.append(predicted);
                self.history.next += 1;
                return predicted;
            }
            self.history.length = 0;
            predicted = Token::NONE;
        }
        let token = self.code_in_context(symbols, token, predicted, before);
        self.history.push(token, predicted);
        token
    }

    #[inline]
    fn code_in_context<S: Symbols>(
        &mut self,
        symbols: &mut S,
        token: u32,
        predicted: u32,
        before: TokenContexts,
    ) -> u32 {
        let pair = self.pairs.at(before.pair);
        let rank = match token == predicted {
            true => PREDICTED,
            false => 1 + pair.rank(token),
        };
        let chances = &mut self.first[place(pair, predicted, self.history.length)];
        let rank = symbols.symbol(rank, chances);
        let token = match rank {
            PREDICTED => predicted,
            UNKNOWN.. => {
                let single = self.singles.at(before.single);
                let rank = single.rank(token);
                let rank = if rank < WAYS {
                    rank
                } else {
                    WAYS + kind(token)
                };
                let chances = &mut self.second[4 * single.course() + before.kind];
                let rank = symbols.symbol(rank, chances);
                let token = match single.tokens.get(rank) {
                    Some(&token) => token,
                    None => self.number.code(symbols, rank - WAYS, token),
                };
                // The single learns only the tokens that the pair does not know.
                single.learn(token);
                token
            }
            _ => pair.tokens[rank - 1],
        };
        pair.learn(token);
        if self.history.seen.is_multiple_of(1024) {
            self.pairs.fit(self.history.seen);
            self.singles.fit(self.history.seen);
            self.history.fit();
        }
        token
    }
}

impl Trail {
    #[inline]
    fn before(&self) -> TokenContexts {
        let [last, second] = self.last;
        let single = mix(last);
        TokenContexts {
            pair: mix(second.rotate_left(13) ^ single),
            single,
            kind: kind(last),
            recent: self.hash,
        }
    }

    #[inline]
    fn step(&mut self, token: u32) {
        // Each step shifts by six bits, so a token has left the hash after six more tokens.
        self.hash = (self.hash.wrapping_add(token).wrapping_add(1)).wrapping_mul(0x9E37_79B1 << 6);
        match token {
            Token::OPEN => {
                self.outer.push(self.last);
                self.last = [token, self.last[0]];
            }
            Token::CLOSE => {
                // Outside, the new rule takes the place of its definition.
                let outer = self.outer.pop().unwrap_or(self.last);
                self.last = [Symbol::rule(self.rules).bits(), outer[0]];
                self.rules = (self.rules + 1) % Symbol::LIMIT;
            }
            _ => self.last = [token, self.last[0]],
        }
    }
}

/// Index of the probabilities of a pair's ranks, given the repetition's prediction and length.
#[inline]
fn place(pair: &Context, predicted: u32, length: u32) -> usize {
    let course = pair.course();
    if predicted == Token::NONE {
        return course;
    }
    let short = if course < SHORT / 2 {
        course
    } else {
        (SHORT / 2) | (course & (SHORT / 2 - 1))
    };
    let length = (length.saturating_sub(TRUSTED) / 6).min(LENGTHS as u32 - 1) as usize;
    let agrees = usize::from(pair.tokens[0] == predicted);
    COURSES + (2 * length + agrees) * SHORT + short
}

#[inline]
fn mix(token: u32) -> u32 {
    let mixed = token.wrapping_mul(0x9E37_79B1);
    (mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B)
}

/// Codes the number of a token that no context predicted: its size, its highest bits, the rest.
struct Spelling {
    /// By kind.
    sizes: [Chances; 2],
    /// By kind and highest bits of the size.
    fine_sizes: [Chances; 2 * ALPHABET],
    /// By kind and size.
    heads: Vec<Chances>,
    /// By kind, size, and the bits before.
    necks: Vec<Chances>,
}

/// Number of bits, below the highest one, that are learned at a time.
const HEAD: u32 = 3;
const TERMINALS: usize = 0;
const RULES: usize = 1;
const OPENS: usize = 2;
const CLOSES: usize = 3;

impl Spelling {
    fn new() -> Self {
        Self {
            sizes: [Chances::default(); 2],
            fine_sizes: [Chances::default(); 2 * ALPHABET],
            heads: vec![Chances::default(); 2 * 32],
            necks: vec![Chances::default(); 2 * 32 * ALPHABET],
        }
    }

    fn code<S: Symbols>(&mut self, symbols: &mut S, kind: usize, token: u32) -> u32 {
        match kind {
            OPENS => return Token::OPEN,
            TERMINALS | RULES => {}
            _ => return Token::CLOSE,
        }
        // Plus 1, so that each number has a highest bit.
        let value = (token & !Token::RULE).wrapping_add(1);
        let size = 31 - value.max(1).leading_zeros();
        let coarse = symbols.symbol(size as usize / 4, &mut self.sizes[kind]);
        let fine = symbols.symbol(
            size as usize % 4,
            &mut self.fine_sizes[ALPHABET * kind + coarse],
        );
        let size = (4 * coarse + fine).min(31) as u32;
        let place = 32 * kind + size as usize;
        let (mut read, mut left) = (1, size);
        let mut chances = &mut self.heads[place];
        for learns in 0..2 {
            let count = left.min(HEAD);
            left -= count;
            let digit = (value >> left) as usize & ((1 << count) - 1);
            let digit = symbols.symbol(digit, chances) & ((1 << count) - 1);
            read = read << count | digit as u32;
            if learns == 0 {
                chances = &mut self.necks[ALPHABET * place + digit];
            }
            if left == 0 {
                break;
            }
        }
        let tail = symbols.flat(value & ((1 << left) - 1), left);
        let value = read << left | tail;
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
