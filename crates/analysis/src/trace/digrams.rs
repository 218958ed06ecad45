//! A hash table from each digram of a grammar to the node where it begins: open addressing, linear
//! probing, no tombstones.
//!
//! Cost: 16 bytes for each slot, at most half of the slots in use.

/// A slot of the table. It is free if the key is 0.
#[derive(Clone, Copy)]
struct Slot {
    /// The two symbols of the digram, with all bits inverted. No symbol has all bits set, so no
    /// digram has the key 0.
    key: u64,
    /// The node where the digram begins.
    node: u32,
}

const FREE: Slot = Slot { key: 0, node: 0 };

/// The nodes where digrams begin.
#[derive(Default)]
pub(super) struct Digrams {
    slots: Vec<Slot>,
    used: usize,
}

fn key(left: u32, right: u32) -> u64 {
    !(u64::from(left) << 32 | u64::from(right))
}

impl Digrams {
    /// Removes all digrams and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.slots.fill(FREE);
        self.used = 0;
    }

    /// The slot that contains `key`, or the free slot for it.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut index = self.home(key);
        while self.slots[index].key != key && self.slots[index].key != 0 {
            index = (index + 1) & mask;
        }
        index
    }

    /// The slot at which the search for a key begins.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let mixed = (key ^ (key >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    /// The node of a digram.
    pub(super) fn find(&self, left: u32, right: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let key = key(left, right);
        let slot = self.slots[self.slot(key)];
        (slot.key == key).then_some(slot.node)
    }

    /// The node of a digram. If the table does not contain the digram, inserts it with `node` and
    /// returns `None`.
    #[inline]
    pub(super) fn find_or_insert(&mut self, left: u32, right: u32, node: u32) -> Option<u32> {
        if 2 * self.used >= self.slots.len() {
            self.grow();
        }
        let key = key(left, right);
        let index = self.slot(key);
        if self.slots[index].key == key {
            return Some(self.slots[index].node);
        }
        self.slots[index] = Slot { key, node };
        self.used += 1;
        None
    }

    /// Sets the node of a digram.
    pub(super) fn set(&mut self, left: u32, right: u32, node: u32) {
        if self.find_or_insert(left, right, node).is_some() {
            let index = self.slot(key(left, right));
            self.slots[index].node = node;
        }
    }

    /// Removes a digram if its node is `node`. No tombstone marks the removed slot, so entries
    /// after it may have to move.
    #[inline]
    pub(super) fn remove(&mut self, left: u32, right: u32, node: u32) {
        if self.slots.is_empty() {
            return;
        }
        let key = key(left, right);
        let mut hole = self.slot(key);
        if self.slots[hole].key != key || self.slots[hole].node != node {
            return;
        }
        self.used -= 1;
        // Move later entries into the hole. An entry stays if its home slot is after the hole: a
        // search, which begins at the home slot, would not find it in the hole.
        let mask = self.slots.len() - 1;
        let mut index = hole;
        loop {
            index = (index + 1) & mask;
            let slot = self.slots[index];
            if slot.key == 0 {
                break;
            }
            let from_home = index.wrapping_sub(self.home(slot.key)) & mask;
            if from_home >= index.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = index;
            }
        }
        self.slots[hole] = FREE;
    }

    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(16);
        let old = std::mem::replace(&mut self.slots, vec![FREE; size]);
        for slot in old.into_iter().filter(|slot| slot.key != 0) {
            let index = self.slot(slot.key);
            self.slots[index] = slot;
        }
    }
}
