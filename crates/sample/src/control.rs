//! Requests to the kernel about an open event that `perf-event2` has no function for.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use perf_event::Sampler;
use rustix::io::{Errno, Result};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// Bytes of a filter's text, with the zero at its end.
const FILTER_SIZE: usize = 64;

/// `PERF_EVENT_IOC_PERIOD`: its argument points to one `u64`.
const SET_PERIOD: Opcode = opcode::write::<u64>(b'$', 4);
/// `PERF_EVENT_IOC_SET_FILTER`: its argument points to a text that ends with a zero.
const SET_FILTER: Opcode = opcode::write::<*const u8>(b'$', 6);

/// Sets the period of an event, or its frequency if it was opened with a frequency.
pub(crate) fn set_period(event: &Sampler, period: u64) -> Result<()> {
    request::<SET_PERIOD, u64>(event, period)
}

/// Lets only tracepoints through that fit a filter of the kernel's.
pub(crate) fn set_filter(event: &Sampler, filter: &str) -> Result<()> {
    let mut text = [0; FILTER_SIZE];
    match text[..FILTER_SIZE - 1].get_mut(..filter.len()) {
        Some(start) => start.copy_from_slice(filter.as_bytes()),
        None => return Err(Errno::INVAL),
    }
    request::<SET_FILTER, [u8; FILTER_SIZE]>(event, text)
}

/// Sends a request whose argument points to `value`: [`SET_PERIOD`] with a `u64`, or [`SET_FILTER`]
/// with a text that contains a zero.
fn request<const OPCODE: Opcode, T>(event: &Sampler, value: T) -> Result<()> {
    // SAFETY: `event` owns the descriptor, and outlives the call. Both callers above pass the value
    // that the kernel reads for their request. The setter owns it during the call.
    #[expect(unsafe_code, reason = "no safe interface has this system call")]
    unsafe {
        let descriptor = BorrowedFd::borrow_raw(event.as_raw_fd());
        ioctl(descriptor, Setter::<OPCODE, T>::new(value))
    }
}
