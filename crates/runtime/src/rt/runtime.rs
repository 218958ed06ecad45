//! The state of this image's runtime, under one lock.

use super::collector::Collector;
use super::lock::Lock;
use super::lz4;
use super::page::{FirstPage, Notes, OpenPage};
use super::sys::{Errno, File};
use crate::text::Text;
use holloway_abi::{BurstRate, BurstState};

/// All state of this image's runtime.
pub(super) static RUNTIME: Lock<Runtime> = Lock::new(Runtime::new());

/// What the image keeps in its own memory. All zero at first.
pub(super) struct Runtime {
    /// Null until the first thread enters.
    page: *mut FirstPage,
    /// Null until the first thread enters; never changed afterwards.
    notes: *mut Notes,
    /// Directory of the profile, absolute.
    pub(super) directory: Text<4096>,
    /// Name of the profile in it.
    pub(super) name: Text<256>,
    /// Path of the image's file.
    pub(super) image_path: Text<1024>,
    /// For whoever needs room for a moment.
    pub(super) scratch: Text<8192>,
    /// The first failure, and whether it has been told.
    pub(super) failure: Option<Errno>,
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
    pub(super) burst: BurstRate,
    /// For whoever compresses.
    pub(super) table: lz4::Table,
}

impl Runtime {
    pub(super) const fn new() -> Runtime {
        Runtime {
            page: core::ptr::null_mut(),
            notes: core::ptr::null_mut(),
            directory: Text::new(),
            name: Text::new(),
            image_path: Text::new(),
            scratch: Text::new(),
            failure: None,
            told: false,
            stderr: File::NONE,
            forking_mask: 0,
            forking_state: None,
            collector: Collector::NONE,
            burst: BurstRate { pass: 0, timed: 0 },
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
    pub(super) unsafe fn set_page(&mut self, page: *mut FirstPage, notes: *mut Notes) {
        (self.page, self.notes) = (page, notes);
    }

    /// The page and the notes, once the image is open.
    pub(super) fn page(&mut self) -> Option<OpenPage<'_>> {
        // SAFETY: null, or as `set_page` demands; readers in other processes only read the page.
        let (page, notes) = unsafe { (self.page.as_mut()?, self.notes.as_mut()?) };
        Some(OpenPage {
            header: &mut page.header,
            notes,
        })
    }

    pub(super) fn page_address(&self) -> *mut FirstPage {
        self.page
    }

    pub(super) fn notes_address(&self) -> *mut Notes {
        self.notes
    }
}
