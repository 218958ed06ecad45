//! Runs woven programs, collects their event streams, and writes and reads the files of runs.
//!
//! - During a run: [`run_directory`] creates the directory, and [`collector`] runs the program. A
//!   thread (`watch`) finds the rings of running processes. Workers (`pool`) take words out of the
//!   rings and feed them (`process_streams`, `ring_stream`) to the analysis of their kind in
//!   `kinds/`.
//! - CPU time: the crate `sample` samples the program, and (`cpu_time`) stores the samples by file
//!   and function.
//! - Without counters: [`samples`] watches programs, stores the samples, and loads them;
//!   (`program_copies`) finds the blocks of samples. [`import`] reads the samples and branch
//!   records of other tools.
//! - After a run: [`finish()`](finish::finish) seals profiles, and [`load`] reads them.
//! - Files: [`files`], [`image`], [`path_map`], `side_files`.
//!
//! Terms of this crate, in addition to the glossary:
//!
//! - The *owner* of a ring is the thread that appends to it. When the owner ends, a new thread may
//!   become the next owner.
//! - The *position* of a word is its offset in bytes from the start of the ring's stream. Positions
//!   only grow.
//! - A *chunk* is a part of a ring: 64 KiB, which are 16,384 words.
//! - A *control word* is a word that ends no path. It may be followed by *operands*, for example
//!   the id of the ring's next owner.
//! - A *hole* is a word that a thread reserved in its ring but never wrote. Readers see a 0.
//! - An activation is *open* as long as its last path has not ended.
//! - *Inline counts* are counts that a thread keeps in its ring counters instead of appending
//!   words.
//!
//! This crate prints nothing. Errors and [notices](notice) are typed, and the command line prints
//! them.
#![forbid(unsafe_code)]

pub mod addresses;
pub mod burst;
pub mod child;
pub mod collector;
mod cpu_time;
pub mod error;
pub mod files;
pub mod finish;
pub mod image;
pub mod import;
pub mod interrupted;
mod kinds;
pub mod live_phases;
pub mod load;
mod lock;
pub mod memory;
pub mod merge;
pub mod notice;
pub mod observed;
pub mod path_map;
mod pool;
mod process;
mod process_streams;
pub mod profile_store;
mod program_copies;
pub mod recorded;
mod recording;
mod ring_stream;
pub mod run_directory;
pub mod samples;
pub mod settings;
mod side_files;
pub mod state_runs;
mod stream_stats;
pub mod thread_traces;
mod watch;

pub use pool::Collector;
