//! Writes what an optimization gained, as text and as JSON.

mod json;
mod optimization;
#[cfg(test)]
mod tests;
mod text;

pub use json::json;
pub use optimization::{Measurement, Optimization, OrderStep, PathsStep, PlanSource, PrefetchStep};
pub use text::write;
