//! Describes where control goes along an edge, in terms of the source.
//!
//! A compiled condition says little: the optimizer inverts it, merges it with others, or turns it
//! into a table. So a decision is described by where control goes, which follows from debug
//! locations and from the graph's loops. The edges of a branch are described together: each gets
//! the shortest description that no other edge has ([`Directions::destination`]).
//!
//! # Where an edge leads
//! The *chain* of an edge is the sequence of blocks from its target on, as long as each block has
//! one edge out. The edge leads to the first known place in its chain. This place is shown in the
//! frame of the branch, or in the innermost inlined frame that contains both the branch and the
//! place. A branch in library code (`next` of a `for` loop's range) is shown in the frame that
//! called the library, if the line changes in that frame.
//!
//! The first place of an arm may be the place of a *later* line: the optimizer moved a part of this
//! line up, above the lines before it. The edge then leads to the block's first line in the source.
//!
//! The first place of an arm may lie *before* the branch in the source, for two reasons:
//! - The optimizer moved a computation from before the branch into the only arm that needs it. The
//!   moved instructions keep their lines. The edge then leads to the first place in its chain that
//!   is not before the branch, or to the branch at the end of the chain.
//! - The edge goes on with the next iteration: it leads to the line of the `for` or `while`, which
//!   steps and tests, and from there back to the loop's head. The edge then leads *back* to the
//!   line.
//!
//! # When a loop is left
//! An edge out of a natural loop need not leave a loop of the source. An unrolled or vectorized
//! loop continues in a remainder loop, and jump threading splits one loop into several. But a copy
//! of a loop's code has the same places. So the edge leaves the loop of the source if both
//! conditions hold:
//! - The chain reaches a place that the loop does not have, the function's end, or the head of the
//!   enclosing loop; or control cannot reach a place of the loop before that head.
//! - The enclosing loop, if there is one, begins with a place that this loop does not have.
//!
//! Otherwise only the line is shown. Code that the optimizer sinks out of a loop (a store of a sum)
//! keeps its place inside the loop. Such a place in the chain is skipped. Lines inside the loop's
//! text may never come back to its head (`{ found = i; break; }`). A branch to such lines is
//! described by the lines, not as an exit. The same holds for the arms of a switch.
//!
//! Code from which control reaches neither a return nor a loop head ends in calls that do not
//! return: a failed check, an abort.
//!
//! This file is long because the description of one edge depends on the chains of the branch's
//! other edges. `directions/loops.rs` finds the loops of the code, independently of branches.
//!
//! Cost: each function's graph is built once, and each loop's places are collected at most once.
//! The chains of a branch are followed once. For an edge that leaves a loop, all code that control
//! can reach from it is visited in the worst case.

mod loops;

use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use holloway_flow::BlockId;
use holloway_format::{EdgeKind, EdgeMap, FunctionMap, Outcome, Place, Text};

use crate::trail::{first_place, last_place};
use loops::{LoopCode, LoopGraph};

/// Where control goes along an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Destination<'a> {
    /// Into these cases of a switch, given by name.
    Case(&'a [Text]),
    /// Out of the innermost loop. The target is given if another edge of the branch leaves the loop
    /// too.
    LeavesLoop(Option<ShownPlace<'a>>),
    /// To code in the loop, on the same line, while another edge leaves the loop.
    StaysInLoop,
    /// To code at the same place as the branch, while the other edges leave its line.
    StaysOnLine,
    /// Back to the head of a loop, or to the line of the `for` or `while` that steps and tests.
    Back(ShownPlace<'a>),
    /// Back to the caller, without running another line.
    Returns,
    /// To a call that does not return, without running another line.
    NeverReturns,
    /// To code on the same line, while all other edges lead to calls that do not return. Usually
    /// this is a check that the compiler inserted.
    GoesOn,
    /// To a landing pad: a call unwinds.
    Unwinds,
    /// To the code after a call that may return twice.
    MayReturnAgain,
    /// To this place.
    To(ShownPlace<'a>),
}

/// A place as reports show it: just as precise as needed to distinguish it from the targets of the
/// branch's other edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ShownPlace<'a> {
    /// Source file; empty if unknown.
    pub file: &'a str,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown or not needed.
    pub column: u32,
    /// The block, if line and column do not distinguish the place.
    pub block: Option<u32>,
}

/// Where control goes along an edge, and the line there.
#[derive(Clone, Copy)]
struct Way<'a> {
    destination: Destination<'a>,
    target: Option<ShownPlace<'a>>,
}

/// Describes the branches of a function.
pub struct Directions<'a> {
    map: &'a FunctionMap,
    is_library: fn(&str) -> bool,
    /// By block: the edges out of it, without exit edges.
    out: Vec<Vec<u32>>,
    /// By edge: the names of its switch cases.
    cases: HashMap<u32, &'a [Text]>,
    graph: OnceCell<Option<LoopGraph>>,
    /// By block: its edges' ways, in the order of `out`.
    branches: RefCell<HashMap<u32, Rc<[Way<'a>]>>>,
}

/// The chain of an edge, with its places.
struct Chain {
    edge: u32,
    /// The blocks of the chain.
    blocks: Vec<u32>,
    /// The known places in these blocks, each with its block.
    places: Vec<(u32, Place)>,
    end: ChainEnd,
    /// `Some` if the edge leaves a loop of the source.
    loop_exit: Option<LoopExit>,
}

/// An edge's exit from a loop of the source.
#[derive(Clone, Copy)]
struct LoopExit {
    /// The first known place outside the loop, with its block.
    outside: Option<(u32, Place)>,
}

/// The chains of a branch.
struct Branch {
    chains: Vec<Chain>,
    /// By block: the number of chains that begin with it.
    targets: HashMap<u32, usize>,
    /// The number of the branch's edges that leave a loop.
    leaving: usize,
}

/// Where a chain ends.
#[derive(Clone, Copy)]
enum ChainEnd {
    /// The chain ends with this edge to a loop head.
    Back(u32),
    /// The chain ends with this edge to the exit.
    Exit(u32),
    /// The chain ends in this block, which has several edges out or was visited before.
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

    /// Returns where control goes along an edge.
    ///
    /// # Panics
    /// If the function has no such edge.
    pub fn destination(&self, edge: u32) -> Destination<'a> {
        self.way(edge).destination
    }

    /// Returns the line where control goes along an edge. This is the line that the edge's
    /// [`destination`](Self::destination) names. If the destination names no line (a case, a
    /// return), it is the line that a longer description names. `None` if that line is unknown.
    ///
    /// # Panics
    /// If the function has no such edge.
    pub fn target(&self, edge: u32) -> Option<ShownPlace<'a>> {
        self.way(edge).target
    }

    fn way(&self, edge: u32) -> Way<'a> {
        let from = self.edge(edge).from;
        let siblings = &self.out[from as usize];
        let Some(index) = siblings.iter().position(|&sibling| sibling == edge) else {
            return Way {
                destination: Destination::To(self.shown_block(self.edge(edge).to)),
                target: None,
            };
        };
        let known = self.branches.borrow().get(&from).cloned();
        let ways = known.unwrap_or_else(|| {
            let ways: Rc<[Way<'a>]> = self.ways(siblings).into();
            let mut branches = self.branches.borrow_mut();
            branches.insert(from, Rc::clone(&ways));
            ways
        });
        ways[index]
    }

    /// Chooses the destinations of all edges of a branch: the shortest descriptions that differ.
    /// Edges with equal descriptions get longer ones, until no longer ones are left.
    fn ways(&self, siblings: &[u32]) -> Vec<Way<'a>> {
        let branch = self.branch(siblings);
        let chains = branch.chains.iter();
        let candidates = chains.map(|chain| self.candidates(&branch, chain));
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
                    .map(|(candidates, choice)| Way {
                        destination: candidates[choice],
                        target: candidates[choice..].iter().find_map(line_of),
                    })
                    .collect();
            }
        }
    }

    /// Possible descriptions of a chain, the shortest first.
    fn candidates(&self, branch: &Branch, chain: &Chain) -> Vec<Destination<'a>> {
        let edge = self.edge(chain.edge);
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
        if let (true, ChainEnd::Back(back)) = (chain.places.is_empty(), chain.end) {
            let head = self.edge(back).to;
            let shown_places = self.shown_places(&branch_frames, self.opening_place(head), head);
            // The branch line itself may be the loop head, so the line is always a candidate.
            let line = shown_places.first().map(|shown_place| ShownPlace {
                column: 0,
                ..*shown_place
            });
            let line = line.filter(|shown_place| shown_place.block.is_none());
            return line
                .into_iter()
                .chain(shown_places)
                .map(Destination::Back)
                .collect();
        }
        let mut candidates = Vec::new();
        let names = self.cases.get(&chain.edge).copied();
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            candidates.push(Destination::Case(names));
            let (block, place) = self.arrival(chain);
            let shown_places = self.shown_places(&branch_frames, place, block).into_iter();
            candidates.extend(shown_places.map(Destination::To));
            return candidates;
        }
        candidates.extend(self.function_end(&branch_frames, branch, chain));
        let mut arrival = self.arrival(chain);
        if candidates.is_empty()
            && let Some(LoopExit { outside }) = chain.loop_exit
        {
            // Lines of the loop's text from which control never comes back to its head.
            let is_in_loop_text = |place: &Place| {
                !self.on_line(&branch_frames, *place)
                    && (branch.chains.len() > 2
                        || self.is_in_loop_text(&branch_frames, edge.from, *place))
            };
            if let Some((block, place)) = outside.filter(|(_, place)| is_in_loop_text(place)) {
                arrival = (block, Some(place));
            } else {
                let (block, place) = outside.map_or(arrival, |(block, place)| (block, Some(place)));
                candidates.push(Destination::LeavesLoop(None));
                let shown_places = self.shown_places(&branch_frames, place, block);
                let shown_places = by_first_block(shown_places, edge.to).into_iter();
                candidates.extend(shown_places.map(Some).map(Destination::LeavesLoop));
                return candidates;
            }
        }
        let (block, place) = self.behind_moved_code(&branch_frames, chain, arrival);
        candidates.extend(self.on_same_line(&branch_frames, branch, chain, place));
        let shown_places = self.shown_places(&branch_frames, place, block);
        let shown_places = by_first_block(shown_places, edge.to);
        let is_back = place.is_some_and(|place| self.iterates(&branch_frames, chain, place));
        let destination = if is_back {
            Destination::Back
        } else {
            Destination::To
        };
        candidates.extend(shown_places.into_iter().map(destination));
        candidates
    }

    /// `Returns` or `NeverReturns`, if an edge only leads out of the function, without running
    /// another line.
    fn function_end(
        &self,
        branch_frames: &[Place],
        branch: &Branch,
        chain: &Chain,
    ) -> Option<Destination<'a>> {
        if !self.can_continue(self.edge(chain.edge).to) {
            let mut places = chain.places.iter();
            let same_line = places.all(|(_, place)| self.on_line(branch_frames, *place));
            return same_line.then_some(Destination::NeverReturns);
        }
        let ChainEnd::Exit(_) = chain.end else {
            return None;
        };
        let to = self.edge(chain.edge).to;
        let starts_other_chain = |block: &u32| {
            let count = branch.targets.get(block).copied();
            count.is_some_and(|count| count > usize::from(*block == to))
        };
        if chain.blocks.iter().any(starts_other_chain) {
            return None;
        }
        // The last block that all returns share has the place of the closing brace.
        let last = chain.blocks.last().copied();
        let in_last_block = chain
            .places
            .iter()
            .filter(|(block, _)| Some(*block) == last);
        let is_shared = in_last_block.count() == 1
            && chain.places.len() > 1
            && (chain.loop_exit.is_none() || self.is_separate_exit(chain));
        let mut places = chain.places.iter();
        let same_line = places.all(|(block, place)| {
            (is_shared && Some(*block) == last) || self.on_line(branch_frames, *place)
        });
        same_line.then_some(Destination::Returns)
    }

    /// Whether the innermost loop has other exits and none of them leads to a block of this chain.
    /// True if the branch is in no loop.
    fn is_separate_exit(&self, chain: &Chain) -> bool {
        let from = BlockId(self.edge(chain.edge).from);
        let Some((graph, loop_index)) = self
            .graph()
            .and_then(|graph| Some((graph, graph.loops.innermost(from)?)))
        else {
            return true;
        };
        let to = self.edge(chain.edge).to;
        let is_exit = self.can_continue(to) && !graph.contains(loop_index, to);
        let exits = &self.code_of(graph, loop_index).exits;
        let has_others = |block: u32, edges: usize| edges > usize::from(is_exit && block == to);
        let mut blocks = chain.blocks.iter();
        exits
            .iter()
            .any(|(&block, &edges)| has_others(block, edges))
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
        chain: &Chain,
        place: Option<Place>,
    ) -> Option<Destination<'a>> {
        let place = place.filter(|place| self.on_line(branch_frames, *place))?;
        let edge = self.edge(chain.edge);
        let mut others = branch
            .chains
            .iter()
            .filter(|other| other.edge != chain.edge);
        let never_returns = |other: &Chain| {
            self.function_end(branch_frames, branch, other) == Some(Destination::NeverReturns)
        };
        if branch.chains.len() > 1 && others.all(never_returns) {
            return Some(Destination::GoesOn);
        }
        if branch.leaving > usize::from(chain.loop_exit.is_some())
            && !self.leaves_graph_loop(edge)
            && !self.may_leave(branch_frames, edge.to)
        {
            return Some(Destination::StaysInLoop);
        }
        let branch_frame = branch_frames.last()?;
        let target_frames = self.frames(Some(place));
        let target = target_frames.get(self.level(branch_frames, &target_frames))?;
        let same_line = (target.scope, target.line) == (branch_frame.scope, branch_frame.line);
        let other_column = target.column != 0 && target.column != branch_frame.column;
        (same_line && !other_column).then_some(Destination::StaysOnLine)
    }

    /// Whether another branch on the same line may leave the loop: a branch of this block or of a
    /// block after it.
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
                if self.can_continue(edge.to) && self.leaves_graph_loop(edge) {
                    return true;
                }
                if !self.is_back(number) && seen.insert(edge.to) {
                    worklist.push(edge.to);
                }
            }
        }
        false
    }

    /// The first known place after an edge, and its block.
    fn arrival(&self, chain: &Chain) -> (u32, Option<Place>) {
        let to = self.edge(chain.edge).to;
        if let Some((block, place)) = chain.places.first() {
            return (*block, Some(*place));
        }
        match chain.end {
            ChainEnd::Block(block) => (to, self.branch_place(block)),
            ChainEnd::Exit(edge) => (to, self.edge(edge).place.filter(|place| place.line != 0)),
            ChainEnd::Back(edge) => (to, self.opening_place(self.edge(edge).to)),
        }
    }

    /// The place where an edge leads, with its block: `arrival`, unless moved code stands there.
    fn behind_moved_code(
        &self,
        branch_frames: &[Place],
        chain: &Chain,
        arrival: (u32, Option<Place>),
    ) -> (u32, Option<Place>) {
        let (block, Some(place)) = arrival else {
            return arrival;
        };
        match self.order(branch_frames, place) {
            Some(Ordering::Less) => self.behind_earlier_code(branch_frames, chain, arrival),
            Some(Ordering::Equal) | None => arrival,
            Some(Ordering::Greater) => (
                block,
                Some(self.behind_later_code(branch_frames, block, place)),
            ),
        }
    }

    /// The place behind code from before the branch: the first place that is not before the branch.
    fn behind_earlier_code(
        &self,
        branch_frames: &[Place],
        chain: &Chain,
        arrival: (u32, Option<Place>),
    ) -> (u32, Option<Place>) {
        let is_not_before = |place: &Place| {
            let order = self.order(branch_frames, *place);
            order.is_some_and(Ordering::is_ge)
        };
        let last = match chain.end {
            ChainEnd::Block(block) => self.branch_place(block).map(|place| (block, place)),
            ChainEnd::Back(_) | ChainEnd::Exit(_) => None,
        };
        let known = chain.places.iter().copied();
        let from_arrival = known.skip_while(|&(block, place)| (block, Some(place)) != arrival);
        let places = from_arrival.chain(last);
        let mut later = places.filter(|(_, place)| is_not_before(place));
        later
            .next()
            .map_or(arrival, |(block, place)| (block, Some(place)))
    }

    /// The place behind code that was moved up: the first line of the block in the source, if it is
    /// behind the branch.
    fn behind_later_code(&self, branch_frames: &[Place], block: u32, first: Place) -> Place {
        let is_behind =
            |place: &Place| self.order(branch_frames, *place) == Some(Ordering::Greater);
        let places = self.map.blocks[block as usize].places.iter().copied();
        let from_first = places.skip_while(|place| *place != first);
        let of_scope = from_first.filter(|place| place.scope == first.scope);
        let behind = of_scope.filter(is_behind);
        behind.min_by_key(|place| place.line).unwrap_or(first)
    }

    /// Whether an edge leads to a place before the branch in the source from which control goes
    /// back to the head of a loop without running another line.
    fn iterates(&self, branch_frames: &[Place], chain: &Chain, place: Place) -> bool {
        if self.order(branch_frames, place) != Some(Ordering::Less) {
            return false;
        }
        let line_frames = self.frames(Some(place));
        let first = self.edge(chain.edge).to;
        let mut seen = HashSet::from([first]);
        let mut worklist = vec![first];
        while let Some(block) = worklist.pop() {
            // A jump has the line of the statement before it.
            let places = self.map.blocks[block as usize].places.iter().copied();
            let branch = self.branch_place(block);
            let branch = branch.filter(|_| self.out[block as usize].len() > 1);
            let mut places = places.filter(|place| place.line != 0).chain(branch);
            if !places.all(|place| self.on_line(&line_frames, place)) {
                continue;
            }
            for &number in &self.out[block as usize] {
                if self.is_back(number) {
                    return true;
                }
                let to = self.edge(number).to;
                if seen.insert(to) {
                    worklist.push(to);
                }
            }
        }
        false
    }

    /// Whether a place comes before or after the branch in the text of the frame in which its line
    /// would be shown. `None` if they share no frame, or the line is not known.
    fn order(&self, branch_frames: &[Place], place: Place) -> Option<Ordering> {
        let frames = self.frames(Some(place));
        let level = self.level(branch_frames, &frames);
        let (branch, place) = (branch_frames.get(level)?, frames.get(level)?);
        let is_known = branch.scope == place.scope && branch.line != 0 && place.line != 0;
        is_known.then(|| place.line.cmp(&branch.line))
    }

    /// Descriptions of a place: by line, by line and column, and by its block too.
    fn shown_places(
        &self,
        branch_frames: &[Place],
        place: Option<Place>,
        block: u32,
    ) -> Vec<ShownPlace<'a>> {
        let target_frames = place.map(|place| self.frames(Some(place)));
        let frame_place = target_frames.and_then(|frames| {
            let level = self.level(branch_frames, &frames);
            frames.get(level).copied()
        });
        let Some(frame_place) = frame_place.filter(|place| place.line != 0) else {
            return vec![self.shown_block(block)];
        };
        let shown_place = ShownPlace {
            file: self.file(frame_place),
            line: frame_place.line,
            column: frame_place.column,
            block: None,
        };
        let same_line = branch_frames.last().is_some_and(|frame| {
            (self.file(*frame), frame.line) == (shown_place.file, shown_place.line)
        });
        let mut shown_places = Vec::new();
        if !same_line {
            shown_places.push(ShownPlace {
                column: 0,
                ..shown_place
            });
        }
        shown_places.push(shown_place);
        // If the target is on the branch's line, the block alone says as much as line and block.
        shown_places.push(match same_line {
            true => self.shown_block(block),
            false => ShownPlace {
                block: Some(block),
                ..shown_place
            },
        });
        shown_places.dedup();
        shown_places
    }

    fn shown_block(&self, block: u32) -> ShownPlace<'a> {
        ShownPlace {
            block: Some(block),
            ..ShownPlace::default()
        }
    }

    /// The level of the frame in which a target is shown. Level 0 is the function's frame, and
    /// deeper inlined frames have higher levels.
    fn level(&self, branch_frames: &[Place], to: &[Place]) -> usize {
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
    fn user_level(&self, frames: &[Place]) -> usize {
        let is_user_code = |place: &Place| !(self.is_library)(self.file(*place));
        frames.iter().rposition(is_user_code).unwrap_or(0)
    }

    /// Whether a place is on the line of a branch, in the innermost frame of user code.
    fn on_line(&self, branch_frames: &[Place], place: Place) -> bool {
        let to = self.frames(Some(place));
        let shared = shared_frames(branch_frames, &to).min(self.user_level(branch_frames) + 1);
        let Some(level) = shared.checked_sub(1) else {
            return false;
        };
        branch_frames[level].line == to[level].line
    }

    /// Whether a place is in the text of the innermost loop that contains a block: between the
    /// first and the last line of the loop.
    fn is_in_loop_text(&self, branch_frames: &[Place], from: u32, place: Place) -> bool {
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

    /// Returns the exit from a loop of the source, if the chain's edge leaves one.
    fn loop_exit(&self, chain: &Chain) -> Option<LoopExit> {
        let edge = self.edge(chain.edge);
        let graph = self.graph()?;
        if !self.leaves_graph_loop(edge) || !self.can_continue(edge.to) {
            return None;
        }
        let loops = graph.loops.all();
        // The outermost loop that the edge leaves.
        let mut left_loop = graph.loops.innermost(BlockId(edge.from))?;
        while let Some(parent) = loops[left_loop]
            .parent
            .filter(|&index| !graph.contains(index, edge.to))
        {
            left_loop = parent;
        }
        let loop_places = &self.code_of(graph, left_loop).places;
        let enclosing_head = loops[left_loop].parent.map(|parent| loops[parent].head.0);
        if let Some(head) = enclosing_head
            && self
                .opening_place(head)
                .is_none_or(|place| loop_places.contains(&place))
        {
            return None;
        }
        let mut places = chain.places.iter();
        if let Some(outside) = places.find(|(_, place)| !loop_places.contains(place)) {
            return Some(LoopExit {
                outside: Some(*outside),
            });
        }
        let is_outside = match chain.end {
            ChainEnd::Back(_) | ChainEnd::Exit(_) => true,
            ChainEnd::Block(block) => !self.may_reach(block, enclosing_head, loop_places),
        };
        is_outside.then_some(LoopExit { outside: None })
    }

    /// Whether an edge leaves a loop of the graph.
    fn leaves_graph_loop(&self, edge: &EdgeMap) -> bool {
        let (from, to) = (BlockId(edge.from), BlockId(edge.to));
        let graph = self.graph();
        graph.is_some_and(|graph| graph.loops.leaves(from, to))
    }

    /// Whether control can reach a return or a loop head from a block.
    pub(crate) fn can_continue(&self, block: u32) -> bool {
        let graph = self.graph();
        graph.is_none_or(|graph| graph.can_continue[block as usize])
    }

    /// Whether control can reach one of these places from a block, before it reaches the head of
    /// the enclosing loop.
    fn may_reach(&self, block: u32, enclosing_head: Option<u32>, places: &HashSet<Place>) -> bool {
        let mut seen = HashSet::from([block]);
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            for &edge in &self.out[block as usize] {
                let to = self.edge(edge).to;
                if Some(to) != enclosing_head && seen.insert(to) {
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
    fn code_of<'g>(&self, graph: &'g LoopGraph, loop_index: usize) -> &'g LoopCode {
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

    /// The places of a block and of its branch.
    fn all_places(&self, block: u32) -> impl Iterator<Item = Place> + '_ {
        let places = self.map.blocks[block as usize].places.iter().copied();
        let places = places.filter(|place| place.line != 0);
        places.chain(self.branch_place(block))
    }

    /// The chains of a branch.
    fn branch(&self, siblings: &[u32]) -> Branch {
        let chains: Vec<Chain> = siblings
            .iter()
            .map(|&sibling| self.chain_of(sibling))
            .collect();
        let mut targets: HashMap<u32, usize> = HashMap::new();
        for chain in &chains {
            *targets.entry(self.edge(chain.edge).to).or_default() += 1;
        }
        Branch {
            leaving: chains
                .iter()
                .filter(|chain| chain.loop_exit.is_some())
                .count(),
            targets,
            chains,
        }
    }

    /// Follows an edge as long as each block has one edge out. Returns the edge's chain.
    fn chain_of(&self, first: u32) -> Chain {
        let (mut blocks, mut places) = (Vec::new(), Vec::new());
        let (mut edge, mut seen) = (first, HashSet::new());
        let end = loop {
            if self.is_back(edge) {
                break ChainEnd::Back(edge);
            }
            let block = self.edge(edge).to;
            if block == self.map.exit {
                break ChainEnd::Exit(edge);
            }
            if !seen.insert(block) {
                break ChainEnd::Block(block);
            }
            blocks.push(block);
            let known_places = self.map.blocks[block as usize].places.iter();
            let known_places = known_places.filter(|place| place.line != 0);
            places.extend(known_places.map(|place| (block, *place)));
            match self.out[block as usize][..] {
                [next] => edge = next,
                _ => break ChainEnd::Block(block),
            }
        };
        let mut chain = Chain {
            edge: first,
            blocks,
            places,
            end,
            loop_exit: None,
        };
        chain.loop_exit = self.loop_exit(&chain);
        chain
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
                [next] => current = self.edge(next).to,
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

    /// The inlined frames of a place, outermost first. Each frame is given by the place where
    /// control is in it.
    fn frames(&self, place: Option<Place>) -> Vec<Place> {
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

    fn file(&self, place: Place) -> &'a str {
        let scope = self.map.scopes.get(place.scope as usize);
        scope.map_or("", |scope| &scope.file)
    }

    fn edge(&self, number: u32) -> &'a EdgeMap {
        &self.map.edges[number as usize]
    }

    fn graph(&self) -> Option<&LoopGraph> {
        self.graph.get_or_init(|| LoopGraph::new(self.map)).as_ref()
    }
}

/// The place that a destination names, if it has a line.
fn line_of<'a>(destination: &Destination<'a>) -> Option<ShownPlace<'a>> {
    let place = match *destination {
        Destination::To(place) | Destination::Back(place) => Some(place),
        Destination::LeavesLoop(place) => place,
        Destination::Case(_)
        | Destination::StaysInLoop
        | Destination::StaysOnLine
        | Destination::Returns
        | Destination::NeverReturns
        | Destination::GoesOn
        | Destination::Unwinds
        | Destination::MayReturnAgain => None,
    };
    place.filter(|place| place.line != 0)
}

/// The number of frames that two places share.
fn shared_frames(a: &[Place], b: &[Place]) -> usize {
    let pairs = a.iter().zip(b);
    pairs.take_while(|(a, b)| a.scope == b.scope).count()
}

/// Adds the description by the first block of an edge's chain. Two edges may come to one block by
/// different blocks without a line.
fn by_first_block(mut shown_places: Vec<ShownPlace<'_>>, first: u32) -> Vec<ShownPlace<'_>> {
    if let Some(&longest) = shown_places.last()
        && longest.block != Some(first)
    {
        shown_places.push(ShownPlace {
            block: Some(first),
            ..longest
        });
    }
    shown_places
}
