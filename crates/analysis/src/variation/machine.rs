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
//! remaining interruptions cost. These losses are relative to the exposure: an interruption may
//! also hit the probes of a sample. If there is no other path, this estimate is [`MIN_LOSS`].
//!
//! A path's net variation is certain if it exceeds the first estimate for the base time and the
//! second for the probes, or if its part beyond twice the base time exceeds the second.
//!
//! Cost: sorting the paths, and a binary search for each path.

use super::above::Evidence;
use super::others::Others;
use super::ranked_path::{Certainty, RankedPath};
use holloway_format::Count;

/// A loss up to this one is always attributed to the machine.
const MIN_LOSS: f64 = 0.05;
/// The largest loss that sharing may explain.
const MAX_LOSS: f64 = 0.5;
/// Machine noise may slow one path this many times as much as another.
const LOSS_RATIO: f64 = 2.0;
/// A path with fewer samples does not contribute to the estimate of machine noise.
const MIN_SAMPLES: Count = Count(20);
/// A path contributes only if its base time is at least this many windows long. A window is
/// [`RankedPath::window`].
const MIN_WINDOWS: u64 = 4;

/// The losses of the paths that contribute to the estimate of machine noise.
pub(super) struct MachineNoise {
    /// The losses in all samples.
    all: Others,
    /// The losses by time beyond twice the base time.
    long: Others,
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
            Some((path.loss, evidence.long / evidence.exposure, time))
        });
        let all = measured
            .clone()
            .map(|measured| measured.map(|(loss, _, time)| (loss, time)));
        let long = measured.map(|measured| measured.map(|(_, loss, time)| (loss, time)));
        MachineNoise {
            all: Others::new(all),
            long: Others::new(long),
        }
    }

    /// Decides whether a path's net variation is certain. Also returns the certain part, in cycles
    /// of the samples.
    pub(super) fn certainty(&self, index: usize, evidence: Option<Evidence>) -> (Certainty, f64) {
        let Some(evidence) = evidence else {
            return (Certainty::FewSamples, 0.0);
        };
        let Evidence {
            base,
            exposure,
            sum,
            long,
            ..
        } = evidence;
        let explained = |losses: &Others, default: f64| match losses.quantile_without(index) {
            Some(loss) => (LOSS_RATIO * loss).clamp(MIN_LOSS, MAX_LOSS),
            None => default,
        };
        let shared = explained(&self.all, MAX_LOSS);
        let interrupted = explained(&self.long, MIN_LOSS);
        let by_sharing = shared * base + interrupted * (exposure - base);
        let certain = (sum - by_sharing).max(long - interrupted * exposure);
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
