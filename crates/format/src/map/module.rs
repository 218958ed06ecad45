//! A module of the map: its functions, and the functions that have no counters.

use crate::map::function::FunctionMap;
use crate::text::Text;

/// The path map of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMap {
    /// Crate or object: `regex_automata`, `a.o`.
    pub name: Text,
    /// What the compiler calls itself.
    pub producer: Text,
    /// Bytes of counters a thread needs for this module.
    pub counters_size: u64,
    /// The instrumented functions. Damaged ones keep their place ([`FunctionMap::is_damaged`]).
    pub functions: Vec<FunctionMap>,
    /// Functions left alone, with the reason.
    pub skipped: Vec<Skipped>,
    /// Functions of the input without code of their own after optimisation.
    pub gone: Vec<VanishedFunction>,
}

/// A function that is not instrumented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// Why, in words.
    pub reason: Text,
}

/// A function that was defined in the input and has no code after optimisation: inlined everywhere, or unused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VanishedFunction {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
}
