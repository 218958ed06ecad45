//! The words that paths have in a stream.

/// The word of a function's path 0, less the module's base. The word of path `p` is larger by `p`.
///
/// A word is 1 + the number of the path's counter in the image, so no word is 0. The link step
/// writes the module's base into the code, in units of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstWord(i64);

impl FirstWord {
    /// The word of path 0 of a function whose counters begin at this offset in bytes.
    pub(crate) fn at(counters_offset: u64) -> Self {
        Self((counters_offset / 8 + 1).cast_signed())
    }

    /// The word of a path, less the module's base.
    pub(super) fn of_path(self, path: i64) -> i64 {
        self.0.wrapping_add(path)
    }
}
