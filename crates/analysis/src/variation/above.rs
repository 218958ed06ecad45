//! The time of a path's samples above its base time, the error of this time, and the part of it
//! that several bursts confirm.
//!
//! The *base time* is the 5 % quantile of the samples. Of up to 20 samples this is the shortest. Of
//! more samples, it is a time that no single odd sample determines. The base time is at least one
//! cycle: no path takes less, although the probe's bias may be as long.
//!
//! Samples that may have been interrupted ([`super::interruptions`]) are the longest ones. They
//! count only as long as the longest of the other samples (winsorizing). Otherwise one of them
//! would stand for ten thousand executions.
//!
//! The standard error of net variation has two parts. Bursts are drawn at random and have equal
//! weight. So the error of the sum of times above the base is the root of the sum of squares, with
//! one square for each burst's sum. The clock adds one resolution for each sample that counts.
//!
//! [`Evidence`] is the time above the base after the shortest and the longest samples are left out:
//! the samples of two bursts on either side, or more if more samples may have been interrupted.

use holloway_format::{Count, Cycles, Distribution};

use super::run::TimedPath;

/// The quantile of the base time: the share of samples that take no longer.
const BASE_QUANTILE: f64 = 0.05;
/// The number of bursts at either end that confirm nothing by themselves.
const FEW_BURSTS: Count = Count(2);

/// The 5 % quantile of the times, but at least one cycle.
pub(super) fn base(times: &Distribution) -> Cycles {
    let low = times.quantile(BASE_QUANTILE);
    // Exact if the quantile is in the bucket of the shortest time.
    let first = times.buckets().next();
    let low = match first.is_some_and(|first| low <= first.high) {
        true => times.least(),
        false => low,
    };
    low.max(Cycles(1))
}

/// How far above the base time a time may be before the clock can distinguish the two. Two equal
/// times come out up to a resolution apart, which is half of `window`. If so few samples are as
/// short as the base time that one or two odd bursts may have made them, the base time may be an
/// extreme: one resolution too short.
pub(super) fn window(times: &Distribution, base: Cycles, window: Cycles) -> Cycles {
    let low = times
        .buckets()
        .take_while(|bucket| time(times, bucket.middle()) <= base);
    let low: Count = low.map(|bucket| bucket.count).sum();
    match low > FEW_BURSTS {
        true => Cycles(window.0.div_ceil(2)),
        false => window,
    }
}

/// The time that represents a bucket with this middle.
fn time(times: &Distribution, middle: Cycles) -> Cycles {
    middle.clamp(times.least(), times.largest())
}

/// The time of samples above the base time.
pub(super) struct TimeAbove {
    /// Number of samples that the clock can distinguish from the base time.
    samples: f64,
    /// Their time above the base time.
    pub(super) sum: f64,
    /// The sum of the squares of these times above the base.
    squares: f64,
    /// The time of the other samples above the base time.
    pub(super) unresolved: f64,
    /// The time of all samples.
    pub(super) total: f64,
}

impl TimeAbove {
    /// Computes the time above `base`. The longest `interrupted` samples count only as long as the
    /// longest of the others.
    pub(super) fn new(
        times: &Distribution,
        base: Cycles,
        window: Cycles,
        interrupted: Count,
    ) -> TimeAbove {
        let cut = longest_without(times, interrupted);
        let over = |time: Cycles| time.min(cut).to_f64() - base.to_f64();
        let mut above = TimeAbove::of_all(times, base, cut);
        let mut below = 0.0;
        let limit = base.saturating_add(window);
        for bucket in times.buckets() {
            let time = time(times, bucket.middle());
            if time.min(cut) > limit {
                break;
            }
            let cycles = over(time) * bucket.count.to_f64();
            above.samples -= bucket.count.to_f64();
            above.squares -= over(time) * cycles;
            if cycles < 0.0 {
                below -= cycles;
            } else {
                above.unresolved += cycles;
            }
        }
        let all = (above.sum + below).max(0.0);
        above.unresolved = match above.samples > 0.0 {
            true => above.unresolved.min(all),
            false => all,
        };
        above.sum = all - above.unresolved;
        above
    }

    /// Sums over all samples. The sums are exact if no sample is shortened to `cut`.
    fn of_all(times: &Distribution, base: Cycles, cut: Cycles) -> TimeAbove {
        let (count, base) = (times.count().to_f64(), base.to_f64());
        let mut above = TimeAbove {
            samples: count,
            sum: 0.0,
            squares: 0.0,
            unresolved: 0.0,
            total: times.sum().to_f64(),
        };
        if cut >= times.largest() {
            let over = times.mean() - base;
            above.sum = above.total - base * count;
            // The mean square about the base is the variance plus the squared distance of the mean
            // from the base.
            above.squares = (times.variance() + over * over) * count;
            return above;
        }
        above.total = 0.0;
        for bucket in times.buckets() {
            let (samples, time) = (
                bucket.count.to_f64(),
                time(times, bucket.middle()).min(cut).to_f64(),
            );
            above.total += samples * time;
            above.sum += samples * (time - base);
            above.squares += samples * (time - base).powi(2);
        }
        above
    }

    /// The standard error of the sum, relative to the sum. `burst_factor` is the factor of the
    /// squared error for samples that come in bursts; `None` if all executions were timed.
    pub(super) fn error(&self, window: Cycles, burst_factor: Option<f64>) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let chance = burst_factor.map_or(0.0, |burst_factor| self.squares.max(0.0) * burst_factor);
        let clock = self.samples * window.to_f64() / 2.0;
        chance.sqrt().hypot(clock) / self.sum
    }
}

/// The longest time after the `left_out` longest samples are left out.
fn longest_without(times: &Distribution, left_out: Count) -> Cycles {
    let last = times.count().saturating_sub(left_out).max(Count(1));
    let mut seen = Count::ZERO;
    let bucket = times.buckets().find(|bucket| {
        seen += bucket.count;
        seen >= last
    });
    // Exact if it is in the last bucket.
    match bucket.filter(|bucket| bucket.high < times.largest()) {
        Some(bucket) => time(times, bucket.middle()),
        None => times.largest(),
    }
}

/// Returns the factor by which the squared error grows because the samples of a burst are not
/// independent.
pub(super) fn burst_factor(path: &TimedPath, base: Cycles) -> f64 {
    let times = &path.timings.calm.inclusive;
    let over = times.mean() - base.to_f64();
    let independent = (times.variance() + over * over) * times.count().to_f64();
    let bursts = path.timings.bursts.squares_over(base);
    if independent > 0.0 {
        (bursts / independent).max(1.0)
    } else {
        1.0
    }
}

/// The time of samples above the base time, after the samples of a few bursts at either end are
/// left out.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Evidence {
    /// Sum of the base times of the remaining samples.
    pub(super) base: f64,
    /// Their time above the base.
    pub(super) sum: f64,
    /// The part of that time beyond twice the base time.
    pub(super) long: f64,
    /// The time above the base of the samples that are left out.
    pub(super) left_out: f64,
}

impl Evidence {
    /// Computes the evidence. The clock cannot distinguish times up to `floor` from 0.
    /// `burst_factor` is the same as for [`TimeAbove::error`]. The result is `None` if too few
    /// samples remain for any evidence.
    pub(super) fn new(
        times: &Distribution,
        (base, window, floor): (Cycles, Cycles, Cycles),
        (interrupted, burst_factor): (Count, f64),
    ) -> Option<Evidence> {
        let low = samples_of_bursts(FEW_BURSTS, burst_factor);
        let high = samples_of_bursts(FEW_BURSTS.max(interrupted), burst_factor);
        let last = Count(times.count().0.checked_sub(high.0)?);
        let base = time_at(times, low)?.max(base);
        let mut evidence = Evidence::default();
        let mut seen = Count::ZERO;
        for bucket in times.buckets() {
            // The first and the last samples are left out.
            let begin = seen.clamp(low, last.max(low));
            seen += bucket.count;
            let samples = seen.clamp(low, last.max(low)) - begin;
            let time = time(times, bucket.middle());
            let weighted = |cycles: Cycles| samples.to_f64() * cycles.to_f64();
            evidence.base += weighted(base.max(floor));
            if time > base.saturating_add(window) {
                let others = (bucket.count - samples).to_f64();
                evidence.sum += weighted(time - base);
                evidence.left_out += others * (time - base).to_f64();
                evidence.long += weighted((time - base).saturating_sub(base.max(floor)));
            }
        }
        (evidence.base > 0.0).then_some(evidence)
    }
}

/// The maximum number of samples in this many bursts.
pub(super) fn samples_of_bursts(bursts: Count, burst_factor: f64) -> Count {
    // The factor is a ratio of sums, so it may be slightly too large.
    Count((bursts.to_f64() * burst_factor - 1e-3).ceil() as u64)
}

/// The time of the sample that has `before` shorter ones.
fn time_at(times: &Distribution, before: Count) -> Option<Cycles> {
    let mut seen = Count::ZERO;
    times.buckets().find_map(|bucket| {
        seen += bucket.count;
        (seen > before).then(|| time(times, bucket.middle()))
    })
}
