//! Weaves modules: bitcode in, instrumented objects and path map out.
//!
//! [`weave_module`] runs the stages of one module, in order (`module.rs`). The other modules serve
//! the link step around it:
//! - [`input`] tells bitcode from machine code;
//! - [`archive`] reads and rewrites static libraries;
//! - [`cache`] keeps results;
//! - [`patch`] writes counter bases into woven objects;
//! - [`image`] builds the object that joins them;
//! - [`symbols`] notices objects that were edited after compilation.
//!
//! This crate sees LLVM only through `holloway_llvm`. The output depends only on the input and the
//! options, byte for byte.
#![forbid(unsafe_code)]

pub mod archive;
pub mod cache;
mod cases;
mod constructors;
mod emit;
mod error;
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
mod options;
pub mod patch;
mod reason;
mod selection;
pub mod symbols;

pub use error::{Defect, Instead, WeaveError};
pub use filter::{Filter, Pattern, PatternError};
pub use module::{WovenModule, weave_module};
pub use options::{ARRAY_LIMIT, LinkKind, ModuleOptions, OptLevel, PATH_LIMIT, STREAM_LIMIT};
pub use reason::{CopyObstacle, Reason};
