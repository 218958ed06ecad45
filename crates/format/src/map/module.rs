//! A module of the map: its functions, and the functions that have no counters.

use crate::map::function::FunctionMap;
use crate::text::Text;

/// The path map of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMap {
    /// Crate or object: `regex_automata`, `a.o`.
    pub name: Text,
    /// The compiler's name for itself.
    pub producer: Text,
    /// Bytes of counters a thread needs for this module.
    pub counters_size: u64,
    /// The instrumented functions. Damaged ones keep their place ([`FunctionMap::is_damaged`]).
    pub functions: Vec<FunctionMap>,
    /// Functions that are not instrumented, with the reason.
    pub skipped: Vec<Skipped>,
    /// Functions of the input that have no code of their own after optimization.
    pub gone: Vec<VanishedFunction>,
}

/// A function that is not instrumented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// The reason, in the weaver's words.
    pub reason: Text,
}

impl Skipped {
    /// Whether the entry stands for an input of machine code, whose functions nobody can name.
    ///
    /// Path maps carry the reason as text, so this reads the beginning of that text.
    pub fn is_machine_code(&self) -> bool {
        self.reason.starts_with("machine code")
    }
}

/// A function of the input that has no code after optimization: it was inlined everywhere, or
/// unused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VanishedFunction {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
}
