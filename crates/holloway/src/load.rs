//! Reads a run's directory (or one profile of it) into what the analysis works on.
//!
//! Each profile is joined with the path map of its image: `<build id>.hwm` beside it, else the section in the
//! image's file as the profile names it, which then is kept beside the profile: the program may be gone next time. What
//! cannot be read is named and left out; the rest is shown.
//!
//! Streams that are not (or not all) taken in yet, of a program that still runs or ran without a collector, are read here, with what
//! was made of the rest.

mod beside;
mod streams;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holloway_analysis::RunProfile;
use holloway_format::{
    ImageMap, Profile, ProfileHead, RawProfile, decode_image, peek_profile, read_profile,
};
use holloway_report::{grouped, plural};

use crate::collect::{self, Results, Settings, Subject, forests, timings, traces};
use crate::failure::{Failure, Result};
use crate::kinds::Kinds;
use crate::{finish, images, rundir, show_env, status};

pub(crate) use streams::{Loaded, Streams};

/// Profiles by build id, each group with its map.
type Images = BTreeMap<[u8; 16], (Arc<ImageMap>, Vec<Profile>)>;

/// What is found on the way.
#[derive(Default)]
struct Found {
    streams: Vec<Streams>,
    /// What is missing of streams, a sentence each.
    missing: Vec<String>,
}

/// Reads `run`: a run's directory, or one `.hwp` file.
///
/// # Errors
/// It does not exist, or nothing in it can be read.
pub(crate) fn load(run: &Path) -> Result<RunProfile> {
    load_with_streams(run, &Settings::default()).map(|loaded| loaded.profile)
}

/// The same with what was made of streams.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_with_streams(run: &Path, settings: &Settings) -> Result<Loaded> {
    let loaded = load_what_is_left(run, settings)?;
    if loaded.profile.images.is_empty() {
        return Err(nothing_readable(run, &loaded.profile.damage));
    }
    Ok(loaded)
}

/// The same for who looks for damage: where nothing can be read, no image is there, and why is said among the damage.
///
/// # Errors
/// The run does not exist, or is an empty directory.
pub(crate) fn load_what_is_left(run: &Path, settings: &Settings) -> Result<Loaded> {
    let files = profile_files(run)?;
    let mut images = Images::new();
    let mut unreadable = Vec::new();
    let mut damaged = Vec::new();
    let mut found = Found::default();
    say_what_is_made(run, &files);
    for file in &files {
        match add(file, &mut images, &mut found, settings) {
            Ok(0) => {}
            Ok(records) => {
                let are = if records == 1 { "is" } else { "are" };
                let records = plural(records as u64, "damaged record");
                damaged.push(format!("{}: {records} {are} left out", file.display()));
            }
            Err(why) => unreadable.push(format!("{}: {why}", file.display())),
        }
    }
    if run.is_dir() {
        unreadable.extend(without_profile(run)?);
    }
    if images.is_empty() && unreadable.is_empty() {
        return Err(nothing_readable(run, &[]));
    }
    let mut kinds = Kinds::default();
    for (map, profiles) in images.values().filter(|(_, profiles)| !profiles.is_empty()) {
        let image = profiles.first().map_or(&map.name, |profile| &profile.image);
        kinds.add(map.kind, image);
    }
    let mut profile = RunProfile::new(in_order(images));
    // Whole files first: the report shows the first few.
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

/// The profiles of a run's directory, or the one that is named.
///
/// # Errors
/// There is no such run, or it cannot be read.
pub(crate) fn profile_files(run: &Path) -> Result<Vec<PathBuf>> {
    let metadata = std::fs::metadata(run).map_err(|error| {
        Failure::new(format_args!(
            "cannot read the run {}: {error}; name a run's directory, as in target/holloway/runs",
            run.display()
        ))
    })?;
    if metadata.is_dir() {
        return finish::profiles(run);
    }
    if run
        .extension()
        .is_some_and(|extension| extension == finish::MAP)
    {
        return Err(Failure::usage(format_args!(
            "{} is a path map, which has no counts: name the run's directory, or a profile in it (.{})",
            run.display(),
            finish::PROFILE
        )));
    }
    Ok(vec![profile_of(run).unwrap_or_else(|| run.to_owned())])
}

/// The profile that a file of loops, traces or times lies beside, if it is one.
fn profile_of(file: &Path) -> Option<PathBuf> {
    let [taken, rest] = traces::TRACES;
    let [timings, sealed_timings] = [timings::TIMINGS, timings::SEALED_TIMINGS];
    let [loops, sealed_loops] = [forests::LOOPS, forests::SEALED_LOOPS];
    let beside = [sealed_loops, loops, rest, taken, sealed_timings, timings];
    let name = file.file_name()?.to_string_lossy();
    let stem = beside
        .iter()
        .find_map(|extension| name.strip_suffix(&format!(".{extension}")))?;
    Some(file.with_file_name(format!("{stem}.{}", finish::PROFILE)))
}

/// What lies in a run's directory beside profiles that are not there any more, a sentence each.
fn without_profile(directory: &Path) -> Result<Vec<String>> {
    let mut sentences: Vec<String> = finish::files(directory)?
        .filter_map(|file| {
            // A profile is there before what is made of it.
            let profile = profile_of(&file).filter(|profile| !profile.exists())?;
            Some(format!(
                "{}: its profile {} is not there: what was collected can't be read without it; put it back, or record it again",
                file.display(),
                profile.file_name()?.display()
            ))
        })
        .collect();
    sentences.sort();
    Ok(sentences)
}

/// Reads one profile and puts it to the others of its image. Gives the number of its damaged records.
fn add(
    file: &Path,
    images: &mut Images,
    found: &mut Found,
    settings: &Settings,
) -> std::result::Result<usize, String> {
    // What lies beside it is of the same moment.
    let _held = collect::hold(file, false);
    let bytes = images::read_regular(file).map_err(|error| error.to_string())?;
    let head = peek_profile(&bytes).map_err(|error| error.to_string())?;
    let (map, profiles) = match images.entry(head.build_id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert((Arc::new(find_map(file, &head)?), Vec::new())),
    };
    let profile = match head.kind.is_stream() {
        true => add_streams(file, &head, &bytes, map, found, settings),
        false => read_profile(&bytes, map).map_err(|error| error.to_string()),
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

/// Notes what was made of a profile's streams, or makes it now, and what is missing. Gives the counts.
fn add_streams(
    file: &Path,
    head: &ProfileHead,
    bytes: &[u8],
    map: &Arc<ImageMap>,
    found: &mut Found,
    settings: &Settings,
) -> std::result::Result<Profile, String> {
    let mut profile = read_profile(bytes, map).map_err(|error| error.to_string())?;
    let mut now = None;
    if !head.sealed {
        let results = now.insert(read_streams(file, head, bytes, map, settings)?);
        profile = std::mem::take(&mut results.profile);
    }
    let of = format!("{}, process {}", head.image, head.pid);
    found
        .missing
        .extend(beside::damaged(file, head, map, &profile));
    if profile.lost > 0 {
        found.missing.push(format!("{of}: {}", lost(profile.lost)));
    }
    let missing = std::mem::take(&mut profile.damage);
    let missing = missing.iter().map(|one| format!("{of}: {}", one.what));
    found.missing.extend(missing);
    found.streams.push(Streams {
        head: head.clone(),
        map: Arc::clone(map),
        file: file.to_owned(),
        now,
    });
    Ok(profile)
}

/// Threads whose words went nowhere. Others may have come after them, to the same memory.
fn lost(threads: u64) -> String {
    let threads = plural(threads, "thread");
    format!(
        "what ran in {threads} or more is lost: the profile could not be written (disk full, or a limit on file sizes); make room, or set HOLLOWAY_DATA to another directory, and record it again"
    )
}

/// Makes of a raw profile's streams what can be made of them now; the file stays as it is.
fn read_streams(
    file: &Path,
    head: &ProfileHead,
    bytes: &[u8],
    map: &Arc<ImageMap>,
    settings: &Settings,
) -> std::result::Result<Results, String> {
    let raw = RawProfile::parse(bytes).map_err(|error| error.to_string())?;
    let subject = Subject::resume(file, head, map, settings.clone());
    Ok(subject.result(&raw))
}

/// Words that take a second or two.
const MANY: u64 = 10_000_000;

/// Says that one has to wait for what is made of a run's raw profiles' streams, and how to wait once.
fn say_what_is_made(run: &Path, files: &[PathBuf]) {
    let waiting: Vec<Waiting> = files.iter().filter_map(|file| Waiting::of(file)).collect();
    let words = waiting.iter().map(|one| one.words);
    let words = words.fold(0, u64::saturating_add);
    if words < MANY {
        return;
    }
    let of = match &waiting[..] {
        [one] => format!("{}, process {},", one.head.image, one.head.pid),
        all => plural(all.len() as u64, "profile"),
    };
    let directory = match run.is_dir() {
        true => run,
        false => run.parent().unwrap_or(run),
    };
    let directory = match directory.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => show_env::word(&directory.to_string_lossy()),
    };
    let once = match waiting.iter().all(|one| one.has_ended) {
        true => format!(
            "; each question does so: `HOLLOWAY_DATA={directory} holloway run --no-report -- true` does it once for all"
        ),
        false => String::new(),
    };
    let words = grouped(words);
    status::line(
        "Analysing",
        &format!("{words} words of {of} that no collector took{once}"),
    );
}

/// A raw profile of which something has to be made.
struct Waiting {
    head: ProfileHead,
    /// Of its streams, not taken.
    words: u64,
    has_ended: bool,
}

impl Waiting {
    fn of(file: &Path) -> Option<Self> {
        let head = images::head(file)?;
        if head.sealed || !head.kind.is_stream() {
            return None;
        }
        let bytes = images::read_regular(file).ok()?;
        let raw = RawProfile::parse(&bytes).ok()?;
        let words = raw.ring_words().iter().fold(0u64, |sum, ring| {
            let spooled = ring.spools.iter().map(|spool| spool.length);
            let held = ring.ring.map(|ring| ring.end() - ring.first());
            spooled.chain(held).fold(sum, u64::saturating_add)
        }) / 4;
        (words > 0).then(|| Self {
            head,
            words,
            has_ended: finish::has_ended(raw.header()),
        })
    }
}

/// The path map beside the profile, else that in the image's file, which is put beside the profile.
fn find_map(file: &Path, head: &ProfileHead) -> std::result::Result<ImageMap, String> {
    let beside = file.with_file_name(finish::map_name(&head.build_id));
    if beside.exists() {
        let bytes = images::read_regular(&beside)
            .map_err(|error| format!("cannot read {}: {error}", beside.display()))?;
        let map = decode_image(&bytes)
            .map_err(|error| format!("cannot read {}: {error}", beside.display()))?;
        if map.build_id == head.build_id {
            return with_functions(map, &beside);
        }
        return Err(format!(
            "{} is of build {}",
            beside.display(),
            holloway_format::error::short_id(&map.build_id)
        ));
    }
    let (map, bytes) = finish::map_of_image(head)?;
    let map = with_functions(map, Path::new(&head.image_path))?;
    // Someone else's run may be read-only: it is shown all the same.
    rundir::write_atomically(&beside, &bytes).ok();
    Ok(map)
}

/// The map, unless all that it held of functions is lost: a report of it would be of zeros.
fn with_functions(map: ImageMap, file: &Path) -> std::result::Result<ImageMap, String> {
    let mut modules = map.modules.iter();
    let has_any = modules.any(|placed| !placed.module.functions.is_empty());
    match map.damage.first() {
        Some(damage) if !has_any => Err(format!(
            "no function can be read of {}: {}; delete it if the program is there as it was built, else record the run again",
            file.display(),
            damage.what
        )),
        _ => Ok(map),
    }
}

/// The image whose process began first is the program asked for, so it comes first.
fn in_order(images: Images) -> Vec<(ImageMap, Vec<Profile>)> {
    let images = images.into_values();
    let mut images: Vec<_> = images
        .map(|(map, profiles)| (Arc::unwrap_or_clone(map), profiles))
        .collect();
    let began = |profiles: &[Profile]| {
        profiles
            .iter()
            .map(|profile| (profile.start_ns, profile.pid))
            .min()
    };
    images.sort_by_cached_key(|(map, profiles)| (began(profiles), map.name.clone()));
    images
}

fn nothing_readable(run: &Path, unreadable: &[String]) -> Failure {
    let shown = run.display();
    match unreadable {
        [] => Failure::new(format_args!(
            "cannot find a profile in {shown}: no .hwp file there; record a run with `holloway run -- ./app` or `cargo holloway run`"
        )),
        [only] => Failure::new(format_args!("cannot read {only}")),
        [first, others @ ..] => Failure::new(format_args!(
            "cannot read any profile in {shown}: {first}; and {} more",
            others.len()
        )),
    }
}
