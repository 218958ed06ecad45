//! Line counts: how often execution came to each line of the source.
//!
//! A line counts in the *frame* it is in: a place inlined from elsewhere is at its own line, and all the while also
//! at the line of the call, in the caller's frame. Execution comes to a line when it enters a block that begins with it
//! from a block that did not end in it; when a block reaches it further on (once a block, since instructions of
//! several lines may be interleaved); at each round of a loop that lies on it whole; and where a call on it comes back
//! once more (`setjmp`, `fork`). Counts of all frames of a line are added, whichever function it was inlined into.
//!
//! In unoptimised code that is the number of times the line was executed, as gcov counts it. Where the compiler
//! unrolled a line into copies inside one block, or hoisted it, it is the number of times its code was reached.
//!
//! Cost: linear in places times the depth of inlining.

use std::collections::{BTreeMap, BTreeSet};

use holloway_flow::{Cfg, Dag};
use holloway_format::{EdgeKind, FunctionMap, Outcome, Place, Scope};

use crate::bounds::Bound;
use crate::flow::{Through, graph_of, is_before_call, uncut_graph_of};
use crate::run::{Function, RunProfile};
use crate::trail::{Frame, first_place, frames, last_place};

/// Counts of the lines of a file that have code, by line; 0 where the code never ran.
pub type Lines = BTreeMap<u32, u64>;

/// Counts of all lines of the scopes that `keep` holds for, by file as the map names it.
///
/// `keep` is asked with the function and the scope of it (the function itself, or one inlined).
pub fn counts(
    run: &RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<String, Lines> {
    let mut files: BTreeMap<&str, Lines> = BTreeMap::new();
    for function in &run.functions {
        let kept: Vec<bool> = function
            .map
            .scopes
            .iter()
            .map(|scope| keep(function, scope))
            .collect();
        if !kept.contains(&true) {
            continue;
        }
        for (frame, count) in arrivals(function) {
            let scope = &function.map.scopes[frame.scope as usize];
            if kept[frame.scope as usize] && frame.line != 0 && !scope.file.is_empty() {
                let sum = files
                    .entry(&scope.file)
                    .or_default()
                    .entry(frame.line)
                    .or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }
    files
        .into_iter()
        .map(|(file, lines)| (file.to_owned(), lines))
        .collect()
}

/// How the counts of lines may differ from what ran, for those of which they may; by file and line, of the scopes that `keep` holds for, as in [`counts`].
pub fn bounds(
    run: &RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<String, BTreeMap<u32, Bound>> {
    let mut files: BTreeMap<String, BTreeMap<u32, Bound>> = BTreeMap::new();
    let affected = run.functions.iter().filter(|f| !f.map.leaks.is_empty());
    for function in affected {
        for (block, places) in function.map.blocks.iter().map(|b| &b.places).enumerate() {
            let bound = function.bounds().arriving(function, block);
            if bound == Bound::Exact {
                continue;
            }
            for frame in held(function, places) {
                let scope = &function.map.scopes[frame.scope as usize];
                if !scope.file.is_empty() && keep(function, scope) {
                    let lines = files.entry(scope.file.to_string()).or_default();
                    let known = lines.entry(frame.line).or_default();
                    *known = known.and(bound);
                }
            }
        }
    }
    files
}

/// How often execution came to each line of each frame of a function.
fn arrivals(function: &Function) -> BTreeMap<Frame, u64> {
    let ends = Ends::new(function);
    let flow = function.flow();
    let through = Through::new(&function.map, &flow.edges, flow.calls);
    let mut counts: BTreeMap<Frame, u64> = BTreeMap::new();
    let mut add = |frame: Frame, count: u64| {
        let sum = counts.entry(frame).or_default();
        *sum = sum.saturating_add(count);
    };
    let calls = called_first(&function.map);
    for block in 0..function.map.blocks.len() {
        let came = through.came(block).saturating_sub(flow.left[block]);
        for (frame, comes) in inside(function, &ends, &calls, block) {
            add(frame, if comes { came } else { 0 });
        }
    }
    for (block, again) in again(function, &through) {
        let frames = match again {
            // Behind the call that comes back: all of the block runs once more.
            Again::At => &held(function, &function.map.blocks[block].places),
            // The call is in the block, its last: only that comes back.
            Again::In => &ends.last[block],
        };
        for &frame in frames {
            add(frame, through.again(block));
        }
    }
    for &frame in &ends.first[function.map.entry as usize] {
        add(frame, flow.calls);
    }
    for (index, edge) in function.map.edges.iter().enumerate() {
        let (last, first) = (
            &ends.last[edge.from as usize],
            &ends.first[edge.to as usize],
        );
        let outside = ends.back[index].then(|| outside(last, first));
        // What is before a call where paths are cut is of one piece with it.
        let before = is_before_call(edge)
            .then(|| behind_call(&function.map, &calls, edge.from as usize))
            .filter(|places| !places.is_empty())
            .map(|places| held(function, places));
        let last = before.as_ref().unwrap_or(last);
        for &frame in first {
            let round = outside
                .as_ref()
                .is_some_and(|outside| !outside.contains(&frame.scope));
            if !last.contains(&frame) || round && ends.stays_on(function, frame, edge.to, edge.from)
            {
                add(frame, u64::try_from(flow.edges[index]).unwrap_or(0));
            }
        }
    }
    counts
}

/// The frames of a block, and whether execution comes to them further on in it. To those that it begins with it comes by the edges into it; behind
/// a call that it begins with it comes to lines again, as in a block of its own.
fn inside(
    function: &Function,
    ends: &Ends,
    calls: &BTreeSet<u32>,
    block: usize,
) -> Vec<(Frame, bool)> {
    let (begun, places) = (&ends.first[block], &function.map.blocks[block].places);
    let rest = behind_call(&function.map, calls, block);
    let goes_on: Option<Vec<Frame>> = rest
        .first()
        .filter(|_| rest.len() < places.len())
        .map(|first| stack(function, first).collect());
    let is_there = |frame: &Frame| {
        let goes_on = goes_on.as_ref();
        begun.contains(frame) && goes_on.is_none_or(|first| first.contains(frame))
    };
    let held = held(function, rest).into_iter();
    let held = held.map(|frame| (frame, !is_there(&frame)));
    begun
        .iter()
        .map(|&frame| (frame, false))
        .chain(held)
        .collect()
}

/// Where a call comes back once more.
enum Again {
    /// At a block's start.
    At,
    /// In a block.
    In,
}

/// The blocks that calls which may come back once more lead to, or end.
fn again(function: &Function, through: &Through) -> Vec<(usize, Again)> {
    let edges = &function.map.edges;
    let at = |block: u32| {
        let mut into = edges.iter().filter(|edge| edge.to == block);
        into.any(|edge| edge.outcome == Outcome::Again)
    };
    let mut blocks: Vec<u32> = Vec::new();
    for edge in edges {
        match (edge.kind, edge.outcome) {
            (EdgeKind::Exit, _) => blocks.push(edge.from),
            (_, Outcome::Again) => blocks.push(edge.to),
            _ => {}
        }
    }
    blocks.sort_unstable();
    blocks.dedup();
    blocks.retain(|&block| through.again(block as usize) > 0);
    let found = blocks.into_iter().map(|block| {
        let again = if at(block) { Again::At } else { Again::In };
        (block as usize, again)
    });
    found.collect()
}

/// The blocks that begin with a call before which paths end.
fn called_first(map: &FunctionMap) -> BTreeSet<u32> {
    let edges = map.edges.iter().filter(|edge| is_before_call(edge));
    edges.map(|edge| edge.to).collect()
}

/// The places of a block, without those of the call that it begins with.
fn behind_call<'a>(map: &'a FunctionMap, calls: &BTreeSet<u32>, block: usize) -> &'a [Place] {
    let places = &map.blocks[block].places;
    match places.split_first() {
        Some((_, rest)) if calls.contains(&(block as u32)) => rest,
        _ => places,
    }
}

/// The frames of these places, each once.
fn held(function: &Function, places: &[Place]) -> Vec<Frame> {
    let places = places.iter();
    let mut held: Vec<Frame> = places.flat_map(|place| stack(function, place)).collect();
    held.sort_unstable();
    held.dedup();
    held
}

/// Scopes that lie outside the innermost one that both places are in: a loop between them is not in these.
fn outside(last: &[Frame], first: &[Frame]) -> BTreeSet<u32> {
    let scopes: BTreeSet<u32> = last.iter().map(|frame| frame.scope).collect();
    let shared = first
        .iter()
        .map(|frame| frame.scope)
        .filter(|scope| scopes.contains(scope));
    shared.skip(1).collect()
}

/// The frames each block begins and ends in, innermost first; which edges are back edges; the blocks after each.
struct Ends {
    first: Vec<Vec<Frame>>,
    last: Vec<Vec<Frame>>,
    back: Vec<bool>,
    after: Vec<Vec<u32>>,
}

impl Ends {
    fn new(function: &Function) -> Ends {
        let map = &function.map;
        let of = |place: Option<Place>| {
            place.map_or_else(Vec::new, |place| stack(function, &place).collect())
        };
        let mut first: Vec<Vec<Frame>> = map
            .blocks
            .iter()
            .map(|block| of(first_place(&block.places)))
            .collect();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); map.blocks.len()];
        let mut after = before.clone();
        for edge in &map.edges {
            before[edge.to as usize].push(edge.from);
            after[edge.from as usize].push(edge.to);
        }
        let mut last: Vec<Vec<Frame>> = (0..map.blocks.len())
            .map(|block| of(last_before(map, &before, block)))
            .collect();
        // A piece of a block without places of its own, before a call where paths are cut, is at the call.
        let splits = map.edges.iter().rev();
        for edge in splits.filter(|edge| edge.outcome == Outcome::Split) {
            let (from, to) = (edge.from as usize, edge.to as usize);
            if map.blocks[from].places.is_empty() {
                first[from] = first[to].clone();
                last[from] = first[to].clone();
            }
        }
        Ends {
            first,
            last,
            back: back_edges(map),
            after,
        }
    }

    /// Whether there is a way from block to block that never leaves the line of a frame.
    fn stays_on(&self, function: &Function, frame: Frame, from: u32, to: u32) -> bool {
        let blocks = &function.map.blocks;
        let holds =
            |place: &Place| place.line == 0 || stack(function, place).any(|held| held == frame);
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(block) = next.pop() {
            if blocks[block as usize].places.iter().all(holds) && seen.insert(block) {
                if block == to {
                    return true;
                }
                next.extend(&self.after[block as usize]);
            }
        }
        false
    }
}

/// Which edges are back edges: found in the graph, since where edges are counted no dag is kept. Paths that are cut in a loop, as at calls in a trace, don't open it, unless it
/// could carry no probe otherwise.
fn back_edges(map: &FunctionMap) -> Vec<bool> {
    let mut back = vec![false; map.edges.len()];
    let dag_of = |cfg: Result<Cfg, String>| cfg.ok().and_then(|cfg| Dag::new(&cfg).ok());
    let dag = dag_of(uncut_graph_of(map)).or_else(|| dag_of(graph_of(map)));
    for edge in dag.iter().flat_map(Dag::back_edges) {
        back[edge.index()] = true;
    }
    back
}

/// The last place run when a block is left: its own, or of the only way to a block without places.
fn last_before(map: &FunctionMap, before: &[Vec<u32>], block: usize) -> Option<Place> {
    let mut at = block;
    for _ in 0..map.blocks.len() {
        if let Some(place) = last_place(&map.blocks[at].places) {
            return Some(place);
        }
        match before[at][..] {
            [only] => at = only as usize,
            _ => return None,
        }
    }
    None
}

/// The frames of a place that have a line.
fn stack<'a>(function: &'a Function, place: &Place) -> impl Iterator<Item = Frame> + use<'a> {
    frames(&function.map, place).filter(|frame| frame.line != 0)
}
