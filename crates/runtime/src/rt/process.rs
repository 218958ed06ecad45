//! The process that this runtime counts for.

use core::sync::atomic::{AtomicU32, Ordering};

use super::sys;

/// The ids of a process and of its parent.
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) parent: u32,
}

/// Id of the process that this memory belongs to; 0 before the image's first constructor.
static HOME_ID: AtomicU32 = AtomicU32::new(0);

/// Id of the parent of that process.
static HOME_PARENT: AtomicU32 = AtomicU32::new(0);

/// Records the calling process as the owner of this memory.
pub(super) fn set_home() {
    HOME_ID.store(sys::process_id(), Ordering::Relaxed);
    HOME_PARENT.store(sys::parent_id(), Ordering::Relaxed);
}

/// The process to count for.
///
/// This is the calling process, except in the child of a `vfork`: the child has a different id than
/// its parent, but uses the parent's memory. If the child of a raw fork enters woven code before
/// its parent ever did, the runtime cannot distinguish it from the child of a `vfork`. It then
/// counts for its parent.
pub(super) fn current() -> Process {
    let (id, parent) = (sys::process_id(), sys::parent_id());
    let home = HOME_ID.load(Ordering::Relaxed);
    if home != 0 && home != id && home == parent {
        let parent = HOME_PARENT.load(Ordering::Relaxed);
        return Process { id: home, parent };
    }
    Process { id, parent }
}
