//! The reader of a running program's rings (`holloway_abi`, module `ring`). It finds the rings in
//! the program's raw profile, takes words out of them, and so makes room for more words.
//!
//! A ring has one producer, a thread of the program, and one reader at a time: [`Ring::take`] and
//! [`Ring::take_rest`] need `&mut`. This crate does not trust the program. It checks every length
//! and position against the mapping, and uses atomic loads for words that the program may write at
//! the same time. Of the crates outside of the woven program, only this crate and `llvm` have
//! `unsafe` code. All of it is in `mapping.rs`.
//!
//! Cost: a load, a compare, and a store per word; a system call if the producer waits.

mod file;
mod mapping;
mod ring;

pub use file::{Opened, RingFile};
pub use ring::{Batch, Ring};
