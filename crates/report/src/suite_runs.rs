//! The figures of the papers' tables for several runs: which paths the edge counts predict (Ball,
//! Larus 1996), and what training runs have in common with reference runs.
//! [`holloway_analysis::predict`] and [`holloway_analysis::overlap`] compute the figures.

use holloway_abi::Unit;
use holloway_analysis::overlap::{Overlap, overlap, share};
use holloway_analysis::predict::{Prediction, prediction};
use holloway_analysis::{Function, Note, RunProfile};

use crate::filter::Filter;
use crate::options::Options;

/// A run of the suite.
pub struct SuiteRun {
    /// What the tables call the run.
    pub(crate) name: String,
    /// Which of its paths the edge counts predict.
    pub(crate) prediction: Prediction,
    /// What a training run has in common with it.
    pub(crate) train: Option<Overlap>,
    /// The damage of both runs.
    pub(crate) damage: Vec<Note>,
}

/// Why a run has no row.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The run has no paths.
    #[error("it has no path counts: record it with --collect paths")]
    NoPaths,
    /// No path of the chosen functions ran.
    #[error("no path ran in it: record it again, or leave it out")]
    NothingRan,
    /// The training run has no paths.
    #[error("its training run has no path counts: record it with --collect paths")]
    NoTrainingPaths,
}

/// The tables of several runs.
pub struct Suite {
    pub(crate) runs: Vec<SuiteRun>,
}

impl SuiteRun {
    /// The share of the different paths that the edge counts predict.
    pub(crate) fn paths_right(&self) -> f64 {
        share(self.prediction.right.paths, self.prediction.real.paths)
    }

    /// The share of path executions that the edge counts predict.
    pub(crate) fn executions_right(&self) -> f64 {
        share(
            self.prediction.right.executions,
            self.prediction.real.executions,
        )
    }

    /// The share of functions whose hottest path the edge counts predict.
    pub(crate) fn hottest_right(&self) -> f64 {
        let functions = self.prediction.functions.len() as u64;
        share(self.prediction.hottest_right, functions)
    }

    /// The share of the training run's paths that the run executed too.
    pub(crate) fn train_paths_common(overlap: &Overlap) -> f64 {
        share(overlap.common, overlap.sides[0].distinct)
    }

    /// The share of the run's paths that the training run executed too.
    pub(crate) fn paths_common(overlap: &Overlap) -> f64 {
        share(overlap.common, overlap.sides[1].distinct)
    }

    /// The share of the run's path executions on paths that the training run executed too.
    pub(crate) fn executions_common(overlap: &Overlap) -> f64 {
        let side = overlap.sides[1];
        share(side.common_executions, side.executions)
    }

    /// The share of the run's instructions on paths that the training run executed too.
    pub(crate) fn instructions_common(overlap: &Overlap) -> f64 {
        let side = overlap.sides[1];
        share(side.common_instructions, side.instructions)
    }
}

impl Suite {
    /// No runs yet.
    pub fn new() -> Suite {
        Suite { runs: Vec::new() }
    }

    /// Adds a run, and a training run of the same program. [`Options::function`] limits the tables
    /// to some functions.
    ///
    /// # Errors
    /// If one of the runs did not count paths.
    pub fn add(
        &mut self,
        name: String,
        run: &RunProfile,
        train: Option<&RunProfile>,
        options: &Options<'_>,
    ) -> Result<(), SuiteError> {
        if run.unit() != Unit::Paths {
            return Err(SuiteError::NoPaths);
        }
        if train.is_some_and(|train| train.unit() != Unit::Paths) {
            return Err(SuiteError::NoTrainingPaths);
        }
        let names = Filter::new(options);
        let keep = |function: &Function| names.keeps_name(function);
        let runs = [Some(run), train].into_iter().flatten();
        let prediction = prediction(run, &|id| names.keeps(run, id));
        if prediction.real.paths == 0 {
            return Err(SuiteError::NothingRan);
        }
        self.runs.push(SuiteRun {
            name,
            prediction,
            train: train
                .map(|train| overlap([train, run], &keep, &|function| names.name(function))),
            damage: runs.flat_map(|run| run.damage.clone()).collect(),
        });
        Ok(())
    }

    /// The arithmetic mean over the runs, as in the papers' tables.
    pub(crate) fn mean(&self, figure: impl Fn(&SuiteRun) -> f64) -> f64 {
        let sum: f64 = self.runs.iter().map(figure).sum();
        sum / self.runs.len().max(1) as f64
    }

    /// The arithmetic mean over the runs with training runs. `None` if there are none.
    pub(crate) fn mean_of_trained(&self, figure: impl Fn(&Overlap) -> f64) -> Option<f64> {
        let trained = self.runs.iter().filter_map(|run| run.train.as_ref());
        let figures: Vec<f64> = trained.map(figure).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    }
}

impl Default for Suite {
    fn default() -> Suite {
        Suite::new()
    }
}
