//! Reads only the heads of files, to check that a head can be read without the rest of its file.

use holloway_format::{
    FormatError, ImageMap, LoopsHead, VariationHead, decode_image, read_loops, read_variation,
};

/// The build id of an image's path map, from the bytes of its head alone.
///
/// # Errors
/// Returns the errors of [`decode_image`].
pub fn image_build_id(bytes: &[u8]) -> Result<[u8; 16], FormatError> {
    // `holloway_format::image` has the layout: 52 bytes, the name, and a checksum.
    let name = bytes.get(36..).and_then(|rest| rest.first_chunk());
    let name = name.map_or(0, |length| u32::from_le_bytes(*length) as usize);
    let head = &bytes[..bytes.len().min(52 + name + 4)];
    decode_image(head).map(|map| map.build_id)
}

/// The head of a file of slab forests, for any image.
///
/// # Errors
/// If the bytes are not a file of slab forests of the current version, or the head is damaged.
pub fn loops_head(bytes: &[u8]) -> Result<LoopsHead, FormatError> {
    read_loops(bytes, &any_image(bytes)).map(|profile| profile.head)
}

/// The head of a file of timings, for any image.
///
/// # Errors
/// If the bytes are not a file of timings of the current version, or the head is damaged.
pub fn variation_head(bytes: &[u8]) -> Result<VariationHead, FormatError> {
    read_variation(bytes, &any_image(bytes)).map(|profile| profile.head)
}

/// An empty image with the build id of the file.
fn any_image(bytes: &[u8]) -> ImageMap {
    let build_id = bytes.get(16..).and_then(|rest| rest.first_chunk());
    ImageMap {
        build_id: build_id.copied().unwrap_or_default(),
        ..ImageMap::default()
    }
}
