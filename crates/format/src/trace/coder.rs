//! Arithmetic coding of symbols from an alphabet of eight (Rissanen 1976). Each symbol costs as
//! many bits as its probability calls for. The coder is a range coder that writes 32 bits at a
//! time.
//!
//! Encoder and decoder both implement [`Symbols`], so a model is written once and serves both.
//!
//! Cost: per symbol, two multiplications and eight additions that run side by side. Decoding takes
//! seven multiplications more. No branch depends on the symbol.

/// Symbols of an alphabet.
pub(super) const ALPHABET: usize = 8;
/// Bits of a probability.
const BITS: u32 = 20;
const ONE: i32 = 1 << BITS;
/// The least probability of a symbol, in parts of [`ONE`]: more than the slowest rate rounds away.
const LEAST: i32 = 1 << (SLOWEST + 1);
const SLOWEST: u32 = 6;

/// By number of symbols seen: the share of its error that a probability corrects, as a shift. The
/// share is about 1 / (symbols seen + 1.5).
const RATES: [u32; 64] = {
    let mut rates = [SLOWEST; 64];
    let mut symbols_seen = 0;
    while symbols_seen < 48 {
        rates[symbols_seen] = match symbols_seen {
            0 => 1,
            1..3 => 2,
            3..8 => 3,
            8..20 => 4,
            _ => 5,
        };
        symbols_seen += 1;
    }
    rates
};

/// The cumulative probabilities that each symbol draws the table towards, by symbol.
const TARGETS: [[i32; ALPHABET]; ALPHABET] = {
    let mut targets = [[0; ALPHABET]; ALPHABET];
    let mut symbol = 0;
    while symbol < ALPHABET {
        let mut up_to = 0;
        while up_to < ALPHABET {
            let below = (up_to as i32 + 1) * LEAST;
            targets[symbol][up_to] = if up_to < symbol {
                below
            } else {
                ONE - (ALPHABET as i32 * LEAST - below)
            };
            up_to += 1;
        }
        symbol += 1;
    }
    targets
};

/// The probabilities of eight symbols, learned from the symbols seen.
#[derive(Clone, Copy)]
pub(super) struct Chances {
    /// Cumulative probability of the symbols up to each, in parts of [`ONE`].
    sums: [i32; ALPHABET],
    symbols_seen: u32,
}

impl Default for Chances {
    fn default() -> Self {
        let mut sums = [0; ALPHABET];
        let mut up_to = 0;
        while up_to < ALPHABET {
            sums[up_to] = (up_to as i32 + 1) * (ONE / ALPHABET as i32);
            up_to += 1;
        }
        Self {
            sums,
            symbols_seen: 0,
        }
    }
}

impl Chances {
    /// Start and width of the symbol's part of the range.
    #[inline]
    fn part(&self, symbol: usize) -> (u64, u64) {
        let symbol = symbol & (ALPHABET - 1);
        let above = self.sums[symbol];
        let below = if symbol == 0 {
            0
        } else {
            self.sums[symbol - 1]
        };
        (below as u64, (above - below) as u64)
    }

    #[inline]
    fn learn(&mut self, symbol: usize) {
        let rate = RATES[self.symbols_seen as usize & 63];
        for (sum, target) in self.sums.iter_mut().zip(&TARGETS[symbol & (ALPHABET - 1)]) {
            *sum += (target - *sum) >> rate;
        }
        self.symbols_seen += u32::from(self.symbols_seen < 63);
    }

    /// The symbol whose part holds `code`, if a part of 1 is `unit` wide. Multiplications replace a
    /// division because they run side by side.
    #[inline]
    fn symbol(&self, code: u64, unit: u64) -> usize {
        let below = |&sum: &i32| usize::from(sum as u64 * unit <= code);
        self.sums[..ALPHABET - 1].iter().map(below).sum()
    }
}

/// Codes symbols. An encoder writes the symbol that it is given. A decoder ignores that symbol and
/// returns the symbol that it read.
pub(super) trait Symbols {
    /// Codes a symbol below [`ALPHABET`] and lets the probabilities learn it.
    fn symbol(&mut self, symbol: usize, chances: &mut Chances) -> usize;

    /// Codes the lowest `count` bits of a number, at most 31, all equally likely.
    fn flat(&mut self, value: u32, count: u32) -> u32;
}

/// Writes symbols.
pub(super) struct Encoder {
    /// The code lies in `low..low + range`.
    low: u64,
    range: u64,
    bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            range: u64::MAX,
            bytes: Vec::new(),
        }
    }

    /// The bytes of all symbols.
    pub(super) fn finish(mut self) -> Vec<u8> {
        // The decoder reads zeros behind the end, so the shortest number in the interval is enough.
        for count in 0..=8 {
            let rest = u64::MAX.checked_shr(8 * count).unwrap_or(0);
            let (code, carry) = self.low.overflowing_add(rest);
            let code = code & !rest;
            if code.wrapping_sub(self.low) < self.range {
                if carry {
                    self.carry();
                }
                self.bytes
                    .extend_from_slice(&code.to_be_bytes()[..count as usize]);
                break;
            }
        }
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }

    #[inline]
    fn take(&mut self, below: u64, width: u64, unit: u64) {
        let (low, carry) = self.low.overflowing_add(unit * below);
        self.low = low;
        self.range = unit * width;
        if carry {
            self.carry();
        }
        if self.range < 1 << 32 {
            self.bytes
                .extend_from_slice(&((self.low >> 32) as u32).to_be_bytes());
            self.low <<= 32;
            self.range <<= 32;
        }
    }

    #[cold]
    fn carry(&mut self) {
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }
}

impl Symbols for Encoder {
    #[inline]
    fn symbol(&mut self, symbol: usize, chances: &mut Chances) -> usize {
        let (below, width) = chances.part(symbol);
        self.take(below, width, self.range >> BITS);
        chances.learn(symbol);
        symbol
    }

    #[inline]
    fn flat(&mut self, value: u32, count: u32) -> u32 {
        self.take(u64::from(value), 1, self.range >> count);
        value
    }
}

/// Reads symbols. Behind the end it reads zeros.
pub(super) struct Decoder<'a> {
    /// The code, relative to the low end of the interval.
    code: u64,
    range: u64,
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self {
            code: 0,
            range: u64::MAX,
            bytes,
        };
        decoder.code = decoder.next() << 32;
        decoder.code |= decoder.next();
        decoder
    }

    #[inline]
    fn next(&mut self) -> u64 {
        match self.bytes.split_first_chunk() {
            Some((first, rest)) => {
                self.bytes = rest;
                u64::from(u32::from_be_bytes(*first))
            }
            None => {
                let mut last = [0; 4];
                last[..self.bytes.len()].copy_from_slice(self.bytes);
                self.bytes = &[];
                u64::from(u32::from_be_bytes(last))
            }
        }
    }

    #[inline]
    fn take(&mut self, below: u64, width: u64, unit: u64) {
        // Behind the last part, a remainder of the interval belongs to no symbol. Only damaged code
        // leads there.
        self.code = self.code.wrapping_sub(unit * below);
        self.range = unit * width;
        if self.range < 1 << 32 {
            self.code = self.code << 32 | self.next();
            self.range <<= 32;
        }
    }
}

impl Symbols for Decoder<'_> {
    #[inline]
    fn symbol(&mut self, _symbol: usize, chances: &mut Chances) -> usize {
        let unit = self.range >> BITS;
        let symbol = chances.symbol(self.code, unit);
        let (below, width) = chances.part(symbol);
        self.take(below, width, unit);
        chances.learn(symbol);
        symbol
    }

    #[inline]
    fn flat(&mut self, _value: u32, count: u32) -> u32 {
        let unit = self.range >> count;
        let value = (self.code / unit).min((1 << count) - 1);
        self.take(value, 1, unit);
        value as u32
    }
}
