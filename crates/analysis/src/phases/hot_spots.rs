//! The hot spot detector of Merten et al. (1999): hardware, simulated on a branch stream.
//!
//! - In *profile mode*, the branch behavior buffer counts branches (`buffer`). A branch that
//!   executes often becomes a *candidate*. The *hot spot detection counter* starts at its maximum.
//!   Each candidate's execution subtracts from it, and each other execution adds to it. At zero,
//!   the candidates are a new hot spot.
//! - In *monitor mode*, the buffer is off. The *monitor counter* adds for each branch outside the
//!   known hot spots, and subtracts for each branch inside (`monitor`). At its maximum, profile
//!   mode starts. In profile mode it goes on: at zero, control is back in known hot spots, and
//!   profile mode stops.
//!
//! The paper leaves some points open. This module decides them as follows:
//!
//! - The 16th execution of a branch already counts as a candidate's. A dropped branch is no
//!   candidate.
//! - Both timers count branches from the start of profile mode. Clearing also sets the hot spot
//!   detection counter to its maximum.
//! - The run starts in profile mode, with an empty table and the monitor counter at its maximum.
//!   Profile mode starts with an empty buffer and the hot spot detection counter at its maximum.
//! - An execution counts in the buffer before it counts in the monitor counter.
//!
//! The paper gives no signal when control goes from one known hot spot to another. This module also
//! finds these *entries*: in monitor mode, every 4,096 branches (the refresh interval) are counted
//! by hot spot. If more than half of them belong to a hot spot that is not the *current* one,
//! control has entered that hot spot. A new hot spot becomes current when it is detected. No hot
//! spot is current after control left the known ones.
//!
//! Example: one branch executes over and over. It is a candidate from its 16th execution on. The
//! counter of 13 bits reaches 0 after 8,191 more: a hot spot is found after 8,206 branches.
//!
//! Cost: about ten operations for each branch.

use std::sync::Arc;

use holloway_format::Count;

use super::buffer::{BranchBuffer, Entry};
use super::monitor::{HotSpotId, MonitorTable};
use super::parameters::{Index, Monitored, Parameters, ParametersError, Targets};
use crate::branch_stream::{BranchEvent, BranchId, BranchKind, BranchSite, Direction};

/// A branch of a hot spot, as the buffer counted it before the detection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotBranch {
    /// The branch.
    pub branch: BranchId,
    /// The direction, if the entries of the buffer have one.
    pub direction: Option<Direction>,
    /// Executions. The counter saturates.
    pub executed: u32,
    /// Taken executions. The counter stops when `executed` saturates.
    pub taken: u32,
    /// Executions by target block, most frequent first, if the targets of indirect branches are
    /// counted and the branch is indirect.
    pub targets: Vec<(u32, u32)>,
}

/// Executions in a part of the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Executed {
    /// Branches.
    pub branches: Count,
    /// Instructions of these branches ([`BranchEvent::instructions`]).
    pub instructions: Count,
}

impl Executed {
    #[inline]
    fn add(&mut self, instructions: u32) {
        self.branches.0 += 1;
        self.instructions.0 += u64::from(instructions);
    }
}

/// A hot spot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotSpot {
    /// Number of branches that the thread had executed when the hot spot was detected.
    pub detected_at: Count,
    /// The candidates at the detection, by address.
    pub branches: Vec<HotBranch>,
    /// Executions that belong to the hot spot, also before its detection.
    pub whole: Executed,
    /// Executions that belong to the hot spot after its detection.
    pub detected: Executed,
}

/// A change of the detector's mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModeChange {
    /// A new hot spot was detected: monitor mode begins.
    Detected(HotSpotId),
    /// Control left the known hot spots: profile mode begins.
    Left,
    /// Control came back to known hot spots: monitor mode begins without a new hot spot.
    Returned,
}

/// The result of a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotSpots {
    /// The hot spots, in order of detection.
    pub hot_spots: Vec<HotSpot>,
    /// The changes of the mode, each with the number of branches that the thread had executed.
    pub changes: Vec<(Count, ModeChange)>,
    /// The entries of known hot spots, each with the number of branches that the thread had
    /// executed when the entry was found.
    pub entered: Vec<(Count, HotSpotId)>,
    /// All executions of the stream.
    pub all: Executed,
    /// Executions in profile mode, in which the buffer is on.
    pub profiled: Count,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Profile,
    Monitor,
}

/// The simulated hardware.
#[derive(Clone, Debug)]
pub struct HotSpotDetector {
    parameters: Parameters,
    sites: Arc<[BranchSite]>,
    mode: Mode,
    buffer: BranchBuffer,
    /// The table of targets of indirect branches, if they are counted.
    targets: Option<BranchBuffer>,
    detection_counter: u32,
    monitor_counter: u32,
    /// Branches since the start of profile mode, modulo each interval.
    since_refresh: u32,
    since_clear: u32,
    table: MonitorTable,
    /// The hot spot that control entered last. `None` after control left the known hot spots.
    current: Option<HotSpotId>,
    /// By hot spot: executions in the current interval of monitor mode.
    interval: Vec<u32>,
    /// Branches of the current interval.
    since_interval: u32,
    /// By branch and direction: executions before a hot spot contained the branch.
    outside: Vec<Executed>,
    result: HotSpots,
}

impl HotSpotDetector {
    /// A detector for a stream of these branches.
    ///
    /// # Errors
    /// If the parameters make no detector.
    pub fn new(
        parameters: Parameters,
        sites: impl Into<Arc<[BranchSite]>>,
    ) -> Result<HotSpotDetector, ParametersError> {
        parameters.check()?;
        let sites = sites.into();
        let buffer = BranchBuffer::new(&parameters);
        let slots = 2 * sites.len();
        Ok(HotSpotDetector {
            targets: match parameters.targets {
                Targets::Counted => Some(buffer.clone()),
                Targets::Ignored => None,
            },
            buffer,
            parameters,
            sites,
            mode: Mode::Profile,
            detection_counter: parameters.detection_maximum(),
            monitor_counter: parameters.monitor_maximum(),
            since_refresh: 0,
            since_clear: 0,
            table: MonitorTable::new(slots),
            current: None,
            interval: Vec::new(),
            since_interval: 0,
            outside: vec![Executed::default(); slots],
            result: HotSpots {
                hot_spots: Vec::new(),
                changes: Vec::new(),
                entered: Vec::new(),
                all: Executed::default(),
                profiled: Count::ZERO,
            },
        })
    }

    /// Feeds adjacent branches.
    pub fn feed(&mut self, events: &[BranchEvent]) {
        for event in events {
            self.branch(event);
        }
    }

    /// Feeds a branch.
    #[inline]
    fn branch(&mut self, event: &BranchEvent) {
        self.result.all.add(event.instructions);
        let slot = slot(event.branch, event.direction);
        let owner = self.table.execute(match self.parameters.index {
            Index::Address => slot & !1,
            Index::Direction => slot,
        });
        match owner {
            Some(owner) => {
                let hot_spot = &mut self.result.hot_spots[owner.index()];
                hot_spot.detected.add(event.instructions);
            }
            None => self.outside[slot].add(event.instructions),
        }
        match self.mode {
            Mode::Profile => {
                self.result.profiled.0 += 1;
                if self.profile(event) {
                    return;
                }
                self.count_monitor(owner);
                if self.monitor_counter == 0 {
                    self.change_to(Mode::Monitor, ModeChange::Returned);
                }
            }
            Mode::Monitor => {
                self.count_monitor(owner);
                self.count_interval(owner);
                if self.monitor_counter == self.parameters.monitor_maximum() {
                    self.change_to(Mode::Profile, ModeChange::Left);
                    self.current = None;
                }
            }
        }
    }

    #[inline]
    fn count_monitor(&mut self, owner: Option<HotSpotId>) {
        let (counter, parameters) = (&mut self.monitor_counter, &self.parameters);
        *counter = if owner.is_some() {
            counter.saturating_sub(parameters.monitor_decrement)
        } else {
            let sum = counter.saturating_add(parameters.monitor_increment);
            sum.min(parameters.monitor_maximum())
        };
    }

    /// Counts an execution of monitor mode by hot spot. Notes an entry at the end of an interval.
    #[inline]
    fn count_interval(&mut self, owner: Option<HotSpotId>) {
        if let Some(owner) = owner {
            self.interval[owner.index()] += 1;
        }
        self.since_interval += 1;
        if self.since_interval == self.parameters.refresh_interval {
            self.end_interval();
        }
    }

    fn end_interval(&mut self) {
        let executed = (0u32..).map(HotSpotId).zip(&self.interval);
        let half = self.since_interval / 2;
        let main = executed.filter(|&(_, &count)| count > half).last();
        if let Some((main, _)) = main.filter(|&(main, _)| Some(main) != self.current) {
            self.current = Some(main);
            self.result.entered.push((self.result.all.branches, main));
        }
        self.interval.fill(0);
        self.since_interval = 0;
    }

    /// The result so far.
    pub fn result(&self) -> &HotSpots {
        &self.result
    }

    /// Counts an execution in the buffer. Returns whether a hot spot was detected.
    #[inline]
    fn profile(&mut self, event: &BranchEvent) -> bool {
        let site = &self.sites[event.branch.index()];
        let (index, key) = match self.parameters.index {
            Index::Address => (site.address, u64::from(event.branch.0)),
            Index::Direction => {
                let direction = u64::from(event.direction == Direction::NotTaken);
                let key = 2 * u64::from(event.branch.0) + direction;
                (2 * site.address + direction, key)
            }
        };
        let is_candidate = self.buffer.execute(index, key, event.direction);
        if let Some(targets) = &mut self.targets
            && site.kind == BranchKind::Indirect
        {
            let key = u64::from(event.branch.0) << 32 | u64::from(event.target);
            let index = site.address + u64::from(event.target);
            targets.execute(index, key, event.direction);
        }
        let parameters = &self.parameters;
        self.detection_counter = if is_candidate {
            self.detection_counter
                .saturating_sub(parameters.detection_decrement)
        } else {
            let sum = self
                .detection_counter
                .saturating_add(parameters.detection_increment);
            sum.min(parameters.detection_maximum())
        };
        if self.detection_counter == 0 {
            self.detect();
            return true;
        }
        self.since_refresh += 1;
        if self.since_refresh == parameters.refresh_interval {
            self.since_refresh = 0;
            self.buffer.refresh();
        }
        self.since_clear += 1;
        if self.since_clear == self.parameters.clear_interval {
            self.clear();
        }
        false
    }

    /// Clears the buffer and resets its timer. The refresh timer goes on.
    fn clear(&mut self) {
        self.since_clear = 0;
        self.buffer.clear();
        if let Some(targets) = &mut self.targets {
            targets.clear();
        }
        self.detection_counter = self.parameters.detection_maximum();
    }

    fn change_to(&mut self, mode: Mode, change: ModeChange) {
        self.mode = mode;
        match mode {
            Mode::Profile => {
                self.since_refresh = 0;
                self.clear();
            }
            Mode::Monitor => {
                self.monitor_counter = 0;
                self.interval.fill(0);
                self.since_interval = 0;
            }
        }
        self.result.changes.push((self.result.all.branches, change));
    }

    /// Makes a hot spot of the candidates.
    fn detect(&mut self) {
        let entries = self.buffer.candidates();
        let mut branches: Vec<HotBranch> = entries.map(|entry| self.hot_branch(entry)).collect();
        branches.sort_by_key(|hot| (hot.branch, hot.direction));
        for hot in &branches {
            let direction = hot.direction.unwrap_or(Direction::Taken);
            self.table.add(slot(hot.branch, direction));
        }
        if self.parameters.monitored == Monitored::Ranges {
            self.add_ranges(&branches);
        }
        self.table.enter_new();
        let id = HotSpotId(self.result.hot_spots.len() as u32);
        self.result.hot_spots.push(HotSpot {
            detected_at: self.result.all.branches,
            branches,
            whole: Executed::default(),
            detected: Executed::default(),
        });
        self.current = Some(id);
        self.interval.push(0);
        self.change_to(Mode::Monitor, ModeChange::Detected(id));
    }

    fn hot_branch(&self, entry: &Entry) -> HotBranch {
        let (branch, direction) = match self.parameters.index {
            Index::Address => (entry.key, None),
            Index::Direction if entry.key.is_multiple_of(2) => {
                (entry.key / 2, Some(Direction::Taken))
            }
            Index::Direction => (entry.key / 2, Some(Direction::NotTaken)),
        };
        let targets = self.targets.iter().flat_map(BranchBuffer::entries);
        let targets = targets.filter(|target| target.key >> 32 == branch);
        let mut targets: Vec<(u32, u32)> = targets
            .map(|target| (target.key as u32, target.executed))
            .collect();
        targets.sort_by_key(|&(target, executed)| (std::cmp::Reverse(executed), target));
        HotBranch {
            branch: BranchId(branch as u32),
            direction,
            executed: entry.executed,
            taken: entry.taken,
            targets,
        }
    }

    /// Adds all branches between the first and the last branch of a hot spot in each function.
    fn add_ranges(&mut self, branches: &[HotBranch]) {
        let function = |hot: &HotBranch| self.sites[hot.branch.index()].function;
        for same in branches.chunk_by(|a, b| function(a) == function(b)) {
            let (first, last) = (same[0].branch, same[same.len() - 1].branch);
            for slot in slot(first, Direction::Taken)..=slot(last, Direction::NotTaken) {
                self.table.add(slot);
            }
        }
    }

    /// Ends the stream. Executions before the detection of their hot spots belong to the hot spot
    /// that was detected first.
    pub fn finish(mut self) -> HotSpots {
        for (slot, outside) in self.outside.iter().enumerate() {
            let slot = match self.parameters.index {
                Index::Address => slot & !1,
                Index::Direction => slot,
            };
            if let Some(first) = self.table.members(slot).first() {
                let whole = &mut self.result.hot_spots[first.index()].whole;
                whole.branches += outside.branches;
                whole.instructions += outside.instructions;
            }
        }
        for hot_spot in &mut self.result.hot_spots {
            hot_spot.whole.branches += hot_spot.detected.branches;
            hot_spot.whole.instructions += hot_spot.detected.instructions;
        }
        self.result
    }
}

/// The entry of a branch in the tables by branch and direction. Tables by branch use the even
/// entries.
#[inline]
fn slot(branch: BranchId, direction: Direction) -> usize {
    2 * branch.index() + usize::from(direction == Direction::NotTaken)
}
