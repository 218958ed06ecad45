//! Finds the path map of an image: in the file `<build id>.hwm` in the run's directory, or in a
//! section of the program's file.

use std::path::Path;

use holloway_analysis::note::Unreadable;
use holloway_format::{ImageMap, ProfileHead, decode_image};

use crate::error::StoreError;
use crate::files::{map_name, read_regular, write_atomically};
use crate::image;

/// Stores the path map of a profile's image in the run's directory, unless it is there already.
/// Returns the map, or `None` if no map is found; the report then shows the reason. `linked` is the
/// directory where link steps recorded path maps.
///
/// # Errors
/// If the run's directory cannot be written.
pub(crate) fn store_map(
    directory: &Path,
    head: &ProfileHead,
    linked: Option<&Path>,
) -> Result<Option<ImageMap>, StoreError> {
    let name = map_name(&head.build_id);
    let map_file = directory.join(&name);
    if let Ok(map) = read_map_file(&map_file) {
        return Ok(Some(map));
    }
    let recorded_by_link = || {
        let bytes = read_regular(&linked?.join(&name)).ok()?;
        Some((decode_image(&bytes).ok()?, bytes))
    };
    let Some((map, bytes)) = map_of_image(head).ok().or_else(recorded_by_link) else {
        return Ok(None);
    };
    write_atomically(&map_file, &bytes)?;
    Ok(Some(map))
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
    decode_image(&bytes).map_err(|error| Unreadable::MapFormat {
        file: path.to_owned(),
        error,
    })
}

/// Reads the path map in the image's file. Returns the map and its bytes.
///
/// # Errors
/// If the file has no path map, or the file is no longer the build that wrote the profile.
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
    let (map, bytes) = map_of_image(head)?;
    let map = with_functions(map, Path::new(&head.image_path))?;
    // Another user's run may be read-only. It can be shown without the map file.
    write_atomically(&map_file, &bytes).ok();
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
