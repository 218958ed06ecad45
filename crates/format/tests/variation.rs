//! Tests of timings: histograms compared with sorted lists, round trips, damage that loses only one
//! function, and arbitrary bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::equal_functions;
use holloway_abi::Kind;
use holloway_format::{
    Bursts, Count, Cycles, Distribution, FormatError, FunctionIndex, FunctionTimings, PathId,
    PathTimings, ProcessImage, Timing, VariationHead, VariationProfile, VariationStats,
    read_variation, write_variation,
};
use holloway_testkit::{heads::variation_head, repair};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Values of all sizes.
fn value() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

fn distribution(values: &[u64]) -> Distribution {
    let mut distribution = Distribution::default();
    for &value in values {
        distribution.record(Cycles(value));
    }
    distribution
}

fn timing() -> impl Strategy<Value = Timing> {
    vec((0u64..1 << 40, prop::option::of(0u64..1 << 20)), 0..9).prop_map(|samples| {
        let mut timing = Timing::default();
        for (inclusive, exclusive) in samples {
            timing.record(
                Cycles(inclusive),
                exclusive.map(|exclusive| Cycles(exclusive.min(inclusive))),
            );
        }
        timing
    })
}

fn bursts() -> impl Strategy<Value = (u64, u64, Bursts)> {
    (any::<u64>(), any::<u64>(), vec((0u64..9, value()), 0..4)).prop_map(
        |(unknown, nested, list)| {
            let mut bursts = Bursts::default();
            for (samples, time) in list {
                bursts.record(Count(samples), Cycles(time));
            }
            (unknown, nested, bursts)
        },
    )
}

fn stats() -> impl Strategy<Value = VariationStats> {
    (any::<(u32, u32, u32, u32, u32, u16)>(), 1u64..4).prop_map(
        |((samples, begun, stamp, cycles, lost, bias), clocks)| VariationStats {
            samples: Count(samples.into()),
            begun: Count(begun.into()),
            cycles: Cycles(cycles.into()),
            clocks: Count(clocks),
            first_stamp: stamp.into(),
            first_nanoseconds: stamp.into(),
            last_stamp: u64::from(stamp) + u64::from(cycles),
            last_nanoseconds: u64::from(stamp) + u64::from(cycles),
            least_bias: Cycles(20),
            largest_bias: Cycles(20 + u64::from(bias)),
            unknown: Count(lost.into()),
            resolution: Cycles(bias.into()),
            lost_words: lost.into(),
            ..VariationStats::default()
        },
    )
}

fn profile() -> impl Strategy<Value = VariationProfile> {
    let paths = btree_map(0u64..100, (timing(), timing(), bursts()), 0..6);
    let functions = btree_map((0u32..2, 0u32..3), paths, 0..6);
    (functions, stats(), any::<(u32, bool)>(), "[a-zé]{0,9}").prop_map(
        |(functions, stats, (pid, forked), image)| VariationProfile {
            head: VariationHead {
                process: ProcessImage {
                    build_id: [9; 16],
                    image_path: format!("/bin/{image}").into(),
                    image,
                    pid,
                    ppid: 1,
                    threads: 2,
                    forked,
                },
                kind: [Kind::Variation, Kind::Times][usize::from(forked)],
                stats,
            },
            functions: functions
                .into_iter()
                .map(|((module, function), paths)| FunctionTimings {
                    index: FunctionIndex { module, function },
                    hash: 7,
                    paths: paths
                        .into_iter()
                        .map(
                            |(path, (calm, disturbed, (unknown, nested, bursts)))| PathTimings {
                                path: PathId(path),
                                calm,
                                disturbed,
                                unknown: Count(unknown),
                                nested: Count(nested),
                                bursts,
                            },
                        )
                        .collect(),
                })
                .collect(),
            damage: Vec::new(),
        },
    )
}

proptest! {
    /// A quantile is the value of rank ⌈share × n⌉ in the sorted list, within half a bucket.
    #[test]
    fn quantiles_agree_with_a_sorted_list(mut values in vec(value(), 1..200), share in 0.0f64..=1.0) {
        let times = distribution(&values);
        values.sort_unstable();
        let rank = ((share * values.len() as f64).ceil() as usize).max(1);
        let expect = values[rank - 1];
        let quantile = times.quantile(share).0;
        prop_assert!(quantile.abs_diff(expect) <= expect / 128 + 1, "{quantile} for {expect}");
        prop_assert_eq!(times.least(), Cycles(values[0]));
        prop_assert_eq!(times.largest(), Cycles(values[values.len() - 1]));
        prop_assert!((times.least()..=times.largest()).contains(&Cycles(quantile)));
        if expect < 128 {
            prop_assert_eq!(quantile, expect);
        }
    }

    #[test]
    fn sums_are_exact(values in vec(0u64..1 << 40, 0..100)) {
        let times = distribution(&values);
        let n = values.len() as f64;
        prop_assert_eq!(times.count(), Count(values.len() as u64));
        prop_assert_eq!(times.sum(), Cycles(values.iter().sum()));
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / n.max(1.0);
        let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / n.max(1.0);
        prop_assert!((times.variance() - variance).abs() <= 1e-6 * variance.max(1.0));
    }

    #[test]
    fn merging_distributions_equals_recording_all_values(values in vec(0u64..1 << 50, 0..60), middle in 0usize..61) {
        let (left, right) = values.split_at(middle.min(values.len()));
        let mut sum = distribution(left);
        sum.merge(&distribution(right));
        prop_assert_eq!(sum, distribution(&values));
    }

    #[test]
    fn merging_timings_equals_recording_all_samples(samples in vec((0u64..1 << 30, prop::option::of(0u64..99)), 0..20), middle in 0usize..21) {
        let recorded = |samples: &[(u64, Option<u64>)]| {
            let mut timing = Timing::default();
            samples.iter().for_each(|&(inclusive, exclusive)| timing.record(Cycles(inclusive), exclusive.map(Cycles)));
            timing
        };
        let (left, right) = samples.split_at(middle.min(samples.len()));
        let mut sum = recorded(left);
        sum.merge(&recorded(right));
        prop_assert_eq!(sum, recorded(&samples));
    }

    #[test]
    fn reading_inverts_writing(profile in profile()) {
        let bytes = write_variation(&profile);
        prop_assert_eq!(variation_head(&bytes), Ok(profile.head.clone()));
        prop_assert_eq!(read_variation(&bytes, &equal_functions()), Ok(profile));
    }

    #[test]
    fn a_flipped_bit_loses_at_most_one_function(profile in profile(), index in any::<prop::sample::Index>(), bit in 0u32..8) {
        let mut bytes = write_variation(&profile);
        let index = index.index(bytes.len());
        bytes[index] ^= 1 << bit;
        if let Ok(read) = read_variation(&bytes, &equal_functions()) {
            prop_assert!(!read.damage.is_empty());
            prop_assert!(read.functions.len() + 1 >= profile.functions.len());
            prop_assert!(read.functions.iter().all(|function| profile.functions.contains(function)));
        }
    }

    /// If altered bytes with corrected checksums can be read, the profile can be written and read
    /// again.
    #[test]
    fn altered_content_with_correct_checksums_is_checked(profile in profile(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut bytes = write_variation(&profile);
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        repair::variation(&mut bytes);
        if let Ok(read) = read_variation(&bytes, &equal_functions()) {
            let intact = VariationProfile { damage: Vec::new(), ..read };
            prop_assert_eq!(read_variation(&write_variation(&intact), &equal_functions()), Ok(intact));
        }
    }
}

/// The bytes that the head of the source file shows.
#[test]
fn the_layout_is_the_documented_one() {
    let mut calm = Timing::default();
    calm.record(Cycles(5), Some(Cycles(5)));
    calm.record(Cycles(7), Some(Cycles(7)));
    let profile = VariationProfile {
        head: VariationHead {
            process: ProcessImage {
                build_id: [9; 16],
                ..ProcessImage::default()
            },
            kind: Kind::Times,
            ..VariationHead::default()
        },
        functions: vec![FunctionTimings {
            index: FunctionIndex {
                module: 0,
                function: 2,
            },
            hash: 7,
            paths: vec![PathTimings {
                path: PathId(3),
                calm,
                ..PathTimings::default()
            }],
        }],
        damage: Vec::new(),
    };
    let bytes = write_variation(&profile);
    assert_eq!(&bytes[..16], b"HLWTIMES\x02\0\0\0\x05\0\0\0");
    let payload = [
        0, 2, 7, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 2, 5, 2, 12, 74, 0, 5, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0,
    ];
    assert!(bytes.ends_with(&payload), "{bytes:?}");
    assert_eq!(
        read_variation(b"HLWTIMES", &equal_functions()),
        Err(FormatError::Truncated { offset: 8 })
    );
    assert_eq!(variation_head(b"HLWLOOPS"), Err(FormatError::NotTimings));
}

/// The smallest and largest values must be in the first and the last bucket.
#[test]
fn sums_must_fit_the_buckets() {
    use holloway_format::variation::Sums;
    let times = distribution(&[5, 300]);
    let sums = times.sums();
    let buckets = || times.buckets().map(|bucket| (bucket.number, bucket.count));
    assert_eq!(
        Distribution::from_parts(sums, buckets()),
        Some(times.clone())
    );
    for sums in [
        Sums {
            least: Cycles(4),
            ..sums
        },
        Sums {
            largest: Cycles(400),
            ..sums
        },
    ] {
        assert_eq!(Distribution::from_parts(sums, buckets()), None);
    }
    assert_eq!(Distribution::from_parts(sums, []), None);
}
