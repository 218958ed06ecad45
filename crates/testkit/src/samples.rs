//! Creates streams of timed paths for tests, as the runtime writes them: samples and clock records.

use std::collections::BTreeMap;
use std::sync::Arc;

use holloway_abi::{
    CLOCK_WORDS, Kind, OPERAND, SAMPLE_CHECK, SAMPLE_FLAG_BITS, WORD_CLOCK, digits,
};
use holloway_analysis::stream::Words;
use holloway_analysis::variation::{Timings, VariationBuilder, VariationRun, seal};
use holloway_flow::PathId;
use holloway_format::{
    Counters, FunctionMap, ImageMap, ProcessImage, VariationHead, VariationProfile, read_variation,
    write_variation,
};

pub use crate::streams::owner;

use crate::build::{image, module, numbering_of};

/// A sample. Its times include the bias, as the runtime writes them.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The path's word.
    pub word: u32,
    /// Program time at the path's start.
    pub start: u64,
    /// Cycles that the path took.
    pub duration: u64,
    /// Exclusive cycles of the paths that were timed inside the path.
    pub inner: u64,
    /// Paths that the sample stands for.
    pub begun: u32,
    /// Flags (`holloway_abi`, module `sample`).
    pub flags: u32,
}

impl Sample {
    /// A sample of an undisturbed path without calls.
    pub fn new(word: u32, start: u64, duration: u64) -> Sample {
        Sample {
            word,
            start,
            duration,
            inner: 0,
            begun: 1,
            flags: 0,
        }
    }

    /// The sample as the runtime writes it.
    pub fn words(self) -> [u32; 8] {
        let [start, start_high] = halves(self.start);
        let [inner, inner_high] = halves(self.inner);
        let [duration, high] = halves(self.duration);
        let mut words = [
            self.word,
            start,
            start_high,
            duration,
            (high & !OPERAND) << SAMPLE_FLAG_BITS | self.flags | OPERAND,
            inner,
            inner_high,
            self.begun | OPERAND,
        ];
        words[4] |= digits(words) << SAMPLE_CHECK;
        words
    }
}

fn halves(number: u64) -> [u32; 2] {
    [number, number >> 31].map(|half| half as u32 | OPERAND)
}

/// A clock record.
pub fn clock(stamp: u64, nanoseconds: u64, bias: u32, switches: u32, probes: u64) -> Vec<u32> {
    let mut words = vec![WORD_CLOCK];
    words.extend(halves(stamp));
    words.extend(halves(nanoseconds));
    words.extend([bias | OPERAND, switches | OPERAND]);
    words.extend(halves(probes));
    words.push(OPERAND);
    check_clock(&mut words);
    words
}

/// Sets the last operand of a clock record to the exclusive or of the other operands.
fn check_clock(words: &mut Vec<u32>) {
    words.truncate(CLOCK_WORDS - 1);
    let all = words[1..].iter().fold(0, |all, word| all ^ word);
    words.push(all | OPERAND);
}

/// A clock record with this resolution of the clock.
pub fn resolution(cycles: u32) -> Vec<u32> {
    let mut words = clock(1, 1, 0, 0, 0);
    words[CLOCK_WORDS - 2] |= cycles;
    check_clock(&mut words);
    words
}

/// An image of functions whose paths are timed.
pub fn timed(mut functions: Vec<FunctionMap>) -> Arc<ImageMap> {
    let mut offset = 0;
    for map in &mut functions {
        let Counters::Array { len, .. } = map.counters else {
            unreachable!("the caller built functions with arrays")
        };
        map.counters = Counters::Array { offset, len };
        offset += 8 * len;
    }
    let mut module = module("app", functions);
    module.counters_size = offset;
    let mut image = image("app", vec![module]);
    image.kind = Kind::Variation;
    Arc::new(image)
}

/// The words of all paths, by function name and blocks: `walk 12` is the path of function `walk`
/// over blocks 1 and 2.
pub fn names(image: &Arc<ImageMap>) -> BTreeMap<String, u32> {
    let mut names = BTreeMap::new();
    for function in Words::new(image).functions() {
        let map = image.function(function.index).unwrap();
        let numbering = numbering_of(map);
        for path in 0..function.paths {
            let blocks = numbering.regenerate(PathId(path.into())).unwrap().blocks;
            let blocks: String = blocks.iter().map(|block| block.0.to_string()).collect();
            names.insert(format!("{} {blocks}", map.name), function.first + path);
        }
    }
    names
}

/// The timings of a thread's words.
pub fn read(image: &Arc<ImageMap>, words: &[u32]) -> Timings {
    let mut builder = VariationBuilder::new(Words::new(image));
    builder.feed(0, words);
    builder.finish()
}

/// The profile of these timings, written and read again.
pub fn sealed(image: &Arc<ImageMap>, timings: &Timings, kind: Kind) -> VariationProfile {
    let head = VariationHead {
        process: ProcessImage {
            build_id: image.build_id,
            image: "app".to_owned(),
            image_path: "/tmp/app".into(),
            pid: 100,
            threads: 1,
            ..ProcessImage::default()
        },
        kind,
        ..VariationHead::default()
    };
    let bytes = write_variation(&seal(head, &Words::new(image), timings));
    read_variation(&bytes, image).unwrap()
}

/// The run of one thread with these words.
pub fn run(image: &Arc<ImageMap>, words: &[u32]) -> VariationRun {
    let profile = sealed(image, &read(image, words), Kind::Variation);
    VariationRun::new(vec![((**image).clone(), vec![profile])])
}
