//! The settings for collecting the streams of a run.

use std::path::PathBuf;

use crate::burst::Burst;
use crate::live_phases::PhaseNotify;
use crate::memory::Memory;

/// The settings for collecting the streams of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// K for the kind loops: the number of consecutive iterations in a sequence. Overrides the K in
    /// the image header.
    pub k: Option<u32>,
    /// `--sample N`: one of every N chunks of a stream is analyzed.
    pub sample: u64,
    /// The memory that the analyses of the run's streams share.
    pub memory: Memory,
    /// `--burst`: how often paths are timed. Overrides the environment variable.
    pub burst: Option<Burst>,
    /// `--phases`: receives the transitions of traced programs while they run.
    pub phases: Option<PhaseNotify>,
    /// Where path maps are.
    pub maps: MapDirectories,
}

/// The directories with path maps of several builds (`<build id>.hwm`).
#[derive(Debug, Clone, Default)]
pub struct MapDirectories {
    /// The directory where the link steps of `cargo holloway` recorded path maps. Programs that no
    /// longer exist, such as doctests, have no other map.
    pub linked: Option<PathBuf>,
    /// The directory of the maps that runs share
    /// ([`run_directory::map_store`](crate::run_directory::map_store)). Without it, each run has a
    /// copy of the map.
    pub store: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            k: None,
            sample: 1,
            memory: Memory::new(None),
            burst: None,
            phases: None,
            maps: MapDirectories::default(),
        }
    }
}
