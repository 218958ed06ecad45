//! Tests of path maps: round trips, and the functions that are lost by damage.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeSet;

use common::{function_indices, image, module, small_function, small_modules};
use holloway_abi::Kind;
use holloway_format::{
    Counters, DamagedFile, FormatError, FunctionIndex, ImageMap, ModuleMap, Text, decode_image,
    encode_image,
};
use holloway_testkit::{heads::image_build_id, repair};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn decoding_a_module_inverts_encoding(module in module()) {
        let bytes = module.encode();
        prop_assert_eq!(&bytes, &module.encode());
        let (decoded, damage) = ModuleMap::decode(&bytes).unwrap();
        prop_assert_eq!(damage, []);
        prop_assert_eq!(decoded, module);
    }

    #[test]
    fn decoding_an_image_inverts_encoding(modules in vec(module(), 0..4)) {
        let bytes = image(&modules);
        prop_assert_eq!(&bytes, &image(&modules));
        let map = decode_image(&bytes).unwrap();
        prop_assert_eq!(&map.damage, &[]);
        prop_assert_eq!(map.name.as_str(), "app");
        prop_assert_eq!(image_build_id(&bytes), Ok(map.build_id));
        prop_assert_eq!(map.modules.into_iter().map(|placed| placed.module).collect::<Vec<_>>(), modules);
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in vec(any::<u8>(), 0..300)) {
        let _ = ModuleMap::decode(&bytes);
        let _ = decode_image(&bytes);
    }

    /// The parser checks the content even if the checksums are correct. So a map without damage is
    /// valid.
    #[test]
    fn altered_content_is_checked(module in module(), edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = module.encode();
        for (index, byte) in edits {
            *index.get_mut(&mut bytes[12..]) = byte;
        }
        repair::fragment(&mut bytes);
        if let Ok((module, damage)) = ModuleMap::decode(&bytes) {
            module.functions.iter().filter(|function| !function.is_damaged()).for_each(|function| assert_valid(&module, function));
            if damage.is_empty() {
                prop_assert_eq!(ModuleMap::decode(&module.encode()), Ok((module, damage)));
            }
        }
    }

    #[test]
    fn altered_images_are_checked(modules in vec(module(), 1..4), edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = image(&modules);
        for (index, byte) in edits {
            *index.get_mut(&mut bytes[12..]) = byte;
        }
        repair::image_map(&mut bytes);
        let _ = decode_image(&bytes);
    }
}

/// Checks the properties of a decoded function that users of the map rely on.
fn assert_valid(module: &ModuleMap, function: &holloway_format::FunctionMap) {
    let blocks = function.blocks.len() as u32;
    assert!(function.entry < blocks && function.exit < blocks);
    let edges = matches!(function.counters, Counters::Edges { .. });
    assert_eq!(function.path_count == 0, edges);
    assert!(function.dag.is_empty() || !edges);
    let lists = [&function.counted, &function.tree];
    assert!(lists.iter().all(|list| list.is_empty() || edges));
    let edge_count = function.edges.len() as u32;
    assert!(lists.into_iter().flatten().all(|&edge| edge < edge_count));
    if let Counters::Edges { len, .. } = function.counters {
        assert_eq!(function.counted.len() as u64, len);
    }
    assert!(
        function
            .edges
            .iter()
            .all(|edge| edge.from < blocks && edge.to < blocks)
    );
    assert!(
        function
            .dag
            .iter()
            .all(|edge| edge.from < blocks && edge.to < blocks)
    );
    assert!(function.dag.iter().all(|edge| {
        function
            .implied_ends(edge.kind)
            .is_some_and(|(_, to)| to < blocks)
    }));
    let block_places = function.blocks.iter().flat_map(|block| &block.places);
    let mut places =
        block_places.chain(function.edges.iter().filter_map(|edge| edge.place.as_ref()));
    assert!(places.all(|place| (place.scope as usize) < function.scopes.len()));
    for (index, scope) in function.scopes.iter().enumerate() {
        assert!(scope.parent.is_none_or(|parent| (parent as usize) < index));
    }
    let end = function.counters.offset() + function.counters.size();
    assert!(end <= module.counters_size && function.counters.offset().is_multiple_of(8));
}

/// Returns the functions of `damaged` that differ from `intact`. They must be empty, and the damage
/// must list them.
fn lost(intact: &ImageMap, damaged: &ImageMap) -> BTreeSet<FunctionIndex> {
    let mut lost = BTreeSet::new();
    for index in function_indices(intact) {
        let expected = intact.function(index).unwrap();
        if damaged.function(index) == Some(expected) {
            continue;
        }
        lost.insert(index);
        let FunctionIndex { module, function } = index;
        assert_eq!(
            damaged.function(index),
            None,
            "function {function} of module {module} is altered and not rejected"
        );
        let listed = damaged.damage.iter().any(|damage| {
            damage.file == DamagedFile::Map
                && (damage.module == Some(module)
                    && damage.function.is_none_or(|index| index == function)
                    || damage.fact.to_string().contains("bytes are missing"))
        });
        assert!(
            listed,
            "function {function} of module {module} is lost and not listed"
        );
    }
    lost
}

#[test]
fn every_flipped_bit_is_detected_and_loses_one_function() {
    let bytes = image(&small_modules());
    let intact = decode_image(&bytes).unwrap();
    let (mut rejected, mut single) = (0, 0);
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(map) = decode_image(&flipped) else {
            rejected += 1;
            continue;
        };
        assert!(!map.damage.is_empty(), "bit {bit}");
        let lost = lost(&intact, &map);
        let modules_lost = map
            .damage
            .iter()
            .filter(|damage| damage.fact.to_string().starts_with("the module is lost"))
            .count();
        if modules_lost == 0 {
            // Here, functions do not share strings. The end of a string is the start of the next.
            assert!(lost.len() <= 2, "bit {bit}: {lost:?}");
            single += usize::from(lost.len() == 1);
        }
        assert!(modules_lost <= 1);
    }
    // The whole map is rejected only if the image's head is damaged.
    assert_eq!(rejected, 8 * (52 + 3 + 4));
    assert!(single > 1000);
}

#[test]
fn every_truncation_is_detected() {
    let bytes = image(&small_modules());
    let intact = decode_image(&bytes).unwrap();
    for length in 0..bytes.len() {
        match decode_image(&bytes[..length]) {
            Ok(map) => {
                assert!(!map.damage.is_empty(), "{length}");
                lost(&intact, &map);
            }
            Err(error) => assert!(length < 52 + 3 + 4, "{length}: {error}"),
        }
    }
    // If a map is cut in its last function, the parser keeps the other functions.
    let map = decode_image(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(
        lost(&intact, &map),
        BTreeSet::from([FunctionIndex {
            module: 1,
            function: 0
        }])
    );
}

#[test]
fn a_section_may_be_padded() {
    let mut bytes = image(&small_modules());
    let intact = decode_image(&bytes).unwrap();
    bytes.extend_from_slice(&[0; 13]);
    assert_eq!(decode_image(&bytes).unwrap(), intact);
}

#[test]
fn damage_names_its_function() {
    let bytes = image(&small_modules());
    let last = bytes.len() - 1;
    let mut flipped = bytes.clone();
    flipped[last] ^= 0x10;
    let map = decode_image(&flipped).unwrap();
    let [damage] = &map.damage[..] else {
        panic!("{:?}", map.damage)
    };
    assert_eq!(
        (damage.module, damage.function, damage.name.as_str()),
        (Some(1), Some(0), "four")
    );
    let text = damage.to_string();
    assert!(text.starts_with("path map damaged at byte "), "{text}");
    assert!(
        text.contains(", function 0 of module 1 (four): the checksum of the record"),
        "{text}"
    );
}

#[test]
fn errors_name_the_version_of_the_file() {
    let mut bytes = image(&small_modules());
    bytes[8] = 7;
    let error = decode_image(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "format 7, this holloway reads 2-5; record it again"
    );
    assert_eq!(
        decode_image(b"\x7fELF\x02\x01\x01\0").unwrap_err(),
        FormatError::NotAMap
    );
    assert_eq!(decode_image(b"").unwrap_err(), FormatError::NotAMap);
    assert_eq!(
        ModuleMap::decode(b"BC\xc0\xde12345678").unwrap_err(),
        FormatError::NotAFragment
    );
}

#[test]
fn the_example_of_the_layout() {
    let mut function = small_function("f", 1, Counters::Array { offset: 0, len: 1 });
    function.linkage_name = "f".into();
    function.file = "a.c".into();
    function.hash = 0;
    function.scopes.clear();
    function
        .blocks
        .iter_mut()
        .for_each(|block| *block = holloway_format::BlockMap::default());
    function.edges[0].outcome = holloway_format::Outcome::Return;
    function.edges[0].place = None;
    let module = ModuleMap {
        counters_size: 8,
        functions: vec![function],
        ..ModuleMap::default()
    };
    let record = [
        1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 2, 0, 1, 0, 0, 0, 0, 1, 0, 2, 0x24, 1,
        0, 0, 0,
    ];
    assert!(module.encode().ends_with(&record), "{:x?}", module.encode());
}

#[test]
fn the_example_of_edge_counters() {
    let module = ModuleMap {
        counters_size: 8,
        functions: vec![common::small_edge_function("f")],
        ..ModuleMap::default()
    };
    let bytes = module.encode();
    // Counted: one, edge 0. Tree: two, edges 2 and 1.
    assert!(bytes.ends_with(&[1, 0, 2, 4, 3]), "{bytes:x?}");
}

#[test]
fn the_example_of_the_image_layout() {
    let (bytes, id) = encode_image(Kind::Paths, "x", &[]);
    let mut expected = b"HLWIMMAP\x05\0\0\0\0\0\0\0".to_vec();
    expected.extend_from_slice(&id);
    expected.extend_from_slice(&[
        0, 0, 0, 0, 1, 0, 0, 0, 0x39, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'x',
    ]);
    assert_eq!((&bytes[..53], bytes.len()), (&expected[..], 57));
}

#[test]
fn the_build_id_follows_the_content() {
    let [first, second] = small_modules();
    let (a, b) = (first.encode(), second.encode());
    let id = |kind, name: &str, parts: &[(u64, &[u8])]| encode_image(kind, name, parts).1;
    let ids = [
        id(Kind::Paths, "app", &[(0, &a), (48, &b)]),
        id(Kind::Edges, "app", &[(0, &a), (48, &b)]),
        id(Kind::Paths, "apq", &[(0, &a), (48, &b)]),
        id(Kind::Paths, "app", &[(0, &a), (56, &b)]),
        id(Kind::Paths, "app", &[(0, &b), (48, &a)]),
        id(Kind::Paths, "app", &[(0, &a)]),
        id(Kind::Paths, "app", &[]),
    ];
    assert_eq!(BTreeSet::from(ids).len(), ids.len());
}

#[test]
fn the_structure_hash_covers_graph_and_numbering() {
    let function = small_function("f", 3, Counters::Array { offset: 0, len: 3 });
    let hash = function.structure_hash();
    let mut other = function.clone();
    other.name = "g".into();
    other.blocks[0].places.clear();
    other.counters = Counters::Hash { offset: 8 };
    assert_eq!(other.structure_hash(), hash);
    other.dag[0].value = 9;
    assert_ne!(other.structure_hash(), hash);
    let mut other = function.clone();
    other.edges[0].to = 0;
    assert_ne!(other.structure_hash(), hash);
    let mut other = function;
    other.exit = 0;
    assert_ne!(other.structure_hash(), hash);
}

#[test]
fn the_structure_hash_covers_the_counted_edges() {
    let function = common::small_edge_function("f");
    let mut other = function.clone();
    other.tree.reverse();
    assert_ne!(other.structure_hash(), function.hash);
    let mut other = function.clone();
    other.counted[0] = 1;
    assert_ne!(other.structure_hash(), function.hash);
}

#[test]
fn the_graph_hash_does_not_depend_on_the_kind() {
    let edges = common::small_edge_function("f");
    let paths = small_function("g", 2, Counters::Array { offset: 0, len: 2 });
    assert_ne!(edges.hash, paths.hash);
    assert_eq!(edges.graph_hash(), paths.graph_hash());
    let three_paths = small_function("g", 3, Counters::Array { offset: 0, len: 3 });
    assert_ne!(three_paths.graph_hash(), paths.graph_hash());
    let mut cut = paths.clone();
    cut.edges[0].kind = holloway_format::EdgeKind::Cut;
    assert_ne!(cut.graph_hash(), paths.graph_hash());
}

#[test]
fn counters_never_overlap() {
    let mut module = small_modules()[0].clone();
    module.functions[2].counters = Counters::Array { offset: 8, len: 2 };
    let (decoded, damage) = ModuleMap::decode(&module.encode()).unwrap();
    assert!(decoded.functions[2].is_damaged());
    assert_eq!(decoded.functions[2].name, "three");
    assert_eq!(damage.len(), 1);
    let (a, b) = (small_modules()[0].encode(), small_modules()[1].encode());
    let map = decode_image(&encode_image(Kind::Paths, "app", &[(0, &a), (8, &b)]).0).unwrap();
    assert_eq!(
        (map.modules[1].module.functions.len(), map.damage.len()),
        (0, 1)
    );
}

/// A string of 64 KiB that 2,000 scopes use takes memory only once. Lengths of 2^32 take no memory
/// or time.
#[test]
fn small_files_take_little_memory() {
    let mut function = small_function("f", 1, Counters::Array { offset: 0, len: 1 });
    function.scopes = vec![function.scopes[0].clone(); 2_000];
    let long = Text::from("x".repeat(1 << 16));
    for scope in &mut function.scopes {
        scope.name = long.clone();
    }
    let module = ModuleMap {
        counters_size: 8,
        functions: vec![function],
        ..ModuleMap::default()
    };
    let bytes = module.encode();
    assert!(bytes.len() < 1 << 17);
    let (decoded, _) = ModuleMap::decode(&bytes).unwrap();
    let scopes = &decoded.functions[0].scopes;
    assert!(
        scopes
            .iter()
            .all(|scope| scope.name.as_ptr() == scopes[0].name.as_ptr())
    );
    for offset in (12..60).step_by(4) {
        let mut bytes = small_modules()[0].encode();
        bytes[offset..offset + 4].copy_from_slice(&[0xff; 4]);
        repair::fragment(&mut bytes);
        let _ = ModuleMap::decode(&bytes);
    }
}

/// A map of version 2 has the same layout, but no leaks.
#[test]
fn maps_of_version_2_are_read() {
    let new = image(&small_modules());
    let mut old = new.clone();
    old[8] = 2;
    let fragment_starts = |offset: &usize| old[*offset..].starts_with(b"HLWMODUL");
    let starts: Vec<usize> = (0..old.len()).filter(fragment_starts).collect();
    assert_eq!(starts.len(), 2);
    for start in starts {
        old[start + 8] = 2;
    }
    repair::image_map(&mut old);
    let (new, old) = (decode_image(&new).unwrap(), decode_image(&old).unwrap());
    assert!(old.leaks_unknown && !new.leaks_unknown);
    assert!(old.damage.is_empty(), "{:?}", old.damage);
    assert_eq!(old.modules, new.modules);
    for version in [1, 6] {
        let mut bytes = small_modules()[0].encode();
        bytes[8] = version;
        repair::fragment(&mut bytes);
        let (found, reads) = (version.into(), 2..=5);
        let expected = Err(FormatError::Version { found, reads });
        assert_eq!(ModuleMap::decode(&bytes), expected);
    }
}

/// A record with leaks also has the lists before them, which may be empty.
#[test]
fn leaks_are_decoded() {
    let counters = Counters::Array { offset: 0, len: 1 };
    let leaking = holloway_format::FunctionMap {
        leaks: vec![0],
        ..small_function("f", 1, counters)
    };
    let module = ModuleMap {
        counters_size: 16,
        functions: vec![
            leaking,
            small_function("g", 1, Counters::Array { offset: 8, len: 1 }),
        ],
        ..ModuleMap::default()
    };
    let (read, damage) = ModuleMap::decode(&module.encode()).unwrap();
    assert!(damage.is_empty(), "{damage:?}");
    assert_eq!(read.functions[0].leaks, vec![0]);
    assert!(read.functions[1].leaks.is_empty());
}

/// Only builds for training have the contents of blocks. The lists before them may be empty.
#[test]
fn contents_are_decoded() {
    let counters = |offset| Counters::Array { offset, len: 1 };
    let plain = small_function("g", 1, counters(8));
    let content = |hash, callees: &[&str]| holloway_format::BlockContent {
        hash,
        callees: callees.iter().map(|&name| name.into()).collect(),
        indirect_calls: hash % 3,
        sized_operations: hash % 300,
    };
    let contents = vec![content(0x7856_3412, &["g", "h", "g"]), content(0, &[])];
    let training = holloway_format::FunctionMap {
        contents: contents.clone(),
        ..small_function("f", 1, counters(0))
    };
    let module = ModuleMap {
        counters_size: 16,
        functions: vec![training, plain],
        ..ModuleMap::default()
    };
    let (read, damage) = ModuleMap::decode(&module.encode()).unwrap();
    assert!(damage.is_empty(), "{damage:?}");
    assert_eq!(read.functions[0].contents, contents);
    assert!(read.functions[1].contents.is_empty());
}
