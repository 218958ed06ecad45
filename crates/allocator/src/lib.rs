//! The allocator of worker processes, in which LLVM compiles.
//!
//! LLVM asks for much memory in many sizes. Once libc's heap is fragmented, libc searches long
//! lists of free memory: with a module of 15 MB of bitcode, for more than a third of the time.
//! [mimalloc](https://github.com/microsoft/mimalloc) does not, but it returns less memory to the
//! system. So the processes that collect keep libc's allocator, and only workers [`switch`].
//!
//! This crate defines `malloc` and its relatives. The linker then uses them in the whole program,
//! and libLLVM too, when it is loaded. They call libc's allocator first, and mimalloc's after the
//! switch. Memory is freed by the allocator that it came from.
//!
//! With another libc than glibc, this crate defines nothing, and [`switch`] does nothing.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc;

/// Takes memory from mimalloc from now on.
pub fn switch() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::switch();
}
