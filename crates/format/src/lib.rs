//! The records shared by weaver, runtime and reports: ABI, profile, path map.
pub mod abi;
