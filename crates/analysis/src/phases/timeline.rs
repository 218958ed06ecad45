//! The timeline of important branches (Merten et al. 1999, figure 1).
//!
//! In every period of the run, a sample of adjacent branches is taken. The timeline marks the
//! branches that executed often within the sample. The paper's samples have 10,000 of every
//! 2,000,000 branches, and mark branches with at least 40 executions.
//!
//! Cost: an increment for each branch of a sample, and a step for each slice elsewhere.

use holloway_format::Count;

use crate::branch_stream::{BranchEvent, BranchId};

/// The samples of a timeline. The defaults are the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Number of branches from the start of a sample to the start of the next.
    pub period: u64,
    /// Number of branches of a sample.
    pub length: u64,
    /// Executions that mark a branch.
    pub threshold: u32,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            period: 2_000_000,
            length: 10_000,
            threshold: 40,
        }
    }
}

/// Number of samples that a short run gets, if its branches suffice.
const SHORT_RUN_SAMPLES: u64 = 60;

impl Sampling {
    /// These samples, with at least one branch, and none longer than the period.
    #[must_use]
    pub fn checked(self) -> Sampling {
        let period = self.period.max(1);
        Sampling {
            period,
            length: self.length.clamp(1, period),
            ..self
        }
    }

    /// These samples, with a shorter period if the run has so few branches that there would be less
    /// than 60 samples.
    #[must_use]
    pub fn fitted_to(self, branches: u64) -> Sampling {
        let shortest = self.length.min(self.period);
        Sampling {
            period: (branches / SHORT_RUN_SAMPLES).clamp(shortest, self.period),
            ..self
        }
    }
}

/// A sample of the timeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineSample {
    /// Number of branches before the sample.
    pub start: Count,
    /// The marked branches, by address.
    pub branches: Vec<BranchId>,
}

/// Takes the samples of a timeline.
#[derive(Clone, Debug)]
pub struct TimelineSampler {
    sampling: Sampling,
    position: u64,
    /// By branch: its executions in the current sample.
    executions: Vec<u32>,
    samples: Vec<TimelineSample>,
}

impl TimelineSampler {
    /// A sampler for a stream with this number of different branches.
    pub fn new(sampling: Sampling, sites: usize) -> TimelineSampler {
        TimelineSampler {
            sampling: sampling.checked(),
            position: 0,
            executions: vec![0; sites],
            samples: Vec::new(),
        }
    }

    /// Feeds adjacent branches.
    pub fn feed(&mut self, mut events: &[BranchEvent]) {
        let Sampling { period, length, .. } = self.sampling;
        while !events.is_empty() {
            let offset = self.position % period;
            let is_sampled = offset < length;
            let end = if is_sampled { length } else { period };
            let count = (end - offset).min(events.len() as u64) as usize;
            let (now, later) = events.split_at(count);
            if is_sampled {
                for event in now {
                    let executions = &mut self.executions[event.branch.index()];
                    *executions = executions.saturating_add(1);
                }
            }
            self.position += count as u64;
            if is_sampled && offset + count as u64 == length {
                self.end_sample();
            }
            events = later;
        }
    }

    /// Ends a sample after its last branch.
    fn end_sample(&mut self) {
        let threshold = self.sampling.threshold;
        let marked = (0..).map(BranchId).zip(&self.executions);
        let marked = marked.filter(|&(_, &executions)| executions >= threshold.max(1));
        self.samples.push(TimelineSample {
            start: Count(self.position - self.sampling.length),
            branches: marked.map(|(branch, _)| branch).collect(),
        });
        self.executions.fill(0);
    }

    /// The complete samples. A sample that the end of the run cuts off is left out.
    pub fn finish(self) -> Vec<TimelineSample> {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::{BranchEvent, BranchId, Count, Sampling, TimelineSample, TimelineSampler};
    use crate::branch_stream::Direction;

    fn events(branches: impl IntoIterator<Item = u32>) -> Vec<BranchEvent> {
        let event = |branch| BranchEvent {
            branch: BranchId(branch),
            target: 0,
            direction: Direction::Taken,
            instructions: 1,
        };
        branches.into_iter().map(event).collect()
    }

    /// Samples of 4 of every 10 branches, however the stream is divided into slices.
    #[test]
    fn samples_mark_frequent_branches() {
        let sampling = Sampling {
            period: 10,
            length: 4,
            threshold: 2,
        };
        let stream = events([
            0, 1, 0, 2, 2, 2, 2, 2, 2, 2, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1,
        ]);
        let expect = [
            TimelineSample {
                start: Count(0),
                branches: vec![BranchId(0)],
            },
            TimelineSample {
                start: Count(10),
                branches: vec![BranchId(1), BranchId(2)],
            },
        ];
        for slice in 1..=stream.len() {
            let mut sampler = TimelineSampler::new(sampling, 3);
            stream.chunks(slice).for_each(|events| sampler.feed(events));
            assert_eq!(sampler.finish(), expect, "{slice}");
        }
    }

    #[test]
    fn short_runs_have_shorter_periods() {
        assert_eq!(
            Sampling::default().fitted_to(1_000_000_000),
            Sampling::default()
        );
        assert_eq!(Sampling::default().fitted_to(6_000_000).period, 100_000);
        assert_eq!(Sampling::default().fitted_to(1000).period, 10_000);
    }
}
