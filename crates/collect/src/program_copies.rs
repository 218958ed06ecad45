//! The copies of sampled programs in a run's directory, `<name>.elf`: how they are written, and how
//! they lead from sampled addresses to blocks.
//!
//! A monitor copies parts of a program, and reads neither its path map nor its symbols. A report or
//! a manager reads them later, at its own cost.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use holloway_analysis::note::{Note, Unreadable};
use holloway_format::ImageMap;
use holloway_format::error::hex_id;
use holloway_format::samples::{KnownBlocks, MonitoredFile};
use holloway_sample::code_map::{CodeMap, CodeMapError};
use holloway_sample::program_copy::ProgramCopy;

use crate::error::StoreError;
use crate::files::map_name;
use crate::path_map::read_map_file;

/// Extension of copies.
const COPY_EXTENSION: &str = "elf";

/// The path map of a sampled file.
pub(crate) struct FoundMap {
    /// The map.
    pub(crate) map: ImageMap,
    /// Its bytes, if it comes from a copy.
    pub(crate) bytes: Option<Vec<u8>>,
}

fn copy_path(directory: &Path, id: &[u8; 16]) -> PathBuf {
    directory.join(format!("{}.{COPY_EXTENSION}", hex_id(id)))
}

/// Writes a copy into a run's directory, in one step, unless it is there already. A program that
/// became shorter meanwhile has no copy.
///
/// # Errors
/// If the directory cannot be written.
pub(crate) fn store(directory: &Path, copy: &ProgramCopy) -> Result<(), StoreError> {
    let path = copy_path(directory, &copy.id);
    if path.exists() {
        return Ok(());
    }
    let write = || -> io::Result<()> {
        let file = tempfile::Builder::new()
            .prefix(".holloway-")
            // The system applies the umask to these permissions.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        copy.write(file.as_file())?;
        file.persist(&path)?;
        Ok(())
    };
    match write() {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(StoreError::Write {
            path,
            kind: error.kind(),
        }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Finds the path map of a sampled file, and the blocks of its addresses. `directory` is the run's.
/// What cannot be read is added to `damage`.
pub(crate) fn find_blocks(
    file: &mut MonitoredFile,
    directory: &Path,
    damage: &mut Vec<Note>,
) -> Option<FoundMap> {
    let copy = match file.blocks {
        KnownBlocks::Copied { copy } => copy_path(directory, &copy),
        KnownBlocks::Known { map, .. } => {
            let file = directory.join(map_name(&map));
            return match read_map_file(&file) {
                Ok(map) => Some(FoundMap { map, bytes: None }),
                Err(why) => {
                    damage.push(Note::Unreadable { file, why });
                    None
                }
            };
        }
        KnownBlocks::NotWoven
        | KnownBlocks::NoProbes
        | KnownBlocks::NoSymbols
        | KnownBlocks::Damaged
        | KnownBlocks::Unread => return None,
    };
    match CodeMap::read_with_map(&copy) {
        Ok((code_map, map, bytes)) => {
            for address in &mut file.addresses {
                let block = code_map.find(address.address);
                address.block = block.map(|block| (block.function, block.block));
            }
            file.blocks = KnownBlocks::Known {
                map: code_map.build_id,
                left_out: code_map.left_out,
            };
            let bytes = Some(bytes);
            Some(FoundMap { map, bytes })
        }
        Err(CodeMapError::Map(_) | CodeMapError::Probes(_)) => {
            file.blocks = KnownBlocks::Damaged;
            None
        }
        Err(
            error @ (CodeMapError::Unreadable
            | CodeMapError::NotWoven
            | CodeMapError::NoProbes
            | CodeMapError::NoSymbols),
        ) => {
            let why = Unreadable::System {
                message: error.to_string(),
            };
            damage.push(Note::Unreadable { file: copy, why });
            None
        }
    }
}
