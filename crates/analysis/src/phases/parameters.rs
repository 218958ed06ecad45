//! The parameters of the hot spot detector (Merten et al. 1999, table 2).

use thiserror::Error;

/// The parameters. The defaults are the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Entries of the branch behavior buffer.
    pub entries: u32,
    /// Ways of each set of the buffer.
    pub ways: u32,
    /// Bits of the counters for executed and taken.
    pub counter_bits: u32,
    /// Executions that make a branch a candidate.
    pub candidate_threshold: u32,
    /// Number of branches between two refreshes, which clear the entries that are not candidates.
    pub refresh_interval: u32,
    /// Number of branches between two clears, which clear all entries.
    pub clear_interval: u32,
    /// Bits of the hot spot detection counter.
    pub detection_bits: u32,
    /// What a branch that is no candidate adds to the hot spot detection counter.
    pub detection_increment: u32,
    /// What a candidate subtracts from the hot spot detection counter.
    pub detection_decrement: u32,
    /// Bits of the monitor counter.
    pub monitor_bits: u32,
    /// What a branch outside the known hot spots adds to the monitor counter.
    pub monitor_increment: u32,
    /// What a branch of the known hot spots subtracts from the monitor counter.
    pub monitor_decrement: u32,
    /// What identifies an entry of the buffer and of the monitor table (enhancement 2).
    pub index: Index,
    /// Whether the targets of indirect branches are counted (enhancement 3).
    pub targets: Targets,
    /// What the monitor table holds (enhancement 4).
    pub monitored: Monitored,
}

/// What identifies a branch in the tables.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Index {
    /// Its address.
    #[default]
    Address,
    /// Its address and its direction (enhancement 2).
    Direction,
}

/// Whether the targets of indirect branches are counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Targets {
    /// They are not.
    #[default]
    Ignored,
    /// They are, in a table with the geometry of the branch behavior buffer (enhancement 3).
    Counted,
}

/// What the monitor table holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Monitored {
    /// The branches of hot spots.
    #[default]
    Branches,
    /// In addition, a range of addresses for each function of a hot spot: from the first to the
    /// last branch of the hot spot in the function (enhancement 4).
    Ranges,
}

/// Maximum number of entries of the buffer. The paper's largest buffer has 4,096.
const MAX_ENTRIES: u32 = 1 << 20;

/// The reason why parameters make no detector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ParametersError {
    /// The sets of the buffer have no ways, or the ways do not fill sets.
    #[error("{entries} entries do not make sets of {ways} ways")]
    Sets {
        /// The entries.
        entries: u32,
        /// The ways.
        ways: u32,
    },
    /// The buffer has more entries than a detector needs.
    #[error("a buffer has at most {MAX_ENTRIES} entries, not {entries}")]
    Entries {
        /// The entries.
        entries: u32,
    },
    /// A counter has no bits or too many bits.
    #[error("a counter has 1 to 31 bits, not {bits}")]
    Bits {
        /// The bits.
        bits: u32,
    },
    /// The candidate threshold is 0 or more than a counter can hold.
    #[error("a candidate has 1 to {maximum} executions, not {threshold}")]
    Threshold {
        /// The threshold.
        threshold: u32,
        /// The maximum of the counter.
        maximum: u32,
    },
    /// A timer's interval is 0.
    #[error("a timer's interval is at least 1 branch")]
    Interval,
    /// A counter can never reach 0.
    #[error("a counter that subtracts 0 never reaches 0")]
    Decrement,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            entries: 2048,
            ways: 2,
            counter_bits: 9,
            candidate_threshold: 16,
            refresh_interval: 4096,
            clear_interval: 65_535,
            detection_bits: 13,
            detection_increment: 2,
            detection_decrement: 1,
            monitor_bits: 12,
            monitor_increment: 1,
            monitor_decrement: 1,
            index: Index::default(),
            targets: Targets::default(),
            monitored: Monitored::default(),
        }
    }
}

impl Parameters {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If they make no detector.
    pub fn check(&self) -> Result<(), ParametersError> {
        let &Parameters { entries, ways, .. } = self;
        if entries == 0 || ways == 0 || !entries.is_multiple_of(ways) {
            return Err(ParametersError::Sets { entries, ways });
        }
        if entries > MAX_ENTRIES {
            return Err(ParametersError::Entries { entries });
        }
        let all_bits = [self.counter_bits, self.detection_bits, self.monitor_bits];
        if let Some(bits) = all_bits.into_iter().find(|bits| !(1..32).contains(bits)) {
            return Err(ParametersError::Bits { bits });
        }
        let (threshold, maximum) = (self.candidate_threshold, self.counter_maximum());
        if !(1..=maximum).contains(&threshold) {
            return Err(ParametersError::Threshold { threshold, maximum });
        }
        if self.refresh_interval == 0 || self.clear_interval == 0 {
            return Err(ParametersError::Interval);
        }
        if self.detection_decrement == 0 || self.monitor_decrement == 0 {
            return Err(ParametersError::Decrement);
        }
        Ok(())
    }

    pub(super) fn counter_maximum(&self) -> u32 {
        (1 << self.counter_bits) - 1
    }

    pub(super) fn detection_maximum(&self) -> u32 {
        (1 << self.detection_bits) - 1
    }

    pub(super) fn monitor_maximum(&self) -> u32 {
        (1 << self.monitor_bits) - 1
    }
}
