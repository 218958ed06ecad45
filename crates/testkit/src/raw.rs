//! Builds a raw profile in memory, with the layout that the runtime writes.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;

use holloway_abi::{
    ABI_VERSION, CHUNK, EXTENT_BLOCK, EXTENT_CELLS, EXTENT_MAGIC, EXTENT_RING, EXTENT_SEGMENT,
    EXTENT_SPOOL, ExtentHeader, PAGE, RAW_MAGIC, RING_SIZE, hash_slot, raw_path_size,
};
use holloway_format::raw::block_size;
use holloway_format::{Counters, FunctionIndex, ImageMap, ProfileHead, WriteFailure};

/// Size of an extent's header.
const EXTENT_HEAD: u64 = size_of::<ExtentHeader>() as u64;
/// Size of a slot of a segment: key and count.
const SLOT: usize = 16;

/// A raw profile that grows by threads, rings, and spools.
#[derive(Clone, Debug)]
pub struct RawWriter {
    version: u32,
    head: ProfileHead,
    block_size: u64,
    extents: Vec<u8>,
}

impl RawWriter {
    /// A profile without threads. Each thread of its image has `block_size` bytes of counters.
    pub fn new(head: ProfileHead, block_size: u64) -> Self {
        Self {
            version: ABI_VERSION,
            head,
            block_size,
            extents: Vec::new(),
        }
    }

    /// Writes the layout of an earlier version.
    pub fn version(&mut self, version: u32) -> &mut Self {
        self.version = version;
        self
    }

    /// A profile of process 1 for the image of this map.
    pub fn for_image(map: &ImageMap) -> Self {
        let end = map
            .modules
            .iter()
            .map(|placed| placed.base + placed.module.counters_size)
            .max();
        let head = ProfileHead {
            kind: map.kind,
            build_id: map.build_id,
            image: map.name.clone(),
            image_path: map.name.clone().into(),
            pid: 1,
            ..ProfileHead::default()
        };
        Self::new(head, block_size(end.unwrap_or(0)))
    }

    /// The head of the profile, which the caller may change.
    pub fn head(&mut self) -> &mut ProfileHead {
        &mut self.head
    }

    /// Adds a block with these counters, each as (byte offset in the block, count). Counters past
    /// the end of the block are dropped.
    pub fn block(&mut self, tid: u32, counters: &[(u64, u64)]) -> &mut Self {
        let start = self.extent_head(EXTENT_BLOCK, tid, self.block_size + EXTENT_HEAD, [0, 0, 1]);
        let payload = start + EXTENT_HEAD as usize;
        for &(offset, count) in counters
            .iter()
            .filter(|(offset, _)| offset + 8 <= self.block_size)
        {
            let start = payload + offset as usize;
            self.extents[start..start + 8].copy_from_slice(&count.to_le_bytes());
        }
        self
    }

    /// Adds a segment of `slots` slots, a power of two, for the hashed function whose segment
    /// pointer is at the offset `head` in the block.
    ///
    /// # Panics
    /// If `slots` is no power of two or does not exceed the number of paths.
    pub fn segment(&mut self, tid: u32, head: u64, slots: u64, counts: &[(u64, u64)]) -> &mut Self {
        assert!(
            slots.is_power_of_two() && (counts.len() as u64) < slots,
            "a segment keeps a free slot"
        );
        let size = (EXTENT_HEAD + slots * SLOT as u64).next_multiple_of(PAGE);
        let start = self.extent_head(
            EXTENT_SEGMENT,
            tid,
            size,
            [head, slots, counts.len() as u64],
        );
        let payload = start + EXTENT_HEAD as usize;
        for &(path, count) in counts {
            let mut slot = hash_slot(path, slots.trailing_zeros());
            let mut offset = payload + slot as usize * SLOT;
            while self.extents[offset..offset + 8] != [0; 8] {
                slot = (slot + 1) & (slots - 1);
                offset = payload + slot as usize * SLOT;
            }
            self.extents[offset..offset + 8].copy_from_slice(&(path + 1).to_le_bytes());
            self.extents[offset + 8..offset + 16].copy_from_slice(&count.to_le_bytes());
        }
        self
    }

    /// Adds a thread with counts: module, function, path (or edge counter), count.
    ///
    /// # Panics
    /// If the map does not have the function, or the function is damaged in the map.
    pub fn thread(
        &mut self,
        map: &ImageMap,
        tid: u32,
        counts: &[(u32, u32, u64, u64)],
    ) -> &mut Self {
        let mut counters = BTreeMap::new();
        let mut hashed: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for &(module, function, path, count) in counts {
            let base = map.modules[module as usize].base;
            match map
                .function(FunctionIndex { module, function })
                .expect("the map has the function")
                .counters
            {
                Counters::Array { offset, .. } | Counters::Edges { offset, .. } => {
                    *counters.entry(base + offset + 8 * path).or_insert(0) += count;
                }
                Counters::Hash { offset } => {
                    // The address of the segment in the process. Readers must ignore it.
                    counters.insert(base + offset, 0x7f00_0000_1000);
                    *hashed
                        .entry(base + offset)
                        .or_default()
                        .entry(path)
                        .or_insert(0) += count;
                }
            }
        }
        self.head.threads += 1;
        self.block(tid, &counters.into_iter().collect::<Vec<_>>());
        for (head, paths) in hashed {
            let slots = (paths.len() as u64 * 2).next_power_of_two();
            self.segment(tid, head, slots, &paths.into_iter().collect::<Vec<_>>());
        }
        self
    }

    /// Adds a ring with `words` at stream position `position`; earlier words count as taken. Words
    /// from `missing` on count as dropped. Returns the offset of the ring's extent in the file, for
    /// [`RawWriter::spool`].
    ///
    /// # Panics
    /// If a ring cannot hold so many words.
    pub fn ring(&mut self, tid: u32, position: u64, words: &[u32], missing: Option<u64>) -> u64 {
        let size = PAGE + RING_SIZE;
        let origin = position / CHUNK * CHUNK;
        let start = self.ring_head(tid, size, origin, position, words, missing);
        for (word_position, word) in (position..).step_by(4).zip(words) {
            let offset = start + (PAGE + (word_position & (RING_SIZE - 1))) as usize;
            self.extents[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
        }
        PAGE + start as u64
    }

    /// Adds a ring that began small, with `words` from stream position `origin` on. Its cells are
    /// in extents of these sizes. Returns the offset of the ring's extent in the file.
    ///
    /// # Panics
    /// If a ring cannot hold so many words.
    pub fn small_ring(&mut self, tid: u32, origin: u64, words: &[u32], cells: &[u64]) -> u64 {
        let start = self.ring_head(tid, PAGE, origin, origin, words, None);
        let ring = PAGE + start as u64;
        let mut position = origin;
        for size in cells {
            let fields = [ring, position, 0];
            let start = self.extent_head(EXTENT_CELLS, tid, PAGE + size, fields);
            let first = ((position - origin) / 4) as usize;
            let words = words.iter().skip(first).take(*size as usize / 4);
            for (word, at) in words.zip((start + PAGE as usize..).step_by(4)) {
                self.extents[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            position += size;
        }
        ring
    }

    /// Adds a ring's extent without words. Returns its start among the extents.
    fn ring_head(
        &mut self,
        tid: u32,
        size: u64,
        origin: u64,
        position: u64,
        words: &[u32],
        missing: Option<u64>,
    ) -> usize {
        assert!(
            words.len() as u64 <= RING_SIZE / 4,
            "a ring holds the words"
        );
        let start = self.extent_head(EXTENT_RING, tid, size, [0, RING_SIZE, 1]);
        let cursor = position + 4 * words.len() as u64;
        let owner_fields = [cursor, origin, RING_SIZE, origin, 0, 0, 0, 0];
        let reader_fields = [position, 0, missing.unwrap_or(u64::MAX)];
        let mut offset = start + EXTENT_HEAD as usize;
        for field in owner_fields.into_iter().chain(reader_fields) {
            self.extents[offset..offset + 8].copy_from_slice(&field.to_le_bytes());
            offset += 8;
        }
        start
    }

    /// Adds a spool of the ring whose extent is at `ring`.
    ///
    /// # Panics
    /// If a ring cannot hold so many words.
    pub fn spool(&mut self, tid: u32, ring: u64, position: u64, words: &[u32]) -> &mut Self {
        assert!(
            words.len() as u64 <= RING_SIZE / 4,
            "a ring holds the words"
        );
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let block = lz4_flex::block::compress(&bytes);
        let size = (EXTENT_HEAD + block.len() as u64).next_multiple_of(PAGE);
        let lengths = (bytes.len() as u64) << 32 | block.len() as u64;
        let start = self.extent_head(EXTENT_SPOOL, tid, size, [ring, position, lengths]);
        let payload = start + EXTENT_HEAD as usize;
        self.extents[payload..payload + block.len()].copy_from_slice(&block);
        self
    }

    fn extent_head(&mut self, kind: u32, tid: u32, size: u64, words: [u64; 3]) -> usize {
        let start = self.extents.len();
        self.extents.extend_from_slice(&EXTENT_MAGIC);
        self.extents.extend_from_slice(&kind.to_le_bytes());
        self.extents.extend_from_slice(&tid.to_le_bytes());
        for word in [size, words[0], words[1], words[2]] {
            self.extents.extend_from_slice(&word.to_le_bytes());
        }
        self.extents.resize(start + size as usize, 0);
        start
    }

    /// The bytes of the file.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PAGE as usize + self.extents.len());
        let head = &self.head;
        out.extend_from_slice(&RAW_MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&head.kind.number().to_le_bytes());
        out.extend_from_slice(&head.build_id);
        out.extend_from_slice(&self.block_size.to_le_bytes());
        out.extend_from_slice(&(PAGE + self.extents.len() as u64).to_le_bytes());
        out.extend_from_slice(&head.pid.to_le_bytes());
        out.extend_from_slice(&head.ppid.to_le_bytes());
        out.extend_from_slice(&head.start_ns.to_le_bytes());
        out.extend_from_slice(&head.lost.to_le_bytes());
        out.extend_from_slice(&head.threads.to_le_bytes());
        let failure = head.failure.map_or(0, WriteFailure::flags);
        out.extend_from_slice(&(u32::from(head.forked) | failure).to_le_bytes());
        out.resize(128, 0);
        let path = head.image_path.as_os_str().as_bytes();
        let path_size = raw_path_size(self.version);
        for (name, size) in [(head.image.as_bytes(), 80), (path, path_size)] {
            let end = out.len() + size;
            out.extend(name.iter().take(size));
            out.resize(end, 0);
        }
        out.resize(PAGE as usize, 0);
        out.extend_from_slice(&self.extents);
        out
    }
}
