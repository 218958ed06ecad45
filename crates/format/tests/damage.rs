//! Parsers detect all damage to files with checksums. The tests cut small files of each format at
//! every length, and flip each of their bits. The parser must then return an error, list damage, or
//! read the original content.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{image, small_modules};
use holloway_abi::Kind;
use holloway_format::trace::{
    Block, StringHash, Symbol, Terminal, Token, TraceFile, TraceHead, TraceWriter,
};
use holloway_format::{
    Count, Cycles, ForestNode, FormatError, FunctionCounts, FunctionForest, FunctionIndex,
    FunctionTimings, Guide, GuideFunction, ImageMap, LoopsHead, LoopsProfile, PathId, PathTimings,
    ProcessImage, Profile, ProfileHead, Timing, VariationHead, VariationProfile, decode_image,
    encode_image, read_loops, read_profile, read_variation, write_loops, write_sealed,
    write_variation,
};

/// `read` parses a file. It returns the file's content, and the number of losses that the parser
/// reports.
fn check<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    read: impl Fn(&[u8]) -> Result<(T, usize), FormatError>,
) {
    let (original, losses) = read(bytes).unwrap();
    assert_eq!(losses, 0);
    let check_damaged = |damaged: &[u8], damage: &dyn Fn() -> String| match read(damaged) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok((read, 0)) => assert!(read == original, "{}: {read:?} for {original:?}", damage()),
        Ok(_) => {}
    };
    for length in 0..bytes.len() {
        check_damaged(&bytes[..length], &|| format!("cut at {length}"));
    }
    let mut damaged = bytes.to_vec();
    for bit in 0..8 * bytes.len() {
        damaged[bit / 8] ^= 1 << (bit % 8);
        check_damaged(&damaged, &|| format!("byte {}, bit {}", bit / 8, bit % 8));
        damaged[bit / 8] = bytes[bit / 8];
    }
}

fn small_image() -> ImageMap {
    decode_image(&image(&small_modules())).unwrap()
}

/// The indices and hashes of the first two functions of a map.
fn first_functions(map: &ImageMap) -> Vec<(FunctionIndex, u64)> {
    let indices = common::function_indices(map).into_iter().take(2);
    indices
        .map(|index| (index, map.function(index).unwrap().hash))
        .collect()
}

#[test]
fn damage_to_a_path_map_is_detected() {
    let bytes = image(&small_modules());
    check(&bytes, |bytes| {
        let mut map = decode_image(bytes)?;
        let damage = std::mem::take(&mut map.damage).len();
        Ok((map, damage))
    });
    let (empty, _) = encode_image(Kind::Paths, "nothing", &[]);
    check(&empty, |bytes| {
        let mut map = decode_image(bytes)?;
        let damage = std::mem::take(&mut map.damage).len();
        Ok((map, damage))
    });
}

#[test]
fn damage_to_a_sealed_profile_is_detected() {
    let map = small_image();
    let functions = first_functions(&map).into_iter();
    let functions = functions
        .map(|(index, hash)| FunctionCounts::new(index, hash, [(0, Count(3)), (1, Count(300))]));
    let head = ProfileHead {
        kind: map.kind,
        build_id: map.build_id,
        image: "app".to_owned(),
        ..ProfileHead::default()
    };
    let profile = Profile {
        functions: functions.collect(),
        ..Profile::from_head(head)
    };
    check(&write_sealed(&profile), |bytes| {
        let mut profile = read_profile(bytes, &map)?;
        let damage = std::mem::take(&mut profile.damage).len();
        Ok((profile, damage))
    });
}

#[test]
fn damage_to_slab_forests_is_detected() {
    let map = small_image();
    let node = |depth, path, count| ForestNode { depth, path, count };
    let functions = first_functions(&map).into_iter();
    let functions = functions.map(|(index, hash)| FunctionForest {
        index,
        hash,
        nodes: vec![
            node(0, PathId(1), Count(3)),
            node(1, PathId(0), Count(2)),
            node(0, PathId(0), Count(0)),
        ],
        dropped: vec![(PathId(1), Count(7))],
    });
    let profile = LoopsProfile {
        head: LoopsHead {
            process: ProcessImage {
                build_id: map.build_id,
                image: "app".to_owned(),
                ..ProcessImage::default()
            },
            k: 4,
            ..LoopsHead::default()
        },
        functions: functions.collect(),
        damage: Vec::new(),
    };
    check(&write_loops(&profile), |bytes| {
        let mut profile = read_loops(bytes, &map)?;
        let damage = std::mem::take(&mut profile.damage).len();
        Ok((profile, damage))
    });
}

#[test]
fn damage_to_timings_is_detected() {
    let map = small_image();
    let mut calm = Timing::default();
    for (inclusive, exclusive) in [(5, Some(5)), (700, Some(40)), (9, None)] {
        calm.record(Cycles(inclusive), exclusive.map(Cycles));
    }
    let functions = first_functions(&map).into_iter();
    let functions = functions.map(|(index, hash)| FunctionTimings {
        index,
        hash,
        paths: vec![PathTimings {
            path: PathId(1),
            calm: calm.clone(),
            unknown: Count(2),
            nested: Count(300),
            ..PathTimings::default()
        }],
    });
    let profile = VariationProfile {
        head: VariationHead {
            process: ProcessImage {
                build_id: map.build_id,
                image: "app".to_owned(),
                ..ProcessImage::default()
            },
            kind: Kind::Times,
            ..VariationHead::default()
        },
        functions: functions.collect(),
        damage: Vec::new(),
    };
    check(&write_variation(&profile), |bytes| {
        let mut profile = read_variation(bytes, &map)?;
        let damage = std::mem::take(&mut profile.damage).len();
        Ok((profile, damage))
    });
}

#[test]
fn damage_to_traces_is_detected() {
    let head = TraceHead {
        process: 1,
        build_id: [7; 16],
    };
    let string = [0, 0, 1];
    let path = |path| Terminal::Path { function: 3, path };
    let block = Block {
        is_fresh: true,
        terminals: vec![path(9), path(300)],
        tokens: string
            .map(|id| Token::symbol(Symbol::terminal(id)))
            .to_vec(),
        length: string.len() as u64,
        hash: StringHash::from_numbers(&string),
        change: 0,
    };
    let mut writer = TraceWriter::new(Vec::new(), &head).unwrap();
    for thread in [1, 2] {
        let stream = writer.stream(thread).unwrap();
        writer.block(stream, &block).unwrap();
    }
    check(&writer.finish().unwrap(), |bytes| {
        let file = TraceFile::read(bytes)?;
        let mut missing = usize::from(file.damage.is_some() || !file.is_finished);
        let mut streams = Vec::new();
        for stream in &file.streams {
            let blocks: Vec<_> = stream.blocks().collect();
            missing += blocks.iter().filter(|block| block.is_err()).count();
            let blocks: Vec<Block> = blocks.into_iter().flatten().collect();
            streams.push((stream.thread, stream.length, stream.hash, blocks));
        }
        Ok(((file.head, streams), missing))
    });
}

#[test]
fn damage_to_a_guide_is_detected() {
    let function = |name: &str, edges: &[u64]| GuideFunction {
        linkage_name: name.into(),
        graph_hash: 7,
        edges: edges.iter().copied().map(Count).collect(),
    };
    let guide: Guide = [function("f", &[1, 300]), function("g", &[0])]
        .into_iter()
        .collect();
    check(&guide.encode(), |bytes| Ok((Guide::decode(bytes)?, 0)));
}
