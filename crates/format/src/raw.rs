//! Reads a raw profile: the file a woven program writes through a shared mapping. Layout: [`holloway_abi`].
//!
//! The file may be of a process that still runs or was killed: what lies behind [`RawHead::end`] is ignored. The raw form
//! carries no checksums (the program only ever adds to counters), so a flipped bit in a counter can't be seen; one in a
//! head of an extent, a hash key, or a counter that no path has, can. A damaged head of an extent costs that extent: the
//! next one is looked for at the following pages.
//!
//! Cost: linear in the file.

mod beside;
mod rings;
mod writer;

use crate::cursor::{Cursor, known_kind};
use crate::damage::{Damage, DamagedFile};
use crate::error::FormatError;
use crate::profile::ProfileHead;
use holloway_abi::{
    ABI_VERSION, EXTENT_BLOCK, EXTENT_MAGIC, EXTENT_RING, EXTENT_SEGMENT, EXTENT_SPOOL,
    InlineCounts, PAGE, RAW_MAGIC, hash_slot,
};

pub use beside::counted_beside;
pub use rings::{Piece, Ring, RingWords, Spool};
pub use writer::RawWriter;

/// Size of an extent's head.
pub(crate) const EXTENT_HEAD: u64 = 64;
const SLOT: usize = 16;

/// A raw profile, its extents found and checked.
#[derive(Clone, Debug)]
pub struct RawProfile<'a> {
    header: RawHead,
    blocks: Vec<Block<'a>>,
    segments: Vec<Segment<'a>>,
    rings: Vec<Ring<'a>>,
    spools: Vec<Spool<'a>>,
    damage: Vec<Damage>,
}

/// What the head of a raw profile says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawHead {
    /// What sealed profiles say too.
    pub profile: ProfileHead,
    /// Bytes of counters a thread.
    pub block_size: u64,
    /// Offset after the last complete extent.
    pub end: u64,
    /// Start of the process on the boot clock, in nanoseconds; 0: unknown.
    pub boot_start: u64,
    /// Inode of the PID namespace its process id is of; 0: unknown.
    pub pid_namespace: u64,
    /// Process that takes words out of the rings; 0: none, threads spool.
    pub collector: u32,
}

/// Counters of one thread (or of several, one after the other).
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Thread that owns it, or owned it last.
    pub tid: u32,
    /// Offset of the counters in the file.
    pub offset: u64,
    /// Little-endian `u64` counters.
    pub bytes: &'a [u8],
}

/// A segment of a hashed function's counters.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Thread that owns it, or owned it last.
    pub tid: u32,
    /// Offset of the slots in the file.
    pub offset: u64,
    /// Offset of the function's head in a block.
    pub head: u64,
    slots: &'a [u8],
}

impl<'a> Block<'a> {
    /// The counters.
    pub fn counters(&self) -> impl Iterator<Item = u64> + 'a {
        let (words, _) = self.bytes.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// The counter at this byte offset, 0 past the end.
    pub fn counter(&self, offset: u64) -> u64 {
        let word = usize::try_from(offset / 8)
            .ok()
            .and_then(|index| self.bytes.as_chunks::<8>().0.get(index));
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }
}

impl<'a> Segment<'a> {
    /// Path and count of the slots in use, in the order of the slots.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.raw_slots()
            .filter(|&(key, count)| key != 0 && count != 0)
            .map(|(key, count)| (key - 1, count))
    }

    fn raw_slots(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let (slots, _) = self.slots.as_chunks::<SLOT>();
        slots.iter().map(|slot| {
            let (key, count) = slot.split_at(8);
            (word(key), word(count))
        })
    }

    /// Offset in the file of a slot whose key can't have been put there: no free slot may lie between the slot where the
    /// search for a key begins and the slot that holds it. A free slot with a count is out of place too: keys come first.
    pub fn misplaced(&self) -> Option<u64> {
        let keys: Vec<(u64, u64)> = self.raw_slots().collect();
        let count = keys.len();
        let bits = count.trailing_zeros();
        let offset = |index: usize| self.offset + (index * SLOT) as u64;
        let stray = |&(key, count): &(u64, u64)| key == 0 && count != 0;
        if let Some(index) = keys.iter().position(stray) {
            return Some(offset(index));
        }
        let free = keys.iter().position(|&(key, _)| key == 0)?;
        let mut run = 0;
        for step in 1..count {
            let index = (free + step) & (count - 1);
            let (key, _) = keys[index];
            if key == 0 {
                run = 0;
                continue;
            }
            let home = hash_slot(key - 1, bits) as usize;
            if (index.wrapping_sub(home) & (count - 1)) > run {
                return Some(offset(index));
            }
            run += 1;
        }
        None
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// `bytes` of counters rounded up to a size that blocks can have: a multiple of a page, less an extent's head.
pub fn block_size(counters: u64) -> u64 {
    counters
        .saturating_add(EXTENT_HEAD)
        .checked_next_multiple_of(PAGE)
        .unwrap_or(u64::MAX - (PAGE - 1))
        - EXTENT_HEAD
}

/// Size of the extent of a segment.
fn segment_extent(slots: u64) -> Option<u64> {
    slots
        .checked_mul(SLOT as u64)?
        .checked_add(EXTENT_HEAD)?
        .checked_next_multiple_of(PAGE)
}

impl RawHead {
    /// Reads the head.
    ///
    /// # Errors
    /// If the bytes are no raw profile, of another version, cut off in the head, or damaged there.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let magic = &bytes[..bytes.len().min(8)];
        if magic.iter().all(|&byte| byte == 0) {
            return Err(FormatError::Unfinished);
        }
        if !RAW_MAGIC.starts_with(magic) {
            return Err(FormatError::NotAProfile);
        }
        let mut cursor = Cursor::new(bytes, 0);
        cursor.bytes(8)?;
        let found = cursor.u32()?;
        if found != ABI_VERSION {
            return Err(FormatError::Version {
                found,
                reads: ABI_VERSION..=ABI_VERSION,
            });
        }
        let (kind, build_id) = (cursor.u32()?, cursor.id()?);
        let (block_size, end) = (cursor.u64()?, cursor.u64()?);
        let (pid, ppid, start_ns, lost) =
            (cursor.u32()?, cursor.u32()?, cursor.u64()?, cursor.u64()?);
        let (threads, flags, boot_start) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
        let (pid_namespace, collector) = (cursor.u64()?, cursor.u32()?);
        cursor.bytes(28)?;
        let (image, image_path) = (padded(cursor.bytes(80)?), padded(cursor.bytes(1024)?));
        if !block_size
            .checked_add(EXTENT_HEAD)
            .is_some_and(|size| size.is_multiple_of(PAGE))
        {
            return Err(FormatError::Head { offset: 32 });
        }
        if end < PAGE || !end.is_multiple_of(PAGE) {
            return Err(FormatError::Head { offset: 40 });
        }
        let forked = flags & 1 != 0;
        let profile = ProfileHead {
            sealed: false,
            kind: known_kind(kind)?,
            build_id,
            image,
            image_path,
            pid,
            ppid,
            start_ns,
            threads,
            lost,
            forked,
        };
        Ok(Self {
            profile,
            block_size,
            end,
            boot_start,
            pid_namespace,
            collector,
        })
    }
}

/// A NUL-padded name; bytes that are no UTF-8 are replaced.
fn padded(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

enum Extent<'a> {
    Block(Block<'a>),
    Segment(Segment<'a>),
    Ring(Ring<'a>),
    Spool(Spool<'a>),
}

impl<'a> RawProfile<'a> {
    /// Finds the extents.
    ///
    /// # Errors
    /// As [`RawHead::read`]. Other damage is listed.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let header = RawHead::read(bytes)?;
        let mut raw = Self {
            header,
            blocks: Vec::new(),
            segments: Vec::new(),
            rings: Vec::new(),
            spools: Vec::new(),
            damage: Vec::new(),
        };
        let length = bytes.len() as u64;
        if raw.header.end > length {
            let what = format!("the last {} bytes are missing", raw.header.end - length);
            raw.damage
                .push(Damage::of_file(DamagedFile::Profile, length, what));
        }
        raw.find_extents(&bytes[..raw.header.end.min(length) as usize]);
        Ok(raw)
    }

    fn find_extents(&mut self, bytes: &'a [u8]) {
        let mut at = PAGE as usize;
        let mut lost_since = None;
        while at < bytes.len() {
            match self.extent(bytes, at) {
                Some((extent, size)) => {
                    self.note_lost(lost_since.take(), at);
                    at += size;
                    match extent {
                        Extent::Block(block) => self.blocks.push(block),
                        Extent::Segment(segment) => self.segments.push(segment),
                        Extent::Ring(ring) => self.push_ring(ring),
                        Extent::Spool(spool) => self.spools.push(spool),
                    }
                }
                None => {
                    lost_since.get_or_insert(at);
                    at += PAGE as usize;
                }
            }
        }
        self.note_lost(lost_since, bytes.len());
    }

    fn push_ring(&mut self, ring: Ring<'a>) {
        if ring.overrun() > 0 {
            let (tid, bytes) = (ring.tid, ring.overrun());
            let what = format!("{bytes} bytes of words of thread {tid} were written over");
            let damage = Damage::of_file(DamagedFile::Profile, ring.offset, what);
            self.damage.push(damage);
        }
        self.rings.push(ring);
    }

    fn note_lost(&mut self, since: Option<usize>, to: usize) {
        if let Some(since) = since {
            let what = format!(
                "{} bytes are lost: the head of an extent is damaged or cut off",
                to - since
            );
            self.damage
                .push(Damage::of_file(DamagedFile::Profile, since as u64, what));
        }
    }

    /// The extent at `at` and its size, if its head is in order and it is complete.
    fn extent(&self, bytes: &'a [u8], at: usize) -> Option<(Extent<'a>, usize)> {
        let mut cursor = Cursor::new(&bytes[at..], at as u64);
        if cursor.bytes(8).ok()? != EXTENT_MAGIC {
            return None;
        }
        let (kind, tid) = (cursor.u32().ok()?, cursor.u32().ok()?);
        let (size, head, slots) = (cursor.u64().ok()?, cursor.u64().ok()?, cursor.u64().ok()?);
        let used = cursor.u64().ok()?;
        cursor.bytes((EXTENT_HEAD - 48) as usize).ok()?;
        let offset = cursor.offset();
        let length = usize::try_from(size).ok()?;
        let length = length.checked_sub(EXTENT_HEAD as usize)?;
        let block_size = self.header.block_size;
        let is_ring = kind == EXTENT_RING
            && size.checked_sub(slots).is_some_and(|rest| {
                rest == PAGE
                    || (self.header.profile.kind.traits().inline_counts
                        == InlineCounts::Activations
                        && rest.checked_sub(PAGE + EXTENT_HEAD) == Some(block_size))
            });
        // Of a ring that the file ends in, the words that are there count.
        let is_cut = is_ring && at.checked_add(usize::try_from(size).ok()?)? > bytes.len();
        let payload = match is_cut {
            true => cursor.rest(),
            false => cursor.bytes(length).ok()?,
        };
        let extent = match kind {
            EXTENT_BLOCK if payload.len() as u64 == block_size => Extent::Block(Block {
                tid,
                offset,
                bytes: payload,
            }),
            EXTENT_SEGMENT
                if slots.is_power_of_two()
                    && segment_extent(slots) == Some(size)
                    && head < block_size
                    && head.is_multiple_of(8) =>
            {
                Extent::Segment(Segment {
                    tid,
                    offset,
                    head,
                    slots: &payload[..slots as usize * SLOT],
                })
            }
            EXTENT_RING if is_ring => {
                Extent::Ring(Ring::read((tid, used), at as u64, slots, payload)?)
            }
            EXTENT_SPOOL if size.is_multiple_of(PAGE) => {
                Extent::Spool(Spool::read(tid, offset, [head, slots, used], payload)?)
            }
            _ => return None,
        };
        Some((extent, size as usize))
    }

    /// The head.
    pub fn header(&self) -> &RawHead {
        &self.header
    }

    /// The threads' blocks, in the order they were made.
    pub fn blocks(&self) -> &[Block<'a>] {
        &self.blocks
    }

    /// The hashed functions' segments, in the order they were made.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// The threads' rings, in the order they were made.
    pub fn rings(&self) -> &[Ring<'a>] {
        &self.rings
    }

    /// What threads spooled, in the order they did.
    pub fn spools(&self) -> &[Spool<'a>] {
        &self.spools
    }

    /// Rings and spools put together: each ring's words, in order.
    pub fn ring_words(&self) -> Vec<RingWords<'a>> {
        rings::join(&self.rings, &self.spools)
    }

    /// What is lost. Spools are not looked into: their damage comes with [`Spool::words`].
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}
