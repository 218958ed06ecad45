//! The reading end of a running program's streams (`holloway_abi`, "Streams"): finds the rings in its raw profile, takes words
//! out of them and makes room for more.
//!
//! A ring has one producer, a thread of the program, and one reader at a time: [`Ring::take`] and the like want `&mut`. The
//! program is not trusted: every length and position is checked against what is mapped, and words it writes meanwhile are read
//! by atomic loads. The only host crate besides `llvm` with `unsafe`, all of it in `mapping.rs`.
//!
//! Cost: a load, a compare and a store for each word taken; a system call where the producer waits.

mod file;
mod mapping;
mod ring;

pub use file::{Opened, RingFile};
pub use ring::{Batch, Ring};
