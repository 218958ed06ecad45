//! Decides which paths vary by more than machine noise. *Machine noise* is the variation that a
//! path owes to other programs, which use the same cores, caches, and clock, and to interruptions.
//!
//! Sharing the machine slows even a loop whose turns are all alike. A path's *loss* is its time
//! above the base time, relative to the base time. The loss that sharing explains is estimated from
//! the other paths of the run: it is the 25 % quantile of their losses, weighted by the base time
//! of their samples. So steady paths that take a quarter of the time are enough for an estimate.
//! Sharing may slow one path [twice](LOSS_RATIO) as much as another, so the estimate is doubled.
//! The result is clamped to [`MIN_LOSS`] and [`MAX_LOSS`], because sharing hardly halves the speed
//! of code. If there is no other path, the estimate is [`MAX_LOSS`].
//!
//! Sharing thus does not explain time beyond twice the base time, but interruptions may. The
//! [`Evidence`] already leaves out as many samples as interruptions probably hit. The same quantile
//! of the other paths' losses, counting only time beyond twice the base time, estimates what the
//! remaining interruptions cost. If there is no other path, this estimate is [`MIN_LOSS`].
//!
//! A path's net variation is certain if it exceeds the first estimate, or if its part beyond twice
//! the base time exceeds the second.
//!
//! Cost: sorting the paths, and a binary search for each path.

use super::above::Evidence;
use super::ranked_path::{Certainty, RankedPath};
use holloway_format::Count;

/// A loss up to this one is always attributed to the machine.
const MIN_LOSS: f64 = 0.05;
/// The largest loss that sharing may explain.
const MAX_LOSS: f64 = 0.5;
/// Machine noise may slow one path this many times as much as another.
const LOSS_RATIO: f64 = 2.0;
/// The quantile of the other paths' losses that estimates machine noise.
const LOSS_QUANTILE: f64 = 0.25;
/// A path with fewer samples does not contribute to the estimate of machine noise.
const MIN_SAMPLES: Count = Count(20);
/// A path contributes only if its base time is at least this many windows long. A window is
/// [`RankedPath::window`].
const MIN_WINDOWS: u64 = 4;

/// The losses of the paths that contribute to the estimate of machine noise.
pub(super) struct MachineNoise {
    /// The losses in all samples.
    all: Losses,
    /// The losses by time beyond twice the base time.
    long: Losses,
}

impl MachineNoise {
    /// Collects the losses of paths and of their evidence.
    pub(super) fn new<'a>(
        paths: impl Iterator<Item = (&'a RankedPath, Option<Evidence>)> + Clone,
    ) -> MachineNoise {
        let measured = paths.map(|(path, evidence)| {
            let is_long = path.base >= path.window.saturating_mul(MIN_WINDOWS);
            let evidence = evidence.filter(|_| is_long && path.samples() >= MIN_SAMPLES)?;
            let time = path.base.to_f64() * path.samples().to_f64();
            Some((path.loss, evidence.long / evidence.base, time))
        });
        let all = measured
            .clone()
            .map(|measured| measured.map(|(loss, _, time)| (loss, time)));
        let long = measured.map(|measured| measured.map(|(_, loss, time)| (loss, time)));
        MachineNoise {
            all: Losses::new(all),
            long: Losses::new(long),
        }
    }

    /// Decides whether a path's net variation is certain. Also returns the certain part, in cycles
    /// of the samples.
    pub(super) fn certainty(&self, index: usize, evidence: Option<Evidence>) -> (Certainty, f64) {
        let Some(evidence) = evidence else {
            return (Certainty::FewSamples, 0.0);
        };
        let Evidence {
            base, sum, long, ..
        } = evidence;
        let explained = |losses: &Losses, default: f64| match losses.quantile_without(index) {
            Some(loss) => (LOSS_RATIO * loss).clamp(MIN_LOSS, MAX_LOSS),
            None => default,
        };
        let shared = explained(&self.all, MAX_LOSS);
        let interrupted = explained(&self.long, MIN_LOSS);
        let certain = (sum - shared * base).max(long - interrupted * base);
        let certainty = if certain > 0.0 {
            Certainty::Certain
        } else if sum <= MIN_LOSS * base && sum + evidence.left_out > MIN_LOSS * base {
            Certainty::FewBursts
        } else {
            Certainty::Machine
        };
        (certainty, certain.max(0.0))
    }
}

/// The losses of paths, each weighted by a time.
struct Losses {
    /// Smallest loss first: the loss, and the running total of the time up to and including its
    /// path.
    sorted: Vec<(f64, f64)>,
    /// By path: its index in `sorted`, and its time.
    by_path: Vec<Option<(usize, f64)>>,
}

impl Losses {
    /// Sorts the paths' losses. The items are loss and time, or `None` if the path does not
    /// contribute.
    fn new(paths: impl Iterator<Item = Option<(f64, f64)>>) -> Losses {
        let mut by_path = Vec::new();
        let mut losses = Vec::new();
        for (index, measured) in paths.enumerate() {
            by_path.push(None);
            losses.extend(measured.map(|(loss, time)| (loss, time, index)));
        }
        losses.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let mut sum = 0.0;
        let sorted = losses
            .into_iter()
            .enumerate()
            .map(|(order, (loss, time, index))| {
                by_path[index] = Some((order, time));
                sum += time;
                (loss, sum)
            });
        Losses {
            sorted: sorted.collect(),
            by_path,
        }
    }

    /// The 25 % quantile of the other paths' losses; `None` if there is no other path.
    fn quantile_without(&self, path: usize) -> Option<f64> {
        let (_, all) = self.sorted.last()?;
        let (order, own_time) = self.by_path[path].unwrap_or((usize::MAX, 0.0));
        if self.sorted.len() == 1 && order == 0 {
            return None;
        }
        let wanted = LOSS_QUANTILE * (all - own_time);
        let up_to = |time: f64| self.sorted.partition_point(|(_, sum)| *sum < time);
        let mut index = up_to(wanted);
        if index >= order {
            // The running totals from this path on include its own time.
            index = up_to(wanted + own_time).max(order + 1);
        }
        self.sorted
            .get(index)
            .or(self.sorted.last())
            .map(|(loss, _)| *loss)
    }
}

#[cfg(test)]
mod tests {
    use super::Losses;

    /// Compares the binary search with a linear search through the other paths.
    #[test]
    fn finds_the_quantile_of_the_other_paths_losses() {
        let measured = [
            Some((0.3, 10.0)),
            None,
            Some((0.1, 4.0)),
            Some((0.2, 1.0)),
            Some((2.0, 30.0)),
            Some((0.1, 2.0)),
        ];
        let losses = Losses::new(measured.into_iter());
        for path in 0..measured.len() {
            let others = measured
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != path);
            let mut others: Vec<_> = others.filter_map(|(_, measured)| *measured).collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let all: f64 = others.iter().map(|(_, time)| time).sum();
            let mut sum = 0.0;
            let naive = others.iter().find(|(_, time)| {
                sum += time;
                sum >= all / 4.0
            });
            assert_eq!(
                losses.quantile_without(path),
                naive.map(|(loss, _)| *loss),
                "{path}"
            );
        }
        assert_eq!(
            Losses::new([Some((0.5, 1.0))].into_iter()).quantile_without(0),
            None
        );
        assert_eq!(
            Losses::new([None, Some((0.5, 1.0))].into_iter()).quantile_without(0),
            Some(0.5)
        );
    }
}
