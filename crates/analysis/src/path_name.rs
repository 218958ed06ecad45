//! Names paths by their decisions.
//!
//! A path number holds for one build of one kind. The *short name* of a path is the same in every
//! build, as long as the function's graph is unchanged. It is the beginning of a hash of the path's
//! description:
//!
//! - where the path starts: at the entry, or at a block inside the function;
//! - each branch on the path: how many ways it has, and which way the path takes;
//! - how the path ends, and where.
//!
//! # Which graph
//! Builds of different kinds have different graphs of the same code. Exit edges and the division of
//! blocks after calls depend on the kind (`--exits`), and a trace also divides blocks before calls.
//! So the description refers to the graph without these differences. The parts of a block count as
//! one block, and exit edges do not count as ways of a branch. A block is identified by its place
//! in a depth-first search from the entry that takes the ways of each branch in order. A position
//! inside a block is the number of its instructions before the position. Names, lines, edge values,
//! and the order of blocks have no effect.
//!
//! A path of a trace that ends before a call has a name of its own, because it is only a piece of
//! the route through the function that a path profile counts as one path.
//!
//! # How long a name is
//! The hash has 16 hexadecimal digits. Reports show its first digits; any beginning that is unique
//! among the paths in question is accepted, as for the commits of git. The number of shown digits
//! depends on the function's graph alone, so a name never changes because other paths ran: with up
//! to 64 routes through the function 4 digits, and one more for each fourfold, up to 8. Then even
//! if all of these routes run, the chance that two of them share their digits is at most 3 %.
//!
//! Example: the shortest way through `b0 → b1 | b2`, `b1 → b2`, `b2 → return` starts at the entry,
//! takes way 1 of 2 in block 0, and ends in block 2 by its way 0. The description is the words
//! `0  2 2 1  3 2 0`.
//!
//! Cost: one pass over the graph of a function, and a step for each edge of a named path.

use std::fmt;

use holloway_flow::{EdgeId, Path, PathEnd, PathStart};
use holloway_format::map::hash_of_words;
use holloway_format::{EdgeKind, FunctionMap, Outcome};

use crate::chain::chains;

/// The fewest digits of a name that reports show, and that users may write.
pub const MIN_DIGITS: usize = 4;
/// The most digits of a name that reports show, unless shorter names would be ambiguous.
const MAX_SHOWN_DIGITS: usize = 8;
/// Digits of a full name.
const FULL_DIGITS: usize = 16;
/// The largest number of routes for which names have [`MIN_DIGITS`].
const ROUTES_OF_SHORTEST_NAMES: u64 = 64;

/// The name of a path within its function. It is shown as `#3fa2`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathName {
    hash: u64,
    shown_digits: usize,
}

impl PathName {
    /// The full name: 16 hexadecimal digits, without `#`.
    pub fn full(self) -> String {
        format!("{:016x}", self.hash)
    }

    /// The full name as a number.
    pub fn hash(self) -> u64 {
        self.hash
    }

    /// The same name with enough digits shown to distinguish it from another name.
    #[must_use]
    pub fn distinguished_from(self, other: PathName) -> PathName {
        let equal_digits = ((self.hash ^ other.hash).leading_zeros() / 4) as usize;
        PathName {
            shown_digits: self.shown_digits.max(equal_digits + 1).min(FULL_DIGITS),
            ..self
        }
    }
}

impl fmt::Display for PathName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", &self.full()[..self.shown_digits])
    }
}

/// The beginning of a path's name, as a user writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NamePrefix {
    /// The digits, as the first digits of a full name.
    hash: u64,
    digits: usize,
}

impl NamePrefix {
    /// Reads 4 to 16 hexadecimal digits.
    pub fn parse(digits: &str) -> Option<NamePrefix> {
        let is_prefix = (MIN_DIGITS..=FULL_DIGITS).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| is_prefix)?;
        Some(NamePrefix {
            hash: number << (4 * (FULL_DIGITS - digits.len())),
            digits: digits.len(),
        })
    }

    /// Splits `name#3fa2` into the name and the beginning of a path's name. `None` if the text does
    /// not end so: the digits of `{closure#0}` are too few, and are not its end.
    pub fn split(text: &str) -> Option<(&str, NamePrefix)> {
        let (name, digits) = text.rsplit_once('#')?;
        Some((name, NamePrefix::parse(digits)?))
    }

    /// Whether a name begins with these digits.
    pub fn matches(self, name: PathName) -> bool {
        (self.hash ^ name.hash).leading_zeros() as usize >= 4 * self.digits
    }
}

impl fmt::Display for NamePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", &format!("{:016x}", self.hash)[..self.digits])
    }
}

/// Names the paths of a function.
#[derive(Clone, Debug)]
pub struct PathNames {
    /// By block of the map.
    parts: Vec<Part>,
    /// By edge of the map.
    edges: Vec<Step>,
    shown_digits: usize,
}

/// A block of the map as a part of a block of the graph that all kinds have.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The block, by its place in the search.
    block: u64,
    /// Instructions of the block before this part.
    offset: u64,
    /// Instructions of the block up to the end of this part.
    end: u64,
    beginning: Beginning,
}

/// What comes before a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beginning {
    /// The part begins its block.
    Block = 0,
    /// A call that came back.
    Call = 1,
    /// A cut inside the block.
    Split = 2,
}

/// The meaning of an edge in the graph that all kinds have.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The part that the edge leaves.
    from: usize,
    kind: StepKind,
}

#[derive(Clone, Copy, Debug)]
enum StepKind {
    /// A way of a branch, or the only way out of a block.
    Way { ways: u64, way: u64 },
    /// From a part of a block to the next part.
    Within(Beginning),
    /// A call in the part does not come back.
    Left,
}

/// The first words of the elements of a description.
mod tag {
    pub(super) const ENTRY: u64 = 0;
    pub(super) const INSIDE: u64 = 1;
    pub(super) const DECISION: u64 = 2;
    pub(super) const EXIT: u64 = 3;
    pub(super) const BACK: u64 = 4;
    pub(super) const CUT: u64 = 5;
    pub(super) const LEFT: u64 = 6;
}

impl PathNames {
    /// Prepares the names of a function's paths.
    pub fn new(map: &FunctionMap) -> PathNames {
        let shared = SharedGraph::new(map);
        let order = shared.search();
        let parts = (0..map.blocks.len()).map(|part| {
            let offset = shared.offsets[part];
            Part {
                block: order.places[shared.roots[part]],
                offset,
                end: offset + u64::from(map.blocks[part].instructions),
                beginning: shared.beginnings[part],
            }
        });
        let steps = map
            .edges
            .iter()
            .zip(&shared.way_numbers)
            .map(|(edge, &way)| Step {
                from: edge.from as usize,
                kind: match within(edge.outcome) {
                    Some(beginning) => StepKind::Within(beginning),
                    None if edge.kind == EdgeKind::Exit => StepKind::Left,
                    None => StepKind::Way {
                        ways: shared.ways[shared.roots[edge.from as usize]].len() as u64,
                        way,
                    },
                },
            });
        PathNames {
            parts: parts.collect(),
            edges: steps.collect(),
            shown_digits: shown_digits(order.routes),
        }
    }

    /// The name of a path of this function.
    ///
    /// # Panics
    /// If the map does not have the path's blocks and edges.
    pub fn name(&self, path: &Path) -> PathName {
        PathName {
            hash: hash_of_words(&self.description(path)),
            shown_digits: self.shown_digits,
        }
    }

    /// The words whose hash is the path's name.
    fn description(&self, path: &Path) -> Vec<u64> {
        let mut words = Vec::with_capacity(8 + 3 * path.edges.len());
        match path.start {
            PathStart::Entry => words.push(tag::ENTRY),
            PathStart::Loop(head) => {
                let part = self.parts[head.index()];
                let beginning = part.beginning as u64;
                words.extend([tag::INSIDE, part.block, part.offset, beginning]);
            }
        }
        for edge in &path.edges {
            self.describe_decision(*edge, &mut words);
        }
        let last = path.end.edge();
        self.describe_decision(last, &mut words);
        let step = self.edges[last.index()];
        let from = self.parts[step.from];
        let end = match path.end {
            PathEnd::Exit(_) => tag::EXIT,
            PathEnd::Back(_) => tag::BACK,
            PathEnd::Cut(_) => tag::CUT,
        };
        match step.kind {
            StepKind::Way { way, .. } => words.extend([end, from.block, way]),
            StepKind::Within(beginning) => {
                words.extend([end, from.block, from.end, beginning as u64]);
            }
            StepKind::Left => words.extend([tag::LEFT, from.block, from.end]),
        }
        words
    }

    /// Adds the decision of an edge, if its block has several ways out.
    fn describe_decision(&self, edge: EdgeId, words: &mut Vec<u64>) {
        match self.edges[edge.index()].kind {
            StepKind::Way { ways, way } if ways > 1 => words.extend([tag::DECISION, ways, way]),
            StepKind::Way { .. } | StepKind::Within(_) | StepKind::Left => {}
        }
    }
}

/// The number of digits that reports show of the names in a function with this many routes.
fn shown_digits(routes: u64) -> usize {
    let mut digits = MIN_DIGITS;
    let mut most_routes = ROUTES_OF_SHORTEST_NAMES;
    while routes > most_routes && digits < MAX_SHOWN_DIGITS {
        most_routes *= 4;
        digits += 1;
    }
    digits
}

/// What the target of an edge begins with, if the edge connects two parts of a block.
fn within(outcome: Outcome) -> Option<Beginning> {
    match outcome {
        Outcome::Returned => Some(Beginning::Call),
        Outcome::Split => Some(Beginning::Split),
        Outcome::Jump
        | Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Normal
        | Outcome::Unwind
        | Outcome::Indirect
        | Outcome::AsmGoto
        | Outcome::Return
        | Outcome::Noreturn
        | Outcome::Resume
        | Outcome::TailCall
        | Outcome::Again
        | Outcome::Left => None,
    }
}

/// The graph that all kinds have: the parts of each block are joined, and exit edges are left out.
struct SharedGraph<'a> {
    map: &'a FunctionMap,
    /// By part: the first part of its block.
    roots: Vec<usize>,
    /// By part: the instructions of its block before it.
    offsets: Vec<u64>,
    beginnings: Vec<Beginning>,
    /// By first part of a block: the edges out of the block.
    ways: Vec<Vec<u32>>,
    /// By edge: its number among the edges out of its block. 0 for edges within a block and exit
    /// edges.
    way_numbers: Vec<u64>,
}

/// The result of the search over a graph.
struct Order {
    /// By first part of a block: the block's place in the search.
    places: Vec<u64>,
    /// Number of routes from the entry or a loop head to the exit or a loop head. Saturates.
    routes: u64,
}

impl SharedGraph<'_> {
    fn new(map: &FunctionMap) -> SharedGraph<'_> {
        let count = map.blocks.len();
        let mut previous: Vec<Option<usize>> = vec![None; count];
        let mut beginnings = vec![Beginning::Block; count];
        for edge in &map.edges {
            if let Some(beginning) = within(edge.outcome) {
                previous[edge.to as usize] = Some(edge.from as usize);
                beginnings[edge.to as usize] = beginning;
            }
        }
        let instructions = |part: usize| u64::from(map.blocks[part].instructions);
        let (roots, offsets) = (0..count)
            .zip(chains(&previous, instructions))
            .map(|(part, chain)| (chain.last, chain.weight - instructions(part)))
            .unzip();
        let mut graph = SharedGraph {
            map,
            roots,
            offsets,
            beginnings,
            ways: vec![Vec::new(); count],
            way_numbers: vec![0; map.edges.len()],
        };
        for (number, edge) in (0u32..).zip(&map.edges) {
            if edge.kind != EdgeKind::Exit && within(edge.outcome).is_none() {
                let ways = &mut graph.ways[graph.roots[edge.from as usize]];
                graph.way_numbers[number as usize] = ways.len() as u64;
                ways.push(number);
            }
        }
        graph
    }

    /// Numbers the blocks in the order in which a depth-first search from the entry finds them.
    /// Blocks that the search does not find come last.
    fn search(&self) -> Order {
        let exit = self.roots[self.map.exit as usize];
        let mut places = vec![u64::MAX; self.roots.len()];
        let mut is_open = vec![false; self.roots.len()];
        let mut is_head = vec![false; self.roots.len()];
        // Routes from a block to an end.
        let mut routes = vec![0u64; self.roots.len()];
        routes[exit] = 1;
        let mut next_place = 0;
        let entry = self.roots[self.map.entry as usize];
        let roots = (0..self.roots.len()).filter(|&part| self.roots[part] == part);
        for root in std::iter::once(entry).chain(roots) {
            if places[root] != u64::MAX {
                continue;
            }
            // Blocks whose ways are being followed, each with the next way.
            let mut open: Vec<(usize, usize)> = Vec::new();
            let mut found = Some(root);
            loop {
                if let Some(block) = found.take() {
                    places[block] = next_place;
                    next_place += 1;
                    is_open[block] = true;
                    open.push((block, 0));
                }
                let Some((block, way)) = open.last_mut() else {
                    break;
                };
                let block = *block;
                let Some(&edge) = self.ways[block].get(*way) else {
                    is_open[block] = false;
                    open.pop();
                    if let Some(&(parent, _)) = open.last() {
                        routes[parent] = routes[parent].saturating_add(routes[block]);
                    }
                    continue;
                };
                *way += 1;
                let target = self.roots[self.map.edges[edge as usize].to as usize];
                if places[target] == u64::MAX {
                    found = Some(target);
                } else if is_open[target] {
                    is_head[target] = true;
                    routes[block] = routes[block].saturating_add(1);
                } else {
                    routes[block] = routes[block].saturating_add(routes[target]);
                }
            }
        }
        let starts = (0..is_head.len()).filter(|&block| block != entry && is_head[block]);
        let routes = starts.fold(routes[entry], |sum, head| sum.saturating_add(routes[head]));
        Order { places, routes }
    }
}

#[cfg(test)]
mod tests {
    use super::{NamePrefix, PathName, shown_digits};

    fn name(hash: u64) -> PathName {
        PathName {
            hash,
            shown_digits: 4,
        }
    }

    #[test]
    fn names_show_their_first_digits() {
        let name = name(0x03fa_2b1c_0000_0001);
        assert_eq!(name.to_string(), "#03fa");
        assert_eq!(name.full(), "03fa2b1c00000001");
    }

    #[test]
    fn equal_digits_make_a_name_longer() {
        let [a, b] = [name(0x3fa2_b1c0_0000_0000), name(0x3fa2_b2c0_0000_0000)];
        assert_eq!(a.distinguished_from(b).to_string(), "#3fa2b1");
        assert_eq!(a.distinguished_from(name(1)).to_string(), "#3fa2");
    }

    #[test]
    fn four_to_sixteen_digits_are_a_prefix() {
        let prefix =
            |text| NamePrefix::split(text).map(|(name, prefix)| (name, prefix.to_string()));
        assert_eq!(prefix("f#3FA2"), Some(("f", "#3fa2".to_owned())));
        assert_eq!(
            prefix("a::b#0123456789abcdef").unwrap().1,
            "#0123456789abcdef"
        );
        assert_eq!(prefix("f#3fa"), None);
        assert_eq!(prefix("f#0123456789abcdef0"), None);
        assert_eq!(prefix("a::{closure#0}"), None);
        assert_eq!(prefix("f#+fa2"), None);
        assert_eq!(prefix("f:12"), None);
    }

    #[test]
    fn a_prefix_matches_the_beginning_of_a_name() {
        let prefix = |digits| NamePrefix::parse(digits).unwrap();
        let name = name(0x3fa2_b1c0_0000_0001);
        assert!(prefix("3fa2").matches(name));
        assert!(prefix("3fa2b1c000000001").matches(name));
        assert!(!prefix("3fa3").matches(name));
        assert!(!prefix("3fa2b1c000000000").matches(name));
    }

    #[test]
    fn functions_with_many_routes_have_longer_names() {
        for (routes, digits) in [(0, 4), (64, 4), (65, 5), (256, 5), (257, 6), (4097, 8)] {
            assert_eq!(shown_digits(routes), digits, "{routes} routes");
        }
        assert_eq!(shown_digits(u64::MAX), 8);
    }
}
