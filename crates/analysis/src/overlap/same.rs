//! The same path in two builds of one function.
//!
//! Builds of the same code have the same edges in the same order, but for what exit edges bring: the exit edges
//! themselves, and blocks divided into *parts* behind calls that may not come back. Their paths may be numbered in another
//! order, and be cut elsewhere. A path is the same if it starts in the same part, runs the same lasting edges, and
//! ends with the same edge.
//!
//! Cost: the length of each path.

use std::collections::HashMap;

use holloway_flow::{BlockId, EdgeId, Path, PathEnd, PathId, PathStart};
use holloway_format::{EdgeKind, FunctionMap, Outcome};

pub(crate) use super::number::Number;
use super::number::{Numbered, lasting};
use crate::run::Function;

/// A part of a block: the block's number where blocks are whole, and which part.
pub(super) type Part = (u32, u32);

/// The blocks of a map as parts of whole ones. The parts of a block follow one another.
pub(super) struct Parts {
    parts: Vec<Part>,
    blocks: HashMap<Part, u32>,
    /// By block: the edge behind the call that it ends with.
    returned: HashMap<u32, u32>,
}

impl Parts {
    pub(super) fn new(map: &FunctionMap) -> Parts {
        let edges = (0u32..).zip(&map.edges);
        let returned = edges.filter(|(_, edge)| edge.outcome == Outcome::Returned);
        let returned: HashMap<u32, u32> = returned.map(|(id, edge)| (edge.from, id)).collect();
        let mut later = vec![false; map.blocks.len()];
        for &edge in returned.values() {
            later[map.edges[edge as usize].to as usize] = true;
        }
        let mut parts: Vec<Part> = Vec::with_capacity(later.len());
        for later in later {
            parts.push(match parts.last() {
                Some(&(whole, part)) if later => (whole, part + 1),
                Some(&(whole, _)) => (whole + 1, 0),
                None => (0, 0),
            });
        }
        let blocks = parts.iter().copied().zip(0u32..).collect();
        Parts {
            parts,
            blocks,
            returned,
        }
    }

    pub(super) fn part(&self, block: u32) -> Part {
        self.parts[block as usize]
    }
}

/// The numbers that a function's paths have in the numbering of another with the same graph; their own where it has no
/// such path.
pub(crate) fn numbering<'a>(
    function: &'a Function,
    common: &'a Function,
) -> Box<dyn Fn(PathId) -> Number + 'a> {
    let (from, to) = (&function.map, &common.map);
    let structure = from.structure_hash();
    if std::ptr::eq(function, common) || structure == to.structure_hash() {
        return Box::new(|path| (Numbered::Common, path.0));
    }
    let same = Same::new(from, to);
    Box::new(move |id| {
        let path = function.graph().and_then(|graph| graph.path(id));
        let path = path.and_then(|path| same.path(&path));
        let number = path.and_then(|path| common.graph()?.number(&path));
        match number {
            Some(path) => (Numbered::Common, path.0),
            None => (Numbered::Own { structure }, id.0),
        }
    })
}

/// Blocks and edges of one map in another.
struct Same<'a> {
    from: &'a FunctionMap,
    to: &'a FunctionMap,
    blocks: Vec<Option<u32>>,
    edges: Vec<Option<u32>>,
    /// In the other map, by block: the edge behind the call that it ends with.
    returned: HashMap<u32, u32>,
}

impl<'a> Same<'a> {
    fn new(from: &'a FunctionMap, to: &'a FunctionMap) -> Same<'a> {
        let (ours, theirs) = (Parts::new(from), Parts::new(to));
        let blocks: Vec<Option<u32>> = ours
            .parts
            .iter()
            .map(|part| theirs.blocks.get(part).copied())
            .collect();
        let mut edges = vec![None; from.edges.len()];
        for ((_, ours), (_, theirs)) in lasting(from).zip(lasting(to)) {
            edges[ours] = Some(theirs as u32);
        }
        // The others are known by where they stand.
        let mut exits: HashMap<u32, u32> = HashMap::new();
        for (id, edge) in (0u32..).zip(&to.edges) {
            if edge.kind == EdgeKind::Exit {
                exits.insert(edge.from, id);
            }
        }
        for (edge, same) in from.edges.iter().zip(&mut edges) {
            let table = match edge.kind {
                EdgeKind::Exit => &exits,
                _ if edge.outcome == Outcome::Returned => &theirs.returned,
                _ => continue,
            };
            let block = blocks[edge.from as usize];
            *same = block.and_then(|block| table.get(&block).copied());
        }
        Same {
            from,
            to,
            blocks,
            edges,
            returned: theirs.returned,
        }
    }

    fn path(&self, path: &Path) -> Option<Path> {
        let first = self.blocks[path.blocks.first()?.index()]?;
        let mut same = Path {
            start: match path.start {
                PathStart::Entry => PathStart::Entry,
                PathStart::Loop(_) => PathStart::Loop(BlockId(first)),
            },
            blocks: vec![BlockId(first)],
            edges: Vec::new(),
            end: path.end,
        };
        for edge in &path.edges {
            if self.from.edges[edge.index()].outcome != Outcome::Returned {
                let edge = self.edges[edge.index()]?;
                self.walk_to(edge, &mut same)?;
                self.step(edge, &mut same);
            }
        }
        let end = self.edges[path.end.edge().index()]?;
        self.walk_to(end, &mut same)?;
        same.end = match path.end {
            PathEnd::Exit(_) => PathEnd::Exit(EdgeId(end)),
            PathEnd::Back(_) => PathEnd::Back(EdgeId(end)),
            PathEnd::Cut(_) => PathEnd::Cut(EdgeId(end)),
        };
        Some(same)
    }

    /// Runs on through the parts of a block, to the one that an edge leaves.
    fn walk_to(&self, edge: u32, path: &mut Path) -> Option<()> {
        let from = self.to.edges[edge as usize].from;
        // Parts follow one another, so this ends.
        while path.blocks.last()?.0 < from {
            let behind = *self.returned.get(&path.blocks.last()?.0)?;
            let before = path.blocks.last()?.0;
            self.step(behind, path);
            if path.blocks.last()?.0 <= before {
                return None;
            }
        }
        (path.blocks.last()?.0 == from).then_some(())
    }

    fn step(&self, edge: u32, path: &mut Path) {
        path.edges.push(EdgeId(edge));
        path.blocks.push(BlockId(self.to.edges[edge as usize].to));
    }
}
