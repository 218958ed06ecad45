//! The patterns that describe a loop. Each has the share of executions or turns for which it holds.

use holloway_flow::PathId;
use holloway_format::Count;

/// A share in thousandths.
pub type Thousandths = u64;

/// If one path makes up this share of the turns, it describes the loop completely.
pub(super) const NEARLY_ALL: Thousandths = 950;
/// The share that counts as "most": of turns or of executions.
pub(super) const MOST: Thousandths = 800;
/// The smallest share at which a period is worth reporting.
pub(super) const OFTEN: Thousandths = 250;
/// From this many executions on, a common beginning or end of most executions is no accident.
pub(super) const MIN_EXECUTIONS: Count = Count(16);

/// A pattern in a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Nearly all turns take one path.
    OnePath {
        /// The path.
        path: PathId,
        /// Share of turns.
        share: Thousandths,
    },
    /// A sequence repeats.
    Period {
        /// The sequence.
        paths: Vec<PathId>,
        /// Share of turns that begin two repetitions of the sequence or of one of its rotations.
        share: Thousandths,
    },
    /// The first turns take other paths than most turns.
    FirstTurns {
        /// Number of first turns.
        turns: u32,
        /// Share of executions that begin this way.
        share: Thousandths,
    },
    /// Most executions end after the same number of turns.
    Trips {
        /// Number of turns.
        turns: u32,
        /// Share of executions that end after this number of turns.
        share: Thousandths,
    },
    /// Several paths that each mostly follow themselves.
    Steady {
        /// The paths.
        paths: Vec<PathId>,
        /// Share of turns that take these paths.
        share: Thousandths,
    },
}

/// The share of a part in a total, rounded down.
pub fn share(part: Count, total: Count) -> Thousandths {
    (u128::from(part) * 1000)
        .checked_div(u128::from(total))
        .map_or(0, |share| share as u64)
}

#[cfg(test)]
mod tests {
    use super::share;
    use holloway_format::Count;

    #[test]
    fn shares_are_rounded_down() {
        assert_eq!(share(Count(1), Count(3)), 333);
        assert_eq!(share(Count(1), Count::ZERO), 0);
    }
}
