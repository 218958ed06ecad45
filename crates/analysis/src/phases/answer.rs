//! Finds the phases of a thread in one pass over its branches.

use holloway_format::Count;
use thiserror::Error;

use super::code_set::CodeSet;
use super::exact::{ExactPhases, MAX_CHOSEN_WINDOWS};
use super::hot_spots::{HotSpotDetector, HotSpots, ModeChange};
use super::parameters::{Parameters, ParametersError};
use super::signals::SignalMatch;
use super::timeline::{Sampling, TimelineSample, TimelineSampler};
use super::trigger::{TriggerParameters, signals};
use crate::branch_stream::{BranchSet, BranchStream};
use crate::trace::Trace;
use crate::trace::code::Code;

/// What to find, and how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Question {
    /// The branches of the stream. [`BranchSet::Choices`] is enhancement 1 of the hot spot
    /// detector.
    pub branches: BranchSet,
    /// The parameters of the hot spot detector.
    pub parameters: Parameters,
    /// The samples of the timeline.
    pub sampling: Sampling,
    /// The period of the samples. `None` means [`Sampling::fitted_to`].
    pub sample_period: Option<u64>,
    /// Number of branches of a window of the exact phases. `None` means the rule of
    /// [`exact`](super::exact).
    pub window: Option<u64>,
    /// The parameters of the trigger counter, if it is simulated.
    pub trigger: Option<TriggerParameters>,
}

/// The reason why a question has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum QuestionError {
    /// The parameters make no detector.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// The windows are so small that there are too many.
    #[error(
        "windows of {window} branches are too small for {branches} branches: at most {MAX_CHOSEN_WINDOWS} windows can be compared, so {smallest} or more"
    )]
    Window {
        /// Number of branches of a window.
        window: u64,
        /// Number of branches of the thread.
        branches: u64,
        /// The smallest window that is possible.
        smallest: u64,
    },
}

/// A way to detect transitions while the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detector {
    /// The hot spot detector signals when control leaves the known hot spots.
    HotSpotsLeft,
    /// The hot spot detector signals when it detects a new hot spot.
    HotSpotDetected,
    /// The hot spot detector signals when control enters a hot spot: a new or a known one. The
    /// paper's detector does not notice the known ones.
    HotSpotEntered,
    /// The trigger counter signals at zero.
    Trigger,
}

/// The phases of a thread.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The branches of the thread.
    pub stream: BranchStream<'a>,
    /// The instructions of all paths of the thread.
    pub instructions: Count,
    /// The code that the thread executed.
    pub executed: CodeSet,
    /// The exact phases.
    pub exact: ExactPhases,
    /// The result of the hot spot detector.
    pub hot_spots: HotSpots,
    /// The signals of the trigger counter, each with the number of branches before it. `None` if it
    /// was not simulated.
    pub trigger: Option<Vec<Count>>,
    /// By hot spot: its code.
    pub hot_code: Vec<CodeSet>,
    /// The samples of the timeline.
    pub sampling: Sampling,
    /// The timeline.
    pub timeline: Vec<TimelineSample>,
}

impl<'a> Answer<'a> {
    /// Finds the phases of a thread.
    ///
    /// # Errors
    /// If the parameters make no detector, or the windows are too small.
    pub fn new(
        code: &Code<'_>,
        trace: &'a Trace,
        question: &Question,
    ) -> Result<Answer<'a>, QuestionError> {
        let stream = BranchStream::new(code, trace, question.branches);
        check_window(question.window, stream.len())?;
        let sampling = match question.sample_period {
            Some(period) => Sampling {
                period,
                ..question.sampling
            },
            None => question.sampling.fitted_to(stream.len()),
        }
        .checked();
        let mut detector = HotSpotDetector::new(question.parameters, stream.sites())?;
        let mut sampler = TimelineSampler::new(sampling, stream.sites().len());
        for events in stream.runs() {
            detector.feed(events);
            sampler.feed(events);
        }
        let hot_spots = detector.finish();
        let hot_code = hot_spots.hot_spots.iter().map(|hot_spot| {
            let branches = hot_spot.branches.iter().map(|hot| hot.branch);
            CodeSet::of_branches(&stream, branches)
        });
        Ok(Answer {
            instructions: instructions(code, trace),
            executed: CodeSet::of_paths(code, trace.terminals.iter().copied()),
            trigger: question
                .trigger
                .map(|parameters| signals(code, trace, &stream, parameters)),
            exact: ExactPhases::new(code, trace, &stream, question.window),
            hot_code: hot_code.collect(),
            timeline: sampler.finish(),
            hot_spots,
            sampling,
            stream,
        })
    }

    /// How well each detector finds the exact transitions.
    pub fn detectors(&self) -> Vec<(Detector, SignalMatch)> {
        let changes = |is_wanted: fn(ModeChange) -> bool| {
            let changes = self.hot_spots.changes.iter();
            let wanted = changes.filter(move |&&(_, change)| is_wanted(change));
            self.compare(wanted.map(|&(at, _)| at))
        };
        let left = changes(|change| matches!(change, ModeChange::Left));
        let detected = changes(|change| matches!(change, ModeChange::Detected(_)));
        let found = self.hot_spots.hot_spots.iter();
        let found = found.map(|hot_spot| hot_spot.detected_at);
        let known = self.hot_spots.entered.iter().map(|&(at, _)| at);
        let mut entered: Vec<Count> = found.chain(known).collect();
        entered.sort_unstable();
        let entered = self.compare(entered.into_iter());
        let trigger = self.trigger.iter().map(|signals| {
            let result = self.compare(signals.iter().copied());
            (Detector::Trigger, result)
        });
        let hot_spots = [
            (Detector::HotSpotsLeft, left),
            (Detector::HotSpotDetected, detected),
            (Detector::HotSpotEntered, entered),
        ];
        hot_spots.into_iter().chain(trigger).collect()
    }

    fn compare(&self, signals: impl Iterator<Item = Count>) -> SignalMatch {
        let transitions = self.exact.transitions().map(|(at, _, _)| at);
        SignalMatch::new(transitions, signals)
    }

    /// The code of all hot spots.
    pub fn all_hot_code(&self) -> CodeSet {
        let mut all = CodeSet::default();
        self.hot_code.iter().for_each(|code| all.add(code));
        all
    }
}

/// Checks that the windows can be compared.
fn check_window(window: Option<u64>, branches: u64) -> Result<(), QuestionError> {
    let smallest = branches.div_ceil(MAX_CHOSEN_WINDOWS).max(1);
    match window {
        Some(window) if window < smallest => Err(QuestionError::Window {
            window,
            branches,
            smallest,
        }),
        Some(_) | None => Ok(()),
    }
}

/// The instructions of all paths of a trace.
fn instructions(code: &Code<'_>, trace: &Trace) -> Count {
    let of_terminals = trace
        .terminals
        .iter()
        .map(|&terminal| code.event(terminal).instructions());
    let of_terminals: Vec<u64> = of_terminals.collect();
    let frequencies = crate::trace::stats::counts(&trace.grammar, trace.terminals.len());
    let sums = frequencies.iter().zip(of_terminals);
    let sums = sums.map(|(&count, instructions)| count.0.saturating_mul(instructions));
    Count(sums.fold(0, u64::saturating_add))
}
