//! Where control goes along an edge, in terms of the source.
//!
//! A compiled condition says little: the optimizer inverts it, merges it with others, or makes a
//! table of it. So an outcome is described by where control goes, which debug locations and the
//! graph's loops tell. A branch's ways out are looked at together: each gets the shortest
//! description that no other one has ([`Directions::goes`]).
//!
//! # Where an edge leads
//! The *straight way* behind an edge runs from its target through blocks with one way out. The
//! first known place on it is where the edge leads. It is shown in the frame that the branch stands
//! in, or in the innermost frame around both. A branch in library code (`next` of a `for` loop's
//! range) is shown in the frame that called the library, if its line changes.
//!
//! # When a loop is left
//! Edges out of a natural loop need not leave a loop of the source: an unrolled or vectorized loop
//! goes on in a remainder, and threaded jumps make several loops of one. A copy of a loop's code
//! keeps its places. So the loop is left if
//! - the straight way meets a place that the loop doesn't have, the function's end, or the head of
//!   the loop around it, or no place of the loop can follow before that head; and
//! - the loop around it, if there is one, begins with a place that this loop doesn't have.
//!
//! Otherwise only the line is told. What the optimizer sinks behind a loop (a store of a sum) keeps
//! its place as well: it stands on the straight way and is passed over. A branch to further lines
//! of the loop's text that never come back to its head (`{ found = i; break; }`) leads to these
//! lines, and so do the arms of a switch.
//!
//! Code from which neither a return nor the head of a loop can be reached ends in calls that don't
//! return: a failed check, an abort.
//!
//! This file is long since the rules of one branch look at each other's ways; the loops of the code,
//! which look at no branch, are in `directions/loops.rs`.
//!
//! Cost: the function's graph once, and the code of each loop that is left; for each branch its ways
//! once, and for each that leaves a loop, at worst the code behind it.

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
pub enum Goes<'a> {
    /// Into these cases of a switch, by name.
    Case(&'a [Text]),
    /// Out of the innermost loop; with where to, if another way out leaves it too.
    LeavesLoop(Option<Spot<'a>>),
    /// On in the loop, at the same line, while another way leaves it.
    StaysInLoop,
    /// On at the same place, while the other ways leave its line.
    StaysOnLine,
    /// Back to the head of a loop.
    Back(Spot<'a>),
    /// Back to the caller, with no other line before.
    Returns,
    /// To a call that doesn't return, with no other line before.
    NeverReturns,
    /// On at the same line, as all other ways are to calls that don't return: a check of the
    /// compiler's, mostly.
    GoesOn,
    /// To a landing pad: a call unwinds.
    Unwinds,
    /// On behind a call that may return twice.
    MayReturnAgain,
    /// To this place.
    To(Spot<'a>),
}

/// A place, as exact as needed to tell it from where other edges of the branch lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spot<'a> {
    /// Source file; empty if unknown.
    pub file: &'a str,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown or not needed.
    pub column: u32,
    /// The block, where the place doesn't tell.
    pub block: Option<u32>,
}

/// A function's branches.
pub struct Directions<'a> {
    map: &'a FunctionMap,
    is_library: fn(&str) -> bool,
    /// Edges out of each block, those that calls take aside.
    out: Vec<Vec<u32>>,
    /// By edge: the names of its cases.
    cases: HashMap<u32, &'a [Text]>,
    graph: OnceCell<Option<Graph>>,
    /// By block: where control goes along its edges, in the order of `out`.
    branches: RefCell<HashMap<u32, Rc<[Goes<'a>]>>>,
}

/// The straight way behind an edge.
struct Way {
    edge: u32,
    /// The blocks on it.
    blocks: Vec<u32>,
    /// The places on it, with the blocks that they are in.
    places: Vec<(u32, Place)>,
    end: WayEnd,
    /// Whether the edge leaves a loop of the source, and the first place that is outside.
    #[expect(clippy::option_option, reason = "left, but to no known place")]
    left: Option<Option<(u32, Place)>>,
}

/// A branch's ways.
struct Ways {
    all: Vec<Way>,
    /// How many begin at each block.
    targets: HashMap<u32, usize>,
    /// How many leave a loop.
    leaving: usize,
}

/// Where a straight way ends.
#[derive(Clone, Copy)]
enum WayEnd {
    /// With this edge to a loop's head.
    Back(u32),
    /// With this edge to the exit.
    Exit(u32),
    /// In this block, which goes on in several ways, or is met again.
    Block(u32),
}

impl<'a> Directions<'a> {
    /// The branches of a function. `is_library` says of a file whether the reader's own code is
    /// elsewhere.
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
    pub fn goes(&self, edge: u32) -> Goes<'a> {
        let from = self.edge(edge).from;
        let siblings = &self.out[from as usize];
        let Some(own) = siblings.iter().position(|&sibling| sibling == edge) else {
            return Goes::To(self.block_spot(self.edge(edge).to));
        };
        let known = self.branches.borrow().get(&from).cloned();
        let branch = known.unwrap_or_else(|| {
            let branch: Rc<[Goes<'a>]> = self.branch(siblings).into();
            let mut branches = self.branches.borrow_mut();
            branches.insert(from, Rc::clone(&branch));
            branch
        });
        branch[own]
    }

    /// Where control goes along each of a branch's ways.
    fn branch(&self, siblings: &[u32]) -> Vec<Goes<'a>> {
        let ways = self.ways(siblings);
        let candidates = ways.all.iter().map(|way| self.candidates(&ways, way));
        let candidates: Vec<Vec<Goes<'a>>> = candidates.collect();
        let mut chosen = vec![0; siblings.len()];
        loop {
            let mut alike: HashMap<Goes<'a>, Vec<usize>> = HashMap::new();
            for (sibling, &choice) in chosen.iter().enumerate() {
                alike
                    .entry(candidates[sibling][choice])
                    .or_default()
                    .push(sibling);
            }
            let mut changed = false;
            for sibling in alike.into_values().filter(|all| all.len() > 1).flatten() {
                if chosen[sibling] + 1 < candidates[sibling].len() {
                    chosen[sibling] += 1;
                    changed = true;
                }
            }
            if !changed {
                let chosen = candidates.iter().zip(chosen);
                return chosen.map(|(all, choice)| all[choice]).collect();
            }
        }
    }

    /// Descriptions of one of a branch's ways, shorter ones first.
    fn candidates(&self, ways: &Ways, way: &Way) -> Vec<Goes<'a>> {
        let edge = self.edge(way.edge);
        match edge.outcome {
            Outcome::Unwind => return vec![Goes::Unwinds],
            Outcome::Again => return vec![Goes::MayReturnAgain],
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
        let decided = self.chain(self.decided_at(edge));
        if let (true, WayEnd::Back(back)) = (way.places.is_empty(), way.end) {
            let head = self.edge(back).to;
            let spots = self.spots(&decided, self.opening(head), head);
            // Also a line that loops on itself is gone back to.
            let line = spots.first().map(|spot| Spot { column: 0, ..*spot });
            let line = line.filter(|spot| spot.block.is_none());
            return line.into_iter().chain(spots).map(Goes::Back).collect();
        }
        let mut found = Vec::new();
        let names = self.cases.get(&way.edge).copied();
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            found.push(Goes::Case(names));
            let (block, place) = self.arrival(way);
            let spots = self.spots(&decided, place, block).into_iter();
            found.extend(spots.map(Goes::To));
            return found;
        }
        found.extend(self.ends_here(&decided, ways, way));
        let mut arrival = self.arrival(way);
        if found.is_empty()
            && let Some(outside) = way.left
        {
            let within = |place: &Place| {
                !self.on_line(&decided, *place)
                    && (ways.all.len() > 2 || self.is_within(&decided, edge.from, *place))
            };
            if let Some((block, place)) = outside.filter(|(_, place)| within(place)) {
                arrival = (block, Some(place));
            } else {
                let (block, place) = outside.map_or(arrival, |(block, place)| (block, Some(place)));
                found.push(Goes::LeavesLoop(None));
                let spots = self.spots(&decided, place, block).into_iter();
                found.extend(spots.map(|spot| Goes::LeavesLoop(Some(spot))));
                return found;
            }
        }
        let (block, place) = arrival;
        found.extend(self.stays(&decided, ways, way, place));
        let spots = self.spots(&decided, place, block).into_iter();
        found.extend(spots.map(Goes::To));
        found
    }

    /// Whether an edge only leads out of the function, with nothing between that is on another
    /// line.
    fn ends_here(&self, decided: &[Place], ways: &Ways, way: &Way) -> Option<Goes<'a>> {
        if !self.lives(self.edge(way.edge).to) {
            let mut places = way.places.iter();
            let here = places.all(|(_, place)| self.on_line(decided, *place));
            return here.then_some(Goes::NeverReturns);
        }
        let WayEnd::Exit(_) = way.end else {
            return None;
        };
        let to = self.edge(way.edge).to;
        let is_others = |block: &u32| {
            let begin = ways.targets.get(block).copied();
            begin.is_some_and(|begin| begin > usize::from(*block == to))
        };
        if way.blocks.iter().any(is_others) {
            return None;
        }
        // The end that all returns share has the place of the closing brace.
        let last = way.blocks.last().copied();
        let ending = way.places.iter().filter(|(block, _)| Some(*block) == last);
        let is_shared = ending.count() == 1
            && way.places.len() > 1
            && (way.left.is_none() || self.is_way_of_its_own(way));
        let mut places = way.places.iter();
        let here = places.all(|(block, place)| {
            (is_shared && Some(*block) == last) || self.on_line(decided, *place)
        });
        here.then_some(Goes::Returns)
    }

    /// Whether the other ways out of a loop don't lead to where this one leads: no `break` is alone
    /// there.
    fn is_way_of_its_own(&self, way: &Way) -> bool {
        let from = BlockId(self.edge(way.edge).from);
        let Some((graph, inside)) = self
            .graph()
            .and_then(|graph| Some((graph, graph.loops.innermost(from)?)))
        else {
            return true;
        };
        let to = self.edge(way.edge).to;
        let is_exit = self.lives(to) && !graph.holds(inside, to);
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

    /// Whether control stays where it is while another way of the branch goes elsewhere.
    fn stays(
        &self,
        decided: &[Place],
        ways: &Ways,
        way: &Way,
        place: Option<Place>,
    ) -> Option<Goes<'a>> {
        let place = place.filter(|place| self.on_line(decided, *place))?;
        let edge = self.edge(way.edge);
        let mut others = ways.all.iter().filter(|other| other.edge != way.edge);
        let is_end = |other: &Way| self.ends_here(decided, ways, other) == Some(Goes::NeverReturns);
        if ways.all.len() > 1 && others.all(is_end) {
            return Some(Goes::GoesOn);
        }
        if ways.leaving > usize::from(way.left.is_some())
            && !self.is_left(edge)
            && !self.may_leave(decided, edge.to)
        {
            return Some(Goes::StaysInLoop);
        }
        let own = decided.last()?;
        let to = self.chain(Some(place));
        let at = to.get(self.level(decided, &to))?;
        let is_here = (at.scope, at.line) == (own.scope, own.line);
        let is_told = at.column != 0 && at.column != own.column;
        (is_here && !is_told).then_some(Goes::StaysOnLine)
    }

    /// Whether a further branch on a line may leave the loop, behind a block.
    fn may_leave(&self, decided: &[Place], block: u32) -> bool {
        let mut seen = HashSet::from([block]);
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if !self
                .all_places(block)
                .all(|place| self.on_line(decided, place))
            {
                continue;
            }
            for &number in &self.out[block as usize] {
                let edge = self.edge(number);
                if self.lives(edge.to) && self.is_left(edge) {
                    return true;
                }
                if !self.is_back(number) && seen.insert(edge.to) {
                    work.push(edge.to);
                }
            }
        }
        false
    }

    /// The first place behind an edge, and its block.
    fn arrival(&self, way: &Way) -> (u32, Option<Place>) {
        let to = self.edge(way.edge).to;
        if let Some((block, place)) = way.places.first() {
            return (*block, Some(*place));
        }
        match way.end {
            WayEnd::Block(block) => (to, self.branch_place(block)),
            WayEnd::Exit(edge) => (to, self.edge(edge).place.filter(|place| place.line != 0)),
            WayEnd::Back(edge) => (to, self.opening(self.edge(edge).to)),
        }
    }

    /// A place by line, by line and column, and with its block.
    fn spots(&self, decided: &[Place], place: Option<Place>, block: u32) -> Vec<Spot<'a>> {
        let to = place.map(|place| self.chain(Some(place)));
        let at = to.and_then(|to| to.get(self.level(decided, &to)).copied());
        let Some(at) = at.filter(|at| at.line != 0) else {
            return vec![self.block_spot(block)];
        };
        let whole = Spot {
            file: self.file(at),
            line: at.line,
            column: at.column,
            block: None,
        };
        let is_here = decided
            .last()
            .is_some_and(|own| (self.file(*own), own.line) == (whole.file, whole.line));
        let mut spots = Vec::new();
        if !is_here {
            spots.push(Spot { column: 0, ..whole });
        }
        spots.push(whole);
        // On its own line the place tells nothing more.
        spots.push(match is_here {
            true => self.block_spot(block),
            false => Spot {
                block: Some(block),
                ..whole
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

    /// Which of a target's frames the reader sees it in.
    fn level(&self, decided: &[Place], to: &[Place]) -> usize {
        let shared = shared(decided, to).max(1);
        let own = self.own(&to[..shared.min(to.len())]);
        let moves = decided.get(own).zip(to.get(own));
        if moves.is_some_and(|(from, to)| from.line != to.line) {
            return own;
        }
        shared - 1
    }

    /// The innermost frame that is not the library's, or the function.
    fn own(&self, chain: &[Place]) -> usize {
        let is_own = |place: &Place| !(self.is_library)(self.file(*place));
        chain.iter().rposition(is_own).unwrap_or(0)
    }

    /// Whether a place is on the line of a branch, in the frame that the reader knows.
    fn on_line(&self, decided: &[Place], place: Place) -> bool {
        let to = self.chain(Some(place));
        let shared = shared(decided, &to).min(self.own(decided) + 1);
        let Some(level) = shared.checked_sub(1) else {
            return false;
        };
        decided[level].line == to[level].line
    }

    /// Whether a place is in the text of the innermost loop around a block: between its first and
    /// its last line.
    fn is_within(&self, decided: &[Place], from: u32, place: Place) -> bool {
        let (Some(graph), level) = (self.graph(), self.own(decided)) else {
            return false;
        };
        let Some(own) = decided.get(level) else {
            return false;
        };
        let line = |place: Place| {
            let at = self.chain(Some(place)).get(level).copied();
            at.filter(|at| at.scope == own.scope).map(|at| at.line)
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

    /// Whether an edge leaves a loop of the source, and the first place that is outside.
    #[expect(clippy::option_option, reason = "left, but to no known place")]
    fn leaves(&self, way: &Way) -> Option<Option<(u32, Place)>> {
        let edge = self.edge(way.edge);
        let graph = self.graph()?;
        if !self.is_left(edge) || !self.lives(edge.to) {
            return None;
        }
        let all = graph.loops.all();
        let mut left = graph.loops.innermost(BlockId(edge.from))?;
        while let Some(parent) = all[left].parent.filter(|&one| !graph.holds(one, edge.to)) {
            left = parent;
        }
        let inside = &self.code_of(graph, left).places;
        let around = all[left].parent.map(|parent| all[parent].head.0);
        if let Some(head) = around
            && self
                .opening(head)
                .is_none_or(|place| inside.contains(&place))
        {
            return None;
        }
        let outside = way.places.iter().find(|(_, place)| !inside.contains(place));
        if let Some(outside) = outside {
            return Some(Some(*outside));
        }
        let over = match way.end {
            WayEnd::Back(_) | WayEnd::Exit(_) => true,
            WayEnd::Block(block) => !self.may_reach(block, around, inside),
        };
        over.then_some(None)
    }

    /// Whether an edge leaves a loop of the graph.
    fn is_left(&self, edge: &EdgeMap) -> bool {
        let (from, to) = (BlockId(edge.from), BlockId(edge.to));
        let graph = self.graph();
        graph.is_some_and(|graph| graph.loops.leaves(from, to))
    }

    /// Whether a return or the head of a loop can follow a block.
    fn lives(&self, block: u32) -> bool {
        let graph = self.graph();
        graph.is_none_or(|graph| graph.lives[block as usize])
    }

    /// Whether code at one of these places may run behind a block, before the head of the loop
    /// around.
    fn may_reach(&self, block: u32, around: Option<u32>, places: &HashSet<Place>) -> bool {
        let mut seen = HashSet::from([block]);
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            for &edge in &self.out[block as usize] {
                let to = self.edge(edge).to;
                if Some(to) != around && seen.insert(to) {
                    work.push(to);
                }
            }
            if self.all_places(block).any(|place| places.contains(&place)) {
                return true;
            }
        }
        false
    }

    /// A loop's code.
    fn code_of<'g>(&self, graph: &'g Graph, inside: usize) -> &'g LoopCode {
        graph.code(inside, |blocks| {
            let places = blocks.iter().flat_map(|&block| self.all_places(block));
            let mut exits = HashMap::new();
            let out = blocks.iter().flat_map(|&block| &self.out[block as usize]);
            let targets = out.map(|&edge| self.edge(edge).to);
            for to in targets.filter(|&to| self.lives(to) && !graph.holds(inside, to)) {
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

    /// The ways of a branch.
    fn ways(&self, siblings: &[u32]) -> Ways {
        let all: Vec<Way> = siblings.iter().map(|&sibling| self.way(sibling)).collect();
        let mut targets: HashMap<u32, usize> = HashMap::new();
        for way in &all {
            *targets.entry(self.edge(way.edge).to).or_default() += 1;
        }
        Ways {
            leaving: all.iter().filter(|way| way.left.is_some()).count(),
            targets,
            all,
        }
    }

    /// Follows an edge as long as there is one way on.
    fn way(&self, first: u32) -> Way {
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
        let mut way = Way {
            edge: first,
            blocks,
            places,
            end,
            left: None,
        };
        way.left = self.leaves(&way);
        way
    }

    /// Whether an edge leads to the head of a loop that it is in.
    fn is_back(&self, edge: u32) -> bool {
        self.graph().is_some_and(|graph| graph.back.contains(&edge))
    }

    /// The first place that a block runs through, or what comes behind it in any case.
    fn opening(&self, block: u32) -> Option<Place> {
        let mut at = block;
        for _ in 0..self.map.blocks.len() {
            let places = &self.map.blocks[at as usize].places;
            if let Some(place) = first_place(places).or_else(|| self.branch_place(at)) {
                return Some(place);
            }
            match self.out[at as usize][..] {
                [only] => at = self.edge(only).to,
                _ => return None,
            }
        }
        None
    }

    /// Where a block's branch stands.
    fn branch_place(&self, block: u32) -> Option<Place> {
        let mut edges = self.out[block as usize].iter();
        let place = edges.find_map(|&edge| self.edge(edge).place);
        place.filter(|place| place.line != 0)
    }

    /// Where a decision stands.
    fn decided_at(&self, edge: &EdgeMap) -> Option<Place> {
        let place = edge.place.filter(|place| place.line != 0);
        place.or_else(|| last_place(&self.map.blocks[edge.from as usize].places))
    }

    /// A place in each frame that it is in, outermost first.
    fn chain(&self, place: Option<Place>) -> Vec<Place> {
        let mut chain = Vec::new();
        let mut next = place;
        // As many frames as scopes at most: a map that no reader checked may chain them in a ring.
        while let Some(place) = next.filter(|_| chain.len() < self.map.scopes.len()) {
            let Some(scope) = self.map.scopes.get(place.scope as usize) else {
                break;
            };
            chain.push(place);
            next = scope.parent.map(|parent| Place {
                scope: parent,
                line: scope.call_line,
                column: scope.call_column,
            });
        }
        chain.reverse();
        chain
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

/// How many frames two places share.
fn shared(a: &[Place], b: &[Place]) -> usize {
    let pairs = a.iter().zip(b);
    pairs.take_while(|(a, b)| a.scope == b.scope).count()
}
