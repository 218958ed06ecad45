//! The *condition* of a loop: the blocks where the loop decides whether its body runs once more.
//!
//! `for` and `while` test before each iteration, so the head of an unrotated loop runs once more
//! than the body. Iteration counts leave these final tests out. The number of iterations is the
//! number of runs of the head minus the number of times that control left the loop from its
//! condition. If the optimizer *rotates* the loop, it moves the test to the end of the body and
//! puts a copy of the test before the loop. Then the body starts at the head, the loop has no
//! condition, and the number of iterations is the same as without rotation.
//!
//! The graph alone does not show whether a loop was rotated. `while (c) { if (x) break; … }` after
//! rotation and `for (;;) { if (x) break; … if (c) break; }` have the same graph, but in the former
//! a run that ends with `break` is an iteration. So the source places of the tests decide. A *test*
//! is a branch out of the loop. A *bottom* test is a test whose other edge leads straight back to
//! the head.
//! 1. If the map contains the place of the loop's keyword (C, C++), the branches at that place
//!    belong to the keyword. The condition consists of all blocks on ways from the head to the
//!    keyword's branches that are not bottom tests. If all of the keyword's branches are bottom
//!    tests, the loop was rotated and has no condition.
//! 2. If no branch is at the keyword's place and the compiler marked the loop with "must progress",
//!    the loop is a `do` loop. If it has a bottom test, all runs of its head are iterations.
//! 3. In all other cases (Rust, and `for (;;)`, whose keyword the optimizer often forgets), the
//!    first line of the loop that has a test is the condition. In `loop { A; if c { break } B }`,
//!    the iterations are the runs that reach B, as in a `while` loop. If the test is a bottom test,
//!    all runs of the head are iterations.
//!
//! Branches to code from which the function cannot return (panics) are not tests, unless all
//! branches out of the loop are of this sort. In case 3, branches of inner loops are not tests
//! either.
//!
//! Limits: if the optimizer merged two tests, they cannot be distinguished. In a loop with an empty
//! body the test serves as the body, so the final test counts. A loop that control can enter
//! without passing its head has no condition.
//!
//! Example, `for (i = 0; i < n; i++) work(i);` without rotation: b0 → b1; b1 (test, place of `for`)
//! → b2 or out; b2 (work) → b3; b3 (`i++`) → b1. The condition is b1. Rotated: b1 (work, `i++`,
//! test) → b1 or out. The test is a bottom test, so the loop has no condition.
//!
//! Cost: for each loop, a few passes over its blocks and edges, and one pass over the blocks of
//! each loop inside it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holloway_format::{DagKind, EdgeMap, FunctionMap, LoopMap, Outcome, Place};

use crate::edges::jumps;

/// The loops in the graph of a function.
pub(super) struct Loops<'a> {
    map: &'a FunctionMap,
    /// By block: the edges out of the block.
    out: Vec<Vec<u32>>,
    /// By block: the edges into the block.
    into: Vec<Vec<u32>>,
    /// By block: the next block, if the block is only a jump.
    jumps: Vec<Option<u32>>,
    /// By block: whether the function may return after control reaches the block.
    may_return: Vec<bool>,
    /// Head and blocks of each loop, ordered by head.
    all: Vec<(u32, BTreeSet<u32>)>,
    /// The compiler's descriptions of loops, by head.
    described: BTreeMap<u32, &'a LoopMap>,
}

/// A branch out of a loop.
#[derive(Clone, Copy)]
struct Test<'a> {
    edge: &'a EdgeMap,
    /// Whether all edges of the branch that stay in the loop lead straight to the head.
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
            may_return: Vec::new(),
            all: Vec::new(),
            described: BTreeMap::new(),
        };
        for described in &map.loops {
            let first = loops.described.entry(described.head);
            first.or_insert(described);
        }
        // The sources of back edges, by head.
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
        let loop_of = |(head, back_sources)| (head, loops.loop_blocks(head, back_sources));
        loops.all = heads.into_iter().map(loop_of).collect();
        loops.may_return = loops.returning_blocks();
        loops
    }

    /// Head and blocks of each loop, ordered by head. A loop consists of its head and the blocks
    /// from which control can reach a back edge to the head without passing the head.
    pub(super) fn all(&self) -> &[(u32, BTreeSet<u32>)] {
        &self.all
    }

    /// Returns the blocks of the loop's condition. If control leaves the loop from one of these
    /// blocks, this run of the head is not an iteration.
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
            let keyword_tests: Vec<Test<'_>> = tests
                .iter()
                .copied()
                .filter(|test| has_keyword_place(test.edge, start))
                .collect();
            if !keyword_tests.is_empty() {
                return self.blocks_before(head, blocks, &keyword_tests);
            }
            if described.must_progress && tests.iter().any(|test| test.is_bottom) {
                return BTreeSet::new();
            }
        }
        let first_line_tests = self.first_line_tests(head, blocks, &tests);
        self.blocks_before(head, blocks, &first_line_tests)
    }

    /// The edges with the ids `ids`.
    fn edges<'b>(&self, ids: &'b [u32]) -> impl Iterator<Item = &'a EdgeMap> + use<'a, 'b> {
        let map = self.map;
        ids.iter().map(move |&id| &map.edges[id as usize])
    }

    /// The blocks of the loop with this head; `None` if the block is no head.
    fn blocks(&self, head: u32) -> Option<&BTreeSet<u32>> {
        let index = self
            .all
            .binary_search_by_key(&head, |(head, _)| *head)
            .ok()?;
        Some(&self.all[index].1)
    }

    /// The blocks of a loop, as for [`all`](Self::all). `back_sources` contains the sources of the
    /// back edges to `head`.
    fn loop_blocks(&self, head: u32, back_sources: Vec<u32>) -> BTreeSet<u32> {
        self.reach(back_sources, BTreeSet::from([head]), |block| {
            self.edges(&self.into[block as usize])
                .map(|edge| edge.from)
                .collect()
        })
    }

    /// Adds to `reached` the blocks in `worklist`, and all blocks that `next` reaches from them
    /// without passing a block in `reached`.
    fn reach(
        &self,
        mut worklist: Vec<u32>,
        mut reached: BTreeSet<u32>,
        next: impl Fn(u32) -> Vec<u32>,
    ) -> BTreeSet<u32> {
        while let Some(block) = worklist.pop() {
            if reached.insert(block) {
                worklist.extend(next(block));
            }
        }
        reached
    }

    /// By block: whether the function may return after control reaches the block.
    fn returning_blocks(&self) -> Vec<bool> {
        let edges = self.map.edges.iter();
        let returning = edges
            .filter(|edge| matches!(edge.outcome, Outcome::Return | Outcome::TailCall))
            .map(|edge| edge.from);
        let reached = self.reach(returning.collect(), BTreeSet::new(), |block| {
            self.edges(&self.into[block as usize])
                .map(|edge| edge.from)
                .collect()
        });
        let blocks = 0..self.map.blocks.len() as u32;
        blocks.map(|block| reached.contains(&block)).collect()
    }

    /// Whether control enters the loop only at its head.
    fn is_natural(&self, head: u32, blocks: &BTreeSet<u32>) -> bool {
        let inside = blocks.iter().filter(|&&block| block != head);
        let mut into = inside.flat_map(|&block| self.edges(&self.into[block as usize]));
        !blocks.contains(&self.map.entry) && into.all(|edge| blocks.contains(&edge.from))
    }

    /// Returns the branches out of a loop after which the function may return. If there are none,
    /// returns all branches out of the loop.
    fn tests(&self, head: u32, blocks: &BTreeSet<u32>) -> Vec<Test<'a>> {
        let jumps_to_head = self.jumps_to_head(head, blocks);
        let mut all: Vec<Test<'_>> = Vec::new();
        for &block in blocks {
            let (inside, outside): (Vec<&EdgeMap>, Vec<&EdgeMap>) = self
                .edges(&self.out[block as usize])
                .partition(|edge| blocks.contains(&edge.to));
            let is_bottom = inside.iter().all(|edge| jumps_to_head.contains(&edge.to));
            let branches = outside.into_iter().filter(|edge| is_branch(edge.outcome));
            all.extend(branches.map(|edge| Test { edge, is_bottom }));
        }
        let returning: Vec<Test<'_>> = all
            .iter()
            .copied()
            .filter(|test| self.may_return[test.edge.to as usize])
            .collect();
        if returning.is_empty() { all } else { returning }
    }

    /// The head, and the blocks of its loop from which only jumps lead to the head.
    fn jumps_to_head(&self, head: u32, blocks: &BTreeSet<u32>) -> BTreeSet<u32> {
        self.reach(vec![head], BTreeSet::new(), |block| {
            let sources = self.edges(&self.into[block as usize]).map(|edge| edge.from);
            let jumps = sources
                .filter(|from| blocks.contains(from) && self.jumps[*from as usize] == Some(block));
            jumps.collect()
        })
    }

    /// The tests of the first line that has a test. Tests of inner loops do not count.
    fn first_line_tests(
        &self,
        head: u32,
        blocks: &BTreeSet<u32>,
        tests: &[Test<'a>],
    ) -> Vec<Test<'a>> {
        let others = blocks.iter().filter(|&&other| other != head);
        let inner_loops = others
            .filter_map(|&other| self.blocks(other))
            .filter(|inner| !inner.contains(&head));
        let inner_blocks: BTreeSet<u32> = inner_loops.flatten().copied().collect();
        let tests = tests
            .iter()
            .filter(|test| !inner_blocks.contains(&test.edge.from));
        let tests: Vec<Test<'_>> = tests.copied().collect();
        let frame = self.common_frame(blocks);
        let line = |test: &Test<'_>| {
            let line = self.line(frame, test.edge.place?)?;
            (line > 0).then_some(line)
        };
        let Some(first_line) = tests.iter().filter_map(line).min() else {
            // The map has no places: take a bottom test, or else the test closest to the head.
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
        let line_tests = tests.iter().filter(|test| line(test) == Some(first_line));
        line_tests.copied().collect()
    }

    /// The distance of each block of a loop from its head, in edges.
    fn distances(&self, head: u32, blocks: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
        let mut distances = BTreeMap::from([(head, 0)]);
        let mut worklist = VecDeque::from([(head, 0)]);
        while let Some((block, distance)) = worklist.pop_front() {
            for edge in self.edges(&self.out[block as usize]) {
                if blocks.contains(&edge.to) && !distances.contains_key(&edge.to) {
                    distances.insert(edge.to, distance + 1);
                    worklist.push_back((edge.to, distance + 1));
                }
            }
        }
        distances
    }

    /// The innermost frame that contains all places of a loop.
    fn common_frame(&self, blocks: &BTreeSet<u32>) -> u32 {
        let places = blocks.iter().flat_map(|&block| {
            let branches = self.edges(&self.out[block as usize]);
            let branches = branches.filter_map(|edge| edge.place);
            let block_places = self.map.blocks[block as usize].places.iter().copied();
            block_places.chain(branches).map(|place| place.scope)
        });
        let common = places
            .collect::<BTreeSet<u32>>()
            .into_iter()
            .reduce(|scope, other_scope| {
                let enclosing: BTreeSet<u32> = self.enclosing_frames(scope).collect();
                let common = self
                    .enclosing_frames(other_scope)
                    .find(|frame| enclosing.contains(frame));
                common.unwrap_or(0)
            });
        common.unwrap_or(0)
    }

    /// A frame and the frames that it is inlined into, from the innermost outward.
    fn enclosing_frames(&self, scope: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(scope), |&scope| {
            self.map.scopes.get(scope as usize)?.parent
        })
    }

    /// The line of a place in a frame. For code that is inlined into the frame, this is the line of
    /// the inlined call in that frame.
    fn line(&self, frame: u32, place: Place) -> Option<u32> {
        if place.scope == frame {
            return Some(place.line);
        }
        let inlined = self
            .enclosing_frames(place.scope)
            .map(|scope| &self.map.scopes[scope as usize])
            .find(|scope| scope.parent == Some(frame))?;
        Some(inlined.call_line)
    }

    /// The blocks on all ways within the loop from the head to the tests that are not bottom tests.
    fn blocks_before(
        &self,
        head: u32,
        blocks: &BTreeSet<u32>,
        tests: &[Test<'a>],
    ) -> BTreeSet<u32> {
        let top_tests = tests.iter().filter(|test| !test.is_bottom);
        let test_blocks: Vec<u32> = top_tests.map(|test| test.edge.from).collect();
        let is_in_loop_body = |edge: &&EdgeMap| {
            edge.to != head && blocks.contains(&edge.from) && blocks.contains(&edge.to)
        };
        let from_head = self.reach(vec![head], BTreeSet::new(), |block| {
            let edges = self
                .edges(&self.out[block as usize])
                .filter(is_in_loop_body);
            edges.map(|edge| edge.to).collect()
        });
        let to_test = self.reach(test_blocks, BTreeSet::new(), |block| {
            let edges = self
                .edges(&self.into[block as usize])
                .filter(is_in_loop_body);
            edges.map(|edge| edge.from).collect()
        });
        from_head.intersection(&to_test).copied().collect()
    }
}

/// Whether a branch belongs to a loop's keyword, whose place is `start`. A branch without a column
/// belongs to the keyword if its line is the same, because the optimizer removes the column when it
/// merges two branches of a line.
fn has_keyword_place(edge: &EdgeMap, start: Place) -> bool {
    edge.place.is_some_and(|place| {
        let column = place.column == start.column || place.column == 0;
        (place.scope, place.line) == (start.scope, start.line) && column
    })
}

/// Whether the edge belongs to a conditional branch or a `switch`.
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

    /// A function with these edges, given by source, target, and outcome. An edge to the same block
    /// or to a block with a lower number is a back edge. Block 0 is the entry, and the last block
    /// is the exit.
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

    /// `loop { if … { return } if … { return } … }` with `count` tests: b1, b2, …
    fn loop_with_tests(count: u32) -> FunctionMap {
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
    fn without_places_the_test_closest_to_the_head_decides() {
        // b1 branches to b2 or b3; b3 and b4 are tests.
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
        let map = loop_with_tests(10_000);
        let loops = Loops::new(&map);
        // Takes milliseconds. An algorithm that reads all blocks for each test would take minutes.
        assert_eq!(loops.condition(1), BTreeSet::from([1]));
    }

    #[test]
    fn loops_are_distinguished_by_their_heads() {
        // Ten thousand consecutive loops: b1, b2, …; each loop exits to the next.
        let mut edges = vec![(0, 1, Outcome::Jump)];
        for head in 1..=10_000 {
            edges.push((head, head, Outcome::True));
            edges.push((head, head + 1, Outcome::False));
        }
        edges.push((10_001, 10_002, Outcome::Return));
        let map = map(&edges);
        let loops = Loops::new(&map);
        let heads = loops.all().iter().map(|(head, _)| *head);
        assert!(heads.eq(1..=10_000));
        // An algorithm that reads the whole graph for each head would take a minute.
        for (head, blocks) in loops.all() {
            assert_eq!(*blocks, BTreeSet::from([*head]));
            assert_eq!(loops.condition(*head), BTreeSet::new());
        }
    }
}
