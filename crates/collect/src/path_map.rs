//! Finds the path map of an image: in the file `<build id>.hwm` in the run's directory, or in a
//! section of the program's file.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use holloway_analysis::note::Unreadable;
use holloway_format::{
    ImageMap, ProfileHead, decode_image, is_intact_packed_map, pack_map, peek_map, read_map,
};

use crate::error::StoreError;
use crate::files::{map_name, read_beginning, read_regular, write_atomically};
use crate::image;
use crate::run_directory::delete_unused_maps;
use crate::settings::MapDirectories;

/// Stores the path map of a profile's image in the run's directory, unless it is there already.
/// Returns whether the directory holds the map. If no map is found, the report shows the reason.
///
/// A map is compressed and stored once per build, in the store that runs share. A run's directory
/// has a hard link to it, so the directory stays complete when it is moved, and when the store is
/// deleted. A file system without hard links gets a copy.
///
/// # Errors
/// If the run's directory cannot be written.
pub(crate) fn store_map(
    directory: &Path,
    head: &ProfileHead,
    maps: &MapDirectories,
) -> Result<bool, StoreError> {
    let name = map_name(&head.build_id);
    let kept = directory.join(&name);
    if holds_map(&kept, head) {
        return Ok(true);
    }
    // Hard links do not lead to another file system.
    let store = maps.store.as_ref().filter(|store| {
        let runs = store.parent().unwrap_or(store);
        let device = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.dev());
        device(runs) == device(directory)
    });
    let stored = store.map(|store| store.join(&name));
    if let Some(stored) = stored
        .as_ref()
        .filter(|stored| holds_intact_map(stored, head))
        && share(stored, &kept)
    {
        return Ok(true);
    }
    let linked = || {
        let linked = maps.linked.as_ref()?.join(&name);
        let bytes = read_regular(&linked).ok()?;
        peek_map(&bytes)
            .is_ok_and(|id| id == head.build_id)
            .then_some(bytes)
    };
    let Some(map) = map_bytes_of_image(head).ok().or_else(linked) else {
        return Ok(false);
    };
    let packed = pack_map(&map, &head.build_id);
    if let Some(stored) = stored
        && add_to_store(&stored, &packed).is_ok()
        && share(&stored, &kept)
    {
        return Ok(true);
    }
    write_atomically(&kept, &packed)?;
    Ok(true)
}

/// Whether the file is a path map of the profile's build, as its head says.
fn holds_map(file: &Path, head: &ProfileHead) -> bool {
    let bytes = read_beginning(file);
    bytes.is_some_and(|bytes| peek_map(&bytes).is_ok_and(|id| id == head.build_id))
}

/// Whether the file is an undamaged compressed path map of the profile's build. All runs of a build
/// would share the damage.
fn holds_intact_map(file: &Path, head: &ProfileHead) -> bool {
    holds_map(file, head) && File::open(file).is_ok_and(|mut file| is_intact_packed_map(&mut file))
}

/// Adds a map to the store, and deletes the maps that no run links to.
fn add_to_store(stored: &Path, packed: &[u8]) -> Result<(), StoreError> {
    let Some(directory) = stored.parent() else {
        return Ok(());
    };
    std::fs::create_dir_all(directory).ok();
    delete_unused_maps(directory);
    write_atomically(stored, packed)
}

/// Links `kept` to `stored`, in place of a damaged file. Returns whether it could.
fn share(stored: &Path, kept: &Path) -> bool {
    match std::fs::hard_link(stored, kept) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let temporary = kept.with_extension(format!("{}.new", std::process::id()));
            let is_replaced = std::fs::hard_link(stored, &temporary)
                .and_then(|()| std::fs::rename(&temporary, kept))
                .is_ok();
            // If both names were links to one file, the rename did nothing.
            std::fs::remove_file(&temporary).ok();
            is_replaced
        }
        Err(_) => false,
    }
}

/// Reads the path map that the run's directory holds, else the one in the image's file.
pub(crate) fn stored_map(directory: &Path, head: &ProfileHead) -> Option<ImageMap> {
    let kept = read_map_file(&directory.join(map_name(&head.build_id)));
    let kept = kept.ok().filter(|map| map.build_id == head.build_id);
    match kept {
        Some(map) if map.damage.is_empty() => Some(map),
        damaged => map_of_image(head).ok().or(damaged),
    }
}

/// Reads a `.hwm` file.
///
/// # Errors
/// If the file cannot be read, or is no path map.
pub fn read_map_file(path: &Path) -> Result<ImageMap, Unreadable> {
    let bytes = read_regular(path).map_err(|error| Unreadable::MapFile {
        file: path.to_owned(),
        message: error.to_string(),
    })?;
    read_map(&bytes).map_err(|error| Unreadable::MapFormat {
        file: path.to_owned(),
        error,
    })
}

/// Reads the bytes of the path map in the image's file.
///
/// # Errors
/// If the file has no path map, or the file is no longer the build that wrote the profile.
fn map_bytes_of_image(head: &ProfileHead) -> Result<Vec<u8>, Unreadable> {
    let path = Path::new(&head.image_path);
    let bytes = image::read_map(path).map_err(|error| Unreadable::NoMapInProgram {
        message: error.to_string(),
    })?;
    let program = peek_map(&bytes).map_err(|error| Unreadable::MapInProgram {
        file: path.to_owned(),
        error,
    })?;
    match program == head.build_id {
        true => Ok(bytes),
        false => Err(Unreadable::Rebuilt {
            profile: head.build_id,
            image: head.image.clone(),
            file: path.to_owned(),
            program,
        }),
    }
}

/// Reads the path map in the image's file.
///
/// # Errors
/// If the file has no readable path map, or is no longer the build that wrote the profile.
fn map_of_image(head: &ProfileHead) -> Result<ImageMap, Unreadable> {
    let bytes = map_bytes_of_image(head)?;
    decode_image(&bytes).map_err(|error| Unreadable::MapInProgram {
        file: Path::new(&head.image_path).to_owned(),
        error,
    })
}

/// Finds the path map of a profile: in the file next to the profile, else in the image's file. In
/// the second case, stores the map next to the profile.
///
/// # Errors
/// If no map of the profile's build can be read.
pub(crate) fn find_map(profile: &Path, head: &ProfileHead) -> Result<ImageMap, Unreadable> {
    let map_file = profile.with_file_name(map_name(&head.build_id));
    if map_file.exists() {
        let map = read_map_file(&map_file)?;
        if map.build_id == head.build_id {
            return with_functions(map, &map_file);
        }
        return Err(Unreadable::MapOfOtherBuild {
            file: map_file,
            build_id: map.build_id,
        });
    }
    let map = with_functions(map_of_image(head)?, Path::new(&head.image_path))?;
    if let Some(directory) = profile.parent() {
        // Another user's run may be read-only. It can be shown without the map file.
        store_map(directory, head, &MapDirectories::default()).ok();
    }
    Ok(map)
}

/// Rejects a map that lost all its functions to damage. A report with this map would show only
/// zeros.
fn with_functions(map: ImageMap, file: &Path) -> Result<ImageMap, Unreadable> {
    let mut modules = map.modules.iter();
    let has_functions = modules.any(|placed| !placed.module.functions.is_empty());
    match map.damage.first() {
        Some(damage) if !has_functions => Err(Unreadable::NoFunctions {
            file: file.to_owned(),
            fact: damage.fact.clone(),
        }),
        _ => Ok(map),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_abi::Kind;
    use holloway_format::encode_image;

    #[test]
    fn runs_share_a_map_and_a_damaged_one_is_replaced() {
        let (map, build_id) = encode_image(Kind::Paths, "app", &[]);
        let head = ProfileHead {
            build_id,
            ..ProfileHead::default()
        };
        let home = tempfile::tempdir().unwrap();
        let directory = |name: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let maps = MapDirectories {
            linked: Some(directory("linked")),
            store: Some(directory("runs").join(".maps")),
        };
        let [first, second, third] = ["runs/1", "runs/2", "runs/3"].map(directory);
        assert!(!store_map(&first, &head, &maps).unwrap());
        let name = map_name(&build_id);
        std::fs::write(home.path().join("linked").join(&name), &map).unwrap();
        for run in [&first, &second] {
            assert!(store_map(run, &head, &maps).unwrap());
            assert!(stored_map(run, &head).unwrap().damage.is_empty());
        }
        let stored = maps.store.as_ref().unwrap().join(&name);
        let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
        assert_eq!(inode(&stored), inode(&first.join(&name)));
        assert_eq!(inode(&stored), inode(&second.join(&name)));

        let mut bytes = std::fs::read(&stored).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&stored, bytes).unwrap();
        assert!(store_map(&third, &head, &maps).unwrap());
        assert!(stored_map(&third, &head).unwrap().damage.is_empty());
        assert_eq!(inode(&stored), inode(&third.join(&name)));
    }
}
