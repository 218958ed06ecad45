//! `--collect paths`: counters of acyclic paths. The profile holds everything.

use holloway_format::{FormatError, ImageMap, Profile, read_profile};

use super::stream_kind::CounterKind;

/// Counts of paths.
pub(super) struct Paths;

/// The kind.
pub(super) static PATHS: Paths = Paths;

impl CounterKind for Paths {
    fn read(&self, bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
        read_profile(bytes, map)
    }
}
