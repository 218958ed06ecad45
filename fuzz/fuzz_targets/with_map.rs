//! A file that is read with the map of its image: a length, that much of a map, and the file, the checksums of both put right.

use holloway_format::{ImageMap, decode_image};
use holloway_testkit::repair;

/// The map and the file in `bytes`; nothing if there is no map.
pub fn split(bytes: &[u8], right: fn(&mut [u8])) -> Option<(ImageMap, Vec<u8>)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
    let (map, file) = rest.split_at(length);
    let (mut map, mut file) = (map.to_vec(), file.to_vec());
    repair::image_map(&mut map);
    right(&mut file);
    Some((decode_image(&map).ok()?, file))
}
