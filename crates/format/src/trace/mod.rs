//! Whole program paths on disk: the parts of a trace, and its file `*.hwt` (Larus 1999, sections 2
//! and 3).
//!
//! A trace is the string of *terminals* of one thread in one image. It is stored as a grammar that
//! generates exactly this string. Each rule's right side is a string of [`Symbol`]s.

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
pub use file::{Blocks, TraceFile, TraceHead, TracePosition, TraceStream};
pub use hash::StringHash;
pub use symbol::{Part, Symbol};
pub use token::{Step, Token};
pub use writer::{StreamId, TraceWriter};
