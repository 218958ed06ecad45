//! Loads a run's directory, or one profile of it, for the analysis.
//!
//! Each profile is joined with the path map of its image: `<build id>.hwm` beside it, or the
//! section in the image's file, which is then stored beside the profile, because the program may be
//! gone next time. Files that cannot be read are noted and left out.
//!
//! A program that still runs, or ran without a collector, leaves words of its streams in its
//! profile. They are analyzed here, together with the files of an earlier collector.

mod side_file_damage;
mod streams;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::note::{Note, Origin, Unreadable};
use holloway_format::image::MAP_EXTENSION;
use holloway_format::{ImageMap, Profile, ProfileHead, RawProfile, peek_profile, read_profile};

use crate::error::LoadError;
use crate::files::{PROFILE, files, profile_head, profiles, read_regular};
use crate::kinds::stream_kind::StreamKind;
use crate::kinds::{HostKind, host_kind, stream_kind_of};
use crate::lock::{Access, hold};
use crate::path_map::find_map;
use crate::process::has_ended;
use crate::process_streams::{ProcessStreams, RawResult};
use crate::recorded::RecordedKinds;
use crate::settings::Settings;

type Result<T> = std::result::Result<T, LoadError>;

pub use streams::{Loaded, Streams};

/// Profiles by build id, each group with its map.
type Images = BTreeMap<[u8; 16], (Arc<ImageMap>, Vec<Profile>)>;

/// The streams of a run.
#[derive(Default)]
struct Found {
    streams: Vec<Streams>,
    /// Losses of the streams.
    missing: Vec<Note>,
}

/// Reads `run`: a run's directory, or one `.hwp` file.
///
/// # Errors
/// It does not exist, or nothing in it can be read.
pub fn load(run: &Path) -> Result<RunProfile> {
    load_with_streams(run, &Settings::default()).map(|loaded| loaded.profile)
}

/// Reads `run` with its streams.
///
/// # Errors
/// It does not exist, or nothing in it can be read.
pub fn load_with_streams(run: &Path, settings: &Settings) -> Result<Loaded> {
    let loaded = load_readable(run, settings)?;
    if loaded.profile.images.is_empty() {
        return Err(nothing_readable(run, &loaded.profile.damage));
    }
    Ok(loaded)
}

/// Reads `run` for a caller that looks for damage. If nothing can be read, the result has no image,
/// and its damage tells why.
///
/// # Errors
/// The run does not exist, or is an empty directory.
pub fn load_readable(run: &Path, settings: &Settings) -> Result<Loaded> {
    let files = profile_files(run)?;
    let mut images = Images::new();
    let mut unreadable = Vec::new();
    let mut damaged = Vec::new();
    let mut found = Found::default();
    for file in &files {
        match add(file, &mut images, &mut found, settings) {
            Ok(0) => {}
            Ok(records) => damaged.push(Note::DamagedRecords {
                file: file.clone(),
                records: records as u64,
            }),
            Err(why) => unreadable.push(Note::Unreadable {
                file: file.clone(),
                why,
            }),
        }
    }
    if run.is_dir() {
        unreadable.extend(without_profile(run)?);
    }
    if images.is_empty() && unreadable.is_empty() {
        return Err(nothing_readable(run, &[]));
    }
    let mut kinds = RecordedKinds::default();
    for (map, profiles) in images.values().filter(|(_, profiles)| !profiles.is_empty()) {
        let image = profiles
            .first()
            .map_or(&map.name, |profile| &profile.head.image);
        kinds.add(map.kind, image);
    }
    let mut profile = RunProfile::new(in_order(images));
    // Notes on whole files come first, because the report shows only the first notes.
    unreadable.append(&mut damaged);
    unreadable.append(&mut found.missing);
    profile.damage.splice(0..0, unreadable);
    let streams = found.streams;
    Ok(Loaded {
        profile,
        kinds,
        streams,
    })
}

/// The profiles of a run's directory, or the one profile that `run` names.
///
/// # Errors
/// There is no such run, or it cannot be read.
pub fn profile_files(run: &Path) -> Result<Vec<PathBuf>> {
    let metadata = std::fs::metadata(run).map_err(|source| LoadError::NoRun {
        run: run.to_owned(),
        source,
    })?;
    if metadata.is_dir() {
        return Ok(profiles(run)?);
    }
    if run
        .extension()
        .is_some_and(|extension| extension == MAP_EXTENSION)
    {
        return Err(LoadError::PathMap {
            file: run.to_owned(),
        });
    }
    Ok(vec![profile_of(run).unwrap_or_else(|| run.to_owned())])
}

/// The profile that a file of loops, traces, or timings lies beside. None for other files.
fn profile_of(file: &Path) -> Option<PathBuf> {
    let kinds = Kind::ALL.into_iter().filter_map(stream_kind_of);
    let mut extensions = kinds.flat_map(|kind| kind.files().extensions());
    let name = file.file_name()?.to_string_lossy();
    let stem = extensions.find_map(|extension| {
        name.strip_suffix(&format!(".{extension}"))
            .map(str::to_owned)
    })?;
    Some(file.with_file_name(format!("{stem}.{PROFILE}")))
}

/// Notes on the files of a run's directory whose profile is gone.
fn without_profile(directory: &Path) -> Result<Vec<Note>> {
    let mut orphans: Vec<(PathBuf, PathBuf)> = files(directory)?
        .filter_map(|file| {
            // A profile is there before the files beside it.
            let profile = profile_of(&file).filter(|profile| !profile.exists())?;
            Some((file, profile))
        })
        .collect();
    orphans.sort();
    let notes = orphans.into_iter().map(|(file, profile)| Note::NoProfile {
        profile: profile
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string(),
        file,
    });
    Ok(notes.collect())
}

/// Reads one profile, and adds it to the others of its image. Gives the number of its damaged
/// records.
fn add(
    file: &Path,
    images: &mut Images,
    found: &mut Found,
    settings: &Settings,
) -> std::result::Result<usize, Unreadable> {
    // The lock keeps the files beside the profile consistent with the profile.
    let _held = hold(file, Access::Read);
    let bytes = read_regular(file).map_err(|error| Unreadable::System {
        message: error.to_string(),
    })?;
    let head = peek_profile(&bytes).map_err(Unreadable::Format)?;
    let (map, profiles) = match images.entry(head.build_id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert((Arc::new(find_map(file, &head)?), Vec::new())),
    };
    let profile = match host_kind(head.kind) {
        HostKind::Streams(kind) => add_streams(file, &head, kind, &bytes, map, found, settings),
        HostKind::Counters(kind) => kind.read(&bytes, map).map_err(Unreadable::Format),
    };
    match profile {
        Ok(profile) => {
            let damaged = profile.damage.len();
            profiles.push(profile);
            Ok(damaged)
        }
        Err(error) => {
            if profiles.is_empty() {
                images.remove(&head.build_id);
            }
            Err(error)
        }
    }
}

/// Adds the streams of a profile, with notes on their losses. The streams of a raw profile are
/// analyzed. Returns the counts.
fn add_streams(
    file: &Path,
    head: &ProfileHead,
    kind: &'static dyn StreamKind,
    bytes: &[u8],
    map: &Arc<ImageMap>,
    found: &mut Found,
    settings: &Settings,
) -> std::result::Result<Profile, Unreadable> {
    let mut profile = read_profile(bytes, map).map_err(Unreadable::Format)?;
    let mut now = None;
    if !head.sealed {
        let result = read_streams(file, head, bytes, map, settings)?;
        (profile, now) = (result.profile, result.data);
    }
    let origin = Origin {
        image: head.image.clone(),
        process: head.pid,
    };
    found
        .missing
        .extend(side_file_damage::notes(file, head, kind, map, &profile));
    if profile.head.lost > 0 {
        found.missing.push(Note::LostThreads {
            origin: origin.clone(),
            threads: profile.head.lost,
        });
    }
    let facts = std::mem::take(&mut profile.damage).into_iter();
    found.missing.extend(facts.map(|damage| Note::Streams {
        origin: origin.clone(),
        fact: damage.fact,
    }));
    found.streams.push(Streams {
        head: head.clone(),
        kind,
        map: Arc::clone(map),
        file: file.to_owned(),
        now,
    });
    Ok(profile)
}

/// Analyzes the streams of a raw profile. The file stays as it is.
fn read_streams(
    file: &Path,
    head: &ProfileHead,
    bytes: &[u8],
    map: &Arc<ImageMap>,
    settings: &Settings,
) -> std::result::Result<RawResult, Unreadable> {
    let raw = RawProfile::parse(bytes).map_err(Unreadable::Format)?;
    let streams = ProcessStreams::resume(file, head, map, settings.clone());
    let result = streams.into_result(&raw);
    result.map_err(|error| Unreadable::System {
        message: error.to_string(),
    })
}

/// The streams of a run that no collector took.
#[derive(Debug)]
pub struct Untaken {
    /// The first process with such streams.
    pub head: ProfileHead,
    /// Number of profiles with such streams.
    pub profiles: u64,
    /// Number of words in them.
    pub words: u64,
    /// Whether all their processes have ended. Then finishing the run analyzes them once and for
    /// all.
    pub has_ended: bool,
}

/// Looks for streams that no collector took: loading the run analyzes them first. Nothing where
/// there are none, or where the run cannot be read.
pub fn untaken(run: &Path) -> Option<Untaken> {
    let files = profile_files(run).ok()?;
    let waiting: Vec<Waiting> = files
        .iter()
        .filter_map(|file| Waiting::read(file))
        .collect();
    let words = waiting.iter().map(|profile| profile.words);
    Some(Untaken {
        head: waiting.first()?.head.clone(),
        profiles: waiting.len() as u64,
        words: words.fold(0, u64::saturating_add),
        has_ended: waiting.iter().all(|profile| profile.has_ended),
    })
}

/// A raw profile with words to analyze.
struct Waiting {
    head: ProfileHead,
    /// Number of words.
    words: u64,
    has_ended: bool,
}

impl Waiting {
    fn read(file: &Path) -> Option<Self> {
        let head = profile_head(file)?;
        if head.sealed || !head.kind.is_stream() {
            return None;
        }
        let bytes = read_regular(file).ok()?;
        let raw = RawProfile::parse(&bytes).ok()?;
        let words = raw.ring_words().iter().fold(0u64, |sum, ring| {
            let spooled = ring.spools.iter().map(|spool| spool.length);
            let held = ring.ring.map(|ring| ring.end() - ring.first());
            spooled.chain(held).fold(sum, u64::saturating_add)
        }) / 4;
        (words > 0).then(|| Self {
            head,
            words,
            has_ended: has_ended(raw.header()),
        })
    }
}

/// Images in the order in which their first process began: the program that the user ran comes
/// first.
fn in_order(images: Images) -> Vec<(ImageMap, Vec<Profile>)> {
    let images = images.into_values();
    let mut images: Vec<_> = images
        .map(|(map, profiles)| (Arc::unwrap_or_clone(map), profiles))
        .collect();
    let began = |profiles: &[Profile]| {
        profiles
            .iter()
            .map(|profile| (profile.head.start_ns, profile.head.pid))
            .min()
    };
    images.sort_by_cached_key(|(map, profiles)| (began(profiles), map.name.clone()));
    images
}

fn nothing_readable(run: &Path, unreadable: &[Note]) -> LoadError {
    let run = run.to_owned();
    match unreadable {
        [] => LoadError::NoProfile { run },
        [first, others @ ..] => LoadError::NoReadableProfile {
            run,
            first: Box::new(first.clone()),
            others: others.len(),
        },
    }
}
