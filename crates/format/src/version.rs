//! The version that path maps, sealed profiles, and guides share.

use crate::error::FormatError;

/// Version of the fragment, the image map, the sealed profile and the guide.
pub const MAP_VERSION: u32 = 3;
/// The oldest version of them that is read: recorded runs outlive the build that recorded them.
const OLDEST_VERSION: u32 = 2;
/// The first version that says where frames may be left uncounted.
pub(crate) const FIRST_WITH_LEAKS: u32 = 3;

/// Refuses fragments, image maps, sealed profiles, and guides of a version that is not read.
pub(crate) fn check_version(found: u32) -> Result<(), FormatError> {
    let reads = OLDEST_VERSION..=MAP_VERSION;
    match reads.contains(&found) {
        true => Ok(()),
        false => Err(FormatError::Version { found, reads }),
    }
}
