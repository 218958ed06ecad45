//! Line counts: how often execution came to each line of the source.
//!
//! A line's count is the flow into its blocks from blocks that are not on it, and the rounds of the
//! loops among its blocks (`cycles`). A block is on every line that it has a place of, the jump
//! at its end included. This is gcov's definition, and in unoptimized code the counts are gcov's.
//!
//! Where a block comes to a line several times, from other lines, all of these count in code that
//! was not optimized, and one in code that was: the optimizer interleaves lines.
//!
//! The line of a function's declaration counts its calls.
//!
//! # Inlined code
//! A line counts in the *frame* it is in: a place inlined from elsewhere is at its own line, and
//! all the while also at the line of the call, in the caller's frame. A loop that lies in an
//! inlined function whole does not count at the line of the call. The declaration of an inlined
//! function counts how often control came to its frame. Counts of all frames of a line are added,
//! whichever function it was inlined into.
//!
//! # Calls that do not come back, or once more
//! Behind a call that did not come back a block's lines count less (`whole`). Where a call comes
//! back once more (`setjmp`, `fork`), control comes once more to the lines behind it; to the call's
//! own line it does not come, any more than by the first return.
//!
//! # Example
//! `for (i = 0; i < 100; i++) if (i & 1) n++;` on one line, run once: b0 sets `i`, b1 tests it, b2
//! tests for odd, b3 adds to `n`, b4 adds to `i` and leads back to b1. All are on the line. One
//! comes from outside, to b0; 50 rounds are b1 b2 b3 b4, 50 are b1 b2 b4. The line counts 101.
//!
//! Cost: linear in places times the depth of inlining, but for cycles that share edges.

mod cycles;
mod whole;

use std::collections::BTreeMap;

use holloway_format::{FunctionMap, Place, Scope};

use crate::bounds::Bound;
use crate::run::{Function, RunProfile};
use crate::trail::{Frame, frames};
use cycles::Cycles;
use whole::{Part, Whole};

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
        let kept = kept(function, keep);
        if !kept.contains(&true) {
            continue;
        }
        for (frame, count) in arrivals(function) {
            if !kept[frame.scope as usize] {
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

/// By scope of a function: whether its lines are wanted, and in a file.
fn kept(function: &Function, keep: &dyn Fn(&Function, &Scope) -> bool) -> Vec<bool> {
    let scopes = function.map.scopes.iter();
    scopes
        .map(|scope| !scope.file.is_empty() && keep(function, scope))
        .collect()
}

/// Part of the source that blocks are on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Spot {
    /// A line of a frame.
    Line(Frame),
    /// All of an inlined function's frame.
    Frame(u32),
}

impl Spot {
    /// The line where it counts.
    fn frame(self, map: &FunctionMap) -> Frame {
        match self {
            Spot::Line(frame) => frame,
            Spot::Frame(scope) => Frame {
                scope,
                line: map.scopes[scope as usize].line,
            },
        }
    }
}

/// A block that is on a spot.
#[derive(Debug)]
struct Member {
    block: usize,
    /// The parts in which control comes to the spot from another.
    starts: Vec<usize>,
    /// Parts up to the last in which the spot has a place.
    seen: usize,
    /// Times that control came to the spot because a call came back once more, behind the one start
    /// that counts.
    again: u64,
}

/// How the counts of lines may differ from the executions, for lines where they may; by file and
/// line, of the scopes that `keep` holds for, as in [`counts`].
pub fn bounds(
    run: &RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<String, BTreeMap<u32, Bound>> {
    let mut files: BTreeMap<String, BTreeMap<u32, Bound>> = BTreeMap::new();
    for function in &run.functions {
        if function.map.leaks.is_empty() {
            continue;
        }
        let kept = kept(function, keep);
        if !kept.contains(&true) {
            continue;
        }
        for (frame, bound) in frame_bounds(function) {
            if !kept[frame.scope as usize] {
                continue;
            }
            let scope = &function.map.scopes[frame.scope as usize];
            let lines = files.entry(scope.file.to_string()).or_default();
            let known = lines.entry(frame.line).or_default();
            *known = known.and(bound);
        }
    }
    files
}

/// How the counts of a function's lines may differ from the executions, where they may: as all that
/// [`arrivals`] adds up or compares for them.
fn frame_bounds(function: &Function) -> BTreeMap<Frame, Bound> {
    let map = &function.map;
    let whole = Whole::new(function);
    let mut bounds: BTreeMap<Frame, Bound> = BTreeMap::new();
    for (block, parts) in whole.blocks.iter().enumerate() {
        let into = whole.into[block].iter().map(|&arc| whole.arcs[arc].bound);
        let into = Bound::of_all(into);
        for part in parts {
            let bound = part.bound.and(into);
            let spots = part.places.iter().flat_map(|place| spots(map, place));
            for spot in spots.filter(|_| bound != Bound::Exact) {
                let known = bounds.entry(spot.frame(map)).or_default();
                *known = known.and(bound);
            }
        }
    }
    bounds.retain(|frame, _| frame.line != 0);
    bounds
}

/// How often execution came to each line of each frame of a function.
fn arrivals(function: &Function) -> BTreeMap<Frame, u64> {
    let map = &function.map;
    let whole = Whole::new(function);
    let members = members(map, &whole);
    let owners = owners(map, &whole);
    let mut cycles = Cycles::new(&whole.arcs, &whole.out);
    let mut is_member = vec![false; whole.blocks.len()];
    let mut counts: BTreeMap<Frame, u64> = BTreeMap::new();
    for (&spot, members) in &members {
        let blocks: Vec<usize> = members.iter().map(|member| member.block).collect();
        blocks.iter().for_each(|&block| is_member[block] = true);
        let mut count = cycles.rounds(&blocks, &inner_loops(map, &owners, spot, &blocks));
        for member in members {
            count = count.saturating_add(arrivals_at(&whole, &is_member, member));
        }
        blocks.iter().for_each(|&block| is_member[block] = false);
        let frame = spot.frame(map);
        if frame.line != 0 {
            let sum = counts.entry(frame).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    counts
}

/// Times that control came to a block's spot from elsewhere.
fn arrivals_at(whole: &Whole, is_member: &[bool], member: &Member) -> u64 {
    let arcs = whole.into[member.block].iter().map(|&arc| whole.arcs[arc]);
    let outside = arcs.filter(|arc| !is_member[arc.from]);
    let mut outside = outside.fold(0u64, |sum, arc| sum.saturating_add(arc.count));
    if member.block == whole.front() {
        outside = whole.calls;
    }
    let parts = &whole.blocks[member.block];
    let mut count = member.again;
    for &start in &member.starts {
        let again = parts[..=start].iter().map(|part| part.again);
        let came = again.fold(outside, u64::saturating_add);
        count = count.saturating_add(came.min(parts[start].reached));
    }
    count
}

/// The spots of a function with the blocks that are on them.
fn members(map: &FunctionMap, whole: &Whole) -> BTreeMap<Spot, Vec<Member>> {
    let mut members: BTreeMap<Spot, Vec<Member>> = BTreeMap::new();
    for (block, parts) in whole.blocks.iter().enumerate() {
        let mut before: Vec<Spot> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            for place in &part.places {
                let now = spots(map, place);
                for &spot in &now {
                    let of_spot = members.entry(spot).or_default();
                    if of_spot.last().is_none_or(|member| member.block != block) {
                        of_spot.push(Member::new(block));
                    }
                    let member = of_spot.last_mut().expect("it was just put there");
                    if !before.contains(&spot) {
                        member.come_to(parts, index, map.in_source_order);
                    }
                    member.seen = index + 1;
                }
                before = now;
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
            seen: 0,
            again: 0,
        }
    }

    /// Control comes to the spot from another place of the block, in this part. `each`: that counts
    /// every time.
    fn come_to(&mut self, parts: &[Part], index: usize, each: bool) {
        if each || self.starts.is_empty() {
            self.starts.push(index);
            return;
        }
        // What came back behind the places of the spot so far was not yet counted here.
        let again = parts[self.seen..=index].iter().map(|part| part.again);
        let again = again.fold(0, u64::saturating_add);
        self.again = self.again.saturating_add(again.min(parts[index].reached));
    }
}

/// The spots that a place is on.
fn spots(map: &FunctionMap, place: &Place) -> Vec<Spot> {
    let mut spots = Vec::new();
    for frame in frames(map, place) {
        if frame.line != 0 {
            spots.push(Spot::Line(frame));
        }
        if map.scopes[frame.scope as usize].parent.is_some() {
            spots.push(Spot::Frame(frame.scope));
        }
    }
    spots
}

/// By block: the innermost scope that all of its places are in.
fn owners(map: &FunctionMap, whole: &Whole) -> Vec<Option<u32>> {
    let owner = |parts: &Vec<Part>| {
        let places = parts.iter().flat_map(|part| &part.places);
        let mut scopes = places.map(|place| Some(place.scope));
        let first = scopes.next().flatten();
        scopes.fold(first, |one, other| shared(map, one?, other?))
    };
    whole.blocks.iter().map(owner).collect()
}

/// The innermost scope that two are in. Callers stand before callees.
fn shared(map: &FunctionMap, mut one: u32, mut other: u32) -> Option<u32> {
    while one != other {
        if one < other {
            (one, other) = (other, one);
        }
        one = parent(map, one)?;
    }
    Some(one)
}

fn parent(map: &FunctionMap, scope: u32) -> Option<u32> {
    map.scopes.get(scope as usize)?.parent
}

/// The blocks on a spot that belong to a function inlined there, by function. A loop that lies in
/// one of these groups does not count at the spot.
fn inner_loops(
    map: &FunctionMap,
    owners: &[Option<u32>],
    spot: Spot,
    blocks: &[usize],
) -> Vec<Vec<usize>> {
    let mut inner: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &block in blocks {
        let mut outer = std::iter::successors(owners[block], |&scope| parent(map, scope));
        let within = match spot {
            Spot::Line(frame) => outer.find(|&scope| parent(map, scope) == Some(frame.scope)),
            Spot::Frame(frame) => outer.find(|&scope| scope == frame),
        };
        if let Some(scope) = within {
            inner.entry(scope).or_default().push(block);
        }
    }
    inner.into_values().collect()
}
