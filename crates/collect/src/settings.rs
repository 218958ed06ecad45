//! The settings for collecting the streams of a run.

use std::path::PathBuf;

use crate::burst::Burst;
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
    /// The directory where the link steps of `cargo holloway` recorded path maps (`<build
    /// id>.hwm`).
    pub linked: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            k: None,
            sample: 1,
            memory: Memory::new(None),
            burst: None,
            linked: None,
        }
    }
}
