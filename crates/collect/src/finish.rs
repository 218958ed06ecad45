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

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use holloway_format::raw::{RawHead, SparseBytes};
use holloway_format::{CounterPlaces, ImageMap, Profile, ProfileHead, read_counters, write_sealed};
use holloway_sample::elf::{MapSection, read_range};

use crate::error::StoreError;
use crate::files::{
    map_name, profile_head, profiles, read_beginning, read_sparse, write_atomically,
};
use crate::kinds::{KindImplementation, implementation_of};
use crate::path_map::{store_map, stored_map};
use crate::process::{has_ended, is_collected};
use crate::process_streams::ProcessStreams;
use crate::settings::{MapDirectories, Settings};

/// The result of finishing a run's directory.
#[derive(Debug, Default)]
pub struct FinishSummary {
    /// The number of profiles in the directory.
    pub profiles: usize,
    /// The first failure to write a file. The raw profiles still exist then. They can be reported
    /// as long as the programs exist, which contain the path maps.
    pub write_error: Option<StoreError>,
}

/// Finishes a run's directory.
///
/// A profile that stays raw because of damage or a missing path map is no error. The report lists
/// these profiles.
///
/// # Errors
/// If the directory cannot be read.
pub fn finish(directory: &Path, maps: &MapDirectories) -> Result<FinishSummary, StoreError> {
    let mut summary = FinishSummary::default();
    let mut images = Images {
        directory,
        maps: HashMap::new(),
    };
    // A run may have thousands of profiles of one image. Each map is searched once.
    let mut searched_maps = HashSet::new();
    for path in profiles(directory)? {
        summary.profiles += 1;
        let Some(head) = profile_head(&path) else {
            continue;
        };
        // The program's file may be another one in each process: a test program in a container.
        let image = (head.build_id, head.image_path.clone());
        if searched_maps.insert(image)
            && let Err(error) = store_map(directory, &head, maps)
        {
            summary.write_error.get_or_insert(error);
        }
        if head.sealed {
            continue;
        }
        let raw_head = read_beginning(&path).and_then(|bytes| RawHead::read(&bytes).ok());
        if raw_head.is_some_and(|head| has_ended(&head) && !is_collected(&head)) {
            let sealed = seal(&path, &head, &mut images);
            summary.write_error = summary.write_error.or(sealed.err());
        }
    }
    Ok(summary)
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
            let map = stored_map(self.directory, head);
            map.filter(|map| map.damage.is_empty()).map(Arc::new)
        });
        map.clone()
    }
}

/// Replaces the raw profile of a process that has ended by its sealed form, if nothing is lost by
/// that. Streams are analyzed.
fn seal(path: &Path, head: &ProfileHead, images: &mut Images<'_>) -> Result<(), StoreError> {
    match implementation_of(head.kind) {
        KindImplementation::Streams(_) => match images.intact_map(head) {
            Some(map) => ProcessStreams::resume(path, head, &map, Settings::default()).seal(),
            None => Ok(()),
        },
        KindImplementation::Counters(counters) => {
            let Ok(raw) = read_sparse(path) else {
                return Ok(());
            };
            let profile = read_with_table(images.directory, head, &raw)
                .or_else(|| read_with_program(head, &raw))
                .or_else(|| {
                    let map = images.intact_map(head)?;
                    let profile = counters.read(&raw.bytes, &map).ok()?;
                    profile.damage.is_empty().then_some(profile)
                });
            match profile {
                Some(profile) => write_atomically(path, &write_sealed(&profile)),
                None => Ok(()),
            }
        }
    }
}

/// Reads a raw profile of counters with the table of counters in the run's path map. `None` if the
/// run has no such map, or if anything is damaged.
fn read_with_table(directory: &Path, head: &ProfileHead, raw: &SparseBytes) -> Option<Profile> {
    let map = File::open(directory.join(map_name(&head.build_id))).ok()?;
    let length = map.metadata().ok()?.len();
    let mut read = |range: Range<u64>| read_range(&map, range);
    read_counters(raw, CounterPlaces::Packed(&mut read, length))
}

/// Reads a raw profile of counters with the few parts of the path map that it needs, from the
/// program's file. `None` if the program is gone or was built again, or if anything is damaged.
fn read_with_program(head: &ProfileHead, raw: &SparseBytes) -> Option<Profile> {
    let map = MapSection::open(Path::new(&head.image_path))?;
    let mut read = |range: Range<u64>| map.read(range);
    read_counters(raw, CounterPlaces::Map(&mut read))
}
