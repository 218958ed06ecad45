//! Hash counters: exact counts for functions with too many paths for an array (in Ball and Larus
//! 1996, more than 4,000 to 6,000), and for the targets of indirect calls, whose numbers are called
//! paths here. Collisions of hashes lose no count.
//!
//! A *segment* is a hash table of slots, each with a path and its count (`holloway_abi`, module
//! `hash`). A function's *segment pointer*, in the thread's block, is the address of the current
//! segment's first slot plus the binary logarithm of the number of slots. It is a single word, so a
//! signal handler never finds it half written. When a segment is three quarters full, a new segment
//! with four times as many slots becomes the current segment. The old segment stays in the file,
//! and readers add the counts of all segments. No slot moves. So signals and kills cannot interrupt
//! a move.
//!
//! Only the owner of the block writes a segment. But a signal handler of the same thread may
//! interrupt it at any instruction and count in the same segment. So a compare-and-swap of the key
//! claims a slot, and a single addition counts the path. Signals stay unmasked, unless a new
//! segment needs the lock and system calls. If the process is killed between the two instructions,
//! the path has the count 0.

use core::sync::atomic::{AtomicU64, Ordering};

use super::lock::Masked;
use super::runtime::{RUNTIME, Runtime};
use super::{arch, extents, fork, sys};
use holloway_abi::{EXTENT_MAGIC, EXTENT_SEGMENT, ExtentHeader, HashSlot, PAGE, hash_slot};

/// Binary logarithm of the first segment's number of slots. With the header, the slots fill half a
/// page of the file.
const FIRST_BITS: u32 = 7;

/// A new segment has 2 to this power times as many slots as the old segment.
const GROWTH_BITS: u32 = 2;

/// Binary logarithm of the largest segment's number of slots. The segment pointer has six bits for
/// it.
const LARGEST_BITS: u32 = 36;

/// The address and size of a segment, which a segment pointer holds as one word.
#[derive(Clone, Copy)]
struct Segment {
    slots: *mut HashSlot,
    bits: u32,
}

impl Segment {
    /// The bits of a segment pointer that hold the address.
    const ADDRESS_BITS: u64 = !63;

    fn from_word(word: u64) -> Option<Segment> {
        let slots = (word & Segment::ADDRESS_BITS) as usize as *mut HashSlot;
        (!slots.is_null()).then_some(Segment {
            slots,
            bits: (word & !Segment::ADDRESS_BITS) as u32,
        })
    }

    fn to_word(self) -> u64 {
        self.slots.addr() as u64 | u64::from(self.bits)
    }

    /// Counts `path`. A path without a slot gets a free slot if fewer than `limit` slots are in
    /// use. Returns whether the path was counted.
    fn count(self, path: u64, limit: u64) -> bool {
        let mask = (1_u64 << self.bits) - 1;
        let key = path.wrapping_add(1);
        let mut index = hash_slot(path, self.bits);
        loop {
            let (slot_key, count) = self.slot(index);
            let present_key = match slot_key.load(Ordering::Relaxed) {
                0 if self.used().load(Ordering::Relaxed) >= limit => return false,
                0 => self.claim(slot_key, key),
                present_key => present_key,
            };
            if present_key == key {
                count.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            index = (index + 1) & mask;
        }
    }

    /// Writes the key into a free slot. Returns the key that the slot then has: a signal handler
    /// may have claimed the slot in between.
    fn claim(self, slot_key: &AtomicU64, key: u64) -> u64 {
        match slot_key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.used().fetch_add(1, Ordering::Relaxed);
                key
            }
            Err(other) => other,
        }
    }

    /// Key and count of a slot.
    fn slot<'a>(self, index: u64) -> (&'a AtomicU64, &'a AtomicU64) {
        let slot = self.slots.wrapping_add(index as usize);
        // SAFETY: index < 2^bits; segments stay mapped, and all accesses are atomic.
        unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*slot).key),
                AtomicU64::from_ptr(&raw mut (*slot).count),
            )
        }
    }

    /// Number of slots in use.
    fn used<'a>(self) -> &'a AtomicU64 {
        let header = self.slots.cast::<ExtentHeader>().wrapping_sub(1);
        // SAFETY: a segment has its header before it; all accesses to this field are atomic.
        unsafe { AtomicU64::from_ptr(&raw mut (*header).used) }
    }

    /// Number of slots in use at which a new segment begins: three quarters.
    fn soft_limit(self) -> u64 {
        3 << (self.bits - 2)
    }

    /// Greatest number of slots in use. Some slots must stay free to end searches. Signal handlers
    /// that interrupt each other while they claim slots may exceed this number by a few.
    fn hard_limit(self) -> u64 {
        (1 << self.bits) - 16
    }
}

/// Body of `__holloway_hash`: counts a path, which may not have a slot in the current segment yet.
///
/// # Safety
/// `pointer` is the address of a segment pointer in the calling thread's block.
pub(super) unsafe extern "C" fn count(pointer: *mut u64, path: u64) {
    fork::notice_raw_fork();
    // SAFETY: guaranteed by the caller.
    if !unsafe { add_to_current(pointer, path) } {
        // SAFETY: guaranteed by the caller.
        unsafe { add_to_new(pointer, path) };
    }
}

/// # Safety
/// As [`count`].
unsafe fn add_to_current(pointer: *mut u64, path: u64) -> bool {
    // SAFETY: guaranteed by the caller; a signal handler writes the segment pointer at once.
    let current = Segment::from_word(unsafe { pointer.read_volatile() });
    current.is_some_and(|segment| segment.count(path, segment.soft_limit()))
}

/// # Safety
/// As [`count`].
#[cold]
unsafe fn add_to_new(pointer: *mut u64, path: u64) {
    let _masked = Masked::all();
    // SAFETY: guaranteed by the caller. A handler may have made a new segment already.
    if unsafe { add_to_current(pointer, path) } {
        return;
    }
    // SAFETY: guaranteed by the caller; signals are masked, so no handler writes the segment
    // pointer.
    let current = Segment::from_word(unsafe { pointer.read_volatile() });
    let bits = current.map_or(FIRST_BITS, |segment| {
        (segment.bits + GROWTH_BITS).min(LARGEST_BITS)
    });
    let mut runtime = RUNTIME.lock();
    if let Some(segment) = new_segment(&mut runtime, pointer, bits) {
        // SAFETY: as above.
        unsafe { pointer.write_volatile(segment.to_word()) };
        segment.count(path, segment.soft_limit());
        return;
    }
    // There is no memory: use more slots of the old segment.
    let reason = runtime.failure;
    if !current.is_some_and(|segment| segment.count(path, segment.hard_limit()))
        && let Some(mut page) = runtime.page()
    {
        page.add_lost(reason);
    }
}

/// A new segment for the function with the segment pointer at `pointer`, in the file if possible.
fn new_segment(runtime: &mut Runtime, pointer: *mut u64, bits: u32) -> Option<Segment> {
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
        head: (pointer.addr() - arch::slot().addr()) as u64,
        slots: 1 << bits,
        used: 0,
        reserved: extents::link(page.notes.segments),
    };
    // SAFETY: a new extent of `size` bytes, which no other thread knows yet.
    unsafe { extent.write(header) };
    page.notes.segments = extent;
    if in_file {
        extents::publish(runtime, size);
    }
    Some(Segment {
        slots: extent.wrapping_add(1).cast(),
        bits,
    })
}
