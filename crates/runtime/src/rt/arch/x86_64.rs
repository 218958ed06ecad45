//! Code for x86-64: thread-local variables, clocks, system calls, and calls of the entry points.

use core::arch::{asm, global_asm};

// Each image has a countdown, 4 bytes for each thread. Only glibc defines the two variables
// `__rseq_offset` and `__rseq_size` for restartable sequences.
global_asm!(
    ".weak __rseq_offset",
    ".weak __rseq_size",
    ".pushsection .tbss.__holloway_countdown, \"awT\", @nobits",
    ".weak __holloway_countdown",
    ".hidden __holloway_countdown",
    ".type __holloway_countdown, @object",
    ".p2align 2",
    "__holloway_countdown:",
    ".skip 4",
    ".size __holloway_countdown, 4",
    ".popsection",
    options(att_syntax)
);

/// Reads a byte `STACK` bytes below the stack pointer. If the stack has no room for them, this is
/// where the program's handler of SIGSEGV runs.
pub(crate) fn probe_stack<const STACK: usize>() {
    // SAFETY: reads one byte below the stack pointer. Either it is part of the stack, or the access
    // faults as a push would. The stack pointer moves first, so that a handler's frame lies below.
    unsafe {
        asm!(
            "subq ${stack}, %rsp",
            "movb (%rsp), {byte}",
            "addq ${stack}, %rsp",
            stack = const STACK,
            byte = out(reg_byte) _,
            options(att_syntax)
        );
    }
}

/// The thread's slot: the address of its block of counters or ring, or null.
pub(crate) fn slot() -> *mut u8 {
    let block;
    // SAFETY: the link defines the thread-local `__holloway_slot`; this reads its 8 bytes.
    unsafe {
        asm!(
            "movq __holloway_slot@gottpoff(%rip), {block}",
            "movq %fs:({block}), {block}",
            block = out(reg) block,
            options(att_syntax, nostack, readonly, preserves_flags)
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
            "movq __holloway_slot@gottpoff(%rip), {offset}",
            "movq {block}, %fs:({offset})",
            block = in(reg) block,
            offset = out(reg) _,
            options(att_syntax, nostack, preserves_flags)
        );
    }
}

/// The thread's countdown.
#[inline(always)]
pub(crate) fn countdown() -> u32 {
    let paths;
    // SAFETY: a thread-local variable of this file, 4 bytes.
    unsafe {
        asm!(
            "movq __holloway_countdown@gottpoff(%rip), {offset}",
            "movl %fs:({offset}), {paths:e}",
            paths = out(reg) paths,
            offset = out(reg) _,
            options(att_syntax, nostack, readonly, preserves_flags)
        );
    }
    paths
}

/// Sets the thread's countdown.
#[inline(always)]
pub(crate) fn set_countdown(paths: u32) {
    // SAFETY: a thread-local variable of this file, 4 bytes. Woven code expects that it changes.
    unsafe {
        asm!(
            "movq __holloway_countdown@gottpoff(%rip), {offset}",
            "movl {paths:e}, %fs:({offset})",
            paths = in(reg) paths,
            offset = out(reg) _,
            options(att_syntax, nostack, preserves_flags)
        );
    }
}

/// Reads the clock at the start of a path, as woven code does: all earlier instructions are done,
/// and no later instruction has begun.
#[inline(always)]
pub(crate) fn path_start() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter that every processor of this kind has.
    unsafe {
        asm!(
            "lfence",
            "rdtsc",
            "lfence",
            out("rax") low,
            out("rdx") high,
            options(nostack, preserves_flags)
        );
    }
    high << 32 | low
}

/// Reads the clock at the end of a path, as woven code does: all instructions of the path are done.
/// Later instructions belong to the probe.
#[inline(always)]
pub(crate) fn path_end() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: as in `path_start`.
    unsafe {
        asm!(
            "lfence",
            "rdtsc",
            out("rax") low,
            out("rdx") high,
            options(nostack, preserves_flags)
        );
    }
    high << 32 | low
}

/// Reads the clock when all earlier instructions are done.
#[inline(always)]
pub(crate) fn clock() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: as in `path_start`.
    unsafe {
        asm!(
            "rdtscp",
            out("rax") low,
            out("rdx") high,
            out("rcx") _,
            options(nostack, preserves_flags)
        );
    }
    high << 32 | low
}

/// Spends time in a loop with this many rounds. A round takes at least as long as an addition.
pub(crate) fn spend(rounds: u32) {
    // SAFETY: changes two registers.
    unsafe {
        asm!(
            "incl {rounds:e}",
            "2:",
            "decl {rounds:e}",
            "jne 2b",
            rounds = inout(reg) rounds => _,
            options(att_syntax, nomem, nostack)
        );
    }
}

/// The processor that the thread runs on, as the kernel stores it for `rdtscp`.
pub(crate) fn processor() -> u32 {
    let processor;
    // SAFETY: as in `path_start`.
    unsafe {
        asm!(
            "rdtscp",
            out("rax") _,
            out("rdx") _,
            out("ecx") processor,
            options(nostack, preserves_flags)
        );
    }
    processor
}

/// Adds to a number with one instruction, which a signal of this thread cannot interrupt. Returns
/// the number before the addition.
///
/// # Safety
/// The number belongs to this thread's ring: no other thread adds to it.
#[inline(always)]
pub(crate) unsafe fn add(number: *mut u64, mut value: u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        asm!(
            "xaddq {value}, ({number})",
            value = inout(reg) value,
            number = in(reg) number,
            options(att_syntax, nostack)
        );
    }
    value
}

/// Calls `__holloway_enter` from code that must preserve vector registers.
#[inline(always)]
pub(crate) fn enter_first() -> *mut u8 {
    let block;
    // SAFETY: the entry point preserves every register except these.
    unsafe {
        asm!("call __holloway_enter", out("rax") block, out("r11") _);
    }
    block
}

/// Calls `__holloway_chunk` from code that must preserve vector registers.
#[inline(always)]
pub(crate) fn make_space() {
    // SAFETY: the entry point preserves every register.
    unsafe { asm!("call __holloway_chunk") };
}

/// Calls `__holloway_tend` from code that must preserve vector registers.
#[inline(always)]
pub(crate) fn tend(time: u64) -> u32 {
    let flags;
    // SAFETY: the entry point preserves every register except the result's.
    unsafe {
        asm!("call __holloway_tend", in("rdi") time, out("eax") flags);
    }
    flags
}

/// Calls `__holloway_sample` as woven code does.
pub(crate) fn call_sample(word: u32, start: u64, inner: u64, end: u64) {
    // SAFETY: the entry point preserves every register except these.
    unsafe {
        asm!(
            "call __holloway_sample",
            in("edi") word,
            in("rsi") start,
            in("rdx") inner,
            in("rcx") end,
            out("rax") _,
            out("r11") _
        );
    }
}

/// Calls `__holloway_burst` as woven code does.
pub(crate) fn call_burst() {
    // SAFETY: the entry point preserves every register except these.
    unsafe { asm!("call __holloway_burst", out("rax") _, out("r11") _) };
}

/// The signature that the kernel requires just before the abort address of a `struct rseq_cs`.
pub(crate) const RSEQ_SIGNATURE: u32 = 0x5305_3053;

/// The thread's `struct rseq` that libc registered with the kernel; null if libc registers none.
pub(crate) fn rseq_area() -> *mut u8 {
    let area;
    // SAFETY: if the two variables exist, they are a size and an offset from the thread pointer.
    unsafe {
        asm!(
            "movq __rseq_size@gotpcrel(%rip), {area}",
            "testq {area}, {area}",
            "je 2f",
            "movl ({area}), {area:e}",
            "testl {area:e}, {area:e}",
            "je 2f",
            "movq __rseq_offset@gotpcrel(%rip), {area}",
            "testq {area}, {area}",
            "je 2f",
            "movq ({area}), {area}",
            "addq %fs:0, {area}",
            "2:",
            area = out(reg) area,
            options(att_syntax, nostack, readonly)
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
    // SAFETY: the instruction changes rax, rcx and r11 and the memory that the call changes, for
    // which the caller is responsible.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a0,
            in("rsi") a1,
            in("rdx") a2,
            in("r10") a3,
            in("r8") a4,
            in("r9") a5,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Numbers of the system calls.
pub(crate) mod number {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const FSTAT: usize = 5;
    pub(crate) const MMAP: usize = 9;
    pub(crate) const MUNMAP: usize = 11;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const PWRITE64: usize = 18;
    pub(crate) const MADVISE: usize = 28;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const FCNTL: usize = 72;
    pub(crate) const FTRUNCATE: usize = 77;
    pub(crate) const GETCWD: usize = 79;
    pub(crate) const GETRUSAGE: usize = 98;
    pub(crate) const GETUID: usize = 102;
    pub(crate) const GETGID: usize = 104;
    pub(crate) const GETEUID: usize = 107;
    pub(crate) const GETEGID: usize = 108;
    pub(crate) const GETPPID: usize = 110;
    pub(crate) const RT_SIGPENDING: usize = 127;
    pub(crate) const RT_SIGTIMEDWAIT: usize = 128;
    pub(crate) const GETTID: usize = 186;
    pub(crate) const FUTEX: usize = 202;
    pub(crate) const CLOCK_GETTIME: usize = 228;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const TGKILL: usize = 234;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const MKDIRAT: usize = 258;
    pub(crate) const UNLINKAT: usize = 263;
    pub(crate) const RENAMEAT: usize = 264;
    pub(crate) const LINKAT: usize = 265;
    pub(crate) const SYMLINKAT: usize = 266;
    pub(crate) const READLINKAT: usize = 267;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const FALLOCATE: usize = 285;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const RENAMEAT2: usize = 316;
    pub(crate) const MEMFD_CREATE: usize = 319;
    pub(crate) const SCHED_YIELD: usize = 24;
}

/// `open` flags whose values differ between processors.
pub(crate) const O_DIRECTORY: usize = 0o200_000;

/// Do not follow a symbolic link.
pub(crate) const O_NOFOLLOW: usize = 0o400_000;
