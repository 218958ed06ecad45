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
use std::path::Path;
use std::sync::Arc;

use holloway_format::raw::RawHead;
use holloway_format::{ImageMap, Profile, ProfileHead, read_counters, write_sealed};

use crate::error::StoreError;
use crate::files::{profile_head, profiles, read_beginning, read_sparse, write_atomically};
use crate::image::MapSection;
use crate::kinds::{HostKind, host_kind};
use crate::path_map::{keep_map, kept_map};
use crate::process::{has_ended, is_collected};
use crate::process_streams::ProcessStreams;
use crate::settings::{MapDirectories, Settings};

/// The result of finishing a run's directory.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of profiles in the directory.
    pub profiles: usize,
    /// The first failure to write something. What the programs wrote is there all the same, and can
    /// be reported as long as the programs are.
    pub unfinished: Option<StoreError>,
}

/// Finishes a run's directory.
///
/// Profiles that stay as they are, for damage or without a map, are no error: the report names
/// them.
///
/// # Errors
/// The directory cannot be read.
pub fn finish(directory: &Path, maps: &MapDirectories) -> Result<Outcome, StoreError> {
    let mut outcome = Outcome::default();
    let mut images = Images {
        directory,
        maps: HashMap::new(),
    };
    for path in profiles(directory)? {
        outcome.profiles += 1;
        let Some(head) = profile_head(&path) else {
            continue;
        };
        if let Err(error) = keep_map(directory, &head, maps) {
            outcome.unfinished.get_or_insert(error);
        }
        if head.sealed {
            continue;
        }
        let raw_head = read_beginning(&path).and_then(|bytes| RawHead::read(&bytes).ok());
        if raw_head.is_some_and(|head| has_ended(&head) && !is_collected(&head))
            // The counts are read after the process has ended.
            && let Ok(bytes) = read_sparse(&path)
        {
            let sealed = seal(&path, &head, &bytes, &mut images);
            outcome.unfinished = outcome.unfinished.or(sealed.err());
        }
    }
    Ok(outcome)
}

/// The path maps of a run's images, read when they are needed.
struct Images<'d> {
    directory: &'d Path,
    maps: HashMap<[u8; 16], Option<Arc<ImageMap>>>,
}

impl Images<'_> {
    /// The path map of a profile's image, unless it is damaged.
    fn intact_map(&mut self, head: &ProfileHead) -> Option<Arc<ImageMap>> {
        let map = self.maps.entry(head.build_id).or_insert_with(|| {
            let map = kept_map(self.directory, head);
            map.filter(|map| map.damage.is_empty()).map(Arc::new)
        });
        map.clone()
    }
}

/// Replaces a raw profile by its sealed form, if nothing is lost by that. Streams are analyzed.
fn seal(
    path: &Path,
    head: &ProfileHead,
    raw: &[u8],
    images: &mut Images<'_>,
) -> Result<(), StoreError> {
    match host_kind(head.kind) {
        HostKind::Streams(_) => match images.intact_map(head) {
            Some(map) => ProcessStreams::resume(path, head, &map, Settings::default()).seal(),
            None => Ok(()),
        },
        HostKind::Counters(counters) => {
            let profile = read_with_program(head, raw).or_else(|| {
                let map = images.intact_map(head)?;
                let profile = counters.read(raw, &map).ok()?;
                profile.damage.is_empty().then_some(profile)
            });
            match profile {
                Some(profile) => write_atomically(path, &write_sealed(&profile)),
                None => Ok(()),
            }
        }
    }
}

/// Reads a raw profile of counters with the few parts of the path map that it needs, from the
/// program's file. `None` if the program is gone or was built again, or if anything is damaged.
fn read_with_program(head: &ProfileHead, raw: &[u8]) -> Option<Profile> {
    let map = MapSection::open(Path::new(&head.image_path))?;
    read_counters(raw, &mut |range| map.read(range))
}
