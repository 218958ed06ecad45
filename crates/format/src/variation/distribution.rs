//! A distribution of times: a histogram with a bounded error, and exact sums.
//!
//! The histogram has log-linear buckets, as Tene's HdrHistogram: 64 for each power of two (an
//! *octave*). The width of a bucket is at most 1/64 of its smallest value, and each value below 128
//! has its own bucket. Quantiles are middles of buckets, within 1/128 (0.8 %) of the recorded
//! value. The number, the sum, the sum of squares, and the smallest and largest values are exact.
//!
//! ```text
//! VALUE      0 … 63   64 … 127   128 … 255        256 … 511        2^e …
//! BUCKET     0 … 63   64 … 127   128 … 191        192 … 255        64 (e - 5) …
//! WIDTH      1        1          2                4                2^(e - 6)
//! ```
//! Memory: 512 bytes for each octave with values, and at most 30 KB.

use crate::units::{Count, Cycles};

/// Number of buckets in an octave.
const OCTAVE: usize = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 6;
/// Number of buckets.
pub const BUCKETS: u16 = (OCTAVE as u16) * (64 - OCTAVE_BITS as u16 + 1);

/// Times in cycles.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Distribution {
    count: Count,
    sum: Cycles,
    squares: u128,
    least: Cycles,
    largest: Cycles,
    /// The counts of each octave's buckets. An octave without values is `None`, and the last octave
    /// has values.
    octaves: Vec<Option<Box<[u64; OCTAVE]>>>,
}

/// A bucket: the values from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Number of the bucket.
    pub number: u16,
    /// Smallest value of the bucket.
    pub low: Cycles,
    /// Largest value of the bucket.
    pub high: Cycles,
    /// Number of recorded values.
    pub count: Count,
}

impl Bucket {
    /// The middle of the bucket's range.
    pub fn middle(&self) -> Cycles {
        let (low, high) = (self.low.0, self.high.0);
        Cycles(low + (high - low) / 2)
    }
}

/// The number of the bucket that counts a value.
pub fn bucket_of(value: u64) -> u16 {
    let exponent = 63 - (value | 1).leading_zeros();
    match exponent.checked_sub(OCTAVE_BITS) {
        None => value as u16,
        Some(shift) => ((shift as u16) << OCTAVE_BITS) + (value >> shift) as u16,
    }
}

/// The smallest and the largest value of the bucket with this number, below [`BUCKETS`].
pub fn bounds(bucket: u16) -> (u64, u64) {
    let (octave, index) = (bucket >> OCTAVE_BITS, u64::from(bucket) % OCTAVE as u64);
    match octave.checked_sub(1) {
        None => (index, index),
        Some(shift) => {
            let low = (OCTAVE as u64 + index) << shift;
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
        let (octave, index) = (usize::from(bucket) / OCTAVE, usize::from(bucket) % OCTAVE);
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        let counts = self.octaves[octave].get_or_insert_with(|| Box::new([0; OCTAVE]));
        counts[index] = counts[index].saturating_add(count.0);
    }

    /// Makes a distribution from its sums and buckets. The buckets must ascend and must not be
    /// empty. Returns `None` if no distribution has these sums and buckets.
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
        let mut first_and_last: Option<(u16, u16)> = None;
        for (bucket, count) in buckets {
            let ascends = first_and_last.is_none_or(|(_, last)| last < bucket);
            if !ascends || bucket >= BUCKETS || count == Count::ZERO {
                return None;
            }
            let first = first_and_last.map_or(bucket, |(first, _)| first);
            first_and_last = Some((first, bucket));
            distribution.count = Count(distribution.count.0.checked_add(count.0)?);
            distribution.add_to_bucket(bucket, count);
        }
        let Some((first, last)) = first_and_last else {
            return (sums == Sums::default()).then_some(distribution);
        };
        let fits = bucket_of(sums.least.0) == first && bucket_of(sums.largest.0) == last;
        (fits && sums.least <= sums.largest).then_some(distribution)
    }

    /// The exact sums, and the smallest and largest values.
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

    /// The smallest value, or 0 if there are no values.
    pub fn least(&self) -> Cycles {
        self.least
    }

    /// The largest value, or 0 if there are no values.
    pub fn largest(&self) -> Cycles {
        self.largest
    }

    /// The average, or 0 if there are no values.
    pub fn mean(&self) -> f64 {
        match self.count {
            Count::ZERO => 0.0,
            count => self.sum.to_f64() / count.to_f64(),
        }
    }

    /// The variance: the average square of a value's distance from the average.
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
        // The variance is (n · sum of squares - square of the sum) / n². The difference is computed
        // with integers unless they overflow, because the difference of two large floats is
        // imprecise.
        let (n, sum) = (u128::from(count), u128::from(sum));
        let terms = n.checked_mul(squares).zip(sum.checked_mul(sum));
        let difference =
            terms.map(|(n_squares, sum_squared)| n_squares.saturating_sub(sum_squared) as f64);
        let count = count.to_f64();
        let difference = difference
            .unwrap_or_else(|| (count * squares as f64 - sum as f64 * sum as f64).max(0.0));
        difference / (count * count)
    }

    /// The quantile `share` (0 to 1): the smallest value that at least this share of all values
    /// does not exceed, within the error of a bucket. It is 0 if there are no values.
    pub fn quantile(&self, share: f64) -> Cycles {
        let rank = (share.clamp(0.0, 1.0) * self.count.to_f64()).ceil() as u64;
        let rank = Count(rank.clamp(1, self.count.0.max(1)));
        let mut values_so_far = Count::ZERO;
        for bucket in self.buckets() {
            values_so_far = values_so_far.saturating_add(bucket.count);
            if values_so_far >= rank {
                return bucket.middle().clamp(self.least, self.largest);
            }
        }
        self.largest
    }

    /// The buckets with values, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let octaves = self.octaves.iter().enumerate();
        let octaves = octaves.filter_map(|(octave, counts)| Some((octave, counts.as_ref()?)));
        octaves.flat_map(|(octave, counts)| {
            let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            counts.map(move |(index, &count)| {
                let number = (octave * OCTAVE + index) as u16;
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

/// The exact numbers of a distribution, except for the number of values.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// Sum of the values.
    pub sum: Cycles,
    /// Sum of the squares of the values.
    pub squares: u128,
    /// The smallest value.
    pub least: Cycles,
    /// The largest value.
    pub largest: Cycles,
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, bounds, bucket_of};

    #[test]
    fn buckets_have_no_gaps() {
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
