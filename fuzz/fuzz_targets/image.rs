//! The image that the fuzzed profiles belong to. It takes its build id from the profile, so that
//! none is refused for its build.

use holloway_format::{
    BlockMap, Counters, FunctionMap, ImageMap, ModuleMap, PlacedModule, Profile,
};

/// A map of three functions: one with an array of 3 paths at 0, one with 2^40 hashed paths at 32,
/// and one with 2 edge counters at 40.
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
        function(0, Counters::Edges { offset: 40, len: 2 }),
    ];
    let module = ModuleMap {
        counters_size: 56,
        functions,
        ..ModuleMap::default()
    };
    ImageMap {
        build_id,
        modules: vec![PlacedModule { base: 0, module }],
        ..ImageMap::default()
    }
}

/// Every count belongs to a counter that exists.
pub fn check(profile: &Profile, map: &ImageMap) {
    for function in &profile.functions {
        let shape = map
            .function(function.module, function.function)
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
