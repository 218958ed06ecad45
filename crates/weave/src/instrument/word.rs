//! The words of paths in a stream.

/// The word of a function's path 0, minus the module's base. The word of path `p` is larger by `p`.
///
/// A word is 1 + the index that the path's counter would have in the image, so no word is 0. The
/// module's base in this unit, counters instead of bytes, is written into the code by the link
/// step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstWord(i64);

impl FirstWord {
    /// The first word of a function whose counters would begin at this offset in bytes.
    pub(crate) fn at(counters_offset: u64) -> Self {
        Self((counters_offset / 8 + 1).cast_signed())
    }

    /// The word of a path, minus the module's base.
    pub(super) fn of_path(self, path: i64) -> i64 {
        self.0.wrapping_add(path)
    }
}
