//! The code of a function, for describing its branches: edges, loops, and the frames of places.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use holloway_flow::BlockId;
use holloway_format::{EdgeKind, EdgeMap, FunctionMap, Place};

use super::loops::{LoopCode, LoopGraph};
use crate::trail::{first_place, last_place};

/// The code of a function.
pub(super) struct Code<'a> {
    pub(super) map: &'a FunctionMap,
    is_library: fn(&str) -> bool,
    /// By block: the edges out of it, without exit edges.
    pub(super) out: Vec<Vec<u32>>,
    graph: OnceCell<Option<LoopGraph>>,
}

impl<'a> Code<'a> {
    pub(super) fn new(map: &'a FunctionMap, is_library: fn(&str) -> bool) -> Code<'a> {
        let mut out = vec![Vec::new(); map.blocks.len()];
        for (number, edge) in (0u32..).zip(&map.edges) {
            if edge.kind != EdgeKind::Exit {
                out[edge.from as usize].push(number);
            }
        }
        Code {
            map,
            is_library,
            out,
            graph: OnceCell::new(),
        }
    }

    pub(super) fn edge(&self, number: u32) -> &'a EdgeMap {
        &self.map.edges[number as usize]
    }

    pub(super) fn graph(&self) -> Option<&LoopGraph> {
        self.graph.get_or_init(|| LoopGraph::new(self.map)).as_ref()
    }

    /// The inlined frames of a place, outermost first. Each frame is given by the place where
    /// control is in it.
    pub(super) fn frames(&self, place: Option<Place>) -> Vec<Place> {
        let mut frames = Vec::new();
        let mut next = place;
        // The scopes of an unchecked map may form a cycle, so the number of frames is
        // limited to the number of scopes.
        while let Some(place) = next.filter(|_| frames.len() < self.map.scopes.len()) {
            let Some(scope) = self.map.scopes.get(place.scope as usize) else {
                break;
            };
            frames.push(place);
            next = scope.parent.map(|parent| Place {
                scope: parent,
                line: scope.call_line,
                column: scope.call_column,
            });
        }
        frames.reverse();
        frames
    }

    pub(super) fn file(&self, place: Place) -> &'a str {
        let scope = self.map.scopes.get(place.scope as usize);
        scope.map_or("", |scope| &scope.file)
    }

    /// The place of a block's branch.
    pub(super) fn branch_place(&self, block: u32) -> Option<Place> {
        let mut edges = self.out[block as usize].iter();
        let place = edges.find_map(|&edge| self.edge(edge).place);
        place.filter(|place| place.line != 0)
    }

    /// The place of a decision.
    pub(super) fn decision_place(&self, edge: &EdgeMap) -> Option<Place> {
        let place = edge.place.filter(|place| place.line != 0);
        place.or_else(|| last_place(&self.map.blocks[edge.from as usize].places))
    }

    /// The first place of a block, or of the blocks that always follow it.
    pub(super) fn opening_place(&self, block: u32) -> Option<Place> {
        let mut current = block;
        for _ in 0..self.map.blocks.len() {
            let places = &self.map.blocks[current as usize].places;
            if let Some(place) = first_place(places).or_else(|| self.branch_place(current)) {
                return Some(place);
            }
            match self.out[current as usize][..] {
                [next] => current = self.edge(next).to,
                _ => return None,
            }
        }
        None
    }

    /// The places of a block and of its branch.
    pub(super) fn all_places(&self, block: u32) -> impl Iterator<Item = Place> + '_ {
        let places = self.map.blocks[block as usize].places.iter().copied();
        let places = places.filter(|place| place.line != 0);
        places.chain(self.branch_place(block))
    }

    /// Whether an edge leads back to the head of its loop.
    pub(super) fn is_back(&self, edge: u32) -> bool {
        self.graph()
            .is_some_and(|graph| graph.back_edges.contains(&edge))
    }

    /// The level of the frame in which a target is shown. Level 0 is the function's frame, and
    /// deeper inlined frames have higher levels.
    pub(super) fn level(&self, branch_frames: &[Place], to: &[Place]) -> usize {
        let shared = shared_frames(branch_frames, to).max(1);
        let user_level = self.user_level(&to[..shared.min(to.len())]);
        let user_frames = branch_frames.get(user_level).zip(to.get(user_level));
        if user_frames.is_some_and(|(from, to)| from.line != to.line) {
            return user_level;
        }
        shared - 1
    }

    /// The level of the innermost frame that is not library code. If all frames are library code,
    /// 0: the level of the function.
    pub(super) fn user_level(&self, frames: &[Place]) -> usize {
        let is_user_code = |place: &Place| !(self.is_library)(self.file(*place));
        frames.iter().rposition(is_user_code).unwrap_or(0)
    }

    /// Whether a place is on the line of a branch, in the innermost frame of user code.
    pub(super) fn on_line(&self, branch_frames: &[Place], place: Place) -> bool {
        let to = self.frames(Some(place));
        let shared = shared_frames(branch_frames, &to).min(self.user_level(branch_frames) + 1);
        let Some(level) = shared.checked_sub(1) else {
            return false;
        };
        branch_frames[level].line == to[level].line
    }

    /// Whether a place comes before or after the branch in the text of the frame in which its line
    /// would be shown. `None` if they share no frame, or the line is not known.
    pub(super) fn order(&self, branch_frames: &[Place], place: Place) -> Option<Ordering> {
        let frames = self.frames(Some(place));
        let level = self.level(branch_frames, &frames);
        let (branch, place) = (branch_frames.get(level)?, frames.get(level)?);
        let is_known = branch.scope == place.scope && branch.line != 0 && place.line != 0;
        is_known.then(|| place.line.cmp(&branch.line))
    }

    /// Whether control can reach a return or a loop head from a block.
    pub(super) fn can_continue(&self, block: u32) -> bool {
        let graph = self.graph();
        graph.is_none_or(|graph| graph.can_continue[block as usize])
    }

    /// Whether an edge leaves a loop of the graph.
    pub(super) fn leaves_graph_loop(&self, edge: &EdgeMap) -> bool {
        let (from, to) = (BlockId(edge.from), BlockId(edge.to));
        let graph = self.graph();
        graph.is_some_and(|graph| graph.loops.leaves(from, to))
    }

    /// The code of a loop.
    pub(super) fn code_of<'g>(&self, graph: &'g LoopGraph, loop_index: usize) -> &'g LoopCode {
        graph.code(loop_index, |blocks| {
            let places = blocks.iter().flat_map(|&block| self.all_places(block));
            let mut exits = HashMap::new();
            let out = blocks.iter().flat_map(|&block| &self.out[block as usize]);
            let targets = out.map(|&edge| self.edge(edge).to);
            for to in targets.filter(|&to| self.can_continue(to) && !graph.contains(loop_index, to))
            {
                *exits.entry(to).or_default() += 1;
            }
            LoopCode {
                places: places.collect(),
                exits,
            }
        })
    }

    /// Whether a place is in the text of the innermost loop that contains a block: between the
    /// first and the last line of the loop.
    pub(super) fn is_in_loop_text(&self, branch_frames: &[Place], from: u32, place: Place) -> bool {
        let (Some(graph), level) = (self.graph(), self.user_level(branch_frames)) else {
            return false;
        };
        let Some(branch_frame) = branch_frames.get(level) else {
            return false;
        };
        let line = |place: Place| {
            let place = self.frames(Some(place)).get(level).copied();
            let place = place.filter(|place| place.scope == branch_frame.scope);
            place.map(|place| place.line)
        };
        let Some(loop_index) = graph.loops.innermost(BlockId(from)) else {
            return false;
        };
        let lines = self.code_of(graph, loop_index).places.iter().copied();
        let lines = lines.filter_map(line);
        let (mut first, mut last) = (u32::MAX, 0);
        for line in lines.filter(|&line| line != 0) {
            (first, last) = (first.min(line), last.max(line));
        }
        line(place).is_some_and(|line| (first..=last).contains(&line))
    }
}

/// The number of frames that two places share.
fn shared_frames(a: &[Place], b: &[Place]) -> usize {
    let pairs = a.iter().zip(b);
    pairs.take_while(|(a, b)| a.scope == b.scope).count()
}
