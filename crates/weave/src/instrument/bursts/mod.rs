//! Times some paths, in bursts. [`insert`] describes the method and runs its stages.

mod computed_gotos;
mod copy;
mod countdown_loops;
mod crossings;
pub(super) mod insert;
pub(super) mod leaves;
mod sink;
mod spans;
mod spill;
mod timed_code;
