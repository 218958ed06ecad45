//! Loads a run's directory, or one profile in it, for the analysis.
//!
//! A profile is read with the path map of its image. The map is in the file `<build id>.hwm` next
//! to the profile, or in the image's file. In the second case, the loader stores the map next to
//! the profile, because the program may be deleted later. If a file cannot be read, the loader
//! skips it and adds a note.
//!
//! If a program still runs, or ran without a collector, its raw profile contains words of its
//! streams. The loader analyzes them, together with the side files of an earlier collector.

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

use crate::cpu_time;
use crate::error::LoadError;
use crate::files::{PROFILE, files, profile_head, profiles, read_regular};
use crate::interrupted;
use crate::kinds::stream_kind::StreamKind;
use crate::kinds::{KindImplementation, implementation_of, stream_kind_of};
use crate::lock::{Access, hold};
use crate::path_map::find_map;
use crate::process::has_ended;
use crate::process_streams::{ProcessStreams, RawResult};
use crate::recorded::RecordedKinds;
use crate::samples::sample_files;
use crate::settings::Settings;

type Result<T> = std::result::Result<T, LoadError>;

pub use streams::{Loaded, Streams};

/// Profiles by build id, each group with its map.
type Images = BTreeMap<[u8; 16], (Arc<ImageMap>, Vec<Profile>)>;

/// The streams of the profiles that have been read so far.
#[derive(Default)]
struct LoadedStreams {
    streams: Vec<Streams>,
    /// Notes on losses of the streams.
    losses: Vec<Note>,
}

/// Reads `run`: a run's directory, or one `.hwp` file.
///
/// # Errors
/// If the run does not exist, or no profile in it can be read.
pub fn load(run: &Path) -> Result<RunProfile> {
    load_with_streams(run, &Settings::default()).map(|loaded| loaded.profile)
}

/// Reads `run` with its streams.
///
/// # Errors
/// If the run does not exist, or no profile in it can be read.
pub fn load_with_streams(run: &Path, settings: &Settings) -> Result<Loaded> {
    load_merged(&[run], settings)
}

/// Reads `run` for a caller that searches for damage. If no profile can be read, the result has no
/// image, and its damage contains the reasons.
///
/// # Errors
/// If the run cannot be read, or contains neither a profile nor a side file of one.
pub fn load_readable(run: &Path, settings: &Settings) -> Result<Loaded> {
    load_runs(&[run], settings)
}

/// Reads several runs as one. The counts of an image that several of them have are added up.
///
/// # Errors
/// If a run does not exist, or no profile in any of them can be read.
pub fn load_merged(runs: &[&Path], settings: &Settings) -> Result<Loaded> {
    let loaded = load_runs(runs, settings)?;
    match runs.first() {
        Some(first) if loaded.profile.images.is_empty() => {
            Err(nothing_readable(first, &loaded.profile.damage))
        }
        _ => Ok(loaded),
    }
}

fn load_runs(runs: &[&Path], settings: &Settings) -> Result<Loaded> {
    let mut files = Vec::new();
    for run in runs {
        files.extend(profile_files(run)?);
    }
    let mut images = Images::new();
    let mut unreadable = Vec::new();
    let mut damaged = Vec::new();
    let mut loaded = LoadedStreams::default();
    for file in &files {
        match add_profile(file, &mut images, &mut loaded, settings) {
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
    let mut cpu_records = Vec::new();
    for run in runs.iter().filter(|run| run.is_dir()) {
        unreadable.extend(orphaned_files(run)?);
        let (records, damaged_records) = cpu_time::load(run)?;
        cpu_records.extend(records);
        loaded.losses.extend(damaged_records);
    }
    if let (Some(run), true) = (runs.first(), images.is_empty() && unreadable.is_empty()) {
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
    profile.interrupt = runs.iter().find_map(|run| interrupted::read(run));
    if !cpu_records.is_empty() {
        profile.add_cpu_time(&cpu_records);
    }
    // Notes on whole files come first, because the report shows only the first notes.
    unreadable.append(&mut damaged);
    unreadable.append(&mut loaded.losses);
    profile.damage.splice(0..0, unreadable);
    Ok(Loaded {
        profile,
        kinds,
        streams: loaded.streams,
    })
}

/// Lists the profiles in a run's directory, or the one profile that `run` names.
///
/// # Errors
/// If the run does not exist, or cannot be read.
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

/// Returns the path of the profile that a side file belongs to. Returns `None` if `file` is no side
/// file.
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

/// Returns notes on the side files in a run's directory whose profile is missing.
fn orphaned_files(directory: &Path) -> Result<Vec<Note>> {
    let mut orphans: Vec<(PathBuf, PathBuf)> = files(directory)?
        .filter_map(|file| {
            // A profile is created before its side files.
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

/// Reads one profile, and adds it to the profiles of its image. Returns the number of its damaged
/// records.
fn add_profile(
    file: &Path,
    images: &mut Images,
    loaded: &mut LoadedStreams,
    settings: &Settings,
) -> std::result::Result<usize, Unreadable> {
    // The lock keeps the side files consistent with the profile.
    let _lock = hold(file, Access::Read);
    let bytes = read_regular(file).map_err(|error| Unreadable::System {
        message: error.to_string(),
    })?;
    let head = peek_profile(&bytes).map_err(Unreadable::Format)?;
    let (map, profiles) = match images.entry(head.build_id) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert((Arc::new(find_map(file, &head)?), Vec::new())),
    };
    let profile = match implementation_of(head.kind) {
        KindImplementation::Streams(kind) => {
            add_streams(file, &head, kind, &bytes, map, loaded, settings)
        }
        KindImplementation::Counters(kind) => kind.read(&bytes, map).map_err(Unreadable::Format),
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

/// Adds the streams of a profile, with notes on their losses. Analyzes the streams of a raw
/// profile. Returns the counts.
fn add_streams(
    file: &Path,
    head: &ProfileHead,
    kind: &'static dyn StreamKind,
    bytes: &[u8],
    map: &Arc<ImageMap>,
    loaded: &mut LoadedStreams,
    settings: &Settings,
) -> std::result::Result<Profile, Unreadable> {
    let mut profile = read_profile(bytes, map).map_err(Unreadable::Format)?;
    let mut analyzed_now = None;
    if !head.sealed {
        let result = analyze_raw(file, head, bytes, map, settings)?;
        (profile, analyzed_now) = (result.profile, result.data);
    }
    let origin = Origin {
        image: head.image.clone(),
        process: head.pid,
    };
    loaded
        .losses
        .extend(side_file_damage::notes(file, head, kind, map, &profile));
    if profile.head.lost > 0 {
        loaded.losses.push(Note::LostThreads {
            origin: origin.clone(),
            threads: profile.head.lost,
            failure: profile.head.failure,
        });
    }
    let facts = std::mem::take(&mut profile.damage).into_iter();
    loaded.losses.extend(facts.map(|damage| Note::Streams {
        origin: origin.clone(),
        fact: damage.fact,
    }));
    loaded.streams.push(Streams {
        head: head.clone(),
        kind,
        map: Arc::clone(map),
        file: file.to_owned(),
        analyzed_now,
    });
    Ok(profile)
}

/// Analyzes the streams of a raw profile. Does not change the file.
fn analyze_raw(
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

/// The words of a run that no collector took. Each load of the run analyzes them again.
#[derive(Debug)]
pub struct Untaken {
    /// The head of the first profile with untaken words.
    pub head: ProfileHead,
    /// The number of profiles with untaken words.
    pub profiles: u64,
    /// The number of untaken words.
    pub words: u64,
    /// Whether the processes of all these profiles have ended. Finishing the run then stores the
    /// analysis, so that later loads are fast.
    pub has_ended: bool,
}

/// Searches for words that no collector took. Returns `None` if there are none, or if the run
/// cannot be read.
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
    /// The number of words.
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
            let in_ring = ring.ring.as_ref().map(|ring| ring.end() - ring.first());
            spooled.chain(in_ring).fold(sum, u64::saturating_add)
        }) / 4;
        (words > 0).then(|| Self {
            head,
            words,
            has_ended: has_ended(raw.header()),
        })
    }
}

/// Sorts images by the start of their first process. The program that the user ran comes first.
fn in_order(images: Images) -> Vec<(ImageMap, Vec<Profile>)> {
    let images = images.into_values();
    let mut images: Vec<_> = images
        .map(|(map, profiles)| (Arc::unwrap_or_clone(map), profiles))
        .collect();
    let first_start = |profiles: &[Profile]| {
        profiles
            .iter()
            .map(|profile| (profile.head.start_ns, profile.head.pid))
            .min()
    };
    images.sort_by_cached_key(|(map, profiles)| (first_start(profiles), map.name.clone()));
    images
}

fn nothing_readable(run: &Path, unreadable: &[Note]) -> LoadError {
    let run = run.to_owned();
    match unreadable {
        [] if !sample_files(&run).is_empty() => LoadError::OnlySamples { run },
        [] => LoadError::NoProfile { run },
        [first, others @ ..] => LoadError::NoReadableProfile {
            run,
            first: Box::new(first.clone()),
            others: others.len(),
        },
    }
}
