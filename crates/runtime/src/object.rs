//! Crate root of the runtime object. `build.rs` compiles it alone; see `rt.rs`.
//!
//! `no_builtins` keeps the compiler from turning the byte loops into calls of `memcpy`, `memset` and `strlen`, which
//! would be undefined symbols, and which in the woven program may themselves be woven.

#![no_std]
#![no_builtins]

mod rt;
