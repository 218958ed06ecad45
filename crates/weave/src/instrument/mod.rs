//! Putting probes into LLVM functions. One file a kind of profile; what they share is here.
//!
//! [`paths`] plans (graph, numbering, probes); [`sites`] lists what happens where in each block; [`register`] finds where
//! the path register needs a phi; [`insert`] writes the instructions; [`globals`] are the symbols they use.

pub(crate) mod globals;
mod insert;
pub(crate) mod paths;
mod register;
mod sites;
