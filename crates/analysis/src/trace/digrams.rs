//! Where each digram of a grammar stands: open addressing, linear, without tombstones.
//!
//! Cost: 16 bytes a slot, at most half of them taken.

/// A slot: the two symbols in one key, and the place. The key 0 is free: no table holds the digram of twice terminal 0 under it, for
/// keys are stored with all bits turned, and no symbol has them all set.
#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    place: u32,
}

const FREE: Slot = Slot { key: 0, place: 0 };

/// Digram → place.
#[derive(Default)]
pub(super) struct Digrams {
    slots: Vec<Slot>,
    taken: usize,
}

fn key(left: u32, right: u32) -> u64 {
    !(u64::from(left) << 32 | u64::from(right))
}

impl Digrams {
    /// Takes all out; the memory stays.
    pub(super) fn clear(&mut self) {
        self.slots.fill(FREE);
        self.taken = 0;
    }

    /// The slot where `key` stands or would stand.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        while self.slots[at].key != key && self.slots[at].key != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        let mixed = (key ^ (key >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    /// Where a digram stands.
    pub(super) fn find(&self, left: u32, right: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let key = key(left, right);
        let slot = self.slots[self.slot(key)];
        (slot.key == key).then_some(slot.place)
    }

    /// Where a digram stands; if nowhere, it stands at `place` from now on.
    #[inline]
    pub(super) fn find_or_insert(&mut self, left: u32, right: u32, place: u32) -> Option<u32> {
        if 2 * self.taken >= self.slots.len() {
            self.grow();
        }
        let key = key(left, right);
        let at = self.slot(key);
        if self.slots[at].key == key {
            return Some(self.slots[at].place);
        }
        self.slots[at] = Slot { key, place };
        self.taken += 1;
        None
    }

    /// The digram stands at `place` from now on.
    pub(super) fn set(&mut self, left: u32, right: u32, place: u32) {
        if self.find_or_insert(left, right, place).is_some() {
            let at = self.slot(key(left, right));
            self.slots[at].place = place;
        }
    }

    /// Takes a digram out if it stands at `place`.
    #[inline]
    pub(super) fn remove(&mut self, left: u32, right: u32, place: u32) {
        if self.slots.is_empty() {
            return;
        }
        let key = key(left, right);
        let mut hole = self.slot(key);
        if self.slots[hole].key != key || self.slots[hole].place != place {
            return;
        }
        self.taken -= 1;
        // What comes behind the hole moves into it unless it would then stand before its home.
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.key == 0 {
                break;
            }
            let from_home = at.wrapping_sub(self.home(slot.key)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = FREE;
    }

    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(16);
        let old = std::mem::replace(&mut self.slots, vec![FREE; size]);
        for slot in old.into_iter().filter(|slot| slot.key != 0) {
            let at = self.slot(slot.key);
            self.slots[at] = slot;
        }
    }
}
