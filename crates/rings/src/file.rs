//! Reads a raw profile while its process still writes it, and finds new rings.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use holloway_abi::{CHUNK, EXTENT_MAGIC, EXTENT_RING, ExtentHeader, InlineCounts, PAGE, RawHeader};
use holloway_format::FormatError;
use holloway_format::raw::RawHead;

use crate::mapping::Mapping;
use crate::ring::{Ring, SIZE, WORDS};

/// A raw profile with streams.
#[derive(Debug)]
pub struct RingFile {
    file: File,
    head: RawHead,
    /// Offset up to which the reader has searched extents.
    searched: u64,
}

/// The result of opening a raw profile.
#[derive(Debug)]
pub enum Opened {
    /// A raw profile with streams.
    Streams(RingFile),
    /// The program has not written the head yet.
    Unfinished,
    /// The file is not a raw profile with streams.
    Other,
}

impl RingFile {
    /// Opens a raw profile.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &Path) -> io::Result<Opened> {
        let file = File::options().read(true).write(true).open(path)?;
        let head = match read_head(&file)? {
            Ok(head) => head,
            Err(FormatError::Unfinished | FormatError::Truncated { .. }) => {
                return Ok(Opened::Unfinished);
            }
            Err(_) => return Ok(Opened::Other),
        };
        if !head.profile.kind.is_stream() {
            return Ok(Opened::Other);
        }
        let searched = PAGE;
        Ok(Opened::Streams(Self {
            file,
            head,
            searched,
        }))
    }

    /// The head, as it was when the file was opened.
    pub fn head(&self) -> &RawHead {
        &self.head
    }

    /// The head as it is now. The program updates the numbers of threads and losses while it runs.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn head_now(&self) -> io::Result<RawHead> {
        Ok(read_head(&self.file)?.unwrap_or_else(|_| self.head.clone()))
    }

    /// The process id of the collector that takes words out of the rings; 0 if the threads spool.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn collector(&self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        let offset = std::mem::offset_of!(RawHeader, collector) as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Returns the rings that the program created since the last call.
    ///
    /// # Errors
    /// If the file cannot be read or mapped.
    pub fn new_rings(&mut self) -> io::Result<Vec<Ring>> {
        let mut end = [0; 8];
        let end_offset = std::mem::offset_of!(RawHeader, end) as u64;
        self.file.read_exact_at(&mut end, end_offset)?;
        let end = u64::from_le_bytes(end);
        let mut rings = Vec::new();
        while self.searched < end {
            let extent = self.extent()?;
            if extent.kind == EXTENT_RING {
                rings.extend(self.ring(&extent)?);
            }
            self.searched += extent.size;
        }
        Ok(rings)
    }

    /// The size in bytes of the ring counters of each ring, with the 64 bytes before them.
    fn counter_bytes(&self) -> u64 {
        match self.head.profile.kind.traits().inline_counts {
            InlineCounts::Activations => self
                .head
                .block_size
                .saturating_add(size_of::<ExtentHeader>() as u64),
            InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges => 0,
        }
    }

    /// The extent at `searched`. If its header is invalid, returns a page without content.
    fn extent(&self) -> io::Result<Extent> {
        let mut bytes = [0; size_of::<ExtentHeader>()];
        self.file.read_exact_at(&mut bytes, self.searched)?;
        let field = |offset: usize| {
            u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("8 bytes"))
        };
        let size = field(16);
        let is_valid = bytes.starts_with(&EXTENT_MAGIC)
            && size > 0
            && size.is_multiple_of(PAGE)
            && size < 1 << 40;
        Ok(if is_valid {
            let kind = (field(8) & u64::from(u32::MAX)) as u32;
            Extent {
                kind,
                size,
                ring_size: field(32),
            }
        } else {
            Extent {
                kind: 0,
                size: PAGE,
                ring_size: 0,
            }
        })
    }

    fn ring(&self, extent: &Extent) -> io::Result<Option<Ring>> {
        let size = extent.ring_size;
        let fits = size.is_power_of_two()
            && size >= 4 * CHUNK
            && extent
                .size
                .checked_sub(WORDS as u64)
                .and_then(|rest| rest.checked_sub(size))
                .is_some_and(|counter_bytes| {
                    counter_bytes == 0 || counter_bytes == self.counter_bytes()
                });
        if !fits {
            return Ok(None);
        }
        let mapping = Mapping::new(&self.file, self.searched, size + WORDS as u64)?;
        let has_same_size = mapping.u64(SIZE).load(std::sync::atomic::Ordering::Relaxed) == size;
        Ok(has_same_size.then(|| Ring::new(mapping, size, self.searched)))
    }
}

/// The fields of an extent's header that this module needs.
struct Extent {
    kind: u32,
    size: u64,
    ring_size: u64,
}

fn read_head(file: &File) -> io::Result<Result<RawHead, FormatError>> {
    let mut bytes = [0; size_of::<RawHeader>()];
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            count => length += count,
        }
    }
    Ok(RawHead::read(&bytes[..length]))
}
