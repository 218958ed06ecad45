//! The LLVM C API of the user's own libLLVM, made safe.
//!
//! [`Library`] finds and loads it; a [`Context`] collects its diagnostics; a [`Module`] is parsed
//! from bitcode, inspected through handles that borrow it, changed with a [`Builder`], run through
//! passes, and used up by code generation. Mechanism only: what to instrument and how is the
//! weaver's business.
//!
//! Tested with LLVM 19 (Debian) and 22 (Debian, rustc 1.95); newer ones are tried, and refused with
//! the name of the first function they lack.

mod address;
mod bitstream;
mod builder;
mod constants;
mod context;
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
pub use error::LlvmError;
pub use function::AttributeKind;
pub use global::{Linkage, TlsModel};
pub use instruction::{Opcode, TailKind};
pub use intrinsics::is_marker;
pub use library::Library;
pub use metadata::{Location, Metadata, Subprogram};
pub use module::Module;
pub use reshape::Choice;
pub use target::{CodeGenLevel, CodeModel, Machine, PassOptions, Reloc};
pub use types::{Type, TypeKind};
pub use value::{Block, Function, Global, Instruction, Value};
pub use variables::{DebugType, Encoding, Form, Variable};
