//! The two runs of an overlap.

/// One of two things: the first run's, the second run's.
pub type Both<T> = [T; 2];

/// Why a function has no counterpart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The other run has one of its name and another structure.
    Changed,
    /// The other run has none of its name with counters.
    Missing,
}
