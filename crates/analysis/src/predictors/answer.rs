//! Simulates the models on the branches of a thread, and if asked, profiles from predictors.

use std::cmp::Reverse;
use std::collections::HashMap;

use holloway_flow::PathId;
use holloway_format::Count;

use super::conditions::{Condition, Conditions, Step};
use super::estimate::estimate;
use super::models::{Model, Models};
use super::pass::{Mispredictions, Slots};
use super::schemes::Scheme;
use super::select::Candidates;
use super::selection::{
    ArcWeightError, FlowGraph, THRESHOLDS, arc_weight_error, trace_selection_error,
};
use super::sweep::{INTERVALS, SchemeWeights, SweepSimulator};
use crate::branch_stream::{BranchSet, BranchSite, BranchStream};
use crate::trace::code::Code;
use crate::trace::stats::counts;
use crate::trace::{Terminal, Trace};

/// Largest number by which a sweep divides the interval between dumps.
pub const MAX_SWEEP: u64 = 16;
/// Numbers by which a sweep divides the interval (Conte et al. 1994, table 8).
const SWEEP: [u64; INTERVALS] = [1, 4, 8, MAX_SWEEP];

/// What to simulate besides the models.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Question {
    /// The profiles to estimate from predictor tables, if any.
    pub estimates: Option<Estimates>,
}

/// The profiles to estimate from predictor tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimates {
    /// Instructions from one dump of the tables to the next.
    pub dump_interval: u64,
    /// Whether the schemes also dump 4, 8, and 16 times as often.
    pub sweep: Sweep,
}

/// The intervals between dumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// Only the given interval.
    Off,
    /// The interval, and a fourth, an eighth, and a sixteenth of it.
    On,
}

impl Default for Estimates {
    fn default() -> Estimates {
        Estimates {
            dump_interval: 1_000_000,
            sweep: Sweep::Off,
        }
    }
}

/// How well a scheme estimates the profile.
#[derive(Clone, PartialEq, Debug)]
pub struct SchemeResult {
    /// The scheme.
    pub scheme: Scheme,
    /// Instructions from one dump to the next.
    pub dump_interval: u64,
    /// Number of dumps.
    pub dumps: u64,
    /// The trace selection error at each of [`THRESHOLDS`], as a fraction.
    pub trace_selection_errors: [f64; THRESHOLDS.len()],
    /// The arc weight error.
    pub arc_weight_error: ArcWeightError,
}

/// What the models mispredicted at a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HardBranch {
    /// The branch.
    pub branch: BranchSite,
    /// Its executions.
    pub executions: Count,
    /// By model: the mispredictions.
    pub mispredictions: [Count; Model::ALL.len()],
    /// If a `select` might replace the branch: the instructions that it would execute always.
    pub select: Option<u32>,
}

impl HardBranch {
    /// The mispredictions of a model.
    pub fn of(&self, model: Model) -> Count {
        self.mispredictions[model.index()]
    }
}

/// What TAGE mispredicted on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardPath {
    /// The path, by its number among the terminals of the trace.
    pub terminal: u32,
    /// Its executions.
    pub executions: Count,
    /// Mispredictions on the path.
    pub mispredictions: Count,
}

/// The results of all predictors.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The branches of the thread.
    pub stream: BranchStream<'a>,
    /// The instructions of all paths of the thread.
    pub instructions: Count,
    /// By model: the size of its tables for conditions, in bytes.
    pub sizes: [u64; Model::ALL.len()],
    /// By model: all mispredictions.
    pub mispredictions: [Count; Model::ALL.len()],
    /// The branches that TAGE mispredicted, most mispredictions first.
    pub branches: Vec<HardBranch>,
    /// The paths with branches that TAGE mispredicted, most mispredictions first.
    pub paths: Vec<HardPath>,
    /// Profiles from predictors, if they were asked for.
    pub schemes: Option<Vec<SchemeResult>>,
}

impl<'a> Answer<'a> {
    /// Simulates the predictors on the branches of a thread.
    pub fn new(code: &Code<'_>, trace: &'a Trace, question: &Question) -> Answer<'a> {
        let stream = BranchStream::new(code, trace, BranchSet::Choices);
        let frequencies = counts(&trace.grammar, trace.terminals.len());
        let models = Models::default();
        let sizes = models.sizes();
        let slots = Slots::new(&stream, trace.terminals.len());
        let (wrong, schemes) = std::thread::scope(|scope| {
            let wrong = scope.spawn(|| slots.mispredictions(&trace.grammar, models));
            let estimates = question.estimates;
            let schemes = estimates.map(|asked| schemes(code, trace, &stream, &frequencies, asked));
            let wrong = wrong.join().expect("predictors do not panic");
            (wrong, schemes)
        });
        let instructions = code.events(&trace.terminals);
        let instructions = instructions.iter().zip(&frequencies);
        let instructions = instructions
            .map(|(event, count)| count.0.saturating_mul(event.instructions()))
            .fold(0, u64::saturating_add);
        Answer {
            instructions: Count(instructions),
            sizes,
            mispredictions: Model::ALL.map(|model| Count(wrong[model.index()].iter().sum())),
            branches: hard_branches(code, &stream, &slots, &wrong, &frequencies),
            paths: hard_paths(&slots, &wrong, &frequencies),
            schemes,
            stream,
        }
    }
}

fn hard_branches(
    code: &Code<'_>,
    stream: &BranchStream<'_>,
    slots: &Slots,
    wrong: &Mispredictions,
    frequencies: &[Count],
) -> Vec<HardBranch> {
    let branches = stream.sites().iter().map(|site| HardBranch {
        branch: *site,
        executions: Count::ZERO,
        mispredictions: [Count::ZERO; Model::ALL.len()],
        select: None,
    });
    let mut branches: Vec<HardBranch> = branches.collect();
    for (terminal, executions) in slots.terminals().iter().zip(frequencies) {
        for slot in terminal.clone() {
            let hard = &mut branches[slots.branches()[slot].index()];
            hard.executions = hard.executions.saturating_add(*executions);
            for (sum, wrong) in hard.mispredictions.iter_mut().zip(wrong) {
                sum.0 += wrong[slot];
            }
        }
    }
    branches.retain(|hard| hard.of(Model::Tage) > Count::ZERO);
    branches.sort_by_key(|hard| Reverse(hard.of(Model::Tage)));
    let mut candidates = HashMap::new();
    for hard in &mut branches {
        let function = hard.branch.function;
        let candidates = candidates
            .entry(function)
            .or_insert_with(|| code.function(function).map(Candidates::new));
        let candidates = candidates.as_ref();
        hard.select = candidates.and_then(|found| found.instructions(hard.branch.block));
    }
    branches
}

fn hard_paths(slots: &Slots, wrong: &Mispredictions, frequencies: &[Count]) -> Vec<HardPath> {
    let wrong = &wrong[Model::Tage.index()];
    let terminals = (0u32..).zip(slots.terminals()).zip(frequencies);
    let paths = terminals.map(|((terminal, slots), &executions)| HardPath {
        terminal,
        executions,
        mispredictions: Count(wrong[slots.clone()].iter().sum()),
    });
    let mut paths: Vec<HardPath> = paths
        .filter(|path| path.mispredictions > Count::ZERO)
        .collect();
    paths.sort_by_key(|path| Reverse(path.mispredictions));
    paths
}

/// Estimates profiles with all schemes, and compares them with the exact profile.
fn schemes(
    code: &Code<'_>,
    trace: &Trace,
    stream: &BranchStream<'_>,
    frequencies: &[Count],
    estimates: Estimates,
) -> Vec<SchemeResult> {
    let conditions = Conditions::new(code, stream);
    let actual = actual_profile(code, trace, frequencies);
    let divisors = match estimates.sweep {
        Sweep::Off => &SWEEP[..1],
        Sweep::On => &SWEEP[..],
    };
    let intervals = divisors
        .iter()
        .map(|divisor| (estimates.dump_interval / divisor).max(1));
    let intervals: Vec<u64> = intervals.collect();
    let count = conditions.conditions.len();
    let mut simulator = SweepSimulator::new(&intervals, mean_block(code, &actual), count);
    let terminals = 0..trace.terminals.len() as u32;
    let steps: Vec<Vec<Step>> = terminals
        .map(|terminal| {
            let events = stream.of_terminal(terminal).iter();
            events.flat_map(|event| conditions.steps(event)).collect()
        })
        .collect();
    for terminal in trace.grammar.expand() {
        for step in &steps[terminal as usize] {
            let address = conditions.conditions[step.condition as usize].address;
            simulator.execute(step.condition, address, step.is_taken, step.instructions);
        }
    }
    let schemes = simulator.finish().into_iter();
    let schemes = schemes.map(|weights| compare(&weights, &actual, &conditions.conditions));
    schemes.collect()
}

/// The exact weights of all blocks and arcs, by function.
fn actual_profile(
    code: &Code<'_>,
    trace: &Trace,
    frequencies: &[Count],
) -> HashMap<u32, FlowGraph> {
    let mut graphs: HashMap<u32, FlowGraph> = HashMap::new();
    for (&terminal, count) in trace.terminals.iter().zip(frequencies) {
        let Terminal::Path { function, path } = terminal else {
            continue;
        };
        let path = code.path(function, PathId(path.into()));
        if let (Some(map), Some(path)) = (code.function(function), path) {
            let graph = graphs
                .entry(function)
                .or_insert_with(|| FlowGraph::new(map));
            graph.add_path(map, &path, count.0 as f64);
        }
    }
    graphs
}

/// Instructions of a mean block of the functions that ran.
fn mean_block(code: &Code<'_>, actual: &HashMap<u32, FlowGraph>) -> f64 {
    let maps = actual
        .keys()
        .filter_map(|&function| code.function(function));
    let lengths = maps.flat_map(|map| map.blocks.iter().map(|block| block.instructions));
    let (blocks, instructions) = lengths.fold((0u64, 0u64), |(blocks, instructions), length| {
        (blocks + 1, instructions + u64::from(length))
    });
    instructions as f64 / blocks.max(1) as f64
}

fn compare(
    weights: &SchemeWeights,
    actual: &HashMap<u32, FlowGraph>,
    conditions: &[Condition],
) -> SchemeResult {
    let estimated = estimate(actual, conditions, &weights.weights);
    SchemeResult {
        scheme: weights.scheme,
        dump_interval: weights.interval,
        dumps: weights.dumps,
        trace_selection_errors: THRESHOLDS
            .map(|threshold| trace_selection_error(actual, &estimated, threshold)),
        arc_weight_error: arc_weight_error(actual, &estimated),
    }
}
