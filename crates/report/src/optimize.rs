//! Writes what an optimization gained, as text and as JSON.

mod json;
mod optimization;
#[cfg(test)]
mod tests;
mod text;

pub use json::json;
pub use optimization::{
    BlamedFunction, Measurement, Optimization, OrderStep, PathsStep, PlanSource, PrefetchStep, Step,
};
pub use text::write;
