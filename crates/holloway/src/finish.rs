//! After a run: what the run's directory needs to be read later and elsewhere.
//!
//! - the path map of each image met, as `<build id>.hwm`, taken from the program's file (or, for programs that are
//!   gone by now like doctests, from what the links [left](Linked));
//! - each profile of a process that has ended sealed: compact and checksummed, in place of the raw mapping.
//!
//! Of streams (loops, trace, times) that no collector took, what they come to is made here, beside the profile.
//!
//! A profile that cannot be sealed without loss (damage, no map) stays as it is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holloway_abi::is_stream;
use holloway_format::raw::RawHead;
use holloway_format::{
    ImageMap, ProfileHead, decode_image, peek_profile, read_profile, write_sealed,
};

use crate::collect::{self, Subject};
use crate::failure::{Context, Failure, Result};
use crate::linked::Linked;
use crate::rundir::write_atomically;
use crate::{images, status};

/// Extension of profiles.
pub(crate) const PROFILE: &str = "hwp";
/// Extension of path maps.
pub(crate) const MAP: &str = "hwm";

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Profiles in the directory.
    pub(crate) profiles: usize,
}

/// Finishes a run's directory. What stays as it was is no error: the report says what it cannot read. That nothing can be written is
/// said, once; what the program wrote is there all the same.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn finish(directory: &Path, linked: Option<&Linked>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut maps: HashMap<[u8; 16], Option<Arc<ImageMap>>> = HashMap::new();
    let mut unfinished: Option<Failure> = None;
    for path in profiles(directory)? {
        outcome.profiles += 1;
        let Ok(bytes) = images::read_regular(&path) else {
            continue;
        };
        let Ok(head) = peek_profile(&bytes) else {
            continue;
        };
        let map = match maps.entry(head.build_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let kept = keep_map(directory, &head, linked.map(Linked::directory));
                let map = kept.unwrap_or_else(|failure| {
                    unfinished.get_or_insert(failure);
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
            && let Ok(bytes) = images::read_regular(&path)
        {
            let sealed = seal(&path, &head, &bytes, map);
            unfinished = unfinished.or(sealed.err());
        }
    }
    if let Some(failure) = unfinished {
        status::warn(&format!(
            "{failure}: the run stays unfinished; make room, and `holloway report` reads it as long as the program is there"
        ));
    }
    Ok(outcome)
}

/// The profiles in a run's directory, by name.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn profiles(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<_> = files(directory)?
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == PROFILE)
        })
        .collect();
    paths.sort();
    Ok(paths)
}

/// All that lies in a run's directory.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn files(directory: &Path) -> Result<impl Iterator<Item = PathBuf>> {
    let entries = std::fs::read_dir(directory)
        .cannot(|| format!("read the run's directory {}", directory.display()))?;
    Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())))
}

/// Makes sure the run's directory holds the path map of a profile's image, and reads it. Nothing if there is none:
/// the report says why.
pub(crate) fn keep_map(
    directory: &Path,
    head: &ProfileHead,
    linked: Option<&Path>,
) -> Result<Option<ImageMap>> {
    let name = map_name(&head.build_id);
    let kept = directory.join(&name);
    if let Ok(map) = read_map_file(&kept) {
        return Ok(Some(map));
    }
    let stored = || {
        let bytes = images::read_regular(&linked?.join(&name)).ok()?;
        Some((decode_image(&bytes).ok()?, bytes))
    };
    let Some((map, bytes)) = map_of_image(head).ok().or_else(stored) else {
        return Ok(None);
    };
    write_atomically(&kept, &bytes)?;
    Ok(Some(map))
}

/// `<build id>.hwm`
pub(crate) fn map_name(build_id: &[u8; 16]) -> String {
    format!("{}.{MAP}", holloway_format::error::hex_id(build_id))
}

/// Reads a `.hwm` file.
pub(crate) fn read_map_file(path: &Path) -> std::result::Result<ImageMap, String> {
    let bytes = images::read_regular(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    decode_image(&bytes).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// The path map in the image's file, if that is still the build the profile was recorded from.
pub(crate) fn map_of_image(head: &ProfileHead) -> std::result::Result<(ImageMap, Vec<u8>), String> {
    let path = Path::new(&head.image_path);
    let bytes = images::read_map(path).map_err(|failure| failure.message)?;
    let map = decode_image(&bytes)
        .map_err(|error| format!("cannot read the path map of {}: {error}", path.display()))?;
    if map.build_id != head.build_id {
        return Err(format!(
            "the profile is of build {} of {}, {} is build {} now; record it again",
            holloway_format::error::short_id(&head.build_id),
            head.image,
            path.display(),
            holloway_format::error::short_id(&map.build_id),
        ));
    }
    Ok((map, bytes))
}

/// Replaces a raw profile by its sealed form, if nothing is lost by it. Streams are turned into what they come to.
fn seal(path: &Path, head: &ProfileHead, raw: &[u8], map: &Arc<ImageMap>) -> Result<()> {
    if !map.damage.is_empty() {
        return Ok(());
    }
    if is_stream(map.kind) {
        let settings = collect::Settings::default();
        return Subject::resume(path, head, map, settings).seal();
    }
    match read_profile(raw, map) {
        Ok(profile) if profile.damage.is_empty() => write_atomically(path, &write_sealed(&profile)),
        _ => Ok(()),
    }
}

/// Whether the process that wrote a raw profile is gone: no process of its id that began when it began. One of another
/// PID namespace (a container) can't be looked for, and may be counting still.
pub(crate) fn has_ended(head: &RawHead) -> bool {
    let namespace = head.pid_namespace;
    if namespace != 0 && own_namespace().is_some_and(|own| own != namespace) {
        return false;
    }
    let pid = head.profile.pid;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return Path::new("/proc/self/stat").exists()
            && !Path::new(&format!("/proc/{pid}")).exists();
    };
    let began = head.boot_start;
    Stat::read(&stat).is_some_and(|now| !now.runs || began != 0 && now.began != began)
}

/// Whether a collector that lives takes words out of its rings: they are for it to write down.
fn is_collected(head: &RawHead) -> bool {
    head.collector != 0 && Path::new(&format!("/proc/{}", head.collector)).exists()
}

/// This process's PID namespace, as the runtime names it.
fn own_namespace() -> Option<u64> {
    let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?;
    Some(std::os::unix::fs::MetadataExt::ino(&namespace))
}

/// What `/proc/<pid>/stat` says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// A thread of it is left, the first one or another.
    runs: bool,
    /// Start on the boot clock, in nanoseconds: as the runtime reckons it.
    began: u64,
}

impl Stat {
    /// `pid (name) state …`: the name may hold anything, so fields are counted from the last parenthesis.
    fn read(text: &str) -> Option<Self> {
        const TICK: u64 = 10_000_000;
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // Fields 3, 20 and 22 of proc(5). A first thread that ended before the others is a zombie until they have.
        let (state, threads) = (*fields.first()?, fields.get(17)?.parse::<u64>().ok()?);
        let ticks: u64 = fields.get(19)?.parse().ok()?;
        Some(Self {
            runs: !matches!(state, "Z" | "X") || threads > 1,
            began: ticks.saturating_mul(TICK),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(state: &str, threads: u32, ticks: u32) -> String {
        format!(
            "42 (a) b) {state} 1 42 42 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 {threads} 0 {ticks} 0 0"
        )
    }

    #[test]
    fn a_process_runs_as_long_as_one_of_its_threads() {
        let runs = |state, threads| Stat::read(&stat(state, threads, 7)).map(|stat| stat.runs);
        assert_eq!(runs("S", 1), Some(true));
        assert_eq!(runs("Z", 1), Some(false));
        assert_eq!(runs("Z", 2), Some(true));
        assert_eq!(Stat::read("42 (a"), None);
    }

    #[test]
    fn another_process_of_the_same_id_began_at_another_time() {
        let own = std::fs::read_to_string("/proc/self/stat").expect("this process");
        let began = Stat::read(&own).expect("a whole line").began;
        let head = ProfileHead {
            pid: std::process::id(),
            ..ProfileHead::default()
        };
        let raw = |boot_start: u64| {
            let mut raw = holloway_testkit::raw::RawWriter::new(head.clone(), 4096 - 64).finish();
            raw[80..88].copy_from_slice(&boot_start.to_le_bytes());
            RawHead::read(&raw).expect("a head")
        };
        assert!(!has_ended(&raw(began)));
        assert!(has_ended(&raw(began + 10_000_000)));
        assert!(!has_ended(&raw(0)), "unknown");
    }

    #[test]
    fn a_process_of_another_namespace_may_still_count() {
        // Above the largest id there can be.
        let head = ProfileHead {
            pid: u32::MAX,
            ..ProfileHead::default()
        };
        let raw = |namespace: u64| {
            let mut raw = holloway_testkit::raw::RawWriter::new(head.clone(), 4096 - 64).finish();
            raw[88..96].copy_from_slice(&namespace.to_le_bytes());
            RawHead::read(&raw).expect("a head")
        };
        let own = own_namespace().expect("a namespace");
        assert!(has_ended(&raw(own)));
        assert!(has_ended(&raw(0)), "unknown");
        assert!(!has_ended(&raw(own + 1)));
    }
}
