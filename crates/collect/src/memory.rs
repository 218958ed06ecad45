//! The memory that the analysis of a run's streams may take.
//!
//! All rings share it evenly: as many as threads ran at the same time, in each process that still
//! runs. A stream's share shrinks as other streams come, and grows as processes end; it holds from
//! the stream's next words on. Each stream gets some megabytes in any case.
//!
//! The share limits what grows with the stream: the nodes of a forest, the pieces of a trace. The
//! results of streams that have ended are not part of it. For loops, these are a forest per
//! process, with as many nodes as fit in all of the memory while they grow; a finished node takes a
//! quarter of that. The size assumed for a symbol of a trace is its size where paths follow one
//! another at random; repeating paths take half. Blocks that are being built and written come on
//! top.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes, unless the user names another figure.
const USUAL: u64 = 1 << 30;

/// Bytes that each stream gets at least, if there are as many.
const LEAST: u64 = 4 << 20;

/// The memory of a run.
#[derive(Clone, Debug)]
pub struct Memory {
    bytes: u64,
    is_chosen: bool,
    streams: Arc<AtomicU64>,
}

/// A stream's share, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share(Memory);

impl Memory {
    /// `bytes`, or the usual amount, still without any shares.
    pub fn new(bytes: Option<u64>) -> Self {
        Self {
            bytes: bytes.unwrap_or(USUAL),
            is_chosen: bytes.is_some(),
            streams: Arc::default(),
        }
    }

    /// Whether the user chose the amount.
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// How many items of `size` bytes fit in all of the memory.
    pub(crate) fn capacity(&self, size: u64) -> usize {
        usize::try_from(self.bytes / size).unwrap_or(usize::MAX)
    }

    /// The share of one more stream.
    pub(crate) fn share(&self) -> Share {
        self.streams.fetch_add(1, Ordering::Relaxed);
        Share(self.clone())
    }
}

impl Share {
    /// How many items of `size` bytes fit in the share now.
    pub(crate) fn capacity(&self, size: u64) -> usize {
        let streams = self.0.streams.load(Ordering::Relaxed).max(1);
        let bytes = (self.0.bytes / streams).max(LEAST.min(self.0.bytes));
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
    fn streams_share_what_there_is() {
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
