//! Where a loop decides whether its body runs once more: its *condition*.
//!
//! `for` and `while` test before each iteration, so the head of such a loop runs once more than the body. Counts leave these final tests out: iterations are runs of the
//! head less the times that the loop was left out of its condition. The optimizer moves the test behind the body and a copy of it before the loop (rotation); then the head is the body, there is no
//! condition at the head, and the number is the same.
//!
//! The graph alone does not tell the two apart. `while (c) { if (x) break; … }` behind rotation and `for (;;) { if (x) break; … if (c) break; }`
//! have one graph, and in the former a run that ends with `break` is an iteration. So the places of the tests decide, a *test* being a branch out of the loop, and
//! a *bottom* test one whose other way is straight back to the head:
//! 1. Where the map knows the place of the loop's keyword (C, C++), the branches of that place are its own. The condition is all that lies between the head and those
//!    that are not at the bottom. If all are at the bottom, the loop was rotated and has none.
//! 2. A loop with a keyword that has to end, and without a branch of its place, is a `do`. If it has a bottom test, all its runs are iterations.
//! 3. Else (Rust; `for (;;)`, of which the optimizer often forgets the keyword) the loop's first line that has a test is the condition: of `loop { A; if c { break } B }` the
//!    iterations are those that reach B, as rotation would have it, and as of `while`. If that test is at the bottom, all runs are iterations.
//!
//! Branches to what can't return from the function (panics) are no tests, unless all are; nor are, in 3, those of inner loops.
//!
//! Limits: two tests that the optimizer made one can't be told apart. A loop whose body is empty has its test for a body, so the final test counts. A loop without a dominating
//! head has no condition.
//!
//! Example, `for (i = 0; i < n; i++) work(i);` as it is written: b0 → b1; b1 (test, place of `for`) → b2 or out; b2 (work) → b3; b3 (`i++`) → b1. The condition is b1. Rotated:
//! b1 (work, `i++`, test) → b1 or out. The test is at the bottom: no condition.
//!
//! Cost: a few passes over the loop's edges.

use std::collections::BTreeSet;

use holloway_format::{DagKind, EdgeMap, FunctionMap, Outcome, Place};

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
    /// Head and blocks of each loop.
    all: Vec<(u32, BTreeSet<u32>)>,
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
        };
        let back = |kind: DagKind| match kind {
            DagKind::Back(edge) => Some(map.edges[edge as usize].to),
            DagKind::Edge(_) | DagKind::Start(_) | DagKind::Cut(_) => None,
        };
        let heads: BTreeSet<u32> = map.dag.iter().filter_map(|edge| back(edge.kind)).collect();
        let loop_of = |head| (head, loops.blocks_of(head));
        loops.all = heads.into_iter().map(loop_of).collect();
        loops.returns = loops.that_return();
        loops
    }

    /// Head and blocks of each loop, by head: the blocks from which a back edge to the head is reached before the head itself.
    pub(super) fn all(&self) -> &[(u32, BTreeSet<u32>)] {
        &self.all
    }

    /// The blocks between the head and the body: a run of the head that leaves the loop out of one of them is no iteration.
    pub(super) fn condition(&self, head: u32) -> BTreeSet<u32> {
        let Some((_, blocks)) = self.all.iter().find(|one| one.0 == head) else {
            return BTreeSet::new();
        };
        if !self.is_natural(head, blocks) {
            return BTreeSet::new();
        }
        let tests = self.tests(head, blocks);
        let described = self.map.loops.iter().find(|one| one.head == head);
        if let Some(described) = described
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

    /// The blocks from which a back edge to the head is reached before the head itself.
    fn blocks_of(&self, head: u32) -> BTreeSet<u32> {
        let map = self.map;
        let back = |kind: DagKind| match kind {
            DagKind::Back(edge) if map.edges[edge as usize].to == head => {
                Some(map.edges[edge as usize].from)
            }
            DagKind::Edge(_) | DagKind::Start(_) | DagKind::Back(_) | DagKind::Cut(_) => None,
        };
        let open = map.dag.iter().filter_map(|edge| back(edge.kind)).collect();
        self.reach(open, BTreeSet::from([head]), |block| {
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
        let edges = blocks
            .iter()
            .flat_map(|&block| self.edges(&self.out[block as usize]));
        let out = edges.filter(|edge| is_branch(edge.outcome) && !blocks.contains(&edge.to));
        let all = out.map(|edge| {
            let others = self.edges(&self.out[edge.from as usize]);
            let mut inside = others.filter(|other| blocks.contains(&other.to));
            Test {
                edge,
                is_bottom: inside.all(|other| self.is_straight(other.to, head)),
            }
        });
        let all: Vec<Test<'_>> = all.collect();
        let live = all.iter().copied();
        let live: Vec<Test<'_>> = live
            .filter(|test| self.returns[test.edge.to as usize])
            .collect();
        if live.is_empty() { all } else { live }
    }

    /// Whether nothing but jumps leads from a block to the head.
    fn is_straight(&self, block: u32, head: u32) -> bool {
        let mut at = block;
        for _ in 0..self.jumps.len() {
            match self.jumps[at as usize] {
                _ if at == head => return true,
                Some(to) => at = to,
                None => return false,
            }
        }
        false
    }

    /// The tests of the first line that has any, none of inner loops.
    fn first(&self, head: u32, blocks: &BTreeSet<u32>, tests: &[Test<'a>]) -> Vec<Test<'a>> {
        let inner = self.all.iter().filter(|(other, inside)| {
            *other != head && blocks.contains(other) && !inside.contains(&head)
        });
        let inner: BTreeSet<u32> = inner.flat_map(|(_, inside)| inside).copied().collect();
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
                tests
                    .iter()
                    .min_by_key(|test| self.before(head, blocks, &[**test]).len())
            };
            return bottom.or_else(nearest).copied().into_iter().collect();
        };
        let of_line = tests.iter().filter(|test| line(test) == Some(first));
        of_line.copied().collect()
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

/// Whether a branch is of a loop's keyword; the optimizer leaves no column where it made one branch of two on a line.
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
