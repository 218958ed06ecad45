//! Fuzzes the reader of images' path maps: with the bytes as they are, and with repaired checksums.
//! All analyses must accept a map that the reader accepts.
#![no_main]

use holloway_analysis::directions::Directions;
use holloway_analysis::loops::shape;
use holloway_analysis::{RunProfile, lines};
use holloway_format::{
    Count, FunctionCounts, FunctionIndex, ImageMap, Profile, ProfileHead, decode_image,
};
use holloway_testkit::{heads::image_build_id, repair};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::image_map(&mut repaired);
    read(&repaired);
});

fn read(bytes: &[u8]) {
    let id = image_build_id(bytes);
    let map = decode_image(bytes);
    assert_eq!(map.as_ref().map(|map| map.build_id), id.as_ref().copied());
    if let Ok(map) = map {
        analyze(map);
    }
}

/// Runs the analyses of all reports on a map and a profile with counts of the first 16 paths or
/// edges of each function.
fn analyze(map: ImageMap) {
    let modules = (0u32..).zip(&map.modules);
    let functions = modules.flat_map(|(module, placed)| {
        let functions = (0u32..).zip(&placed.module.functions);
        functions.map(move |(function, map)| {
            let counter_count = map.path_count.max(map.counted.len() as u64).min(16);
            FunctionCounts {
                index: FunctionIndex { module, function },
                // The last of 16 counts makes every sum overflow.
                counts: (0..counter_count)
                    .map(|number| (number, Count(u64::MAX >> (15 - number))))
                    .collect(),
                ..FunctionCounts::default()
            }
        })
    });
    let head = ProfileHead {
        build_id: map.build_id,
        ..ProfileHead::default()
    };
    let profile = Profile {
        functions: functions.collect(),
        ..Profile::from_head(head)
    };
    let run = RunProfile::new(vec![(map, vec![profile])]);
    lines::counts(&run, &|_, _| true);
    lines::bounds(&run, &|_, _| true);
    for function in &run.functions {
        shape::count(function);
        let directions = Directions::new(&function.map, |_| false);
        for edge in (0u32..).take(function.map.edges.len()) {
            directions.destination(edge);
        }
    }
}
