//! Finds each function of one run in another run, also if it was moved, renamed, or changed.
//!
//! Each level pairs functions that the levels before it left, and only if no other function of
//! either run could be meant:
//!
//! 1. Equal linkage names and graphs, in files with equal paths, then with equal names.
//! 2. The same with the names that the user knows. Several functions may have one name, for example
//!    the instances of a generic function in builds with other hashes in their linkage names. What
//!    is left in one file is added up then, because nothing tells these functions apart.
//! 3. Equal names and graphs, in files with other names: the function has moved.
//! 4. Equal names, but other graphs: the code of the function has changed.
//! 5. Equal graphs, and the last parts of the names are equal: the function has moved to another
//!    module or type.
//! 6. Equal graphs, and the same file and line: the function was renamed where it stands.
//! 7. Equal graphs with equal numbers of instructions in each block: the function was renamed.
//!
//! Levels 5 to 7 leave out functions whose name the other run has, too. Levels 5 and 7 leave out
//! small functions, because many look alike. Directories do not tell functions apart: builds in two
//! directories, or of two versions of a dependency, have other ones.

use std::collections::{BTreeMap, BTreeSet};
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

/// Pairs the groups of two runs, and adds up groups that nothing tells apart. Also returns the
/// groups of each run without a counterpart.
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
    let file = |group: &Group<'_>| file_name(&group.map().file).to_owned();
    let with = |name: String, group: &Group<'_>| Some((name, vec![group.hash()]));
    let in_file = |name: &str, group: &Group<'_>| format!("{name} {}", file(group));
    matching.pair(Pairing::Same, &|group| {
        with(format!("{} {}", linkage(group), group.map().file), group)
    });
    matching.pair(Pairing::Same, &|group| {
        with(in_file(&linkage(group), group), group)
    });
    matching.pair(Pairing::Same, &|group| {
        with(in_file(&shown(group), group), group)
    });
    matching.add_up(&|group| (in_file(&shown(group), group), vec![group.hash()]));
    matching.pair(Pairing::Same, &|group| {
        with(in_file(&shown(group), group), group)
    });
    matching.pair(Pairing::Moved, &|group| with(linkage(group), group));
    matching.pair(Pairing::Moved, &|group| {
        with(shown(group).to_string(), group)
    });
    matching.pair(Pairing::Changed, &|group| {
        Some((linkage(group), Vec::new()))
    });
    matching.pair(Pairing::Changed, &|group| {
        Some((shown(group).to_string(), Vec::new()))
    });
    let names = matching.groups.each_ref().map(|groups| {
        let names = groups.iter().map(&shown);
        names.collect::<BTreeSet<Rc<str>>>()
    });
    // A function whose name the other run has, too, is not one of another name.
    let is_nameless = |group: &Group<'_>| {
        let name = shown(group);
        !names.iter().all(|names| names.contains(&name))
    };
    let is_large = |group: &Group<'_>| group.map().edges.len() >= KNOWN_BY_GRAPH_EDGES;
    matching.pair(Pairing::Moved, &|group| {
        let last = last_part(&shown(group)).to_owned();
        with(last, group).filter(|_| is_nameless(group) && is_large(group))
    });
    matching.pair(Pairing::Renamed, &|group| {
        let map = group.map();
        let place = format!("{}:{}", map.file, map.line);
        with(place, group).filter(|_| is_nameless(group) && map.line != 0)
    });
    matching.pair(Pairing::Renamed, &|group| {
        let map = group.map();
        let sizes = map.blocks.iter().map(|block| block.instructions.into());
        let sizes = hash_of_words(&sizes.collect::<Vec<u64>>());
        let key = (String::new(), vec![group.hash(), sizes]);
        (is_nameless(group) && is_large(group)).then_some(key)
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
        let mut taken = self
            .groups
            .each_ref()
            .map(|groups| vec![false; groups.len()]);
        for sides in candidates.into_values() {
            if let [&[a], &[b]] = sides.each_ref().map(Vec::as_slice) {
                taken[0][a] = true;
                taken[1][b] = true;
                let groups = [a, b];
                self.matched.push(Matched { groups, pairing });
            }
        }
        for (unmatched, taken) in self.unmatched.iter_mut().zip(&taken) {
            unmatched.retain(|&index| !taken[index]);
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
