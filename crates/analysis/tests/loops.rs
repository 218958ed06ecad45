//! Tests of slab forests and path forests: the figures of the paper, slow reference
//! implementations, and pruning (D'Elia, Demetrescu, Finocchi 2013).
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod iterations;
mod periods;

use holloway_testkit::{build, streams};
use std::collections::BTreeMap;
use std::sync::Arc;

use build::{compute_numbering, function};
use holloway_abi::Kind;
use holloway_analysis::loops::{Kipf, Limits, LoopsBuilder, LoopsRun, SlabForest, paths, seal};
use holloway_analysis::stream::{StreamCounts, Words};
use holloway_flow::PathId;
use holloway_format::{Count, FunctionMap, ImageMap, LoopsHead, Outcome, ProcessImage};
use proptest::prelude::*;
use streams::{Simulator, placed, program};

/// The graph of Figure 3, with A to F as blocks 0 to 5. The paper's path numbers: 0 BDE, 1 BDEF, 2
/// BCE, 3 BCEF, 4 ABDE, 5 ABDEF, 6 ABCE, 7 ABCEF.
fn figure_3() -> FunctionMap {
    let mut build = function("figure", "figure.c", 1);
    for line in 1..=6 {
        build = build.block(1, &[(0, line)]);
    }
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 3, Outcome::False)
        .edge(1, 2, Outcome::True)
        .edge(2, 4, Outcome::Jump)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 1, Outcome::True)
        .edge(4, 5, Outcome::False)
        .edge(5, 6, Outcome::Return)
        .done()
}

const STREAM: [u32; 14] = [6, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 3];

/// The words of the paths, ordered by the path numbers of the paper. Holloway numbers the paths in
/// another order.
fn figure_words() -> (Arc<ImageMap>, Vec<u32>) {
    let map = figure_3();
    let numbering = compute_numbering(&map);
    let mut by_paper = vec![0; 8];
    for id in 0..8 {
        let path = numbering.regenerate(PathId(id)).unwrap();
        let blocks: String = path
            .blocks
            .iter()
            .map(|block| (b'A' + block.0 as u8) as char)
            .collect();
        let paper = [
            "BDE", "BDEF", "BCE", "BCEF", "ABDE", "ABDEF", "ABCE", "ABCEF",
        ];
        let paper = paper.iter().position(|name| *name == blocks).unwrap();
        by_paper[paper] = id as u32;
    }
    let image = placed(vec![map], Kind::Loops);
    let first = Words::new(&image).functions().next().unwrap().first;
    (image, by_paper.into_iter().map(|id| first + id).collect())
}

fn figure_forest(k: u32) -> (SlabForest, Vec<u32>) {
    let (image, words) = figure_words();
    let mut builder = LoopsBuilder::new(Words::new(&image), k, Limits::default());
    let stream: Vec<u32> = STREAM.iter().map(|&path| words[path as usize]).collect();
    builder.feed(0, &stream);
    (builder.finish(), words)
}

/// A forest of sequences as text: `label:count(children)`, with children ordered by label. Labels
/// are the paper's path numbers: the indices in `words_of_paper`.
fn text(sequences: &BTreeMap<Vec<u32>, u64>, words_of_paper: &[u32]) -> String {
    fn below(
        sequences: &BTreeMap<Vec<u32>, u64>,
        words_of_paper: &[u32],
        prefix: &[u32],
    ) -> Vec<String> {
        let level = sequences
            .keys()
            .filter(|longer| longer.len() == prefix.len() + 1);
        let mut children: Vec<(usize, &Vec<u32>)> = level
            .filter(|longer| longer.starts_with(prefix))
            .map(|longer| {
                (
                    words_of_paper
                        .iter()
                        .position(|word| word == longer.last().unwrap())
                        .unwrap(),
                    longer,
                )
            })
            .collect();
        children.sort();
        let children = children.into_iter().map(|(label, sequence)| {
            let inside = below(sequences, words_of_paper, sequence).join(" ");
            let inside = if inside.is_empty() {
                inside
            } else {
                format!("({inside})")
            };
            format!("{label}:{}{inside}", sequences[sequence])
        });
        children.collect()
    }
    below(sequences, words_of_paper, &[]).join(" ")
}

fn sequences(kipf: &Kipf) -> BTreeMap<Vec<u32>, u64> {
    let nodes = (0u32..).zip(kipf.nodes());
    nodes
        .map(|(index, node)| (kipf.sequence(index), node.count.0))
        .collect()
}

#[test]
fn figure_3_the_4_ipf() {
    let (forest, words) = figure_forest(4);
    let kipf = forest.k_ipf(4);
    assert_eq!(
        text(&sequences(&kipf), &words),
        "0:6(0:3(2:3(2:2 3:1)) 2:3(2:2(0:2) 3:1)) 2:6(0:3(0:3(2:3)) 2:2(0:2(0:2)) 3:1) 3:1 6:1(2:1(0:1(0:1)))"
    );
    let repeated: Vec<u32> = [2, 0, 0, 2]
        .iter()
        .map(|&path: &usize| words[path])
        .collect();
    assert_eq!(kipf.find(&repeated).unwrap().count, Count(3));
    let stats = kipf.stats();
    assert_eq!(stats.nodes, 22);
    assert_eq!(
        format!("{:.2} {:.3}", stats.leaf_level(), stats.inner_degree()),
        "3.33 1.385"
    );
}

#[test]
fn figure_5_the_4_sf() {
    let (forest, words) = figure_forest(4);
    assert_eq!(
        text(&forest.sequences(), &words),
        "0:0(0:0(2:0(2:1(0:1(0:1)))) 2:0(2:0(0:1(0:1(2:1))))) 2:0(0:0(0:0(2:1(3:1))) 3:0) 6:1(2:1(0:1(0:1(2:1(2:1)))))"
    );
}

#[test]
fn nodes_of_both_forests_for_other_k() {
    let nodes = (2..=6).map(|k| {
        let (forest, _) = figure_forest(k);
        assert_eq!(forest.slabs(), 14u64.div_ceil(u64::from(k) - 1));
        assert_eq!(forest.words(), 14);
        (forest.nodes(), forest.k_ipf(k).stats().nodes)
    });
    let expect = [(10, 10), (14, 16), (23, 22), (18, 28), (23, 34)];
    assert_eq!(nodes.collect::<Vec<_>>(), expect);
}

/// Slow reference implementation: all sequences of up to k paths, counted one by one.
fn reference_sequences(activations: &[Vec<u32>], k: usize) -> BTreeMap<Vec<u32>, u64> {
    let mut counts = BTreeMap::new();
    for words in activations {
        for n in 1..=k {
            for window in words.windows(n) {
                *counts.entry(window.to_vec()).or_insert(0) += 1;
            }
        }
    }
    counts
}

/// Slow reference implementation of Definition 3: the slab forest of complete activations.
fn reference_slab_forest(activations: &[Vec<u32>], k: usize) -> BTreeMap<Vec<u32>, u64> {
    let mut counts = BTreeMap::new();
    for words in activations {
        let slabs: Vec<&[u32]> = words.chunks(k - 1).collect();
        for (index, slab) in slabs.iter().enumerate() {
            let before = if index == 0 { &[] } else { slabs[index - 1] };
            let pair = [before, slab].concat();
            for n in before.len() + 1..=pair.len() {
                *counts.entry(pair[..n].to_vec()).or_insert(0) += 1;
            }
            // The ancestors of the counted nodes, and each slab by itself: the last slab of an
            // activation is not the first half of a pair.
            for n in 1..=pair.len() {
                counts.entry(pair[..n].to_vec()).or_insert(0);
            }
            for n in 1..=slab.len() {
                counts.entry(slab[..n].to_vec()).or_insert(0);
            }
        }
    }
    counts
}

/// Random consecutive activations of the figure's function over few paths. Each is a list of the
/// paper's path numbers.
fn activations() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let inside = prop_oneof![
        prop::collection::vec(prop_oneof![Just(0usize), Just(2)], 0..60),
        (
            prop::collection::vec(prop_oneof![Just(0usize), Just(2)], 1..7),
            0usize..12
        )
            .prop_map(|(unit, times)| unit.repeat(times)),
    ];
    let activation = (
        prop_oneof![Just(4), Just(6)],
        inside,
        prop_oneof![Just(1), Just(3)],
    )
        .prop_map(|(first, inside, last)| {
            let mut words = vec![first];
            words.extend(inside);
            words.push(last);
            words
        });
    prop::collection::vec(activation, 0..8)
}

fn forest_of(
    activations: &[Vec<u32>],
    image: &Arc<ImageMap>,
    k: u32,
    limits: Limits,
) -> SlabForest {
    let mut builder = LoopsBuilder::new(Words::new(image), k, limits);
    let mut position = 0;
    for words in activations {
        builder.feed(position, words);
        position += 4 * words.len() as u64;
    }
    builder.finish()
}

/// Replaces the paper's path numbers by words.
fn to_words(activations: &[Vec<usize>], words_of_paper: &[u32]) -> Vec<Vec<u32>> {
    let words = activations
        .iter()
        .map(|paths| paths.iter().map(|&path| words_of_paper[path]).collect());
    words.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn forests_match_the_definitions(activations in activations(), k in 2u32..9) {
        let (image, words_of_paper) = figure_words();
        let activations = to_words(&activations, &words_of_paper);
        let forest = forest_of(&activations, &image, k, Limits::default());
        prop_assert_eq!(forest.sequences(), reference_slab_forest(&activations, k as usize));
        let kipf = forest.k_ipf(k);
        prop_assert_eq!(sequences(&kipf), reference_sequences(&activations, k as usize));
        prop_assert!(kipf.nodes().iter().all(|node| node.missed == Count(0)));
        for (index, node) in (0u32..).zip(kipf.nodes()) {
            let children = kipf.children(index).iter().map(|&child| kipf.nodes()[child as usize].count);
            prop_assert!(node.count >= children.sum());
        }
        let longer = forest_of(&activations, &image, k + 1, Limits::default()).k_ipf(k + 1);
        let longer = sequences(&longer);
        prop_assert!(sequences(&kipf).iter().all(|(sequence, count)| longer.get(sequence) == Some(count)));
        let paths = sequences(&forest.k_ipf(1));
        prop_assert_eq!(paths, reference_sequences(&activations, 1));
    }

    #[test]
    fn forests_of_threads_merge(
        one in activations(), two in activations(), three in activations(), k in 2u32..9,
    ) {
        let (image, words_of_paper) = figure_words();
        let parts = [one, two, three].map(|activations| to_words(&activations, &words_of_paper));
        let mut merged = SlabForest::new(k, Limits::default());
        for part in &parts {
            merged.merge(&forest_of(part, &image, k, Limits::default()));
        }
        let all = parts.concat();
        let forest = forest_of(&all, &image, k, Limits::default());
        prop_assert_eq!(merged.sequences(), forest.sequences());
        prop_assert_eq!(merged.words(), forest.words());
        prop_assert_eq!(sequences(&merged.k_ipf(k)), reference_sequences(&all, k as usize));
    }

    #[test]
    fn nested_activations_are_counted_separately(seed in 1u64.., k in 2u32..9, batch in 1usize..50) {
        let mut state = seed;
        let mut choices = |below: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u32 % below
        };
        for kind in [Kind::Loops, Kind::Trace] {
            let mut simulator = Simulator::new(kind, 0, 60, &mut choices);
            simulator.run();
            let mut builder = LoopsBuilder::new(Words::new(&program(kind)), k, Limits::default());
            for (index, words) in simulator.stream.chunks(batch).enumerate() {
                builder.feed(4 * (index * batch) as u64, words);
            }
            let actual = sequences(&builder.finish().k_ipf(k));
            prop_assert_eq!(actual, reference_sequences(&simulator.truth.activations, k as usize));
        }
    }
}

#[test]
fn stats_of_a_run_match_its_forests() {
    let (image, words_of_paper) = figure_words();
    let activations = noisy(&words_of_paper, 0x9E37_79B9, 3000);
    for k in [2, 3, 7, 40] {
        let words = Words::new(&image);
        let forest = forest_of(&activations, &image, k, Limits::default());
        let head = LoopsHead {
            process: ProcessImage {
                build_id: image.build_id,
                ..ProcessImage::default()
            },
            ..LoopsHead::default()
        };
        let sealed = seal(head, &words, &forest, StreamCounts::default());
        let counted = paths(&sealed).functions;
        let expect = reference_sequences(&activations, 1);
        let first = words.function(0).first;
        assert!(
            counted[0]
                .counts
                .iter()
                .all(|&(path, count)| expect[&vec![first + path as u32]] == count.0)
        );
        assert_eq!(counted[0].counts.len(), expect.len());
        let run = LoopsRun::new(vec![((*image).clone(), vec![sealed.clone(), sealed])]);
        assert_eq!(run.kipf_stats(), forest.k_ipf(k).stats());
        let twice = run.functions[0].kipf(k, Count(1));
        let twice = (0u32..).zip(twice.nodes()).map(|(index, node)| {
            let words = twice
                .sequence(index)
                .iter()
                .map(|path| first + path)
                .collect();
            (words, node.count.0 / 2)
        });
        assert_eq!(
            twice.collect::<BTreeMap<Vec<u32>, u64>>(),
            reference_sequences(&activations, k as usize)
        );
    }
}

/// A stream with a hot cycle and much noise, in activations of very different lengths.
fn noisy(words_of_paper: &[u32], mut seed: u64, words: usize) -> Vec<Vec<u32>> {
    let mut next = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) % below
    };
    let mut activations = Vec::new();
    let mut total = 0;
    while total < words {
        let mut activation = vec![words_of_paper[if next(2) == 0 { 4 } else { 6 }]];
        let length = 1 << next(12);
        while activation.len() < length {
            if next(3) == 0 {
                activation.extend(
                    [0, 2, 2]
                        .repeat(next(30) as usize)
                        .iter()
                        .map(|&path: &usize| words_of_paper[path]),
                );
            } else {
                activation.extend((0..next(9)).map(|_| words_of_paper[2 * next(2) as usize]));
            }
        }
        activation.push(words_of_paper[1 + 2 * next(2) as usize]);
        total += activation.len();
        activations.push(activation);
    }
    activations
}

#[test]
fn the_losses_of_pruning_are_bounded() {
    let (image, words_of_paper) = figure_words();
    for seed in 1..3u64 {
        let activations = noisy(&words_of_paper, seed * 0x9E37_79B9, 130_000);
        let k = 8 + 4 * seed as u32;
        // Batches end within activations, so some activations are open when nodes are dropped.
        let mut builder = LoopsBuilder::new(Words::new(&image), k, Limits { nodes: 4500 });
        for (batch, words) in activations.concat().chunks(777).enumerate() {
            builder.feed(4 * 777 * batch as u64, words);
        }
        let forest = builder.finish();
        assert!(forest.losses().prunings > 1, "{:?}", forest.losses());
        assert!(forest.nodes() <= 4500);
        // No sequence has two nodes, whether its words came as part of a slab or one by one.
        assert_eq!(forest.nodes(), forest.sequences().len() as u64);
        let words: usize = activations.iter().map(Vec::len).sum();
        assert_eq!(forest.words(), words as u64);
        let slabs = activations
            .iter()
            .map(|activation| activation.len().div_ceil(k as usize - 1) as u64);
        assert_eq!(forest.slabs(), slabs.sum::<u64>());
        let real = reference_sequences(&activations, k as usize);
        let kipf = forest.k_ipf(k);
        let mut exact = 0;
        for (index, node) in (0u32..).zip(kipf.nodes()) {
            let count = real[&kipf.sequence(index)];
            assert!(node.count <= Count(count) && count <= (node.count + node.missed).0);
            assert!(node.level > 1 || node.count == Count(count));
            exact += u64::from(node.count == Count(count));
        }
        assert!(exact > 0);
        // The forest contains the hottest sequences.
        let actual = sequences(&kipf);
        let hot = real.iter().filter(|(_, count)| **count > 6000);
        assert!(hot.clone().count() > 8);
        for (sequence, count) in hot {
            assert!(
                actual[sequence] * 2 > *count,
                "{sequence:?}: {} of {count}",
                actual[sequence]
            );
        }
    }
}

/// A loop over `branch_count` consecutive branches. Its body has 2^`branch_count` paths.
fn branches(branch_count: u32) -> FunctionMap {
    let mut build = function("branches", "branches.c", 1);
    for line in 1..=3 * branch_count + 3 {
        build = build.block(1, &[(0, line)]);
    }
    build = build.block(0, &[]).edge(0, 1, Outcome::Jump);
    for branch in 0..branch_count {
        let head = 1 + 3 * branch;
        build = build
            .edge(head, head + 1, Outcome::True)
            .edge(head, head + 2, Outcome::False)
            .edge(head + 1, head + 3, Outcome::Jump)
            .edge(head + 2, head + 3, Outcome::Jump);
    }
    let last = 1 + 3 * branch_count;
    build
        .edge(last, 1, Outcome::True)
        .edge(last, last + 1, Outcome::False)
        .edge(last + 1, last + 2, Outcome::Return)
        .done()
}

/// Activations of a function with a loop. Some have a single path, some repeat a path or a sequence
/// of paths, and some run random paths.
fn random_turns(image: &Arc<ImageMap>, words: usize, mut seed: u64) -> Vec<Vec<u32>> {
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) as usize % below
    };
    let mut table = Words::new(image);
    let mut kinds: [Vec<u32>; 4] = Default::default();
    for word in 1..table.end() {
        if let Some(meaning) = table.word(word) {
            kinds[usize::from(meaning.starts_at_entry) + 2 * usize::from(meaning.ends_at_exit)]
                .push(word);
        }
    }
    let [turns, entering, leaving, single_path] = &kinds;
    let (mut activations, mut total) = (Vec::new(), 0);
    while total < words {
        let mut activation = vec![entering[next(entering.len())]];
        match next(4) {
            0 => activation = vec![single_path[next(single_path.len())]],
            1 => activation.extend(vec![turns[next(8)]; next(40)]),
            2 => {
                let period: Vec<u32> = (0..1 + next(5)).map(|_| turns[next(16)]).collect();
                activation.extend(period.repeat(next(20)));
            }
            _ => activation.extend((0..next(300)).map(|_| turns[next(turns.len())])),
        }
        if !single_path.contains(&activation[0]) {
            activation.push(leaving[next(leaving.len())]);
        }
        total += activation.len();
        activations.push(activation);
    }
    activations
}

#[test]
fn loops_with_many_paths_are_counted_and_pruned_with_small_k() {
    let image = placed(vec![branches(7)], Kind::Loops);
    let activations = random_turns(&image, 60_000, 0x9E37_79B9);
    for k in 2..5 {
        let real = reference_sequences(&activations, k as usize);
        let forest = forest_of(&activations, &image, k, Limits::default());
        assert_eq!(forest.losses().prunings, 0);
        assert_eq!(
            forest.sequences(),
            reference_slab_forest(&activations, k as usize)
        );
        assert_eq!(sequences(&forest.k_ipf(k)), real);
        let mut builder = LoopsBuilder::new(Words::new(&image), k, Limits { nodes: 1 });
        for (batch, words) in activations.concat().chunks(5000).enumerate() {
            builder.feed(4 * 5000 * batch as u64, words);
        }
        let forest = builder.finish();
        let words: usize = activations.iter().map(Vec::len).sum();
        assert!(forest.losses().prunings > 0);
        assert_eq!(forest.words(), words as u64);
        let slabs = activations.iter();
        let slabs = slabs.map(|activation| activation.len().div_ceil(k as usize - 1) as u64);
        assert_eq!(forest.slabs(), slabs.sum::<u64>());
        let kipf = forest.k_ipf(k);
        for (index, node) in (0u32..).zip(kipf.nodes()) {
            let count = real[&kipf.sequence(index)];
            assert!(node.count <= Count(count) && count <= (node.count + node.missed).0);
            assert!(node.level > 1 || node.count == Count(count));
        }
    }
}

/// Tests slabs of 5, 7, and 15 paths.
#[test]
fn slabs_of_many_paths_match_the_definition() {
    let image = placed(vec![branches(7)], Kind::Loops);
    let activations = random_turns(&image, 60_000, 0x9E37_79B9);
    for k in [6, 8, 16] {
        let forest = forest_of(&activations, &image, k, Limits::default());
        assert_eq!(forest.losses().prunings, 0);
        assert_eq!(
            forest.sequences(),
            reference_slab_forest(&activations, k as usize)
        );
    }
}

#[test]
fn merged_forests_keep_within_the_limit() {
    let (image, words_of_paper) = figure_words();
    let limits = Limits { nodes: 5000 };
    let mut merged = SlabForest::new(12, limits);
    let mut all = Vec::new();
    for seed in 1..6u64 {
        let activations = noisy(&words_of_paper, seed * 0x51_7CC1, 10_000);
        merged.merge(&forest_of(&activations, &image, 12, limits));
        all.extend(activations);
        assert!(merged.nodes() <= 5000);
    }
    let real = reference_sequences(&all, 12);
    let kipf = merged.k_ipf(12);
    for (index, node) in (0u32..).zip(kipf.nodes()) {
        let count = real[&kipf.sequence(index)];
        assert!(node.count <= Count(count) && count <= (node.count + node.missed).0);
        assert!(node.level > 1 || node.count == Count(count));
    }
}

#[test]
fn a_gap_divides_the_open_activation() {
    let (image, words_of_paper) = figure_words();
    let [a, b] = [words_of_paper[0], words_of_paper[2]];
    let mut builder = LoopsBuilder::new(Words::new(&image), 4, Limits::default());
    builder.feed(0, &[a, b, a]);
    builder.feed(1000, &[b, b]);
    let expect = reference_sequences(&[vec![a, b, a], vec![b, b]], 4);
    assert_eq!(builder.stream_counts().gaps, 1);
    assert_eq!(sequences(&builder.finish().k_ipf(4)), expect);
}

#[test]
fn k_is_clamped_to_its_range() {
    let ks = [0, 1, 2, 1024, u32::MAX].map(|k| SlabForest::new(k, Limits::default()).k());
    assert_eq!(ks, [2, 2, 2, 1024, 1024]);
    let (forest, words) = figure_forest(1024);
    let all: Vec<Vec<u32>> = vec![STREAM.iter().map(|&path| words[path as usize]).collect()];
    assert_eq!(
        sequences(&forest.k_ipf(5000)),
        reference_sequences(&all, 14)
    );
}
