//! Times some paths, in bursts. [`insert`] describes the method and runs its stages.

mod computed_gotos;
mod copy;
mod countdown_loops;
mod crossings;
pub(super) mod duplication;
pub(super) mod insert;
pub(super) mod leaves;
mod pieces;
mod sink;
mod spill;
mod ssa_repair;
mod timed_code;
