//! Where a loop decides whether its body runs once more: its *condition*.
//!
//! `for` and `while` test before each iteration, so the head of such a loop runs once more than the
//! body. Counts leave these final tests out: iterations are runs of the head less the times that
//! the loop was left out of its condition. The optimizer moves the test behind the body and a copy
//! of it before the loop (rotation); then the head is the body, there is no condition at the head,
//! and the number is the same.
//!
//! The graph alone does not tell the two apart. `while (c) { if (x) break; … }` behind rotation and
//! `for (;;) { if (x) break; … if (c) break; }` have one graph, and in the former a run that ends
//! with `break` is an iteration. So the places of the tests decide, a *test* being a branch out of
//! the loop, and a *bottom* test one whose other way is straight back to the head:
//! 1. Where the map knows the place of the loop's keyword (C, C++), the branches of that place are
//!    its own. The condition is all that lies between the head and those that are not at the
//!    bottom. If all are at the bottom, the loop was rotated and has none.
//! 2. A loop with a keyword that has to end, and without a branch of its place, is a `do`. If it
//!    has a bottom test, all its runs are iterations.
//! 3. Else (Rust; `for (;;)`, of which the optimizer often forgets the keyword) the loop's first
//!    line that has a test is the condition: of `loop { A; if c { break } B }` the iterations are
//!    those that reach B, as rotation would have it, and as of `while`. If that test is at the
//!    bottom, all runs are iterations.
//!
//! Branches to what can't return from the function (panics) are no tests, unless all are; nor are,
//! in 3, those of inner loops.
//!
//! Limits: two tests that the optimizer made one can't be told apart. A loop whose body is empty
//! has its test for a body, so the final test counts. A loop without a dominating head has no
//! condition.
//!
//! Example, `for (i = 0; i < n; i++) work(i);` as it is written: b0 → b1; b1 (test, place of `for`)
//! → b2 or out; b2 (work) → b3; b3 (`i++`) → b1. The condition is b1. Rotated: b1 (work, `i++`,
//! test) → b1 or out. The test is at the bottom: no condition.
//!
//! Cost: for each loop, a few passes over its blocks and edges, and one over the blocks of each
//! loop inside it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holloway_format::{DagKind, EdgeMap, FunctionMap, LoopMap, Outcome, Place};

use crate::edges::jumps;

/// The loops of a function, as its graph has them.
pub(super) struct Loops<'a> {
    map: &'a FunctionMap,
    /// Edges by source, and by target.
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    jumps: Vec<Option<u32>>,
    /// Blocks from which the function may return.
    returns: Vec<bool>,
    /// Head and blocks of each loop, by head.
    all: Vec<(u32, BTreeSet<u32>)>,
    /// What the compiler says of loops, by head.
    described: BTreeMap<u32, &'a LoopMap>,
}

/// A branch out of a loop.
#[derive(Clone, Copy)]
struct Test<'a> {
    edge: &'a EdgeMap,
    /// Its other ways lead straight to the head.
    is_bottom: bool,
}

impl<'a> Loops<'a> {
    pub(super) fn new(map: &'a FunctionMap) -> Loops<'a> {
        let mut out = vec![Vec::new(); map.blocks.len()];
        let mut into = out.clone();
        for (edge, id) in map.edges.iter().zip(0u32..) {
            out[edge.from as usize].push(id);
            into[edge.to as usize].push(id);
        }
        let mut loops = Loops {
            map,
            out,
            into,
            jumps: jumps(map),
            returns: Vec::new(),
            all: Vec::new(),
            described: BTreeMap::new(),
        };
        for described in &map.loops {
            let first = loops.described.entry(described.head);
            first.or_insert(described);
        }
        // The sources of back edges by head.
        let mut heads: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for edge in &map.dag {
            match edge.kind {
                DagKind::Back(edge) => {
                    let edge = &map.edges[edge as usize];
                    heads.entry(edge.to).or_default().push(edge.from);
                }
                DagKind::Edge(_) | DagKind::Start(_) | DagKind::Cut(_) => {}
            }
        }
        let loop_of = |(head, back)| (head, loops.blocks_of(head, back));
        loops.all = heads.into_iter().map(loop_of).collect();
        loops.returns = loops.that_return();
        loops
    }

    /// Head and blocks of each loop, by head: the blocks from which a back edge to the head is
    /// reached before the head itself.
    pub(super) fn all(&self) -> &[(u32, BTreeSet<u32>)] {
        &self.all
    }

    /// The blocks between the head and the body: a run of the head that leaves the loop out of one
    /// of them is no iteration.
    pub(super) fn condition(&self, head: u32) -> BTreeSet<u32> {
        let Some(blocks) = self.blocks(head) else {
            return BTreeSet::new();
        };
        if !self.is_natural(head, blocks) {
            return BTreeSet::new();
        }
        let tests = self.tests(head, blocks);
        if let Some(described) = self.described.get(&head)
            && let Some(start) = described.start
        {
            let own = tests.iter().filter(|test| is_own(test.edge, start));
            let own: Vec<Test<'_>> = own.copied().collect();
            if !own.is_empty() {
                return self.before(head, blocks, &own);
            }
            if described.must_progress && tests.iter().any(|test| test.is_bottom) {
                return BTreeSet::new();
            }
        }
        let first = self.first(head, blocks, &tests);
        self.before(head, blocks, &first)
    }

    /// Edges that come into a block or go out of it.
    fn edges<'b>(&self, ids: &'b [u32]) -> impl Iterator<Item = &'a EdgeMap> + use<'a, 'b> {
        let map = self.map;
        ids.iter().map(move |&id| &map.edges[id as usize])
    }

    /// The blocks of the loop of a head.
    fn blocks(&self, head: u32) -> Option<&BTreeSet<u32>> {
        let place = self.all.binary_search_by_key(&head, |one| one.0).ok()?;
        Some(&self.all[place].1)
    }

    /// The blocks from which a back edge to the head is reached before the head itself; `back` has
    /// the sources of these edges.
    fn blocks_of(&self, head: u32, back: Vec<u32>) -> BTreeSet<u32> {
        self.reach(back, BTreeSet::from([head]), |block| {
            self.edges(&self.into[block as usize])
                .map(|edge| edge.from)
                .collect()
        })
    }

    /// Adds what is reached from `open` to what was reached before.
    fn reach(
        &self,
        mut open: Vec<u32>,
        mut reached: BTreeSet<u32>,
        next: impl Fn(u32) -> Vec<u32>,
    ) -> BTreeSet<u32> {
        while let Some(block) = open.pop() {
            if reached.insert(block) {
                open.extend(next(block));
            }
        }
        reached
    }

    /// By block: whether the function may return from there on.
    fn that_return(&self) -> Vec<bool> {
        let returns = self.map.edges.iter();
        let returns = returns
            .filter(|edge| matches!(edge.outcome, Outcome::Return | Outcome::TailCall))
            .map(|edge| edge.from);
        let reached = self.reach(returns.collect(), BTreeSet::new(), |block| {
            self.edges(&self.into[block as usize])
                .map(|edge| edge.from)
                .collect()
        });
        let blocks = 0..self.map.blocks.len() as u32;
        blocks.map(|block| reached.contains(&block)).collect()
    }

    /// Whether the loop is entered at its head only.
    fn is_natural(&self, head: u32, blocks: &BTreeSet<u32>) -> bool {
        let inside = blocks.iter().filter(|&&block| block != head);
        let mut into = inside.flat_map(|&block| self.edges(&self.into[block as usize]));
        !blocks.contains(&self.map.entry) && into.all(|edge| blocks.contains(&edge.from))
    }

    /// The branches out of a loop that the function may return behind; if there are none, all.
    fn tests(&self, head: u32, blocks: &BTreeSet<u32>) -> Vec<Test<'a>> {
        let straight = self.straight(head, blocks);
        let mut all: Vec<Test<'_>> = Vec::new();
        for &block in blocks {
            let (inside, outside): (Vec<&EdgeMap>, Vec<&EdgeMap>) = self
                .edges(&self.out[block as usize])
                .partition(|edge| blocks.contains(&edge.to));
            let is_bottom = inside.iter().all(|edge| straight.contains(&edge.to));
            let out = outside.into_iter().filter(|edge| is_branch(edge.outcome));
            all.extend(out.map(|edge| Test { edge, is_bottom }));
        }
        let live = all.iter().copied();
        let live: Vec<Test<'_>> = live
            .filter(|test| self.returns[test.edge.to as usize])
            .collect();
        if live.is_empty() { all } else { live }
    }

    /// The head, and the blocks of its loop from which nothing but jumps leads to it.
    fn straight(&self, head: u32, blocks: &BTreeSet<u32>) -> BTreeSet<u32> {
        self.reach(vec![head], BTreeSet::new(), |block| {
            let before = self.edges(&self.into[block as usize]);
            let before = before
                .map(|edge| edge.from)
                .filter(|from| blocks.contains(from) && self.jumps[*from as usize] == Some(block));
            before.collect()
        })
    }

    /// The tests of the first line that has any, none of inner loops.
    fn first(&self, head: u32, blocks: &BTreeSet<u32>, tests: &[Test<'a>]) -> Vec<Test<'a>> {
        let others = blocks.iter().filter(|&&other| other != head);
        let inner = others.filter_map(|&other| self.blocks(other));
        let inner = inner.filter(|inside| !inside.contains(&head));
        let inner: BTreeSet<u32> = inner.flatten().copied().collect();
        let tests = tests.iter().filter(|test| !inner.contains(&test.edge.from));
        let tests: Vec<Test<'_>> = tests.copied().collect();
        let frame = self.frame(blocks);
        let line = |test: &Test<'_>| {
            let line = self.line(frame, test.edge.place?)?;
            (line > 0).then_some(line)
        };
        let Some(first) = tests.iter().filter_map(line).min() else {
            // Without places: a test at the bottom, else the one next to the head.
            let bottom = tests.iter().find(|test| test.is_bottom);
            let nearest = || {
                let distances = self.distances(head, blocks);
                tests.iter().min_by_key(|test| {
                    let distance = distances.get(&test.edge.from);
                    distance.copied().unwrap_or(u32::MAX)
                })
            };
            return bottom.or_else(nearest).copied().into_iter().collect();
        };
        let of_line = tests.iter().filter(|test| line(test) == Some(first));
        of_line.copied().collect()
    }

    /// How many edges each block of a loop is from its head.
    fn distances(&self, head: u32, blocks: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
        let mut distances = BTreeMap::from([(head, 0)]);
        let mut open = VecDeque::from([(head, 0)]);
        while let Some((block, distance)) = open.pop_front() {
            for edge in self.edges(&self.out[block as usize]) {
                if blocks.contains(&edge.to) && !distances.contains_key(&edge.to) {
                    distances.insert(edge.to, distance + 1);
                    open.push_back((edge.to, distance + 1));
                }
            }
        }
        distances
    }

    /// The innermost frame that all of a loop's places are in.
    fn frame(&self, blocks: &BTreeSet<u32>) -> u32 {
        let places = blocks.iter().flat_map(|&block| {
            let branches = self.edges(&self.out[block as usize]);
            let branches = branches.filter_map(|edge| edge.place);
            let own = self.map.blocks[block as usize].places.iter().copied();
            own.chain(branches).map(|place| place.scope)
        });
        let common = places
            .collect::<BTreeSet<u32>>()
            .into_iter()
            .reduce(|one, other| {
                let around: BTreeSet<u32> = self.around(one).collect();
                let common = self.around(other).find(|scope| around.contains(scope));
                common.unwrap_or(0)
            });
        common.unwrap_or(0)
    }

    /// A frame and those it is inlined into, from the innermost out.
    fn around(&self, scope: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(scope), |&scope| {
            self.map.scopes.get(scope as usize)?.parent
        })
    }

    /// A place's line in a frame: of inlined code, that of the call there.
    fn line(&self, frame: u32, place: Place) -> Option<u32> {
        if place.scope == frame {
            return Some(place.line);
        }
        let called = self
            .around(place.scope)
            .map(|scope| &self.map.scopes[scope as usize])
            .find(|scope| scope.parent == Some(frame))?;
        Some(called.call_line)
    }

    /// The blocks on the ways from the head to the tests that aren't at the bottom.
    fn before(&self, head: u32, blocks: &BTreeSet<u32>, tests: &[Test<'a>]) -> BTreeSet<u32> {
        let top = tests.iter().filter(|test| !test.is_bottom);
        let top: Vec<u32> = top.map(|test| test.edge.from).collect();
        let within = |edge: &&EdgeMap| {
            edge.to != head && blocks.contains(&edge.from) && blocks.contains(&edge.to)
        };
        let from_head = self.reach(vec![head], BTreeSet::new(), |block| {
            let edges = self.edges(&self.out[block as usize]).filter(within);
            edges.map(|edge| edge.to).collect()
        });
        let to_test = self.reach(top, BTreeSet::new(), |block| {
            let edges = self.edges(&self.into[block as usize]).filter(within);
            edges.map(|edge| edge.from).collect()
        });
        from_head.intersection(&to_test).copied().collect()
    }
}

/// Whether a branch is of a loop's keyword; the optimizer leaves no column where it made one branch
/// of two on a line.
fn is_own(edge: &EdgeMap, start: Place) -> bool {
    edge.place.is_some_and(|place| {
        let column = place.column == start.column || place.column == 0;
        (place.scope, place.line) == (start.scope, start.line) && column
    })
}

/// Whether a condition decides on the way.
fn is_branch(outcome: Outcome) -> bool {
    match outcome {
        Outcome::True | Outcome::False | Outcome::Case(_) | Outcome::Default => true,
        Outcome::Jump
        | Outcome::Normal
        | Outcome::Unwind
        | Outcome::Indirect
        | Outcome::AsmGoto
        | Outcome::Return
        | Outcome::Noreturn
        | Outcome::Resume
        | Outcome::TailCall
        | Outcome::Again
        | Outcome::Split
        | Outcome::Left
        | Outcome::Returned => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use holloway_format::{
        BlockMap, DagEdgeMap, DagKind, EdgeKind, EdgeMap, FunctionMap, Outcome, Place,
    };

    use super::Loops;

    /// A function of these edges, by their ends and outcomes; an edge to a block of a lower number
    /// is a back edge. Block 0 is the entry, the last one the exit.
    fn map(edges: &[(u32, u32, Outcome)]) -> FunctionMap {
        let exit = edges.iter().map(|edge| edge.1).max().unwrap_or(0);
        let block = BlockMap {
            instructions: 1,
            places: Vec::<Place>::new(),
        };
        let edge = |&(from, to, outcome): &(u32, u32, Outcome)| EdgeMap {
            from,
            to,
            kind: EdgeKind::Plain,
            outcome,
            place: None,
        };
        let dag = (0u32..).zip(edges).map(|(number, &(from, to, _))| {
            let (to, kind) = match to <= from {
                true => (exit, DagKind::Back(number)),
                false => (to, DagKind::Edge(number)),
            };
            DagEdgeMap {
                from,
                to,
                kind,
                value: 0,
            }
        });
        FunctionMap {
            exit,
            blocks: vec![block; exit as usize + 1],
            edges: edges.iter().map(edge).collect(),
            dag: dag.collect(),
            ..FunctionMap::default()
        }
    }

    /// `loop { if … { return } if … { return } … }`, with so many tests: b1, b2, …
    fn tests(count: u32) -> FunctionMap {
        let mut edges = vec![(0, 1, Outcome::Jump)];
        for test in 1..=count {
            edges.push((test, count + 2, Outcome::True));
            edges.push((test, test + 1, Outcome::False));
        }
        edges.push((count + 1, 1, Outcome::Jump));
        edges.push((count + 2, count + 3, Outcome::Return));
        map(&edges)
    }

    #[test]
    fn without_places_the_test_next_to_the_head_is_the_condition() {
        // b1 goes on to b2 or b3; b3 and b4 test.
        let map = map(&[
            (0, 1, Outcome::Jump),
            (1, 2, Outcome::True),
            (1, 3, Outcome::False),
            (2, 3, Outcome::Jump),
            (3, 4, Outcome::True),
            (3, 5, Outcome::False),
            (4, 6, Outcome::True),
            (4, 7, Outcome::False),
            (5, 7, Outcome::Jump),
            (6, 1, Outcome::Jump),
            (7, 8, Outcome::Return),
        ]);
        let loops = Loops::new(&map);
        assert_eq!(loops.condition(1), BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn the_condition_is_found_among_ten_thousand_tests() {
        let map = tests(10_000);
        let loops = Loops::new(&map);
        assert_eq!(loops.condition(1), BTreeSet::from([1]));
        // Milliseconds; looking at the whole loop for each test takes minutes.
    }

    #[test]
    fn loops_are_told_apart_by_their_heads() {
        // Ten thousand loops, one after the other: b1, b2, …, each left to the next.
        let mut edges = vec![(0, 1, Outcome::Jump)];
        for head in 1..=10_000 {
            edges.push((head, head, Outcome::True));
            edges.push((head, head + 1, Outcome::False));
        }
        edges.push((10_001, 10_002, Outcome::Return));
        let map = map(&edges);
        let loops = Loops::new(&map);
        let heads = loops.all().iter().map(|one| one.0);
        assert!(heads.eq(1..=10_000));
        for (head, blocks) in loops.all() {
            assert_eq!(*blocks, BTreeSet::from([*head]));
            assert_eq!(loops.condition(*head), BTreeSet::new());
        }
        // Looking at the whole graph for each head takes a minute.
    }
}
