//! Splits the fuzzer's bytes into a map and a file of its image: the length of the map, the map,
//! and the file. The checksums of both are recomputed.

use holloway_format::{ImageMap, decode_image};
use holloway_testkit::repair;

/// The map and the file in `bytes`; none if there is no map. `repair_file` recomputes the checksums
/// of the file.
pub fn split(bytes: &[u8], repair_file: fn(&mut [u8])) -> Option<(ImageMap, Vec<u8>)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
    let (map, file) = rest.split_at(length);
    let (mut map, mut file) = (map.to_vec(), file.to_vec());
    repair::image_map(&mut map);
    repair_file(&mut file);
    Some((decode_image(&map).ok()?, file))
}
