//! `--memory`: divides the memory for the analysis of a run's streams among the streams.
//!
//! All rings get equal shares. A process has as many rings as threads ran in it at the same time. A
//! share shrinks when other rings appear, and grows when processes end. A changed share takes
//! effect with the stream's next words. Each stream gets a few megabytes even if there are many
//! streams.
//!
//! The share limits the data that grow with a stream: the nodes of a slab forest, or the symbols of
//! a trace. The following data are not part of the shares:
//!
//! - the results of streams that have ended. For loops, these are a forest per process. While it
//!   grows, its nodes may take all of the memory; a finished node takes a quarter of a growing
//!   node.
//! - blocks of a trace that are being built and written.
//!
//! The assumed size of a trace's symbol is its size in a trace whose paths follow one another at
//! random. In a trace with repeating paths, a symbol takes half as much.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The default number of bytes for all streams.
const DEFAULT_BYTES: u64 = 1 << 30;

/// The minimum number of bytes for each stream, unless the whole memory is smaller.
const MIN_SHARE: u64 = 4 << 20;

/// The memory for the analysis of a run's streams.
#[derive(Clone, Debug)]
pub struct Memory {
    bytes: u64,
    /// Whether the user chose the number of bytes.
    is_chosen: bool,
    /// The number of shares.
    streams: Arc<AtomicU64>,
}

/// The share of one stream. Dropping it gives the memory back.
#[derive(Debug)]
pub(crate) struct Share(Memory);

impl Memory {
    /// Makes a memory of `bytes`, or of the default size.
    pub fn new(bytes: Option<u64>) -> Self {
        Self {
            bytes: bytes.unwrap_or(DEFAULT_BYTES),
            is_chosen: bytes.is_some(),
            streams: Arc::default(),
        }
    }

    /// Returns whether the user chose the number of bytes.
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// Returns how many items of `size` bytes fit in the whole memory.
    pub(crate) fn capacity(&self, size: u64) -> usize {
        usize::try_from(self.bytes / size).unwrap_or(usize::MAX)
    }

    /// Returns a share for another stream.
    pub(crate) fn share(&self) -> Share {
        self.streams.fetch_add(1, Ordering::Relaxed);
        Share(self.clone())
    }
}

impl Share {
    /// Returns how many items of `size` bytes fit in the share, given the current number of shares.
    pub(crate) fn capacity(&self, size: u64) -> usize {
        let streams = self.0.streams.load(Ordering::Relaxed).max(1);
        let bytes = (self.0.bytes / streams).max(MIN_SHARE.min(self.0.bytes));
        usize::try_from(bytes / size).unwrap_or(usize::MAX)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_get_equal_shares() {
        let memory = Memory::new(Some(64 << 20));
        let first = memory.share();
        assert_eq!(first.capacity(64), 1 << 20);
        let second = memory.clone().share();
        assert_eq!(
            (first.capacity(64), second.capacity(64)),
            (1 << 19, 1 << 19)
        );
        drop(first);
        assert_eq!(second.capacity(64), 1 << 20);
        let many: Vec<Share> = (0..100).map(|_| memory.share()).collect();
        assert_eq!(many[0].capacity(1), 4 << 20);
        assert_eq!(Memory::new(Some(1 << 20)).share().capacity(1), 1 << 20);
    }
}
