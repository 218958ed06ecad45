//! The direction in which a count may differ from the real number of executions.

use super::tree::Signs;

/// How a count may differ from the real number of executions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bound {
    /// The count is exact.
    #[default]
    Exact,
    /// The real number is the count or higher.
    AtLeast,
    /// The real number is the count or lower.
    AtMost,
    /// The real number may be higher or lower.
    Either,
}

impl Bound {
    /// Combines the bounds of two counts into the bound of their sum.
    #[must_use]
    pub fn and(self, other: Bound) -> Bound {
        match (self, other) {
            (Bound::Exact, bound) | (bound, Bound::Exact) => bound,
            (bound, other) if bound == other => bound,
            _ => Bound::Either,
        }
    }

    /// The bound of the negated count.
    pub(crate) fn opposite(self) -> Bound {
        match self {
            Bound::Exact => Bound::Exact,
            Bound::AtLeast => Bound::AtMost,
            Bound::AtMost => Bound::AtLeast,
            Bound::Either => Bound::Either,
        }
    }

    /// The bound of a count whose errors have these signs.
    pub(super) fn of_signs(signs: Signs) -> Bound {
        match (signs.too_low, signs.too_high) {
            (false, false) => Bound::Exact,
            (true, false) => Bound::AtLeast,
            (false, true) => Bound::AtMost,
            (true, true) => Bound::Either,
        }
    }

    /// The bound of a sum of counts with these bounds.
    pub fn of_all(all: impl IntoIterator<Item = Bound>) -> Bound {
        all.into_iter().fold(Bound::Exact, Bound::and)
    }
}
