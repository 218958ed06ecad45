//! Arithmetic coding of symbols from an alphabet of eight (Rissanen 1976). A symbol with the
//! probability p takes -log2 p bits. The coder is a range coder that writes 32 bits at a time.
//!
//! The encoder and the decoder both implement [`Symbols`], so the same code of a model encodes and
//! decodes.
//!
//! Cost: two multiplications and eight additions per symbol, which the processor runs in parallel.
//! Decoding takes seven more multiplications. No branch depends on the symbol.

/// Number of symbols in an alphabet.
pub(super) const ALPHABET: usize = 8;
/// Bits of a probability.
const BITS: u32 = 20;
/// The probability 1.
const ONE: i32 = 1 << BITS;
/// The minimum probability of a symbol, in parts of [`ONE`]. It is larger than the rounding error
/// of the slowest rate.
const MIN_PROBABILITY: i32 = 1 << (SLOWEST_RATE + 1);
/// The slowest rate at which probabilities learn, as a shift.
const SLOWEST_RATE: u32 = 6;

/// The rate at which probabilities learn, by the number of symbols that they have learned from. A
/// probability corrects the share `1 / 2^rate` of its error. This share is about 1 / (symbols +
/// 1.5).
const RATES: [u32; 64] = {
    let mut rates = [SLOWEST_RATE; 64];
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

/// For each symbol, the cumulative probabilities towards which an occurrence of the symbol moves a
/// table.
const TARGETS: [[i32; ALPHABET]; ALPHABET] = {
    let mut targets = [[0; ALPHABET]; ALPHABET];
    let mut symbol = 0;
    while symbol < ALPHABET {
        let mut up_to = 0;
        while up_to < ALPHABET {
            let below = (up_to as i32 + 1) * MIN_PROBABILITY;
            targets[symbol][up_to] = if up_to < symbol {
                below
            } else {
                ONE - (ALPHABET as i32 * MIN_PROBABILITY - below)
            };
            up_to += 1;
        }
        symbol += 1;
    }
    targets
};

/// The probabilities of eight symbols, learned from earlier symbols.
#[derive(Clone, Copy)]
pub(super) struct Probabilities {
    /// For each symbol, the sum of the probabilities of the symbols up to it, in parts of [`ONE`].
    sums: [i32; ALPHABET],
    symbols_seen: u32,
}

impl Default for Probabilities {
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

impl Probabilities {
    /// Returns the start and the width of the symbol's part of the range, in parts of [`ONE`].
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

    /// Makes the symbol more probable, and the others less.
    #[inline]
    fn learn(&mut self, symbol: usize) {
        let rate = RATES[self.symbols_seen as usize & 63];
        for (sum, target) in self.sums.iter_mut().zip(&TARGETS[symbol & (ALPHABET - 1)]) {
            *sum += (target - *sum) >> rate;
        }
        self.symbols_seen += u32::from(self.symbols_seen < 63);
    }

    /// Returns the symbol whose part of the range contains `code`. `unit` is the width of a part
    /// with probability 1 / [`ONE`]. Several multiplications are faster than a division because
    /// they run in parallel.
    #[inline]
    fn symbol(&self, code: u64, unit: u64) -> usize {
        let is_below = |&sum: &i32| usize::from(sum as u64 * unit <= code);
        self.sums[..ALPHABET - 1].iter().map(is_below).sum()
    }
}

/// Codes symbols. An encoder writes the given symbol and returns it. A decoder ignores the given
/// symbol, reads a symbol, and returns it.
pub(super) trait Symbols {
    /// Codes a symbol below [`ALPHABET`], and updates the probabilities.
    fn symbol(&mut self, symbol: usize, probabilities: &mut Probabilities) -> usize;

    /// Codes the lowest `count` bits of a number, at most 31. All values are equally probable.
    fn flat(&mut self, value: u32, count: u32) -> u32;
}

/// Writes symbols.
pub(super) struct Encoder {
    /// Low end of the interval. Every number in `low..low + range` encodes the symbols.
    low: u64,
    /// Width of the interval.
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

    /// Returns the bytes of all symbols.
    pub(super) fn finish(mut self) -> Vec<u8> {
        // The decoder reads zeros after the end. So the encoder writes the number in the interval
        // that has the fewest bytes before its trailing zeros.
        for count in 0..=8 {
            let low_bits = u64::MAX.checked_shr(8 * count).unwrap_or(0);
            let (code, carry) = self.low.overflowing_add(low_bits);
            let code = code & !low_bits;
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

    /// Narrows the interval to a part of it, and writes the bits that are then known.
    #[inline]
    fn narrow(&mut self, below: u64, width: u64, unit: u64) {
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

    /// Adds 1 to the number that the written bytes represent.
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
    fn symbol(&mut self, symbol: usize, probabilities: &mut Probabilities) -> usize {
        let (below, width) = probabilities.part(symbol);
        self.narrow(below, width, self.range >> BITS);
        probabilities.learn(symbol);
        symbol
    }

    #[inline]
    fn flat(&mut self, value: u32, count: u32) -> u32 {
        self.narrow(u64::from(value), 1, self.range >> count);
        value
    }
}

/// Reads symbols. After the end of its bytes, it reads zeros.
pub(super) struct Decoder<'a> {
    /// The code, relative to the low end of the interval.
    code: u64,
    /// Width of the interval.
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

    /// Reads the next 32 bits of the code.
    #[inline]
    fn next(&mut self) -> u64 {
        match self.bytes.split_first_chunk() {
            Some((first, remaining)) => {
                self.bytes = remaining;
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

    /// Narrows the interval to a part of it, and reads more bits if necessary.
    #[inline]
    fn narrow(&mut self, below: u64, width: u64, unit: u64) {
        // The end of the interval, after the last part, belongs to no symbol. Only damaged code is
        // there.
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
    fn symbol(&mut self, _symbol: usize, probabilities: &mut Probabilities) -> usize {
        let unit = self.range >> BITS;
        let symbol = probabilities.symbol(self.code, unit);
        let (below, width) = probabilities.part(symbol);
        self.narrow(below, width, unit);
        probabilities.learn(symbol);
        symbol
    }

    #[inline]
    fn flat(&mut self, _value: u32, count: u32) -> u32 {
        let unit = self.range >> count;
        let value = (self.code / unit).min((1 << count) - 1);
        self.narrow(value, 1, unit);
        value as u32
    }
}
