//! Reads a profile, whichever form it has.
//!
//! Cost: linear in the file.

use crate::error::FormatError;
use crate::image::ImageMap;
use crate::profile::{Profile, ProfileHead};
use crate::raw::{RawHead, RawProfile};
use crate::sealed;
use crate::thread_sums::sum_raw;

/// Reads only the head of a profile, raw or sealed. Its first 4096 bytes are enough.
///
/// # Errors
/// If the bytes are no profile, of another version, cut off in the head, or damaged there.
pub fn peek_profile(bytes: &[u8]) -> Result<ProfileHead, FormatError> {
    if bytes.starts_with(&sealed::SEALED_MAGIC) {
        sealed::read_head(bytes)
    } else {
        RawHead::read(bytes).map(|head| head.profile)
    }
}

/// Reads a profile, raw or sealed, of the image that `map` describes. Streams count nothing, so
/// their profiles have a head and damage but no functions; [`RawProfile::ring_words`] has their
/// words.
///
/// # Errors
/// If the bytes are no profile, of another version, build, or kind, or damaged in the head. Other
/// damage is listed in the profile.
pub fn read_profile(bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
    if bytes.starts_with(&sealed::SEALED_MAGIC) {
        check_head(&sealed::read_head(bytes)?, map)?;
        return sealed::read(bytes, map);
    }
    check_head(&RawHead::read(bytes)?.profile, map)?;
    Ok(sum_raw(&RawProfile::parse(bytes)?, map))
}

fn check_head(head: &ProfileHead, map: &ImageMap) -> Result<(), FormatError> {
    if head.build_id != map.build_id {
        let image = head.image.clone();
        return Err(FormatError::BuildMismatch {
            profile: head.build_id,
            map: map.build_id,
            image,
        });
    }
    if head.kind != map.kind {
        return Err(FormatError::Head { offset: 12 });
    }
    Ok(())
}
