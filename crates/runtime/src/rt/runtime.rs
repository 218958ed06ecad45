//! The state of the runtime in this image, which one lock protects.

use super::collector::Collector;
use super::lock::Lock;
use super::lz4;
use super::page::{FirstPage, Notes, OpenPage};
use super::sys::{Errno, File};
use crate::text::Text;
use holloway_abi::{BurstRate, BurstState};

/// The state of the runtime in this image.
pub(super) static RUNTIME: Lock<Runtime> = Lock::new(Runtime::new());

/// The runtime's variables. All are zero at first, so they need no space in the image's file.
pub(super) struct Runtime {
    /// Null until the first thread enters.
    page: *mut FirstPage,
    /// Null until the first thread enters; never changed after that.
    notes: *mut Notes,
    /// Directory of the profile, absolute.
    pub(super) directory: Text<4096>,
    /// Name of the profile in that directory.
    pub(super) name: Text<256>,
    /// Path of the image's file.
    pub(super) image_path: Text<4096>,
    /// A buffer for short-lived text.
    pub(super) scratch: Text<8192>,
    /// The first failure.
    pub(super) failure: Option<Errno>,
    /// Whether the failure was printed.
    pub(super) failure_printed: bool,
    /// Standard error, as it was at the first entry.
    pub(super) stderr: File,
    /// During a fork: the signal mask of the forking thread.
    pub(super) forking_mask: u64,
    /// During a fork: a copy of the state of the forking thread's timed paths. The child needs the
    /// copy because it shares the ring with the parent, which continues to change the state.
    pub(super) forking_state: Option<BurstState>,
    /// The process that takes words out of the rings.
    pub(super) collector: Collector,
    /// The rate of timed paths.
    pub(super) burst: BurstRate,
    /// The compressor's table.
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
            failure_printed: false,
            stderr: File::NONE,
            forking_mask: 0,
            forking_state: None,
            collector: Collector::NONE,
            burst: BurstRate {
                untimed: 0,
                timed: 0,
            },
            table: lz4::NEW_TABLE,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.page.is_null()
    }

    /// Sets the current page and notes.
    ///
    /// # Safety
    /// Each pointer is null, or points to mapped memory of this layout. Only this runtime writes
    /// the memory, and the memory stays mapped until the next call of this function.
    pub(super) unsafe fn set_page(&mut self, page: *mut FirstPage, notes: *mut Notes) {
        self.page = page;
        self.notes = notes;
    }

    /// The page and the notes, once the image is open.
    pub(super) fn page(&mut self) -> Option<OpenPage<'_>> {
        // SAFETY: null, or valid by the contract of `set_page`. Other processes only read the page.
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
