//! x86-64: the two entry points, the thread's slot, the system call.
//!
//! Woven code calls with LLVM's `preserve_all`: every register but r11 (and rax where it is the result) is the
//! caller's. The slow paths save what the C convention lets their bodies change: the general registers and xmm0-15. The
//! bodies are baseline SSE2 code, which leaves the upper halves of ymm and zmm registers alone, and call nothing outside
//! the runtime.
//!
//! The stack may have any alignment: woven functions keep 16 bytes, hand-written callers need not.

use core::arch::{asm, global_asm};

/// Both slow paths: keep every register, call the body, give everything back.
/// `rax` is saved in both; `__holloway_enter` overwrites the saved one with the result.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n",
            "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n",
            "pushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\n",
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
            "leaq -64(%rbp), %rsp\n",
            "popq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rax\n",
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
    "movabsq $0x9E3779B97F4A7C15, %rax",    // abi::hash_slot
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
