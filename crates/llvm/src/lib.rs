//! A safe interface to the C API of the libLLVM that the user has installed.
//!
//! [`Library`] finds and loads libLLVM. A [`Context`] collects its diagnostics. A [`Module`] is
//! parsed from bitcode, inspected through handles that borrow it, changed with a [`Builder`], run
//! through passes, and consumed by code generation. This crate does not decide which code to
//! instrument, or how. The crate `holloway_weave` does.
//!
//! Names of this crate differ from LLVM's in two respects: a method `kind` of a value returns its
//! LLVM type, and a *marker* is an intrinsic that generates no code.
//!
//! The crate is tested with LLVM 19 (Debian) and 22 (Debian, rustc 1.95). It also accepts newer
//! versions. It rejects a version that lacks a required function, and names the first missing
//! function.

mod address;
mod bitstream;
mod builder;
mod constants;
mod context;
mod debug_builder;
mod double;
mod error;
mod function;
mod global;
mod handle;
mod instruction;
mod intrinsics;
mod library;
mod metadata;
mod module;
mod reshape;
mod symbols;
mod sys;
mod target;
mod types;
mod value;
mod variables;

pub use address::Address;
pub use bitstream::{count_modules, producer as bitcode_producer, string_table};
pub use builder::Builder;
pub use context::Context;
pub use debug_builder::DebugBuilder;
pub use error::LlvmError;
pub use function::AttributeKind;
pub use global::{Linkage, TlsModel};
pub use instruction::{Comparison, Opcode, TailKind};
pub use intrinsics::is_marker;
pub use library::Library;
pub use metadata::{Location, Metadata, Subprogram};
pub use module::Module;
pub use reshape::Choice;
pub use target::{CodeGenLevel, CodeModel, Machine, PassOptions, Reloc};
pub use types::{Type, TypeKind};
pub use value::{Block, Function, Global, Instruction, Value};
pub use variables::{DebugType, Encoding, Form, Variable};
