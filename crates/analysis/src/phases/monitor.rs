//! The monitor table: the branches of the hot spots found so far (Merten et al. 1999, section 2.2).
//!
//! The table is ideal: it holds all branches of all hot spots, as in the paper's experiments. Each
//! entry lists the hot spots that contain the branch. An execution belongs to the hot spot entered
//! last: to the current hot spot, if that contains the branch, and else to the hot spot that was
//! current most recently.

/// The number of a hot spot, in order of detection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HotSpotId(pub u32);

impl HotSpotId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The monitor table.
#[derive(Clone, Debug)]
pub(super) struct MonitorTable {
    /// By entry: the hot spots that contain it, in order of detection.
    members: Vec<Vec<HotSpotId>>,
    /// By hot spot: when it was last entered, as a number that grows.
    entered: Vec<u64>,
    current: Option<HotSpotId>,
    entries: u64,
}

impl MonitorTable {
    pub(super) fn new(slots: usize) -> MonitorTable {
        MonitorTable {
            members: vec![Vec::new(); slots],
            entered: Vec::new(),
            current: None,
            entries: 0,
        }
    }

    /// Adds an entry of the hot spot that is added next.
    pub(super) fn add(&mut self, slot: usize) {
        let hot_spot = HotSpotId(self.entered.len() as u32);
        if self.members[slot].last() != Some(&hot_spot) {
            self.members[slot].push(hot_spot);
        }
    }

    /// Adds a hot spot, and enters it.
    pub(super) fn enter_new(&mut self) {
        self.current = Some(HotSpotId(self.entered.len() as u32));
        self.entries += 1;
        self.entered.push(self.entries);
    }

    /// The hot spot that an execution of this entry belongs to. `None` if no hot spot contains it.
    #[inline]
    pub(super) fn execute(&mut self, slot: usize) -> Option<HotSpotId> {
        let members = &self.members[slot];
        if members.is_empty() {
            return None;
        }
        let is_current = |current: &HotSpotId| members.contains(current);
        if let Some(current) = self.current.filter(is_current) {
            return Some(current);
        }
        let latest = members.iter().max_by_key(|id| self.entered[id.index()]);
        self.current = latest.copied();
        if let Some(current) = self.current {
            self.entries += 1;
            self.entered[current.index()] = self.entries;
        }
        self.current
    }

    /// The hot spots that contain an entry, in order of detection.
    pub(super) fn members(&self, slot: usize) -> &[HotSpotId] {
        &self.members[slot]
    }
}
