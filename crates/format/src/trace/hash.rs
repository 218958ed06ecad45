//! A hash of strings of numbers that can be computed from a grammar: hash(x y) = hash(x) · B^|y| +
//! hash(y).
//!
//! A polynomial modulo the prime 2^61 − 1 (Karp, Rabin 1987). The hash of a string grows with the
//! string. The hash of a grammar is computed rule by rule, without expanding it, so the time to
//! verify a trace depends on the size of its grammar only.
//!
//! Cost: about a nanosecond per number.

/// Hash and length of a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StringHash {
    value: u64,
    /// B to the length.
    power: u64,
}

const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0A5B_3C79_D1E4_F687;

const fn reduce(number: u128) -> u64 {
    let folded = (number as u64 & PRIME) as u128 + (number >> 61);
    let folded = (folded as u64 & PRIME) + (folded >> 61) as u64;
    if folded >= PRIME {
        folded - PRIME
    } else {
        folded
    }
}

const fn times(left: u64, right: u64) -> u64 {
    reduce(left as u128 * right as u128)
}

/// Numbers per step.
const STEP: usize = 8;

/// B to 0, 1, …, twice `STEP`.
const POWERS: [u64; 2 * STEP + 1] = {
    let mut powers = [1; 2 * STEP + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = times(powers[at - 1], BASE);
        at += 1;
    }
    powers
};

impl Default for StringHash {
    fn default() -> Self {
        Self { value: 0, power: 1 }
    }
}

impl StringHash {
    /// The hash with this value of a string of `length` numbers.
    pub const fn new(value: u64, length: u64) -> Self {
        let (mut power, mut square, mut rest) = (1, BASE, length);
        while rest > 0 {
            if rest & 1 != 0 {
                power = times(power, square);
            }
            square = times(square, square);
            rest >>= 1;
        }
        Self {
            value: reduce(value as u128),
            power,
        }
    }

    /// The hash of one number.
    pub const fn from_number(number: u32) -> Self {
        Self {
            value: number as u64 + 1,
            power: BASE,
        }
    }

    /// The hash of a string.
    pub fn from_numbers(numbers: &[u32]) -> Self {
        let value = numbers.chunks(STEP).fold(0, |before, step| {
            let mut sum = u128::from(before) * u128::from(POWERS[step.len()]);
            for (number, power) in step.iter().rev().zip(POWERS) {
                sum += (u128::from(*number) + 1) * u128::from(power);
            }
            reduce(sum)
        });
        match POWERS.get(numbers.len()) {
            Some(&power) => Self { value, power },
            None => Self::new(value, numbers.len() as u64),
        }
    }

    /// The hash of this string with another behind it.
    #[must_use]
    pub const fn then(self, behind: Self) -> Self {
        Self {
            value: reduce(self.value as u128 * behind.power as u128 + behind.value as u128),
            power: times(self.power, behind.power),
        }
    }

    /// The hash in 64 bits.
    pub const fn value(self) -> u64 {
        self.value
    }
}
