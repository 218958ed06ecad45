//! The entry points for x86-64.
//!
//! Woven code calls the entry points with LLVM's `preserve_all`: the call preserves every register
//! except `r11`, and except `rax` if there is a result. Woven code calls `__holloway_chunk` from
//! inline assembly, in which only the flags may change. So the entry points save the registers that
//! the C convention allows their bodies to change: the general registers and xmm0 to xmm15. The
//! bodies are baseline SSE2 code, which does not change the upper halves of ymm and zmm registers.
//! They call no function outside of the runtime.
//!
//! The stack may have any alignment: woven functions align it to 16 bytes, but inline assembly may
//! not.

use core::arch::global_asm;

/// Code of an entry point with a slow path: saves every register, calls the body, and restores
/// every register.
///
/// `rax` is saved, too, at `-8(%rbp)`. An entry point with a result overwrites the saved value.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n",
            "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n",
            "pushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\n",
            "pushq %r8\npushq %r9\npushq %r10\npushq %r11\n",
            "subq $256, %rsp\nandq $-16, %rsp\n",
            "movaps %xmm0, 0(%rsp)\nmovaps %xmm1, 16(%rsp)\n",
            "movaps %xmm2, 32(%rsp)\nmovaps %xmm3, 48(%rsp)\n",
            "movaps %xmm4, 64(%rsp)\nmovaps %xmm5, 80(%rsp)\n",
            "movaps %xmm6, 96(%rsp)\nmovaps %xmm7, 112(%rsp)\n",
            "movaps %xmm8, 128(%rsp)\nmovaps %xmm9, 144(%rsp)\n",
            "movaps %xmm10, 160(%rsp)\nmovaps %xmm11, 176(%rsp)\n",
            "movaps %xmm12, 192(%rsp)\nmovaps %xmm13, 208(%rsp)\n",
            "movaps %xmm14, 224(%rsp)\nmovaps %xmm15, 240(%rsp)\n",
            $call,
            "movaps 0(%rsp), %xmm0\nmovaps 16(%rsp), %xmm1\n",
            "movaps 32(%rsp), %xmm2\nmovaps 48(%rsp), %xmm3\n",
            "movaps 64(%rsp), %xmm4\nmovaps 80(%rsp), %xmm5\n",
            "movaps 96(%rsp), %xmm6\nmovaps 112(%rsp), %xmm7\n",
            "movaps 128(%rsp), %xmm8\nmovaps 144(%rsp), %xmm9\n",
            "movaps 160(%rsp), %xmm10\nmovaps 176(%rsp), %xmm11\n",
            "movaps 192(%rsp), %xmm12\nmovaps 208(%rsp), %xmm13\n",
            "movaps 224(%rsp), %xmm14\nmovaps 240(%rsp), %xmm15\n",
            "leaq -72(%rbp), %rsp\n",
            "popq %r11\npopq %r10\npopq %r9\npopq %r8\n",
            "popq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rax\n",
            "popq %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n",
            "ret\n"
        )
    };
}

/// Code of an entry point whose body uses no vector register (see `burst`): saves the general
/// registers except `r11` and `rax`, which the body may change.
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

/// Defines a hidden function in a section.
macro_rules! entry {
    ($section:literal, $name:literal, $code:expr) => {
        concat!(
            ".pushsection ",
            $section,
            ", \"ax\", @progbits\n.globl ",
            $name,
            "\n.hidden ",
            $name,
            "\n.type ",
            $name,
            ", @function\n.p2align 4\n",
            $name,
            ":\n.cfi_startproc\n",
            $code,
            ".cfi_endproc\n.size ",
            $name,
            ", . - ",
            $name,
            "\n.popsection\n"
        )
    };
}

// The slow paths.
global_asm!(
    ".hidden __holloway_image",
    ".hidden __holloway_slot",
    ".hidden {enter}",
    ".hidden {chunk}",
    ".hidden {caught}",
    ".hidden {tend}",
    entry!(
        ".text.__holloway_enter",
        "__holloway_enter",
        keeping_registers!("callq {enter}\nmovq %rax, -8(%rbp)\n")
    ),
    entry!(
        ".text.__holloway_chunk",
        "__holloway_chunk",
        keeping_registers!("callq {chunk}\n")
    ),
    entry!(
        ".text.__holloway_caught",
        "__holloway_caught",
        keeping_registers!("callq {caught}\n")
    ),
    entry!(
        ".text.__holloway_tend",
        "__holloway_tend",
        keeping_registers!("callq {tend}\nmovq %rax, -8(%rbp)\n")
    ),
    enter = sym super::super::enter::enter,
    chunk = sym super::super::space::chunk,
    caught = sym super::super::space::caught,
    tend = sym super::super::tend::tend,
    options(att_syntax)
);

// Timed paths. These entry points are in the same section as their bodies: at the start of a burst,
// this code is not in the caches, so it should span few cache lines and pages. (In 16 runs of Lua,
// the probes of a burst took at least 2,886 cycles, and 3,658 cycles with a separate section; the
// medians were 3,742 and 4,295; measured once.)
global_asm!(
    ".hidden {burst}",
    ".hidden {sample}",
    entry!(
        ".text.holloway_hot",
        "__holloway_burst",
        keeping_general!("callq {burst}\n")
    ),
    entry!(
        ".text.holloway_hot",
        "__holloway_sample",
        keeping_general!("callq {sample}\n")
    ),
    burst = sym super::super::burst::burst,
    sample = sym super::super::burst::sample,
    options(att_syntax)
);

// The common case of `segment::count`: the path already has a slot. rdi is the address of the
// segment pointer, rsi is the path. The segment pointer is one word: the address of the segment's
// first slot (a multiple of 64), plus the binary logarithm of the number of slots in the low six
// bits. So one load reads both, even if signals arrive. Slots have 16 bytes. The red zone holds
// rax, rcx, and rdx. The code overwrites rsi and recomputes it as key - 1.
global_asm!(
    ".hidden {body}",
    entry!(".text.__holloway_hash", "__holloway_hash", concat!(
        "movq %rax, -8(%rsp)\n",
        "movq %rcx, -16(%rsp)\n",
        "movq %rdx, -24(%rsp)\n",
        "movq (%rdi), %rcx\n",
        "leaq 1(%rsi), %rdx\n", // key
        "movabsq $0x9E3779B97F4A7C15, %rax\n", // holloway_abi::hash_slot
        "imulq %rdx, %rax\n",
        "movq %rcx, %r11\n",
        "andq $-64, %r11\n", // first slot
        "je 4f\n",
        "negl %ecx\n", // shifts by cl then shift by 64 - logarithm
        "shrq %cl, %rax\n",
        "shlq $4, %rax\n",
        "cmpq %rdx, (%r11,%rax)\n",
        "jne 2f\n",
        "1:\n",
        "incq 8(%r11,%rax)\n",
        "movq -8(%rsp), %rax\n",
        "movq -16(%rsp), %rcx\n",
        "movq -24(%rsp), %rdx\n",
        "ret\n",
        "2:\n", // search the following slots, then from the first slot
        "negl %ecx\n",
        "movl $16, %esi\n",
        "shlq %cl, %rsi\n",
        "decq %rsi\n", // bytes of the segment - 1
        "3:\n",
        "cmpq $0, (%r11,%rax)\n",
        "je 4f\n",
        "addq $16, %rax\n",
        "andq %rsi, %rax\n",
        "cmpq %rdx, (%r11,%rax)\n",
        "jne 3b\n",
        "leaq -1(%rdx), %rsi\n",
        "jmp 1b\n",
        "4:\n", // the path has no slot
        "leaq -1(%rdx), %rsi\n",
        "movq -8(%rsp), %rax\n",
        "movq -16(%rsp), %rcx\n",
        "movq -24(%rsp), %rdx\n",
        keeping_registers!("callq {body}\n"),
    )),
    body = sym super::super::segment::count,
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
