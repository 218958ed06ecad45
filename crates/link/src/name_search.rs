//! Finds out which functions of a list a module may contain, without parsing its bitcode.
//!
//! The names come from optimized code. Passes copy functions, and give the copies names such as
//! `find.specialized.1`, which the bitcode does not have. So names without such ends count, too.
//! Names that are no UTF-8 are known with U+FFFD in the place of their bytes, so they cannot be
//! searched for.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use holloway_llvm::string_table;

/// A search for the names of functions.
pub(crate) struct NameSearch {
    automaton: AhoCorasick,
    /// For each pattern of the automaton, the index of the name that it is an original of.
    owners: Vec<usize>,
    /// The indexes of names that stand for other bytes. They may be in any module.
    unsearchable: BTreeSet<usize>,
}

impl NameSearch {
    /// A search for these names. `None` if there are none, or too many to search for.
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let (mut patterns, mut owners) = (Vec::new(), Vec::new());
        let mut unsearchable = BTreeSet::new();
        for (owner, name) in names.into_iter().enumerate() {
            if name.contains(char::REPLACEMENT_CHARACTER) {
                unsearchable.insert(owner);
            }
            for original in originals(name) {
                patterns.push(original);
                owners.push(owner);
            }
        }
        let automaton = AhoCorasick::new(&patterns).ok()?;
        (!patterns.is_empty()).then_some(Self {
            automaton,
            owners,
            unsearchable,
        })
    }

    /// Whether a module may contain one of the functions. Its bitcode has the names of its
    /// functions as they are, one after the other. A module that only calls the function has the
    /// name, too.
    pub(crate) fn may_be_in(&self, bitcode: &[u8]) -> bool {
        !self.unsearchable.is_empty()
            || string_table(bitcode).is_none_or(|names| self.automaton.is_match(names))
    }

    /// The indexes of the functions that a module may contain. `None` if that cannot be known.
    pub(crate) fn found_in(&self, bitcode: &[u8]) -> Option<BTreeSet<usize>> {
        let names = string_table(bitcode)?;
        let matches = self.automaton.find_overlapping_iter(names);
        let found = matches.map(|m| self.owners[m.pattern()]);
        Some(found.chain(self.unsearchable.iter().copied()).collect())
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
    fn a_search_needs_a_name() {
        assert!(NameSearch::new([]).is_none());
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
    fn names_that_are_no_text_may_be_anywhere() {
        let names = ["plain", "bad\u{FFFD}name"];
        let search = NameSearch::new(names).expect("two names");
        assert_eq!(search.unsearchable, BTreeSet::from([1]));
    }

    #[test]
    fn bitcode_without_a_string_table_may_contain_anything() {
        let search = NameSearch::new(["a", "b"]).expect("two names");
        assert!(search.may_be_in(b"no bitcode"));
        assert_eq!(search.found_in(b"no bitcode"), None);
    }
}
