//! Finds the modules of a link that contain none of the functions that record.
//!
//! Training records sequences and times in a few functions only. All other modules need neither
//! probes nor counts, so they are those of the plain program. The cache usually has them from its
//! link.
//!
//! The names come from optimized code. Passes copy functions, and give the copies names such as
//! `find.specialized.1`, which the bitcode does not have. So names without such ends count, too.

use aho_corasick::AhoCorasick;
use holloway_llvm::string_table;

/// The names of the functions that record.
pub(crate) struct Selected(AhoCorasick);

impl Selected {
    /// The functions of these patterns, which are names, one per line. `None` if there are none:
    /// all functions record.
    pub(crate) fn new(patterns: &str) -> Option<Self> {
        let names: Vec<&str> = patterns.lines().flat_map(originals).collect();
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

/// A name, and the names of the functions that it may be a copy of.
fn originals(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| original(name))
}

/// A name without its last part that begins with a dot, if a pass of LLVM may have added this part:
/// it has small letters, digits, and `_`. Rust's names end with a part that has capitals.
fn original(name: &str) -> Option<&str> {
    let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let (original, part) = name.rsplit_once('.')?;
    (!original.is_empty() && part.chars().all(is_small)).then_some(original)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_names_select_everything() {
        assert!(Selected::new("").is_none());
    }

    #[test]
    fn the_original_of_a_copy_may_be_meant() {
        let check = |name, expect: &[&str]| assert_eq!(originals(name).collect::<Vec<_>>(), expect);
        check("find", &["find"]);
        check(
            "find.specialized.1",
            &["find.specialized.1", "find.specialized", "find"],
        );
        check(".str", &[".str"]);
        let rust = "_ZN3std3ptr9drop..Option$LT$T$GT$17h0123456789abcdefE";
        check(rust, &[rust]);
        let copy = format!("{rust}.llvm.12");
        assert_eq!(originals(&copy).last(), Some(rust));
    }

    #[test]
    fn bitcode_without_a_string_table_may_contain_anything() {
        let selected = Selected::new("a\nb\n").expect("two names");
        assert!(selected.may_be_in(b"no bitcode"));
    }
}
