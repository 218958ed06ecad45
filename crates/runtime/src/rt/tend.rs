//! The work that a visit of a timed path seldom has: a look at preemption, and a new clock.

use super::ring::Ring;
use super::timing::{LEAVING, TimingState};
use super::{arch, fork, space, stream, watch};
use holloway_abi::CLOCK_AGE;

/// Body of `__holloway_tend`, which the hot code calls where the word of `watch` is not quiet, or
/// the last clock is old. The result is the flags of the sample.
pub(super) extern "C" fn tend(time: u64) -> u32 {
    fork::notice_raw_fork();
    let block = arch::slot();
    if block.is_null() {
        return 0;
    }
    let ring = Ring::at_slot(block);
    let state = TimingState::in_ring(ring);
    let flags = watch::look(state, time);
    if time != LEAVING && arch::clock().wrapping_sub(state.clock.get()) >= CLOCK_AGE {
        stream::append_clock(ring);
        space::make_space(ring);
    }
    flags
}
