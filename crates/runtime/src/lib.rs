//! The counter runtime, as the object file that is linked into every woven image.
//!
//! The object itself is written in `src/rt.rs` and the files below it, which are no part of this library: `build.rs`
//! compiles them on their own (`no_std`, no panic, no allocator, raw system calls only) and this library carries the
//! bytes. Its undefined symbols are `pthread_atfork`, `__holloway_image` and `__holloway_slot`, nothing else.

/// The runtime's source, compiled here only so that clippy reads it with the workspace's lints.
#[cfg(clippy)]
mod rt;

/// The runtime object (ELF, relocatable) for x86-64; empty where the rustc that built this crate had no `core` for it.
///
/// Each serves glibc and musl, static and dynamic programs, and shared objects; with musl those that are loaded at the program's start.
pub const X86_64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/holloway_rt_x86_64.o"));

/// The same for 64-bit Arm.
pub const AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/holloway_rt_aarch64.o"));

/// The one for the processor that this crate was built for, which is always there.
pub const OBJECT: &[u8] = if cfg!(target_arch = "aarch64") {
    AARCH64
} else {
    X86_64
};
