//! A list that may be longer than the screen.

use std::ops::Range;

/// The position in a list.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Cursor {
    /// The index of the chosen item.
    pub(super) index: usize,
}

/// A movement in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Items of a page.
const PAGE: usize = 10;

impl Cursor {
    /// Moves in a list of `length` items.
    pub(super) fn go(&mut self, to: Move, length: usize) {
        let last = length.saturating_sub(1);
        self.index = match to {
            Move::Up => self.index.saturating_sub(1),
            Move::Down => self.index + 1,
            Move::PageUp => self.index.saturating_sub(PAGE),
            Move::PageDown => self.index + PAGE,
            Move::First => 0,
            Move::Last => last,
        };
        self.index = self.index.min(last);
    }
}

/// The items that a screen of `height` rows shows, with the item `index` near the middle.
pub(super) fn visible(index: usize, length: usize, height: usize) -> Range<usize> {
    let latest = length.saturating_sub(height);
    let start = index.saturating_sub(height / 2).min(latest);
    start..(start + height).min(length)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Move, visible};

    #[test]
    fn the_cursor_stays_in_the_list() {
        let mut cursor = Cursor::default();
        let mut go = |to, length| {
            cursor.go(to, length);
            cursor.index
        };
        let moves = [
            Move::Up,
            Move::Down,
            Move::PageDown,
            Move::Down,
            Move::Up,
            Move::First,
        ];
        assert_eq!(moves.map(|to| go(to, 5)), [0, 1, 4, 4, 3, 0]);
        assert_eq!([Move::Last, Move::PageUp].map(|to| go(to, 30)), [29, 19]);
        // The list became shorter.
        assert_eq!(go(Move::Down, 3), 2);
        assert_eq!(go(Move::Down, 0), 0);
    }

    #[test]
    fn the_chosen_item_is_visible() {
        assert_eq!(visible(0, 3, 10), 0..3);
        assert_eq!(visible(0, 30, 10), 0..10);
        assert_eq!(visible(15, 30, 10), 10..20);
        assert_eq!(visible(29, 30, 10), 20..30);
        assert_eq!(visible(0, 0, 10), 0..0);
        assert_eq!(visible(5, 30, 1), 5..6);
    }
}
