//! Finds the modules of a link that contain none of the functions that record.
//!
//! Training records sequences and times in a few functions only. All other modules need neither
//! probes nor counts, so they are those of the plain program, which the cache has: its link came
//! before.

use aho_corasick::AhoCorasick;
use holloway_llvm::string_table;

/// The names of the functions that record.
pub(crate) struct Selected(AhoCorasick);

impl Selected {
    /// The functions of these patterns, which are names, one per line. `None` if there are none:
    /// all functions record.
    pub(crate) fn new(patterns: &str) -> Option<Self> {
        let names: Vec<&str> = patterns.lines().collect();
        // A set of names that is too large to search for selects nothing: all modules are woven.
        let automaton = AhoCorasick::new(&names).ok()?;
        (!names.is_empty()).then_some(Self(automaton))
    }

    /// Whether a module may contain such a function. Its bitcode has the names of its functions as
    /// they are, one after the other. A module that only calls the function has the name, too.
    pub(crate) fn may_be_in(&self, bitcode: &[u8]) -> bool {
        string_table(bitcode).is_none_or(|names| self.0.is_match(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_names_select_everything() {
        assert!(Selected::new("").is_none());
    }

    #[test]
    fn bitcode_without_a_string_table_may_contain_anything() {
        let selected = Selected::new("a\nb\n").expect("two names");
        assert!(selected.may_be_in(b"no bitcode"));
    }
}
