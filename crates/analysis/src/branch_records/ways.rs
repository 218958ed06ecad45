//! The ways between blocks whose code is known, through blocks without code; and the path numbers
//! along them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use holloway_format::{DagKind, EdgeKind, FunctionMap};

/// Number of edges that are visited in the search from one block. Enough for a switch with
/// thousands of cases; beyond it, ways are not known.
const MAX_VISITS: usize = 1 << 14;

/// The way from one seen block to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// These edges.
    Edges(Vec<u32>),
    /// There are several ways.
    Ambiguous,
}

/// What an edge does to the path register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The path goes on: adds this value.
    Inside(u64),
    /// The path ends with this value.
    End(u64),
    /// The edge is on no path.
    Absent,
}

/// A function's graph, for walks along seen blocks.
#[derive(Debug)]
pub(super) struct Ways {
    pub(super) entry: u32,
    pub(super) exit: u32,
    /// By edge: its target.
    targets: Vec<u32>,
    seen: BTreeSet<u32>,
    /// By block: the edges that leave it, without exit edges.
    successors: Vec<Vec<u32>>,
    /// By edge.
    roles: Vec<Role>,
    /// By block: the number with which paths start there.
    starts: BTreeMap<u32, u64>,
    /// By block: the ways to the next seen blocks, and to the exit.
    known: HashMap<u32, BTreeMap<u32, Way>>,
}

impl Ways {
    pub(super) fn new(map: &FunctionMap, seen: BTreeSet<u32>) -> Self {
        let mut successors = vec![Vec::new(); map.blocks.len()];
        for (number, edge) in (0u32..).zip(&map.edges) {
            let is_inside = (edge.to as usize) < map.blocks.len();
            if edge.kind != EdgeKind::Exit
                && is_inside
                && let Some(edges) = successors.get_mut(edge.from as usize)
            {
                edges.push(number);
            }
        }
        let mut roles = vec![Role::Absent; map.edges.len()];
        let mut starts = BTreeMap::new();
        for edge in &map.dag {
            let (number, role) = match edge.kind {
                DagKind::Start(block) => {
                    starts.insert(block, edge.value);
                    continue;
                }
                DagKind::Edge(number) if edge.to == map.exit => (number, Role::End(edge.value)),
                DagKind::Edge(number) => (number, Role::Inside(edge.value)),
                DagKind::Back(number) | DagKind::Cut(number) => (number, Role::End(edge.value)),
            };
            if let Some(entry) = roles.get_mut(number as usize) {
                *entry = role;
            }
        }
        Self {
            entry: map.entry,
            exit: map.exit,
            targets: map.edges.iter().map(|edge| edge.to).collect(),
            seen,
            successors,
            roles,
            starts,
            known: HashMap::new(),
        }
    }

    /// The block that an edge reaches.
    pub(super) fn target(&self, edge: u32) -> u32 {
        self.targets[edge as usize]
    }

    pub(super) fn role(&self, edge: u32) -> Role {
        self.roles[edge as usize]
    }

    /// The number with which a path starts at a block that a back edge or a cut edge reaches.
    pub(super) fn start(&self, block: u32) -> Option<u64> {
        self.starts.get(&block).copied()
    }

    /// The way from a block to the next seen block, or to the exit. `None` if there is none.
    pub(super) fn way(&mut self, from: u32, to: u32) -> Option<Way> {
        if !self.known.contains_key(&from) {
            let found = self.search(from);
            self.known.insert(from, found);
        }
        self.known[&from].get(&to).cloned()
    }

    /// All ways from a block, shortest first.
    fn search(&self, from: u32) -> BTreeMap<u32, Way> {
        let mut found: BTreeMap<u32, Way> = BTreeMap::new();
        let mut ways: Vec<Vec<u32>> = vec![Vec::new()];
        let mut visits = 0;
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let end = way.last().map_or(from, |&edge| self.target(edge));
                let Some(successors) = self.successors.get(end as usize) else {
                    continue;
                };
                for &edge in successors {
                    visits += 1;
                    let to = self.target(edge);
                    let mut next = way.clone();
                    next.push(edge);
                    if to == self.exit || self.seen.contains(&to) {
                        let entry = found.entry(to);
                        entry
                            .and_modify(|way| *way = Way::Ambiguous)
                            .or_insert(Way::Edges(next));
                        continue;
                    }
                    // A way visits a block once.
                    if to != from && way.iter().all(|&edge| self.target(edge) != to) {
                        longer.push(next);
                    }
                }
                if visits > MAX_VISITS {
                    return BTreeMap::new();
                }
            }
            ways = longer;
        }
        found
    }
}
