//! Simulates branch predictors on the branches of a thread.
//!
//! [`models`] counts what predictors of today mispredict: for each branch, and for each path.
//! [`select`] finds the branches that a conditional move could replace.
//!
//! On request, [`schemes`] estimates a profile from what a predictor's tables contain now and then
//! (Conte, Patel, Cox 1994). [`selection`] measures how far such a profile misleads a compiler. The
//! exact profile is the yardstick.

pub mod answer;
mod conditions;
mod estimate;
pub mod models;
mod pass;
pub mod schemes;
pub mod select;
pub mod selection;
pub mod sweep;
mod tage;

pub use answer::{Answer, Estimates, HardBranch, HardPath, MAX_SWEEP, Question, SchemeResult};
pub use models::{Model, Models};
pub use schemes::{DirtyRegister, MarkedRegister, Scheme, SchemeSimulator};
pub use selection::{ArcWeightError, FlowGraph, THRESHOLDS, WeightClass};
