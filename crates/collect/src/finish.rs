//! Finishes a run's directory after the run, so that it can be read without the program.
//!
//! [`finish`] does the following:
//!
//! - It stores the path map of each image as `<build id>.hwm`. It reads the map from the program's
//!   file. If the program no longer exists, as with doctests, it uses the map that the link step
//!   recorded.
//! - It replaces the raw profile of each ended process by a sealed profile, which is compact and
//!   has checksums.
//! - It analyzes streams (loops, trace, times) that no collector took, and stores the results next
//!   to the profile.
//!
//! If sealing would lose information, because the profile is damaged or has no path map, the raw
//! profile stays unchanged.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use holloway_format::raw::RawHead;
use holloway_format::{ImageMap, ProfileHead, peek_profile, write_sealed};

use crate::error::StoreError;
use crate::files::{profiles, read_regular, write_atomically};
use crate::kinds::{HostKind, host_kind};
use crate::path_map::{map_of_image, store_map};
use crate::process::{has_ended, is_collected};
use crate::process_streams::ProcessStreams;
use crate::settings::Settings;

/// The result of finishing a run's directory.
#[derive(Debug, Default)]
pub struct FinishSummary {
    /// The number of profiles in the directory.
    pub profiles: usize,
    /// The first failure to write a file. The raw profiles still exist then. They can be reported
    /// as long as the programs exist, which contain the path maps.
    pub write_error: Option<StoreError>,
}

/// Finishes a run's directory. `linked` is the directory where link steps recorded path maps.
///
/// A profile that stays raw because of damage or a missing path map is no error. The report lists
/// these profiles.
///
/// # Errors
/// If the directory cannot be read.
pub fn finish(directory: &Path, linked: Option<&Path>) -> Result<FinishSummary, StoreError> {
    let mut summary = FinishSummary::default();
    let mut maps: HashMap<[u8; 16], Option<Arc<ImageMap>>> = HashMap::new();
    for path in profiles(directory)? {
        summary.profiles += 1;
        let Ok(bytes) = read_regular(&path) else {
            continue;
        };
        let Ok(head) = peek_profile(&bytes) else {
            continue;
        };
        let map = match maps.entry(head.build_id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let map = store_map(directory, &head, linked).unwrap_or_else(|error| {
                    summary.write_error.get_or_insert(error);
                    map_of_image(&head).ok().map(|(map, _)| map)
                });
                entry.insert(map.map(Arc::new))
            }
        };
        let Some(map) = map else {
            continue;
        };
        if !head.sealed
            && RawHead::read(&bytes).is_ok_and(|head| has_ended(&head) && !is_collected(&head))
            // The profile is read again, because the process may have counted between the first
            // read and its end.
            && let Ok(bytes) = read_regular(&path)
        {
            let sealed = seal(&path, &head, &bytes, map);
            summary.write_error = summary.write_error.or(sealed.err());
        }
    }
    Ok(summary)
}

/// Replaces a raw profile by its sealed form, unless that would lose information. Analyzes the
/// streams of the profile.
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
