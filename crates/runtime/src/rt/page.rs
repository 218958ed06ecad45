//! The runtime's state: the profile's first page, notes on the side, and the image's own variables.
//!
//! The first page of the file holds the [`RawHeader`] for readers and, after it, the address of [`Live`]: what an image
//! needs to go on with the file, in a page of the process's own. (Not in the file's page: that is shared with the parent
//! after a fork, and the parent goes on while the child makes up its mind.) Neither is among the image's variables, for
//! the sake of libraries: `dlclose` takes the variables away but leaves the mappings, and when the library is loaded
//! again it finds page, notes, blocks and file by `/proc/self/maps` and goes on with them ([`super::opening`]). So 2,000
//! loads make one file and one block, and nothing has to be unmapped at `dlclose`, which could not be told from the
//! process's exit, where code may still run.

use core::sync::atomic::{AtomicU64, Ordering};

use super::lz4;
use super::sys::{Errno, File};
use super::text::Text;
use holloway_abi::{BurstState, ExtentHeader, PAGE, RAW_MAGIC, RawHeader};

/// Tells a first page with [`Live`] of this layout from anything else.
pub(super) const LIVE_STAMP: u64 = u64::from_le_bytes(*b"HLWLIVE2");

/// The runtime's notes about its own file. Addresses are of this process.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Live {
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
    /// Who takes words out of the rings.
    pub(super) collector: Collector,
}

impl Live {
    pub(super) const NEW: Live = Live {
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
        collector: Collector::NONE,
    };
}

/// A process that takes words out of the rings.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Collector {
    /// When it started, in ticks of the boot clock, to tell a reused id; 0: unknown.
    pub(super) start: u64,
    /// Its id; 0: there is none, threads spool.
    pub(super) id: u32,
}

impl Collector {
    pub(super) const NONE: Collector = Collector { start: 0, id: 0 };
}

/// The first page of a profile.
#[repr(C)]
pub(super) struct FirstPage {
    pub(super) header: RawHeader,
    /// [`LIVE_STAMP`].
    pub(super) stamp: u64,
    pub(super) live: *mut Live,
}

const _: () = assert!(size_of::<FirstPage>() <= PAGE as usize);
const _: () = assert!(size_of::<Live>() <= PAGE as usize);

impl FirstPage {
    /// Makes the header valid: the magic goes in last.
    pub(super) fn seal(&mut self) {
        let magic = (&raw mut self.header.magic).cast::<u64>();
        // SAFETY: the magic is the page's first 8 bytes, aligned, and reached by atomic means only from here on.
        unsafe { AtomicU64::from_ptr(magic) }
            .store(u64::from_ne_bytes(RAW_MAGIC), Ordering::Release);
    }
}

/// The open profile.
pub(super) struct Page<'a> {
    pub(super) header: &'a mut RawHeader,
    pub(super) live: &'a mut Live,
}

impl Page<'_> {
    /// Offset after the last complete extent.
    pub(super) fn end(&mut self) -> &AtomicU64 {
        // SAFETY: aligned, inside the page, and reached by atomic means only.
        unsafe { AtomicU64::from_ptr(&raw mut self.header.end) }
    }

    /// Is there a file behind the page?
    pub(super) fn has_file(&self) -> bool {
        self.live.file.exists()
    }

    /// One more block or segment whose counts are not in the file.
    pub(super) fn add_lost(&mut self) {
        self.header.lost = self.header.lost.wrapping_add(1);
    }
}

/// What the image keeps in its own memory. All zero at first.
pub(super) struct Inner {
    /// Null until the first thread enters.
    page: *mut FirstPage,
    /// Null until the first thread enters; never changed afterwards.
    live: *mut Live,
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
    /// How far its timed paths have come then: the ring is shared with the child, and the parent goes on in it.
    pub(super) forking_state: Option<BurstState>,
    /// Who takes words out of the rings.
    pub(super) collector: Collector,
    /// Paths that pass before a burst, and paths in one.
    pub(super) burst: (u32, u32),
    /// For whoever compresses.
    pub(super) table: lz4::Table,
}

impl Inner {
    pub(super) const fn new() -> Inner {
        Inner {
            page: core::ptr::null_mut(),
            live: core::ptr::null_mut(),
            directory: Text::new(),
            name: Text::new(),
            image_path: Text::new(),
            scratch: Text::new(),
            trouble: None,
            told: false,
            stderr: File::NONE,
            forking_mask: 0,
            forking_state: None,
            collector: Collector::NONE,
            burst: (0, 0),
            table: lz4::NEW_TABLE,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.page.is_null()
    }

    /// Sets the page and the notes that are in use from now on.
    ///
    /// # Safety
    /// Null, or mapped memory of these layouts, nobody else's, that stays mapped until others are set.
    pub(super) unsafe fn set_page(&mut self, page: *mut FirstPage, live: *mut Live) {
        (self.page, self.live) = (page, live);
    }

    /// The page and the notes, once the image is open.
    pub(super) fn page(&mut self) -> Option<Page<'_>> {
        // SAFETY: null, or as `set_page` demands; readers in other processes only read the page.
        let (page, live) = unsafe { (self.page.as_mut()?, self.live.as_mut()?) };
        Some(Page {
            header: &mut page.header,
            live,
        })
    }

    pub(super) fn page_address(&self) -> *mut FirstPage {
        self.page
    }

    pub(super) fn live_address(&self) -> *mut Live {
        self.live
    }
}
