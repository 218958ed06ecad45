//! Types for comparing two runs.

/// A value for the first run, and a value for the second run.
pub type Both<T> = [T; 2];

/// Why a function has no counterpart in the other run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The other run has a function of the same name with another graph.
    Changed,
    /// The other run has no function of the same name with counters.
    Missing,
}
