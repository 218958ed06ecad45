//! The path map of an image for fuzzed profiles. The map gets the build id of the profile, so that
//! the reader accepts the profile.

use holloway_format::{
    BlockMap, Counters, FunctionMap, ImageMap, ModuleMap, PlacedModule, Profile,
};

/// A map of three functions: the first with 3 paths in an array of 4 counters at offset 0, the
/// second with 2^40 hashed paths, whose segment pointer is at offset 32, and the third with 2 edge
/// counters at offset 40 and the segment pointer of its call targets behind them.
pub fn map(build_id: [u8; 16]) -> ImageMap {
    let function = |path_count, counters| FunctionMap {
        path_count,
        counters,
        blocks: vec![BlockMap::default()],
        ..FunctionMap::default()
    };
    let functions = vec![
        function(3, Counters::Array { offset: 0, len: 4 }),
        function(1 << 40, Counters::Hash { offset: 32 }),
        function(
            0,
            Counters::Edges {
                offset: 40,
                len: 2,
                has_values: true,
            },
        ),
    ];
    let module = ModuleMap {
        counters_size: 64,
        functions,
        ..ModuleMap::default()
    };
    ImageMap {
        build_id,
        modules: vec![PlacedModule { base: 0, module }],
        ..ImageMap::default()
    }
}

/// Checks that every count belongs to an existing counter.
pub fn check(profile: &Profile, map: &ImageMap) {
    for function in &profile.functions {
        let shape = map
            .function(function.index)
            .expect("counts of a function in the map");
        assert!(function.counts.is_sorted_by(|left, right| left.0 < right.0));
        assert!(
            function
                .counts
                .iter()
                .all(|&(path, count)| path < shape.counter_limit() && count.0 > 0)
        );
    }
}
