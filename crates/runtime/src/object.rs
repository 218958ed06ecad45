//! Crate root of the runtime object. `build.rs` compiles it alone; see `rt.rs`.
//!
//! `no_builtins` keeps the compiler from turning byte loops into calls of `memcpy`, `memset`, and
//! `strlen`. These would be undefined symbols, and may themselves be woven in the program.

#![no_std]
#![no_builtins]

mod rt;
mod text;
