//! The kernel's tick as the clock of samples.
//!
//! The kernel interrupts each busy processor at a fixed rate (`CONFIG_HZ`, mostly 250 or 1,000), to
//! account for CPU time. A tracepoint in this interrupt takes the sample. So a sample needs no
//! interrupt of its own. In a virtual machine, an interrupt takes about 35 µs, and the sample
//! itself less than 1 µs. An idle processor has no tick, so nothing wakes it.
//!
//! The tracepoint is `timer:hrtimer_expire_entry`, filtered by the function of the tick. It lies in
//! the kernel, so the sample has the user's registers instead of an address. If the tick
//! interrupted a system call, they are those of the instruction `syscall`, which copies the address
//! behind it to `rcx`, and the flags to `r11`. Such samples are dropped: they are time in the
//! kernel.
//!
//! Limits:
//! - It needs root and Linux 6.3, for a filter by the name of a function.
//! - The tick has no random period. A program that works in step with the tick is seen at the same
//!   moments again and again (Zhang et al. 1997, section 3).
//! - The time of a page fault or another exception counts for the instruction that caused it.

use std::io::Read as _;

use perf_event::Sampler;
use perf_event::data::{Registers, SampleRegsAbi};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::time::{ClockId, clock_getres};

use crate::control;

/// The number of the tracepoint, below the file system of tracepoints.
const TRACEPOINT: &str = "events/timer/hrtimer_expire_entry/id";
/// The usual place of this file system.
const MOUNTED: &str = "/sys/kernel/tracing";
/// The functions of the tick: since Linux 6.8, and before.
const FUNCTIONS: [&str; 2] = ["tick_nohz_handler", "tick_sched_timer"];

/// Bits of registers, as `asm/perf_regs.h` numbers them for x86-64.
const CX: u64 = 1 << 2;
const IP: u64 = 1 << 8;
const FLAGS: u64 = 1 << 9;
const R11: u64 = 1 << 19;
/// The registers of a sample.
pub(crate) const REGISTERS: u64 = CX | IP | FLAGS | R11;

/// The number of the tracepoint. `None` if this process may not see it.
pub(crate) fn tracepoint() -> Option<u64> {
    let read = |root: &dyn AsFd| {
        let id = openat(root.as_fd(), TRACEPOINT, OFlags::RDONLY, Mode::empty()).ok()?;
        let mut text = String::new();
        std::fs::File::from(id).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    };
    let mounted = open(MOUNTED, OFlags::PATH, Mode::empty());
    let mounted = mounted.ok().and_then(|root| read(&root));
    mounted.or_else(|| read(&unattached().ok()?))
}

/// Mounts the file system of tracepoints for this process alone, at no place.
fn unattached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Restricts an event to the tick.
pub(crate) fn set_filter(event: &Sampler) -> rustix::io::Result<()> {
    let mut result = Err(Errno::INVAL);
    for function in FUNCTIONS {
        result = control::set_filter(event, &format!("function.function=={function}"));
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Ticks per second. The kernel's coarse clocks advance once in a tick.
pub(crate) fn frequency() -> u64 {
    let length = clock_getres(ClockId::MonotonicCoarse).tv_nsec;
    1_000_000_000 / u64::try_from(length).unwrap_or(0).max(1)
}

/// The address in user mode that the tick interrupted. `None` if it interrupted the kernel.
pub(crate) fn user_address(registers: &Registers<'_>) -> Option<u64> {
    let [cx, ip, flags, r11] = registers.regs[..].try_into().ok()?;
    let is_user = registers.abi != SampleRegsAbi::NONE;
    let is_system_call = cx == ip && r11 == flags;
    (is_user && !is_system_call).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_calls_and_kernel_threads_have_no_address() {
        let address = |abi, registers: [u64; 4]| {
            user_address(&Registers {
                abi,
                mask: REGISTERS,
                regs: registers.to_vec().into(),
            })
        };
        let user = SampleRegsAbi::ABI_64;
        assert_eq!(address(user, [7, 0x1140, 0x246, 9]), Some(0x1140));
        assert_eq!(address(user, [0x1140, 0x1140, 0x246, 9]), Some(0x1140));
        assert_eq!(address(user, [0x1140, 0x1140, 0x246, 0x246]), None);
        assert_eq!(address(SampleRegsAbi::NONE, [0, 0, 0, 1]), None);
    }

    #[test]
    fn the_kernel_ticks_100_to_1000_times_per_second() {
        assert!((100..=1000).contains(&frequency()), "{}", frequency());
    }
}
