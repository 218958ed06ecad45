//! AArch64: the entry points, the thread's slot, the system call.
//!
//! Every entry point keeps every register but x0 where it is the result, x16 and x17 (which a linker's veneer may change on the way
//! here) and x30 (`__holloway_hash` not x0 to x8 either); woven code calls with LLVM's `preserve_all`, or from inline assembly that says the same. The object is compiled
//! for a target without vector registers, so their bodies can't touch any, of whatever width, and none is saved. The flags are not kept.
//!
//! Run under an emulator, not on such a machine yet. Kernels with pages larger than 4 KiB get memory of their own instead of a
//! file (`mmap` refuses the file offsets), and the line on stderr.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering};

/// All entry points: keep every register that the C convention lets their bodies change, call the body, give everything back.
/// x0 is saved in all, at 16; one with a result overwrites it.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "stp x29, x30, [sp, #-160]!\n.cfi_def_cfa_offset 160\n",
            ".cfi_offset x29, -160\n.cfi_offset x30, -152\n",
            "mov x29, sp\n",
            "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n",
            "stp x8, x9, [sp, #80]\nstp x10, x11, [sp, #96]\nstp x12, x13, [sp, #112]\nstp x14, x15, [sp, #128]\n",
            "str x18, [sp, #144]\n",
            $call,
            "ldr x18, [sp, #144]\n",
            "ldp x14, x15, [sp, #128]\nldp x12, x13, [sp, #112]\nldp x10, x11, [sp, #96]\nldp x8, x9, [sp, #80]\n",
            "ldp x6, x7, [sp, #64]\nldp x4, x5, [sp, #48]\nldp x2, x3, [sp, #32]\nldp x0, x1, [sp, #16]\n",
            "ldp x29, x30, [sp], #160\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n",
            "ret\n"
        )
    };
}

/// An entry point of this name.
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
    entry!("__holloway_enter", keeping_registers!("bl {enter}\nstr x0, [sp, #16]\n")),
    entry!("__holloway_chunk", keeping_registers!("bl {chunk}\n")),
    entry!("__holloway_caught", keeping_registers!("bl {caught}\n")),
    entry!("__holloway_burst", keeping_registers!("bl {burst}\nstr x0, [sp, #16]\n")),
    entry!("__holloway_sample", keeping_registers!("bl {sample}\nstr x0, [sp, #16]\n")),
    enter = sym super::enter,
    chunk = sym super::ring::chunk,
    caught = sym super::ring::caught,
    burst = sym super::burst::burst,
    sample = sym super::burst::sample,
);

// Words of a head: address of the segment's first record, plus the logarithm of its number of records in the low six
// bits (the address is a multiple of 64; shifts look at no other bits). Records are 16 bytes. `preserve_all` leaves x0 to x8 to us.
global_asm!(
    ".hidden {body}",
    entry!("__holloway_hash", concat!(
        "ldr x2, [x0]\n",
        "ands x3, x2, #-64\n",             // first record
        "b.eq 4f\n",
        "add x4, x1, #1\n",                // key
        "movz x5, #0x7C15\nmovk x5, #0x7F4A, lsl #16\nmovk x5, #0x79B9, lsl #32\nmovk x5, #0x9E37, lsl #48\n", // holloway_abi::hash_slot
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
        "cbz x6, 4f\n",                    // not there
        "add x5, x5, #16\nand x5, x5, x7\n", // search on, from record to record, around the end
        "b 1b\n",
        "2:\n",
        "add x8, x8, #8\n",
        "3:\n",
        "ldxr x6, [x8]\nadd x6, x6, #1\nstxr w7, x6, [x8]\ncbnz w7, 3b\n",
        "ret\n",
        "4:\n",
        keeping_registers!("bl {body}\n"),
    )),
    body = sym super::segment::count,
);

// The countdown is the image's own, 4 bytes for each thread.
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
    ".pushsection .init_array.00000, \"aw\", %init_array",
    ".p2align 3",
    ".xword {constructor}",
    ".popsection",
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

/// The clock where a path starts, as woven code reads it: nothing of what came before is left, nothing of what follows has begun.
#[inline(always)]
pub(super) fn path_start() -> u64 {
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

/// The clock where a path ends, as woven code reads it: nothing of the path is left. What follows is the probe's.
#[inline(always)]
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
#[inline(always)]
pub(super) fn clock() -> u64 {
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

/// `__holloway_sample`, as woven code calls it.
pub(super) fn call_sample(word: u32, start: u64, inner: u64, end: u64) {
    // SAFETY: the entry point keeps every register but these.
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

/// `__holloway_burst`, as woven code calls it.
pub(super) fn call_burst() {
    // SAFETY: the entry point keeps every register but these.
    unsafe {
        asm!("bl __holloway_burst", out("x0") _, out("x16") _, out("x17") _, out("x30") _);
    }
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
