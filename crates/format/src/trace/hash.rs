//! A hash of strings of numbers (Karp, Rabin 1987). The hash of a concatenation follows from the
//! hashes of its parts: hash(x y) = hash(x) · B^|y| + hash(y), modulo the prime 2^61 − 1.
//!
//! So the hash of the string that a grammar generates can be computed rule by rule, without
//! expanding the grammar. The time to verify a trace depends only on the size of its grammar.
//!
//! Cost: about a nanosecond per number.

/// Hash and length of a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StringHash {
    value: u64,
    /// B to the power of the length.
    power: u64,
}

const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0A5B_3C79_D1E4_F687;

/// The number modulo `PRIME`.
const fn reduce(number: u128) -> u64 {
    let folded = (number as u64 & PRIME) as u128 + (number >> 61);
    let folded = (folded as u64 & PRIME) + (folded >> 61) as u64;
    if folded >= PRIME {
        folded - PRIME
    } else {
        folded
    }
}

const fn product(left: u64, right: u64) -> u64 {
    reduce(left as u128 * right as u128)
}

/// Number of numbers that are hashed together.
const STEP: usize = 8;

/// B to the power of 0, 1, …, 2 · `STEP`.
const POWERS: [u64; 2 * STEP + 1] = {
    let mut powers = [1; 2 * STEP + 1];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = product(powers[exponent - 1], BASE);
        exponent += 1;
    }
    powers
};

impl Default for StringHash {
    fn default() -> Self {
        Self { value: 0, power: 1 }
    }
}

impl StringHash {
    /// Restores the hash of a string of `length` numbers from its [`value`](Self::value).
    pub const fn new(value: u64, length: u64) -> Self {
        let (mut power, mut square, mut exponent) = (1, BASE, length);
        while exponent > 0 {
            if exponent & 1 != 0 {
                power = product(power, square);
            }
            square = product(square, square);
            exponent >>= 1;
        }
        Self {
            value: reduce(value as u128),
            power,
        }
    }

    /// The hash of a single number.
    pub const fn from_number(number: u32) -> Self {
        Self {
            value: number as u64 + 1,
            power: BASE,
        }
    }

    /// The hash of a string of numbers.
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

    /// The hash of this string followed by another string.
    #[must_use]
    pub const fn then(self, next: Self) -> Self {
        Self {
            value: reduce(self.value as u128 * next.power as u128 + next.value as u128),
            power: product(self.power, next.power),
        }
    }

    /// The hash as a number. The number does not include the length.
    pub const fn value(self) -> u64 {
        self.value
    }
}
