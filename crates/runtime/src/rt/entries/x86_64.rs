//! x86-64

use core::arch::global_asm;

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
    body = sym super::super::enter::enter,
    options(att_syntax)
);

// Words of a head: address of the segment's first record, plus the logarithm of its number of
// records in the low six bits (the address is a multiple of 64), so that one load gives both,
// whenever a signal comes. Records are 16 bytes. rax, rcx and rdx wait in the red zone; rsi is path
// = key - 1, so it can be made again.
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
    body = sym super::super::segment::count,
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
    chunk = sym super::super::space::chunk,
    caught = sym super::super::space::caught,
    options(att_syntax)
);

/// Entry points whose bodies touch no vector register (`burst.rs`): r11 and rax are theirs, the
/// other general registers are kept. They stand beside the bodies: a burst finds all of it out of
/// the caches, and the fewer lines and pages it is in, the better (of what the probes of a burst
/// take in Lua, 3,658 cycles at least in 16 runs, 2,886 are left; medians 4,295 and 3,742; measured
/// once).
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

// Timed paths, and the thunk by which their bodies reach what may use vector registers. The
// countdown is the image's own, 4 bytes for each thread.
global_asm!(
    ".hidden {burst}",
    ".hidden {sample}",
    ".hidden {tend}",
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
    burst = sym super::super::burst::burst,
    sample = sym super::super::burst::sample,
    tend = sym super::super::tend::tend,
    options(att_syntax)
);

global_asm!(
    ".pushsection .init_array.00000, \"aw\", @init_array",
    ".p2align 3",
    ".quad {constructor}",
    ".popsection",
    constructor = sym super::super::enter::constructor,
    options(att_syntax)
);
