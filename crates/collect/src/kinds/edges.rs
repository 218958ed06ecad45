//! The kind `--collect edges`: woven code counts edges, and the profile contains the counts. In
//! functions whose edges cannot be counted, woven code counts paths instead. The path map contains
//! the kind of counters for each function.

use holloway_format::{FormatError, ImageMap, Profile, read_profile};

use super::stream_kind::CounterKind;

/// The kind that counts edges.
pub(super) struct Edges;

/// The only value of [`Edges`].
pub(super) static EDGES: Edges = Edges;

impl CounterKind for Edges {
    fn read(&self, bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
        read_profile(bytes, map)
    }
}
