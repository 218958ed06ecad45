//! A link line, understood as far as weaving needs it: its inputs, the directories of libraries,
//! and its output.
//!
//! Two flavors exist: a compiler driver's line (rustc calls us in place of `cc`) and a raw ld line
//! (clang's `--ld-path`). A driver's line carries words for the linker in `-Wl,a,b` and
//! `-Xlinker a`. They are taken apart, so that an archive named inside
//! (`-Wl,--whole-archive,libx.a`) is seen. Every word that is not an input comes out as it went in,
//! at its place.
//!
//! Options are data: the tables in `options` name those whose value is the *next* word. Every other
//! option is one word.

mod model;
mod options;
mod parse;
mod write;

pub(crate) use model::{Flavor, Library, Line, Output, Role};
pub(crate) use options::takes_value;
pub(crate) use write::ExtraObjects;
