//! `images SIZE` makes pictures with smooth, flat and noisy parts, packs each as PNG in several ways and unpacks it again;
//! prints the sizes and a checksum.

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Filter};
use std::io::Cursor;

const WIDTH: u32 = 400;
const HEIGHT: u32 = 300;

fn picture(seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::new();
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = if (x / 50 + y / 50 + seed).is_multiple_of(4) { state >> 28 } else { 0 };
            let flat = (x / 100 * 60 + y / 75 * 20) & 255;
            let [r, g] = if (x ^ y) & 64 == 0 { [flat, flat / 2] } else { [x * y / 400, x + y * 2] };
            bytes.extend([(r + noise) as u8, (g ^ noise) as u8, (x + seed) as u8]);
        }
    }
    bytes
}

fn pack(pixels: &[u8], compression: Compression, filter: Filter) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, WIDTH, HEIGHT);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(compression);
    encoder.set_filter(filter);
    let mut writer = encoder.write_header().expect("memory takes a header");
    writer.write_image_data(pixels).expect("memory takes an image");
    writer.finish().expect("memory takes an end");
    file
}

fn unpack(file: &[u8]) -> Vec<u8> {
    let mut reader = Decoder::new(Cursor::new(file)).read_info().expect("it was packed just now");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
    reader.next_frame(&mut pixels).expect("it has a frame");
    pixels
}

fn main() {
    let size: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: images SIZE");
    let ways = [
        (Compression::Fast, Filter::Up),
        (Compression::Balanced, Filter::Paeth),
        (Compression::Balanced, Filter::Adaptive),
        (Compression::High, Filter::Sub),
    ];
    let (mut total, mut sum) = (0, 5381u64);
    for seed in 0..size {
        let pixels = picture(seed);
        for (compression, filter) in ways {
            let file = pack(&pixels, compression, filter);
            assert!(unpack(&file) == pixels, "another picture came back");
            total += file.len();
            sum = file.iter().fold(sum, |a, b| a.wrapping_mul(33).wrapping_add(u64::from(*b)));
        }
    }
    println!("{total} {sum:x}");
}
