//! Changes of a function's shape that keep its meaning, so that every edge has a place for a probe.
//!
//! [`function`] splits critical edges and duplicates returns behind tail calls, [`pads`] gives each
//! invoke a landing pad of its own, and [`empty`] removes blocks that only jump.

mod empty;
mod function;
mod pads;

pub use function::Choice;
