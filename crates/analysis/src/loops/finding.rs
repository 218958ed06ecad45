//! What can stand out in a loop, with the share of its executions or turns that it holds for.

/// Shares are in thousandths.
pub type Thousandths = u64;

/// A path that holds for so many turns is all there is to know of a loop.
pub(super) const ALL: Thousandths = 950;
/// What holds for most turns.
pub(super) const MOST: Thousandths = 800;
/// A period worth a word.
pub(super) const OFTEN: Thousandths = 250;
/// Executions from which on it is no accident how most of them begin, or end.
pub(super) const ENOUGH: u64 = 16;

/// What stands out in a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// One path is nearly all turns.
    OnePath {
        /// The path.
        path: u64,
        /// Share of turns.
        share: Thousandths,
    },
    /// A sequence follows itself.
    Period {
        /// The sequence.
        paths: Vec<u64>,
        /// Share of turns that begin with it, or a rotation that starts at this loop, twice.
        share: Thousandths,
    },
    /// The first turns go another way than most.
    FirstTurns {
        /// How many.
        turns: u32,
        /// Share of executions that begin like that.
        share: Thousandths,
    },
    /// The loop ends after the same number of turns.
    Trips {
        /// How many.
        turns: u32,
        /// Share of executions.
        share: Thousandths,
    },
    /// Several paths, each of which mostly follows itself.
    Steady {
        /// The paths.
        paths: Vec<u64>,
        /// Share of turns.
        share: Thousandths,
    },
}

/// Rounded down.
pub fn share(part: u64, of: u64) -> Thousandths {
    (u128::from(part) * 1000)
        .checked_div(u128::from(of))
        .map_or(0, |share| share as u64)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_rounded_down() {
        assert_eq!(share(1, 3), 333);
        assert_eq!(share(1, 0), 0);
    }
}
