//! The runtime's state: what lies in the profile's first page, and what lies in the image's own memory.
//!
//! The first page of the file holds the [`RawHeader`] for readers and, after it, [`Live`]: addresses in this process
//! that an image needs to go on with the file. It is there, and not in the image's variables, for libraries: `dlclose`
//! takes the variables away but leaves the mapping, and when the library is loaded again it finds page, blocks and file
//! by `/proc/self/maps` and goes on with them ([`super::opening`]). So 2,000 loads make one file and one block, and
//! nothing has to be unmapped at `dlclose`, which could not be told from the process's exit, where code may still run.

use core::sync::atomic::{AtomicU64, Ordering};

use super::abi::{ExtentHeader, PAGE, RAW_MAGIC, RawHeader};
use super::sys::{Errno, File};
use super::text::Text;

/// Tells [`Live`] of this layout from anything else.
pub(super) const LIVE_STAMP: u64 = u64::from_le_bytes(*b"HLWLIVE1");

/// The runtime's notes about its own file, after the header. Addresses are of this process.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Live {
    /// [`LIVE_STAMP`].
    pub(super) stamp: u64,
    /// Address of the image's header: which load of the image this belongs to.
    pub(super) image: usize,
    /// First of the list of blocks, linked by `reserved[0]`.
    pub(super) blocks: *mut ExtentHeader,
    /// First of the list of segments, linked by `reserved[0]`.
    pub(super) segments: *mut ExtentHeader,
    /// Where a parent's segments were, in the child of a fork; linked alike.
    pub(super) graves: *mut ExtentHeader,
    /// Next block to look at for a dead owner.
    pub(super) cursor: *mut ExtentHeader,
    /// Mapped room for extents: the address of file offset `end`.
    pub(super) room: *mut u8,
    /// Bytes of room.
    pub(super) room_size: usize,
    /// A word that a fork wipes; see [`super::fork`].
    pub(super) token: *mut u32,
    /// The profile; none if it could not be made.
    pub(super) file: File,
    /// Its directory.
    pub(super) directory: File,
}

impl Live {
    pub(super) const NEW: Live = Live {
        stamp: LIVE_STAMP,
        image: 0,
        blocks: core::ptr::null_mut(),
        segments: core::ptr::null_mut(),
        graves: core::ptr::null_mut(),
        cursor: core::ptr::null_mut(),
        room: core::ptr::null_mut(),
        room_size: 0,
        token: core::ptr::null_mut(),
        file: File::NONE,
        directory: File::NONE,
    };
}

/// The first page of a profile.
#[repr(C)]
pub(super) struct Page {
    pub(super) header: RawHeader,
    pub(super) live: Live,
}

const _: () = assert!(size_of::<Page>() <= PAGE as usize);

impl Page {
    /// Makes the header valid: the magic goes in last.
    pub(super) fn seal(&mut self) {
        let magic = (&raw mut self.header.magic).cast::<u64>();
        // SAFETY: the magic is the page's first 8 bytes, aligned, and reached by atomic means only from here on.
        unsafe { AtomicU64::from_ptr(magic) }
            .store(u64::from_ne_bytes(RAW_MAGIC), Ordering::Release);
    }

    /// Offset after the last complete extent.
    pub(super) fn end(&mut self) -> &AtomicU64 {
        // SAFETY: aligned, inside the page, and reached by atomic means only.
        unsafe { AtomicU64::from_ptr(&raw mut self.header.end) }
    }

    /// Is there a file behind the page?
    pub(super) fn has_file(&self) -> bool {
        self.live.file.exists()
    }
}

/// What the image keeps in its own memory. All zero at first.
pub(super) struct Inner {
    /// Null until the first thread enters.
    page: *mut Page,
    /// Directory of the profile, absolute.
    pub(super) directory: Text<4096>,
    /// Name of the profile in it.
    pub(super) name: Text<256>,
    /// Path of the image's file.
    pub(super) image_path: Text<1024>,
    /// For whoever needs room for a moment.
    pub(super) scratch: Text<8192>,
    /// The first failure, and whether it has been told.
    pub(super) trouble: Option<Errno>,
    pub(super) told: bool,
    /// Standard error, as it was at the first enter.
    pub(super) stderr: File,
    /// Signal mask of the thread that forks.
    pub(super) forking_mask: u64,
}

impl Inner {
    pub(super) const fn new() -> Inner {
        Inner {
            page: core::ptr::null_mut(),
            directory: Text::new(),
            name: Text::new(),
            image_path: Text::new(),
            scratch: Text::new(),
            trouble: None,
            told: false,
            stderr: File::NONE,
            forking_mask: 0,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.page.is_null()
    }

    /// Sets the page that is in use from now on.
    ///
    /// # Safety
    /// It is a mapped page of this layout, nobody else's, and stays mapped until another is set.
    pub(super) unsafe fn set_page(&mut self, page: *mut Page) {
        self.page = page;
    }

    /// The page, once the image is open.
    pub(super) fn page(&mut self) -> Option<&mut Page> {
        // SAFETY: null, or a page as `set_page` demands; readers in other processes only read it.
        unsafe { self.page.as_mut() }
    }

    pub(super) fn page_address(&self) -> *mut Page {
        self.page
    }
}
