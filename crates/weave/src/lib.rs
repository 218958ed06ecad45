//! Weaves modules: bitcode in, instrumented objects and path map out.
//!
//! [`weave_module`] runs the stages of one bitcode module, in order (`module.rs`). The crate's
//! private modules are these stages. Its public modules serve the link step around it:
//! - [`input`] classifies the files of a link: bitcode, machine code, archives;
//! - [`archive`] reads and rewrites static libraries;
//! - [`filter`] has the patterns that select functions by name;
//! - [`cache`] stores woven modules and optimized code for later links;
//! - [`patch`] writes counter bases into woven objects;
//! - [`image`] builds the object with the image's header and path map;
//! - [`symbols`] detects objects that were edited after compilation.
//!
//! This crate uses LLVM only through `holloway_llvm`. The same input and options always give the
//! same output, byte for byte.
#![forbid(unsafe_code)]

pub mod archive;
pub mod cache;
mod cases;
mod constructors;
mod contents;
mod early;
mod emit;
mod error;
mod facts;
pub mod filter;
mod fragment;
pub mod image;
pub mod input;
mod instrument;
mod loads;
mod loops;
mod lower;
mod module;
mod module_checks;
mod optimized;
mod options;
pub mod patch;
mod prefetch;
mod reason;
mod selection;
pub mod symbols;
mod woven;

pub use error::{Defect, Replacement, WeaveError};
pub use filter::{Filter, Pattern, PatternError};
pub use module::weave_module;
pub use options::{
    ARRAY_LIMIT, EarlyBuild, LinkKind, ModuleOptions, OptLevel, PATH_LIMIT, STREAM_LIMIT,
};
pub use reason::{CopyObstacle, Reason};
pub use woven::WovenModule;
