//! Adjacency lists in two flat vectors: the items of all lists one after the other, and the start
//! of each list. A graph needs two allocations instead of one for each block. Counting sort builds
//! the lists and keeps the given order of the items.

use alloc::vec;
use alloc::vec::Vec;

/// Lists of `T` in two vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lists<T> {
    first: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Distributes `(list, item)` pairs over `count` lists. Items of one list keep their order.
    pub(crate) fn new(count: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut first = vec![0u32; count + 1];
        for (list, _) in pairs.clone() {
            first[list + 1] += 1;
        }
        for list in 0..count {
            first[list + 1] += first[list];
        }
        let mut items: Vec<T> = Vec::new();
        if let Some((_, filler)) = pairs.clone().next() {
            items = vec![filler; first[count] as usize];
        }
        let mut next = first.clone();
        for (list, item) in pairs {
            items[next[list] as usize] = item;
            next[list] += 1;
        }
        Self { first, items }
    }

    pub(crate) fn list(&self, list: usize) -> &[T] {
        &self.items[self.first[list] as usize..self.first[list + 1] as usize]
    }

    pub(crate) fn list_mut(&mut self, list: usize) -> &mut [T] {
        &mut self.items[self.first[list] as usize..self.first[list + 1] as usize]
    }
}
