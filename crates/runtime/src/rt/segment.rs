//! Hash counters: exact counts for functions with too many paths for an array (in Ball and Larus
//! 1996, more than 4,000 to 6,000). No count is dropped on conflicts.
//!
//! A function's head, in the thread's block, is the address of its current segment plus the logarithm of the segment's
//! number of records: one word, so that whenever a signal comes, it is whole. A segment is an open-addressed table of
//! path and count. When it is three quarters full, a new one of four times the size takes its place; the old one stays in
//! the file, and readers add up. Nothing is moved, so nothing can be caught half moved.
//!
//! Only the owner's thread writes a segment, but it may be interrupted anywhere by a handler that counts in the same
//! one. So a record is claimed by a compare-and-swap of its key and counted by a single addition; nothing is masked, and
//! only a new segment takes the lock and system calls. A kill between the two leaves a path with count 0.

use core::sync::atomic::{AtomicU64, Ordering};

use super::lock::Masked;
use super::runtime::{RUNTIME, Runtime};
use super::{arch, extents, fork, sys};
use holloway_abi::{EXTENT_MAGIC, EXTENT_SEGMENT, ExtentHeader, HashSlot, PAGE, hash_slot};

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

    /// Counts `path`, as a new record if it has none and less than `limit` are used. False if it had no place.
    fn add(self, path: u64, limit: u64) -> bool {
        let mask = (1_u64 << self.bits) - 1;
        let key = path.wrapping_add(1);
        let mut index = hash_slot(path, self.bits);
        loop {
            let (place, count) = self.record(index);
            let found = match place.load(Ordering::Relaxed) {
                0 if self.used().load(Ordering::Relaxed) >= limit => return false,
                0 => self.claim(place, key),
                found => found,
            };
            if found == key {
                count.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            index = (index + 1) & mask;
        }
    }

    /// Puts the key into a free record; the key that is there then (a handler's, if one came between).
    fn claim(self, place: &AtomicU64, key: u64) -> u64 {
        match place.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.used().fetch_add(1, Ordering::Relaxed);
                key
            }
            Err(other) => other,
        }
    }

    /// Key and count of a record.
    fn record<'a>(self, index: u64) -> (&'a AtomicU64, &'a AtomicU64) {
        let record = self.records.wrapping_add(index as usize);
        // SAFETY: index < 2^bits; segments stay mapped, and are reached by atomic means only.
        unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*record).key),
                AtomicU64::from_ptr(&raw mut (*record).count),
            )
        }
    }

    /// Number of records in use.
    fn used<'a>(self) -> &'a AtomicU64 {
        let header = self.records.cast::<ExtentHeader>().wrapping_sub(1);
        // SAFETY: a segment has its header before it; this field is reached by atomic means only.
        unsafe { AtomicU64::from_ptr(&raw mut (*header).used) }
    }

    /// Records to use before the next segment: three quarters.
    fn comfortable(self) -> u64 {
        3 << (self.bits - 2)
    }

    /// Records to use at most: some stay free, to end searches, even where handlers interrupt handlers on their way.
    fn possible(self) -> u64 {
        (1 << self.bits) - 16
    }
}

/// Body of `__holloway_hash`: counts a path that has no record in the current segment (and any other as well).
///
/// # Safety
/// `head` is a head in the calling thread's block.
pub(super) unsafe extern "C" fn count(head: *mut u64, path: u64) {
    fork::notice_raw_fork();
    // SAFETY: the caller's.
    if !unsafe { add_to_current(head, path) } {
        // SAFETY: the caller's.
        unsafe { add_to_new(head, path) };
    }
}

/// # Safety
/// As [`count`].
unsafe fn add_to_current(head: *mut u64, path: u64) -> bool {
    // SAFETY: the caller's; a handler may write it, as a whole.
    let current = Segment::of(unsafe { head.read_volatile() });
    current.is_some_and(|segment| segment.add(path, segment.comfortable()))
}

/// # Safety
/// As [`count`].
#[cold]
unsafe fn add_to_new(head: *mut u64, path: u64) {
    let _masked = Masked::all();
    // SAFETY: the caller's. A handler may have made a new segment already.
    if unsafe { add_to_current(head, path) } {
        return;
    }
    // SAFETY: the caller's; no handler writes it now.
    let current = Segment::of(unsafe { head.read_volatile() });
    let bits = current.map_or(FIRST, |segment| (segment.bits + GROWTH).min(LARGEST));
    let mut runtime = RUNTIME.lock();
    if let Some(segment) = new_segment(&mut runtime, head, bits) {
        // SAFETY: as above.
        unsafe { head.write_volatile(segment.word()) };
        segment.add(path, segment.comfortable());
        return;
    }
    // no memory: fill the old one to the brim
    if !current.is_some_and(|segment| segment.add(path, segment.possible()))
        && let Some(mut page) = runtime.page()
    {
        page.add_lost();
    }
}

/// A new segment for the function at `head`, in the file if possible.
fn new_segment(runtime: &mut Runtime, head: *mut u64, bits: u32) -> Option<Segment> {
    let bytes = size_of::<ExtentHeader>() + (size_of::<HashSlot>() << bits);
    let size = bytes.div_ceil(PAGE as usize) * PAGE as usize;
    let (extent, in_file) = match extents::allocate(runtime, size) {
        Ok(extent) => (extent, true),
        Err(_) => (extents::private_extent(runtime, size)?, false),
    };
    let page = runtime.page()?;
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: EXTENT_SEGMENT,
        tid: sys::thread_id(),
        size: size as u64,
        head: (head.addr() - arch::slot().addr()) as u64,
        slots: 1 << bits,
        used: 0,
        reserved: extents::link(page.notes.segments),
    };
    // SAFETY: a new extent of `size` bytes, which nobody has yet.
    unsafe { extent.write(header) };
    page.notes.segments = extent;
    if in_file {
        extents::publish(runtime, size);
    }
    Some(Segment {
        records: extent.wrapping_add(1).cast(),
        bits,
    })
}
