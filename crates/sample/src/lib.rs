//! Samples the code that programs execute, and finds its functions and blocks.
//!
//! - [`cpu_clock`] samples the user time of one program for the share of woven code.
//! - [`address_spaces`] attributes sampled addresses to files; (`buffers`) reads the kernel's
//!   records.
//! - [`code_map`] finds the function and block of an address in a program whose blocks have
//!   pseudo-probes. [`source_map`] finds the function and line in any program.
//! - [`monitor`] samples processes or the whole system for as long as the user wants; (`files`) has
//!   the sampled files, (`processes`) the processes that ran before, (`period`) draws the time to
//!   the next sample, (`tick`) is the clock that costs least, and (`control`) changes open events.
//! - [`program_copy`] has the parts of a program that lead from addresses to blocks.
//! - [`perf_data`] reads samples and branch stacks from files of `perf record`, and
//!   [`pre_aggregated`] reads branches from BOLT's text. [`instruction`] tells calls, returns, and
//!   jumps apart.
//! - [`sampled_file`] reads facts about the files that a program mapped.
//!
//! This crate prints nothing. Of files, it writes only the copies that it is asked for.
#![deny(unsafe_code)]

pub mod address_spaces;
mod buffers;
pub mod code_map;
mod control;
pub mod cpu_clock;
pub mod elf;
mod files;
pub mod instruction;
pub mod monitor;
pub mod numbered_code;
pub mod perf_data;
mod period;
pub mod pre_aggregated;
mod processes;
pub mod program_copy;
pub mod sampled_file;
pub mod source_map;
mod tick;
