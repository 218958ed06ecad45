//! Streams in a raw profile: the words in the threads' rings, and the words that threads spooled.
//! The module `ring` of [`holloway_abi`] has the layout.
//!
//! A ring's words come in pieces, by position: the spooled words, then the words still in the ring.
//! The words that a collector took are in neither. A spool and its ring may overlap, if the process
//! was killed after it had published the spool and before it moved `taken` in the ring.
//! [`RingWords::pieces`] gives each word once.
//!
//! Cost: linear in the words. Spools are decompressed one at a time, at most a megabyte each.

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact, SpoolDamage};
use crate::raw::extent::{EXTENT_HEAD, ExtentHead};
use holloway_abi::{CHUNK, PAGE, RING_SIZE, RingHeader};

const RING_HEAD: usize = size_of::<RingHeader>();
/// The ring header's `own`.
const OWN: usize = 32;

/// The ring of one thread, or of several threads that owned it one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    /// Thread that owns it, or owned it last.
    pub tid: u32,
    /// Number of threads that have owned it.
    pub owners: u64,
    /// Offset of its extent in the file.
    pub offset: u64,
    /// Position of the first word ever.
    pub origin: u64,
    /// Position where the last owner's words begin.
    pub start: u64,
    /// Position up to which a collector took words.
    pub taken: u64,
    /// Position after the last place that its owner reserved.
    pub cursor: u64,
    /// Position from which on words were dropped.
    pub missing: Option<u64>,
    /// Number of words that end no path.
    pub controls: u64,
    /// Number of words of paths that a collector took and left out of its sample.
    pub left_out: u64,
    /// Number of places that a collector took and that were never written.
    pub taken_holes: u64,
    /// Bytes of places, a power of two.
    size: u64,
    /// Little-endian places; fewer if the file is cut off.
    places: &'a [u8],
    /// Little-endian ring counters, behind the places.
    counters: &'a [u8],
}

/// A piece of a ring's words, compressed.
#[derive(Clone, Copy, Debug)]
pub struct Spool<'a> {
    /// Thread that spooled.
    pub tid: u32,
    /// Offset of the ring's extent in the file.
    pub ring: u64,
    /// Position of the first word.
    pub position: u64,
    /// Bytes of words.
    pub length: u64,
    /// Offset of the LZ4 block in the file.
    pub offset: u64,
    block: &'a [u8],
}

/// All words of one ring that the file has.
#[derive(Clone, Debug)]
pub struct RingWords<'a> {
    /// Offset of the ring's extent, which identifies the ring.
    pub offset: u64,
    /// The ring, if its extent is in order.
    pub ring: Option<Ring<'a>>,
    /// Its spools, ascending by position.
    pub spools: Vec<Spool<'a>>,
}

/// A run of adjacent words of a stream. Holes are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Position of the first word.
    pub at: u64,
    /// The words.
    pub words: Vec<u32>,
}

impl<'a> Ring<'a> {
    /// Reads the extent behind its head; none if it is damaged. Places may be missing at the end.
    pub(super) fn read(head: &ExtentHead, offset: u64, payload: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(payload, offset + EXTENT_HEAD);
        let mut word = || cursor.u64().ok();
        let (end, origin, size, start) = (word()?, word()?, word()?, word()?);
        cursor.bytes(OWN).ok()?;
        let taken = cursor.u64().ok()?;
        cursor.bytes(8).ok()?;
        let missing = cursor.u64().ok()?;
        let controls = cursor.u64().ok()?;
        let (left_out, taken_holes) = (cursor.u64().ok()?, cursor.u64().ok()?);
        cursor
            .bytes((PAGE - EXTENT_HEAD) as usize - RING_HEAD + 16)
            .ok()?;
        let content = cursor.rest();
        let words_size = usize::try_from(head.slots).ok()?;
        let (places, counters) = content.split_at(content.len().min(words_size));
        let ring = Self {
            tid: head.tid,
            owners: head.used,
            offset,
            origin,
            start,
            taken,
            cursor: end,
            missing: (missing != u64::MAX).then_some(missing),
            controls,
            left_out,
            taken_holes,
            size,
            places,
            counters,
        };
        let sound = size == head.slots
            && places.len() as u64 <= size
            && size.is_power_of_two()
            && size >= 4 * CHUNK
            && origin.is_multiple_of(CHUNK)
            && [taken, ring.end()].iter().all(|at| at.is_multiple_of(4))
            && origin <= taken
            && taken <= ring.end();
        sound.then_some(ring)
    }

    /// Position after the last word that was not dropped.
    pub fn end(&self) -> u64 {
        self.missing
            .map_or(self.cursor, |missing| missing.min(self.cursor))
    }

    /// Number of the first dropped word, from 1, among all words that its threads appended; none if
    /// no word was dropped.
    pub fn dropped_from(&self) -> Option<u64> {
        let before = self.end() - self.origin;
        (self.end() < self.cursor).then_some(before / 4 + 1)
    }

    /// Number of words of paths that its threads appended, including dropped words.
    pub fn appended(&self) -> u64 {
        let appended = self.cursor.saturating_sub(self.origin) / 4;
        appended.saturating_sub(self.controls)
    }

    /// Position of the first word in the ring: [`Ring::taken`], or later if words were overwritten.
    pub fn first(&self) -> u64 {
        self.taken.max(self.end().saturating_sub(self.size))
    }

    /// Bytes of words that were overwritten before a collector took them, between [`Ring::taken`]
    /// and [`Ring::first`].
    pub fn overrun(&self) -> u64 {
        self.first() - self.taken
    }

    /// The words in the ring, in order; holes are 0.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<'a> {
        let pieces = self.pieces(self.first());
        pieces.flat_map(|piece| piece.words)
    }

    /// Its ring counters.
    pub fn counters(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (counters, _) = self.counters.as_chunks::<8>();
        counters.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Number of places in the ring that were reserved but not written. They belong to frames that
    /// signal handlers interrupted or jumped out of.
    pub fn holes(&self) -> u64 {
        self.words().filter(|&word| word == 0).count() as u64
    }

    /// The words from a position on: one piece, or one piece per lap if the file ends in the ring.
    fn pieces(&self, from: u64) -> impl Iterator<Item = Piece> + use<'a> {
        let (places, _) = self.places.as_chunks::<4>();
        let (size, stored) = (self.size, 4 * places.len() as u64);
        let (mut at, end) = (self.first().max(from), self.end());
        std::iter::from_fn(move || {
            if at % size >= stored {
                at = (at / size + 1).saturating_mul(size);
            }
            if at >= end || stored == 0 {
                return None;
            }
            // Only a complete ring continues at its start.
            let length = if stored == size {
                size
            } else {
                stored - at % size
            };
            let upto = at.saturating_add(length).min(end);
            let word = |index: u64| places[(index % (size / 4)) as usize];
            let words = (at / 4..upto / 4).map(|index| u32::from_le_bytes(word(index)));
            let words: Vec<u32> = words.collect();
            let piece = Piece { at, words };
            at = upto;
            Some(piece)
        })
    }
}

impl<'a> Spool<'a> {
    /// Reads a spool's head; none if it is damaged.
    pub(super) fn read(head: &ExtentHead, offset: u64, payload: &'a [u8]) -> Option<Self> {
        let (ring, position) = (head.head, head.slots);
        let (length, compressed) = (head.used >> 32, head.used & u64::from(u32::MAX));
        let block = payload.get(..usize::try_from(compressed).ok()?)?;
        let sound = length <= RING_SIZE
            && length.is_multiple_of(4)
            && position.is_multiple_of(4)
            && position.checked_add(length).is_some()
            && (payload.len() - block.len()) < PAGE as usize;
        sound.then_some(Self {
            tid: head.tid,
            ring,
            position,
            length,
            offset,
            block,
        })
    }

    /// The words; holes are 0.
    ///
    /// # Errors
    /// If the compressed bytes are damaged. The words are then lost.
    pub fn words(&self) -> Result<Vec<u32>, Damage> {
        let lost = |why| {
            let fact = Fact::LostWords {
                bytes: self.length,
                thread: self.tid,
                why,
            };
            Damage::of_file(DamagedFile::Profile, self.offset, fact)
        };
        let bytes =
            lz4_flex::block::decompress(self.block, self.length as usize).map_err(|error| {
                let message = error.to_string();
                lost(SpoolDamage::Compressed { message })
            })?;
        if bytes.len() as u64 != self.length {
            return Err(lost(SpoolDamage::Short));
        }
        let (words, _) = bytes.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn end(&self) -> u64 {
        self.position + self.length
    }
}

impl RingWords<'_> {
    /// Position after the last spooled word, or 0.
    fn spooled(&self) -> u64 {
        self.spools.iter().map(Spool::end).max().unwrap_or(0)
    }

    /// The pieces, ascending. A damaged spool gives its damage. If a piece does not begin at the
    /// end of the one before, a collector took the words between, or they are lost.
    pub fn pieces(&self) -> impl Iterator<Item = Result<Piece, Damage>> {
        let mut next = 0;
        let spools = self.spools.iter().filter_map(move |spool| {
            let seen = next.max(spool.position).min(spool.end());
            next = next.max(spool.end());
            let words = spool.words().map(|mut words| {
                words.drain(..((seen - spool.position) / 4) as usize);
                words
            });
            match words {
                Ok(words) if words.is_empty() => None,
                Ok(words) => Some(Ok(Piece { at: seen, words })),
                Err(damage) => Some(Err(damage)),
            }
        });
        let rest = self.ring.map(|ring| ring.pieces(self.spooled()));
        spools.chain(rest.into_iter().flatten().map(Ok))
    }
}

/// Joins rings and spools, in the order of the rings' extents.
pub(super) fn join<'a>(rings: &[Ring<'a>], spools: &[Spool<'a>]) -> Vec<RingWords<'a>> {
    let mut order: Vec<&Spool<'a>> = spools.iter().collect();
    order.sort_by_key(|spool| (spool.ring, spool.position));
    let mut joined = std::collections::BTreeMap::new();
    let empty = |offset| RingWords {
        offset,
        ring: None,
        spools: Vec::new(),
    };
    for ring in rings {
        let words = joined
            .entry(ring.offset)
            .or_insert_with(|| empty(ring.offset));
        words.ring = Some(*ring);
    }
    for spool in order {
        let words = joined
            .entry(spool.ring)
            .or_insert_with(|| empty(spool.ring));
        words.spools.push(*spool);
    }
    joined.into_values().collect()
}
