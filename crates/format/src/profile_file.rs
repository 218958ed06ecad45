//! Reads a profile, raw or sealed.
//!
//! Cost: linear in the file.

use crate::error::FormatError;
use crate::image::ImageMap;
use crate::profile::{Profile, ProfileHead};
use crate::raw::{RawHead, RawProfile};
use crate::sealed;
use crate::thread_sums::sum_raw;

/// Reads only the head of a profile, raw or sealed. The first 4096 bytes of the file are enough.
///
/// # Errors
/// If the bytes are not a profile or have another version, or if the head is damaged or cut off.
pub fn peek_profile(bytes: &[u8]) -> Result<ProfileHead, FormatError> {
    if bytes.starts_with(&sealed::SEALED_MAGIC) {
        sealed::read_head(bytes)
    } else {
        RawHead::read(bytes).map(|head| head.profile)
    }
}

/// Reads a profile, raw or sealed, of the image that `map` describes. [`Profile::damage`] lists the
/// damage after the head.
///
/// A raw profile of a kind with streams has no counters. It becomes a profile without functions,
/// and [`RawProfile::ring_words`] returns the words of the streams.
///
/// # Errors
/// If the bytes are not a profile, have another version, build, or kind, or if the head is damaged.
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
