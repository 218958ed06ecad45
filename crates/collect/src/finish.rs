//! After a run: stores what later readers of the run's directory need.
//!
//! - The path map of each image, as `<build id>.hwm`. It comes from the program's file, or from the
//!   links for programs that are gone by now, like doctests.
//! - Each profile of an ended process in sealed form, compact and checksummed, in place of the raw
//!   mapping.
//! - Streams (loops, trace, times) that no collector took: they are analyzed here, and the result
//!   is stored beside the profile.
//!
//! A profile that cannot be sealed without loss (because of damage, or without a map) stays as it
//! is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use holloway_format::raw::RawHead;
use holloway_format::{ImageMap, ProfileHead, peek_profile, write_sealed};

use crate::error::StoreError;
use crate::files::{profiles, read_regular, write_atomically};
use crate::kinds::{HostKind, host_kind};
use crate::path_map::{keep_map, map_of_image};
use crate::process::{has_ended, is_collected};
use crate::process_streams::ProcessStreams;
use crate::settings::Settings;

/// The result of finishing a run's directory.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of profiles in the directory.
    pub profiles: usize,
    /// The first failure to write something. What the programs wrote is there all the same, and can
    /// be reported as long as the programs are.
    pub unfinished: Option<StoreError>,
}

/// Finishes a run's directory. `linked` is a directory of path maps that the links left.
///
/// Profiles that stay as they are, for damage or without a map, are no error: the report names
/// them.
///
/// # Errors
/// The directory cannot be read.
pub fn finish(directory: &Path, linked: Option<&Path>) -> Result<Outcome, StoreError> {
    let mut outcome = Outcome::default();
    let mut maps: HashMap<[u8; 16], Option<Arc<ImageMap>>> = HashMap::new();
    for path in profiles(directory)? {
        outcome.profiles += 1;
        let Ok(bytes) = read_regular(&path) else {
            continue;
        };
        let Ok(head) = peek_profile(&bytes) else {
            continue;
        };
        let map = match maps.entry(head.build_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let kept = keep_map(directory, &head, linked);
                let map = kept.unwrap_or_else(|error| {
                    outcome.unfinished.get_or_insert(error);
                    map_of_image(&head).ok().map(|(map, _)| map)
                });
                new.insert(map.map(Arc::new))
            }
        };
        let Some(map) = map else {
            continue;
        };
        if !head.sealed
            && RawHead::read(&bytes).is_ok_and(|head| has_ended(&head) && !is_collected(&head))
            // Once more: it may have counted between the reading and its end.
            && let Ok(bytes) = read_regular(&path)
        {
            let sealed = seal(&path, &head, &bytes, map);
            outcome.unfinished = outcome.unfinished.or(sealed.err());
        }
    }
    Ok(outcome)
}

/// Replaces a raw profile by its sealed form, if nothing is lost by that. Streams are analyzed.
fn seal(
    path: &Path,
    head: &ProfileHead,
    raw: &[u8],
    map: &Arc<ImageMap>,
) -> Result<(), StoreError> {
    if !map.damage.is_empty() {
        return Ok(());
    }
    match host_kind(map.kind) {
        HostKind::Streams(_) => ProcessStreams::resume(path, head, map, Settings::default()).seal(),
        HostKind::Counters(counters) => match counters.read(raw, map) {
            Ok(profile) if profile.damage.is_empty() => {
                write_atomically(path, &write_sealed(&profile))
            }
            Ok(_) | Err(_) => Ok(()),
        },
    }
}
