//! How one count may differ from what ran.

use super::tree::Signs;

/// How a count may differ from what ran.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bound {
    /// It does not.
    #[default]
    Exact,
    /// As much ran, or more.
    AtLeast,
    /// As much ran, or less.
    AtMost,
    /// More or less may have run.
    Either,
}

impl Bound {
    /// Of a sum, or where either may hold.
    #[must_use]
    pub fn and(self, other: Bound) -> Bound {
        match (self, other) {
            (Bound::Exact, one) | (one, Bound::Exact) => one,
            (one, other) if one == other => one,
            _ => Bound::Either,
        }
    }

    /// The other way.
    pub(crate) fn opposite(self) -> Bound {
        match self {
            Bound::Exact => Bound::Exact,
            Bound::AtLeast => Bound::AtMost,
            Bound::AtMost => Bound::AtLeast,
            Bound::Either => Bound::Either,
        }
    }

    /// Of a count that has errors of these signs.
    pub(super) fn of_signs(signs: Signs) -> Bound {
        match (signs.too_low, signs.too_high) {
            (false, false) => Bound::Exact,
            (true, false) => Bound::AtLeast,
            (false, true) => Bound::AtMost,
            (true, true) => Bound::Either,
        }
    }

    /// Of all of these.
    pub fn of_all(all: impl IntoIterator<Item = Bound>) -> Bound {
        all.into_iter().fold(Bound::Exact, Bound::and)
    }
}
