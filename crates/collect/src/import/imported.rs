//! The result of an import, in memory, and its files in a run's directory.

use std::collections::BTreeMap;
use std::path::Path;

use holloway_format::branches::{BRANCHES_EXTENSION, BranchFile};
use holloway_format::pack_map;
use holloway_format::samples::{SAMPLES_EXTENSION, SampleRecord};

use super::files::Sections;
use crate::error::StoreError;
use crate::files::{map_name, write_atomically};

/// Imported samples and branch records, in memory.
#[derive(Debug)]
pub struct Imported {
    /// The samples.
    pub samples: SampleRecord,
    /// The branch records, and where all of this comes from.
    pub branches: BranchFile,
    /// The paths of files with blocks whose build could not be checked, because the input has no
    /// build ids.
    pub unverified: Vec<String>,
    /// The path maps: build id and bytes.
    pub(super) maps: BTreeMap<[u8; 16], Vec<u8>>,
    /// By path: the straight sections of files that carry their bitcode and have no path map.
    pub(super) sections: BTreeMap<String, Sections>,
}

impl Imported {
    /// Writes everything into a run's directory. If a file cannot be written, no new file is left
    /// behind.
    ///
    /// # Errors
    /// If the directory has an import, or a file cannot be written.
    pub fn store(&self, directory: &Path) -> Result<(), StoreError> {
        let imported = |extension: &str| directory.join(format!("imported.{extension}"));
        let names = [BRANCHES_EXTENSION, SAMPLES_EXTENSION].map(imported);
        if names.iter().any(|path| path.exists()) {
            return Err(StoreError::Imported {
                directory: directory.to_owned(),
            });
        }
        let maps = self.maps.iter();
        let maps =
            maps.map(|(build_id, bytes)| (directory.join(map_name(build_id)), bytes, build_id));
        // Other runs in the directory may use a map.
        let maps = maps.filter(|(path, ..)| !path.exists());
        let maps = maps.map(|(path, bytes, build_id)| (path, pack_map(bytes, build_id)));
        // The samples come last: a reader of them finds the other files.
        let others = names
            .into_iter()
            .zip([self.branches.encode(), self.samples.encode()]);
        let mut written = Vec::new();
        for (path, bytes) in maps.chain(others) {
            if let Err(error) = write_atomically(&path, &bytes) {
                for path in written {
                    std::fs::remove_file(path).ok();
                }
                return Err(error);
            }
            written.push(path);
        }
        Ok(())
    }
}

/// The name of the imported file.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
