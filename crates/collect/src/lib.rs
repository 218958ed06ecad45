//! Everything between a running woven program and its files: rings, analysis of streams, sealing, run
//! directories, loading.
#![forbid(unsafe_code)]

pub mod burst;
pub mod child;
pub mod collector;
pub mod error;
pub mod files;
pub mod finish;
mod forests;
pub mod image;
pub mod load;
mod lock;
mod making;
pub mod memory;
pub mod notice;
pub mod path_map;
mod pool;
mod process;
pub mod recorded;
pub mod run_directory;
pub mod settings;
mod stream;
mod subject;
mod tally;
mod timings;
pub mod traces;
mod watch;

pub use pool::Collector;
