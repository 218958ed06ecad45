//! The counter runtime, as the object file that is linked into every woven image.
//!
//! The source of the object is `src/object.rs` with its modules `rt` and `text`. It is not part of
//! this library: `build.rs` compiles it on its own (`no_std`, no panic, no allocator, raw system
//! calls only), and this library carries the bytes. The object's undefined symbols are
//! `pthread_atfork`, `__holloway_image`, and `__holloway_slot`, nothing else.

/// The runtime's source, compiled here only so that clippy checks it with the workspace's lints.
#[cfg(clippy)]
mod rt;

/// Bounded text, compiled here for clippy and for its unit tests.
#[cfg(any(clippy, test))]
#[allow(dead_code, reason = "the unit tests use a part of it")]
mod text;

/// The runtime object for x86-64 (ELF, relocatable).
///
/// It is empty where the rustc that built this crate had no `core` for x86-64. The object serves
/// glibc and musl, static and dynamic programs, and shared objects. With musl, a shared object must
/// be loaded at the program's start.
pub const X86_64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/holloway_rt_x86_64.o"));

/// The runtime object for 64-bit Arm; see [`X86_64`].
pub const AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/holloway_rt_aarch64.o"));

/// The runtime object for the processor that this crate was built for. It is never empty.
pub const OBJECT: &[u8] = if cfg!(target_arch = "aarch64") {
    AARCH64
} else {
    X86_64
};
