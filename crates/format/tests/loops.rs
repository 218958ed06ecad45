//! Tests of slab forests: round trips, damage that loses only one function, and arbitrary bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::equal_functions;
use holloway_format::{
    Count, ForestNode, FormatError, FunctionForest, FunctionIndex, ImageMap, LoopsHead,
    LoopsProfile, LoopsStats, PathId, ProcessImage, read_loops, write_loops,
};
use holloway_testkit::{heads::loops_head, repair};
use proptest::collection::vec;
use proptest::prelude::*;

fn forest() -> impl Strategy<Value = (Vec<ForestNode>, Vec<(PathId, Count)>)> {
    let nodes = vec((0u32..12, 0u64..100, 0u64..), 0..40).prop_map(|nodes| {
        let mut max_depth = 0;
        let nodes = nodes.into_iter().map(|(depth, path, count)| {
            let depth = depth.min(max_depth);
            max_depth = depth + 1;
            ForestNode {
                depth,
                path: PathId(path),
                count: Count(count),
            }
        });
        nodes.collect()
    });
    let dropped = prop::collection::btree_map(0u64..100, 0u64.., 0..5);
    (
        nodes,
        dropped.prop_map(|dropped| {
            let dropped = dropped.into_iter();
            dropped
                .map(|(path, count)| (PathId(path), Count(count)))
                .collect()
        }),
    )
}

fn profile() -> impl Strategy<Value = LoopsProfile> {
    let functions = prop::collection::btree_map((0u32..2, 0u32..3), forest(), 0..6);
    (
        functions,
        7u32..1025,
        any::<(u32, u64, bool)>(),
        "[a-zé]{0,9}",
    )
        .prop_map(
            |(functions, k, (pid, number, forked), image)| LoopsProfile {
                head: LoopsHead {
                    process: ProcessImage {
                        build_id: [9; 16],
                        image_path: format!("/bin/{image}").into(),
                        image,
                        pid,
                        ppid: 1,
                        threads: 2,
                        forked,
                    },
                    k,
                    stats: LoopsStats {
                        words: number,
                        lost_words: 5,
                        ..LoopsStats::default()
                    },
                },
                functions: functions
                    .into_iter()
                    .map(|((module, function), (nodes, dropped))| FunctionForest {
                        index: FunctionIndex { module, function },
                        hash: 7,
                        nodes,
                        dropped,
                    })
                    .collect(),
                damage: Vec::new(),
            },
        )
}

fn example() -> LoopsProfile {
    let node = |depth, path, count| ForestNode { depth, path, count };
    LoopsProfile {
        head: LoopsHead {
            process: ProcessImage {
                build_id: [9; 16],
                ..ProcessImage::default()
            },
            k: 4,
            ..LoopsHead::default()
        },
        functions: vec![FunctionForest {
            index: FunctionIndex {
                module: 0,
                function: 2,
            },
            hash: 7,
            nodes: vec![
                node(0, PathId(5), Count(3)),
                node(1, PathId(6), Count(2)),
                node(0, PathId(6), Count(0)),
            ],
            dropped: Vec::new(),
        }],
        damage: Vec::new(),
    }
}

#[test]
fn the_example_of_the_layout() {
    let bytes = write_loops(&example());
    let payload = [
        0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 5, 3, 0, 6, 2, 2, 6, 0, 0,
    ];
    assert!(bytes.ends_with(&payload));
    assert_eq!(bytes.len(), 164 + 16 + 8 + payload.len());
}

#[test]
fn other_files_are_rejected() {
    let bytes = write_loops(&example());
    assert_eq!(loops_head(b"HLWSEALD"), Err(FormatError::NotLoops));
    let newer = [&bytes[..8], &[9], &bytes[9..]].concat();
    assert!(matches!(
        loops_head(&newer),
        Err(FormatError::Version { found: 9, .. })
    ));
    let other = ImageMap::default();
    assert!(matches!(
        read_loops(&bytes, &other),
        Err(FormatError::BuildMismatch { .. })
    ));
    for end in 0..bytes.len() {
        let cut = read_loops(&bytes[..end], &equal_functions());
        assert!(
            cut.is_err() || cut.is_ok_and(|read| !read.damage.is_empty()),
            "{end}"
        );
    }
}

#[test]
fn a_function_with_another_graph_is_left_out() {
    let mut map = equal_functions();
    map.modules[0].module.functions[2].hash = 8;
    let read = read_loops(&write_loops(&example()), &map).unwrap();
    assert!(read.functions.is_empty());
    assert_eq!(read.damage.len(), 1);
}

proptest! {
    #[test]
    fn reading_inverts_writing(profile in profile()) {
        let bytes = write_loops(&profile);
        prop_assert_eq!(&loops_head(&bytes).unwrap(), &profile.head);
        prop_assert_eq!(read_loops(&bytes, &equal_functions()).unwrap(), profile);
    }

    #[test]
    fn a_flipped_bit_is_detected(profile in profile(), index in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = write_loops(&profile);
        let index = index.index(bytes.len());
        bytes[index] ^= 1u8 << bit;
        if let Ok(read) = read_loops(&bytes, &equal_functions()) {
            prop_assert!(!read.damage.is_empty());
            prop_assert!(read.functions.iter().all(|forest| profile.functions.contains(forest)));
        }
    }

    #[test]
    fn altered_content_with_correct_checksums_is_checked(
        profile in profile(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = write_loops(&profile);
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        repair::loops(&mut bytes);
        if let Ok(read) = read_loops(&bytes, &equal_functions()) {
            for forest in &read.functions {
                prop_assert!(forest.nodes.iter().all(|node| node.path < PathId(100)));
                prop_assert!(forest.dropped.is_sorted_by(|a, b| a.0 < b.0));
            }
            let intact = LoopsProfile { damage: Vec::new(), ..read.clone() };
            let read_again = read_loops(&write_loops(&intact), &equal_functions()).unwrap();
            prop_assert_eq!(read_again.functions, read.functions);
        }
    }
}
