//! x86-64: the entry points, the thread's slot, the system call.
//!
//! Woven code calls with LLVM's `preserve_all`: every register but r11 (and rax where it is the result) is the
//! caller's, and `__holloway_chunk` from inline assembly that changes nothing but the flags. The slow paths save what the C
//! convention lets their bodies change: the general registers and xmm0-15. The
//! bodies are baseline SSE2 code, which leaves the upper halves of ymm and zmm registers alone, and call nothing outside
//! the runtime.
//!
//! The stack may have any alignment: woven functions keep 16 bytes, hand-written callers need not.

use core::arch::{asm, global_asm};

/// All slow paths: keep every register, call the body, give everything back.
/// `rax` is saved in all; `__holloway_enter` overwrites the saved one with the result.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n",
            "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n",
            "pushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\npushq %r11\n",
            "subq $256, %rsp\nandq $-16, %rsp\n",
            "movaps %xmm0, 0(%rsp)\nmovaps %xmm1, 16(%rsp)\nmovaps %xmm2, 32(%rsp)\nmovaps %xmm3, 48(%rsp)\n",
            "movaps %xmm4, 64(%rsp)\nmovaps %xmm5, 80(%rsp)\nmovaps %xmm6, 96(%rsp)\nmovaps %xmm7, 112(%rsp)\n",
            "movaps %xmm8, 128(%rsp)\nmovaps %xmm9, 144(%rsp)\nmovaps %xmm10, 160(%rsp)\nmovaps %xmm11, 176(%rsp)\n",
            "movaps %xmm12, 192(%rsp)\nmovaps %xmm13, 208(%rsp)\nmovaps %xmm14, 224(%rsp)\nmovaps %xmm15, 240(%rsp)\n",
            $call,
            "movaps 0(%rsp), %xmm0\nmovaps 16(%rsp), %xmm1\nmovaps 32(%rsp), %xmm2\nmovaps 48(%rsp), %xmm3\n",
            "movaps 64(%rsp), %xmm4\nmovaps 80(%rsp), %xmm5\nmovaps 96(%rsp), %xmm6\nmovaps 112(%rsp), %xmm7\n",
            "movaps 128(%rsp), %xmm8\nmovaps 144(%rsp), %xmm9\nmovaps 160(%rsp), %xmm10\nmovaps 176(%rsp), %xmm11\n",
            "movaps 192(%rsp), %xmm12\nmovaps 208(%rsp), %xmm13\nmovaps 224(%rsp), %xmm14\nmovaps 240(%rsp), %xmm15\n",
            "leaq -72(%rbp), %rsp\n",
            "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rax\n",
            "popq %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n",
            "ret\n"
        )
    };
}

global_asm!(
    ".hidden __holloway_image",
    ".hidden __holloway_slot",
    ".hidden {body}",
    ".pushsection .text.__holloway_enter, \"ax\", @progbits",
    ".globl __holloway_enter",
    ".hidden __holloway_enter",
    ".type __holloway_enter, @function",
    ".p2align 4",
    "__holloway_enter:",
    ".cfi_startproc",
    keeping_registers!("callq {body}\nmovq %rax, -8(%rbp)\n"),
    ".cfi_endproc",
    ".size __holloway_enter, . - __holloway_enter",
    ".popsection",
    body = sym super::enter,
    options(att_syntax)
);

// Words of a head: address of the segment's first record, plus the logarithm of its number of records in the low six
// bits (the address is a multiple of 64), so that one load gives both, whenever a signal comes. Records are 16 bytes.
// rax, rcx and rdx wait in the red zone; rsi is path = key - 1, so it can be made again.
global_asm!(
    ".hidden {body}",
    ".pushsection .text.__holloway_hash, \"ax\", @progbits",
    ".globl __holloway_hash",
    ".hidden __holloway_hash",
    ".type __holloway_hash, @function",
    ".p2align 4",
    "__holloway_hash:",
    ".cfi_startproc",
    "movq %rax, -8(%rsp)",
    "movq %rcx, -16(%rsp)",
    "movq %rdx, -24(%rsp)",
    "movq (%rdi), %rcx",
    "leaq 1(%rsi), %rdx",                   // key
    "movabsq $0x9E3779B97F4A7C15, %rax",    // holloway_abi::hash_slot
    "imulq %rdx, %rax",
    "movq %rcx, %r11",
    "andq $-64, %r11",                      // first record
    "je 4f",
    "negl %ecx",                            // shift by cl is by 64 - logarithm
    "shrq %cl, %rax",
    "shlq $4, %rax",
    "cmpq %rdx, (%r11,%rax)",
    "jne 2f",
    "1:",
    "incq 8(%r11,%rax)",
    "movq -8(%rsp), %rax",
    "movq -16(%rsp), %rcx",
    "movq -24(%rsp), %rdx",
    "ret",
    "2:",                                   // search on, from record to record, around the end
    "negl %ecx",
    "movl $16, %esi",
    "shlq %cl, %rsi",
    "decq %rsi",                            // bytes of the segment - 1
    "3:",
    "cmpq $0, (%r11,%rax)",
    "je 4f",
    "addq $16, %rax",
    "andq %rsi, %rax",
    "cmpq %rdx, (%r11,%rax)",
    "jne 3b",
    "leaq -1(%rdx), %rsi",
    "jmp 1b",
    "4:",                                   // not there
    "leaq -1(%rdx), %rsi",
    "movq -8(%rsp), %rax",
    "movq -16(%rsp), %rcx",
    "movq -24(%rsp), %rdx",
    keeping_registers!("callq {body}\n"),
    ".cfi_endproc",
    ".size __holloway_hash, . - __holloway_hash",
    ".popsection",
    body = sym super::segment::count,
    options(att_syntax)
);

// Streams: `__holloway_chunk` and `__holloway_caught` are slow paths throughout.
global_asm!(
    ".hidden {chunk}",
    ".hidden {caught}",
    ".pushsection .text.__holloway_chunk, \"ax\", @progbits",
    ".globl __holloway_chunk",
    ".hidden __holloway_chunk",
    ".type __holloway_chunk, @function",
    ".p2align 4",
    "__holloway_chunk:",
    ".cfi_startproc",
    keeping_registers!("callq {chunk}\n"),
    ".cfi_endproc",
    ".size __holloway_chunk, . - __holloway_chunk",
    ".popsection",
    ".pushsection .text.__holloway_caught, \"ax\", @progbits",
    ".globl __holloway_caught",
    ".hidden __holloway_caught",
    ".type __holloway_caught, @function",
    ".p2align 4",
    "__holloway_caught:",
    ".cfi_startproc",
    keeping_registers!("callq {caught}\n"),
    ".cfi_endproc",
    ".size __holloway_caught, . - __holloway_caught",
    ".popsection",
    chunk = sym super::ring::chunk,
    caught = sym super::ring::caught,
    options(att_syntax)
);

/// Entry points whose bodies touch no vector register (`burst.rs`): r11 and rax are theirs, the other general registers are kept. They stand beside the bodies: a burst finds all of it out of the
/// caches, and the fewer lines and pages it is in, the better (of what the probes of a burst take in Lua, 3,658 cycles at least in 16 runs, 2,886 are left; medians 4,295 and 3,742; measured once).
macro_rules! keeping_general {
    ($call:literal) => {
        concat!(
            "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n",
            "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n",
            "pushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\n",
            "andq $-16, %rsp\n",
            $call,
            "leaq -56(%rbp), %rsp\n",
            "popq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\n",
            "popq %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n",
            "ret\n"
        )
    };
}

// Timed paths, and the thunk by which their bodies reach what may use vector registers. The countdown is the image's own,
// 4 bytes for each thread.
global_asm!(
    ".hidden {burst}",
    ".hidden {sample}",
    ".hidden {tend}",
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
    ".pushsection .text.holloway_hot, \"ax\", @progbits",
    ".globl __holloway_burst",
    ".hidden __holloway_burst",
    ".type __holloway_burst, @function",
    ".p2align 4",
    "__holloway_burst:",
    ".cfi_startproc",
    keeping_general!("callq {burst}\n"),
    ".cfi_endproc",
    ".size __holloway_burst, . - __holloway_burst",
    ".popsection",
    ".pushsection .text.holloway_hot, \"ax\", @progbits",
    ".globl __holloway_sample",
    ".hidden __holloway_sample",
    ".type __holloway_sample, @function",
    ".p2align 4",
    "__holloway_sample:",
    ".cfi_startproc",
    keeping_general!("callq {sample}\n"),
    ".cfi_endproc",
    ".size __holloway_sample, . - __holloway_sample",
    ".popsection",
    ".pushsection .text.__holloway_tend, \"ax\", @progbits",
    ".globl __holloway_tend",
    ".hidden __holloway_tend",
    ".type __holloway_tend, @function",
    ".p2align 4",
    "__holloway_tend:",
    ".cfi_startproc",
    keeping_registers!("callq {tend}\nmovq %rax, -8(%rbp)\n"),
    ".cfi_endproc",
    ".size __holloway_tend, . - __holloway_tend",
    ".popsection",
    burst = sym super::burst::burst,
    sample = sym super::burst::sample,
    tend = sym super::watch::tend,
    options(att_syntax)
);

global_asm!(
    ".pushsection .init_array.00000, \"aw\", @init_array",
    ".p2align 3",
    ".quad {constructor}",
    ".popsection",
    constructor = sym super::constructor,
    options(att_syntax)
);

/// The thread's slot: its block of counters, or null.
pub(super) fn slot() -> *mut u8 {
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
pub(super) fn set_slot(block: *mut u8) {
    // SAFETY: the link defines the thread-local `__holloway_slot`; this writes its 8 bytes, which only the runtime does.
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
pub(super) fn countdown() -> u32 {
    let paths;
    // SAFETY: a thread-local of this file, 4 bytes.
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
pub(super) fn set_countdown(paths: u32) {
    // SAFETY: a thread-local of this file, 4 bytes, which woven code expects to change.
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

/// The clock where a path starts, as woven code reads it: nothing of what came before is left, nothing of what follows has begun.
#[inline(always)]
pub(super) fn path_start() -> u64 {
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

/// The clock where a path ends, as woven code reads it: nothing of the path is left. What follows is the probe's.
#[inline(always)]
pub(super) fn path_end() -> u64 {
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

/// The clock when all before it is done.
#[inline(always)]
pub(super) fn clock() -> u64 {
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

/// Takes so many turns, each at least as long as an addition.
pub(super) fn spend(turns: u32) {
    // SAFETY: changes two registers.
    unsafe {
        asm!(
            "incl {turns:e}",
            "2:",
            "decl {turns:e}",
            "jne 2b",
            turns = inout(reg) turns => _,
            options(att_syntax, nomem, nostack)
        );
    }
}

/// The processor that the thread runs on, as the kernel names it to programs.
pub(super) fn processor() -> u32 {
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

/// Adds to a number with one instruction, which no signal of this thread divides; the number before.
///
/// # Safety
/// A number of this thread's ring: nobody else adds to it.
#[inline(always)]
pub(super) unsafe fn add(number: *mut u64, mut value: u64) -> u64 {
    // SAFETY: the caller's.
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

/// `__holloway_enter`, from code that keeps vector registers.
#[inline(always)]
pub(super) fn enter_first() -> *mut u8 {
    let block;
    // SAFETY: the entry point keeps every register but these.
    unsafe {
        asm!("call __holloway_enter", out("rax") block, out("r11") _);
    }
    block
}

/// `__holloway_chunk`, from code that keeps vector registers.
#[inline(always)]
pub(super) fn make_space() {
    // SAFETY: the entry point keeps every register.
    unsafe { asm!("call __holloway_chunk") };
}

/// [`super::watch::tend`], from code that keeps vector registers.
#[inline(always)]
pub(super) fn tend(at: u64) -> u32 {
    let flags;
    // SAFETY: the thunk keeps every register but the result's.
    unsafe {
        asm!("call __holloway_tend", in("rdi") at, out("eax") flags);
    }
    flags
}

/// `__holloway_sample`, as woven code calls it.
pub(super) fn call_sample(word: u32, start: u64, inner: u64, end: u64) {
    // SAFETY: the entry point keeps every register but these.
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

/// `__holloway_burst`, as woven code calls it.
pub(super) fn call_burst() {
    // SAFETY: the entry point keeps every register but these.
    unsafe { asm!("call __holloway_burst", out("rax") _, out("r11") _) };
}

/// What comes before the address of an abort in code, for the kernel to know it by.
pub(super) const RSEQ_SIGNATURE: u32 = 0x5305_3053;

/// What libc registered with the kernel as the thread's `struct rseq`; null if it didn't, or is no such libc.
pub(super) fn rseq_area() -> *mut u8 {
    let area;
    // SAFETY: where the two variables are, they have a size and an offset from the thread pointer.
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

/// A system call: the result, or the negated error number.
///
/// # Safety
/// As the call demands.
pub(super) unsafe fn system_call(number: usize, a: [usize; 6]) -> isize {
    let result;
    let [a0, a1, a2, a3, a4, a5] = a;
    // SAFETY: the instruction changes rax, rcx and r11 and what the call is asked to change, which is the caller's care.
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
pub(super) mod number {
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
pub(super) const O_DIRECTORY: usize = 0o200_000;
/// Do not follow a symbolic link.
pub(super) const O_NOFOLLOW: usize = 0o400_000;
