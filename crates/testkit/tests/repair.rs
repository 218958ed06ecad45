//! Tests that repair restores each checksum, and changes no other bytes.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_abi::Kind;
use holloway_format::trace::{Block, StringHash, Symbol, Terminal, Token, TraceHead, TraceWriter};
use holloway_format::{
    Count, ForestNode, FunctionForest, Guide, GuideFunction, LineFlavor, LoopsHead, LoopsProfile,
    ModuleMap, PathId, Piece, ProcessImage, Recipe, encode_image, write_loops, write_sealed,
    write_variation,
};
use holloway_testkit::samples::{self, Sample};
use holloway_testkit::{build, repair};

/// Damages each byte of a file in turn. The bytes that repair restores must be the bytes of `words`
/// words.
#[track_caller]
fn check(file: &[u8], repair: impl Fn(&mut [u8]), words: usize) {
    let mut repaired = file.to_vec();
    repair(&mut repaired);
    assert_eq!(repaired, file, "an intact file stays as it is");
    let restored = (0..file.len()).filter(|&at| {
        let mut damaged = file.to_vec();
        damaged[at] ^= 0x55;
        repair(&mut damaged);
        damaged == file
    });
    assert_eq!(restored.count(), 4 * words);
}

/// A module of two functions, with a skipped and a vanished function.
fn module() -> ModuleMap {
    let functions = vec![build::fact().done(), build::slide()];
    ModuleMap {
        counters_size: 1 << 10,
        skipped: vec![build::skipped("naked", "it is naked")],
        gone: vec![build::gone("inlined")],
        ..build::module("m", functions)
    }
}

/// The number of words that repair restores in the fragment of [`module`]: the checksums of the
/// head, of the strings, of the index, of two records, and of the skipped and vanished function;
/// the lengths of the records; and the number of ring counters.
const FRAGMENT: usize = 1 + STRINGS + 1 + 2 + 1 + 1 + 2 + 1;
/// The number of strings: "m", "test", "fact", "fact.c", "slide", "slide.c", "naked", "it is
/// naked", "inlined".
const STRINGS: usize = 9;

#[test]
fn repairs_fragments() {
    check(&module().encode(), repair::fragment, FRAGMENT);
}

#[test]
fn repairs_image_maps() {
    let fragment = module().encode();
    let (map, _) = encode_image(Kind::Paths, "app", &[(0, &fragment), (1 << 10, &fragment)]);
    check(&map, repair::image_map, 1 + 2 + 2 * FRAGMENT);
}

#[test]
fn repairs_sealed_profiles() {
    let image = build::image("app", vec![module()]);
    let profile = build::profile(&image, 7, &[(0, 0, &[(1, 2)]), (0, 1, build::SLIDE_FIRST)]);
    // The head, two indexes, two records with their lengths.
    check(&write_sealed(&profile), repair::sealed_profile, 1 + 2 + 4);
}

#[test]
fn repairs_loops() {
    let node = ForestNode {
        depth: 0,
        path: PathId(1),
        count: Count(300),
    };
    let profile = LoopsProfile {
        head: LoopsHead {
            process: ProcessImage {
                image: "app".to_owned(),
                ..ProcessImage::default()
            },
            k: 4,
            ..LoopsHead::default()
        },
        functions: vec![FunctionForest {
            nodes: vec![node],
            ..FunctionForest::default()
        }],
        damage: Vec::new(),
    };
    check(&write_loops(&profile), repair::loops, 1 + 1 + 2);
}

#[test]
fn repairs_timings() {
    let image = samples::timed(vec![build::slide()]);
    let word = *samples::names(&image).values().next().unwrap();
    let words = Sample::new(word, 5, 70).words();
    let timings = samples::read(&image, &words);
    let profile = samples::sealed(&image, &timings, Kind::Variation);
    assert_eq!(profile.functions.len(), 1);
    check(&write_variation(&profile), repair::variation, 1 + 1 + 2);
}

#[test]
fn repairs_traces() {
    let head = TraceHead {
        process: 7,
        build_id: [3; 16],
    };
    let mut writer = TraceWriter::new(Vec::new(), &head).unwrap();
    let stream = writer.stream(9).unwrap();
    let block = Block {
        is_fresh: true,
        terminals: vec![Terminal::Gap],
        tokens: vec![Token::symbol(Symbol::terminal(0))],
        length: 1,
        hash: StringHash::from_numbers(&[0]),
        change: 0,
    };
    writer.block(stream, &block).unwrap();
    // The head, and three records: the stream, its block, and the index. The bytes after the index
    // are no record.
    check(&writer.finish().unwrap(), repair::trace, 1 + 3);
}

#[test]
fn repairs_guides() {
    let function = GuideFunction {
        linkage_name: "f".into(),
        graph_hash: 5,
        edges: vec![Count(300), Count(0)],
    };
    let guide: Guide = [function].into_iter().collect();
    check(&guide.encode(), repair::guide, 1);
}

#[test]
fn repairs_recipes() {
    let recipe = Recipe {
        flavor: LineFlavor::Ld,
        linker: b"ld".to_vec(),
        opt: "O2".into(),
        arguments: vec![vec![Piece::Output]],
        files: Vec::new(),
    };
    check(&recipe.encode().unwrap(), repair::recipe, 1);
}
