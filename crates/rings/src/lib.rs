//! The reading end of a running program's streams (`holloway_abi`, "Streams"). It finds the rings in
//! the program's raw profile, takes words out of them, and makes room for more words.
//!
//! A ring has one producer, a thread of the program, and one reader at a time: [`Ring::take`] and
//! [`Ring::take_rest`] need `&mut`. The program is not trusted. Every length and position is checked
//! against the mapping, and words that the program writes meanwhile are read with atomic loads. Of the
//! host's crates, only this one and `llvm` have `unsafe`; all of it is in `mapping.rs`.
//!
//! Cost: a load, a compare, and a store per word; a system call if the producer waits.

mod file;
mod mapping;
mod ring;

pub use file::{Opened, RingFile};
pub use ring::{Batch, Ring};
