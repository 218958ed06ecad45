//! What the samples of a path took above its base time, and how sure that is.
//!
//! How far chance may have moved net variation: bursts come by chance, each as good as alone, so the sum of times above the base has the standard error
//! of the root of the sum of these times' squares, of each burst the square of its sum. An outlier that was met once is known to ± 100 %. The clock's part of the error is a
//! resolution for each sample that counts.

use holloway_format::Distribution;

use super::run::TimedPath;

/// Samples above the least one.
pub(super) struct Above {
    /// Those that the clock tells from it.
    samples: f64,
    /// What they took above it.
    pub(super) sum: f64,
    /// The sum of the squares of that.
    squares: f64,
    /// What the others took above it.
    pub(super) unresolved: f64,
}

impl Above {
    pub(super) fn of(times: &Distribution, window: u64) -> Above {
        let (count, base) = (times.count() as f64, times.least());
        let over = times.mean() - base as f64;
        let mut above = Above {
            samples: count,
            sum: (times.sum() as f64 - base as f64 * count).max(0.0),
            // The mean square about the base is the variance and the square of the mean's distance from it.
            squares: (times.variance() + over * over) * count,
            unresolved: 0.0,
        };
        let limit = base.saturating_add(window);
        for bucket in times.buckets().take_while(|one| one.middle() <= limit) {
            let over = bucket.middle().saturating_sub(base) as f64;
            let samples = bucket.count as f64;
            above.samples -= samples;
            above.unresolved += samples * over;
            above.squares -= samples * over * over;
        }
        above.unresolved = above.unresolved.min(above.sum);
        above.sum -= above.unresolved;
        if above.samples <= 0.0 {
            (above.unresolved, above.sum) = (above.unresolved + above.sum, 0.0);
        }
        above
    }

    /// Standard error of the sum, as a part of it. `together`: by how much the samples of a burst together say less than as many strangers; nothing where
    /// all there are were taken.
    pub(super) fn error(&self, window: u64, together: Option<f64>) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let chance = together.map_or(0.0, |together| self.squares.max(0.0) * together);
        let clock = self.samples * window as f64 / 2.0;
        chance.sqrt().hypot(clock) / self.sum
    }
}

/// How many times larger the square of the error is since the samples of a burst come together.
pub(super) fn together(path: &TimedPath) -> f64 {
    let times = &path.timings.calm.whole;
    let over = times.mean() - times.least() as f64;
    let alone = (times.variance() + over * over) * times.count() as f64;
    let bursts = path.timings.bursts.squares_over(times.least());
    if alone > 0.0 {
        (bursts / alone).max(1.0)
    } else {
        1.0
    }
}
