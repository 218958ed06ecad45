//! What a test covers: paths (or edges), or lines, as items that are comparable between the runs of
//! tests.
//!
//! Tests of one program have the same path map. Other programs may contain copies of a function.
//! Copies with equal names and graphs are one function here.

use std::collections::BTreeMap;

use holloway_abi::Unit;
use holloway_format::{Count, EdgeKind, Scope, Text};

use crate::lines;
use crate::run::{Function, RunProfile};

/// What tests shall cover.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Goal {
    /// Paths, or edges of functions whose edges were counted. They imply lines and branches.
    #[default]
    Paths,
    /// Lines.
    Lines,
}

/// A thing that a test covers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Item {
    /// A path.
    Path(GraphId, u64),
    /// An edge.
    Edge(GraphId, u32),
    /// A line of a file.
    Line(String, u32),
}

/// A function with its graph.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GraphId {
    /// Linkage name.
    pub linkage_name: Text,
    /// Hash of the graph.
    pub hash: u64,
}

impl GraphId {
    /// The id of a function's graph.
    pub fn new(function: &Function) -> Self {
        Self {
            linkage_name: function.map.linkage_name.clone(),
            hash: function.map.hash,
        }
    }
}

/// The items that a test covered in the scopes that `keep` accepts, with their executions. Paths
/// and edges are those of functions that it accepts themselves.
pub fn covered_items(
    run: &RunProfile,
    goal: Goal,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<Item, Count> {
    let mut items = BTreeMap::new();
    match goal {
        Goal::Paths => {
            let ran = run.functions.iter().filter(|function| function.ran());
            for function in ran.filter(|function| keeps(function, keep)) {
                add_paths_or_edges(function, &mut items);
            }
        }
        Goal::Lines => {
            for (file, lines) in lines::counts(run, keep) {
                let ran = lines.into_iter().filter(|&(_, count)| count > Count::ZERO);
                items.extend(ran.map(|(line, count)| (Item::Line(file.clone(), line), count)));
            }
        }
    }
    items
}

/// Whether the function itself is accepted.
fn keeps(function: &Function, keep: &dyn Fn(&Function, &Scope) -> bool) -> bool {
    let mut scopes = function.map.scopes.iter();
    scopes.any(|scope| scope.parent.is_none() && keep(function, scope))
}

fn add_paths_or_edges(function: &Function, items: &mut BTreeMap<Item, Count>) {
    let mut add = |item: Item, count: Count| {
        let sum: &mut Count = items.entry(item).or_default();
        *sum = sum.saturating_add(count);
    };
    match function.unit() {
        Unit::Paths => {
            for &(path, count) in &function.counts {
                add(Item::Path(GraphId::new(function), path.0), count);
            }
        }
        Unit::Edges => {
            let edges = (0u32..).zip(&function.map.edges);
            for ((number, edge), &count) in edges.zip(&function.flow().edges) {
                let count = Count(u64::try_from(count).unwrap_or(0));
                if count > Count::ZERO && edge.kind != EdgeKind::Exit {
                    add(Item::Edge(GraphId::new(function), number), count);
                }
            }
        }
    }
}
