//! Reads the samples in a thread's stream.
//!
//! A *record* is a word followed by its operands. A sample has 7 operands, a clock reading has 10,
//! and a change of the stream's owner has 1. The runtime reserves all words of a record at once. If
//! one of them was never written, it is 0: a *hole*. Then the record is discarded, and the next
//! record begins after it. A record with a wrong checksum is damaged and discarded, too. A batch of
//! words may end inside a record.
//!
//! A path's time is the sample's duration minus the probe's bias, which the thread's clock reading
//! contains. Its exclusive time is this time minus the time of paths that were timed inside it. A
//! burst begins with a sample that represents more than one path. A thread's run extends from its
//! first clock reading or sample to its last, in program time (without the time of probes).
//!
//! Cost: each sample needs one or two hash lookups and increments one or two histogram buckets.

use holloway_abi::{
    CLOCK_WORDS, OPERAND, SAMPLE_CALLED, SAMPLE_FLAG_BITS, SAMPLE_MIGRATED, SAMPLE_PREEMPTED,
    SAMPLE_UNKNOWN, SAMPLE_UNWATCHED, SAMPLE_WORDS, WORD_CAUGHT, WORD_CLOCK, WORD_OWNER, digits,
};
use holloway_format::{Count, Cycles, PathTimings, VariationStats};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

use crate::stream::Words;

/// Maximum number of words in a record.
const MAX_RECORD_WORDS: usize = CLOCK_WORDS;
/// Maximum number of samples whose start is remembered. When this number is reached, the older half
/// is merged into one entry.
const MAX_ENDED: usize = 512;

/// The timings read from one or more streams.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Timings {
    /// Timings of paths, by word.
    pub(super) paths: FxHashMap<u32, PathTimings>,
    /// Sums over all samples and clocks.
    pub stats: VariationStats,
}

impl Timings {
    /// Whether no record was read.
    pub fn is_empty(&self) -> bool {
        *self == Timings::default()
    }

    /// Adds another stream's timings.
    pub fn merge(&mut self, other: &Timings) {
        self.stats.add(&other.stats);
        for (word, more) in &other.paths {
            self.paths.entry(*word).or_default().merge(more);
        }
    }
}

/// Reads the samples of one stream, or of several streams one after the other.
pub struct VariationBuilder {
    words: Words,
    timings: Timings,
    record: Record,
    /// The stream position after the last word, in bytes.
    next: Option<u64>,
    bias: Cycles,
    thread: Thread,
    /// The current burst; `None` if every path is timed.
    burst: Option<FxHashMap<u32, BurstTime>>,
    nest: NestedSamples,
}

/// The samples that have ended, each with its start and the number of samples inside it. When a
/// sample ends, the samples that began after its start are inside it.
#[derive(Default)]
struct NestedSamples {
    ended: Vec<(u64, Count)>,
}

impl NestedSamples {
    /// Ends a sample that began at `start`. Returns the number of samples inside it.
    fn end_sample(&mut self, start: u64) -> Count {
        let mut inside = Count::ZERO;
        while let Some((_, more)) = self.ended.pop_if(|(began, _)| *began >= start) {
            inside += more + Count(1);
        }
        if self.ended.len() == MAX_ENDED {
            let older = self.ended.drain(1..MAX_ENDED / 2);
            let more: Count = older.map(|(_, more)| more + Count(1)).sum();
            self.ended[0].1 += more;
        }
        self.ended.push((start, inside));
        inside
    }
}

/// Undisturbed samples of a path in one burst, and their time.
#[derive(Clone, Copy, Default)]
struct BurstTime {
    samples: Count,
    time: Cycles,
}

/// The words of the current record that have been read.
#[derive(Clone, Copy, Default)]
struct Record {
    words: [u32; MAX_RECORD_WORDS],
    word_count: usize,
    /// The number of words of the whole record; 0 if no record has begun.
    expected_words: usize,
    /// Whether a word of the record was never written.
    has_hole: bool,
}

/// The first and the last program time of a thread, and its last clock reading.
#[derive(Clone, Copy, Default)]
struct Thread {
    run: Option<(u64, u64)>,
    clock: Option<Clock>,
}

/// A clock reading: program time, context switches, cycles of probes.
#[derive(Clone, Copy)]
struct Clock {
    now: u64,
    switches: Count,
    probes: Cycles,
}

impl Thread {
    /// Records that the thread ran from `start` to `end`. Returns the number of cycles by which
    /// this extends its known run.
    fn extend_run(&mut self, start: u64, end: u64) -> Cycles {
        let (first, last) = self.run.unwrap_or((start, start));
        let (earlier, later) = (first.min(start), last.max(end));
        self.run = Some((earlier, later));
        Cycles((later - earlier) - (last - first))
    }
}

impl VariationBuilder {
    /// Creates a builder for the streams of an image.
    pub fn new(words: Words) -> VariationBuilder {
        VariationBuilder {
            words,
            timings: Timings::default(),
            record: Record::default(),
            next: None,
            bias: Cycles::ZERO,
            thread: Thread::default(),
            burst: None,
            nest: NestedSamples::default(),
        }
    }

    /// Sets the probe's bias, in cycles, until the stream contains a clock reading with the bias.
    /// Use this for a stream whose beginning another builder has read.
    #[must_use]
    pub fn with_bias(mut self, cycles: Cycles) -> VariationBuilder {
        self.bias = cycles;
        self
    }

    /// Reads a batch of words. `position` is the stream position of the first word, in bytes. If
    /// the batch does not begin where the last batch ended, words are missing in between.
    pub fn feed(&mut self, position: u64, batch: &[u32]) {
        if self.next.is_some_and(|next| next != position) {
            self.timings.stats.gaps += 1;
            self.cut_record();
        }
        self.next = Some(position.wrapping_add(4 * batch.len() as u64));
        let mut remaining = batch;
        while let Some((&word, after)) = remaining.split_first() {
            remaining = match remaining.split_first_chunk() {
                Some((sample, after))
                    if self.record.expected_words == 0 && is_complete_sample(sample) =>
                {
                    self.sample(sample.map(|word| word & !OPERAND));
                    after
                }
                _ => {
                    self.word(word);
                    after
                }
            };
        }
    }

    /// Returns the timings since the last call. The stream may continue.
    pub fn take(&mut self) -> Timings {
        self.end_burst();
        std::mem::take(&mut self.timings)
    }

    /// Returns the timings since the last call of `take`. An incomplete sample counts as cut.
    pub fn finish(mut self) -> Timings {
        self.cut_record();
        self.take()
    }

    fn word(&mut self, word: u32) {
        self.timings.stats.holes += u64::from(word == 0);
        if self.record.expected_words > 0 {
            if word != 0 && word & OPERAND == 0 {
                // The operands are missing: another record begins here.
                self.cut_record();
            } else {
                self.record.has_hole |= word == 0;
                self.record.words[self.record.word_count] = word & !OPERAND;
                self.record.word_count += 1;
                if self.record.word_count == self.record.expected_words {
                    self.complete_record();
                }
                return;
            }
        }
        self.begin_record(word);
    }

    /// Reads a word that is not an operand of an earlier word.
    fn begin_record(&mut self, word: u32) {
        let expected_words = match word {
            0 => 0,
            WORD_CLOCK => CLOCK_WORDS,
            WORD_OWNER => 2,
            WORD_CAUGHT => 4,
            word if word & OPERAND == 0 => SAMPLE_WORDS,
            _ => {
                self.timings.stats.strangers += 1;
                0
            }
        };
        self.record = Record {
            words: [word, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            word_count: 1,
            expected_words,
            has_hole: false,
        };
    }

    /// Discards the current record, whose end is missing.
    fn cut_record(&mut self) {
        if self.record.expected_words > 0 && self.record.words[0] & OPERAND == 0 {
            self.timings.stats.cut_samples += Count(1);
        }
        self.record = Record::default();
    }

    fn complete_record(&mut self) {
        let Record {
            words, has_hole, ..
        } = self.record;
        if has_hole {
            return self.cut_record();
        }
        self.record = Record::default();
        // A number of 62 bits, in two operands of 31 bits.
        let two_digits = |index: usize| u64::from(words[index]) | u64::from(words[index + 1]) << 31;
        let checksum = words[1..].iter().fold(0, |sum, word| sum ^ word);
        match words[0] {
            WORD_CLOCK if checksum != 0 => self.timings.stats.damaged += Count(1),
            WORD_CLOCK => self.clock(
                [two_digits(1), two_digits(3)],
                Cycles(words[5].into()),
                Cycles(words[9].into()),
                Clock {
                    now: two_digits(1).saturating_sub(two_digits(7)),
                    switches: Count(words[6].into()),
                    probes: Cycles(two_digits(7)),
                },
            ),
            WORD_OWNER => {
                self.end_burst();
                self.nest = NestedSamples::default();
                self.thread = Thread::default();
            }
            WORD_CAUGHT => {}
            _ => self.sample([0, 1, 2, 3, 4, 5, 6, 7].map(|index| words[index])),
        }
    }

    fn clock(
        &mut self,
        [stamp, nanoseconds]: [u64; 2],
        bias: Cycles,
        resolution: Cycles,
        clock: Clock,
    ) {
        let stats = &mut self.timings.stats;
        stats.clock(stamp, nanoseconds, bias, resolution);
        let ran = self.thread.extend_run(clock.now, clock.now);
        stats.cycles = stats.cycles.saturating_add(ran);
        self.bias = bias;
        if let Some(last) = self.thread.clock.replace(clock) {
            let switches = clock.switches.saturating_sub(last.switches);
            stats.switches = stats.switches.saturating_add(switches);
            let probes = clock.probes.saturating_sub(last.probes);
            let now = clock.now.saturating_sub(last.now);
            stats.probes = stats.probes.saturating_add(probes);
            stats.clocked = stats.clocked.saturating_add(Cycles(now));
        }
    }

    /// Ends the burst: later samples do not belong to it.
    fn end_burst(&mut self) {
        let Some(burst) = &mut self.burst else { return };
        for (word, BurstTime { samples, time }) in burst.drain() {
            if let Some(path) = self.timings.paths.get_mut(&word) {
                path.bursts.record(samples, time);
            }
        }
    }

    /// Reads a complete sample: its word and the bits of its operands.
    fn sample(&mut self, words: [u32; SAMPLE_WORDS]) {
        if digits(words) != 0 {
            self.timings.stats.damaged += Count(1);
            return;
        }
        let two_digits = |index: usize| u64::from(words[index]) | u64::from(words[index + 1]) << 31;
        let (start, callee_time) = (two_digits(1), two_digits(5));
        let (high, flags) = (
            words[4] >> SAMPLE_FLAG_BITS,
            words[4] & ((1 << SAMPLE_FLAG_BITS) - 1),
        );
        let duration = u64::from(words[3]) | u64::from(high) << 31;
        if words[7] > 1 {
            self.end_burst();
            self.burst.get_or_insert_default();
        }
        let nested = self.nest.end_sample(start);
        let stats = &mut self.timings.stats;
        let path = match self.timings.paths.entry(words[0]) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if self.words.word(words[0]).is_some() => {
                new.insert(PathTimings::default())
            }
            Entry::Vacant(_) => {
                stats.strangers += 1;
                return;
            }
        };
        stats.samples += Count(1);
        stats.begun += Count(words[7].into());
        let ran = self
            .thread
            .extend_run(start, start.saturating_add(duration));
        stats.cycles = stats.cycles.saturating_add(ran);
        let has = |flag: u32| flags & flag != 0;
        stats.preempted += Count::from(has(SAMPLE_PREEMPTED));
        stats.migrated += Count::from(has(SAMPLE_MIGRATED));
        stats.called += Count::from(has(SAMPLE_CALLED));
        stats.unwatched += Count::from(has(SAMPLE_UNWATCHED));
        stats.unknown += Count::from(has(SAMPLE_UNKNOWN));
        let inclusive = Cycles(duration).saturating_sub(self.bias);
        let exclusive =
            (!has(SAMPLE_CALLED)).then(|| inclusive.saturating_sub(Cycles(callee_time)));
        path.nested = path.nested.saturating_add(nested);
        if has(SAMPLE_UNKNOWN) {
            path.unknown += Count(1);
        } else if has(SAMPLE_PREEMPTED | SAMPLE_MIGRATED) {
            path.disturbed.record(inclusive, exclusive);
        } else {
            path.calm.record(inclusive, exclusive);
            if let Some(burst) = &mut self.burst {
                let burst_time = burst.entry(words[0]).or_default();
                burst_time.samples += Count(1);
                burst_time.time = burst_time.time.saturating_add(inclusive);
            }
        }
    }
}

/// Whether these words are a path's word and all its operands.
fn is_complete_sample(words: &[u32; SAMPLE_WORDS]) -> bool {
    let [word, operands @ ..] = words;
    *word != 0 && word & OPERAND == 0 && operands.iter().all(|word| word & OPERAND != 0)
}
