//! Finds a path of one build of a function in another build of the function.
//!
//! Builds of the same code have the same edges in the same order, except for two effects of exit
//! edges: one build may lack the exit edges, and it may lack the division of blocks into *parts*
//! after calls that may not come back. The builds may number paths in different orders, and may end
//! paths at different edges.
//! Two paths are the same if they start in the same part, run the same common edges, and end with
//! the same edge.
//!
//! Cost: linear in the length of each path.

use std::collections::HashMap;

use holloway_flow::{BlockId, EdgeId, Path, PathEnd, PathId, PathStart};
use holloway_format::{EdgeKind, FunctionMap, Outcome};

pub(crate) use super::number::Number;
use super::number::{Numbering, common_edges};
use crate::run::Function;

/// A part of a block: the block's number in a map without divided blocks, and the index of the
/// part.
pub(super) type Part = (u32, u32);

/// The blocks of a map as parts of undivided blocks. The parts of a block follow one another.
pub(super) struct Parts {
    parts: Vec<Part>,
    blocks: HashMap<Part, u32>,
    /// By block that ends with a call: the edge to the part after the call.
    return_edges: HashMap<u32, u32>,
}

impl Parts {
    pub(super) fn new(map: &FunctionMap) -> Parts {
        let edges = (0u32..).zip(&map.edges);
        let return_edges = edges.filter(|(_, edge)| edge.outcome == Outcome::Returned);
        let return_edges: HashMap<u32, u32> =
            return_edges.map(|(id, edge)| (edge.from, id)).collect();
        let mut is_later_part = vec![false; map.blocks.len()];
        for &edge in return_edges.values() {
            is_later_part[map.edges[edge as usize].to as usize] = true;
        }
        let mut parts: Vec<Part> = Vec::with_capacity(is_later_part.len());
        for is_later_part in is_later_part {
            parts.push(match parts.last() {
                Some(&(block, part)) if is_later_part => (block, part + 1),
                Some(&(block, _)) => (block + 1, 0),
                None => (0, 0),
            });
        }
        let blocks = parts.iter().copied().zip(0u32..).collect();
        Parts {
            parts,
            blocks,
            return_edges,
        }
    }

    pub(super) fn part(&self, block: u32) -> Part {
        self.parts[block as usize]
    }
}

/// Maps the path numbers of `function` to the numbering of `common`, which has the same graph. A
/// path that `common` lacks keeps its own number.
pub(crate) fn numbering<'a>(
    function: &'a Function,
    common: &'a Function,
) -> Box<dyn Fn(PathId) -> Number + 'a> {
    let (from, to) = (&function.map, &common.map);
    let structure = from.structure_hash();
    if std::ptr::eq(function, common) || structure == to.structure_hash() {
        return Box::new(|path| (Numbering::Common, path.0));
    }
    let translation = MapTranslation::new(from, to);
    Box::new(move |id| {
        let path = function.graph().and_then(|graph| graph.path(id));
        let path = path.and_then(|path| translation.path(&path));
        let number = path.and_then(|path| common.graph()?.number(&path));
        match number {
            Some(path) => (Numbering::Common, path.0),
            None => (Numbering::Own { structure }, id.0),
        }
    })
}

/// Translates blocks and edges of one map to another map.
struct MapTranslation<'a> {
    from: &'a FunctionMap,
    to: &'a FunctionMap,
    blocks: Vec<Option<u32>>,
    edges: Vec<Option<u32>>,
    /// In the target map, by block that ends with a call: the edge to the part after the call.
    return_edges: HashMap<u32, u32>,
}

impl<'a> MapTranslation<'a> {
    fn new(from: &'a FunctionMap, to: &'a FunctionMap) -> MapTranslation<'a> {
        let (from_parts, to_parts) = (Parts::new(from), Parts::new(to));
        let blocks: Vec<Option<u32>> = from_parts
            .parts
            .iter()
            .map(|part| to_parts.blocks.get(part).copied())
            .collect();
        let mut edges = vec![None; from.edges.len()];
        for ((_, from_edge), (_, to_edge)) in common_edges(from).zip(common_edges(to)) {
            edges[from_edge] = Some(to_edge as u32);
        }
        // Exit edges and edges between parts are identified by their blocks.
        let mut exits: HashMap<u32, u32> = HashMap::new();
        for (id, edge) in (0u32..).zip(&to.edges) {
            if edge.kind == EdgeKind::Exit {
                exits.insert(edge.from, id);
            }
        }
        for (edge, translated) in from.edges.iter().zip(&mut edges) {
            let table = match edge.kind {
                EdgeKind::Exit => &exits,
                _ if edge.outcome == Outcome::Returned => &to_parts.return_edges,
                _ => continue,
            };
            let block = blocks[edge.from as usize];
            *translated = block.and_then(|block| table.get(&block).copied());
        }
        MapTranslation {
            from,
            to,
            blocks,
            edges,
            return_edges: to_parts.return_edges,
        }
    }

    /// Returns the same path in the target map, if it exists.
    fn path(&self, path: &Path) -> Option<Path> {
        let first = self.blocks[path.blocks.first()?.index()]?;
        let mut translated = Path {
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
                self.walk_to(edge, &mut translated)?;
                self.step(edge, &mut translated);
            }
        }
        let end = self.edges[path.end.edge().index()]?;
        self.walk_to(end, &mut translated)?;
        translated.end = match path.end {
            PathEnd::Exit(_) => PathEnd::Exit(EdgeId(end)),
            PathEnd::Back(_) => PathEnd::Back(EdgeId(end)),
            PathEnd::Cut(_) => PathEnd::Cut(EdgeId(end)),
        };
        Some(translated)
    }

    /// Extends a path through the parts of its last block, to the part that an edge leaves. Returns
    /// `None` if there is no such part.
    fn walk_to(&self, edge: u32, path: &mut Path) -> Option<()> {
        let from = self.to.edges[edge as usize].from;
        // Parts follow one another, so the loop ends.
        while path.blocks.last()?.0 < from {
            let return_edge = *self.return_edges.get(&path.blocks.last()?.0)?;
            let previous = path.blocks.last()?.0;
            self.step(return_edge, path);
            if path.blocks.last()?.0 <= previous {
                return None;
            }
        }
        (path.blocks.last()?.0 == from).then_some(())
    }

    /// Extends a path by an edge and its target.
    fn step(&self, edge: u32, path: &mut Path) {
        path.edges.push(EdgeId(edge));
        path.blocks.push(BlockId(self.to.edges[edge as usize].to));
    }
}
