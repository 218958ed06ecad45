//! Tests that call the commands as users do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod advise;
mod cargo;
mod check;
mod cli_support;
mod code;
mod commands;
mod counts;
mod coverage;
mod diff;
mod heads;
mod iterations;
mod losses;
mod manager;
mod names;
mod pager;
mod phases;
mod predict;
mod questions;
mod report;
mod run;
mod streams;
mod tui;
mod variation;
