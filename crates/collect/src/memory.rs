//! The memory that the analysis of a run's streams may take, shared evenly by the rings that are there: as many as threads ran at a time in each process that goes on.
//!
//! A stream's share shrinks as others come, and grows as processes end; it holds from the stream's next words on. Each has some megabytes in any case. It bounds what
//! grows with the stream: the nodes of a forest, the pieces of a trace. What came of streams that have ended is not in it: of loops, a forest a process, of as many nodes as
//! fit in all of the memory while they grow; a node takes a quarter of that then. What a symbol of a trace takes is what it does where paths follow one another at random, and blocks
//! that are being made and written come to it; where paths repeat themselves it takes half.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes unless something else is asked for.
const USUAL: u64 = 1 << 30;

/// What a stream has at least, in bytes, if there is as much.
const LEAST: u64 = 4 << 20;

/// The memory of a run.
#[derive(Clone, Debug)]
pub struct Memory {
    bytes: u64,
    is_asked_for: bool,
    streams: Arc<AtomicU64>,
}

/// A stream's share, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share(Memory);

impl Memory {
    /// So many bytes, or the usual, of which nobody has a share.
    pub fn new(bytes: Option<u64>) -> Self {
        Self {
            bytes: bytes.unwrap_or(USUAL),
            is_asked_for: bytes.is_some(),
            streams: Arc::default(),
        }
    }

    /// Whether the user said how much.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.is_asked_for
    }

    /// So many things of `size` bytes fit in all of it.
    pub(crate) fn most(&self, size: u64) -> usize {
        usize::try_from(self.bytes / size).unwrap_or(usize::MAX)
    }

    /// The share of one more stream.
    pub(crate) fn share(&self) -> Share {
        self.streams.fetch_add(1, Ordering::Relaxed);
        Share(self.clone())
    }
}

impl Share {
    /// So many things of `size` bytes fit now.
    pub(crate) fn most(&self, size: u64) -> usize {
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
        assert_eq!(first.most(64), 1 << 20);
        let second = memory.clone().share();
        assert_eq!((first.most(64), second.most(64)), (1 << 19, 1 << 19));
        drop(first);
        assert_eq!(second.most(64), 1 << 20);
        let many: Vec<Share> = (0..100).map(|_| memory.share()).collect();
        assert_eq!(many[0].most(1), 4 << 20);
        assert_eq!(Memory::new(Some(1 << 20)).share().most(1), 1 << 20);
    }
}
