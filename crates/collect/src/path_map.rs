//! Path maps of a run: `<build id>.hwm` beside the profiles, or the section in the program's file.

use std::path::Path;

use holloway_analysis::note::Unreadable;
use holloway_format::{ImageMap, ProfileHead, decode_image};

use crate::error::StoreError;
use crate::files::{map_name, read_regular, write_atomically};
use crate::image;

/// Makes sure that the run's directory holds the path map of a profile's image, and reads the map.
/// Without any map there is nothing to store: the report tells why. `linked` is a directory of maps
/// that the links left.
///
/// # Errors
/// The run's directory cannot be written.
pub(crate) fn keep_map(
    directory: &Path,
    head: &ProfileHead,
    linked: Option<&Path>,
) -> Result<Option<ImageMap>, StoreError> {
    let name = map_name(&head.build_id);
    let kept = directory.join(&name);
    if let Ok(map) = read_map_file(&kept) {
        return Ok(Some(map));
    }
    let stored = || {
        let bytes = read_regular(&linked?.join(&name)).ok()?;
        Some((decode_image(&bytes).ok()?, bytes))
    };
    let Some((map, bytes)) = map_of_image(head).ok().or_else(stored) else {
        return Ok(None);
    };
    write_atomically(&kept, &bytes)?;
    Ok(Some(map))
}

/// Reads a `.hwm` file.
///
/// # Errors
/// The file cannot be read, or is no path map.
pub fn read_map_file(path: &Path) -> Result<ImageMap, Unreadable> {
    let bytes = read_regular(path).map_err(|error| Unreadable::MapFile {
        file: path.to_owned(),
        message: error.to_string(),
    })?;
    decode_image(&bytes).map_err(|error| Unreadable::MapFormat {
        file: path.to_owned(),
        error,
    })
}

/// The path map in the image's file, and its bytes.
///
/// # Errors
/// There is none, or the image is no longer the build that the profile was recorded from.
pub(crate) fn map_of_image(head: &ProfileHead) -> Result<(ImageMap, Vec<u8>), Unreadable> {
    let path = Path::new(&head.image_path);
    let bytes = image::read_map(path).map_err(|error| Unreadable::NoMapInProgram {
        message: error.to_string(),
    })?;
    let map = decode_image(&bytes).map_err(|error| Unreadable::MapInProgram {
        file: path.to_owned(),
        error,
    })?;
    if map.build_id != head.build_id {
        return Err(Unreadable::Rebuilt {
            profile: head.build_id,
            image: head.image.clone(),
            file: path.to_owned(),
            program: map.build_id,
        });
    }
    Ok((map, bytes))
}

/// The path map of a profile: the file beside it, else the section in the image's file, which is
/// then stored beside the profile.
///
/// # Errors
/// There is no readable map of the profile's build.
pub(crate) fn find_map(profile: &Path, head: &ProfileHead) -> Result<ImageMap, Unreadable> {
    let kept = profile.with_file_name(map_name(&head.build_id));
    if kept.exists() {
        let map = read_map_file(&kept)?;
        if map.build_id == head.build_id {
            return with_functions(map, &kept);
        }
        return Err(Unreadable::MapOfOtherBuild {
            file: kept,
            build_id: map.build_id,
        });
    }
    let (map, bytes) = map_of_image(head)?;
    let map = with_functions(map, Path::new(&head.image_path))?;
    // Someone else's run may be read-only: it is shown all the same.
    write_atomically(&kept, &bytes).ok();
    Ok(map)
}

/// The map, unless all its functions are lost: a report of such a map would show only zeros.
fn with_functions(map: ImageMap, file: &Path) -> Result<ImageMap, Unreadable> {
    let mut modules = map.modules.iter();
    let has_any = modules.any(|placed| !placed.module.functions.is_empty());
    match map.damage.first() {
        Some(damage) if !has_any => Err(Unreadable::NoFunctions {
            file: file.to_owned(),
            fact: damage.fact.clone(),
        }),
        _ => Ok(map),
    }
}
