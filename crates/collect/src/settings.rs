//! How the streams of a run are collected.

use std::path::PathBuf;

use crate::burst::Burst;
use crate::memory::Memory;

/// How the streams of a run are collected.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Iterations that sequences of loops span, in place of the image's.
    pub k: Option<u32>,
    /// One chunk in `sample` is analyzed.
    pub sample: u64,
    /// Memory that the run's streams share.
    pub memory: Memory,
    /// How often paths are timed, in place of the environment's burst.
    pub burst: Option<Burst>,
    /// Where path maps are.
    pub maps: MapDirectories,
}

/// The directories with path maps of several builds, by build id.
#[derive(Debug, Clone, Default)]
pub struct MapDirectories {
    /// The maps that links left. Programs that are gone by now, like doctests, have no other.
    pub linked: Option<PathBuf>,
    /// The maps that runs share ([`run_directory::map_store`](crate::run_directory::map_store)).
    /// Without such a directory, each run has its own copy.
    pub store: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            k: None,
            sample: 1,
            memory: Memory::new(None),
            burst: None,
            maps: MapDirectories::default(),
        }
    }
}
