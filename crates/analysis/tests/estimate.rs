//! Tests of executions that are estimated from samples, against exact counts.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::rc::Rc;

use holloway_analysis::estimate::estimate;
use holloway_analysis::overlap::overlap;
use holloway_analysis::samples::{SampledCode, SampledFile, SampledRun};
use holloway_analysis::{CountBasis, RunProfile};
use holloway_format::samples::{KnownBlocks, MonitorState, SampleClock};
use holloway_format::{Count, FunctionIndex, ImageMap};
use holloway_testkit::build::{image, module, profile, slide};
use proptest::prelude::*;

/// A run with these samples in the blocks of the first function of an image.
fn sampled(map: &ImageMap, samples: &[u64], frequency: u64) -> SampledRun {
    let code = (0u32..).zip(samples).map(|(block, &samples)| SampledCode {
        samples: Count(samples),
        block: Some((FunctionIndex::default(), block)),
        ..SampledCode::default()
    });
    SampledRun {
        clock: SampleClock::Cycles,
        state: MonitorState::Ended,
        frequency,
        duration_ns: 1,
        lost: 0,
        without_file: Count::ZERO,
        programs: Vec::new(),
        files: vec![SampledFile {
            path: "/bin/app".to_owned(),
            blocks: KnownBlocks::Known {
                map: map.build_id,
                left_out: 0,
            },
            map: Some(map.clone()),
            code: code.collect(),
        }],
        records: None,
        damage: Vec::new(),
    }
}

fn compare(run: [&RunProfile; 2]) -> holloway_analysis::overlap::Overlap {
    overlap(run, &|_| true, &|function| {
        Rc::from(&*function.map.linkage_name)
    })
}

proptest! {
    /// If each instruction takes 1 ns and each of them is sampled, the estimate is exact.
    #[test]
    fn complete_samples_give_exact_counts(counts in prop::collection::vec(1u64..1000, 1..6)) {
        let map = slide();
        let counts: Vec<(u64, u64)> = (0u64..).zip(counts).collect();
        let image = image("app", vec![module("a", vec![map])]);
        let exact = profile(&image, 1, &[(0, 0, &counts)]);
        let exact = RunProfile::new(vec![(image.clone(), vec![exact])]);
        let function = &exact.functions[0];
        let blocks = function.map.blocks.iter().zip(&function.flow().blocks);
        let samples: Vec<u64> = blocks.map(|(block, count)| count.0 * u64::from(block.instructions)).collect();
        let estimated = estimate(&sampled(&image, &samples, 1_000_000_000));
        prop_assert_eq!(&estimated.functions[0].flow().edges, &function.flow().edges);
        prop_assert_eq!(&estimated.functions[0].flow().blocks, &function.flow().blocks);
        let overlap = compare([&estimated, &exact]);
        prop_assert_eq!((overlap.overlap, overlap.overlap_of_instructions), (1.0, 1.0));
        let all: u64 = samples.iter().sum();
        prop_assert_eq!(estimated.basis, CountBasis::Time { samples: Count(all) });
    }
}

/// 1,000 samples per second: one sample in a block of n instructions stands for 10^6 / n
/// executions.
#[test]
fn a_block_without_a_sample_runs_as_often_as_its_neighbors() {
    let map = slide();
    // A C D F have samples, in proportion to their lengths: only the way A C D F ran. D lacks them.
    let lengths: Vec<u64> = map
        .blocks
        .iter()
        .map(|block| block.instructions.into())
        .collect();
    let mut samples: Vec<u64> = lengths.iter().map(|length| 10 * length).collect();
    (samples[1], samples[3], samples[4]) = (0, 0, 0);
    let image = image("app", vec![module("a", vec![map])]);
    let estimated = estimate(&sampled(&image, &samples, 1000));
    let flow = estimated.functions[0].flow();
    let blocks: Vec<u64> = flow.blocks.iter().take(6).map(|count| count.0).collect();
    let often = 10_000_000;
    assert_eq!(blocks, [often, 0, often, often, 0, often]);
    assert_eq!(flow.calls, Count(often));
}

#[test]
fn functions_without_samples_and_unknown_blocks_have_no_estimate() {
    let map = slide();
    let blocks = map.blocks.len();
    let image = image("app", vec![module("a", vec![map])]);
    let mut samples = vec![0; blocks + 1];
    let estimated = estimate(&sampled(&image, &samples, 1000));
    assert!(!estimated.functions[0].ran());
    samples[blocks] = 5;
    let estimated = estimate(&sampled(&image, &samples, 1000));
    assert!(!estimated.functions[0].ran());
    assert_eq!(
        estimated.basis,
        CountBasis::Time {
            samples: Count::ZERO
        }
    );
    let mut unknown = sampled(&image, &samples, 1000);
    unknown.files[0].map = None;
    assert!(estimate(&unknown).functions.is_empty());
}
