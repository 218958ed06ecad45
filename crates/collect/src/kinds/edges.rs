//! `--collect edges`: counters of edges, or of paths in functions whose edges cannot be counted.
//! The profile holds everything, and the map tells which function has which counters.

use holloway_format::{FormatError, ImageMap, Profile, read_profile};

use super::stream_kind::CounterKind;

/// Counts of edges.
pub(super) struct Edges;

/// The kind.
pub(super) static EDGES: Edges = Edges;

impl CounterKind for Edges {
    fn read(&self, bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
        read_profile(bytes, map)
    }
}
