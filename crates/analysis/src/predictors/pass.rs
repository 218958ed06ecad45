//! Runs the models over the branches of a thread, and counts mispredictions.
//!
//! A path executes the same branches each time. So each branch of each distinct path has a *slot*,
//! and each model has a counter for each slot. The counts of branches and those of paths are sums
//! over slots.
//!
//! The models do not depend on each other. Each has a thread, and walks the trace's grammar itself.
//!
//! Cost: a step of each model for each executed branch.

use std::ops::Range;
use std::thread::scope;

use super::models::{Model, Models, Predictor};
use crate::branch_stream::{BranchId, BranchKind, BranchStream, Direction};
use crate::trace::Grammar;

/// What a predictor sees of a branch on a path.
#[derive(Clone, Copy, Debug)]
struct Step {
    address: u64,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// Whether a condition was taken.
    Condition(bool),
    /// The block to which a switch or a computed jump leads.
    Target(u32),
}

/// The branches of the distinct paths of a thread.
#[derive(Debug)]
pub(super) struct Slots {
    /// By slot.
    steps: Vec<Step>,
    branches: Vec<BranchId>,
    /// By terminal: its slots.
    terminals: Vec<Range<usize>>,
}

/// By slot, the mispredictions of each model.
pub(super) type Mispredictions = [Vec<u64>; Model::ALL.len()];

impl Slots {
    /// The slots of a stream whose trace has this number of terminals.
    pub(super) fn new(stream: &BranchStream<'_>, terminals: usize) -> Slots {
        let mut slots = Slots {
            steps: Vec::new(),
            branches: Vec::new(),
            terminals: Vec::with_capacity(terminals),
        };
        for terminal in 0..terminals as u32 {
            let first = slots.steps.len();
            for event in stream.of_terminal(terminal) {
                let site = stream.site(event.branch);
                let outcome = match site.kind {
                    BranchKind::Indirect => Outcome::Target(event.target),
                    BranchKind::Conditional
                    | BranchKind::Jump
                    | BranchKind::Call
                    | BranchKind::Return => Outcome::Condition(event.direction == Direction::Taken),
                };
                slots.steps.push(Step {
                    address: site.address,
                    outcome,
                });
                slots.branches.push(event.branch);
            }
            slots.terminals.push(first..slots.steps.len());
        }
        slots
    }

    /// By slot: its branch.
    pub(super) fn branches(&self) -> &[BranchId] {
        &self.branches
    }

    /// By terminal: its slots.
    pub(super) fn terminals(&self) -> &[Range<usize>] {
        &self.terminals
    }

    /// Executes all branches with all models.
    pub(super) fn mispredictions(&self, grammar: &Grammar, models: Models) -> Mispredictions {
        let Models {
            bimodal,
            gshare,
            tage,
            longer_history,
        } = models;
        scope(|scope| {
            let counters = [
                scope.spawn(|| self.simulate(grammar, bimodal)),
                scope.spawn(|| self.simulate(grammar, gshare)),
                scope.spawn(|| self.simulate(grammar, tage)),
                scope.spawn(|| self.simulate(grammar, longer_history)),
            ];
            counters.map(|thread| thread.join().expect("predictors do not panic"))
        })
    }

    /// Executes all branches with one predictor. Returns its mispredictions by slot.
    fn simulate(&self, grammar: &Grammar, mut predictor: impl Predictor) -> Vec<u64> {
        let mut wrong = vec![0u64; self.steps.len()];
        for terminal in grammar.expand() {
            let slots = self.terminals[terminal as usize].clone();
            for (step, wrong) in self.steps[slots.clone()].iter().zip(&mut wrong[slots]) {
                let is_right = match step.outcome {
                    Outcome::Condition(is_taken) => predictor.condition(step.address, is_taken),
                    Outcome::Target(target) => predictor.indirect(step.address, target),
                };
                *wrong += u64::from(!is_right);
            }
        }
        wrong
    }
}
