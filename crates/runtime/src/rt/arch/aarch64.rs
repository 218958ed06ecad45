//! Code for AArch64: thread-local variables, clocks, system calls, and calls of the entry points.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering};

// Each image has a countdown, 4 bytes for each thread. Only glibc defines the two variables
// `__rseq_offset` and `__rseq_size` for restartable sequences.
global_asm!(
    ".weak __rseq_offset",
    ".weak __rseq_size",
    ".pushsection .tbss.__holloway_countdown, \"awT\", %nobits",
    ".weak __holloway_countdown",
    ".hidden __holloway_countdown",
    ".type __holloway_countdown, %object",
    ".p2align 2",
    "__holloway_countdown:",
    ".skip 4",
    ".size __holloway_countdown, 4",
    ".popsection",
);

/// Reads a byte `STACK` bytes below the stack pointer. If the stack has no room for them, this is
/// where the program's handler of SIGSEGV runs.
pub(crate) fn probe_stack<const STACK: usize>() {
    // SAFETY: reads one byte below the stack pointer. Either it is part of the stack, or the access
    // faults as a push would. The stack pointer moves first, so that a handler's frame lies below.
    unsafe {
        asm!(
            "sub sp, sp, #{stack}",
            "ldrb {byte:w}, [sp]",
            "add sp, sp, #{stack}",
            stack = const STACK,
            byte = out(reg) _,
        );
    }
}

/// The thread's slot: the address of its block of counters or ring, or null.
pub(crate) fn slot() -> *mut u8 {
    let block;
    // SAFETY: the link defines the thread-local `__holloway_slot`; this reads its 8 bytes.
    unsafe {
        asm!(
            "mrs {block}, tpidr_el0",
            "adrp {offset}, :gottprel:__holloway_slot",
            "ldr {offset}, [{offset}, :gottprel_lo12:__holloway_slot]",
            "ldr {block}, [{block}, {offset}]",
            block = out(reg) block,
            offset = out(reg) _,
            options(nostack, readonly, preserves_flags)
        );
    }
    block
}

/// Sets the thread's slot.
pub(crate) fn set_slot(block: *mut u8) {
    // SAFETY: the link defines the thread-local `__holloway_slot`; this writes its 8 bytes, which
    // only the runtime does.
    unsafe {
        asm!(
            "mrs {thread}, tpidr_el0",
            "adrp {offset}, :gottprel:__holloway_slot",
            "ldr {offset}, [{offset}, :gottprel_lo12:__holloway_slot]",
            "str {block}, [{thread}, {offset}]",
            block = in(reg) block,
            thread = out(reg) _,
            offset = out(reg) _,
            options(nostack, preserves_flags)
        );
    }
}

/// The thread's countdown.
pub(crate) fn countdown() -> u32 {
    let paths;
    // SAFETY: a thread-local variable of this file, 4 bytes.
    unsafe {
        asm!(
            "mrs {thread}, tpidr_el0",
            "adrp {offset}, :gottprel:__holloway_countdown",
            "ldr {offset}, [{offset}, :gottprel_lo12:__holloway_countdown]",
            "ldr {paths:w}, [{thread}, {offset}]",
            paths = out(reg) paths,
            thread = out(reg) _,
            offset = out(reg) _,
            options(nostack, readonly, preserves_flags)
        );
    }
    paths
}

/// Sets the thread's countdown.
pub(crate) fn set_countdown(paths: u32) {
    // SAFETY: a thread-local variable of this file, 4 bytes. Woven code expects that it changes.
    unsafe {
        asm!(
            "mrs {thread}, tpidr_el0",
            "adrp {offset}, :gottprel:__holloway_countdown",
            "ldr {offset}, [{offset}, :gottprel_lo12:__holloway_countdown]",
            "str {paths:w}, [{thread}, {offset}]",
            paths = in(reg) paths,
            thread = out(reg) _,
            offset = out(reg) _,
            options(nostack, preserves_flags)
        );
    }
}

/// Reads the clock at the start of a path, as woven code does: all earlier instructions are done,
/// and no later instruction has begun.
#[inline(always)]
pub(crate) fn path_start() -> u64 {
    let now;
    // SAFETY: reads a counter that the kernel lets programs read.
    unsafe {
        asm!(
            "isb",
            "mrs {now}, cntvct_el0",
            "isb",
            now = out(reg) now,
            options(nostack, preserves_flags)
        );
    }
    now
}

/// Reads the clock at the end of a path, as woven code does: all instructions of the path are done.
/// Later instructions belong to the probe.
#[inline(always)]
pub(crate) fn path_end() -> u64 {
    clock()
}

/// Spends time in a loop with this many rounds. A round takes at least as long as an addition.
pub(crate) fn spend(rounds: u32) {
    // SAFETY: changes one register.
    unsafe {
        asm!(
            "add {rounds:w}, {rounds:w}, #1",
            "2:",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
}

/// Reads the clock when all earlier instructions are done.
#[inline(always)]
pub(crate) fn clock() -> u64 {
    let now;
    // SAFETY: as in `path_start`.
    unsafe {
        asm!(
            "isb",
            "mrs {now}, cntvct_el0",
            now = out(reg) now,
            options(nostack, preserves_flags)
        );
    }
    now
}

/// The processor that the thread runs on, as libc's `struct rseq` shows it; 0 if there is none.
pub(crate) fn processor() -> u32 {
    const PROCESSOR: usize = 4;
    let area = rseq_area();
    if area.is_null() {
        return 0;
    }
    // SAFETY: the thread's `struct rseq`.
    unsafe { area.wrapping_add(PROCESSOR).cast::<u32>().read_volatile() }
}

/// Adds to a number that no other thread adds to. Returns the number before the addition.
///
/// # Safety
/// The number belongs to this thread's ring, and is mapped and aligned.
pub(crate) unsafe fn add(number: *mut u64, value: u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { AtomicU64::from_ptr(number) }.fetch_add(value, Ordering::Relaxed)
}

unsafe extern "C" {
    // The entry points preserve all registers that the C convention requires, so Rust may call
    // them.
    fn __holloway_enter() -> *mut u8;
    fn __holloway_chunk();
    fn __holloway_tend(time: u64) -> u32;
}

/// Calls `__holloway_enter`.
pub(crate) fn enter_first() -> *mut u8 {
    // SAFETY: the entry point may be called anywhere.
    unsafe { __holloway_enter() }
}

/// Calls `__holloway_chunk`.
pub(crate) fn make_space() {
    // SAFETY: the entry point may be called anywhere.
    unsafe { __holloway_chunk() };
}

/// Calls `tend::tend`, which the linker knows as `__holloway_tend`.
pub(crate) fn tend(time: u64) -> u32 {
    // SAFETY: the body of `tend` follows the C convention, and may be called anywhere.
    unsafe { __holloway_tend(time) }
}

/// Calls `__holloway_sample` as woven code does.
pub(crate) fn call_sample(word: u32, start: u64, inner: u64, end: u64) {
    // SAFETY: the entry point preserves every register except these.
    unsafe {
        asm!(
            "bl __holloway_sample",
            inout("x0") u64::from(word) => _,
            in("x1") start,
            in("x2") inner,
            in("x3") end,
            out("x16") _,
            out("x17") _,
            out("x30") _
        );
    }
}

/// Calls `__holloway_burst` as woven code does.
pub(crate) fn call_burst() {
    // SAFETY: the entry point preserves every register except these.
    unsafe {
        asm!("bl __holloway_burst", out("x0") _, out("x16") _, out("x17") _, out("x30") _);
    }
}

/// The signature that the kernel requires just before the abort address of a `struct rseq_cs`.
pub(crate) const RSEQ_SIGNATURE: u32 = 0xD428_BC00;

/// The thread's `struct rseq` that libc registered with the kernel; null if libc registers none.
pub(crate) fn rseq_area() -> *mut u8 {
    let area;
    // SAFETY: if the two variables exist, they are a size and an offset from the thread pointer.
    unsafe {
        asm!(
            "adrp {area}, :got:__rseq_size",
            "ldr {area}, [{area}, :got_lo12:__rseq_size]",
            "cbz {area}, 2f",
            "ldr {area:w}, [{area}]",
            "cbz {area}, 2f",
            "adrp {area}, :got:__rseq_offset",
            "ldr {area}, [{area}, :got_lo12:__rseq_offset]",
            "cbz {area}, 2f",
            "ldr {area}, [{area}]",
            "mrs {thread}, tpidr_el0",
            "add {area}, {area}, {thread}",
            "2:",
            area = out(reg) area,
            thread = out(reg) _,
            options(nostack, readonly)
        );
    }
    area
}

/// Makes a system call. Returns its result, or the negated error number.
///
/// # Safety
/// The arguments are valid for the call.
pub(crate) unsafe fn system_call(number: usize, arguments: [usize; 6]) -> isize {
    let result;
    let [a0, a1, a2, a3, a4, a5] = arguments;
    // SAFETY: the instruction changes x0 and the memory that the call changes, for which the caller
    // is responsible.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a0 => result,
            in("x1") a1,
            in("x2") a2,
            in("x3") a3,
            in("x4") a4,
            in("x5") a5,
            options(nostack)
        );
    }
    result
}

/// Numbers of the system calls.
pub(crate) mod number {
    pub(crate) const GETCWD: usize = 17;
    pub(crate) const FCNTL: usize = 25;
    pub(crate) const MKDIRAT: usize = 34;
    pub(crate) const UNLINKAT: usize = 35;
    pub(crate) const SYMLINKAT: usize = 36;
    pub(crate) const LINKAT: usize = 37;
    pub(crate) const RENAMEAT: usize = 38;
    pub(crate) const FTRUNCATE: usize = 46;
    pub(crate) const FALLOCATE: usize = 47;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const READ: usize = 63;
    pub(crate) const WRITE: usize = 64;
    pub(crate) const PWRITE64: usize = 68;
    pub(crate) const PPOLL: usize = 73;
    pub(crate) const READLINKAT: usize = 78;
    pub(crate) const FSTAT: usize = 80;
    pub(crate) const EXIT_GROUP: usize = 94;
    pub(crate) const FUTEX: usize = 98;
    pub(crate) const CLOCK_GETTIME: usize = 113;
    pub(crate) const SCHED_YIELD: usize = 124;
    pub(crate) const TGKILL: usize = 131;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const RT_SIGPENDING: usize = 136;
    pub(crate) const RT_SIGTIMEDWAIT: usize = 137;
    pub(crate) const GETRUSAGE: usize = 165;
    pub(crate) const GETPID: usize = 172;
    pub(crate) const GETPPID: usize = 173;
    pub(crate) const GETUID: usize = 174;
    pub(crate) const GETEUID: usize = 175;
    pub(crate) const GETGID: usize = 176;
    pub(crate) const GETEGID: usize = 177;
    pub(crate) const GETTID: usize = 178;
    pub(crate) const MUNMAP: usize = 215;
    pub(crate) const MMAP: usize = 222;
    pub(crate) const MADVISE: usize = 233;
    pub(crate) const PRLIMIT64: usize = 261;
    pub(crate) const RENAMEAT2: usize = 276;
    pub(crate) const MEMFD_CREATE: usize = 279;
}

/// `open` flags whose values differ between processors.
pub(crate) const O_DIRECTORY: usize = 0o40_000;

/// Do not follow a symbolic link.
pub(crate) const O_NOFOLLOW: usize = 0o100_000;
