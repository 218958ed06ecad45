//! The numbers by which path maps encode edge kinds, outcomes, and dag edge kinds.

use crate::map::graph::{DagKind, EdgeKind, Outcome};

impl EdgeKind {
    /// The kind's number, below 4.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Pinned => 1,
            Self::Cut => 2,
            Self::Exit => 3,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::Plain, Self::Pinned, Self::Cut, Self::Exit]
            .get(usize::from(code))
            .copied()
    }
}

/// All outcomes, in the order of their codes. The value of `Case` is encoded separately.
const OUTCOMES: [Outcome; 17] = [
    Outcome::Jump,
    Outcome::True,
    Outcome::False,
    Outcome::Case(0),
    Outcome::Default,
    Outcome::Normal,
    Outcome::Unwind,
    Outcome::Indirect,
    Outcome::AsmGoto,
    Outcome::Return,
    Outcome::Noreturn,
    Outcome::Resume,
    Outcome::TailCall,
    Outcome::Again,
    Outcome::Split,
    Outcome::Left,
    Outcome::Returned,
];

impl Outcome {
    /// Index of the outcome in `OUTCOMES`, below 32. The value of `Case` is ignored.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Jump => 0,
            Self::True => 1,
            Self::False => 2,
            Self::Case(_) => 3,
            Self::Default => 4,
            Self::Normal => 5,
            Self::Unwind => 6,
            Self::Indirect => 7,
            Self::AsmGoto => 8,
            Self::Return => 9,
            Self::Noreturn => 10,
            Self::Resume => 11,
            Self::TailCall => 12,
            Self::Again => 13,
            Self::Split => 14,
            Self::Left => 15,
            Self::Returned => 16,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        OUTCOMES.get(usize::from(code)).copied()
    }
}

impl DagKind {
    /// The kind's number, below 4, and its edge or block.
    pub(crate) fn code(self) -> (u8, u32) {
        match self {
            Self::Edge(edge) => (0, edge),
            Self::Start(block) => (1, block),
            Self::Back(edge) => (2, edge),
            Self::Cut(edge) => (3, edge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_indices_in_the_list() {
        for (index, outcome) in OUTCOMES.iter().enumerate() {
            assert_eq!(usize::from(outcome.code()), index);
            assert_eq!(Outcome::from_code(outcome.code()), Some(*outcome));
        }
        assert_eq!(Outcome::from_code(17), None);
        assert_eq!(
            EdgeKind::from_code(EdgeKind::Exit.code()),
            Some(EdgeKind::Exit)
        );
        assert_eq!(EdgeKind::from_code(4), None);
    }
}
