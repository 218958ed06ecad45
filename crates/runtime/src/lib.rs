//! The runtime, as the bytes of the object file that the link step adds to every image.
//!
//! The source of the object is `src/object.rs` with its modules `rt` and `text`. This source is not
//! part of this library: `build.rs` compiles it separately (`no_std`, no panic, no allocator, only
//! raw system calls), and this library contains the resulting bytes. The object has three undefined
//! symbols: `pthread_atfork`, `__holloway_image`, and `__holloway_slot`.

/// The runtime's source, compiled in this library only for clippy.
#[cfg(clippy)]
mod rt;

/// Bounded text, compiled in this library for clippy and for unit tests.
#[cfg(any(clippy, test))]
#[allow(dead_code, reason = "the unit tests use a part of it")]
mod text;

/// The runtime object for x86-64 (ELF, relocatable).
///
/// It is empty if the rustc that built this crate has no `core` for x86-64. The object works with
/// glibc and musl, in static and dynamic programs, and in shared objects. With musl, a shared
/// object must be loaded at the program's start.
pub const X86_64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/holloway_rt_x86_64.o"));

/// The runtime object for 64-bit Arm; see [`X86_64`].
pub const AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/holloway_rt_aarch64.o"));

/// The runtime object for the processor that this crate was built for. It is never empty.
pub const OBJECT: &[u8] = if cfg!(target_arch = "aarch64") {
    AARCH64
} else {
    X86_64
};
