//! The rare work of a visit of a timed path: checking for preemption, and appending a clock record.

use super::ring::Ring;
use super::timing::{IN_PROBE, TimingState};
use super::{arch, fork, space, stream, watch};
use holloway_abi::CLOCK_AGE;

/// Body of `__holloway_tend`, which the hot code calls if `watch` detects an interruption or the
/// last clock record is old. Returns flags of the sample.
pub(super) extern "C" fn tend(time: u64) -> u32 {
    fork::notice_raw_fork();
    let block = arch::slot();
    if block.is_null() {
        return 0;
    }
    let ring = Ring::at_slot(block);
    let state = TimingState::in_ring(ring);
    let flags = watch::check(state, time);
    if time != IN_PROBE && arch::clock().wrapping_sub(state.last_clock.get()) >= CLOCK_AGE {
        stream::append_clock(ring);
        space::make_space(ring);
    }
    flags
}
