//! The children of all trie nodes that have several children, in one hash table.
//!
//! Cost: 18 to 36 bytes for each child.

use super::slab::SlabId;

/// A hash table from parent and label to the child: open addressing, at most two thirds full. The
/// slots contain the keys, so neither a search nor the growth of the table reads the nodes.
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
    /// The slot at which the search for a child begins.
    fn first_slot(&self, parent: SlabId, label: u32) -> usize {
        let key = u64::from(parent.0) << 32 | u64::from(label);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // Multiply twice. After one multiplication, labels at some distances from each other (for
        // example 227) fall into runs of hundreds of adjacent used slots.
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// Returns the child with this label.
    #[inline]
    pub(super) fn find(&self, parent: SlabId, label: u32) -> Option<SlabId> {
        let mut index = self.first_slot(parent, label);
        loop {
            let slot = self.slots[index];
            if slot.child == SlabId::NONE {
                return None;
            }
            if (slot.parent, slot.label) == (parent, label) {
                return Some(slot.child);
            }
            index = (index + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a child. The table must not contain it yet.
    pub(super) fn insert(&mut self, parent: SlabId, label: u32, child: SlabId) {
        if 3 * (self.used + 1) > 2 * self.slots.len() {
            let new_len = (2 * self.slots.len()).max(64);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); new_len]);
            for slot in old.into_iter().filter(|slot| slot.child != SlabId::NONE) {
                self.fill_slot(slot);
            }
        }
        self.used += 1;
        self.fill_slot(Slot {
            parent,
            label,
            child,
        });
    }

    fn fill_slot(&mut self, slot: Slot) {
        let mut index = self.first_slot(slot.parent, slot.label);
        while self.slots[index].child != SlabId::NONE {
            index = (index + 1) & (self.slots.len() - 1);
        }
        self.slots[index] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::{Children, SlabId};

    /// Number of slots that a search reads before it finds the child or a free slot.
    fn probes(children: &Children, parent: SlabId, label: u32) -> usize {
        let (first, mask) = (children.first_slot(parent, label), children.slots.len() - 1);
        let ends = |probes: &usize| {
            let slot = children.slots[(first + probes) & mask];
            slot.child == SlabId::NONE || (slot.parent, slot.label) == (parent, label)
        };
        1 + (0..children.slots.len())
            .find(ends)
            .expect("a third of the slots is free")
    }

    /// Checks that a search reads a few slots, whether the child exists or not, and however many
    /// children the node has. The paper scans lists of children: 58.8 children for each step, in
    /// its worst program with K = 2.
    fn check_probes(present: &[(SlabId, u32)], absent: &[(SlabId, u32)]) {
        let mut children = Children::default();
        for (child, &(parent, label)) in (1..).zip(present) {
            children.insert(parent, label, SlabId(child));
        }
        for (child, &(parent, label)) in (1..).zip(present) {
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
        let (present_probes, absent_probes) = (sum(present), sum(absent));
        assert!(
            present_probes <= 3 * present.len(),
            "{present_probes} probes for {} children",
            present.len()
        );
        assert!(
            absent_probes <= 6 * absent.len(),
            "{absent_probes} probes for {} absent children",
            absent.len()
        );
    }

    /// A number of children that fills the table almost to the load at which it grows.
    const MANY: u32 = 170_000;

    #[test]
    fn searches_among_many_children_of_one_node_take_few_probes() {
        // Path words are dense, but the paths that ran may be any subset of them.
        for step in [1, 2, 7, 16, 64, 227, 1 << 12] {
            let keys = |first_label: u32| {
                (0..MANY).map(move |index| (SlabId(7), first_label + step * index))
            };
            let (present, absent): (Vec<_>, Vec<_>) =
                (keys(1).collect(), keys(1 + step * MANY).collect());
            check_probes(&present, &absent);
        }
    }

    #[test]
    fn searches_among_children_of_many_nodes_take_few_probes() {
        for (nodes, step) in [(10, 1), (300, 1), (300, 1 << 8), (10_000, 3)] {
            let keys = |first_label: u32| {
                (0..MANY).map(move |index| {
                    let parent = SlabId(step * (1 + index % nodes));
                    (parent, first_label + index / nodes)
                })
            };
            let (present, absent): (Vec<_>, Vec<_>) = (keys(1).collect(), keys(1 + MANY).collect());
            check_probes(&present, &absent);
        }
    }
}
