//! The index of an LLVM block in its function.

use std::fmt;
use std::ops::{Index, IndexMut};

/// The index of a block in its [`FunctionParts`](super::FunctionParts), printed `bb3`. It indexes
/// every `Vec` with one element per block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlockIndex(u32);

impl BlockIndex {
    /// The function's entry block.
    pub(crate) const ENTRY: Self = Self(0);

    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a function has fewer than 2^32 blocks"))
    }

    /// The block index as an index into a slice.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The indices of the first `count` blocks.
    pub(crate) fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(Self::new)
    }

    /// Pairs each item with its block's index. `items` has one item per block, in order.
    pub(crate) fn enumerate<I: IntoIterator>(items: I) -> impl Iterator<Item = (Self, I::Item)> {
        let items = items.into_iter().enumerate();
        items.map(|(index, item)| (Self::new(index), item))
    }
}

impl fmt::Debug for BlockIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bb{}", self.0)
    }
}

impl<T> Index<BlockIndex> for Vec<T> {
    type Output = T;

    fn index(&self, block: BlockIndex) -> &T {
        &self[block.index()]
    }
}

impl<T> IndexMut<BlockIndex> for Vec<T> {
    fn index_mut(&mut self, block: BlockIndex) -> &mut T {
        &mut self[block.index()]
    }
}

impl<T> Index<BlockIndex> for [T] {
    type Output = T;

    fn index(&self, block: BlockIndex) -> &T {
        &self[block.index()]
    }
}
