//! Draws random periods between samples. A fixed period may run in step with a loop of the program,
//! and then always meets the same block (Zhang et al. 1997, section 3).

use std::hash::{BuildHasher as _, RandomState};

/// A source of random factors between 1/2 and 3/2, 1 on average.
pub(crate) struct RandomFactors(u64);

impl RandomFactors {
    pub(crate) fn new() -> Self {
        // The standard library seeds its hash tables at random.
        Self(RandomState::new().hash_one(0) | 1)
    }

    /// The next factor (xorshift64*).
    pub(crate) fn draw(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        0.5 + bits as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_1_on_average() {
        let mut factors = RandomFactors::new();
        let drawn: Vec<f64> = (0..10_000).map(|_| factors.draw()).collect();
        assert!(drawn.iter().all(|factor| (0.5..1.5).contains(factor)));
        // The standard error of the mean is 0.003.
        let mean = drawn.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
