//! An image's path map: as it is, and with the checksums put right.
#![no_main]

use holloway_format::{decode_image, image::peek_image, repair};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::image_map(&mut repaired);
    read(&repaired);
});

fn read(bytes: &[u8]) {
    let id = peek_image(bytes);
    assert_eq!(decode_image(bytes).map(|map| map.build_id), id);
}
