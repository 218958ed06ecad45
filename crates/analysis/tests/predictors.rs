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
    Answer, DirtyRegister, Estimates, FlowGraph, MarkedRegister, Model, Models, Question, Scheme,
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
    assert_eq!(answer.schemes, None);
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
        estimates: Some(Estimates {
            sweep: Sweep::On,
            ..Estimates::default()
        }),
    };
    let schemes = Answer::new(&code, &trace, &question).schemes.unwrap();
    assert_eq!(schemes.len(), 12);
    let marked = schemes.iter();
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

/// The addresses of the branches in these tests.
const PERIODIC: u64 = 0x11a0;
const RANDOM: u64 = 0x1180;
const ODD: u64 = 0x11ac;
const BACK: u64 = 0x11b0;
/// Turns of a loop in these tests, and turns before the counting begins.
const TURNS: u64 = 70_000;
const WARM_UP: u64 = 50_000;

/// Executes a loop. `turn` gives the branches of a turn: addresses and outcomes. Returns by model
/// the mispredictions of the branches at some addresses after the warm-up, in 1,000 executions.
fn mispredicted(
    addresses: &[u64],
    mut turn: impl FnMut(u64, &mut dyn FnMut(u64, bool)),
) -> [f64; Model::ALL.len()] {
    let mut models = Models::default();
    let mut wrong = [0u32; Model::ALL.len()];
    let mut executions = 0u32;
    for number in 0..TURNS {
        turn(number, &mut |branch, is_taken| {
            let right = models.condition(branch, is_taken);
            if number >= WARM_UP && addresses.contains(&branch) {
                executions += 1;
                let sums = wrong.iter_mut().zip(right);
                sums.for_each(|(sum, is_right)| *sum += u32::from(!is_right));
            }
        });
    }
    wrong.map(|wrong| 1000.0 * f64::from(wrong) / f64::from(executions))
}

/// Bimodal counters miss the turn that is taken. All histories know it.
#[test]
fn histories_predict_every_eighth_turn() {
    let alone = mispredicted(&[PERIODIC], |turn, run| run(PERIODIC, turn % 8 == 7));
    assert_eq!(alone, [125.0, 0.0, 0.0, 0.0]);
    let in_a_loop = mispredicted(&[PERIODIC], |turn, run| {
        run(PERIODIC, turn % 8 == 7);
        run(BACK, true);
    });
    assert_eq!(in_a_loop, [125.0, 0.0, 0.0, 0.0]);
}

#[test]
fn histories_predict_an_alternating_branch() {
    let alone = mispredicted(&[ODD], |turn, run| run(ODD, turn % 2 == 1));
    assert!(alone[Model::Bimodal.index()] >= 500.0, "{alone:?}");
    assert_eq!(alone[Model::Gshare.index()..], [0.0; 3]);
}

/// All branches of the loop together repeat after 120 turns.
#[test]
fn tage_predicts_every_eighth_turn_among_other_periods() {
    let wrong = mispredicted(&[1, 2, PERIODIC, ODD], |turn, run| {
        run(1, turn % 3 == 0);
        run(2, turn % 5 == 0);
        run(PERIODIC, turn % 8 == 7);
        run(ODD, turn % 2 == 1);
        run(BACK, true);
    });
    let tages = &wrong[Model::Tage.index()..];
    assert!(tages.iter().all(|&wrong| wrong < 0.5), "{wrong:?}");
}

/// A random branch, the periodic one, and some that are always taken. Each random outcome doubles
/// the histories that the tables have to learn. Histories that are folded to shift registers meet
/// where a loop has four, five, or six branches: then TAGE misses every eighth turn.
#[test]
fn tage_predicts_every_eighth_turn_beside_a_random_branch() {
    let mut state = 3;
    for (model, constants, limit) in [
        (Model::Tage, 1, 25.0),
        (Model::LongerHistory, 1, 10.0),
        (Model::LongerHistory, 2, 25.0),
        (Model::Tage, 3, 25.0),
    ] {
        let wrong = mispredicted(&[PERIODIC], |turn, run| {
            run(RANDOM, random(&mut state) & 1 == 0);
            run(PERIODIC, turn % 8 == 7);
            (0..constants).for_each(|number| run(BACK + 16 * number, true));
        });
        assert!(wrong[model.index()] < limit, "{constants} {wrong:?}");
    }
    let beside_odd = mispredicted(&[PERIODIC], |turn, run| {
        run(RANDOM, random(&mut state) & 1 == 0);
        run(PERIODIC, turn % 8 == 7);
        run(ODD, turn % 2 == 1);
        run(BACK, true);
    });
    assert!(beside_odd[Model::Tage.index()] < 2.0, "{beside_odd:?}");
}

/// Two random branches make 65,536 histories of eight turns: more than the tables have entries.
/// Nothing but the taken turns is missed.
#[test]
fn two_random_branches_hide_every_eighth_turn() {
    let mut state = 3;
    let wrong = mispredicted(&[PERIODIC], |turn, run| {
        let outcomes = random(&mut state);
        run(RANDOM, outcomes & 1 == 0);
        run(RANDOM + 16, outcomes & 2 == 0);
        run(PERIODIC, turn % 8 == 7);
        run(BACK, true);
    });
    let tage = wrong[Model::Tage.index()];
    assert!((120.0..140.0).contains(&tage), "{wrong:?}");
}

#[test]
fn no_model_predicts_a_random_branch() {
    let mut state = 3;
    let wrong = mispredicted(&[RANDOM], |_, run| {
        run(RANDOM, random(&mut state) & 1 == 0);
        run(BACK, true);
    });
    for wrong in wrong {
        assert!((490.0..510.0).contains(&wrong), "{wrong}");
    }
}

/// A repeating sequence that is longer than gshare's history, but not than TAGE's: 39 times taken,
/// then not.
#[test]
fn longer_histories_predict_longer_sequences() {
    let wrong = mispredicted(&[PERIODIC], |turn, run| run(PERIODIC, turn % 40 != 0));
    assert_eq!(wrong, [25.0, 25.0, 0.0, 0.0]);
}

/// A loop of 397 turns. TAGE misses each end.
#[test]
fn only_the_longest_history_knows_where_a_long_loop_ends() {
    let wrong = mispredicted(&[PERIODIC], |turn, run| run(PERIODIC, turn % 397 != 0));
    let ends = (TURNS - 1) / 397 - (WARM_UP - 1) / 397;
    let missed = 1000.0 * ends as f64 / (TURNS - WARM_UP) as f64;
    let tage = wrong[Model::Tage.index()];
    assert!((tage - missed).abs() < 1e-9, "{wrong:?}");
    assert!(wrong[Model::LongerHistory.index()] < 0.1, "{wrong:?}");
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
