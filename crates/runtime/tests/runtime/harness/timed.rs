//! Runs `timed.c` and reads its samples.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by the tests of this target; a test may panic"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holloway_abi::{
    CLOCK_WORDS, OPERAND, SAMPLE_CHECK, SAMPLE_FLAG_BITS, SAMPLE_WORDS, WORD_CLOCK, WORD_OWNER,
    digits,
};
use holloway_format::RawProfile;
use holloway_format::raw::{Piece, RawHead};

use super::program::{Libc, command, compile, run_silently, test_directory};
use super::streams::paths;

/// Compiler flag for `Kind::Variation`.
pub const VARIATION: &str = "-DKIND=4";
/// Compiler flag for `Kind::Times`.
pub const TIMES: &str = "-DKIND=5";

/// A sample (`holloway_abi`, module `sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub word: u32,
    pub start: u64,
    pub duration: u64,
    /// Exclusive cycles of the paths that were timed inside this path.
    pub timed_inside: u64,
    pub flags: u32,
    pub paths: u64,
}

/// A clock record.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub stamp: u64,
    pub nanoseconds: u64,
    pub bias: u64,
    pub switches: u32,
    pub probes: u64,
    pub resolution: u64,
}

/// The samples and clock records of one owner of a ring.
#[derive(Debug, Default)]
pub struct Thread {
    pub tid: u32,
    pub samples: Vec<Sample>,
    pub clocks: Vec<Clock>,
    /// Number of words that begin no complete and valid sample or clock record, including holes and
    /// unknown control words.
    pub damaged: usize,
}

impl Thread {
    /// Durations of a path, minus the bias, in the order of the samples.
    pub fn durations(&self, word: u32) -> Vec<u64> {
        let bias = self.bias();
        self.samples_of(word)
            .map(|sample| sample.duration.saturating_sub(bias))
            .collect()
    }

    pub fn samples_of(&self, word: u32) -> impl Iterator<Item = &Sample> {
        self.samples
            .iter()
            .filter(move |sample| sample.word == word)
    }

    pub fn bias(&self) -> u64 {
        self.clocks[0].bias
    }

    pub fn words(&self) -> Vec<u32> {
        self.samples.iter().map(|sample| sample.word).collect()
    }

    /// Number of paths that the samples stand for.
    pub fn weight(&self) -> u64 {
        self.samples.iter().map(|sample| sample.paths).sum()
    }
}

/// The samples of one process.
#[derive(Debug)]
pub struct ProcessSamples {
    pub head: RawHead,
    pub threads: Vec<Thread>,
    pub spools: usize,
}

/// Compiles `timed.c` for a kind and one test.
pub fn program(libc: Libc, test: &str, kind: &str) -> PathBuf {
    compile(
        libc,
        &test_directory(libc, &format!("timed-{test}")),
        &["timed.c"],
        &[kind],
    )
}

/// Compiles `timed.c` and runs a scenario, with HOLLOWAY_BURST if `burst` is given. Checks that it
/// prints nothing. Returns the samples of its processes, the parent's first.
pub fn scenario(libc: Libc, name: &str, kind: &str, burst: Option<&str>) -> Vec<ProcessSamples> {
    let test = format!("{name}{kind}-{}", burst.unwrap_or("").replace(':', "-"));
    let (mut command, data) = command(&program(libc, &test, kind), &[name]);
    if let Some(burst) = burst {
        command.env("HOLLOWAY_BURST", burst);
    }
    run_silently(&mut command);
    processes(&data)
}

/// The samples of the processes with profiles in a directory, the parent's first.
pub fn processes(directory: &Path) -> Vec<ProcessSamples> {
    let mut processes: Vec<ProcessSamples> = paths(directory)
        .iter()
        .map(|path| read(&fs::read(path).unwrap(), &BTreeMap::new()))
        .collect();
    processes.sort_by_key(|process| process.head.profile.forked);
    processes
}

/// Reads a profile. `taken` contains the pieces that a collector took, by the offset of the ring.
pub fn read(bytes: &[u8], taken: &BTreeMap<u64, Vec<Piece>>) -> ProcessSamples {
    let raw = RawProfile::parse(bytes).unwrap();
    assert_eq!(raw.damage(), []);
    let mut threads = Vec::new();
    for words in raw.ring_words() {
        let earlier = taken.get(&words.offset).cloned().unwrap_or_default();
        let pieces = words.pieces().map(Result::unwrap);
        let all: Vec<u32> = earlier
            .into_iter()
            .chain(pieces)
            .flat_map(|piece| piece.words)
            .collect();
        threads.extend(split(&all));
    }
    ProcessSamples {
        head: raw.header().clone(),
        threads,
        spools: raw.spools().len(),
    }
}

/// Is the last operand of a clock record the exclusive or of the others?
fn has_valid_check(operands: &[u32]) -> bool {
    operands.iter().fold(0, |all, word| all ^ word) & !OPERAND == 0
}

/// Splits a ring's words into the threads that owned it.
fn split(mut words: &[u32]) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    while let [word, rest @ ..] = words {
        let operand_count = match *word {
            WORD_OWNER => 1,
            WORD_CLOCK => CLOCK_WORDS - 1,
            word if word != 0 && word < OPERAND => SAMPLE_WORDS - 1,
            _ => 0,
        };
        // Control words have the bit `OPERAND` too, so only its place after the first word of a
        // record makes a word an operand.
        let is_operand = |word: &&u32| **word & OPERAND != 0;
        let operands = rest
            .iter()
            .take(operand_count)
            .take_while(is_operand)
            .count();
        let (operands, rest) = rest.split_at(operands);
        let low = |index: usize| operands[index] & !OPERAND;
        let wide = |index: usize| u64::from(low(index)) | u64::from(low(index + 1)) << 31;
        words = rest;
        if *word == WORD_OWNER {
            threads.push(Thread {
                tid: low(0),
                ..Thread::default()
            });
            continue;
        }
        let thread = threads.last_mut().unwrap();
        match *word {
            WORD_CLOCK if operands.len() == operand_count && has_valid_check(operands) => {
                thread.clocks.push(Clock {
                    stamp: wide(0),
                    nanoseconds: wide(2),
                    bias: low(4).into(),
                    switches: low(5),
                    probes: wide(6),
                    resolution: low(8).into(),
                });
            }
            word if operand_count == SAMPLE_WORDS - 1 && operands.len() == operand_count => {
                let word_at = |i: usize| if i == 0 { word } else { operands[i - 1] };
                let words = std::array::from_fn(word_at);
                // The runtime chooses the check so that `digits` is 0.
                assert_eq!(digits(words), 0, "the check of a sample");
                thread.samples.push(Sample {
                    word,
                    start: wide(0),
                    duration: u64::from(low(2)) | u64::from(low(3) >> SAMPLE_FLAG_BITS) << 31,
                    timed_inside: wide(4),
                    flags: low(3) & ((1 << SAMPLE_FLAG_BITS) - 1) & !(0xF << SAMPLE_CHECK),
                    paths: low(6).into(),
                });
            }
            _ => thread.damaged += 1,
        }
    }
    threads
}
