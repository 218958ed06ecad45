//! The command line of a linker, parsed as far as weaving needs it: its inputs, the directories of
//! libraries, and its output.
//!
//! A line has one of two flavors: the options of a compiler driver (rustc calls `holloway-cc` in
//! place of `cc`) or of `ld` itself (clang calls `holloway-ld`). The line of a compiler driver
//! carries words for the linker in `-Wl,a,b` and `-Xlinker a`. The parser separates these words, so
//! it recognizes an archive among them (`-Wl,--whole-archive,libx.a`). Only the words of inputs and
//! of an LTO plugin change. All other words are written unchanged, in the same order.
//!
//! The tables in `options` list the options whose value is the *next* word. Every other option is
//! one word.

mod model;
mod options;
mod parse;
mod write;

pub(crate) use model::{Flavor, Library, Line, Output, Role};
pub(crate) use options::takes_value;
pub(crate) use write::ExtraObjects;
