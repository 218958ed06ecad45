//! Finds the addresses of an image's blocks in its program file, by pseudo-probes.

use std::path::Path;

use holloway_analysis::block_addresses::{AddressLookup, BlockAddresses, UnknownAddresses};
use holloway_format::{ImageMap, ProfileHead};
use holloway_sample::code_map::{CodeMap, CodeMapError};

/// Reads the addresses of the blocks of a profile's image from its file.
///
/// # Errors
/// If the file is missing, is another build, or has no pseudo-probes.
pub fn block_addresses(head: &ProfileHead, map: &ImageMap) -> AddressLookup {
    let code_map = CodeMap::read(Path::new(&head.image_path)).map_err(|error| match error {
        CodeMapError::Unreadable => UnknownAddresses::NoFile,
        CodeMapError::NotWoven => UnknownAddresses::OtherBuild,
        CodeMapError::NoProbes => UnknownAddresses::NoProbes,
        CodeMapError::NoSymbols => UnknownAddresses::NoSymbols,
        CodeMapError::Map(_) | CodeMapError::Probes(_) => UnknownAddresses::Damaged,
    })?;
    if code_map.build_id != map.build_id {
        return Err(UnknownAddresses::OtherBuild);
    }
    let starts = code_map
        .starts()
        .map(|(block, address)| (block.function, block.block, address));
    Ok(BlockAddresses::new(map, starts))
}
