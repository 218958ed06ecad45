//! Traces, which the paper calls whole program paths (Larus 1999, sections 2 and 3), and their file
//! `*.hwt`.
//!
//! A trace is the string of *terminals* of one thread in one image. The file has a grammar that
//! generates exactly this string. Each rule's right side is a string of [`Symbol`]s. The grammar is
//! written as [`Token`]s, in [`Block`]s. A model predicts each token from the tokens before it, and
//! an arithmetic coder writes the difference between the prediction and the token in a few bits.

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
