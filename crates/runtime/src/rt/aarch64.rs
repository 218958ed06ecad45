//! AArch64: the entry points, the thread's slot, the system call.
//!
//! Woven code calls with the C convention here, so entry points are plain jumps to their bodies; but
//! `__holloway_chunk`, which inline assembly calls, keeps every register except x30 (of vectors, 128 bits). Not run on such a
//! machine yet; kernels with pages larger than 4 KiB get memory of their own instead of a file (`mmap` refuses the
//! file offsets), and the line on stderr.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering};

global_asm!(
    ".hidden __holloway_image",
    ".hidden __holloway_slot",
    ".hidden {enter}",
    ".hidden {count}",
    ".hidden {chunk}",
    ".hidden {caught}",
    ".hidden {burst}",
    ".hidden {sample}",
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
    ".globl __holloway_caught",
    ".hidden __holloway_caught",
    ".type __holloway_caught, %function",
    "__holloway_caught:",
    ".cfi_startproc",
    "b {caught}",
    ".cfi_endproc",
    ".size __holloway_caught, . - __holloway_caught",
    ".globl __holloway_burst",
    ".hidden __holloway_burst",
    ".type __holloway_burst, %function",
    "__holloway_burst:",
    ".cfi_startproc",
    "b {burst}",
    ".cfi_endproc",
    ".size __holloway_burst, . - __holloway_burst",
    ".globl __holloway_sample",
    ".hidden __holloway_sample",
    ".type __holloway_sample, %function",
    "__holloway_sample:",
    ".cfi_startproc",
    "b {sample}",
    ".cfi_endproc",
    ".size __holloway_sample, . - __holloway_sample",
    ".globl __holloway_chunk",
    ".hidden __holloway_chunk",
    ".type __holloway_chunk, %function",
    "__holloway_chunk:",
    ".cfi_startproc",
    "sub sp, sp, #704",
    ".cfi_def_cfa_offset 704",
    "stp x29, x30, [sp]",
    ".cfi_offset x29, -704",
    ".cfi_offset x30, -696",
    "mov x29, sp",
    "stp x0, x1, [sp, #16]",
    "stp x2, x3, [sp, #32]",
    "stp x4, x5, [sp, #48]",
    "stp x6, x7, [sp, #64]",
    "stp x8, x9, [sp, #80]",
    "stp x10, x11, [sp, #96]",
    "stp x12, x13, [sp, #112]",
    "stp x14, x15, [sp, #128]",
    "stp x16, x17, [sp, #144]",
    "mrs x0, nzcv",
    "stp x18, x0, [sp, #160]",
    "stp q0, q1, [sp, #192]",
    "stp q2, q3, [sp, #224]",
    "stp q4, q5, [sp, #256]",
    "stp q6, q7, [sp, #288]",
    "stp q8, q9, [sp, #320]",
    "stp q10, q11, [sp, #352]",
    "stp q12, q13, [sp, #384]",
    "stp q14, q15, [sp, #416]",
    "stp q16, q17, [sp, #448]",
    "stp q18, q19, [sp, #480]",
    "stp q20, q21, [sp, #512]",
    "stp q22, q23, [sp, #544]",
    "stp q24, q25, [sp, #576]",
    "stp q26, q27, [sp, #608]",
    "stp q28, q29, [sp, #640]",
    "stp q30, q31, [sp, #672]",
    "bl {chunk}",
    "ldp q0, q1, [sp, #192]",
    "ldp q2, q3, [sp, #224]",
    "ldp q4, q5, [sp, #256]",
    "ldp q6, q7, [sp, #288]",
    "ldp q8, q9, [sp, #320]",
    "ldp q10, q11, [sp, #352]",
    "ldp q12, q13, [sp, #384]",
    "ldp q14, q15, [sp, #416]",
    "ldp q16, q17, [sp, #448]",
    "ldp q18, q19, [sp, #480]",
    "ldp q20, q21, [sp, #512]",
    "ldp q22, q23, [sp, #544]",
    "ldp q24, q25, [sp, #576]",
    "ldp q26, q27, [sp, #608]",
    "ldp q28, q29, [sp, #640]",
    "ldp q30, q31, [sp, #672]",
    "ldp x18, x0, [sp, #160]",
    "msr nzcv, x0",
    "ldp x0, x1, [sp, #16]",
    "ldp x2, x3, [sp, #32]",
    "ldp x4, x5, [sp, #48]",
    "ldp x6, x7, [sp, #64]",
    "ldp x8, x9, [sp, #80]",
    "ldp x10, x11, [sp, #96]",
    "ldp x12, x13, [sp, #112]",
    "ldp x14, x15, [sp, #128]",
    "ldp x16, x17, [sp, #144]",
    "ldp x29, x30, [sp]",
    "add sp, sp, #704",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size __holloway_chunk, . - __holloway_chunk",
    ".popsection",
    ".pushsection .init_array.00000, \"aw\", %init_array",
    ".p2align 3",
    ".xword {constructor}",
    ".popsection",
    enter = sym super::enter,
    count = sym super::segment::count,
    chunk = sym super::ring::chunk,
    caught = sym super::ring::caught,
    burst = sym super::burst::burst,
    sample = sym super::burst::sample,
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

/// The thread's countdown.
pub(super) fn countdown() -> u32 {
    let paths;
    // SAFETY: a thread-local of this file, 4 bytes.
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
pub(super) fn set_countdown(paths: u32) {
    // SAFETY: a thread-local of this file, 4 bytes, which woven code expects to change.
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

/// The clock where a path starts: all before it is done.
pub(super) fn path_start() -> u64 {
    clock()
}

/// The clock where a path ends.
pub(super) fn path_end() -> u64 {
    clock()
}

/// Takes so many turns, each at least as long as an addition.
pub(super) fn spend(turns: u32) {
    // SAFETY: changes one register.
    unsafe {
        asm!(
            "add {turns:w}, {turns:w}, #1",
            "2:",
            "subs {turns:w}, {turns:w}, #1",
            "b.ne 2b",
            turns = inout(reg) turns => _,
            options(nomem, nostack)
        );
    }
}

/// The clock when all before it is done.
pub(super) fn clock() -> u64 {
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

/// The processor that the thread runs on, as libc's area says it; 0 if there is none.
pub(super) fn processor() -> u32 {
    const PROCESSOR: usize = 4;
    let area = rseq_area();
    if area.is_null() {
        return 0;
    }
    // SAFETY: the thread's `struct rseq`.
    unsafe { area.wrapping_add(PROCESSOR).cast::<u32>().read_volatile() }
}

/// Adds to a number that no other thread adds to; the number before.
///
/// # Safety
/// A number of this thread's ring, mapped and aligned.
pub(super) unsafe fn add(number: *mut u64, value: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { AtomicU64::from_ptr(number) }.fetch_add(value, Ordering::Relaxed)
}

/// [`super::enter`]: here nothing has to be kept.
pub(super) fn enter_first() -> *mut u8 {
    super::enter()
}

/// `__holloway_chunk`'s body.
pub(super) fn make_space() {
    super::ring::chunk();
}

/// [`super::watch::tend`].
pub(super) fn tend(at: u64) -> u32 {
    super::watch::tend(at)
}

/// `__holloway_sample`.
pub(super) fn call_sample(word: u32, start: u64, inner: u64, end: u64) {
    super::burst::sample(word, start, inner, end);
}

/// `__holloway_burst`.
pub(super) fn call_burst() {
    super::burst::burst();
}

/// What comes before the address of an abort in code, for the kernel to know it by.
pub(super) const RSEQ_SIGNATURE: u32 = 0xD428_BC00;

/// What libc registered with the kernel as the thread's `struct rseq`; null if it didn't, or is no such libc.
pub(super) fn rseq_area() -> *mut u8 {
    let area;
    // SAFETY: where the two variables are, they have a size and an offset from the thread pointer.
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
pub(super) const O_DIRECTORY: usize = 0o40_000;
/// Do not follow a symbolic link.
pub(super) const O_NOFOLLOW: usize = 0o100_000;
