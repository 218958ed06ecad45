//! The work that a visit of a timed path seldom has: a look at preemption, and a new clock.

use super::ring::Ring;
use super::timing::{LEAVING, TimingState};
use super::{arch, fork, space, stream, watch};
use holloway_abi::CLOCK_AGE;

/// Body of the thunk that the hot code calls where it isn't quiet, or the last clock is old; flags of what happened.
pub(super) extern "C" fn tend(at: u64) -> u32 {
    fork::notice_raw_fork();
    let block = arch::slot();
    if block.is_null() {
        return 0;
    }
    let ring = Ring::at_slot(block);
    let state = TimingState::in_ring(ring);
    let flags = watch::look(state, at);
    if at != LEAVING && arch::clock().wrapping_sub(state.clock.get()) >= CLOCK_AGE {
        stream::append_clock(ring);
        space::make_space(ring);
    }
    flags
}
