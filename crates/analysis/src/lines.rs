//! Computes line counts: how often control came to each line of the source.
//!
//! The count of a line is the flow into its blocks from blocks of other lines, plus the rounds of
//! loops among its blocks (`cycles`). A block is on every line that one of its places is on,
//! including the place of the jump at its end. This is gcov's definition. In unoptimized code the
//! counts equal gcov's. A jump in front of all other code of its line is not on the line: it is the
//! end of an arm, as in `} else if (b) {` (`whole`).
//!
//! The code of a block may come to a line several times, each time from another line. In
//! unoptimized code, each of these arrivals counts. In optimized code only the first counts,
//! because the optimizer interleaves lines.
//!
//! The line of a function's declaration counts its calls.
//!
//! # Inlined code
//! A line is counted in the *frame* that contains it. Inlined code is on its own line in the frame
//! of the inlined function, and on the line of the inlined call in the caller's frame. A loop that
//! lies completely in an inlined function does not count at the line of the call. The declaration
//! of an inlined function counts how often control came to its frame. The counts of all frames of a
//! line are added up, no matter into which functions the line was inlined.
//!
//! # Calls that do not come back, or come back once more
//! If a call does not come back, the lines after it in its block have lower counts (`whole`). If a
//! call comes back once more (`setjmp`, `fork`), control comes once more to the lines after it. The
//! line of the call counts no return.
//!
//! # Example
//! `for (i = 0; i < 100; i++) if (i & 1) n++;` on one line, executed once. b0 sets `i`, b1 tests
//! it, b2 tests for odd, b3 adds to `n`, b4 adds to `i` and leads back to b1. All these blocks are
//! on the line. Control comes once from outside, to b0. 50 rounds are b1 b2 b3 b4, and 50 rounds
//! are b1 b2 b4. The line's count is 101.
//!
//! Cost: linear in places times the depth of inlining, except for cycles that share edges.

mod cycles;
mod whole;

use std::collections::BTreeMap;

use holloway_format::{Count, FunctionMap, Place, Scope};

use crate::bounds::Bound;
use crate::run::{Function, RunProfile};
use crate::trail::{Frame, frames};
use cycles::Cycles;
use whole::{Part, UndividedGraph};

/// Counts of the lines of a file that have code, by line; 0 where the code never ran.
pub type Lines = BTreeMap<u32, Count>;

/// Returns the counts of all lines of the scopes that `keep` accepts, by file. The files are named
/// as in the map.
///
/// `keep` receives a function and one of its scopes: the function itself or an inlined function.
pub fn counts(
    run: &RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<String, Lines> {
    let mut files: BTreeMap<&str, Lines> = BTreeMap::new();
    for function in &run.functions {
        let accepted_scopes = accepted_scopes(function, keep);
        if !accepted_scopes.contains(&true) {
            continue;
        }
        for (frame, count) in arrivals(function) {
            if !accepted_scopes[frame.scope as usize] {
                continue;
            }
            let scope = &function.map.scopes[frame.scope as usize];
            let lines = files.entry(&scope.file).or_default();
            let sum = lines.entry(frame.line).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    files
        .into_iter()
        .map(|(file, lines)| (file.to_owned(), lines))
        .collect()
}

/// By scope of a function: whether it has a file and `keep` accepts it.
pub(crate) fn accepted_scopes(
    function: &Function,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> Vec<bool> {
    let scopes = function.map.scopes.iter();
    scopes
        .map(|scope| !scope.file.is_empty() && keep(function, scope))
        .collect()
}

/// A region of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Region {
    /// A line of a frame.
    Line(Frame),
    /// The complete frame of an inlined function, by its scope.
    InlinedFrame(u32),
}

impl Region {
    /// The line that counts the region.
    fn frame(self, map: &FunctionMap) -> Frame {
        match self {
            Region::Line(frame) => frame,
            Region::InlinedFrame(scope) => Frame {
                scope,
                line: map.scopes[scope as usize].line,
            },
        }
    }
}

/// A block with places in a region.
#[derive(Debug)]
struct Member {
    block: usize,
    /// The parts in which control comes to the region from outside it.
    starts: Vec<usize>,
    /// The number of parts up to the last part with a place in the region.
    parts_seen: usize,
    /// Arrivals in the region after `starts` because a call came back once more.
    reentries: Count,
}

/// Returns the bounds of line counts, by file and line, for the scopes that `keep` accepts, as in
/// [`counts`]. Lines with exact counts are not listed.
pub fn bounds(
    run: &RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<String, BTreeMap<u32, Bound>> {
    let mut files: BTreeMap<String, BTreeMap<u32, Bound>> = BTreeMap::new();
    for function in &run.functions {
        if function.map.leaks.is_empty() {
            continue;
        }
        let accepted_scopes = accepted_scopes(function, keep);
        if !accepted_scopes.contains(&true) {
            continue;
        }
        for (frame, bound) in frame_bounds(function) {
            if !accepted_scopes[frame.scope as usize] {
                continue;
            }
            let scope = &function.map.scopes[frame.scope as usize];
            let lines = files.entry(scope.file.to_string()).or_default();
            let sum = lines.entry(frame.line).or_default();
            *sum = sum.and(bound);
        }
    }
    files
}

/// Bounds of the counts of a function's lines that are not exact. The bound of a line combines the
/// bounds of all counts that [`arrivals`] adds up or compares for it.
fn frame_bounds(function: &Function) -> BTreeMap<Frame, Bound> {
    let map = &function.map;
    let graph = UndividedGraph::new(function);
    let mut bounds: BTreeMap<Frame, Bound> = BTreeMap::new();
    for (block, parts) in graph.blocks.iter().enumerate() {
        let inflow = graph.into[block].iter().map(|&arc| graph.arcs[arc].bound);
        let inflow = Bound::of_all(inflow);
        for part in parts {
            let bound = part.bound.and(inflow);
            let regions = part.places.iter().flat_map(|place| regions_of(map, place));
            for region in regions.filter(|_| bound != Bound::Exact) {
                let sum = bounds.entry(region.frame(map)).or_default();
                *sum = sum.and(bound);
            }
        }
    }
    bounds.retain(|frame, _| frame.line != 0);
    bounds
}

/// How often control came to each frame of a function, by scope: the calls of the function itself,
/// and the arrivals in each inlined function.
pub fn frame_entries(function: &Function) -> BTreeMap<u32, Count> {
    let mut entries = BTreeMap::from([(0, function.flow().calls)]);
    for (region, count) in region_arrivals(function) {
        if let Region::InlinedFrame(scope) = region {
            entries.insert(scope, count);
        }
    }
    entries
}

/// How often control came to each line of each frame of a function.
fn arrivals(function: &Function) -> BTreeMap<Frame, Count> {
    let map = &function.map;
    let mut counts: BTreeMap<Frame, Count> = BTreeMap::new();
    for (region, count) in region_arrivals(function) {
        let frame = region.frame(map);
        if frame.line != 0 {
            let sum = counts.entry(frame).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    counts
}

/// How often control came to each region of a function.
fn region_arrivals(function: &Function) -> Vec<(Region, Count)> {
    let map = &function.map;
    let graph = UndividedGraph::new(function);
    let members = members(map, &graph);
    let owners = owners(map, &graph);
    let mut cycles = Cycles::new(&graph.arcs, &graph.out);
    let mut is_member = vec![false; graph.blocks.len()];
    let mut counts: Vec<(Region, Count)> = Vec::with_capacity(members.len());
    for (&region, members) in &members {
        let blocks: Vec<usize> = members.iter().map(|member| member.block).collect();
        blocks.iter().for_each(|&block| is_member[block] = true);
        let mut count = cycles.rounds(&blocks, &inner_loops(map, &owners, region, &blocks));
        for member in members {
            count = count.saturating_add(arrivals_at(&graph, &is_member, member));
        }
        blocks.iter().for_each(|&block| is_member[block] = false);
        counts.push((region, count));
    }
    counts
}

/// Number of arrivals in a region at one of its blocks.
fn arrivals_at(graph: &UndividedGraph, is_member: &[bool], member: &Member) -> Count {
    let arcs = graph.into[member.block].iter().map(|&arc| graph.arcs[arc]);
    let outside = arcs.filter(|arc| !is_member[arc.from]);
    let mut outside = outside.fold(Count::ZERO, |sum, arc| sum.saturating_add(arc.count));
    if member.block == graph.front() {
        outside = graph.calls;
    }
    let parts = &graph.blocks[member.block];
    let mut count = member.reentries;
    for &start in &member.starts {
        let reentries = parts[..=start].iter().map(|part| part.reentries);
        let arrivals = reentries.fold(outside, Count::saturating_add);
        count = count.saturating_add(arrivals.min(parts[start].reached));
    }
    count
}

/// Returns the regions of a function with their blocks.
fn members(map: &FunctionMap, graph: &UndividedGraph) -> BTreeMap<Region, Vec<Member>> {
    let mut members: BTreeMap<Region, Vec<Member>> = BTreeMap::new();
    for (block, parts) in graph.blocks.iter().enumerate() {
        let mut previous: Vec<Region> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            for place in &part.places {
                let current = regions_of(map, place);
                for &region in &current {
                    let in_region = members.entry(region).or_default();
                    if in_region.last().is_none_or(|member| member.block != block) {
                        in_region.push(Member::new(block));
                    }
                    let member = in_region.last_mut().expect("a member of this block");
                    if !previous.contains(&region) {
                        if map.in_source_order {
                            member.starts.push(index);
                        } else {
                            member.add_arrival(parts, index);
                        }
                    }
                    member.parts_seen = index + 1;
                }
                previous = current;
            }
        }
    }
    members
}

impl Member {
    fn new(block: usize) -> Member {
        Member {
            block,
            starts: Vec::new(),
            parts_seen: 0,
            reentries: Count::ZERO,
        }
    }

    /// Adds an arrival: in this part, control comes to the region from another place of the block.
    /// Only the first arrival counts. (In code that is in source order, the caller adds every
    /// arrival to `starts` itself.)
    fn add_arrival(&mut self, parts: &[Part], index: usize) {
        if self.starts.is_empty() {
            self.starts.push(index);
            return;
        }
        // Calls that came back after the last place of the region are not counted yet.
        let parts_since = parts[self.parts_seen..=index].iter();
        let reentries = parts_since.map(|part| part.reentries);
        let reentries = reentries.fold(Count::ZERO, Count::saturating_add);
        self.reentries = self
            .reentries
            .saturating_add(reentries.min(parts[index].reached));
    }
}

/// The regions that contain a place.
fn regions_of(map: &FunctionMap, place: &Place) -> Vec<Region> {
    let mut regions = Vec::new();
    for frame in frames(map, place) {
        if frame.line != 0 {
            regions.push(Region::Line(frame));
        }
        if map.scopes[frame.scope as usize].parent.is_some() {
            regions.push(Region::InlinedFrame(frame.scope));
        }
    }
    regions
}

/// By block: the innermost scope that contains all of its places.
fn owners(map: &FunctionMap, graph: &UndividedGraph) -> Vec<Option<u32>> {
    let owner = |parts: &Vec<Part>| {
        let places = parts.iter().flat_map(|part| &part.places);
        let mut scopes = places.map(|place| Some(place.scope));
        let first = scopes.next().flatten();
        scopes.fold(first, |a, b| common_scope(map, a?, b?))
    };
    graph.blocks.iter().map(owner).collect()
}

/// The innermost scope that contains two scopes. In a map, callers come before callees.
fn common_scope(map: &FunctionMap, mut a: u32, mut b: u32) -> Option<u32> {
    while a != b {
        if a < b {
            (a, b) = (b, a);
        }
        a = parent(map, a)?;
    }
    Some(a)
}

fn parent(map: &FunctionMap, scope: u32) -> Option<u32> {
    map.scopes.get(scope as usize)?.parent
}

/// The blocks in a region that belong to inlined functions, grouped by inlined function. A loop
/// within one group does not count in the region.
fn inner_loops(
    map: &FunctionMap,
    owners: &[Option<u32>],
    region: Region,
    blocks: &[usize],
) -> Vec<Vec<usize>> {
    let mut inner: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &block in blocks {
        let mut scopes = std::iter::successors(owners[block], |&scope| parent(map, scope));
        let inlined = match region {
            Region::Line(frame) => scopes.find(|&scope| parent(map, scope) == Some(frame.scope)),
            Region::InlinedFrame(frame) => scopes.find(|&scope| scope == frame),
        };
        if let Some(scope) = inlined {
            inner.entry(scope).or_default().push(block);
        }
    }
    inner.into_values().collect()
}
