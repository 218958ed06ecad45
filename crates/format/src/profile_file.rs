//! Reads a profile, raw or sealed.
//!
//! Cost: linear in the file.

use crate::counter_map::{CounterMap, read_used};
use crate::damage::{Damage, DamagedFile};
use crate::error::FormatError;
use crate::function_index::FunctionIndex;
use crate::function_record::lost_function;
use crate::image::{ImageMap, ReadRange};
use crate::packed_map::packed_counters;
use crate::profile::{Profile, ProfileHead};
use crate::raw::{RawHead, RawProfile, SparseBytes};
use crate::sealed;
use crate::thread_sums::{Sums, sum_raw};

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
    let raw = RawProfile::parse(bytes)?;
    Ok(sum_raw(Sums::new(&raw), &CounterMap::of(map), lost))
}

/// Where [`read_counters`] finds the places of the counters.
pub enum CounterPlaces<'p, 'r> {
    /// In the path map of a program. This reads the bytes of the map.
    Map(&'p mut ReadRange<'r>),
    /// In the table of counters at the end of a compressed path map. This reads the bytes of the
    /// compressed map, whose length is the number.
    Packed(&'p mut ReadRange<'r>, u64),
}

/// Reads an undamaged raw profile of counters with only the parts of the path map that it needs.
///
/// Gives `None` if the profile, or a part of the map that is read, is damaged or missing.
/// [`read_profile`] then lists the damage.
pub fn read_counters(file: &SparseBytes, places: CounterPlaces<'_, '_>) -> Option<Profile> {
    let raw = RawProfile::parse_sparse(file).ok()?;
    let head = &raw.header().profile;
    if head.kind.is_stream() {
        return None;
    }
    let sums = Sums::new(&raw);
    let map = match places {
        CounterPlaces::Map(read) => {
            read_used(read, &head.build_id, |range| sums.counts_in(range)).ok()?
        }
        CounterPlaces::Packed(read, length) => {
            packed_counters(read, length, &head.build_id).ok()??
        }
    };
    let lost = |_: FunctionIndex, offset, fact| Damage::of_file(DamagedFile::Profile, offset, fact);
    let profile = sum_raw(sums, &map, lost);
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
