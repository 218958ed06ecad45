//! A distribution of times: a histogram with a bounded error, and exact sums.
//!
//! Log-linear buckets, as in Tene's HdrHistogram: 64 per power of two. A bucket is at most 1/64 of
//! its least value wide, and each value below 128 has its own bucket. A value read from a bucket is
//! its middle, within 1/128 (0.8 %) of the recorded value. Number, sum, sum of squares, least, and
//! largest value are exact.
//!
//! ```text
//! VALUE      0 … 63   64 … 127   128 … 255        256 … 511        2^e …
//! BUCKET     0 … 63   64 … 127   128 … 191 (by 2) 192 … 255 (by 4) 64 (e - 5) … (by 2^(e-6))
//! ```
//! Memory: 512 bytes for each power of two that occurs, 30 KB at worst, whatever the number of
//! values.

use crate::units::{Count, Cycles};

/// Number of buckets per power of two.
const OCTAVE: usize = 1 << BITS;
const BITS: u32 = 6;
/// Number of buckets.
pub const BUCKETS: u16 = (OCTAVE as u16) * (64 - BITS as u16 + 1);

/// Times in cycles.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Distribution {
    count: Count,
    sum: Cycles,
    squares: u128,
    least: Cycles,
    largest: Cycles,
    /// No trailing `None`, no block of zeros only.
    octaves: Vec<Option<Box<[u64; OCTAVE]>>>,
}

/// A bucket: the values from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Its number.
    pub number: u16,
    /// Least value.
    pub low: Cycles,
    /// Largest value.
    pub high: Cycles,
    /// Number of values.
    pub count: Count,
}

impl Bucket {
    /// The middle of its values.
    pub fn middle(&self) -> Cycles {
        let (low, high) = (self.low.0, self.high.0);
        Cycles(low + (high - low) / 2)
    }
}

/// The bucket of a value.
pub fn bucket_of(value: u64) -> u16 {
    let exponent = 63 - (value | 1).leading_zeros();
    match exponent.checked_sub(BITS) {
        None => value as u16,
        Some(shift) => ((shift as u16) << BITS) + (value >> shift) as u16,
    }
}

/// Least and largest value of a bucket below [`BUCKETS`].
pub fn bounds(bucket: u16) -> (u64, u64) {
    let (octave, place) = (bucket >> BITS, u64::from(bucket) % OCTAVE as u64);
    match octave.checked_sub(1) {
        None => (place, place),
        Some(shift) => {
            let low = (OCTAVE as u64 + place) << shift;
            (low, low + ((1 << shift) - 1))
        }
    }
}

impl Distribution {
    /// Adds a value.
    pub fn record(&mut self, value: Cycles) {
        self.extend_range(value, value);
        self.count = self.count.saturating_add(Count(1));
        self.sum = self.sum.saturating_add(value);
        let square = u128::from(value) * u128::from(value);
        self.squares = self.squares.saturating_add(square);
        self.add_to_bucket(bucket_of(value.0), Count(1));
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        if other.count == Count::ZERO {
            return;
        }
        self.extend_range(other.least, other.largest);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
        for bucket in other.buckets() {
            self.add_to_bucket(bucket.number, bucket.count);
        }
    }

    fn extend_range(&mut self, least: Cycles, largest: Cycles) {
        if self.count == Count::ZERO {
            (self.least, self.largest) = (least, largest);
        } else {
            self.least = self.least.min(least);
            self.largest = self.largest.max(largest);
        }
    }

    fn add_to_bucket(&mut self, bucket: u16, count: Count) {
        let (octave, place) = (usize::from(bucket) / OCTAVE, usize::from(bucket) % OCTAVE);
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        let block = self.octaves[octave].get_or_insert_with(|| Box::new([0; OCTAVE]));
        block[place] = block[place].saturating_add(count.0);
    }

    /// Makes a distribution of sums and buckets. Buckets must ascend, and none may be empty. None
    /// if no distribution has these sums and buckets.
    pub fn from_parts(
        sums: Sums,
        buckets: impl IntoIterator<Item = (u16, Count)>,
    ) -> Option<Distribution> {
        let mut distribution = Distribution {
            sum: sums.sum,
            squares: sums.squares,
            least: sums.least,
            largest: sums.largest,
            ..Distribution::default()
        };
        let mut ends: Option<(u16, u16)> = None;
        for (bucket, count) in buckets {
            let ascends = ends.is_none_or(|(_, last)| last < bucket);
            if !ascends || bucket >= BUCKETS || count == Count::ZERO {
                return None;
            }
            ends = Some((ends.map_or(bucket, |(first, _)| first), bucket));
            distribution.count = Count(distribution.count.0.checked_add(count.0)?);
            distribution.add_to_bucket(bucket, count);
        }
        let Some((first, last)) = ends else {
            return (sums == Sums::default()).then_some(distribution);
        };
        let fits = bucket_of(sums.least.0) == first && bucket_of(sums.largest.0) == last;
        (fits && sums.least <= sums.largest).then_some(distribution)
    }

    /// Sums, least, and largest value.
    pub fn sums(&self) -> Sums {
        Sums {
            sum: self.sum,
            squares: self.squares,
            least: self.least,
            largest: self.largest,
        }
    }

    /// Number of values.
    pub fn count(&self) -> Count {
        self.count
    }

    /// Sum of the values.
    pub fn sum(&self) -> Cycles {
        self.sum
    }

    /// The least value; 0 without values.
    pub fn least(&self) -> Cycles {
        self.least
    }

    /// The largest value; 0 without values.
    pub fn largest(&self) -> Cycles {
        self.largest
    }

    /// The average; 0 without values.
    pub fn mean(&self) -> f64 {
        match self.count {
            Count::ZERO => 0.0,
            count => self.sum.to_f64() / count.to_f64(),
        }
    }

    /// The average square of the distance from the average.
    pub fn variance(&self) -> f64 {
        let Distribution {
            count,
            sum,
            squares,
            ..
        } = *self;
        if count == Count::ZERO {
            return 0.0;
        }
        // Computes with integers while they fit, because the difference of large floats is noise.
        let (n, sum) = (u128::from(count), u128::from(sum));
        let exact = n.checked_mul(squares).zip(sum.checked_mul(sum));
        let exact = exact.map(|(all, square)| all.saturating_sub(square) as f64);
        let count = count.to_f64();
        let exact =
            exact.unwrap_or_else(|| (count * squares as f64 - sum as f64 * sum as f64).max(0.0));
        exact / (count * count)
    }

    /// The least value that at least `share` (0 to 1) of all values do not exceed, within the error
    /// of a bucket; 0 without values.
    pub fn quantile(&self, share: f64) -> Cycles {
        let rank = (share.clamp(0.0, 1.0) * self.count.to_f64()).ceil() as u64;
        let rank = Count(rank.clamp(1, self.count.0.max(1)));
        let mut seen = Count::ZERO;
        for bucket in self.buckets() {
            seen = seen.saturating_add(bucket.count);
            if seen >= rank {
                return bucket.middle().clamp(self.least, self.largest);
            }
        }
        self.largest
    }

    /// The buckets with values, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let blocks = self.octaves.iter().enumerate();
        let blocks = blocks.filter_map(|(octave, block)| Some((octave, block.as_ref()?)));
        blocks.flat_map(|(octave, block)| {
            let counts = block.iter().enumerate().filter(|(_, count)| **count > 0);
            counts.map(move |(place, &count)| {
                let number = (octave * OCTAVE + place) as u16;
                let (low, high) = bounds(number);
                Bucket {
                    number,
                    low: Cycles(low),
                    high: Cycles(high),
                    count: Count(count),
                }
            })
        })
    }
}

/// The exact figures of a distribution, besides the number of values.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// Sum of the values.
    pub sum: Cycles,
    /// Sum of their squares.
    pub squares: u128,
    /// The least value.
    pub least: Cycles,
    /// The largest value.
    pub largest: Cycles,
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, bounds, bucket_of};

    #[test]
    fn buckets_lie_side_by_side() {
        let mut next = 0u128;
        for bucket in 0..BUCKETS {
            let (low, high) = bounds(bucket);
            assert_eq!(u128::from(low), next, "bucket {bucket}");
            assert_eq!((bucket_of(low), bucket_of(high)), (bucket, bucket));
            assert!(high - low <= low / 64, "bucket {bucket}");
            next = u128::from(high) + 1;
        }
        assert_eq!(next, 1 << 64);
    }
}
