//! Splits the fuzzer's bytes into a path map and a result file of the same image, and repairs the
//! checksums of both. The bytes are the length of the map (4 bytes), the map, and the file.

use holloway_format::{ImageMap, decode_image};
use holloway_testkit::repair;

/// Returns the map and the file in `bytes`, or `None` if there is no valid map. `repair_file`
/// recomputes the checksums of the file.
pub fn split(bytes: &[u8], repair_file: fn(&mut [u8])) -> Option<(ImageMap, Vec<u8>)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
    let (map, file) = rest.split_at(length);
    let (mut map, mut file) = (map.to_vec(), file.to_vec());
    repair::image_map(&mut map);
    repair_file(&mut file);
    Some((decode_image(&map).ok()?, file))
}
