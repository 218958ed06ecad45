//! A transition of a running program, as reports show it.
//! [`terminal::live_phases`](crate::terminal::live_phases) and
//! [`json::live_phases`](crate::json::live_phases) write it.

use std::time::Duration;

use holloway_analysis::phases::LiveTransition;
use holloway_format::ImageMap;

/// A transition of a running program.
#[derive(Clone, Copy)]
pub struct LivePhase<'a> {
    /// The image.
    pub image: &'a str,
    /// The image's path map.
    pub map: &'a ImageMap,
    /// The process id.
    pub process: u32,
    /// The time since the process began.
    pub elapsed: Duration,
    /// The transition.
    pub transition: &'a LiveTransition,
}
