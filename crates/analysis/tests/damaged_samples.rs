//! Tests that the reader of samples detects each single flipped bit: it returns the intact samples,
//! counts the damaged samples, and never returns wrong times.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::function;
use holloway_abi::Kind;
use holloway_analysis::variation::Timings;
use holloway_format::Count;
use holloway_format::Cycles;
use holloway_format::Outcome;
use holloway_testkit::{build, samples};
use samples::{Sample, clock, names, owner, read, sealed, timed};

const BIAS: u64 = 26;

/// Number of records that the reader reports as damaged.
fn damaged_records(timings: &Timings) -> u64 {
    let stats = &timings.stats;
    (stats.damaged + stats.cut_samples + Count(stats.strangers) + Count(stats.holes)).0
}

#[test]
fn every_flipped_bit_is_reported() {
    let step = function("step", "a.c", 1)
        .block(1, &[(0, 1)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done();
    let image = timed(vec![step.clone(), step]);
    let words = *names(&image).values().next().unwrap();
    let mut stream = owner(7).to_vec();
    stream.extend(clock(1 << 40, 1 << 35, BIAS as u32, 3, 900));
    for index in 0..4 {
        let sample = Sample {
            inner: index,
            ..Sample::new(words, (1 << 40) + (index << 10), 400 + index)
        };
        stream.extend(sample.words());
    }
    stream.extend(clock(
        (1 << 40) + 9000,
        (1 << 35) + 3000,
        BIAS as u32,
        3,
        1800,
    ));
    let intact = read(&image, &stream);
    assert_eq!(
        (intact.stats.samples, damaged_records(&intact)),
        (Count(4), 0)
    );
    let largest = |timings: &Timings| {
        let profile = sealed(&image, timings, Kind::Variation);
        let paths = profile
            .functions
            .iter()
            .flat_map(|function| &function.paths);
        paths.map(|path| path.calm.inclusive.largest()).max()
    };
    // Without the first clock, the probe's bias is unknown.
    let longest = largest(&intact).map(|cycles| cycles + Cycles(BIAS));
    for bit in 0..32 * stream.len() {
        let (word, mask) = (bit / 32, 1 << (bit % 32));
        stream[word] ^= mask;
        let read = read(&image, &stream);
        // The owner's id does not affect times.
        if word >= 2 {
            assert!(damaged_records(&read) > 0, "word {word}, bit {}", bit % 32);
            assert!(
                read.stats.samples >= Count(2),
                "word {word}, bit {}",
                bit % 32
            );
        }
        assert!(largest(&read) <= longest, "word {word}, bit {}", bit % 32);
        stream[word] ^= mask;
    }
}
