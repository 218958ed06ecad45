//! Tests that edge counters and path counters give the same counts for the same run. Random
//! programs make calls that come back once, never, or more than once. An interpreter executes the
//! probes of both kinds and also traces every event.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::build;
use std::collections::BTreeMap;

use build::{cfg, count_edges, count_paths, fact, function, image, module, profile};
use holloway_analysis::coverage::coverage;
use holloway_analysis::edges::of_function;
use holloway_analysis::lines::counts;
use holloway_analysis::misfit::Misfit;
use holloway_analysis::note::{FunctionPlace, Note};
use holloway_analysis::{Flow, Function, RunProfile, Sort, blocks, edges, functions};
use holloway_flow::{
    Action, BlockId, Cfg, CfgError, CountBase, EdgeId, Numbering, Path, PathEnd, PathId, PathStart,
    Probes, SuccessorOrder, TreeError, net_counts,
};
use holloway_format::{Count, DagKind, EdgeKind, FunctionMap, Outcome};
use proptest::prelude::*;

/// A function under test, with counters of both kinds and its numbering.
struct TestFunction {
    paths: FunctionMap,
    edges: FunctionMap,
    cfg: Cfg,
    numbering: Numbering,
    path_probes: Probes,
    edge_probes: Probes,
    /// By block: its exit edge.
    left: Vec<Option<u32>>,
}

impl TestFunction {
    /// Returns `None` if pinned edges rule out counters of either kind.
    fn new(map: &FunctionMap, weights: &[u64], limit: u64) -> Option<TestFunction> {
        let cfg = cfg(map);
        let paths = count_paths(map, SuccessorOrder::HottestFirst(weights), limit)?;
        let edges = count_edges(map, weights)?;
        let dag = holloway_flow::Dag::new(&cfg).ok()?;
        let order = SuccessorOrder::HottestFirst(weights);
        let numbering = Numbering::new(&cfg, dag, order, limit).ok()?;
        let counters = holloway_flow::EdgeCounters::new(&cfg, weights).ok()?;
        let mut left = vec![None; map.blocks.len()];
        for (index, edge) in (0u32..).zip(&map.edges) {
            if edge.kind == EdgeKind::Exit {
                left[edge.from as usize] = Some(index);
            }
        }
        Some(TestFunction {
            path_probes: Probes::new(&cfg, &numbering, weights, &[]).ok()?,
            edge_probes: counters.probes(),
            paths,
            edges,
            cfg,
            numbering,
            left,
        })
    }
}

/// A frame with its path register and the path that it is on.
#[derive(Clone)]
struct Frame {
    block: u32,
    register: i64,
    path: Path,
    /// The edges that the frame took after calls that may return again.
    return_edges: Vec<u32>,
}

/// Executes a function. Counts as the probes do, and also traces every event.
struct Interpreter<'a> {
    function: &'a TestFunction,
    path_counters: BTreeMap<u64, u64>,
    edge_counters: BTreeMap<u64, u64>,
    edges: Vec<i64>,
    calls: u64,
    paths: BTreeMap<u64, i64>,
}

impl<'a> Interpreter<'a> {
    fn new(function: &'a TestFunction) -> Interpreter<'a> {
        Interpreter {
            function,
            path_counters: BTreeMap::new(),
            edge_counters: BTreeMap::new(),
            edges: vec![0; function.paths.edges.len()],
            calls: 0,
            paths: BTreeMap::new(),
        }
    }

    /// Runs one call. `choose(n)` returns a number below n. 0 leads toward the exit.
    fn call(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        let entry = self.function.paths.entry;
        let mut frame = Frame {
            block: entry,
            register: 0,
            path: begin(PathStart::Entry, entry),
            return_edges: Vec::new(),
        };
        self.calls += 1;
        run_actions(
            &mut self.path_counters,
            &mut frame.register,
            &self.function.path_probes.entry,
        );
        run_actions(
            &mut self.edge_counters,
            &mut 0,
            &self.function.edge_probes.entry,
        );
        let mut frames = vec![frame];
        while let Some(mut frame) = frames.pop() {
            while self.visit(&mut frame, &mut frames, choose) {}
        }
    }

    /// Runs a block and an edge. Returns whether the frame continues.
    fn visit(
        &mut self,
        frame: &mut Frame,
        frames: &mut Vec<Frame>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> bool {
        if let Some(exit) = self.function.left[frame.block as usize] {
            self.reach_call(frame, exit);
            match choose(8) {
                // The call does not come back.
                5 => {
                    self.trace(frame, PathEnd::Exit(EdgeId(exit)), 1);
                    return false;
                }
                // The call jumps to a setjmp of this frame.
                6 if !frame.return_edges.is_empty() => {
                    self.trace(frame, PathEnd::Exit(EdgeId(exit)), 1);
                    let edge = frame.return_edges[choose(frame.return_edges.len())];
                    self.start_path(frame, edge);
                    return true;
                }
                // The call comes back twice, like a fork: once in this frame, once in a copy.
                7 => {
                    let mut child = frame.clone();
                    self.trace(frame, PathEnd::Exit(EdgeId(exit)), -1);
                    if self.take_edge(&mut child, choose) {
                        frames.push(child);
                    }
                }
                _ => {}
            }
        }
        self.take_edge(frame, choose)
    }

    /// Runs the probes in the middle of a block with an exit edge.
    fn reach_call(&mut self, frame: &mut Frame, exit: u32) {
        let function = self.function;
        if let Some(probe) = function.path_probes.edge(EdgeId(exit)) {
            run_actions(&mut self.path_counters, &mut frame.register, &probe.before);
        }
        if let Some(probe) = function.edge_probes.edge(EdgeId(exit)) {
            run_actions(&mut self.edge_counters, &mut 0, &probe.before);
        }
    }

    /// Takes an edge out of the block. Returns whether the frame continues.
    fn take_edge(&mut self, frame: &mut Frame, choose: &mut dyn FnMut(usize) -> usize) -> bool {
        let function = self.function;
        let out = function.cfg.successors(BlockId(frame.block));
        let out: Vec<EdgeId> = out
            .iter()
            .copied()
            .filter(|edge| function.paths.edges[edge.index()].kind != EdgeKind::Exit)
            .collect();
        let edge = out[choose(out.len())];
        let map = &function.paths.edges[edge.index()];
        self.edges[edge.index()] += 1;
        if let Some(probe) = function.path_probes.edge(edge) {
            run_actions(&mut self.path_counters, &mut frame.register, &probe.before);
        }
        if let Some(probe) = function.edge_probes.edge(edge) {
            run_actions(&mut self.edge_counters, &mut 0, &probe.before);
        }
        if map.outcome == Outcome::Again {
            frame.return_edges.push(edge.0);
        }
        let kind = function.paths.dag.iter().find_map(|dag| match dag.kind {
            DagKind::Back(real) if real == edge.0 => Some(PathEnd::Back(edge)),
            DagKind::Cut(real) if real == edge.0 => Some(PathEnd::Cut(edge)),
            _ => None,
        });
        if let Some(end) = kind {
            self.trace(frame, end, 1);
            self.start_path(frame, edge.0);
        } else if map.to == function.paths.exit {
            self.trace(frame, PathEnd::Exit(edge), 1);
            return false;
        } else {
            frame.path.edges.push(edge);
            frame.path.blocks.push(BlockId(map.to));
            frame.block = map.to;
        }
        true
    }

    /// Starts a path at the target of an edge.
    fn start_path(&mut self, frame: &mut Frame, edge: u32) {
        frame.block = self.function.paths.edges[edge as usize].to;
        frame.path = begin(PathStart::Loop(BlockId(frame.block)), frame.block);
        if let Some(probe) = self.function.path_probes.edge(EdgeId(edge)) {
            run_actions(&mut self.path_counters, &mut frame.register, &probe.after);
        }
    }

    /// Counts the path that a frame ends.
    fn trace(&mut self, frame: &Frame, end: PathEnd, count: i64) {
        let path = Path {
            end,
            ..frame.path.clone()
        };
        let number = self.function.numbering.number_of(&path).unwrap();
        *self.paths.entry(number.0).or_default() += count;
    }
}

fn begin(start: PathStart, block: u32) -> Path {
    Path {
        start,
        blocks: vec![BlockId(block)],
        edges: Vec::new(),
        end: PathEnd::Exit(EdgeId(0)),
    }
}

fn run_actions(counters: &mut BTreeMap<u64, u64>, register: &mut i64, actions: &[Action]) {
    for action in actions {
        match *action {
            Action::Set(value) => *register = value,
            Action::Add(value) => *register = register.wrapping_add(value),
            Action::Count { base, increment } => {
                let base = match base {
                    CountBase::Zero => 0,
                    CountBase::Register => *register,
                };
                let counter = base.wrapping_add(increment).cast_unsigned();
                *counters.entry(counter).or_default() += 1;
            }
        }
    }
}

/// Random programs. The last block is the exit, and the first edge of each block leads forward. A
/// block after a call that returns again can be entered only from the block with the call, and has
/// an exit edge.
fn programs() -> impl Strategy<Value = FunctionMap> {
    (1u32..9).prop_flat_map(|count| {
        let block = (
            any::<prop::sample::Index>(),
            0u32..9,
            prop::collection::vec((0u32..2, 2u32..6), 0..3),
            0u8..10,
        );
        let blocks = prop::collection::vec(block, count as usize);
        let extra_edges = prop::collection::vec((0..count, 1..=count, 0u8..8), 0..14);
        (Just(count), blocks, extra_edges).prop_map(|(count, blocks, extra_edges)| {
            let mut build = function("f", "f.c", 1).inlined("g", "g.h", 0, 2);
            for (_, instructions, places, _) in &blocks {
                build = build.block(*instructions, places);
            }
            build = build.block(0, &[]);
            let kind = |block: u32| blocks.get(block as usize).map_or(0, |block| block.3);
            let may_return_again = |block: u32| block + 1 < count && kind(block) == 0;
            let follows_call = |block: u32| block > 0 && may_return_again(block - 1);
            let enterable = |mut block: u32| {
                while follows_call(block) {
                    block -= 1;
                }
                block
            };
            // The target of an edge from `from`: the block with which `to`'s calls begin, or the
            // first later block that edges may enter.
            let forward = |from: u32, to: u32| {
                let entered = enterable(to);
                if entered > from {
                    entered
                } else {
                    (from + 1..=count)
                        .find(|&to| !follows_call(to))
                        .unwrap_or(count)
                }
            };
            for (from, (to, ..)) in (0u32..).zip(&blocks) {
                let to = from + 1 + to.index((count - from) as usize) as u32;
                build = if may_return_again(from) {
                    build.edge(from, from + 1, Outcome::Again).cut()
                } else {
                    build.edge(from, forward(from, to), Outcome::Jump)
                };
                if kind(from) < 5 && !may_return_again(from) || follows_call(from) {
                    build = build.left(from);
                }
            }
            for (from, to, kind) in extra_edges {
                let to = enterable(to);
                if may_return_again(from) || to == 0 {
                    continue;
                }
                build = build.edge(from, to, Outcome::Jump);
                build = match kind {
                    0 if to != count => build.cut(),
                    1 | 2 if to != count => build.pinned(),
                    _ => build,
                };
            }
            build.unfinished()
        })
    })
}

fn run_of(map: &FunctionMap, counters: &BTreeMap<u64, u64>) -> RunProfile {
    let image = image("app", vec![module("a", vec![map.clone()])]);
    // Two processes share the counts: the first counted 1 in each counter, and the second the
    // remaining count.
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (&counter, &count) in counters {
        first.push((counter, 1));
        second.push((counter, count - 1));
    }
    let profiles = vec![
        profile(&image, 1, &[(0, 0, &first)]),
        profile(&image, 2, &[(0, 0, &second)]),
    ];
    RunProfile::new(vec![(image, profiles)])
}

fn check_truth(interpreter: &Interpreter<'_>, function: &Function) -> Result<(), TestCaseError> {
    let (map, flow) = (&function.map, function.flow());
    prop_assert_eq!(flow.calls, Count(interpreter.calls));
    let exit = |edge: &holloway_format::EdgeMap| edge.kind == EdgeKind::Exit;
    for (index, edge) in map.edges.iter().enumerate().filter(|(_, edge)| !exit(edge)) {
        prop_assert_eq!(
            flow.edges[index],
            interpreter.edges[index],
            "edge {}: {:?}",
            index,
            edge
        );
    }
    let sum = |fits: &dyn Fn(&holloway_format::EdgeMap) -> bool| -> i64 {
        let edges = map.edges.iter().zip(&interpreter.edges);
        edges
            .filter(|(edge, _)| fits(edge) && !exit(edge))
            .map(|(_, &count)| count)
            .sum()
    };
    for block in (0..map.blocks.len() as u32).filter(|&block| block != map.exit) {
        let calls = if block == map.entry {
            interpreter.calls as i64
        } else {
            0
        };
        let inflow = sum(&|edge| edge.to == block) + calls;
        let outflow = sum(&|edge| edge.from == block);
        prop_assert_eq!(
            flow.blocks[block as usize].0 as i64,
            inflow.max(outflow),
            "block {}",
            block
        );
        let left = map
            .edges
            .iter()
            .position(|edge| edge.from == block && exit(edge));
        prop_assert_eq!(
            left.map_or(0, |left| flow.edges[left]),
            inflow - outflow,
            "left b{}",
            block
        );
    }
    Ok(())
}

/// Checks the executions and reentries of paths against the tracer and against `flow`.
fn check_paths(interpreter: &Interpreter<'_>, function: &Function) -> Result<(), TestCaseError> {
    let mut known: Vec<(u64, i64)> = Vec::new();
    known.extend(
        function
            .counts
            .iter()
            .map(|&(path, count)| (path.0, count.0 as i64)),
    );
    known.extend(
        function
            .reentries
            .iter()
            .map(|&(path, count)| (path.0, -(count.0 as i64))),
    );
    known.sort_unstable();
    let traced = interpreter
        .paths
        .iter()
        .map(|(&path, &count)| (path, count));
    let traced: Vec<_> = traced.filter(|&(_, count)| count != 0).collect();
    prop_assert_eq!(&known, &traced);
    let counters = interpreter
        .path_counters
        .iter()
        .map(|(&path, &count)| (PathId(path), count));
    let function = interpreter.function;
    let net = net_counts(&function.cfg, &function.numbering, counters).unwrap();
    let net: Vec<_> = net
        .into_iter()
        .map(|(path, count)| (path.0, count))
        .collect();
    prop_assert_eq!(known, net);
    Ok(())
}

/// Checks every answer that exists for both kinds.
fn check_answers(paths: &RunProfile, edges: &RunProfile) -> Result<(), TestCaseError> {
    let all = |_| true;
    let flow = |run: &RunProfile| -> Flow { run.functions[0].flow().clone() };
    prop_assert_eq!(flow(paths), flow(edges));
    prop_assert_eq!(
        of_function(&paths.functions[0]),
        of_function(&edges.functions[0])
    );
    let lines = |run: &RunProfile| counts(run, &|_, _| true);
    prop_assert_eq!(lines(paths), lines(edges));
    for sort in [Sort::Count, Sort::Instructions] {
        let hot = |run: &RunProfile| -> Vec<(u32, Count)> {
            let ranking = blocks::hottest(run, sort, None, &all);
            assert!(
                ranking
                    .blocks
                    .is_sorted_by_key(|block| std::cmp::Reverse(block.weight(sort)))
            );
            ranking
                .blocks
                .iter()
                .map(|block| (block.block, block.count))
                .collect()
        };
        prop_assert_eq!(hot(paths), hot(edges));
    }
    let taken = |run: &RunProfile| -> Vec<i64> {
        let ranking = edges::hottest(run, Sort::Count, None, &all);
        ranking.edges.iter().map(|edge| edge.count).collect()
    };
    prop_assert_eq!(taken(paths), taken(edges));
    check_instructions_of_edges(edges)?;
    let summary = |run: &RunProfile| {
        let ranking = functions::hottest(run, functions::Weight::Instructions, None, &all);
        let summary = ranking.functions.first().copied();
        summary.map(|summary| {
            let counts = (summary.calls, summary.blocks, summary.instructions);
            (counts, ranking.total)
        })
    };
    prop_assert_eq!(summary(paths), summary(edges));
    let totals = |run: &RunProfile| {
        let coverage = coverage(run);
        let left = (coverage.left, coverage.entered_again);
        (coverage.run, coverage.calls, coverage.instructions, left)
    };
    prop_assert_eq!(totals(paths), totals(edges));
    Ok(())
}

/// Each instruction that ran belongs to the edge that led to its block, or to the call of the
/// function.
fn check_instructions_of_edges(run: &RunProfile) -> Result<(), TestCaseError> {
    let function = &run.functions[0];
    let ranking = edges::hottest(run, Sort::Instructions, None, &|_| true);
    if ranking.left > Count::ZERO || !ranking.reentered.is_empty() {
        // Frames that were left in a call did not run the instructions after it.
        return Ok(());
    }
    let map = &function.map;
    let returned = |block: u32| {
        let mut edges = map.edges.iter();
        edges.find(|edge| edge.from == block && edge.outcome == Outcome::Returned)
    };
    let mut at_entry = 0;
    let mut block = Some(map.entry);
    while let Some(part) = block {
        at_entry += u64::from(map.blocks[part as usize].instructions);
        block = returned(part).map(|edge| edge.to);
    }
    let of_calls = function.flow().calls.saturating_mul(at_entry);
    prop_assert_eq!(
        ranking.total.saturating_add(of_calls),
        function.flow().instructions
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn both_kinds_give_the_traced_counts(
        map in programs(),
        weights in prop::collection::vec(0u64..9, 30),
        limit in prop_oneof![Just(1u64 << 31), 1u64..20],
        choices in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let Some(function) = TestFunction::new(&map, &weights, limit) else {
            return Ok(());
        };
        let mut interpreter = Interpreter::new(&function);
        let mut choices = choices.into_iter();
        while choices.len() > 0 && interpreter.calls < 20 {
            interpreter.call(&mut |count| choices.next().map_or(0, usize::from) % count);
        }
        let paths = run_of(&function.paths, &interpreter.path_counters);
        let edges = run_of(&function.edges, &interpreter.edge_counters);
        prop_assert!(paths.damage.is_empty() && edges.damage.is_empty(), "{:?} {:?}", paths.damage, edges.damage);
        check_truth(&interpreter, &paths.functions[0])?;
        check_truth(&interpreter, &edges.functions[0])?;
        check_paths(&interpreter, &paths.functions[0])?;
        check_answers(&paths, &edges)?;
    }
}

/// Burger and Dybvig, Figure 3: all frames of `fact 5` are left early. The counts are B1→B2 1,
/// B1→B3 4, B3→B4 0, and 4 for the exit edge of B3.
#[test]
fn bd_figure_3_fact_left_early() {
    check_fact(&[(0, 0, 1), (0, 1, 4), (2, 3, 0)], 5, 4);
}

/// Burger and Dybvig, Figure 4: the frames of `fact 4` are entered again once. The counts are B1→B2
/// 1, B1→B3 3, B3→B4 6, and −3 for the exit edge.
#[test]
fn bd_figure_4_fact_entered_again() {
    check_fact(&[(0, 0, 1), (0, 1, 3), (2, 3, 6)], 4, -3);
}

/// Checks `fact`. `expect` gives the counts of the edges B1→B2, B1→B3, and B3→B4.
fn check_fact(expect: &[(u32, u32, i64)], calls: u64, left: i64) {
    let [base, deeper, returned] =
        [expect[0].2, expect[1].2, expect[2].2].map(|count| count as u64);
    let paths = fact().done();
    let numbering = build::compute_numbering(&paths);
    let path = |blocks: &[u32], edges: &[u32], end: u32| {
        let path = Path {
            start: PathStart::Entry,
            blocks: blocks.iter().copied().map(BlockId).collect(),
            edges: edges.iter().copied().map(EdgeId).collect(),
            end: PathEnd::Exit(EdgeId(end)),
        };
        numbering.number_of(&path).unwrap().0
    };
    let counters = BTreeMap::from([
        (path(&[0, 1], &[0], 2), base),
        (path(&[0, 2], &[1], 4), deeper),
        (path(&[0, 2, 3], &[1, 3], 5), returned),
    ]);
    let mut edges = fact().edges();
    let mut by_edge = [base, deeper, base, returned, 0, returned].into_iter();
    let all: Vec<u64> = by_edge.by_ref().collect();
    assert!(
        !edges.counted.contains(&4),
        "an exit edge behind no cycle is not counted"
    );
    let counted: BTreeMap<u64, u64> = (0u64..)
        .zip(&edges.counted)
        .map(|(k, &edge)| (k, all[edge as usize]))
        .collect();
    edges.name = "fact".into();
    let increments = [&counters, &counted].map(|counters| counters.values().sum::<u64>());
    let runs = [
        run_of_one_process(&paths, &counters),
        run_of_one_process(&edges, &counted),
    ];
    for (run, increments) in runs.into_iter().zip(increments) {
        let function = &run.functions[0];
        assert_eq!(run.damage, []);
        // Increments of counters: more than executed paths, fewer than executed edges.
        assert_eq!(coverage(&run).increments, Count(increments));
        assert_eq!(function.flow().calls, Count(calls));
        let expected = [
            base as i64,
            deeper as i64,
            base as i64,
            returned as i64,
            left,
            returned as i64,
        ];
        assert_eq!(function.flow().edges, expected);
        let listed = of_function(function);
        let net = listed.iter().find(|edge| edge.left).unwrap();
        assert_eq!((net.from, net.to, net.count), (2, -1, left));
    }
}

fn run_of_one_process(map: &FunctionMap, counters: &BTreeMap<u64, u64>) -> RunProfile {
    let image = image("app", vec![module("a", vec![map.clone()])]);
    let counts: Vec<(u64, u64)> = counters.iter().map(|(&k, &v)| (k, v)).collect();
    let counts: Vec<_> = counts.into_iter().filter(|&(_, count)| count > 0).collect();
    let profile = profile(&image, 1, &[(0, 0, &counts)]);
    RunProfile::new(vec![(image, vec![profile])])
}

/// The process was killed between two counters: CD was counted, but no edge after CD. So
/// propagation gives 1 for AC, and −1 for AB and BD.
#[test]
fn negative_counts_are_reported_once() {
    let map = count_edges(&build::slide(), &[]).unwrap();
    assert_eq!(map.counted, [2, 4, 7, 8]);
    // Counter 1 belongs to CD.
    let run = run_of_one_process(&map, &BTreeMap::from([(1, 1)]));
    assert_eq!(run.functions[0].flow().edges, [1, 0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(
        run.damage,
        [Note::NegativeEdges {
            function: place_of_slide(),
            edges: 2,
        }]
    );
}

fn place_of_slide() -> FunctionPlace {
    FunctionPlace {
        image: "app".to_owned(),
        module: "a".to_owned(),
        name: "slide".to_owned(),
    }
}

/// If counters do not fit the map, the function loses its counts, and one note is added.
#[test]
fn a_function_whose_counters_do_not_fit_is_left_out() {
    let check = |map: FunctionMap, counters: &[(u64, u64)], ran: bool, misfit: Misfit| {
        let run = run_of_one_process(&map, &counters.iter().copied().collect());
        assert_eq!(run.functions[0].ran(), ran);
        let function = place_of_slide();
        assert_eq!(run.damage, [Note::LeftOut { function, misfit }]);
    };
    let map = || count_edges(&build::slide(), &[]).unwrap();
    check(
        FunctionMap {
            tree: Vec::new(),
            ..map()
        },
        &[(0, 1)],
        false,
        Misfit::NoFlow(TreeError::Missing(EdgeId(0))),
    );
    check(
        map(),
        &[(3, 1), (4, 1), (9, 1)],
        true,
        Misfit::CountsBeyond {
            counted: "counter",
            numbers: 2,
            first: 4,
            limit: 4,
        },
    );
    let mut enters_entry = map();
    enters_entry.edges[0].to = 0;
    check(
        enters_entry,
        &[(0, 1)],
        false,
        Misfit::NoGraph(CfgError::EntersEntry(EdgeId(0))),
    );
}
