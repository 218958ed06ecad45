//! The streams in a raw profile: the words in the threads' rings, and the words that threads
//! spooled. The module `ring` of [`holloway_abi`] has the layout.
//!
//! Each word of a ring has a *position*: the number of bytes that the ring's threads appended
//! before it, plus the position of the first word. A *hole* is a word that was reserved but not
//! written; it reads as 0.
//!
//! A ring that a collector reads has all its cells in its extent. Any other ring begins small: its
//! cells are in extents of their own ([`Cells`]), and the cells that the stream has not reached are
//! not in the file.
//!
//! The file has the words in pieces: first the spooled words, then the words that are still in the
//! ring. Words that a collector took are not in the file. A spool and its ring overlap if the
//! process was killed after it had written the spool and before it advanced `taken` in the ring.
//! [`RingWords::pieces`] returns each word once.
//!
//! Cost: linear in the words. Only one spool is decompressed at a time, and a spool has at most
//! `RING_SIZE` bytes of words.

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact, SpoolDamage};
use crate::raw::extent::{EXTENT_HEAD_SIZE, ExtentHead};
use holloway_abi::{CHUNK, PAGE, RING_SIZE, RingHeader};

const RING_HEADER_SIZE: usize = size_of::<RingHeader>();
/// Size of the field `own` in the ring's header, which only the runtime uses.
const RUNTIME_PRIVATE_SIZE: usize = 32;

/// The ring of one thread, or of several threads that owned it one after the other.
#[derive(Clone, Debug)]
pub struct Ring<'a> {
    /// The last thread that owned the ring.
    pub tid: u32,
    /// Number of threads that have owned the ring.
    pub owners: u64,
    /// Offset of the ring's extent in the file.
    pub offset: u64,
    /// Position of the first word that was ever appended.
    pub origin: u64,
    /// Position of the last owner's first word.
    pub start: u64,
    /// Position up to which words were taken: by a collector, or by the process into spools.
    pub taken: u64,
    /// Position after the last word that the owner reserved.
    pub cursor: u64,
    /// Position of the first dropped word, or `None` if no word was dropped.
    pub missing: Option<u64>,
    /// Number of control words and their operands, which stand for no path.
    pub controls: u64,
    /// Number of path words that a collector took and left out of its sample.
    pub left_out: u64,
    /// Number of holes that a collector took.
    pub taken_holes: u64,
    /// Bytes of words, a power of two.
    size: u64,
    /// The cells that are in the file, ascending by place. Incomplete if the file is cut off.
    cells: Vec<Cells<'a>>,
    /// The ring counters after the words, little-endian.
    counters: &'a [u8],
}

/// Cells of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    /// Offset of the ring's extent in the file.
    pub(super) ring: u64,
    /// Offset of the first cell among all cells of the ring.
    place: u64,
    /// The words, little-endian.
    words: &'a [[u8; 4]],
}

/// Compressed words of a ring.
#[derive(Clone, Copy, Debug)]
pub struct Spool<'a> {
    /// The thread that spooled the words.
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

/// All words of one ring that are in the file.
#[derive(Clone, Debug)]
pub struct RingWords<'a> {
    /// Offset of the ring's extent, which identifies the ring.
    pub offset: u64,
    /// The ring, if its extent is not damaged.
    pub ring: Option<Ring<'a>>,
    /// The ring's spools, ascending by position.
    pub spools: Vec<Spool<'a>>,
}

/// Consecutive words of a stream. Holes are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Position of the first word.
    pub position: u64,
    /// The words.
    pub words: Vec<u32>,
}

impl<'a> Ring<'a> {
    /// Reads the payload of a ring's extent, with `words_size` bytes of words. The last words may
    /// be missing. Returns `None` if the payload is damaged.
    pub(super) fn read(
        head: &ExtentHead,
        offset: u64,
        payload: &'a [u8],
        words_size: usize,
    ) -> Option<Self> {
        let mut cursor = Cursor::new(payload, offset + EXTENT_HEAD_SIZE);
        let mut word = || cursor.u64().ok();
        let (end, origin, size, start) = (word()?, word()?, word()?, word()?);
        cursor.bytes(RUNTIME_PRIVATE_SIZE).ok()?;
        let taken = cursor.u64().ok()?;
        cursor.bytes(8).ok()?;
        let missing = cursor.u64().ok()?;
        let controls = cursor.u64().ok()?;
        let (left_out, taken_holes) = (cursor.u64().ok()?, cursor.u64().ok()?);
        cursor
            .bytes((PAGE - EXTENT_HEAD_SIZE) as usize - RING_HEADER_SIZE + 16)
            .ok()?;
        let content = cursor.remaining();
        let (word_bytes, counters) = content.split_at(content.len().min(words_size));
        let (words, _) = word_bytes.as_chunks::<4>();
        let cells = Cells {
            ring: offset,
            place: 0,
            words,
        };
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
            cells: vec![cells],
            counters,
        };
        let is_valid = size == head.slots
            && size.is_power_of_two()
            && size >= 4 * CHUNK
            && [origin, taken, ring.end()]
                .iter()
                .all(|position| position.is_multiple_of(4))
            && origin <= taken
            && taken <= ring.end();
        is_valid.then_some(ring)
    }

    /// Adds cells of the ring that are in an extent of their own.
    pub(super) fn add_cells(&mut self, cells: Cells<'a>) {
        if cells.end() <= self.size {
            self.cells.push(cells);
            self.cells.sort_by_key(|cells| cells.place);
        }
    }

    /// Position after the last word that was not dropped.
    pub fn end(&self) -> u64 {
        self.missing
            .map_or(self.cursor, |missing| missing.min(self.cursor))
    }

    /// Number of the first dropped word among all words that the ring's threads appended. The first
    /// word has the number 1. Returns `None` if no word was dropped.
    pub fn dropped_from(&self) -> Option<u64> {
        let bytes_before = self.end() - self.origin;
        (self.end() < self.cursor).then_some(bytes_before / 4 + 1)
    }

    /// Number of path words that the ring's threads appended, including dropped words.
    pub fn appended(&self) -> u64 {
        let appended = self.cursor.saturating_sub(self.origin) / 4;
        appended.saturating_sub(self.controls)
    }

    /// Position of the first word that is still in the ring. It is greater than [`Ring::taken`] if
    /// words were overwritten before they were taken.
    pub fn first(&self) -> u64 {
        self.taken.max(self.end().saturating_sub(self.size))
    }

    /// Bytes of words that were overwritten before they were taken, between [`Ring::taken`] and
    /// [`Ring::first`].
    pub fn overrun(&self) -> u64 {
        self.first() - self.taken
    }

    /// The words in the ring, in order. Holes are 0.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<'a> {
        let pieces = self.pieces(self.first());
        pieces.flat_map(|piece| piece.words)
    }

    /// The ring counters.
    pub fn counters(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (counters, _) = self.counters.as_chunks::<8>();
        counters.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Number of holes in the ring. They are the cells of probes that were interrupted when the
    /// process ended, or that a signal handler jumped out of.
    pub fn holes(&self) -> u64 {
        self.words().filter(|&word| word == 0).count() as u64
    }

    /// The words from a position on. They are one piece if all of them are in the file. If cells
    /// are missing, because the file ends inside the ring, there is a piece before and after them.
    fn pieces(&self, from: u64) -> impl Iterator<Item = Piece> + use<'a> {
        let cells = self.cells.clone();
        let (size, end) = (self.size, self.end());
        let mut position = self.first().max(from);
        std::iter::from_fn(move || {
            position = next_stored(&cells, size, position)?;
            let mut piece = Piece {
                position,
                words: Vec::new(),
            };
            while position < end
                && let Some(words) = words_at(&cells, position % size)
            {
                let count = (words.len() as u64).min((end - position) / 4);
                let words = words.iter().take(count as usize);
                piece
                    .words
                    .extend(words.map(|word| u32::from_le_bytes(*word)));
                position += 4 * count;
            }
            (!piece.words.is_empty()).then_some(piece)
        })
    }
}

/// The words in the cells from a place on, up to the end of these cells. `None` if the file does
/// not have the cell at the place.
fn words_at<'a>(cells: &[Cells<'a>], place: u64) -> Option<&'a [[u8; 4]]> {
    let cells = cells
        .iter()
        .find(|cells| (cells.place..cells.end()).contains(&place))?;
    cells.words.get(((place - cells.place) / 4) as usize..)
}

/// The first position, from a position on, whose cell is in the file.
fn next_stored(cells: &[Cells<'_>], size: u64, position: u64) -> Option<u64> {
    let place = position % size;
    if words_at(cells, place).is_some() {
        return Some(position);
    }
    let mut places = cells
        .iter()
        .filter(|cells| !cells.words.is_empty())
        .map(|cells| cells.place);
    let first = places.clone().next()?;
    match places.find(|&start| start > place) {
        Some(start) => position.checked_add(start - place),
        // Continues at the start of the next lap.
        None => (position / size + 1).checked_mul(size)?.checked_add(first),
    }
}

impl<'a> Cells<'a> {
    /// Reads cells. The last of them may be missing. Returns `None` if the extent is damaged.
    pub(super) fn read(head: &ExtentHead, payload: &'a [u8]) -> Option<Self> {
        let place = head.slots & (RING_SIZE - 1);
        let bytes = payload.get((PAGE - EXTENT_HEAD_SIZE) as usize..)?;
        let (words, _) = bytes.as_chunks::<4>();
        let cells = Self {
            ring: head.head,
            place,
            words,
        };
        (place.is_multiple_of(PAGE) && cells.end() <= RING_SIZE).then_some(cells)
    }

    /// Offset after the last cell among all cells of the ring.
    fn end(&self) -> u64 {
        self.place + 4 * self.words.len() as u64
    }
}

impl<'a> Spool<'a> {
    /// Reads a spool. Returns `None` if its head is damaged.
    pub(super) fn read(head: &ExtentHead, offset: u64, payload: &'a [u8]) -> Option<Self> {
        let (ring, position) = (head.head, head.slots);
        let (length, compressed) = (head.used >> 32, head.used & u64::from(u32::MAX));
        let block = payload.get(..usize::try_from(compressed).ok()?)?;
        let is_valid = length <= RING_SIZE
            && length.is_multiple_of(4)
            && position.is_multiple_of(4)
            && position.checked_add(length).is_some()
            && (payload.len() - block.len()) < PAGE as usize;
        is_valid.then_some(Self {
            tid: head.tid,
            ring,
            position,
            length,
            offset,
            block,
        })
    }

    /// Decompresses the words. Holes are 0.
    ///
    /// # Errors
    /// If the compressed bytes are damaged. Then the words are lost.
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
    /// Position after the last spooled word, or 0 if there is no spool.
    fn spooled_end(&self) -> u64 {
        self.spools.iter().map(Spool::end).max().unwrap_or(0)
    }

    /// The pieces, ascending by position. For a damaged spool, the iterator returns the damage. If
    /// a piece does not begin at the end of the previous piece, a collector took the words between
    /// them, or these words are lost.
    pub fn pieces(&self) -> impl Iterator<Item = Result<Piece, Damage>> {
        let mut last_end = 0;
        let spools = self.spools.iter().filter_map(move |spool| {
            // Words of an earlier spool are not repeated.
            let position = last_end.max(spool.position).min(spool.end());
            last_end = last_end.max(spool.end());
            let words = spool.words().map(|mut words| {
                words.drain(..((position - spool.position) / 4) as usize);
                words
            });
            match words {
                Ok(words) if words.is_empty() => None,
                Ok(words) => Some(Ok(Piece { position, words })),
                Err(damage) => Some(Err(damage)),
            }
        });
        let ring = self.ring.as_ref();
        let in_ring = ring.map(|ring| ring.pieces(self.spooled_end()));
        spools.chain(in_ring.into_iter().flatten().map(Ok))
    }
}

/// Joins rings with their spools, in the order of the rings' extents.
pub(super) fn join<'a>(rings: &[Ring<'a>], spools: &[Spool<'a>]) -> Vec<RingWords<'a>> {
    let mut spools_in_order: Vec<&Spool<'a>> = spools.iter().collect();
    spools_in_order.sort_by_key(|spool| (spool.ring, spool.position));
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
        words.ring = Some(ring.clone());
    }
    for spool in spools_in_order {
        let words = joined
            .entry(spool.ring)
            .or_insert_with(|| empty(spool.ring));
        words.spools.push(*spool);
    }
    joined.into_values().collect()
}
