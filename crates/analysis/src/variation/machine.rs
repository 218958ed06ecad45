//! The cost of sharing cores, caches, and clock with other programs on the machine, and the paths
//! that vary more than sharing explains.
//!
//! Sharing slows even a loop whose turns are all alike. Its cost is a *loss*: time above the base,
//! relative to the base time. The other paths of the same run measure this cost. It is the loss
//! that a quarter of their time stays below. Paths are weighted by the base time of their samples,
//! so steady paths that take a quarter of the time are enough, and no single path decides. Sharing
//! may cost one path [twice](LOSS_RATIO) as much as another. The loss that sharing may explain is
//! at least [`MIN_LOSS`] and at most [`MAX_LOSS`], because sharing slows code but hardly halves its
//! speed. If no other path is available for the comparison, it is [`MAX_LOSS`].
//!
//! So sharing does not explain samples beyond twice the base time. Interruptions may. The
//! [`Evidence`] leaves out as many samples as interruptions surely explain. The loss of other paths
//! in such long samples shows how much more interruptions cost, by the same rule; if no other path
//! is available, this loss is [`MIN_LOSS`]. A path varies for certain if it loses more than either
//! cause explains.
//!
//! Cost: sorting the paths, and a binary search for each path.

use super::above::Evidence;
use super::path::{Certainty, Rank};
use holloway_format::Count;

/// The smallest loss that may be the path's own.
const MIN_LOSS: f64 = 0.05;
/// The largest loss that sharing may explain.
const MAX_LOSS: f64 = 0.5;
/// How many times more the machine may cost one path than another.
const LOSS_RATIO: f64 = 2.0;
/// The share of the other paths' time that stays below the machine's loss.
const QUARTER: f64 = 0.25;
/// Number of samples that a path needs to measure the machine.
const MIN_SAMPLES: Count = Count(20);
/// The base time of such a path must be at least this many windows of the clock.
const MIN_WINDOWS: u64 = 4;

/// The losses of the paths that can measure the machine.
pub(super) struct Machine {
    all: Losses,
    /// The losses in samples beyond twice the base time.
    long: Losses,
}

impl Machine {
    /// Computes the losses of paths from their evidence.
    pub(super) fn new<'a>(
        paths: impl Iterator<Item = (&'a Rank, Option<Evidence>)> + Clone,
    ) -> Machine {
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
        Machine {
            all: Losses::new(all),
            long: Losses::new(long),
        }
    }

    /// Decides whether a path varies, by its evidence and the other paths' losses. Also returns the
    /// certain part of its net variation, in cycles of the samples.
    pub(super) fn judge(&self, place: usize, evidence: Option<Evidence>) -> (Certainty, f64) {
        let Some(evidence) = evidence else {
            return (Certainty::FewSamples, 0.0);
        };
        let Evidence {
            base, sum, long, ..
        } = evidence;
        let explained = |losses: &Losses, unknown: f64| match losses.without(place) {
            Some(loss) => (LOSS_RATIO * loss).clamp(MIN_LOSS, MAX_LOSS),
            None => unknown,
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
    /// Smallest loss first: the loss, and the summed time of its path and all paths before it.
    sorted: Vec<(f64, f64)>,
    /// By path: its index in `sorted`, and its time.
    places: Vec<Option<(usize, f64)>>,
}

impl Losses {
    /// Sorts the paths' losses. The items are loss and time, or `None` if the path cannot measure
    /// the machine.
    fn new(paths: impl Iterator<Item = Option<(f64, f64)>>) -> Losses {
        let mut places = Vec::new();
        let mut losses = Vec::new();
        for (place, measured) in paths.enumerate() {
            places.push(None);
            losses.extend(measured.map(|(loss, time)| (loss, time, place)));
        }
        losses.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let mut sum = 0.0;
        let sorted = losses
            .into_iter()
            .enumerate()
            .map(|(order, (loss, time, place))| {
                places[place] = Some((order, time));
                sum += time;
                (loss, sum)
            });
        Losses {
            sorted: sorted.collect(),
            places,
        }
    }

    /// The loss that a quarter of the other paths' time stays below; `None` if there is no other
    /// path.
    fn without(&self, path: usize) -> Option<f64> {
        let (_, all) = self.sorted.last()?;
        let (order, own) = self.places[path].unwrap_or((usize::MAX, 0.0));
        if self.sorted.len() == 1 && order == 0 {
            return None;
        }
        let wanted = QUARTER * (all - own);
        let up_to = |time: f64| self.sorted.partition_point(|(_, sum)| *sum < time);
        let mut index = up_to(wanted);
        if index >= order {
            // The sums after this path include its own time.
            index = up_to(wanted + own).max(order + 1);
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

    /// Compares with a walk over the other paths, in order.
    #[test]
    fn a_quarter_of_the_other_paths_time_loses_less() {
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
                .filter(|(place, _)| *place != path);
            let mut others: Vec<_> = others.filter_map(|(_, measured)| *measured).collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let all: f64 = others.iter().map(|(_, time)| time).sum();
            let mut sum = 0.0;
            let naive = others.iter().find(|(_, time)| {
                sum += time;
                sum >= all / 4.0
            });
            assert_eq!(losses.without(path), naive.map(|(loss, _)| *loss), "{path}");
        }
        assert_eq!(Losses::new([Some((0.5, 1.0))].into_iter()).without(0), None);
        assert_eq!(
            Losses::new([None, Some((0.5, 1.0))].into_iter()).without(0),
            Some(0.5)
        );
    }
}
