//! The children of the trie nodes that have several, in one hash table.
//!
//! Cost: 18 to 36 bytes for each child.

use super::slab::SlabId;

/// The children of nodes that have several: a hash table with open addressing, at most two thirds
/// full. The slots contain all keys, so neither a search nor the growth of the table reads the
/// nodes.
#[derive(Clone, Default, Debug)]
pub(super) struct Children {
    slots: Vec<Slot>,
    used: usize,
}

/// A child; the slot is free if `child` is [`SlabId::NONE`].
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    parent: SlabId,
    label: u32,
    child: SlabId,
}

impl Children {
    fn start(&self, parent: SlabId, label: u32) -> usize {
        let key = u64::from(parent.0) << 32 | u64::from(label);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // Multiply twice: after one multiplication, labels at some distances (227) form a few long
        // runs of hundreds of children.
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// Returns the child with this label.
    #[inline]
    pub(super) fn find(&self, parent: SlabId, label: u32) -> Option<SlabId> {
        let mut at = self.start(parent, label);
        loop {
            let slot = self.slots[at];
            if slot.child == SlabId::NONE {
                return None;
            }
            if (slot.parent, slot.label) == (parent, label) {
                return Some(slot.child);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a child. The table must not contain it yet.
    pub(super) fn insert(&mut self, parent: SlabId, label: u32, child: SlabId) {
        if 3 * (self.used + 1) > 2 * self.slots.len() {
            let new_len = (2 * self.slots.len()).max(64);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); new_len]);
            for slot in old.into_iter().filter(|slot| slot.child != SlabId::NONE) {
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
        while self.slots[at].child != SlabId::NONE {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::{Children, SlabId};

    /// Number of slots that a search reads before it finds the child or a free slot.
    fn probes(children: &Children, parent: SlabId, label: u32) -> usize {
        let (start, mask) = (children.start(parent, label), children.slots.len() - 1);
        let ends = |probes: &usize| {
            let slot = children.slots[(start + probes) & mask];
            slot.child == SlabId::NONE || (slot.parent, slot.label) == (parent, label)
        };
        1 + (0..children.slots.len())
            .find(ends)
            .expect("a third is free")
    }

    /// The paper scanned lists of children: 58.8 children for each step, in its worst program with
    /// k = 2. Here a search reads a few slots, whether the child exists or not, and however many
    /// children the node has.
    fn check(all: &[(SlabId, u32)], absent: &[(SlabId, u32)]) {
        let mut children = Children::default();
        for (child, &(parent, label)) in (1..).zip(all) {
            children.insert(parent, label, SlabId(child));
        }
        for (child, &(parent, label)) in (1..).zip(all) {
            assert_eq!(children.find(parent, label), Some(SlabId(child)));
        }
        for &(parent, label) in absent {
            assert_eq!(children.find(parent, label), None);
        }
        let sum = |keys: &[(SlabId, u32)]| -> usize {
            let probes = keys
                .iter()
                .map(|&(parent, label)| probes(&children, parent, label));
            probes.sum()
        };
        let (found, missed) = (sum(all), sum(absent));
        assert!(
            found <= 3 * all.len(),
            "{found} looks at {} children",
            all.len()
        );
        assert!(
            missed <= 6 * absent.len(),
            "{missed} looks for {} that are not there",
            absent.len()
        );
    }

    /// The number of children that the table holds before it grows.
    const MANY: u32 = 170_000;

    #[test]
    fn a_node_of_many_children_is_no_slower() {
        // Path words are dense, but the paths that ran may be any subset of them.
        for step in [1, 2, 7, 16, 64, 227, 1 << 12] {
            let keys = |from: u32| (0..MANY).map(move |at| (SlabId(7), from + step * at));
            let (all, absent): (Vec<_>, Vec<_>) =
                (keys(1).collect(), keys(1 + step * MANY).collect());
            check(&all, &absent);
        }
    }

    #[test]
    fn many_nodes_of_many_children_do_not_collide() {
        for (nodes, step) in [(10, 1), (300, 1), (300, 1 << 8), (10_000, 3)] {
            let keys = |from: u32| {
                (0..MANY).map(move |at| (SlabId(step * (1 + at % nodes)), from + at / nodes))
            };
            let (all, absent): (Vec<_>, Vec<_>) = (keys(1).collect(), keys(1 + MANY).collect());
            check(&all, &absent);
        }
    }
}
