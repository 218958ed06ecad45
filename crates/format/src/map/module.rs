//! A module of the path map: its instrumented functions, and the functions without counters.

use crate::map::function::FunctionMap;
use crate::text::Text;

/// The path map of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMap {
    /// Name of the crate or object file: `regex_automata`, `a.o`.
    pub name: Text,
    /// Name and version of the compiler, from debug information.
    pub producer: Text,
    /// Bytes of the module's counters in each thread's block.
    pub counters_size: u64,
    /// The instrumented functions. A damaged function remains as an empty one
    /// ([`FunctionMap::is_damaged`]).
    pub functions: Vec<FunctionMap>,
    /// Functions that are not instrumented, with the reason.
    pub skipped: Vec<Skipped>,
    /// Functions of the source module that have no code after optimization.
    pub gone: Vec<VanishedFunction>,
    /// The source files whose content is known.
    pub sources: Vec<SourceFile>,
}

/// A source file, as the compiler read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, as scopes have it.
    pub file: Text,
    /// The MD5 of its content: 32 lowercase hexadecimal digits.
    pub md5: [u8; 16],
}

/// A function that is not instrumented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Source name. It may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// The reason, as the weaver's text.
    pub reason: Text,
}

impl Skipped {
    /// Whether the entry stands for a linked file of machine code, whose functions are unknown.
    ///
    /// Path maps contain the reason as text, so this function compares the beginning of the text.
    pub fn is_machine_code(&self) -> bool {
        self.reason.starts_with("machine code")
    }
}

/// A function that has no code after optimization, because it was inlined everywhere or is unused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VanishedFunction {
    /// Source name. It may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
}
