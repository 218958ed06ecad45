//! The kind `--collect paths`: woven code counts acyclic paths, and the profile contains the
//! counts.

use holloway_format::{FormatError, ImageMap, Profile, read_profile};

use super::stream_kind::CounterKind;

/// The kind that counts paths.
pub(super) struct Paths;

/// The only value of [`Paths`].
pub(super) static PATHS: Paths = Paths;

impl CounterKind for Paths {
    fn read(&self, bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
        read_profile(bytes, map)
    }
}
