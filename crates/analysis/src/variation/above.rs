//! What the samples of a path took above its base time, how sure that is, and what of it several
//! bursts bear out.
//!
//! The *base time* is the 5 % quantile of the samples: the least of up to 20, of more a time that
//! no odd sample makes. It is at least one cycle: no path takes less, though the probe's bias may
//! be as long.
//!
//! Samples that may have been interrupted ([`super::interruptions`]), the longest ones, count only
//! as long as the longest of the others (Winsor's way): one of them would otherwise stand for ten
//! thousand executions.
//!
//! How far chance may have moved net variation: bursts come by chance, each as good as alone, so
//! the sum of times above the base has the standard error of the root of the sum of these times'
//! squares, of each burst the square of its sum. The clock's part of the error is a resolution for
//! each sample that counts.
//!
//! [`Evidence`] is what is left where the shortest and the longest samples are left out: those of
//! two bursts on either side, of more where more may have been interrupted.

use holloway_format::Distribution;

use super::run::TimedPath;

/// Share of the samples that take no longer than the base time.
const LOW: f64 = 0.05;
/// Bursts that alone bear nothing out, at either end.
const FEW: u64 = 2;

/// The 5 % quantile, and never less than a cycle.
pub(super) fn base(times: &Distribution) -> u64 {
    let low = times.quantile(LOW);
    // Exact where it is in the bucket of the least.
    let first = times.buckets().next();
    let low = match first.is_some_and(|first| low <= first.high) {
        true => times.least(),
        false => low,
    };
    low.max(1)
}

/// How far above the base time a time may be that the clock can't tell from it. Two times of one
/// length come out up to a resolution apart, half of `window`. Where as few samples took no longer
/// than the base time as an odd burst or two make, it may be an extreme, a resolution too short.
pub(super) fn window(times: &Distribution, base: u64, window: u64) -> u64 {
    let low = times
        .buckets()
        .take_while(|bucket| time(times, bucket.middle()) <= base);
    let low: u64 = low.map(|bucket| bucket.count).sum();
    match low > FEW {
        true => window.div_ceil(2),
        false => window,
    }
}

/// The time that stands for those of a bucket of this middle.
fn time(times: &Distribution, middle: u64) -> u64 {
    middle.clamp(times.least(), times.largest())
}

/// Samples above the base time.
pub(super) struct Above {
    /// Those that the clock tells from it.
    samples: f64,
    /// What they took above it.
    pub(super) sum: f64,
    /// The sum of the squares of that.
    squares: f64,
    /// What the others took above it.
    pub(super) unresolved: f64,
    /// What all samples took.
    pub(super) total: f64,
}

impl Above {
    /// `interrupted` samples, the longest, count only as long as the longest of the others.
    pub(super) fn of(times: &Distribution, base: u64, window: u64, interrupted: u64) -> Above {
        let cut = longest_but(times, interrupted);
        let over = |time: u64| time.min(cut) as f64 - base as f64;
        let mut above = Above::whole(times, base, cut);
        let mut below = 0.0;
        let limit = base.saturating_add(window);
        for bucket in times.buckets() {
            let time = time(times, bucket.middle());
            if time.min(cut) > limit {
                break;
            }
            let cycles = over(time) * bucket.count as f64;
            above.samples -= bucket.count as f64;
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

    /// All samples: exact where none is cut.
    fn whole(times: &Distribution, base: u64, cut: u64) -> Above {
        let (count, base) = (times.count() as f64, base as f64);
        let mut above = Above {
            samples: count,
            sum: 0.0,
            squares: 0.0,
            unresolved: 0.0,
            total: times.sum() as f64,
        };
        if cut >= times.largest() {
            let over = times.mean() - base;
            above.sum = above.total - base * count;
            // The mean square about the base is the variance and the square of the mean's distance
            // from it.
            above.squares = (times.variance() + over * over) * count;
            return above;
        }
        above.total = 0.0;
        for bucket in times.buckets() {
            let (samples, time) = (
                bucket.count as f64,
                time(times, bucket.middle()).min(cut) as f64,
            );
            above.total += samples * time;
            above.sum += samples * (time - base);
            above.squares += samples * (time - base).powi(2);
        }
        above
    }

    /// Standard error of the sum, as a part of it. `together`: by how much the samples of a burst
    /// together say less than as many strangers; nothing where all there are were taken.
    pub(super) fn error(&self, window: u64, together: Option<f64>) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let chance = together.map_or(0.0, |together| self.squares.max(0.0) * together);
        let clock = self.samples * window as f64 / 2.0;
        chance.sqrt().hypot(clock) / self.sum
    }
}

/// The longest time where so many longer ones are left out.
fn longest_but(times: &Distribution, left_out: u64) -> u64 {
    let last = times.count().saturating_sub(left_out).max(1);
    let mut seen = 0;
    let found = times.buckets().find(|bucket| {
        seen += bucket.count;
        seen >= last
    });
    // The exact one where it is in the last bucket.
    match found.filter(|bucket| bucket.high < times.largest()) {
        Some(bucket) => time(times, bucket.middle()),
        None => times.largest(),
    }
}

/// How many times larger the square of the error is since the samples of a burst come together.
pub(super) fn together(path: &TimedPath, base: u64) -> f64 {
    let times = &path.timings.calm.whole;
    let over = times.mean() - base as f64;
    let alone = (times.variance() + over * over) * times.count() as f64;
    let bursts = path.timings.bursts.squares_over(base);
    if alone > 0.0 {
        (bursts / alone).max(1.0)
    } else {
        1.0
    }
}

/// What samples took above the base time where those of a few bursts are left out at either end.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Evidence {
    /// Base times of those that are left, all together.
    pub(super) base: f64,
    /// What they took above.
    pub(super) sum: f64,
    /// What of that they took beyond twice their base time.
    pub(super) long: f64,
    /// What those that are left out took above.
    pub(super) left_out: f64,
}

impl Evidence {
    /// The clock can't tell times up to `floor`. `together` as for [`Above::error`]; nothing where
    /// so few samples are left that nothing can be told.
    pub(super) fn of(
        times: &Distribution,
        (base, window, floor): (u64, u64, u64),
        (interrupted, together): (u64, f64),
    ) -> Option<Evidence> {
        let low = of_bursts(FEW, together);
        let high = of_bursts(FEW.max(interrupted), together);
        let last = times.count().checked_sub(high)?;
        let base = time_at(times, low)?.max(base);
        let mut evidence = Evidence::default();
        let mut seen = 0;
        for bucket in times.buckets() {
            // Those left out are the first and the last.
            let begin = seen.clamp(low, last.max(low));
            seen += bucket.count;
            let samples = seen.clamp(low, last.max(low)) - begin;
            let time = time(times, bucket.middle());
            let of_all = |cycles: u64| samples as f64 * cycles as f64;
            evidence.base += of_all(base.max(floor));
            if time > base.saturating_add(window) {
                let others = (bucket.count - samples) as f64;
                evidence.sum += of_all(time - base);
                evidence.left_out += others * (time - base) as f64;
                evidence.long += of_all((time - base).saturating_sub(base.max(floor)));
            }
        }
        (evidence.base > 0.0).then_some(evidence)
    }
}

/// How many samples those of so many bursts are, at most.
pub(super) fn of_bursts(bursts: u64, together: f64) -> u64 {
    // A ratio of sums, so it may be off by a trifle.
    (bursts as f64 * together - 1e-3).ceil() as u64
}

/// The time with so many before it.
fn time_at(times: &Distribution, before: u64) -> Option<u64> {
    let mut seen = 0;
    times.buckets().find_map(|bucket| {
        seen += bucket.count;
        (seen > before).then(|| time(times, bucket.middle()))
    })
}
