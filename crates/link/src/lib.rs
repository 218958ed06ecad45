//! The programs that build systems, compilers, and cargo call in place of rustc, clang, or the
//! linker. They weave the bitcode of a link and run the real linker.
//!
//! In this crate, a *line* is the command line of a linker or compiler, and a *word* is one of its
//! arguments. *Our* options are the options that holloway adds or understands (`--collect`).
//!
//! | called as | by | module |
//! |---|---|---|
//! | `holloway-rustc` | cargo (`RUSTC_WRAPPER`) | [`rustc`]: adds options to rustc's own |
//! | `holloway-cc` | rustc (`-Clinker`) | [`step`]: the link step, for a line of `cc` |
//! | `holloway-ld` | clang (`--ld-path`) | [`step`]: the link step, for a line of `ld` |
//! | `holloway cc`, `holloway c++` | build systems | [`cc`]: clang with additional options |
//! | `holloway __weave-module` | the link step | [`worker`]: weaves one module |
//!
//! The crate prints nothing and reads no profile. Its caller implements [`Host`], which shows
//! messages and turns an earlier run into a guide. Failures are values of [`Error`].
#![forbid(unsafe_code)]

pub mod build_settings;
pub mod cc;
pub mod clang;
pub mod collect_options;
mod counter_bases;
mod cpu_limit;
mod duplicates;
mod embed;
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
mod name_search;
mod outcome;
mod patterns;
mod placement;
mod plan_parts;
pub mod program;
pub mod records;
pub mod relink;
mod response;
pub mod rustc;
pub mod scratch;
mod search;
mod settings;
pub mod step;
pub mod toolchain;
pub mod tools;
mod weaver;
pub mod worker;
mod woven_files;

pub use error::{Error, Fault, OptionError, Result};
pub use host::{GuideCheck, GuideError, Host, Weaving};
pub use message::{Message, Severity};
