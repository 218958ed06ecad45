//! Finds the phases of a run: parts in which the program executes different code.
//!
//! [`exact`] divides the whole trace into phases. That is the yardstick for detectors, which see
//! only the branches so far.
//!
//! [`hot_spots`] simulates the hot spot detector of Merten et al. (1999) on the branch stream of a
//! thread. [`timeline`] samples the stream as in the paper's figure 1. [`trigger`] is a simpler
//! detector. [`live`] runs the hot spot detector while the program runs.

pub mod answer;
mod buffer;
pub mod code_set;
pub mod counts;
pub mod exact;
pub mod hot_spots;
pub mod live;
mod monitor;
pub mod parameters;
mod signals;
pub mod timeline;
pub mod trigger;

pub use answer::{Answer, Detector, Question, QuestionError};
pub use code_set::CodeSet;
pub use exact::{ExactPhases, Phase, PhaseId, Segment};
pub use hot_spots::{HotSpot, HotSpotDetector, HotSpots, ModeChange};
pub use live::{HotFunction, LiveChange, LiveDetector, LiveTransition};
pub use monitor::HotSpotId;
pub use parameters::{Parameters, ParametersError};
pub use signals::SignalMatch;
pub use timeline::{Sampling, TimelineSample, TimelineSampler};
pub use trigger::{Trigger, TriggerParameters};
