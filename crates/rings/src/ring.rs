//! One thread's ring, from the reader's end.
//!
//! Between `taken` and the first place that is 0 all words are written, and their places are the reader's until it
//! moves `taken`: it copies them, sets them to 0, moves `taken`, and wakes the owner if that waits for room.
//!
//! A *hole* (a place that is taken but not written) is waited for, unless nobody will fill it: its owner is dead (another
//! has the ring, or [`Ring::take_rest`]), or it is the very place that the owner, in a handler of a signal, waits to be taken.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use holloway_abi::{CHUNK, RESERVE, RING_WORDS, RingHeader};
use rustix::thread::futex;

use crate::mapping::Mapping;

/// Offset of the [`RingHeader`] in the extent.
pub(crate) const HEADER: usize = 64;
const CURSOR: usize = HEADER + std::mem::offset_of!(RingHeader, cursor);
const ORIGIN: usize = HEADER + std::mem::offset_of!(RingHeader, origin);
const START: usize = HEADER + std::mem::offset_of!(RingHeader, start);
pub(crate) const SIZE: usize = HEADER + std::mem::offset_of!(RingHeader, ring_size);
const TAKEN: usize = HEADER + std::mem::offset_of!(RingHeader, taken);
const WAITING: usize = HEADER + std::mem::offset_of!(RingHeader, waiting);
const MISSING: usize = HEADER + std::mem::offset_of!(RingHeader, missing);
const LEFT_OUT: usize = HEADER + std::mem::offset_of!(RingHeader, left_out);
const HOLES: usize = HEADER + std::mem::offset_of!(RingHeader, holes);
/// Offset of the words in the extent.
pub(crate) const WORDS: usize = HEADER + RING_WORDS as usize;
const TID: usize = 12;
/// Pairs of words that are copied at a time: a line of the cache.
const BLOCK: usize = 8;

/// A thread's ring in a raw profile.
#[derive(Debug)]
pub struct Ring {
    mapping: Mapping,
    size: u64,
    offset: u64,
}

/// What was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Stream position (bytes) of the first word.
    pub at: u64,
    /// Words that the owner wrote over before they were taken, just before `at`; in bytes.
    pub lost: u64,
}

impl Ring {
    /// The ring whose extent is mapped; `size` bytes of words.
    pub(crate) fn new(mapping: Mapping, size: u64, offset: u64) -> Self {
        Self {
            mapping,
            size,
            offset,
        }
    }

    /// Where its extent begins in the file: what tells it from the others.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of its words.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The thread that owns it at present.
    pub fn tid(&self) -> u32 {
        self.mapping.u32(TID).load(Ordering::Relaxed)
    }

    /// Position of the first word ever.
    pub fn origin(&self) -> u64 {
        self.mapping.u64(ORIGIN).load(Ordering::Relaxed)
    }

    /// Position up to which words have been taken.
    pub fn taken(&self) -> u64 {
        self.mapping.u64(TAKEN).load(Ordering::Relaxed)
    }

    /// Position from which on the owner dropped words, if it did.
    pub fn missing(&self) -> Option<u64> {
        let missing = self.mapping.u64(MISSING).load(Ordering::Acquire);
        (missing != u64::MAX).then_some(missing)
    }

    /// Bytes that wait to be taken; the last may not be written yet.
    pub fn waiting_bytes(&self) -> u64 {
        self.end().saturating_sub(self.taken())
    }

    /// Whether the owner waits for room.
    pub fn owner_waits(&self) -> bool {
        self.mapping.u32(WAITING).load(Ordering::Acquire) != 0
    }

    /// Says in the ring that of the words taken so many, of paths, are left out of a sample: whoever finds the profile later knows that they are not lost.
    pub fn leave_out(&mut self, words: u64) {
        self.mapping
            .u64(LEFT_OUT)
            .fetch_add(words, Ordering::Relaxed);
    }

    /// Takes at most `most` bytes of words and puts them behind `words`, up to the first that is not written yet. Holes that
    /// nobody will fill come as 0.
    pub fn take(&mut self, most: u64, words: &mut Vec<u32>) -> Batch {
        // Before the places are looked at: what is 0 after that can't be filled while the owner waits.
        let is_stuck = self.owner_waits() && self.is_full();
        let start = self.mapping.u64(START).load(Ordering::Acquire);
        let final_below = if is_stuck {
            self.taken().saturating_add(4)
        } else {
            0
        }
        .max(start);
        self.take_some(most, words, final_below)
    }

    /// Whether the owner can't go on before more is taken: otherwise it waits no longer, and only has not been woken yet.
    fn is_full(&self) -> bool {
        let cursor = self.mapping.u64(CURSOR).load(Ordering::Acquire);
        let chunk = cursor.saturating_sub(4) & !(CHUNK - 1);
        chunk.saturating_add(RESERVE) > self.taken().saturating_add(self.size)
    }

    /// The same of a ring whose process is gone: what is not written never will be.
    pub fn take_rest(&mut self, most: u64, words: &mut Vec<u32>) -> Batch {
        self.take_some(most, words, u64::MAX)
    }

    /// Places below `final_below` are as they will stay.
    fn take_some(&mut self, most: u64, words: &mut Vec<u32>, final_below: u64) -> Batch {
        let (taken, end) = (self.taken(), self.end());
        // More than it holds: the owner went round and over it.
        let start = taken.max(end.saturating_sub(self.size)) & !3;
        let stop = end.min(start.saturating_add(most)) & !3;
        let (mut at, mut holes) = (start, 0);
        while at < stop {
            let place = at & (self.size - 1);
            let most = if at.is_multiple_of(8) {
                self.size - place
            } else {
                4
            };
            let piece = (stop - at).min(most);
            let (place, count) = (WORDS + place as usize, (piece / 4) as usize);
            let got = self.copy(place, count, words);
            let places = &self.mapping.words(place, count)[got..];
            let may_be_holes = final_below.saturating_sub(at).div_ceil(4);
            let before = words.len();
            let got = got + copy(places, words, may_be_holes.saturating_sub(got as u64));
            if may_be_holes > 0 {
                holes += words[before..].iter().filter(|&&word| word == 0).count() as u64;
            }
            at += 4 * got as u64;
            if got < count {
                break;
            }
        }
        if holes > 0 {
            self.mapping.u64(HOLES).fetch_add(holes, Ordering::Relaxed);
        }
        if at != taken {
            self.give_back(at);
        }
        Batch {
            at: start,
            lost: start.saturating_sub(taken),
        }
    }

    /// Copies as many words from a place on as can be in blocks without a 0, and sets their places to 0. Two words a load: one at a time
    /// took as long as what is made of them.
    fn copy(&self, place: usize, count: usize, words: &mut Vec<u32>) -> usize {
        if !place.is_multiple_of(8) {
            return 0;
        }
        let pairs = self.mapping.pairs(place, count / 2);
        let before = words.len();
        words.resize(before + 2 * pairs.len(), 0);
        let blocks = pairs.chunks_exact(BLOCK);
        let mut got = 0;
        for (from, to) in blocks.zip(words[before..].chunks_exact_mut(2 * BLOCK)) {
            let mut holes = false;
            for (pair, to) in from.iter().zip(to.chunks_exact_mut(2)) {
                let both = pair.load(Ordering::Relaxed);
                let [first, second] = [both as u32, (both >> 32) as u32];
                holes |= first == 0 || second == 0;
                to.copy_from_slice(&[first, second]);
            }
            if holes {
                break;
            }
            for pair in from {
                pair.store(0, Ordering::Relaxed);
            }
            got += 2 * BLOCK;
        }
        words.truncate(before + got);
        got
    }

    /// Position after the last place taken by the owner, as far as its words can be trusted.
    fn end(&self) -> u64 {
        let cursor = self.mapping.u64(CURSOR).load(Ordering::Acquire);
        self.missing().map_or(cursor, |missing| missing.min(cursor))
    }

    /// Moves `taken`, behind places that are 0 again, and wakes the owner.
    fn give_back(&self, taken: u64) {
        self.mapping.u64(TAKEN).store(taken, Ordering::Release);
        // The owner says that it waits, then looks at `taken` again; here the other way round: one of both sees the other.
        fence(Ordering::SeqCst);
        if self.owner_waits() {
            // Shared, not private: it waits in another process. An address that is mapped can be woken.
            futex::wake(self.mapping.u32(TAKEN), futex::Flags::empty(), u32::MAX).ok();
        }
    }
}

/// Copies words up to the first 0 that is not among the first `may_be_holes`, and sets their places to 0.
fn copy(places: &[AtomicU32], words: &mut Vec<u32>, may_be_holes: u64) -> usize {
    let before = words.len();
    words.reserve(places.len());
    for (index, place) in (0u64..).zip(places) {
        let word = place.load(Ordering::Relaxed);
        if word == 0 && index >= may_be_holes {
            break;
        }
        words.push(word);
    }
    let got = words.len() - before;
    for place in &places[..got] {
        place.store(0, Ordering::Relaxed);
    }
    got
}
