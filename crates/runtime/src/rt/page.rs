//! The first page of the profile file, and the runtime's notes about the file.
//!
//! The file's first page contains the [`RawHeader`] for readers, then the address of [`Notes`]. The
//! notes contain all data that the runtime needs to continue the file. They are in a page of
//! private memory. They are not in the file's first page, because a fork shares that page with the
//! parent, and the parent uses its notes while the child creates a separate file.
//!
//! The page and the notes are not variables of the image, because of libraries: `dlclose` removes
//! the variables of a library but keeps the mappings. When the library is loaded again, the runtime
//! finds page, notes, blocks, and file through `/proc/self/maps`, and continues with them (see
//! `opening`). So 2,000 loads create one file and one block. The runtime unmaps nothing at
//! `dlclose`: it cannot distinguish `dlclose` from the exit of the process, when code may still
//! run.

use core::sync::atomic::{AtomicU64, Ordering};

use super::collector::Collector;
use super::sys::{Errno, File};
use holloway_abi::{ExtentHeader, PAGE, RAW_MAGIC, RawHeader};

/// Identifies a first page with [`Notes`] of this layout.
pub(super) const NOTES_STAMP: u64 = u64::from_le_bytes(*b"HLWLIVE2");

/// The bits of `RawHeader::flags` from here on are the error number of the first loss.
const FAILURE_SHIFT: u32 = 16;

/// The runtime's notes about its profile file. Addresses are valid in this process.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Notes {
    /// Address of the image's header. It identifies the load of the image that owns the notes.
    pub(super) image: usize,
    /// First extent of the list of blocks, linked by `reserved[0]`.
    pub(super) blocks: *mut ExtentHeader,
    /// First extent of the list of segments, linked by `reserved[0]`.
    pub(super) segments: *mut ExtentHeader,
    /// In the child of a fork: the list of zeroed memory that covers the parent's segments.
    pub(super) zeroed_segments: *mut ExtentHeader,
    /// The block at which the next search for a dead owner begins.
    pub(super) next_candidate: *mut ExtentHeader,
    /// The room (see `extents`): the address at which file offset `end` is mapped.
    pub(super) room: *mut u8,
    /// Size of the room in bytes.
    pub(super) room_size: usize,
    /// A word that a fork wipes; see `token`.
    pub(super) token: *mut u32,
    /// The profile file; [`File::NONE`] if it could not be created.
    pub(super) file: File,
    /// The directory of the profile file.
    pub(super) directory: File,
    /// The process that takes words out of the rings.
    pub(super) collector: Collector,
}

impl Notes {
    pub(super) const NEW: Notes = Notes {
        image: 0,
        blocks: core::ptr::null_mut(),
        segments: core::ptr::null_mut(),
        zeroed_segments: core::ptr::null_mut(),
        next_candidate: core::ptr::null_mut(),
        room: core::ptr::null_mut(),
        room_size: 0,
        token: core::ptr::null_mut(),
        file: File::NONE,
        directory: File::NONE,
        collector: Collector::NONE,
    };
}

/// The first page of a profile.
#[repr(C)]
pub(super) struct FirstPage {
    pub(super) header: RawHeader,
    /// [`NOTES_STAMP`].
    pub(super) stamp: u64,
    pub(super) notes: *mut Notes,
}

const _: () = assert!(size_of::<FirstPage>() <= PAGE as usize);

const _: () = assert!(size_of::<Notes>() <= PAGE as usize);

impl FirstPage {
    /// Makes the header valid by writing the magic last.
    pub(super) fn seal(&mut self) {
        let magic = (&raw mut self.header.magic).cast::<u64>();
        // SAFETY: the magic is the page's first 8 bytes and aligned. All later accesses to it are
        // atomic.
        unsafe { AtomicU64::from_ptr(magic) }
            .store(u64::from_ne_bytes(RAW_MAGIC), Ordering::Release);
    }
}

/// The open profile.
pub(super) struct OpenPage<'a> {
    pub(super) header: &'a mut RawHeader,
    pub(super) notes: &'a mut Notes,
}

impl OpenPage<'_> {
    /// Offset after the last complete extent.
    pub(super) fn end(&mut self) -> &AtomicU64 {
        // SAFETY: the field is aligned and inside the page, and all accesses to it are atomic.
        unsafe { AtomicU64::from_ptr(&raw mut self.header.end) }
    }

    /// Does the page belong to a file?
    pub(super) fn has_file(&self) -> bool {
        self.notes.file.exists()
    }

    /// Counts one more block or segment whose counts are not in the file.
    /// `reason` is the failure behind it; the header keeps the first one.
    pub(super) fn add_lost(&mut self, reason: Option<Errno>) {
        self.header.lost = self.header.lost.wrapping_add(1);
        if self.header.flags >> FAILURE_SHIFT == 0 {
            let number = reason.map_or(0, |error| error.0) << FAILURE_SHIFT;
            self.header.flags |= number;
        }
    }
}
