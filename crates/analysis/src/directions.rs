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
//! This file chooses the descriptions. In `directions/`, `code.rs` has the function's edges and the
//! frames of places, and `loops.rs` its loops. `chains.rs` follows the edges of a branch, and
//! `moved_code.rs` finds the place behind moved code.
//!
//! Cost: each function's graph is built once, and each loop's places are collected at most once.
//! The chains of a branch are followed once. For an edge that leaves a loop, all code that control
//! can reach from it is visited in the worst case.

mod chains;
mod code;
mod loops;
mod moved_code;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use holloway_flow::BlockId;
use holloway_format::{FunctionMap, Outcome, Place, Text};

use chains::{Branch, Chain, ChainEnd, LoopExit};
use code::Code;

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
    code: Code<'a>,
    /// By edge: the names of its switch cases.
    cases: HashMap<u32, &'a [Text]>,
    /// By block: its edges' ways, in the order of `out`.
    branches: RefCell<HashMap<u32, Rc<[Way<'a>]>>>,
}

impl<'a> Directions<'a> {
    /// Prepares the branches of a function. `is_library` says whether a file is library code, not
    /// the user's own code.
    pub fn new(map: &'a FunctionMap, is_library: fn(&str) -> bool) -> Self {
        let mut cases: HashMap<u32, &[Text]> = HashMap::new();
        for case in &map.cases {
            cases.entry(case.edge).or_insert(&case.names);
        }
        Self {
            code: Code::new(map, is_library),
            cases,
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

    /// Whether control can reach a return or a loop head from a block.
    pub(crate) fn can_continue(&self, block: u32) -> bool {
        self.code.can_continue(block)
    }

    fn way(&self, edge: u32) -> Way<'a> {
        let from = self.code.edge(edge).from;
        let siblings = &self.code.out[from as usize];
        let Some(index) = siblings.iter().position(|&sibling| sibling == edge) else {
            return Way {
                destination: Destination::To(self.shown_block(self.code.edge(edge).to)),
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
        let branch = self.code.branch(siblings);
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
        let edge = self.code.edge(chain.edge);
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
        let branch_frames = self.code.frames(self.code.decision_place(edge));
        if let (true, ChainEnd::Back(back)) = (chain.places.is_empty(), chain.end) {
            let head = self.code.edge(back).to;
            let shown_places =
                self.shown_places(&branch_frames, self.code.opening_place(head), head);
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
            let (block, place) = self.code.arrival(chain);
            let shown_places = self.shown_places(&branch_frames, place, block).into_iter();
            candidates.extend(shown_places.map(Destination::To));
            return candidates;
        }
        candidates.extend(self.function_end(&branch_frames, branch, chain));
        let mut arrival = self.code.arrival(chain);
        if candidates.is_empty()
            && let Some(LoopExit { outside }) = chain.loop_exit
        {
            // Lines of the loop's text from which control never comes back to its head.
            let is_in_loop_text = |place: &Place| {
                !self.code.on_line(&branch_frames, *place)
                    && (branch.chains.len() > 2
                        || self.code.is_in_loop_text(&branch_frames, edge.from, *place))
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
        let (block, place) = self.code.behind_moved_code(&branch_frames, chain, arrival);
        candidates.extend(self.on_same_line(&branch_frames, branch, chain, place));
        let shown_places = self.shown_places(&branch_frames, place, block);
        let shown_places = by_first_block(shown_places, edge.to);
        let is_back = place.is_some_and(|place| self.code.iterates(&branch_frames, chain, place));
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
        if !self.code.can_continue(self.code.edge(chain.edge).to) {
            let mut places = chain.places.iter();
            let same_line = places.all(|(_, place)| self.code.on_line(branch_frames, *place));
            return same_line.then_some(Destination::NeverReturns);
        }
        let ChainEnd::Exit(_) = chain.end else {
            return None;
        };
        let to = self.code.edge(chain.edge).to;
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
            (is_shared && Some(*block) == last) || self.code.on_line(branch_frames, *place)
        });
        same_line.then_some(Destination::Returns)
    }

    /// Whether the innermost loop has other exits and none of them leads to a block of this chain.
    /// True if the branch is in no loop.
    fn is_separate_exit(&self, chain: &Chain) -> bool {
        let from = BlockId(self.code.edge(chain.edge).from);
        let Some((graph, loop_index)) = self
            .code
            .graph()
            .and_then(|graph| Some((graph, graph.loops.innermost(from)?)))
        else {
            return true;
        };
        let to = self.code.edge(chain.edge).to;
        let is_exit = self.code.can_continue(to) && !graph.contains(loop_index, to);
        let exits = &self.code.code_of(graph, loop_index).exits;
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
        let place = place.filter(|place| self.code.on_line(branch_frames, *place))?;
        let edge = self.code.edge(chain.edge);
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
            && !self.code.leaves_graph_loop(edge)
            && !self.may_leave(branch_frames, edge.to)
        {
            return Some(Destination::StaysInLoop);
        }
        let branch_frame = branch_frames.last()?;
        let target_frames = self.code.frames(Some(place));
        let target = target_frames.get(self.code.level(branch_frames, &target_frames))?;
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
                .code
                .all_places(block)
                .all(|place| self.code.on_line(branch_frames, place))
            {
                continue;
            }
            for &number in &self.code.out[block as usize] {
                let edge = self.code.edge(number);
                if self.code.can_continue(edge.to) && self.code.leaves_graph_loop(edge) {
                    return true;
                }
                if !self.code.is_back(number) && seen.insert(edge.to) {
                    worklist.push(edge.to);
                }
            }
        }
        false
    }

    /// Descriptions of a place: by line, by line and column, and by its block too.
    fn shown_places(
        &self,
        branch_frames: &[Place],
        place: Option<Place>,
        block: u32,
    ) -> Vec<ShownPlace<'a>> {
        let target_frames = place.map(|place| self.code.frames(Some(place)));
        let frame_place = target_frames.and_then(|frames| {
            let level = self.code.level(branch_frames, &frames);
            frames.get(level).copied()
        });
        let Some(frame_place) = frame_place.filter(|place| place.line != 0) else {
            return vec![self.shown_block(block)];
        };
        let shown_place = ShownPlace {
            file: self.code.file(frame_place),
            line: frame_place.line,
            column: frame_place.column,
            block: None,
        };
        let same_line = branch_frames.last().is_some_and(|frame| {
            (self.code.file(*frame), frame.line) == (shown_place.file, shown_place.line)
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
