//! Tests of the periods of loops: streams that repeat up to K paths have a period, and
//! streams without order have none.

use holloway_abi::Kind;
use holloway_analysis::loops::shape::{self, Finding};
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::stream::Words;
use holloway_format::{ImageMap, LoopsHead, ProcessImage};
use proptest::prelude::*;

use crate::branches;
use crate::streams::placed;

/// The words of the eight paths through a loop's body: as a turn in the middle of an activation,
/// with the entry before it, and with the exit after it.
fn loop_words(image: &ImageMap) -> [Vec<u32>; 3] {
    let mut words = Words::new(&image.clone().into());
    let mut kinds: [Vec<u32>; 3] = Default::default();
    for word in 1..words.end() {
        let Some(meaning) = words.word(word) else {
            continue;
        };
        match (meaning.starts_at_entry, meaning.ends_at_exit) {
            (false, false) => kinds[0].push(word),
            (true, false) => kinds[1].push(word),
            (false, true) => kinds[2].push(word),
            (true, true) => {}
        }
    }
    kinds
}

/// A period: its paths, and the share of turns that begin two repetitions of them.
type Period = (Vec<u64>, u64);

/// The period found in activations of these turns, and the turns as paths.
fn period(activations: &[Vec<usize>], k: u32) -> (Option<Period>, Vec<Vec<u64>>) {
    let image = placed(vec![branches(3)], Kind::Loops);
    let [turns, first, last] = loop_words(&image);
    let mut builder = LoopsBuilder::new(Words::new(&image), k, Limits::default());
    let mut position = 0;
    for activation in activations {
        let mut words = vec![first[0]];
        words.extend(activation.iter().map(|&turn| turns[turn]));
        words.push(last[0]);
        builder.feed(position, &words);
        position += 4 * words.len() as u64;
    }
    let head = LoopsHead {
        process: ProcessImage {
            build_id: image.build_id,
            ..ProcessImage::default()
        },
        k,
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let sealed = seal(head, &Words::new(&image), &builder.finish(), counts);
    let run = LoopsRun::new(vec![((*image).clone(), vec![sealed])]);
    let function = &run.run.functions[0];
    let loop_count = &shape::count(function)[0];
    let kipf = run.functions[0].for_loops(&[loop_count], 100);
    let period =
        loop_count
            .findings(function, &kipf)
            .into_iter()
            .find_map(|finding| match finding {
                Finding::Period { paths, share } => {
                    Some((paths.iter().map(|path| path.0).collect(), share))
                }
                _ => None,
            });
    let first_word = Words::new(&image).function(0).first;
    let mut paths = Vec::new();
    for activation in activations {
        let path = |&turn: &usize| u64::from(turns[turn] - first_word);
        let mut activation_paths: Vec<u64> = activation.iter().map(path).collect();
        activation_paths.push(u64::from(last[0] - first_word));
        paths.push(activation_paths);
    }
    (period, paths)
}

/// Slow reference implementation: the share, in thousandths, of turns that begin two repetitions of
/// a rotation of `unit`.
fn reference_share(unit: &[u64], activations: &[Vec<u64>]) -> u64 {
    let rotations: std::collections::BTreeSet<Vec<u64>> = (0..unit.len())
        .map(|start| [&unit[start..], &unit[..start]].concat().repeat(2))
        .collect();
    let windows = activations
        .iter()
        .flat_map(|paths| paths.windows(2 * unit.len()));
    let twice = windows.filter(|window| rotations.contains(*window)).count();
    1000 * twice as u64 / activations.iter().map(Vec::len).sum::<usize>() as u64
}

/// Whether the unit is not a repetition of a shorter unit.
fn is_primitive(unit: &[usize]) -> bool {
    (1..unit.len()).all(|size| {
        !unit.len().is_multiple_of(size) || unit[..size].repeat(unit.len() / size) != unit
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn periods_up_to_k_are_found(
        unit in prop::collection::vec(0usize..8, 2..12), more in 0u32..6, rounds in 12usize..40, times in 1usize..4,
    ) {
        prop_assume!(is_primitive(&unit));
        let k = unit.len() as u32 + more;
        let activations = vec![unit.repeat(rounds); times];
        let (found, paths) = period(&activations, k);
        let (found, share) = found.unwrap();
        prop_assert_eq!(found.len(), unit.len(), "{:?} for {:?}", found, unit);
        // The stream contains nothing else, so the certain share is the complete share.
        prop_assert_eq!(share, reference_share(&found, &paths));
    }

    #[test]
    fn figures_of_periods_are_lower_bounds(
        activations in prop::collection::vec(
            prop::collection::vec(
                prop_oneof![
                    3 => (prop::collection::vec(0usize..3, 1..7), 1usize..9).prop_map(|(unit, times)| unit.repeat(times)),
                    1 => prop::collection::vec(0usize..8, 0..9),
                ],
                1..8,
            ).prop_map(|parts| parts.concat()),
            1..6,
        ),
        k in 2u32..9,
    ) {
        let (found, paths) = period(&activations, k);
        if let Some((found, share)) = found {
            let reference_share = reference_share(&found, &paths);
            prop_assert!(share <= reference_share, "{:?}: {} of {}", found, share, reference_share);
            if 2 * found.len() <= k as usize {
                prop_assert_eq!(share, reference_share);
            }
        }
    }

    #[test]
    fn streams_without_order_have_no_period(seed in 1u64.., turn_count in 3usize..8, k in 2u32..12) {
        let mut seed = seed;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 33) as usize % turn_count
        };
        let activations: Vec<Vec<usize>> = (0..4).map(|_| (0..500).map(|_| next()).collect()).collect();
        prop_assert_eq!(period(&activations, k).0, None);
    }
}

/// Three paths alternate, and sequences have at most four paths.
#[test]
fn a_period_of_three_paths_is_found_with_k_4() {
    let activations = vec![[0, 1, 2].repeat(10); 5];
    let (found, paths) = period(&activations, 4);
    let (found, share) = found.unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(share, reference_share(&found, &paths));
    let with_two = [0, 0, 1].repeat(30);
    let (found, _) = period(&[with_two], 3);
    assert_eq!(found.unwrap().0.len(), 3);
}
