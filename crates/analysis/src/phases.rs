//! Finds the phases of a run: parts in which the program executes different code.
//!
//! [`hot_spots`] simulates the hot spot detector of Merten et al. (1999) on the branch stream of a
//! thread. [`timeline`] samples the stream as in the paper's figure 1.

pub mod answer;
mod buffer;
pub mod code_set;
pub mod hot_spots;
mod monitor;
pub mod parameters;
pub mod timeline;

pub use answer::{Answer, Question};
pub use code_set::CodeSet;
pub use hot_spots::{HotSpot, HotSpotDetector, HotSpots, ModeChange};
pub use monitor::HotSpotId;
pub use parameters::{Parameters, ParametersError};
pub use timeline::{Sampling, TimelineSample, TimelineSampler};
