//! The entry points for AArch64.
//!
//! An entry point preserves every register except `x30`, the registers `x16` and `x17`, which a
//! linker's veneer may change during the call, and `x0` if there is a result. `__holloway_hash`
//! does not preserve `x0` to `x8` either. The entry points do not preserve the flags. Woven code
//! calls them with LLVM's `preserve_all`, or from inline assembly with the same effects. The object
//! is compiled for a target without vector registers. So the bodies cannot use a vector register,
//! and the entry points save none.
//!
//! This code ran under an emulator, but not yet on an AArch64 machine. On kernels with pages larger
//! than 4 KiB, `mmap` refuses the file offsets. The runtime then uses private memory in place of a
//! file, and prints its line on standard error.

use core::arch::global_asm;

/// Saves every register that the C convention lets the body change, calls the body, and restores
/// the registers. `x0` is saved, too, at `sp + 16`. An entry point with a result overwrites the
/// saved value.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "stp x29, x30, [sp, #-160]!\n.cfi_def_cfa_offset 160\n",
            ".cfi_offset x29, -160\n.cfi_offset x30, -152\n",
            "mov x29, sp\n",
            "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\n",
            "stp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n",
            "stp x8, x9, [sp, #80]\nstp x10, x11, [sp, #96]\n",
            "stp x12, x13, [sp, #112]\nstp x14, x15, [sp, #128]\n",
            "str x18, [sp, #144]\n",
            $call,
            "ldr x18, [sp, #144]\n",
            "ldp x14, x15, [sp, #128]\nldp x12, x13, [sp, #112]\n",
            "ldp x10, x11, [sp, #96]\nldp x8, x9, [sp, #80]\n",
            "ldp x6, x7, [sp, #64]\nldp x4, x5, [sp, #48]\n",
            "ldp x2, x3, [sp, #32]\nldp x0, x1, [sp, #16]\n",
            "ldp x29, x30, [sp], #160\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n",
            "ret\n"
        )
    };
}

/// Defines a hidden function in a separate section.
macro_rules! entry {
    ($name:literal, $code:expr) => {
        concat!(
            ".pushsection .text.",
            $name,
            ", \"ax\", %progbits\n",
            ".globl ",
            $name,
            "\n.hidden ",
            $name,
            "\n.type ",
            $name,
            ", %function\n.p2align 4\n",
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

global_asm!(
    ".hidden __holloway_image",
    ".hidden __holloway_slot",
    ".hidden {enter}",
    ".hidden {chunk}",
    ".hidden {caught}",
    ".hidden {burst}",
    ".hidden {sample}",
    ".hidden {tend}",
    ".globl __holloway_tend",
    ".hidden __holloway_tend",
    ".set __holloway_tend, {tend}", // its callers need no saved registers
    entry!("__holloway_enter", keeping_registers!("bl {enter}\nstr x0, [sp, #16]\n")),
    entry!("__holloway_chunk", keeping_registers!("bl {chunk}\n")),
    entry!("__holloway_caught", keeping_registers!("bl {caught}\n")),
    entry!("__holloway_burst", keeping_registers!("bl {burst}\nstr x0, [sp, #16]\n")),
    entry!("__holloway_sample", keeping_registers!("bl {sample}\nstr x0, [sp, #16]\n")),
    enter = sym super::super::enter::enter,
    chunk = sym super::super::space::chunk,
    caught = sym super::super::space::caught,
    burst = sym super::super::burst::burst,
    sample = sym super::super::burst::sample,
    tend = sym super::super::tend::tend,
);

// The common case of `segment::count`: the path already has a slot. x0 is the address of the
// segment pointer, x1 is the path. The segment pointer is the address of the segment's first slot
// (a multiple of 64), plus the binary logarithm of the number of slots in the low six bits. Shifts
// use only these six bits. Slots have 16 bytes. `preserve_all` allows this code to change x0 to x8.
global_asm!(
    ".hidden {body}",
    entry!("__holloway_hash", concat!(
        "ldr x2, [x0]\n",
        "ands x3, x2, #-64\n",             // first slot
        "b.eq 4f\n",
        "add x4, x1, #1\n",                // key
        "movz x5, #0x7C15\nmovk x5, #0x7F4A, lsl #16\n", // holloway_abi::hash_slot
        "movk x5, #0x79B9, lsl #32\nmovk x5, #0x9E37, lsl #48\n",
        "mul x5, x5, x4\n",
        "neg x6, x2\n",
        "lsr x5, x5, x6\n",                // by 64 - logarithm
        "lsl x5, x5, #4\n",
        "mov x7, #16\nlsl x7, x7, x2\nsub x7, x7, #1\n", // bytes of the segment - 1
        "1:\n",
        "add x8, x3, x5\n",
        "ldr x6, [x8]\n",
        "cmp x6, x4\n",
        "b.eq 2f\n",
        "cbz x6, 4f\n",                    // the path has no slot
        "add x5, x5, #16\nand x5, x5, x7\n", // next slot; after the last slot, the first
        "b 1b\n",
        "2:\n",
        "add x8, x8, #8\n",
        "3:\n",
        "ldxr x6, [x8]\nadd x6, x6, #1\nstxr w7, x6, [x8]\ncbnz w7, 3b\n",
        "ret\n",
        "4:\n",
        keeping_registers!("bl {body}\n"),
    )),
    body = sym super::super::segment::count,
);

global_asm!(
    ".pushsection .init_array.00000, \"aw\", %init_array",
    ".p2align 3",
    ".xword {constructor}",
    ".popsection",
    constructor = sym super::super::enter::constructor,
);
