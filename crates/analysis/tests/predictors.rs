//! Tests of simulated predictors: the numbers of Conte, Patel, and Cox (1994), and traces whose
//! branches are known.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::HashMap;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::predictors::answer::Sweep;
use holloway_analysis::predictors::schemes::Outcomes;
use holloway_analysis::predictors::select::Candidates;
use holloway_analysis::predictors::selection::{arc_weight_error, trace_selection_error};
use holloway_analysis::predictors::sweep::SweepSimulator;
use holloway_analysis::predictors::{
    Answer, DirtyRegister, FlowGraph, MarkedRegister, Model, Models, Question, Scheme,
    SchemeSimulator,
};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::code::Code;
use holloway_flow::PathId;
use holloway_format::{FunctionMap, ImageMap, Outcome};
use holloway_testkit::build::function;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use proptest::prelude::*;

fn push_all(history: &str, mut push: impl FnMut(bool)) {
    history.chars().for_each(|outcome| push(outcome == 'T'));
}

/// Figure 3, with 8 bits.
#[test]
fn figure_3_the_marker_bit_moves_through_the_register() {
    for (history, bits, is_full, taken, not_taken) in [
        ("", 0b0000_0001, false, 0, 0),
        ("TNTT", 0b0001_1011, false, 3, 1),
        ("TNTTNNN", 0b1101_1000, false, 3, 4),
        ("TNTTNNNT", 0b1011_0001, true, 4, 4),
        ("TNTTNNNTN", 0b0110_0010, true, 3, 5),
    ] {
        let mut register = MarkedRegister::new(8);
        push_all(history, |is_taken| register.push(is_taken));
        assert_eq!(register.history(), bits, "{history}");
        assert_eq!(register.is_full(), is_full, "{history}");
        assert_eq!(register.outcomes(), Outcomes { taken, not_taken });
    }
}

/// Zeros that no execution shifted in count as not taken.
#[test]
fn a_dirty_register_counts_stale_zeros() {
    let mut register = DirtyRegister::new(12);
    assert_eq!(register.outcomes(), Outcomes::default());
    push_all("TNTT", |is_taken| register.push(is_taken));
    let outcomes = Outcomes {
        taken: 3,
        not_taken: 9,
    };
    assert_eq!(register.outcomes(), outcomes);
}

/// Table 2: with two dirty entries, 100 instructions, and blocks of 5, w is 10.
#[test]
fn table_2_counters_give_weights() {
    let mut simulator = SchemeSimulator::new(Scheme::OneLevel, 100, 5.0, 3);
    // Strongly taken, and weakly not taken.
    for _ in 0..4 {
        simulator.execute(0, 0, true, 20);
    }
    simulator.execute(1, 1, false, 20);
    // The second interval has one dirty entry and ends with 60 instructions: w is 12.
    simulator.execute(0, 0, false, 60);
    let (weights, dumps) = simulator.finish();
    assert_eq!(dumps, 2);
    assert_eq!((weights[0].taken, weights[0].not_taken), (20.0 + 12.0, 0.0));
    assert_eq!((weights[1].taken, weights[1].not_taken), (0.0, 10.0));
    assert_eq!((weights[2].taken, weights[2].not_taken), (0.0, 0.0));
}

/// A branch counts at most 12 executions a dump, and an evicted branch none.
#[test]
fn registers_count_what_they_hold() {
    let mut simulator = SchemeSimulator::new(Scheme::TwoLevelMarkerBit, 1000, 5.0, 3);
    for _ in 0..20 {
        simulator.execute(0, 7, true, 10);
    }
    simulator.execute(1, 8, true, 1);
    // The same entry as condition 1.
    simulator.execute(2, 8 + 1024, false, 1);
    let (weights, _) = simulator.finish();
    let weights = weights
        .iter()
        .map(|weight| (weight.taken, weight.not_taken));
    assert_eq!(
        weights.collect::<Vec<_>>(),
        [(12.0, 0.0), (0.0, 0.0), (0.0, 1.0)]
    );
}

/// A graph from its arcs: `(from, to, executions)`. Blocks without arcs have the executions of the
/// arcs that lead to them.
fn graph(blocks: usize, arcs: &[(u32, u32, f64)]) -> FlowGraph {
    let mut graph = FlowGraph {
        weights: vec![0.0; blocks],
        arcs: vec![Vec::new(); blocks],
    };
    for &(from, to, weight) in arcs {
        graph.arcs[from as usize].push((to, weight));
        graph.weights[from as usize] += weight;
    }
    for &(_, to, weight) in arcs {
        if graph.arcs[to as usize].is_empty() {
            graph.weights[to as usize] += weight;
        }
    }
    graph
}

/// Section 3.4: a block with 15 % of the executions leads to 11 in 90 % of them. The estimate has
/// the trace 1 7 8 instead of 1 7 11. Blocks: 0 is block 1, 1 is block 7, 2 is block 11, 3 is block
/// 8, and 4 is the rest.
#[test]
fn section_3_4_a_wrong_successor_costs_the_difference_of_the_arcs() {
    let actual = graph(5, &[(0, 1, 15.0), (1, 2, 13.5), (1, 3, 1.5), (4, 4, 55.0)]);
    let estimated = graph(5, &[(0, 1, 15.0), (1, 2, 3.0), (1, 3, 12.0), (4, 4, 55.0)]);
    let all: f64 = actual.weights.iter().sum();
    assert_eq!(all, 100.0);
    assert_eq!(actual.select_traces(all, 0.0)[..2], [Some(1), Some(2)]);
    assert_eq!(estimated.select_traces(all, 0.0)[..2], [Some(1), Some(3)]);
    let (actual, estimated) = (
        HashMap::from([(0, actual)]),
        HashMap::from([(0, estimated)]),
    );
    let error = trace_selection_error(&actual, &estimated, 0.0);
    assert!((error - 0.12).abs() < 1e-12, "{error}");
    // The actual trace ends at block 7 where 11 is too light, the estimated trace goes on to 8.
    let error = trace_selection_error(&actual, &estimated, 0.14);
    assert!(error.abs() < 1e-12, "{error}");
    assert_eq!(trace_selection_error(&actual, &actual, 0.001), 0.0);
}

/// Section 3.4: 40/60 against 44/56 is an error of 4 %, not of 8 %.
#[test]
fn section_3_4_the_arc_weight_error_is_the_larger_difference() {
    let actual = HashMap::from([(0, graph(3, &[(0, 1, 40.0), (0, 2, 60.0)]))]);
    let estimated = HashMap::from([(0, graph(3, &[(0, 1, 44.0), (0, 2, 56.0)]))]);
    let error = arc_weight_error(&actual, &estimated);
    // Block 0 has half of the executions.
    assert!((error.error - 0.5 * 0.04).abs() < 1e-12, "{error:?}");
    let blocks: Vec<u64> = error.classes.iter().map(|class| class.blocks).collect();
    assert_eq!(blocks, [1, 0, 0, 0, 0]);
}

/// A loop whose turn is a triangle, a diamond, and a switch with four targets.
fn looped() -> FunctionMap {
    let mut build = function("looped", "a.c", 1);
    for _ in 0..13 {
        build = build.block(3, &[]);
    }
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        // Triangle 1, 2, 3.
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 3, Outcome::Jump)
        // Diamond 3, 4, 5, 6.
        .edge(3, 4, Outcome::True)
        .edge(3, 5, Outcome::False)
        .edge(4, 6, Outcome::Jump)
        .edge(5, 6, Outcome::Jump)
        // Switch 6.
        .edge(6, 7, Outcome::Case(1))
        .edge(6, 8, Outcome::Case(2))
        .edge(6, 9, Outcome::Case(3))
        .edge(6, 10, Outcome::Default)
        .edge(7, 11, Outcome::Jump)
        .edge(8, 11, Outcome::Jump)
        .edge(9, 11, Outcome::Jump)
        .edge(10, 11, Outcome::Jump)
        .edge(11, 1, Outcome::True)
        .edge(11, 12, Outcome::False)
        .edge(12, 13, Outcome::Return)
        .done()
}

#[test]
fn triangles_and_diamonds_may_be_selects() {
    let map = looped();
    let candidates = Candidates::new(&map);
    let found = (0..12).map(|block| candidates.instructions(block));
    let found: Vec<_> = (0..)
        .zip(found)
        .filter(|(_, found)| found.is_some())
        .collect();
    assert_eq!(found, [(1, Some(3)), (3, Some(6))]);
}

/// A random number generator (Knuth's constants).
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// The words of the paths that `choose` selects, by their numbers in the function.
fn words(image: &Arc<ImageMap>, length: usize, mut choose: impl FnMut(usize) -> u64) -> Vec<u32> {
    let first: Vec<u32> = Words::new(image).functions().map(|f| f.first).collect();
    (0..length)
        .map(|turn| first[0] + choose(turn) as u32)
        .collect()
}

/// The weights of the models are counted for each branch and each path, and agree.
#[test]
fn mispredictions_add_up() {
    let image = placed(vec![looped()], Kind::Trace);
    let paths = image.modules[0].module.functions[0].path_count;
    let mut state = 3;
    let words = words(&image, 20_000, |_| random(&mut state) % paths);
    let trace = trace(&image, &words);
    let code = Code::new(&image);
    let answer = Answer::new(&code, &trace, &Question::default());
    for model in Model::ALL {
        let branches: u64 = answer.branches.iter().map(|hard| hard.of(model).0).sum();
        assert_eq!(
            branches,
            answer.mispredictions[model.index()].0,
            "{model:?}"
        );
    }
    let in_paths: u64 = answer.paths.iter().map(|path| path.mispredictions.0).sum();
    assert_eq!(in_paths, answer.mispredictions[Model::Tage.index()].0);
    // The outcomes are fair coins: no predictor is right more often than by chance.
    let executions: u64 = answer.branches.iter().map(|hard| hard.executions.0).sum();
    let rate = in_paths as f64 / executions as f64;
    assert!((0.3..0.7).contains(&rate), "{rate}");
    let selects: Vec<_> = answer
        .branches
        .iter()
        .filter(|hard| hard.select.is_some())
        .collect();
    assert_eq!(selects.len(), 2);
}

/// In one interval that a register can hold, the marker bit estimates the arcs of all conditions
/// exactly.
#[test]
fn a_register_that_holds_all_is_exact() {
    let image = placed(vec![looped()], Kind::Trace);
    let paths = image.modules[0].module.functions[0].path_count;
    let code = Code::new(&image);
    // From the entry, ten turns of the loop, and out.
    let shape = |path: u64| {
        let path = code.path(0, PathId(path)).unwrap();
        (path.blocks[0].index(), path.blocks.last().unwrap().index())
    };
    let mut state = 5;
    let words = words(&image, 12, |turn| {
        let wanted = match turn {
            0 => (0, 11),
            11 => (1, 12),
            _ => (1, 11),
        };
        let paths: Vec<u64> = (0..paths).filter(|&path| shape(path) == wanted).collect();
        paths[random(&mut state) as usize % paths.len()]
    });
    let trace = trace(&image, &words);
    let question = Question {
        sweep: Sweep::On,
        ..Question::default()
    };
    let answer = Answer::new(&code, &trace, &question);
    assert_eq!(answer.schemes.len(), 12);
    let marked = answer.schemes.iter();
    let marked: Vec<_> = marked
        .filter(|result| result.scheme == Scheme::TwoLevelMarkerBit)
        .collect();
    assert_eq!(
        marked
            .iter()
            .map(|result| result.dump_interval)
            .collect::<Vec<_>>(),
        [1_000_000, 250_000, 125_000, 62_500]
    );
    for result in marked {
        assert!(result.arc_weight_error.error < 1e-12, "{result:?}");
        for error in result.trace_selection_errors {
            assert!(error < 1e-12, "{result:?}");
        }
    }
}

/// A repeating sequence that is longer than gshare's history, but not than TAGE's.
#[test]
fn longer_histories_predict_longer_sequences() {
    let mut models = Models::default();
    let mut right = [0u64; Model::ALL.len()];
    // 39 times taken, then not.
    for turn in 0..200_000u64 {
        let outcome = models.condition(64, turn % 40 != 0);
        for (sum, is_right) in right.iter_mut().zip(outcome) {
            *sum += u64::from(is_right && turn >= 100_000);
        }
    }
    assert_eq!(right[Model::Bimodal.index()], 97_500);
    assert_eq!(right[Model::Gshare.index()], 97_500);
    assert!(right[Model::Tage.index()] > 99_990, "{right:?}");
    assert!(right[Model::LongerHistory.index()] > 99_990, "{right:?}");
}

/// A loop of 397 turns. TAGE misses each end.
#[test]
fn only_the_longest_history_knows_where_a_long_loop_ends() {
    let mut models = Models::default();
    let mut right = [0u64; Model::ALL.len()];
    for turn in 0..2_000_000u64 {
        let outcome = models.condition(64, turn % 397 != 0);
        for (sum, is_right) in right.iter_mut().zip(outcome) {
            *sum += u64::from(is_right && turn >= 1_000_000);
        }
    }
    let ends = 2_000_000 / 397 - 1_000_000 / 397;
    assert_eq!(right[Model::Tage.index()], 1_000_000 - ends);
    assert!(right[Model::LongerHistory.index()] > 999_900, "{right:?}");
}

#[test]
fn targets_are_predicted_with_the_history() {
    let mut models = Models::default();
    let mut right = [0u64; Model::ALL.len()];
    for turn in 0..10_000u32 {
        let outcome = models.indirect(64, turn % 3);
        for (sum, is_right) in right.iter_mut().zip(outcome) {
            *sum += u64::from(is_right && turn >= 1000);
        }
    }
    assert_eq!(right[Model::Bimodal.index()], 0);
    assert_eq!(right[Model::Gshare.index()], 9000);
}

proptest! {
    /// The estimate of the marker bit never counts more than ran.
    #[test]
    fn marked_registers_count_executions(outcomes in prop::collection::vec(any::<bool>(), 0..40)) {
        let mut register = MarkedRegister::new(12);
        outcomes.iter().for_each(|&outcome| register.push(outcome));
        let valid = &outcomes[outcomes.len().saturating_sub(12)..];
        let taken = valid.iter().filter(|&&outcome| outcome).count() as u32;
        let not_taken = valid.len() as u32 - taken;
        prop_assert_eq!(register.outcomes(), Outcomes { taken, not_taken });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The pass over all schemes and intervals equals one simulator for each, also where conditions
    /// evict each other.
    #[test]
    fn a_sweep_equals_one_simulator_for_each_scheme_and_interval(
        executions in prop::collection::vec((0u32..6, any::<bool>(), 0u32..9), 0..400),
    ) {
        let intervals = [200, 50, 25, 12];
        let mut sweep = SweepSimulator::new(&intervals, 5.0, 6);
        let mut single: Vec<_> = intervals
            .into_iter()
            .flat_map(|interval| Scheme::ALL.map(|scheme| (scheme, interval)))
            .map(|(scheme, interval)| SchemeSimulator::new(scheme, interval, 5.0, 6))
            .collect();
        for &(condition, is_taken, instructions) in &executions {
            // Conditions 0 and 3, 1 and 4, and 2 and 5 share an entry.
            let address = u64::from(condition % 3) + 1024 * u64::from(condition / 3);
            sweep.execute(condition, address, is_taken, instructions);
            for simulator in &mut single {
                simulator.execute(condition, address, is_taken, instructions);
            }
        }
        let single: Vec<_> = single.into_iter().map(SchemeSimulator::finish).collect();
        let sweep: Vec<_> = sweep
            .finish()
            .into_iter()
            .map(|result| (result.weights, result.dumps))
            .collect();
        prop_assert_eq!(sweep, single);
    }
}
