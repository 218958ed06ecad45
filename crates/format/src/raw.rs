//! Reads a raw profile: the file that a woven program writes through a shared mapping.
//! [`holloway_abi`] has the layout.
//!
//! After its head, a raw profile consists of *extents*: parts of one or more pages. An extent has a
//! block of counters, a segment (a hash table of a function's counters), a ring with the words of a
//! stream, cells of a ring that began small, or a spool (compressed words of a ring).
//!
//! The process may still run or may have been killed, so the parser ignores bytes after
//! [`RawHead::end`]. The raw form has no checksums, because the program only adds to counters. So
//! the parser cannot detect a flipped bit in a counter. It detects damage in the heads of extents,
//! in the keys of segments, and in counters that belong to no path. An extent with a damaged head
//! is lost. The parser then looks for the next extent at the starts of the following pages.
//!
//! Cost: linear in the file; of a file with holes, in its data.

mod extent;
mod head;
mod rings;

use std::ops::Range;

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact};
use crate::error::FormatError;
use extent::{EXTENT_HEAD_SIZE, ExtentHead, SLOT_SIZE, segment_extent_size};
use holloway_abi::{
    EXTENT_BLOCK, EXTENT_CELLS, EXTENT_RING, EXTENT_SEGMENT, EXTENT_SPOOL, InlineCounts, PAGE,
};

pub use extent::{Block, Segment, block_size};
pub use head::RawHead;
use rings::Cells;
pub use rings::{Piece, Ring, RingWords, Spool};

/// The bytes of a file with holes: parts of the file that take no space and read as zeros.
#[derive(Clone, Debug)]
pub struct SparseBytes {
    /// All bytes, with zeros in the holes.
    pub bytes: Vec<u8>,
    /// The ranges outside of the holes, ascending. All other bytes are 0.
    pub data: Vec<Range<u64>>,
}

/// A raw profile with its extents.
#[derive(Clone, Debug)]
pub struct RawProfile<'a> {
    header: RawHead,
    /// The ranges of the file that may contain bytes other than 0, ascending.
    data: Vec<Range<u64>>,
    blocks: Vec<Block<'a>>,
    segments: Vec<Segment<'a>>,
    rings: Vec<Ring<'a>>,
    spools: Vec<Spool<'a>>,
    damage: Vec<Damage>,
}

enum Extent<'a> {
    Block(Block<'a>),
    Segment(Segment<'a>),
    Ring(Ring<'a>),
    Spool(Spool<'a>),
    Cells(Cells<'a>),
}

impl<'a> RawProfile<'a> {
    /// Reads the head, and finds the extents. [`RawProfile::damage`] lists the damage after the
    /// head.
    ///
    /// # Errors
    /// If the bytes are not a raw profile or have another version, or if the head is damaged or cut
    /// off.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let whole = 0..bytes.len() as u64;
        Self::parse_data(bytes, vec![whole])
    }

    /// Like [`parse`](Self::parse), for a file with holes. The counters in the holes are not read.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_sparse(file: &'a SparseBytes) -> Result<Self, FormatError> {
        Self::parse_data(&file.bytes, file.data.clone())
    }

    fn parse_data(bytes: &'a [u8], data: Vec<Range<u64>>) -> Result<Self, FormatError> {
        let header = RawHead::read(bytes)?;
        let mut raw = Self {
            header,
            data,
            blocks: Vec::new(),
            segments: Vec::new(),
            rings: Vec::new(),
            spools: Vec::new(),
            damage: Vec::new(),
        };
        let length = bytes.len() as u64;
        if raw.header.end > length {
            let fact = Fact::Truncated {
                bytes: raw.header.end - length,
            };
            raw.damage
                .push(Damage::of_file(DamagedFile::Profile, length, fact));
        }
        raw.find_extents(&bytes[..raw.header.end.min(length) as usize]);
        Ok(raw)
    }

    fn find_extents(&mut self, bytes: &'a [u8]) {
        let mut position = PAGE as usize;
        let mut lost_since = None;
        while position < bytes.len() {
            match self.extent(bytes, position) {
                Some((extent, size)) => {
                    self.note_lost(lost_since.take(), position);
                    position += size;
                    match extent {
                        Extent::Block(block) => self.blocks.push(block),
                        Extent::Segment(segment) => self.segments.push(segment),
                        Extent::Ring(ring) => self.push_ring(ring),
                        Extent::Spool(spool) => self.spools.push(spool),
                        Extent::Cells(cells) => self.add_cells(cells),
                    }
                }
                None => {
                    lost_since.get_or_insert(position);
                    position += PAGE as usize;
                }
            }
        }
        self.note_lost(lost_since, bytes.len());
    }

    /// The index of the ring of these cells. `None` if no such ring is earlier in the file.
    fn ring_of(&self, cells: &Cells<'a>) -> Option<usize> {
        self.rings
            .iter()
            .rposition(|ring| ring.offset == cells.ring)
    }

    /// Adds cells to their ring.
    fn add_cells(&mut self, cells: Cells<'a>) {
        if let Some(ring) = self.ring_of(&cells) {
            self.rings[ring].add_cells(cells);
        }
    }

    fn push_ring(&mut self, ring: Ring<'a>) {
        if ring.overrun() > 0 {
            let fact = Fact::OverwrittenWords {
                bytes: ring.overrun(),
                thread: ring.tid,
            };
            let damage = Damage::of_file(DamagedFile::Profile, ring.offset, fact);
            self.damage.push(damage);
        }
        self.rings.push(ring);
    }

    fn note_lost(&mut self, since: Option<usize>, to: usize) {
        if let Some(since) = since {
            let fact = Fact::LostExtent {
                bytes: (to - since) as u64,
            };
            self.damage
                .push(Damage::of_file(DamagedFile::Profile, since as u64, fact));
        }
    }

    /// Returns the extent at `start` and its size. Returns `None` if its head is damaged, or if the
    /// extent is incomplete and has no words.
    fn extent(&self, bytes: &'a [u8], start: usize) -> Option<(Extent<'a>, usize)> {
        let mut cursor = Cursor::new(&bytes[start..], start as u64);
        let head = ExtentHead::read(&mut cursor)?;
        let offset = cursor.offset();
        let size = usize::try_from(head.size).ok()?;
        let length = size.checked_sub(EXTENT_HEAD_SIZE as usize)?;
        let block_size = self.header.block_size;
        // In addition to its words, if they are in its extent, a ring has a page with its header.
        // In the kind `loops` it also has a block of ring counters.
        let counts_activations =
            self.header.profile.kind.traits().inline_counts == InlineCounts::Activations;
        let with_counters = block_size.saturating_add(PAGE + EXTENT_HEAD_SIZE);
        let without_words = |size: u64| size == PAGE || counts_activations && size == with_counters;
        let words_size = match head.size {
            PAGE if !counts_activations => Some(0),
            size if counts_activations && size == with_counters => Some(0),
            size => size
                .checked_sub(head.slots)
                .and_then(|rest| without_words(rest).then_some(head.slots)),
        };
        let words_size = words_size.filter(|_| head.kind == EXTENT_RING);
        let is_ring = words_size.is_some();
        // If the file ends inside a ring, the words before the end of the file are still used.
        let is_cut =
            (is_ring || head.kind == EXTENT_CELLS) && start.checked_add(size)? > bytes.len();
        let payload = match is_cut {
            true => cursor.remaining(),
            false => cursor.bytes(length).ok()?,
        };
        let extent = match head.kind {
            EXTENT_BLOCK if payload.len() as u64 == block_size => Extent::Block(Block {
                tid: head.tid,
                offset,
                bytes: payload,
            }),
            EXTENT_SEGMENT
                if head.slots.is_power_of_two()
                    && segment_extent_size(head.slots) == Some(head.size)
                    && head.head < block_size
                    && head.head.is_multiple_of(8) =>
            {
                Extent::Segment(Segment {
                    tid: head.tid,
                    offset,
                    head: head.head,
                    slots: &payload[..head.slots as usize * SLOT_SIZE],
                })
            }
            EXTENT_RING => {
                let words_size = usize::try_from(words_size?).ok()?;
                Extent::Ring(Ring::read(&head, start as u64, payload, words_size)?)
            }
            EXTENT_CELLS if head.size.is_multiple_of(PAGE) => {
                let cells = Cells::read(&head, payload)?;
                // Cells whose ring is lost are of no use.
                self.ring_of(&cells)?;
                Extent::Cells(cells)
            }
            EXTENT_SPOOL if head.size.is_multiple_of(PAGE) => {
                Extent::Spool(Spool::read(&head, offset, payload)?)
            }
            _ => return None,
        };
        Some((extent, size))
    }

    /// The head.
    pub fn header(&self) -> &RawHead {
        &self.header
    }

    /// The threads' blocks, in the order in which they were created.
    pub fn blocks(&self) -> &[Block<'a>] {
        &self.blocks
    }

    /// The hashed functions' segments, in the order in which they were created.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// Number and value of each counter of a block that is not 0, ascending.
    pub(crate) fn nonzero_counters(
        &self,
        block: &Block<'a>,
    ) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        block.nonzero_counters(&self.data)
    }

    /// The threads' rings, in the order in which they were created.
    pub fn rings(&self) -> &[Ring<'a>] {
        &self.rings
    }

    /// The spooled words of the threads, in the order in which they were spooled.
    pub fn spools(&self) -> &[Spool<'a>] {
        &self.spools
    }

    /// Joins the rings with their spools. Returns the words of each ring.
    pub fn ring_words(&self) -> Vec<RingWords<'a>> {
        rings::join(&self.rings, &self.spools)
    }

    /// The damage of the extents. It does not include the damage of compressed words, which
    /// [`Spool::words`] returns.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}
