//! Reads a profile, raw or sealed.
//!
//! Cost: linear in the file.

use std::ops::Range;

use crate::counter_map::{CounterMap, read_used};
use crate::damage::{Damage, DamagedFile};
use crate::error::FormatError;
use crate::function_index::FunctionIndex;
use crate::function_record::lost_function;
use crate::image::{ImageMap, ReadRange};
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
    let lost = |index, offset, fact| lost_function(map, index, offset, fact);
    Ok(sum_raw(
        &RawProfile::parse(bytes)?,
        &CounterMap::of(map),
        lost,
    ))
}

/// Reads an undamaged raw profile of counters with only the parts of the path map that it needs.
/// `read` gives the bytes of the path map.
///
/// Gives `None` if the profile, or a part of the map that is read, is damaged. [`read_profile`]
/// then lists the damage.
pub fn read_counters(bytes: &[u8], read: &mut ReadRange<'_>) -> Option<Profile> {
    let raw = RawProfile::parse(bytes).ok()?;
    let head = &raw.header().profile;
    if head.kind.is_stream() {
        return None;
    }
    let is_used = |range: Range<u64>| raw.counts_in(range);
    let map = read_used(read, &head.build_id, is_used).ok()?;
    let lost = |_: FunctionIndex, offset, fact| Damage::of_file(DamagedFile::Profile, offset, fact);
    let profile = sum_raw(&raw, &map, lost);
    profile.damage.is_empty().then_some(profile)
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
