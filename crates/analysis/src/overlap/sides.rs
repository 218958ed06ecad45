//! Types for the two runs of an overlap.

/// A value for each of two runs: the first run's, then the second run's.
pub type Both<T> = [T; 2];

/// Why a function has no counterpart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The other run has a function of the same name with another graph.
    Changed,
    /// The other run has no function of the same name with counters.
    Missing,
}
