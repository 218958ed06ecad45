//! Finds phases while the program runs (`--phases`): simulates the hot spot detector on the words
//! of each ring, and reports the transitions as they happen.
//!
//! Cost: the detector runs on the worker that reads the ring, after the trace is recorded. So the
//! program waits longer where the collector is the bottleneck.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holloway_analysis::block_addresses::AddressLookup;
use holloway_analysis::phases::{LiveDetector, LiveTransition, Parameters};
use holloway_analysis::stream::Words;
use holloway_format::{ImageMap, ProfileHead};

/// A transition of a running program.
#[derive(Debug)]
pub struct PhaseNotice<'a> {
    /// The process and the image.
    pub head: &'a ProfileHead,
    /// The image's path map.
    pub map: &'a ImageMap,
    /// The time since the process began.
    pub elapsed: Duration,
    /// The transition.
    pub transition: &'a LiveTransition,
}

/// Receives the transitions. Any thread of the collector may call it.
pub type PhaseNotify = fn(&PhaseNotice<'_>);

/// The detector of one ring.
pub(crate) struct RingPhases {
    detector: LiveDetector,
    map: Arc<ImageMap>,
    notify: PhaseNotify,
}

impl RingPhases {
    /// The detector of a ring whose first owner is `thread`.
    pub(crate) fn new(
        words: Words,
        addresses: &AddressLookup,
        thread: u32,
        notify: PhaseNotify,
    ) -> Self {
        let map = Arc::clone(words.image());
        let detector = LiveDetector::new(words, addresses, Parameters::default(), thread);
        Self {
            detector: detector.expect("the paper's parameters make a detector"),
            map,
            notify,
        }
    }

    /// Feeds the words from `position` on, and reports the transitions.
    pub(crate) fn feed(&mut self, head: &ProfileHead, position: u64, words: &[u32]) {
        self.detector.feed(position, words);
        for transition in self.detector.take() {
            (self.notify)(&PhaseNotice {
                head,
                map: &self.map,
                elapsed: since(head.start_ns),
                transition: &transition,
            });
        }
    }
}

/// The time since a time in nanoseconds since 1970.
fn since(start_ns: u64) -> Duration {
    let start = UNIX_EPOCH + Duration::from_nanos(start_ns);
    SystemTime::now().duration_since(start).unwrap_or_default()
}
