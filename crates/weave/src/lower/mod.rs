//! Lowering: makes the graph of an LLVM function, on which paths are numbered. [`function`]
//! describes the graph.

mod block_index;
mod calls;
mod edges;
mod function;
mod function_parts;
mod generated;
mod options;
mod scopes;

pub(crate) use block_index::BlockIndex;
pub(crate) use calls::{
    CallAttributes, calls, indirect_calls, is_counted, is_indirect_call, sized_operations,
    unknown_size,
};
pub(crate) use edges::{Site, map_kind};
pub(crate) use function::{LoweredFunction, lower};
pub(crate) use function_parts::{BlockInfo, FunctionParts, Part};
pub(crate) use options::LoweringOptions;
pub(crate) use scopes::{Scopes, SubprogramCache};
