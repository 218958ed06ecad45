//! Finds the phases of a thread in one pass over its branches.

use holloway_format::Count;

use super::code_set::CodeSet;
use super::hot_spots::{HotSpotDetector, HotSpots};
use super::parameters::{Parameters, ParametersError};
use super::timeline::{Sampling, TimelineSample, TimelineSampler};
use crate::branch_stream::{BranchSet, BranchStream};
use crate::trace::Trace;
use crate::trace::code::Code;

/// What to find, and how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Question {
    /// The branches of the stream. [`BranchSet::Choices`] is enhancement 1 of the hot spot detector.
    pub branches: BranchSet,
    /// The parameters of the hot spot detector.
    pub parameters: Parameters,
    /// The samples of the timeline.
    pub sampling: Sampling,
    /// The period of the samples. `None` means [`Sampling::fitted_to`].
    pub sample_period: Option<u64>,
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
    /// The result of the hot spot detector.
    pub hot_spots: HotSpots,
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
    /// If the parameters make no detector.
    pub fn new(
        code: &Code<'_>,
        trace: &'a Trace,
        question: &Question,
    ) -> Result<Answer<'a>, ParametersError> {
        let stream = BranchStream::new(code, trace, question.branches);
        let sampling = match question.sample_period {
            Some(period) => Sampling {
                period,
                ..question.sampling
            },
            None => question.sampling.fitted_to(stream.len()),
        };
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
            hot_code: hot_code.collect(),
            timeline: sampler.finish(),
            hot_spots,
            sampling,
            stream,
        })
    }

    /// The code of all hot spots.
    pub fn all_hot_code(&self) -> CodeSet {
        let mut all = CodeSet::default();
        self.hot_code.iter().for_each(|code| all.add(code));
        all
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
