//! Reshapes the control-flow graph of functions without changing their meaning, so that a probe can
//! be inserted on every edge.
//!
//! [`function`] splits critical edges and duplicates returns after tail calls. [`pads`] gives each
//! invoke a separate landing pad. [`empty`] removes blocks that only jump. [`conditions`] makes
//! branches of conditions whose value is kept.

mod conditions;
mod empty;
mod function;
mod pads;

pub use function::Choice;
