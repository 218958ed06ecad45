//! The version that path maps, sealed profiles, and guides share.

use crate::error::FormatError;

/// Version of fragments, image maps, sealed profiles, and guides.
pub const MAP_VERSION: u32 = 5;
/// The oldest version that is still read, because users keep runs that older versions recorded.
const OLDEST_VERSION: u32 = 2;
/// The first version that records leaks: blocks where frames may be left uncounted.
pub(crate) const FIRST_WITH_LEAKS: u32 = 3;

/// Checks the version of a fragment, an image map, a sealed profile, or a guide.
///
/// # Errors
/// If this version of holloway does not read the file's version.
pub(crate) fn check_version(version: u32) -> Result<(), FormatError> {
    let reads = OLDEST_VERSION..=MAP_VERSION;
    match reads.contains(&version) {
        true => Ok(()),
        false => Err(FormatError::Version {
            found: version,
            reads,
        }),
    }
}
