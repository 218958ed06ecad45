//! Finds each function of one run in another run, also if it was moved, renamed, or changed.
//!
//! Each level pairs functions that the levels before it left, and only if no other function of
//! either run could be meant:
//!
//! 1. Equal linkage names and graphs.
//! 2. Equal names and graphs. Several functions may have one name, for example the instances of a
//!    generic function in builds with other hashes in their linkage names. Nothing tells them apart,
//!    so their counts are added up.
//! 3. Equal graphs, and the last parts of the names are equal: the function has moved to another
//!    module or type.
//! 4. Equal graphs, and the same file and line: the function was renamed where it stands.
//! 5. Equal graphs with equal numbers of instructions in each block: the function was renamed.
//!    Small functions are left out, because many look alike.
//! 6. Equal names: the code of the function has changed.
//!
//! A function with the same name in a file of another name has moved, too. Directories do not count:
//! builds in two directories, or of two versions of a dependency, have other ones.

use std::collections::BTreeMap;
use std::rc::Rc;

use holloway_format::map::hash_of_words;

use crate::overlap::Both;
use crate::overlap::groups::Group;
use crate::run::Function;

/// A function that is known by its graph alone has at least so many edges.
const KNOWN_BY_GRAPH_EDGES: usize = 4;

/// How a function of one run was found in the other run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pairing {
    /// It has the same name and the same graph.
    Same,
    /// It has the same graph, but is in another file, module, or type.
    Moved,
    /// It has the same graph, but another name.
    Renamed,
    /// It has the same name, but another graph.
    Changed,
    /// The other run does not have it, or not with counters.
    Absent,
}

/// A function of both runs: the indices of its groups.
pub(super) struct Matched {
    pub(super) groups: Both<usize>,
    pub(super) pairing: Pairing,
}

/// Pairs the groups of two runs, and adds up groups that nothing tells apart. Also returns the groups
/// of each run without a counterpart.
pub(super) fn match_functions(
    groups: &mut Both<Vec<Group<'_>>>,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> (Vec<Matched>, Both<Vec<usize>>) {
    let shown = |group: &Group<'_>| name(group.representative().1);
    let linkage = |group: &Group<'_>| group.map().linkage_name.to_string();
    let mut matching = Matching {
        unmatched: [0, 1].map(|side: usize| (0..groups[side].len()).collect()),
        groups,
        matched: Vec::new(),
    };
    matching.pair(Pairing::Same, &|group| {
        let name = format!("{} {}", linkage(group), group.map().file);
        Some((name, vec![group.hash()]))
    });
    matching.pair(Pairing::Same, &|group| {
        Some((linkage(group), vec![group.hash()]))
    });
    matching.add_up(&|group| (shown(group).to_string(), vec![group.hash()]));
    matching.pair(Pairing::Same, &|group| {
        Some((shown(group).to_string(), vec![group.hash()]))
    });
    matching.pair(Pairing::Moved, &|group| {
        let last = last_part(&shown(group)).to_owned();
        Some((last, vec![group.hash()]))
    });
    matching.pair(Pairing::Renamed, &|group| {
        let map = group.map();
        let place = format!("{}:{}", map.file, map.line);
        (map.line != 0).then(|| (place, vec![group.hash()]))
    });
    matching.pair(Pairing::Renamed, &|group| {
        let map = group.map();
        let sizes = map.blocks.iter().map(|block| block.instructions.into());
        let sizes = hash_of_words(&sizes.collect::<Vec<u64>>());
        (map.edges.len() >= KNOWN_BY_GRAPH_EDGES)
            .then(|| (String::new(), vec![group.hash(), sizes]))
    });
    matching.pair(Pairing::Changed, &|group| {
        Some((linkage(group), Vec::new()))
    });
    matching.pair(Pairing::Changed, &|group| {
        Some((shown(group).to_string(), Vec::new()))
    });
    (matching.matched, matching.unmatched)
}

/// What must be equal in two functions that match.
type Key = (String, Vec<u64>);

struct Matching<'m, 'a> {
    groups: &'m mut Both<Vec<Group<'a>>>,
    matched: Vec<Matched>,
    unmatched: Both<Vec<usize>>,
}

impl Matching<'_, '_> {
    /// Adds up the functions of each run with equal keys.
    fn add_up(&mut self, key: &dyn Fn(&Group<'_>) -> Key) {
        for (side, unmatched) in self.unmatched.iter_mut().enumerate() {
            let mut first: BTreeMap<Key, usize> = BTreeMap::new();
            unmatched.retain(|&index| {
                let kept = *first.entry(key(&self.groups[side][index])).or_insert(index);
                if kept != index {
                    let (before, from) = self.groups[side].split_at_mut(index);
                    before[kept].add(&from[0]);
                }
                kept == index
            });
        }
    }

    /// Pairs the functions with equal keys that no other function of their run has.
    fn pair(&mut self, pairing: Pairing, key: &dyn Fn(&Group<'_>) -> Option<Key>) {
        let mut candidates: BTreeMap<Key, Both<Vec<usize>>> = BTreeMap::new();
        for (side, unmatched) in self.unmatched.iter().enumerate() {
            for &index in unmatched {
                if let Some(key) = key(&self.groups[side][index]) {
                    candidates.entry(key).or_default()[side].push(index);
                }
            }
        }
        for sides in candidates.into_values() {
            if let [&[a], &[b]] = sides.each_ref().map(Vec::as_slice) {
                let groups = [a, b];
                let [from, to] = [0, 1].map(|side: usize| {
                    let map = self.groups[side][groups[side]].map();
                    file_name(&map.file)
                });
                let pairing = match pairing {
                    Pairing::Same if from != to => Pairing::Moved,
                    pairing => pairing,
                };
                self.matched.push(Matched { groups, pairing });
                for (unmatched, taken) in self.unmatched.iter_mut().zip(groups) {
                    unmatched.retain(|&index| index != taken);
                }
            }
        }
    }
}

/// The name of a file without its directory.
fn file_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The last part of a demangled name: `next` of `lexer::Tokens<T>::next`. Separators within
/// brackets do not count.
fn last_part(name: &str) -> &str {
    let bytes = name.as_bytes();
    let mut depth = 0usize;
    let mut start = 0;
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if index > 0 && bytes[index - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => start = index + 1,
            _ => {}
        }
    }
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::last_part;

    #[test]
    fn the_last_part_of_a_name_is_outside_of_brackets() {
        let check = |name: &str, expect: &str| assert_eq!(last_part(name), expect);
        check("main", "main");
        check("lexer::Tokens<a::T>::next", "next");
        check("<a::B as c::D>::e", "e");
        check("a::f<b::C>", "f<b::C>");
        check("ns::apply(int (*)(a::b))", "apply(int (*)(a::b))");
        check("a::f::{closure#0}", "{closure#0}");
        check("a::call<fn(u8) -> b::C>", "call<fn(u8) -> b::C>");
    }
}
