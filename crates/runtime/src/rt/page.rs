//! The first page of the profile file, and the runtime's notes about the file.
//!
//! The file's first page holds the [`RawHeader`] for readers. The address of [`Notes`] follows it.
//! The notes have everything that an image needs to go on with the file, and lie in a page of
//! private memory. They are not in the file's page because a fork shares that page with the
//! parent, and the parent goes on while the child makes a file of its own.
//!
//! OpenPage and notes are not variables of the image, for the sake of libraries: `dlclose` takes
//! the variables away but leaves the mappings. When the library is loaded again, the runtime finds
//! page, notes, blocks, and file through `/proc/self/maps`, and goes on with them (see `opening`).
//! So 2,000 loads make one file and one block. Nothing has to be unmapped at `dlclose`, which looks
//! the same as the exit of the process, when code may still run.

use core::sync::atomic::{AtomicU64, Ordering};

use super::collector::Collector;
use super::sys::File;
use holloway_abi::{ExtentHeader, PAGE, RAW_MAGIC, RawHeader};

/// Tells a first page with [`Notes`] of this layout from other pages.
pub(super) const NOTES_STAMP: u64 = u64::from_le_bytes(*b"HLWLIVE2");

/// The runtime's notes about its own file. Addresses are of this process.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Notes {
    /// Address of the image's header: which load of the image this belongs to.
    pub(super) image: usize,
    /// First extent of the list of blocks, linked by `reserved[0]`.
    pub(super) blocks: *mut ExtentHeader,
    /// First extent of the list of segments, linked by `reserved[0]`.
    pub(super) segments: *mut ExtentHeader,
    /// In the child of a fork: the list of zeroed memory that covers the parent's segments.
    pub(super) zeroed_segments: *mut ExtentHeader,
    /// Next block to look at for a dead owner.
    pub(super) next_candidate: *mut ExtentHeader,
    /// Mapped room for extents: the address of file offset `end`.
    pub(super) room: *mut u8,
    /// Bytes of room.
    pub(super) room_size: usize,
    /// A word that a fork wipes; see `token`.
    pub(super) token: *mut u32,
    /// The profile file; none if it could not be made.
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
        // SAFETY: the magic is the page's first 8 bytes and aligned. From here on, all accesses to
        // it are atomic.
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
    pub(super) fn add_lost(&mut self) {
        self.header.lost = self.header.lost.wrapping_add(1);
    }
}
