//! Hash counters: exact counts for functions with too many paths for an array (Ball and Larus 1996, section 3: "use a hash
//! table"; theirs drops on conflicts, ours never does).
//!
//! A function's head, in the thread's block, is the address of its current segment plus the logarithm of the segment's
//! number of records: one word, so that whenever a signal comes, it is whole. A segment is an open-addressed table of
//! path and count. When it is three quarters full, a new one of four times the size takes its place; the old one stays in
//! the file, and readers add up. Nothing is moved, so nothing can be caught half moved.
//!
//! Only the owner writes a segment, with signals masked; `__holloway_hash` adds 1 to a record with one instruction. A new
//! record gets its count first and its key last: the process may be killed between.

use super::abi::{EXTENT_MAGIC, EXTENT_SEGMENT, ExtentHeader, HashSlot, PAGE, hash_slot};
use super::lock::Masked;
use super::page::Inner;
use super::{RUNTIME, arch, fork, store, sys};

/// Logarithm of the first segment's records: with the header, they fill half a page of the file.
const FIRST: u32 = 7;

/// Each next segment is 2 to the power of this times as large.
const GROWTH: u32 = 2;

/// Largest segment: 2^36 records. (The head has six bits for the logarithm.)
const LARGEST: u32 = 36;

/// A segment by its address and size, as a head says it.
#[derive(Clone, Copy)]
struct Segment {
    records: *mut HashSlot,
    bits: u32,
}

impl Segment {
    const ADDRESS: u64 = !63;

    fn of(word: u64) -> Option<Segment> {
        let records = (word & Segment::ADDRESS) as usize as *mut HashSlot;
        (!records.is_null()).then_some(Segment {
            records,
            bits: (word & !Segment::ADDRESS) as u32,
        })
    }

    fn word(self) -> u64 {
        self.records.addr() as u64 | u64::from(self.bits)
    }

    fn header(self) -> *mut ExtentHeader {
        self.records.cast::<ExtentHeader>().wrapping_sub(1)
    }

    /// Counts `path`, as a new record if it has none and less than `limit` are used. False if it had no place.
    fn add(self, path: u64, limit: u64) -> bool {
        let mask = (1_u64 << self.bits) - 1;
        let key = path.wrapping_add(1);
        let mut index = hash_slot(path, self.bits);
        loop {
            let record = self.records.wrapping_add(index as usize);
            // SAFETY: index < 2^bits records of a mapped segment, which only this thread writes, and no handler of its
            // own now. Volatile: in this order in memory, for a reader of the file after a kill.
            unsafe {
                let found = (&raw const (*record).key).read_volatile();
                if found == key {
                    let count = &raw mut (*record).count;
                    count.write_volatile(count.read_volatile().wrapping_add(1));
                    return true;
                }
                if found == 0 {
                    let used = &raw mut (*self.header()).used;
                    if used.read() >= limit {
                        return false;
                    }
                    (&raw mut (*record).count).write_volatile(1);
                    (&raw mut (*record).key).write_volatile(key);
                    used.write(used.read() + 1);
                    return true;
                }
            }
            index = (index + 1) & mask;
        }
    }

    /// Records to use before the next segment: three quarters.
    fn comfortable(self) -> u64 {
        3 << (self.bits - 2)
    }

    /// Records to use at most: one stays free, to end searches.
    fn possible(self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// Body of `__holloway_hash`: counts a path that has no record in the current segment (and any other as well).
///
/// # Safety
/// `head` is a head in the calling thread's block.
pub(super) unsafe extern "C" fn count(head: *mut u64, path: u64) {
    let _masked = Masked::all();
    fork::notice_raw_fork();
    // SAFETY: the caller's; it is this thread's, and no handler of it runs now.
    let current = Segment::of(unsafe { head.read_volatile() });
    if current.is_some_and(|segment| segment.add(path, segment.comfortable())) {
        return;
    }
    let bits = current.map_or(FIRST, |segment| (segment.bits + GROWTH).min(LARGEST));
    let mut inner = RUNTIME.lock();
    if let Some(segment) = new_segment(&mut inner, head, bits) {
        // SAFETY: as above.
        unsafe { head.write_volatile(segment.word()) };
        segment.add(path, segment.comfortable());
        return;
    }
    // no memory: fill the old one to the brim
    if !current.is_some_and(|segment| segment.add(path, segment.possible()))
        && let Some(page) = inner.page()
    {
        page.header.lost = page.header.lost.wrapping_add(1);
    }
}

/// A new segment for the function at `head`, in the file if possible.
fn new_segment(inner: &mut Inner, head: *mut u64, bits: u32) -> Option<Segment> {
    let bytes = size_of::<ExtentHeader>() + (size_of::<HashSlot>() << bits);
    let size = bytes.div_ceil(PAGE as usize) * PAGE as usize;
    let (extent, in_file) = match store::allocate(inner, size) {
        Ok(extent) => (extent, true),
        Err(_) => (store::lost(inner, size)?, false),
    };
    let page = inner.page()?;
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: EXTENT_SEGMENT,
        tid: sys::thread_id(),
        size: size as u64,
        head: (head.addr() - arch::slot().addr()) as u64,
        slots: 1 << bits,
        used: 0,
        reserved: store::link(page.live.segments),
    };
    page.live.segments = extent;
    // SAFETY: a new extent of `size` bytes, which nobody has yet.
    unsafe { extent.write(header) };
    if in_file {
        store::publish(inner, size);
    }
    Some(Segment {
        records: extent.wrapping_add(1).cast(),
        bits,
    })
}
