//! Maps a path to the source: the places it runs through, the decisions there, and inlined frames.
//!
//! Consecutive places on one line of one frame form one [`Step`]. Compiler-made code without a line
//! is left out. A decision belongs to the step with the place of its branch. The decision is stored
//! as the edge that was taken. [`directions`](crate::directions) describes where that edge leads.

use holloway_flow::{Path, PathEnd, PathStart};
use holloway_format::{DagKind, EdgeMap, FunctionMap, Outcome, Place};

/// Where a path starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At the function's entry.
    Entry,
    /// At a loop head.
    Loop,
    /// After a cut, at a block that no back edge leads to.
    Cut,
}

/// Where a path ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The path leaves the function, with this outcome.
    Exit(Outcome),
    /// The path takes a back edge to a loop head with this first place.
    Back(Option<Place>),
    /// The path takes a cut edge to the block with this first place.
    Cut(Option<Place>),
}

/// A line that the path runs through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The first place of the line that the path ran through.
    pub place: Place,
    /// The edges taken on the line at branches, in order, as numbers of edges of the map.
    pub decisions: Vec<u32>,
}

/// A path as lines of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trail {
    /// Where the path starts.
    pub start: Start,
    /// The first place of the block that the path starts with.
    pub at: Option<Place>,
    /// The lines of the path, in order.
    pub steps: Vec<Step>,
    /// Where the path ends.
    pub end: End,
}

/// A frame of a place: the function's own frame, or an inlined frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Frame {
    /// The scope's number in the map.
    pub scope: u32,
    /// The current line of the frame: the line of the place, or of the inlined call.
    pub line: u32,
}

/// Returns the frames of a place, innermost first.
pub fn frames<'a>(map: &'a FunctionMap, place: &Place) -> impl Iterator<Item = Frame> + use<'a> {
    let mut next = Some(Frame {
        scope: place.scope,
        line: place.line,
    });
    // The scopes of an unchecked map may form a cycle, so the number of frames is limited to the
    // number of scopes.
    (0..map.scopes.len()).map_while(move |_| {
        let frame = next?;
        let scope = map.scopes.get(frame.scope as usize)?;
        next = scope.parent.map(|parent| Frame {
            scope: parent,
            line: scope.call_line,
        });
        Some(frame)
    })
}

/// Maps a path to the source.
pub fn trail(map: &FunctionMap, path: &Path) -> Trail {
    let mut steps = Vec::new();
    let mut edges = path.edges.iter();
    let first = path.blocks.first();
    for (index, block) in path.blocks.iter().enumerate() {
        let begin = steps.len();
        for place in map
            .blocks
            .get(block.index())
            .map_or(&[][..], |block| &block.places)
        {
            add_place(&mut steps, *place);
        }
        let taken = if index + 1 < path.blocks.len() {
            edges.next()
        } else {
            end_edge(&path.end)
        };
        if let Some((number, edge)) =
            taken.and_then(|edge| Some((edge.0, map.edges.get(edge.index())?)))
        {
            add_decision(&mut steps, begin, number, edge);
        }
    }
    let head = |block: u32| {
        map.blocks
            .get(block as usize)
            .and_then(|block| first_place(&block.places))
    };
    let target =
        |edge: &holloway_flow::EdgeId| map.edges.get(edge.index()).and_then(|edge| head(edge.to));
    Trail {
        start: start(map, path),
        at: first.and_then(|block| head(block.0)),
        steps,
        end: match &path.end {
            PathEnd::Exit(edge) => End::Exit(
                map.edges
                    .get(edge.index())
                    .map_or(Outcome::Return, |edge| edge.outcome),
            ),
            PathEnd::Back(edge) => End::Back(target(edge)),
            PathEnd::Cut(edge) => End::Cut(target(edge)),
        },
    }
}

fn start(map: &FunctionMap, path: &Path) -> Start {
    let PathStart::Loop(head) = path.start else {
        return Start::Entry;
    };
    let leads_to_head = |edge: u32| {
        let edge = map.edges.get(edge as usize);
        edge.is_some_and(|edge| edge.to == head.0)
    };
    let mut kinds = map.dag.iter().map(|edge| edge.kind);
    if kinds.any(|kind| matches!(kind, DagKind::Back(edge) if leads_to_head(edge))) {
        Start::Loop
    } else {
        Start::Cut
    }
}

/// The first place that has a line.
pub fn first_place(places: &[Place]) -> Option<Place> {
    places.iter().copied().find(|place| place.line != 0)
}

/// The last place that has a line.
pub fn last_place(places: &[Place]) -> Option<Place> {
    places.iter().rev().copied().find(|place| place.line != 0)
}

/// Whether an outcome is the result of a choice, so that it is worth showing.
pub fn is_choice(outcome: Outcome) -> bool {
    match outcome {
        Outcome::True | Outcome::False | Outcome::Case(_) | Outcome::Default | Outcome::Unwind => {
            true
        }
        Outcome::Indirect | Outcome::AsmGoto | Outcome::Again => true,
        Outcome::Jump | Outcome::Normal | Outcome::Return | Outcome::Noreturn => false,
        Outcome::Resume
        | Outcome::TailCall
        | Outcome::Split
        | Outcome::Left
        | Outcome::Returned => false,
    }
}

/// The edge that ends a path.
fn end_edge(end: &PathEnd) -> Option<&holloway_flow::EdgeId> {
    match end {
        PathEnd::Exit(edge) | PathEnd::Back(edge) | PathEnd::Cut(edge) => Some(edge),
    }
}

/// Adds a step for a place, unless the last step is on the same line of the same scope.
fn add_place(steps: &mut Vec<Step>, place: Place) {
    let is_on_line = |step: &Step| step.place.scope == place.scope && step.place.line == place.line;
    if place.line != 0 && !steps.last().is_some_and(is_on_line) {
        steps.push(Step {
            place,
            decisions: Vec::new(),
        });
    }
}

/// Adds a decision to the step with the place of its branch: to the last such step since `begin`,
/// or to a new step.
fn add_decision(steps: &mut Vec<Step>, begin: usize, number: u32, edge: &EdgeMap) {
    if !is_choice(edge.outcome) {
        return;
    }
    let place = edge.place.filter(|place| place.line != 0);
    if let Some(place) = place {
        let begin = begin.saturating_sub(1).min(steps.len());
        let is_on_line =
            |step: &&mut Step| step.place.scope == place.scope && step.place.line == place.line;
        if let Some(step) = steps[begin..].iter_mut().rev().find(is_on_line) {
            step.decisions.push(number);
            return;
        }
        add_place(steps, place);
    }
    if let Some(step) = steps.last_mut() {
        step.decisions.push(number);
    }
}
