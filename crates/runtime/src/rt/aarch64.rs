//! AArch64: the two entry points, the thread's slot, the system call.
//!
//! Woven code calls with the C convention here, so both entry points are plain jumps to their bodies. Not run on such a
//! machine yet; kernels with pages larger than 4 KiB get memory of their own instead of a file (`mmap` refuses the
//! file offsets), and the line on stderr.

use core::arch::{asm, global_asm};

global_asm!(
    ".hidden __holloway_image",
    ".hidden __holloway_slot",
    ".hidden {enter}",
    ".hidden {count}",
    ".pushsection .text.__holloway_enter, \"ax\", %progbits",
    ".globl __holloway_enter",
    ".hidden __holloway_enter",
    ".type __holloway_enter, %function",
    ".p2align 2",
    "__holloway_enter:",
    ".cfi_startproc",
    "b {enter}",
    ".cfi_endproc",
    ".size __holloway_enter, . - __holloway_enter",
    ".globl __holloway_hash",
    ".hidden __holloway_hash",
    ".type __holloway_hash, %function",
    "__holloway_hash:",
    ".cfi_startproc",
    "b {count}",
    ".cfi_endproc",
    ".size __holloway_hash, . - __holloway_hash",
    ".popsection",
    ".pushsection .init_array.00000, \"aw\", %init_array",
    ".p2align 3",
    ".xword {constructor}",
    ".popsection",
    enter = sym super::enter,
    count = sym super::segment::count,
    constructor = sym super::constructor,
);

/// The thread's slot: its block of counters, or null.
pub(super) fn slot() -> *mut u8 {
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
pub(super) fn set_slot(block: *mut u8) {
    // SAFETY: the link defines the thread-local `__holloway_slot`; this writes its 8 bytes, which only the runtime does.
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

/// A system call: the result, or the negated error number.
///
/// # Safety
/// As the call demands.
pub(super) unsafe fn system_call(number: usize, a: [usize; 6]) -> isize {
    let result;
    let [a0, a1, a2, a3, a4, a5] = a;
    // SAFETY: the instruction changes x0 and what the call is asked to change, which is the caller's care.
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
pub(super) mod number {
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
pub(super) const O_DIRECTORY: usize = 0o40_000;
/// Do not follow a symbolic link.
pub(super) const O_NOFOLLOW: usize = 0o100_000;
