//! Whole program paths on disk: what a trace is made of, and its file `*.hwt` (Larus 1999, sections
//! 2 and 3).
//!
//! A trace is a string of *terminals*, what one thread did in one image, held as a grammar that generates just that string:
//! each rule's right side is a string of [`Symbol`]s.

mod block;
mod coder;
mod context;
mod file;
mod hash;
mod history;
mod model;
mod symbol;
mod token;
mod writer;

pub use block::{Block, Terminal};
pub use file::{Before, Blocks, Head, TraceFile, TraceStream};
pub use hash::StringHash;
pub use symbol::{Part, Symbol};
pub use token::{Step, Token};
pub use writer::{StreamId, TraceWriter};
