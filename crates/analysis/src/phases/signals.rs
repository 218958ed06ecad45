//! Compares the signals of a detector with the exact transitions.
//!
//! A signal belongs to the last transition before it. The first signal of a transition *finds* it,
//! and its *latency* is the number of branches in between. Further signals of a transition are
//! *false alarms*. A transition without a signal is *missed*. The start of the run counts as a
//! transition that may be found but cannot be missed.
//!
//! Example: transitions at 100 and 200, and signals at 8, 50, 230, and 240. The signal at 8 belongs
//! to the start. The signal at 50 is a false alarm, the transition at 100 is missed, the transition
//! at 200 is found with latency 30, and the signal at 240 is a false alarm.

use holloway_format::Count;

/// How well a detector finds transitions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SignalMatch {
    /// Number of signals.
    pub signals: u64,
    /// Number of transitions that were missed.
    pub missed: u64,
    /// Number of false alarms.
    pub false_alarms: u64,
    /// The latencies of the transitions that were found, ascending.
    pub latencies: Vec<Count>,
}

impl SignalMatch {
    /// Compares signals with transitions. Both are numbers of branches, ascending.
    pub fn new(
        transitions: impl IntoIterator<Item = Count>,
        signals: impl IntoIterator<Item = Count>,
    ) -> SignalMatch {
        let mut result = SignalMatch::default();
        let mut signals = signals.into_iter().peekable();
        let mut start = None;
        for end in transitions.into_iter().map(Some).chain([None]) {
            let mut own = Vec::new();
            while let Some(signal) = signals.next_if(|signal| end.is_none_or(|end| *signal < end)) {
                own.push(signal);
            }
            result.signals += own.len() as u64;
            result.false_alarms += (own.len() as u64).saturating_sub(1);
            if let Some(start) = start {
                match own.first() {
                    Some(first) => result.latencies.push(*first - start),
                    None => result.missed += 1,
                }
            }
            start = end;
        }
        result.latencies.sort_unstable();
        result
    }

    /// Number of transitions that were found.
    pub fn found(&self) -> u64 {
        self.latencies.len() as u64
    }

    /// The median latency. Of an even number, the higher of the two in the middle.
    pub fn median_latency(&self) -> Option<Count> {
        self.latencies.get(self.latencies.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, SignalMatch};

    fn compare(transitions: &[u64], signals: &[u64]) -> SignalMatch {
        let counts = |numbers: &[u64]| numbers.iter().copied().map(Count).collect::<Vec<_>>();
        SignalMatch::new(counts(transitions), counts(signals))
    }

    #[test]
    fn signals_belong_to_the_transition_before_them() {
        let result = compare(&[100, 200], &[8, 50, 230, 240]);
        let expect = SignalMatch {
            signals: 4,
            missed: 1,
            false_alarms: 2,
            latencies: vec![Count(30)],
        };
        assert_eq!(result, expect);
        assert_eq!(result.median_latency(), Some(Count(30)));
    }

    #[test]
    fn a_detector_without_signals_misses_all() {
        let result = compare(&[100, 200], &[]);
        assert_eq!((result.missed, result.found()), (2, 0));
        assert_eq!(result.median_latency(), None);
        assert_eq!(compare(&[], &[5]).false_alarms, 0);
    }
}
