//! Simulates all predictors in one pass over the branches of a thread.

use std::cmp::Reverse;
use std::collections::HashMap;

use holloway_flow::PathId;
use holloway_format::Count;

use super::conditions::{Condition, Conditions, Step};
use super::estimate::estimate;
use super::models::{Model, Models};
use super::schemes::Scheme;
use super::select::Candidates;
use super::selection::{
    ArcWeightError, FlowGraph, THRESHOLDS, arc_weight_error, trace_selection_error,
};
use super::sweep::{INTERVALS, SchemeWeights, SweepSimulator};
use crate::branch_stream::{BranchId, BranchKind, BranchSet, BranchSite, BranchStream, Direction};
use crate::trace::code::Code;
use crate::trace::stats::counts;
use crate::trace::{Terminal, Trace};

/// Largest number by which a sweep divides the interval between dumps.
pub const MAX_SWEEP: u64 = 16;
/// Numbers by which a sweep divides the interval (Conte et al. 1994, table 8).
const SWEEP: [u64; INTERVALS] = [1, 4, 8, MAX_SWEEP];

/// What to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
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

impl Default for Question {
    fn default() -> Question {
        Question {
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
    /// Profiles from predictors.
    pub schemes: Vec<SchemeResult>,
}

impl<'a> Answer<'a> {
    /// Simulates the predictors on the branches of a thread.
    pub fn new(code: &Code<'_>, trace: &'a Trace, question: &Question) -> Answer<'a> {
        let stream = BranchStream::new(code, trace, BranchSet::Choices);
        let conditions = Conditions::new(code, &stream);
        let frequencies = counts(&trace.grammar, trace.terminals.len());
        let actual = actual_profile(code, trace, &frequencies);
        let divisors = match question.sweep {
            Sweep::Off => &SWEEP[..1],
            Sweep::On => &SWEEP[..],
        };
        let block_length = mean_block(code, &actual);
        let intervals = divisors
            .iter()
            .map(|divisor| (question.dump_interval / divisor).max(1));
        let intervals: Vec<u64> = intervals.collect();
        let count = conditions.conditions.len();
        let mut simulator = SweepSimulator::new(&intervals, block_length, count);
        let terminals = 0..trace.terminals.len() as u32;
        let steps: Vec<Vec<Step>> = terminals
            .map(|terminal| {
                let events = stream.of_terminal(terminal).iter();
                events.flat_map(|event| conditions.steps(event)).collect()
            })
            .collect();
        let mut pass = Pass::new(&stream, trace.terminals.len());
        // The models take longer than the schemes.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let executed = trace.grammar.expand();
                executed.for_each(|terminal| pass.execute(&stream, terminal));
            });
            for terminal in trace.grammar.expand() {
                for step in &steps[terminal as usize] {
                    let address = conditions.conditions[step.condition as usize].address;
                    simulator.execute(step.condition, address, step.is_taken, step.instructions);
                }
            }
        });
        let schemes = simulator.finish().into_iter();
        let schemes = schemes.map(|weights| compare(&weights, &actual, &conditions.conditions));
        let schemes = schemes.collect();
        let instructions = code.events(&trace.terminals);
        let instructions = instructions.iter().zip(&frequencies);
        let instructions = instructions
            .map(|(event, count)| count.0.saturating_mul(event.instructions()))
            .fold(0, u64::saturating_add);
        Answer {
            instructions: Count(instructions),
            sizes: Model::ALL.map(|model| pass.models.size(model)),
            mispredictions: pass.sums(),
            branches: pass.hard_branches(code, &stream),
            paths: pass.hard_paths(&frequencies),
            schemes,
            stream,
        }
    }
}

/// The models during the pass, and what they mispredicted so far.
struct Pass {
    models: Models,
    /// By branch.
    executions: Vec<u64>,
    mispredictions: Vec<[u64; Model::ALL.len()]>,
    /// By terminal: mispredictions of TAGE.
    terminals: Vec<u64>,
}

impl Pass {
    fn new(stream: &BranchStream<'_>, terminals: usize) -> Pass {
        let branches = stream.sites().len();
        Pass {
            models: Models::default(),
            executions: vec![0; branches],
            mispredictions: vec![[0; Model::ALL.len()]; branches],
            terminals: vec![0; terminals],
        }
    }

    /// Executes the branches of a terminal.
    fn execute(&mut self, stream: &BranchStream<'_>, terminal: u32) {
        for event in stream.of_terminal(terminal) {
            let BranchId(branch) = event.branch;
            let site = stream.site(event.branch);
            let right = match site.kind {
                BranchKind::Indirect => self.models.indirect(site.address, event.target),
                BranchKind::Conditional
                | BranchKind::Jump
                | BranchKind::Call
                | BranchKind::Return => {
                    let is_taken = event.direction == Direction::Taken;
                    self.models.condition(site.address, is_taken)
                }
            };
            let branch = branch as usize;
            self.executions[branch] += 1;
            let sums = self.mispredictions[branch].iter_mut().zip(right);
            for (sum, is_right) in sums {
                *sum += u64::from(!is_right);
            }
            self.terminals[terminal as usize] += u64::from(!right[Model::Tage.index()]);
        }
    }

    /// By model: the mispredictions of all branches.
    fn sums(&self) -> [Count; Model::ALL.len()] {
        Model::ALL.map(|model| {
            let branches = self.mispredictions.iter();
            Count(branches.map(|sums| sums[model.index()]).sum())
        })
    }

    fn hard_branches(&self, code: &Code<'_>, stream: &BranchStream<'_>) -> Vec<HardBranch> {
        let mut candidates = HashMap::new();
        let branches = stream.sites().iter().zip(&self.executions);
        let branches = branches.zip(&self.mispredictions);
        let mut branches: Vec<HardBranch> = branches
            .filter(|(_, mispredictions)| mispredictions[Model::Tage.index()] > 0)
            .map(|((site, &executions), mispredictions)| {
                let map = code.function(site.function);
                let candidates = candidates
                    .entry(site.function)
                    .or_insert_with(|| map.map(Candidates::new));
                let candidates = candidates.as_ref();
                HardBranch {
                    branch: *site,
                    executions: Count(executions),
                    mispredictions: mispredictions.map(Count),
                    select: candidates.and_then(|found| found.instructions(site.block)),
                }
            })
            .collect();
        branches.sort_by_key(|hard| Reverse(hard.of(Model::Tage)));
        branches
    }

    fn hard_paths(&self, frequencies: &[Count]) -> Vec<HardPath> {
        let terminals = (0u32..).zip(&self.terminals).zip(frequencies);
        let terminals = terminals.filter(|((_, mispredictions), _)| **mispredictions > 0);
        let mut paths: Vec<HardPath> = terminals
            .map(|((terminal, &mispredictions), &executions)| HardPath {
                terminal,
                executions,
                mispredictions: Count(mispredictions),
            })
            .collect();
        paths.sort_by_key(|path| Reverse(path.mispredictions));
        paths
    }
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
