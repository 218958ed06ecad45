//! The wrappers that compilers and linkers call: they weave the bitcode of a link and run the real
//! linker.
//!
//! | called as | by | module |
//! |---|---|---|
//! | `holloway-rustc` | cargo (`RUSTC_WRAPPER`) | [`rustc`]: adds our options to rustc's |
//! | `holloway-cc` | rustc (`-Clinker`) | [`step`]: the link step, for a compiler driver's line |
//! | `holloway-ld` | clang (`--ld-path`) | [`step`]: the link step, for a raw ld line |
//! | `holloway cc`, `holloway c++` | build systems | [`cc`]: clang with our options |
//! | `holloway __weave-module` | the link step | [`worker`]: weaves one module |
//!
//! The crate prints nothing and reads no profile. Its caller implements [`Host`], which shows
//! messages and turns an earlier run into a guide. Failures are values too: [`Error`].
#![forbid(unsafe_code)]

pub mod build_settings;
pub mod cc;
pub mod clang;
pub mod collect_options;
mod counter_bases;
mod duplicates;
mod error;
pub mod guide;
mod host;
mod inputs;
mod jobserver;
mod level;
mod line;
mod linker;
pub mod llvm;
mod message;
mod outcome;
mod patterns;
pub mod program;
pub mod records;
mod response;
pub mod rustc;
mod search;
mod settings;
pub mod step;
pub mod toolchain;
pub mod tools;
mod weaver;
pub mod worker;
mod woven_files;

pub use error::{Error, Fault, OptionError, Result};
pub use host::{GuideCheck, GuideError, Host};
pub use message::{Message, Severity};
