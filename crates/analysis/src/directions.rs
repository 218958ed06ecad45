//! Describes where control goes along an edge, in terms of the source.
//!
//! A compiled condition says little: the optimizer inverts it, merges it with others, or turns it
//! into a table. So a decision is described by where control goes, which follows from debug
//! locations and from the graph's loops. The edges of a branch are described together: each gets
//! the shortest description that no other edge has ([`Directions::destination`]).
//!
//! # Where an edge leads
//! The *straight way* of an edge runs from its target through blocks with one edge out. The edge
//! leads to the first known place on it. The place is shown in the frame of the branch, or in the
//! innermost frame around both. A branch in library code (`next` of a `for` loop's range) is shown
//! in the frame that called the library, if the line changes in that frame.
//!
//! # When a loop is left
//! An edge out of a natural loop need not leave a loop of the source: an unrolled or vectorized
//! loop goes on in a remainder loop, and jump threading makes several loops of one. A copy of a
//! loop's code keeps its places. So the edge leaves the loop if both conditions hold:
//! - The straight way reaches one of these: a place that the loop does not have, the function's
//!   end, or the head of the enclosing loop. Or no place of the loop can follow before that head.
//! - The enclosing loop, if there is one, begins with a place that this loop does not have.
//!
//! Otherwise only the line is shown. Code that the optimizer sinks out of a loop (a store of a sum)
//! keeps its place inside the loop, too; such a place on the straight way is skipped. A branch to
//! further lines of the loop's text that never come back to its head (`{ found = i; break; }`)
//! leads to these lines. The same holds for the arms of a switch.
//!
//! If neither a return nor a loop head can be reached from some code, it ends in calls that do not
//! return: a failed check, an abort.
//!
//! This file is long because the rules for one branch depend on each other's straight ways.
//! `directions/loops.rs` finds the loops of the code and knows nothing of branches.
//!
//! Cost: the function's graph once; the code of each loop that is left; for each branch its
//! straight ways once; for each edge that leaves a loop, in the worst case the code that can
//! follow.

mod loops;

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use holloway_flow::BlockId;
use holloway_format::{EdgeKind, EdgeMap, FunctionMap, Outcome, Place, Text};

use crate::trail::{first_place, last_place};
use loops::{Graph, LoopCode};

/// Where control goes along an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Destination<'a> {
    /// Into these cases of a switch, given by name.
    Case(&'a [Text]),
    /// Out of the innermost loop. With the target, if another edge of the branch leaves the loop
    /// too.
    LeavesLoop(Option<Spot<'a>>),
    /// On in the loop, on the same line, while another edge leaves the loop.
    StaysInLoop,
    /// On at the same place, while the other edges leave its line.
    StaysOnLine,
    /// Back to the head of a loop.
    Back(Spot<'a>),
    /// Back to the caller, without running another line.
    Returns,
    /// To a call that does not return, without running another line.
    NeverReturns,
    /// On at the same line, while all other edges lead to calls that do not return. Usually this is
    /// a check that the compiler inserted.
    GoesOn,
    /// To a landing pad: a call unwinds.
    Unwinds,
    /// On after a call that may return twice.
    MayReturnAgain,
    /// To this place.
    To(Spot<'a>),
}

/// A place, as precise as needed to distinguish it from the targets of the other edges of the
/// branch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spot<'a> {
    /// Source file; empty if unknown.
    pub file: &'a str,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown or not needed.
    pub column: u32,
    /// The block, if the place is not enough.
    pub block: Option<u32>,
}

/// Describes the branches of a function.
pub struct Directions<'a> {
    map: &'a FunctionMap,
    is_library: fn(&str) -> bool,
    /// By block: the edges out of it, without exit edges.
    out: Vec<Vec<u32>>,
    /// By edge: the names of its switch cases.
    cases: HashMap<u32, &'a [Text]>,
    graph: OnceCell<Option<Graph>>,
    /// By block: the destinations of its edges, in the order of `out`.
    branches: RefCell<HashMap<u32, Rc<[Destination<'a>]>>>,
}

/// The straight way of an edge.
struct StraightWay {
    edge: u32,
    /// The blocks on the way.
    blocks: Vec<u32>,
    /// The places on the way, each with its block.
    places: Vec<(u32, Place)>,
    end: WayEnd,
    /// `Some` if the edge leaves a loop of the source, with the first place outside if one is
    /// known.
    #[expect(clippy::option_option, reason = "left, but to no known place")]
    left: Option<Option<(u32, Place)>>,
}

/// The straight ways of a branch.
struct Branch {
    ways: Vec<StraightWay>,
    /// By block: the number of ways that begin there.
    targets: HashMap<u32, usize>,
    /// The number of ways that leave a loop.
    leaving: usize,
}

/// Where a straight way ends.
#[derive(Clone, Copy)]
enum WayEnd {
    /// The way ends with this edge to a loop head.
    Back(u32),
    /// The way ends with this edge to the exit.
    Exit(u32),
    /// The way ends in this block, which has several edges out or was visited before.
    Block(u32),
}

impl<'a> Directions<'a> {
    /// Prepares the branches of a function. `is_library` says whether a file is library code, not
    /// the user's own code.
    pub fn new(map: &'a FunctionMap, is_library: fn(&str) -> bool) -> Self {
        let mut out = vec![Vec::new(); map.blocks.len()];
        for (number, edge) in (0u32..).zip(&map.edges) {
            if edge.kind != EdgeKind::Exit {
                out[edge.from as usize].push(number);
            }
        }
        let mut cases: HashMap<u32, &[Text]> = HashMap::new();
        for case in &map.cases {
            cases.entry(case.edge).or_insert(&case.names);
        }
        Self {
            map,
            is_library,
            out,
            cases,
            graph: OnceCell::new(),
            branches: RefCell::default(),
        }
    }

    /// Where control goes along an edge.
    ///
    /// # Panics
    /// If the function has no such edge.
    pub fn destination(&self, edge: u32) -> Destination<'a> {
        let from = self.edge(edge).from;
        let siblings = &self.out[from as usize];
        let Some(index) = siblings.iter().position(|&sibling| sibling == edge) else {
            return Destination::To(self.block_spot(self.edge(edge).to));
        };
        let known = self.branches.borrow().get(&from).cloned();
        let destinations = known.unwrap_or_else(|| {
            let destinations: Rc<[Destination<'a>]> = self.destinations(siblings).into();
            let mut branches = self.branches.borrow_mut();
            branches.insert(from, Rc::clone(&destinations));
            destinations
        });
        destinations[index]
    }

    /// The destinations of all edges of a branch.
    fn destinations(&self, siblings: &[u32]) -> Vec<Destination<'a>> {
        let branch = self.branch(siblings);
        let ways = branch.ways.iter();
        let candidates = ways.map(|way| self.candidates(&branch, way));
        let candidates: Vec<Vec<Destination<'a>>> = candidates.collect();
        let mut chosen = vec![0; siblings.len()];
        loop {
            let mut by_description: HashMap<Destination<'a>, Vec<usize>> = HashMap::new();
            for (sibling, &choice) in chosen.iter().enumerate() {
                by_description
                    .entry(candidates[sibling][choice])
                    .or_default()
                    .push(sibling);
            }
            let mut changed = false;
            for sibling in by_description
                .into_values()
                .filter(|siblings| siblings.len() > 1)
                .flatten()
            {
                if chosen[sibling] + 1 < candidates[sibling].len() {
                    chosen[sibling] += 1;
                    changed = true;
                }
            }
            if !changed {
                let chosen = candidates.iter().zip(chosen);
                return chosen
                    .map(|(candidates, choice)| candidates[choice])
                    .collect();
            }
        }
    }

    /// Possible descriptions of a straight way, the shortest first.
    fn candidates(&self, branch: &Branch, way: &StraightWay) -> Vec<Destination<'a>> {
        let edge = self.edge(way.edge);
        match edge.outcome {
            Outcome::Unwind => return vec![Destination::Unwinds],
            Outcome::Again => return vec![Destination::MayReturnAgain],
            Outcome::Jump
            | Outcome::True
            | Outcome::False
            | Outcome::Case(_)
            | Outcome::Default
            | Outcome::Normal
            | Outcome::Indirect
            | Outcome::AsmGoto
            | Outcome::Return
            | Outcome::Noreturn
            | Outcome::Resume
            | Outcome::TailCall
            | Outcome::Split
            | Outcome::Left
            | Outcome::Returned => {}
        }
        let branch_frames = self.frames(self.decision_place(edge));
        if let (true, WayEnd::Back(back)) = (way.places.is_empty(), way.end) {
            let head = self.edge(back).to;
            let spots = self.spots(&branch_frames, self.opening_place(head), head);
            // The branch line itself may be the loop head, so the line is always a candidate.
            let line = spots.first().map(|spot| Spot { column: 0, ..*spot });
            let line = line.filter(|spot| spot.block.is_none());
            return line
                .into_iter()
                .chain(spots)
                .map(Destination::Back)
                .collect();
        }
        let mut candidates = Vec::new();
        let names = self.cases.get(&way.edge).copied();
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            candidates.push(Destination::Case(names));
            let (block, place) = self.arrival(way);
            let spots = self.spots(&branch_frames, place, block).into_iter();
            candidates.extend(spots.map(Destination::To));
            return candidates;
        }
        candidates.extend(self.function_end(&branch_frames, branch, way));
        let mut arrival = self.arrival(way);
        if candidates.is_empty()
            && let Some(outside) = way.left
        {
            let within = |place: &Place| {
                !self.on_line(&branch_frames, *place)
                    && (branch.ways.len() > 2 || self.is_within(&branch_frames, edge.from, *place))
            };
            if let Some((block, place)) = outside.filter(|(_, place)| within(place)) {
                arrival = (block, Some(place));
            } else {
                let (block, place) = outside.map_or(arrival, |(block, place)| (block, Some(place)));
                candidates.push(Destination::LeavesLoop(None));
                let spots = self.spots(&branch_frames, place, block).into_iter();
                candidates.extend(spots.map(|spot| Destination::LeavesLoop(Some(spot))));
                return candidates;
            }
        }
        let (block, place) = arrival;
        candidates.extend(self.on_same_line(&branch_frames, branch, way, place));
        let spots = self.spots(&branch_frames, place, block).into_iter();
        candidates.extend(spots.map(Destination::To));
        candidates
    }

    /// `Returns` or `NeverReturns`, if an edge only leads out of the function, without running
    /// another line.
    fn function_end(
        &self,
        branch_frames: &[Place],
        branch: &Branch,
        way: &StraightWay,
    ) -> Option<Destination<'a>> {
        if !self.can_go_on(self.edge(way.edge).to) {
            let mut places = way.places.iter();
            let same_line = places.all(|(_, place)| self.on_line(branch_frames, *place));
            return same_line.then_some(Destination::NeverReturns);
        }
        let WayEnd::Exit(_) = way.end else {
            return None;
        };
        let to = self.edge(way.edge).to;
        let starts_other_way = |block: &u32| {
            let count = branch.targets.get(block).copied();
            count.is_some_and(|count| count > usize::from(*block == to))
        };
        if way.blocks.iter().any(starts_other_way) {
            return None;
        }
        // The last block that all returns share has the place of the closing brace.
        let last = way.blocks.last().copied();
        let in_last_block = way.places.iter().filter(|(block, _)| Some(*block) == last);
        let is_shared = in_last_block.count() == 1
            && way.places.len() > 1
            && (way.left.is_none() || self.is_separate_exit(way));
        let mut places = way.places.iter();
        let same_line = places.all(|(block, place)| {
            (is_shared && Some(*block) == last) || self.on_line(branch_frames, *place)
        });
        same_line.then_some(Destination::Returns)
    }

    /// Whether no other exit of the loop leads to where this edge leads. False if the loop has no
    /// other exit. True if the branch is in no loop.
    fn is_separate_exit(&self, way: &StraightWay) -> bool {
        let from = BlockId(self.edge(way.edge).from);
        let Some((graph, inside)) = self
            .graph()
            .and_then(|graph| Some((graph, graph.loops.innermost(from)?)))
        else {
            return true;
        };
        let to = self.edge(way.edge).to;
        let is_exit = self.can_go_on(to) && !graph.contains(inside, to);
        let exits = &self.code_of(graph, inside).exits;
        let has_others = |block: u32, edges: usize| edges > usize::from(is_exit && block == to);
        let mut all = exits.iter();
        let mut blocks = way.blocks.iter();
        all.any(|(&block, &edges)| has_others(block, edges))
            && !blocks.any(|block| {
                let edges = exits.get(block).copied();
                edges.is_some_and(|edges| has_others(*block, edges))
            })
    }

    /// `GoesOn`, `StaysInLoop`, or `StaysOnLine`, if control stays on the line while another
    /// edge of the branch leads elsewhere.
    fn on_same_line(
        &self,
        branch_frames: &[Place],
        branch: &Branch,
        way: &StraightWay,
        place: Option<Place>,
    ) -> Option<Destination<'a>> {
        let place = place.filter(|place| self.on_line(branch_frames, *place))?;
        let edge = self.edge(way.edge);
        let mut others = branch.ways.iter().filter(|other| other.edge != way.edge);
        let never_returns = |other: &StraightWay| {
            self.function_end(branch_frames, branch, other) == Some(Destination::NeverReturns)
        };
        if branch.ways.len() > 1 && others.all(never_returns) {
            return Some(Destination::GoesOn);
        }
        if branch.leaving > usize::from(way.left.is_some())
            && !self.is_left(edge)
            && !self.may_leave(branch_frames, edge.to)
        {
            return Some(Destination::StaysInLoop);
        }
        let own = branch_frames.last()?;
        let target_frames = self.frames(Some(place));
        let target = target_frames.get(self.level(branch_frames, &target_frames))?;
        let same_line = (target.scope, target.line) == (own.scope, own.line);
        let other_column = target.column != 0 && target.column != own.column;
        (same_line && !other_column).then_some(Destination::StaysOnLine)
    }

    /// Whether a further branch on the same line, at or after a block, may leave the loop.
    fn may_leave(&self, branch_frames: &[Place], block: u32) -> bool {
        let mut seen = HashSet::from([block]);
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            if !self
                .all_places(block)
                .all(|place| self.on_line(branch_frames, place))
            {
                continue;
            }
            for &number in &self.out[block as usize] {
                let edge = self.edge(number);
                if self.can_go_on(edge.to) && self.is_left(edge) {
                    return true;
                }
                if !self.is_back(number) && seen.insert(edge.to) {
                    worklist.push(edge.to);
                }
            }
        }
        false
    }

    /// The first place after an edge, and its block.
    fn arrival(&self, way: &StraightWay) -> (u32, Option<Place>) {
        let to = self.edge(way.edge).to;
        if let Some((block, place)) = way.places.first() {
            return (*block, Some(*place));
        }
        match way.end {
            WayEnd::Block(block) => (to, self.branch_place(block)),
            WayEnd::Exit(edge) => (to, self.edge(edge).place.filter(|place| place.line != 0)),
            WayEnd::Back(edge) => (to, self.opening_place(self.edge(edge).to)),
        }
    }

    /// Descriptions of a place: by line, by line and column, and with its block.
    fn spots(&self, branch_frames: &[Place], place: Option<Place>, block: u32) -> Vec<Spot<'a>> {
        let target_frames = place.map(|place| self.frames(Some(place)));
        let shown_place = target_frames.and_then(|frames| {
            let level = self.level(branch_frames, &frames);
            frames.get(level).copied()
        });
        let Some(shown_place) = shown_place.filter(|place| place.line != 0) else {
            return vec![self.block_spot(block)];
        };
        let spot = Spot {
            file: self.file(shown_place),
            line: shown_place.line,
            column: shown_place.column,
            block: None,
        };
        let same_line = branch_frames
            .last()
            .is_some_and(|own| (self.file(*own), own.line) == (spot.file, spot.line));
        let mut spots = Vec::new();
        if !same_line {
            spots.push(Spot { column: 0, ..spot });
        }
        spots.push(spot);
        // On the branch's own line, the place adds nothing to the block.
        spots.push(match same_line {
            true => self.block_spot(block),
            false => Spot {
                block: Some(block),
                ..spot
            },
        });
        spots.dedup();
        spots
    }

    fn block_spot(&self, block: u32) -> Spot<'a> {
        Spot {
            block: Some(block),
            ..Spot::default()
        }
    }

    /// The level of the frame in which a target is shown.
    fn level(&self, branch_frames: &[Place], to: &[Place]) -> usize {
        let shared = shared_frames(branch_frames, to).max(1);
        let own = self.own(&to[..shared.min(to.len())]);
        let moves = branch_frames.get(own).zip(to.get(own));
        if moves.is_some_and(|(from, to)| from.line != to.line) {
            return own;
        }
        shared - 1
    }

    /// The level of the innermost frame that is not library code, or of the function.
    fn own(&self, frames: &[Place]) -> usize {
        let is_own = |place: &Place| !(self.is_library)(self.file(*place));
        frames.iter().rposition(is_own).unwrap_or(0)
    }

    /// Whether a place is on the line of a branch, in the user's own frame.
    fn on_line(&self, branch_frames: &[Place], place: Place) -> bool {
        let to = self.frames(Some(place));
        let shared = shared_frames(branch_frames, &to).min(self.own(branch_frames) + 1);
        let Some(level) = shared.checked_sub(1) else {
            return false;
        };
        branch_frames[level].line == to[level].line
    }

    /// Whether a place is in the text of the innermost loop around a block: between the first and
    /// the last line of the loop.
    fn is_within(&self, branch_frames: &[Place], from: u32, place: Place) -> bool {
        let (Some(graph), level) = (self.graph(), self.own(branch_frames)) else {
            return false;
        };
        let Some(own) = branch_frames.get(level) else {
            return false;
        };
        let line = |place: Place| {
            let place = self.frames(Some(place)).get(level).copied();
            let place = place.filter(|place| place.scope == own.scope);
            place.map(|place| place.line)
        };
        let Some(inside) = graph.loops.innermost(BlockId(from)) else {
            return false;
        };
        let lines = self.code_of(graph, inside).places.iter().copied();
        let lines = lines.filter_map(line);
        let (mut first, mut last) = (u32::MAX, 0);
        for line in lines.filter(|&line| line != 0) {
            (first, last) = (first.min(line), last.max(line));
        }
        line(place).is_some_and(|line| (first..=last).contains(&line))
    }

    /// `Some` if an edge leaves a loop of the source, with the first place outside if one is known.
    #[expect(clippy::option_option, reason = "left, but to no known place")]
    fn leaves(&self, way: &StraightWay) -> Option<Option<(u32, Place)>> {
        let edge = self.edge(way.edge);
        let graph = self.graph()?;
        if !self.is_left(edge) || !self.can_go_on(edge.to) {
            return None;
        }
        let all = graph.loops.all();
        let mut left = graph.loops.innermost(BlockId(edge.from))?;
        while let Some(parent) = all[left]
            .parent
            .filter(|&index| !graph.contains(index, edge.to))
        {
            left = parent;
        }
        let inside = &self.code_of(graph, left).places;
        let around = all[left].parent.map(|parent| all[parent].head.0);
        if let Some(head) = around
            && self
                .opening_place(head)
                .is_none_or(|place| inside.contains(&place))
        {
            return None;
        }
        let outside = way.places.iter().find(|(_, place)| !inside.contains(place));
        if let Some(outside) = outside {
            return Some(Some(*outside));
        }
        let is_left = match way.end {
            WayEnd::Back(_) | WayEnd::Exit(_) => true,
            WayEnd::Block(block) => !self.may_reach(block, around, inside),
        };
        is_left.then_some(None)
    }

    /// Whether an edge leaves a loop of the graph.
    fn is_left(&self, edge: &EdgeMap) -> bool {
        let (from, to) = (BlockId(edge.from), BlockId(edge.to));
        let graph = self.graph();
        graph.is_some_and(|graph| graph.loops.leaves(from, to))
    }

    /// Whether control can go on from a block to a return or to a loop head.
    fn can_go_on(&self, block: u32) -> bool {
        let graph = self.graph();
        graph.is_none_or(|graph| graph.can_go_on[block as usize])
    }

    /// Whether code at any of these places may run at or after a block, before the head of the
    /// enclosing loop.
    fn may_reach(&self, block: u32, around: Option<u32>, places: &HashSet<Place>) -> bool {
        let mut seen = HashSet::from([block]);
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            for &edge in &self.out[block as usize] {
                let to = self.edge(edge).to;
                if Some(to) != around && seen.insert(to) {
                    worklist.push(to);
                }
            }
            if self.all_places(block).any(|place| places.contains(&place)) {
                return true;
            }
        }
        false
    }

    /// The code of a loop.
    fn code_of<'g>(&self, graph: &'g Graph, inside: usize) -> &'g LoopCode {
        graph.code(inside, |blocks| {
            let places = blocks.iter().flat_map(|&block| self.all_places(block));
            let mut exits = HashMap::new();
            let out = blocks.iter().flat_map(|&block| &self.out[block as usize]);
            let targets = out.map(|&edge| self.edge(edge).to);
            for to in targets.filter(|&to| self.can_go_on(to) && !graph.contains(inside, to)) {
                *exits.entry(to).or_default() += 1;
            }
            LoopCode {
                places: places.collect(),
                exits,
            }
        })
    }

    /// The places of a block and of its branch.
    fn all_places(&self, block: u32) -> impl Iterator<Item = Place> + '_ {
        let places = self.map.blocks[block as usize].places.iter().copied();
        let places = places.filter(|place| place.line != 0);
        places.chain(self.branch_place(block))
    }

    /// The straight ways of a branch.
    fn branch(&self, siblings: &[u32]) -> Branch {
        let ways: Vec<StraightWay> = siblings.iter().map(|&sibling| self.way(sibling)).collect();
        let mut targets: HashMap<u32, usize> = HashMap::new();
        for way in &ways {
            *targets.entry(self.edge(way.edge).to).or_default() += 1;
        }
        Branch {
            leaving: ways.iter().filter(|way| way.left.is_some()).count(),
            targets,
            ways,
        }
    }

    /// Follows an edge as long as each block has one edge out.
    fn way(&self, first: u32) -> StraightWay {
        let (mut blocks, mut places) = (Vec::new(), Vec::new());
        let (mut edge, mut seen) = (first, HashSet::new());
        let end = loop {
            if self.is_back(edge) {
                break WayEnd::Back(edge);
            }
            let block = self.edge(edge).to;
            if block == self.map.exit {
                break WayEnd::Exit(edge);
            }
            if !seen.insert(block) {
                break WayEnd::Block(block);
            }
            blocks.push(block);
            let known = self.map.blocks[block as usize].places.iter();
            let known = known.filter(|place| place.line != 0);
            places.extend(known.map(|place| (block, *place)));
            match self.out[block as usize][..] {
                [only] => edge = only,
                _ => break WayEnd::Block(block),
            }
        };
        let mut way = StraightWay {
            edge: first,
            blocks,
            places,
            end,
            left: None,
        };
        way.left = self.leaves(&way);
        way
    }

    /// Whether an edge leads back to the head of its loop.
    fn is_back(&self, edge: u32) -> bool {
        self.graph()
            .is_some_and(|graph| graph.back_edges.contains(&edge))
    }

    /// The first place of a block, or of the blocks that always follow it.
    fn opening_place(&self, block: u32) -> Option<Place> {
        let mut current = block;
        for _ in 0..self.map.blocks.len() {
            let places = &self.map.blocks[current as usize].places;
            if let Some(place) = first_place(places).or_else(|| self.branch_place(current)) {
                return Some(place);
            }
            match self.out[current as usize][..] {
                [only] => current = self.edge(only).to,
                _ => return None,
            }
        }
        None
    }

    /// The place of a block's branch.
    fn branch_place(&self, block: u32) -> Option<Place> {
        let mut edges = self.out[block as usize].iter();
        let place = edges.find_map(|&edge| self.edge(edge).place);
        place.filter(|place| place.line != 0)
    }

    /// The place of a decision.
    fn decision_place(&self, edge: &EdgeMap) -> Option<Place> {
        let place = edge.place.filter(|place| place.line != 0);
        place.or_else(|| last_place(&self.map.blocks[edge.from as usize].places))
    }

    /// The frames around a place, outermost first. Each is given by its current place.
    fn frames(&self, place: Option<Place>) -> Vec<Place> {
        let mut frames = Vec::new();
        let mut next = place;
        // A map that no reader checked may chain its scopes in a ring, so the number of frames is
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

    fn file(&self, place: Place) -> &'a str {
        let scope = self.map.scopes.get(place.scope as usize);
        scope.map_or("", |scope| &scope.file)
    }

    fn edge(&self, number: u32) -> &'a EdgeMap {
        &self.map.edges[number as usize]
    }

    fn graph(&self) -> Option<&Graph> {
        self.graph.get_or_init(|| Graph::new(self.map)).as_ref()
    }
}

/// The number of frames that two places share.
fn shared_frames(a: &[Place], b: &[Place]) -> usize {
    let pairs = a.iter().zip(b);
    pairs.take_while(|(a, b)| a.scope == b.scope).count()
}
