//! Computes the time of a path's samples above its base time, the error of this time, and the part
//! of it that several bursts confirm.
//!
//! The *base time* is the 5 % quantile of the samples. Of up to 20 samples, this is the shortest.
//! Of more samples, no single outlier determines it. The base time is at least one cycle: no path
//! takes less, but subtracting the probe's bias may leave 0.
//!
//! Samples that may have been interrupted ([`super::interruptions`]) are the longest ones. They
//! count only as long as the longest of the other samples (winsorizing). Without this limit, one
//! interruption would represent ten thousand slow executions.
//!
//! The standard error of net variation has two parts. Bursts are drawn at random and have equal
//! weight. So the error of the total time above the base time is the root of a sum of squares: the
//! squares of each burst's time above the base time. The clock adds one resolution for each sample
//! above the window (see [`window`]).
//!
//! [`Evidence`] is the time above the base time that several bursts confirm. The samples of the two
//! shortest and the two longest bursts are left out, and more of the longest if more may have been
//! interrupted.

use holloway_format::{Count, Cycles, Distribution};

use super::run::TimedPath;

/// The quantile of the base time: the share of samples that take no longer.
const BASE_QUANTILE: f64 = 0.05;
/// This many bursts confirm nothing by themselves: they may be outliers.
const FEW_BURSTS: Count = Count(2);

/// The 5 % quantile of the times, but at least one cycle.
pub(super) fn base(times: &Distribution) -> Cycles {
    let low = times.quantile(BASE_QUANTILE);
    // In the first bucket, the quantile is the shortest time, which is known exactly.
    let first = times.buckets().next();
    let low = match first.is_some_and(|first| low <= first.high) {
        true => times.least(),
        false => low,
    };
    low.max(Cycles(1))
}

/// Returns a path's window: a time that is at most this far above the base time counts as the base
/// time. `widest` is two resolutions of the clock. Two equal times may be measured one resolution
/// apart, so this is the usual window. If only one or two samples are as short as the base time,
/// they may be outliers that are one resolution too short, so the window is the widest.
pub(super) fn window(times: &Distribution, base: Cycles, widest: Cycles) -> Cycles {
    let shortest = times
        .buckets()
        .take_while(|bucket| time(times, bucket.middle()) <= base);
    let shortest: Count = shortest.map(|bucket| bucket.count).sum();
    match shortest > FEW_BURSTS {
        true => Cycles(widest.0.div_ceil(2)),
        false => widest,
    }
}

/// The time that represents a bucket with this middle.
fn time(times: &Distribution, middle: Cycles) -> Cycles {
    middle.clamp(times.least(), times.largest())
}

/// The time of samples above the base time.
pub(super) struct TimeAbove {
    /// Number of samples beyond the window.
    samples: f64,
    /// Their time above the base time.
    pub(super) sum: f64,
    /// The sum of the squares of these times above the base.
    squares: f64,
    /// The time of the samples inside the window above the base time.
    pub(super) unresolved: f64,
    /// The time of all samples.
    pub(super) total: f64,
}

impl TimeAbove {
    /// Computes the time above `base`. The longest `interrupted` samples may have been interrupted,
    /// so they count only as long as the longest of the others.
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
        let above_base = (above.sum + below).max(0.0);
        above.unresolved = match above.samples > 0.0 {
            true => above.unresolved.min(above_base),
            false => above_base,
        };
        above.sum = above_base - above.unresolved;
        above
    }

    /// Sums over all samples, each at most `cut` cycles long. The sums are exact if no sample is
    /// longer than `cut`.
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

    /// The standard error of the sum, relative to the sum. `burst_factor` is the result of
    /// [`burst_factor`], or `None` if all executions were timed.
    pub(super) fn error(&self, window: Cycles, burst_factor: Option<f64>) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let sampling_square = burst_factor.map_or(0.0, |factor| self.squares.max(0.0) * factor);
        let clock_error = self.samples * window.to_f64() / 2.0;
        sampling_square.sqrt().hypot(clock_error) / self.sum
    }
}

/// The longest time among the samples without the `left_out` longest ones.
fn longest_without(times: &Distribution, left_out: Count) -> Cycles {
    let kept_samples = times.count().saturating_sub(left_out).max(Count(1));
    let mut samples_so_far = Count::ZERO;
    let bucket = times.buckets().find(|bucket| {
        samples_so_far += bucket.count;
        samples_so_far >= kept_samples
    });
    // The longest time is known exactly if it is in the last bucket.
    match bucket.filter(|bucket| bucket.high < times.largest()) {
        Some(bucket) => time(times, bucket.middle()),
        None => times.largest(),
    }
}

/// Returns the factor by which the squared error exceeds that of independent samples. The samples
/// of a burst are not independent.
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

/// The time of samples above the base time, after the samples of a few of the shortest and of the
/// longest bursts are left out.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Evidence {
    /// Sum of the base times of the remaining samples.
    pub(super) base: f64,
    /// The base times and the probes of the remaining samples: the time that an interruption may
    /// hit.
    pub(super) exposure: f64,
    /// Their time above the base.
    pub(super) sum: f64,
    /// The part of that time beyond twice the base time.
    pub(super) long: f64,
    /// The time above the base of the samples that are left out.
    pub(super) left_out: f64,
}

impl Evidence {
    /// Computes the evidence; `None` if too few samples remain. The clock cannot distinguish times
    /// up to `floor` from 0. `interrupted` is the number of bursts that may have been interrupted,
    /// and `burst_factor` the result of [`burst_factor`].
    pub(super) fn new(
        times: &Distribution,
        (base, window, floor, probes): (Cycles, Cycles, Cycles, Cycles),
        (interrupted, burst_factor): (Count, f64),
    ) -> Option<Evidence> {
        let shortest_end = samples_of_bursts(FEW_BURSTS, burst_factor);
        let longest_count = samples_of_bursts(FEW_BURSTS.max(interrupted), burst_factor);
        let longest_begin = Count(times.count().0.checked_sub(longest_count.0)?);
        let base = time_at(times, shortest_end)?.max(base);
        let mut evidence = Evidence::default();
        let mut samples_so_far = Count::ZERO;
        for bucket in times.buckets() {
            // Only the samples between the shortest and the longest ones count.
            let counted_before =
                samples_so_far.clamp(shortest_end, longest_begin.max(shortest_end));
            samples_so_far += bucket.count;
            let samples = samples_so_far.clamp(shortest_end, longest_begin.max(shortest_end))
                - counted_before;
            let time = time(times, bucket.middle());
            let weighted = |cycles: Cycles| samples.to_f64() * cycles.to_f64();
            evidence.base += weighted(base.max(floor));
            evidence.exposure += weighted(base.max(floor) + probes);
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
    // The factor is a quotient of rounded sums, so it may be slightly too large.
    Count((bursts.to_f64() * burst_factor - 1e-3).ceil() as u64)
}

/// The time of the sample at this index in ascending order.
fn time_at(times: &Distribution, index: Count) -> Option<Cycles> {
    let mut samples_so_far = Count::ZERO;
    times.buckets().find_map(|bucket| {
        samples_so_far += bucket.count;
        (samples_so_far > index).then(|| time(times, bucket.middle()))
    })
}
