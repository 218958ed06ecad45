//! Reads a run's directory (or one profile of it) into what the analysis works on.
//!
//! Each profile is joined with the path map of its image: `<build id>.hwm` beside it, else the section in the
//! image's file as the profile names it, which then is kept beside the profile: the program may be gone next time. What
//! cannot be read is named and left out; the rest is shown.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use holloway_analysis::RunProfile;
use holloway_format::{ImageMap, Profile, ProfileHead, decode_image, peek_profile, read_profile};

use crate::failure::{Failure, Result};
use crate::{finish, images, rundir};

/// Profiles by build id, each group with its map.
type Images = BTreeMap<[u8; 16], (ImageMap, Vec<Profile>)>;

/// Reads `run`: a run's directory, or one `.hwp` file.
///
/// # Errors
/// It does not exist, or nothing in it can be read.
pub(crate) fn load(run: &Path) -> Result<RunProfile> {
    let files = profile_files(run)?;
    let mut images = Images::new();
    let mut unreadable = Vec::new();
    let mut damaged = Vec::new();
    for file in &files {
        match add(file, &mut images) {
            Ok(0) => {}
            Ok(records) => damaged.push(format!(
                "{}: {records} damaged records are left out",
                file.display()
            )),
            Err(why) => unreadable.push(format!("{}: {why}", file.display())),
        }
    }
    if images.is_empty() {
        return Err(nothing_readable(run, &unreadable));
    }
    let mut profile = RunProfile::new(in_order(images));
    // Whole files first: the report shows the first few.
    unreadable.append(&mut damaged);
    profile.damage.splice(0..0, unreadable);
    Ok(profile)
}

fn profile_files(run: &Path) -> Result<Vec<PathBuf>> {
    let metadata = std::fs::metadata(run).map_err(|error| {
        Failure::new(format_args!(
            "cannot read the run {}: {error}; name a run's directory, as in target/holloway/runs",
            run.display()
        ))
    })?;
    if metadata.is_file() {
        return Ok(vec![run.to_owned()]);
    }
    finish::profiles(run)
}

/// Reads one profile and puts it to the others of its image. Gives the number of its damaged records.
fn add(file: &Path, images: &mut Images) -> std::result::Result<usize, String> {
    let bytes = images::read_regular(file).map_err(|error| error.to_string())?;
    let head = peek_profile(&bytes).map_err(|error| error.to_string())?;
    let (map, profiles) = match images.entry(head.build_id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert((find_map(file, &head)?, Vec::new())),
    };
    match read_profile(&bytes, map) {
        Ok(profile) => {
            let damaged = profile.damage.len();
            profiles.push(profile);
            Ok(damaged)
        }
        Err(error) => {
            if profiles.is_empty() {
                images.remove(&head.build_id);
            }
            Err(error.to_string())
        }
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
            return Ok(map);
        }
        return Err(format!(
            "{} is of build {}",
            beside.display(),
            holloway_format::error::short_id(&map.build_id)
        ));
    }
    let (map, bytes) = finish::map_of_image(head)?;
    // Someone else's run may be read-only: it is shown all the same.
    rundir::write_atomically(&beside, &bytes).ok();
    Ok(map)
}

/// The image whose process began first is the program asked for, so it comes first.
fn in_order(images: Images) -> Vec<(ImageMap, Vec<Profile>)> {
    let mut images: Vec<_> = images.into_values().collect();
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
