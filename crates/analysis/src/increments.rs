//! What the edges of a function add to the number of a path, in the function's code: the values of
//! the numbering (Ball and Larus 1996, section 3.2), and the increments of the chords (section
//! 3.3), at which the weaver placed the additions.
//!
//! The path map marks the chords, because their choice depends on weights that are known only when
//! the program is woven: branch hints of the compiler, or the counts of a guide. The increments
//! follow from the values and the chords ([`holloway_flow::Chords`]).
//!
//! Example (the graph of the crate `flow`; the tree is CD, DE, EF, AB): the path ACDF has the
//! values 0 + 0 + 0, and the increments 1 of the chord AC and −1 of the chord DF. Both sums are 0,
//! the number of the path.
//!
//! Cost: linear in edges.

use holloway_flow::{Chords, DagEdgeId, Path, PathStart};
use holloway_format::{DagKind, FunctionMap};

use crate::graph::Graph;

/// What an edge of the acyclic graph adds to the number of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The value of the edge.
    pub value: u64,
    /// What the code adds on the edge.
    pub increment: Increment,
}

/// What the code adds to the path register on an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Increment {
    /// This number, because the edge is a chord.
    Chord(i64),
    /// Nothing, because the edge is on the spanning tree.
    Tree,
    /// The map does not mark the chords, because an earlier version wrote it.
    Unknown,
}

/// What an edge of the graph adds to the numbers of paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EdgeTerms {
    /// For the path that takes the edge, or that ends there. `None` if no path takes the edge.
    pub before: Option<Term>,
    /// For the path that starts after the edge, if a path ends there.
    pub after: Option<Term>,
}

/// What the edges of a function add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Increments {
    /// By edge of the map.
    pub edges: Vec<EdgeTerms>,
    /// By edge of the acyclic graph.
    terms: Vec<Term>,
}

impl Increments {
    /// What the edges of a function add. `graph` is the graph of `map`.
    pub fn new(map: &FunctionMap, graph: &Graph) -> Increments {
        let ids: Vec<DagEdgeId> = map.chords.iter().map(|&edge| DagEdgeId(edge)).collect();
        // Each numbering has a chord, so a map without chords does not mark them.
        let chords = (!ids.is_empty())
            .then(|| Chords::of_chords(graph.numbering(), &ids))
            .flatten();
        let term = |(number, edge): (u32, &holloway_format::DagEdgeMap)| {
            let increment = match &chords {
                None => Increment::Unknown,
                Some(chords) if chords.is_chord(DagEdgeId(number)) => {
                    Increment::Chord(chords.increment(DagEdgeId(number)))
                }
                Some(_) => Increment::Tree,
            };
            Term {
                value: edge.value,
                increment,
            }
        };
        let terms: Vec<Term> = (0u32..).zip(&map.dag).map(term).collect();
        let mut edges = vec![EdgeTerms::default(); map.edges.len()];
        for (edge, &term) in map.dag.iter().zip(&terms) {
            match edge.kind {
                DagKind::Edge(number) => edges[number as usize].before = Some(term),
                DagKind::Back(number) | DagKind::Cut(number) => {
                    let target = map.edges[number as usize].to;
                    edges[number as usize] = EdgeTerms {
                        before: Some(term),
                        after: start(map, target).map(|start| terms[start]),
                    };
                }
                DagKind::Start(_) => {}
            }
        }
        Increments { edges, terms }
    }

    /// The terms along a path, from its start to its end. The sum of their values is the number of
    /// the path, and so is the sum of their increments.
    pub fn along(&self, map: &FunctionMap, path: &Path) -> Vec<Term> {
        let start = match path.start {
            PathStart::Entry => None,
            PathStart::Loop(head) => start(map, head.0).map(|start| self.terms[start]),
        };
        let edges = path.edges.iter().copied().chain([path.end.edge()]);
        let terms = edges.filter_map(|edge| self.edges.get(edge.index())?.before);
        start.into_iter().chain(terms).collect()
    }
}

/// The number of the start edge of paths that start at a block.
fn start(map: &FunctionMap, head: u32) -> Option<usize> {
    let mut dag = map.dag.iter();
    dag.position(|edge| edge.kind == DagKind::Start(head))
}
