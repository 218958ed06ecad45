//! The commands of the command line, one file for each.

pub(crate) mod advise;
pub(crate) mod annotate;
pub(crate) mod cargo;
pub(crate) mod cargo_optimize;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod manager;
pub(crate) mod manual;
pub(crate) mod monitor;
pub(crate) mod optimize;
pub(crate) mod overlap;
pub(crate) mod page;
pub(crate) mod phases;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runner;
pub(crate) mod show_env;
pub(crate) mod stability;
pub(crate) mod trace;
