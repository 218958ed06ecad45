//! The crate root of the runtime object. `build.rs` compiles it separately; see `rt.rs`.
//!
//! `no_builtins` prevents the compiler from replacing byte loops with calls of `memcpy`, `memset`,
//! and `strlen`. These functions would be undefined symbols, and the program may contain woven
//! versions of them.

#![no_std]
#![no_builtins]

mod rt;
mod text;
