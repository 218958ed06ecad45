//! Everything between a running woven program and its files: rings, analysis of streams, sealing,
//! run directories, loading.
//!
//! - A run: [`run_directory`], [`collector`], [`child`], [`burst`], [`settings`], [`memory`],
//!   [`notice`]. `watch` finds the rings of running processes, `pool` empties them,
//!   `process_streams` and `ring_stream` feed the words to the analysis of their kind in `kinds/`.
//! - After a run: [`finish()`](finish::finish) seals profiles, [`load`] reads them.
//! - Files: [`files`], [`image`], [`path_map`], `side_files`.
//!
//! This crate prints nothing. Errors and [notices](notice) are typed; the command line words them.
#![forbid(unsafe_code)]

pub mod burst;
pub mod child;
pub mod collector;
pub mod error;
pub mod files;
pub mod finish;
pub mod image;
mod kinds;
pub mod load;
mod lock;
pub mod memory;
pub mod notice;
pub mod path_map;
mod pool;
mod process;
mod process_streams;
pub mod recorded;
mod recording;
mod ring_stream;
pub mod run_directory;
pub mod settings;
mod side_files;
mod stream_stats;
pub mod thread_traces;
mod watch;

pub use pool::Collector;
