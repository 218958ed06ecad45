//! The children of the nodes of the trie of slabs, in one table.
//!
//! Cost: 18 to 36 bytes a child.

use super::slabs::Slab;

/// The children of nodes that have several: open addressing, at most two thirds full. What is asked stands in the slots: the
/// nodes are looked at neither in a search nor when the table grows.
#[derive(Clone, Default, Debug)]
pub(super) struct Children {
    slots: Vec<Slot>,
    used: usize,
}

/// A child, or a free slot where `child` is 0.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    parent: Slab,
    label: u32,
    child: Slab,
}

impl Children {
    fn start(&self, parent: Slab, label: u32) -> usize {
        let key = u64::from(parent) << 32 | u64::from(label);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// The child of this label.
    #[inline]
    pub(super) fn find(&self, parent: Slab, label: u32) -> Option<Slab> {
        let mut at = self.start(parent, label);
        loop {
            let slot = self.slots[at];
            if slot.child == 0 {
                return None;
            }
            if (slot.parent, slot.label) == (parent, label) {
                return Some(slot.child);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a child that is not in it.
    pub(super) fn insert(&mut self, parent: Slab, label: u32, child: Slab) {
        if 3 * (self.used + 1) > 2 * self.slots.len() {
            let more = (2 * self.slots.len()).max(64);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); more]);
            for slot in old.into_iter().filter(|slot| slot.child != 0) {
                self.place(slot);
            }
        }
        self.used += 1;
        self.place(Slot {
            parent,
            label,
            child,
        });
    }

    fn place(&mut self, slot: Slot) {
        let mut at = self.start(slot.parent, slot.label);
        while self.slots[at].child != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }
}
