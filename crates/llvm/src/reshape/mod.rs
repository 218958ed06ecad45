//! Changes the shape of functions without changing their meaning, so that every edge has a place
//! for a probe.
//!
//! [`function`] splits critical edges and duplicates returns behind tail calls. [`pads`] gives each
//! invoke a separate landing pad. [`empty`] removes blocks that only jump.

mod empty;
mod function;
mod pads;

pub use function::Choice;
