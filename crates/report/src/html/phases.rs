//! A line of a document with the phases of the longest trace. docs/json.md explains the fields of
//! the same names.

use holloway_analysis::phases::{Detector, Phase, PhaseId, SignalMatch};
use holloway_analysis::trace::Terminal;
use holloway_format::Count;
use serde::Serialize;
use std::collections::BTreeSet;

use super::exact::Exact;
use super::indices::FunctionIndices;
use crate::options::Options;
use crate::phases::{
    PhaseFunction, Phases, detector_name, hot_functions, phase_functions, phase_name, source_lines,
};
use crate::trace::LabeledStream;

/// Number of functions of a phase.
const FUNCTIONS: usize = 50;
/// Number of hot spots.
const HOT_SPOTS: usize = 100;
/// Number of ranges of lines of a function.
const RANGES: usize = 4;

/// The phases of the run, and of its baseline.
#[derive(Serialize)]
pub(super) struct ComparedPhases {
    pub(super) now: PhasesRecord,
    pub(super) before: Option<PhasesRecord>,
}

/// The phases of a thread.
#[derive(Serialize)]
pub(super) struct PhasesRecord {
    title: String,
    branches: Exact,
    instructions: Exact,
    /// Branches of a window, number of windows, and mean silhouette.
    window: Exact,
    windows: Exact,
    silhouette: f64,
    phases: Vec<PhaseRecord>,
    /// In order: the phase, and the branches before its first and behind its last one.
    segments: Vec<(char, Exact, Exact)>,
    hot_spots: Vec<HotSpotRecord>,
    /// Hot spots that the page does not have.
    hot_spots_left_out: usize,
    detectors: Vec<DetectorRecord>,
}

#[derive(Serialize)]
struct PhaseRecord {
    phase: char,
    branches: Exact,
    instructions: Exact,
    functions: Vec<FunctionRecord>,
    /// Functions that the page does not list, and their instructions.
    functions_left_out: usize,
    left_out_instructions: Exact,
}

#[derive(Serialize)]
struct FunctionRecord {
    name: String,
    /// The index of the function in the page, or -1.
    function: i64,
    /// The path with the most instructions in the phase, or -1.
    path: i64,
    /// Instructions in the phase. For a hot spot: executions of its branches in the buffer.
    amount: Exact,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct HotSpotRecord {
    detected_at: Exact,
    size: u64,
    instructions: Exact,
    branches: usize,
    functions: Vec<FunctionRecord>,
}

#[derive(Serialize)]
struct DetectorRecord {
    name: &'static str,
    signals: u64,
    found: u64,
    missed: u64,
    false_alarms: u64,
    median_latency: Option<Exact>,
}

impl PhasesRecord {
    pub(super) fn new(
        phases: &Phases<'_>,
        indices: &FunctionIndices<'_>,
        options: &Options<'_>,
    ) -> PhasesRecord {
        let answer = phases.answer;
        let labeled = LabeledStream::new(phases.thread.stream, options);
        let writer = Writer {
            phases,
            labeled: &labeled,
            indices,
            options,
        };
        let exact = &answer.exact;
        let hot_spots = 0..answer.hot_spots.hot_spots.len();
        let all = (0u32..).map(PhaseId).zip(&exact.phases);
        PhasesRecord {
            title: phases.thread.stream.title(),
            branches: answer.stream.len().into(),
            instructions: answer.instructions.into(),
            window: exact.window.into(),
            windows: exact.windows.into(),
            silhouette: exact.silhouette,
            phases: all.map(|(id, phase)| writer.phase(id, phase)).collect(),
            segments: exact
                .segments
                .iter()
                .map(|each| (phase_name(each.phase), each.start.into(), each.end.into()))
                .collect(),
            hot_spots_left_out: hot_spots.len().saturating_sub(HOT_SPOTS),
            hot_spots: hot_spots
                .take(HOT_SPOTS)
                .map(|index| writer.hot_spot(index))
                .collect(),
            detectors: answer.detectors().into_iter().map(detector).collect(),
        }
    }
}

fn detector((detector, signals): (Detector, SignalMatch)) -> DetectorRecord {
    DetectorRecord {
        name: detector_name(detector),
        signals: signals.signals,
        found: signals.found(),
        missed: signals.missed,
        false_alarms: signals.false_alarms,
        median_latency: signals.median_latency().map(Exact::from),
    }
}

struct Writer<'a> {
    phases: &'a Phases<'a>,
    labeled: &'a LabeledStream<'a>,
    indices: &'a FunctionIndices<'a>,
    options: &'a Options<'a>,
}

impl Writer<'_> {
    fn phase(&self, id: PhaseId, phase: &Phase) -> PhaseRecord {
        let functions = phase_functions(self.labeled, phase);
        let left_out = functions.get(FUNCTIONS..).unwrap_or_default();
        let left_out_instructions = left_out.iter().map(|function| function.instructions);
        PhaseRecord {
            phase: phase_name(id),
            branches: phase.branches.into(),
            instructions: phase.instructions.into(),
            functions_left_out: left_out.len(),
            left_out_instructions: left_out_instructions.sum::<u64>().into(),
            functions: functions
                .iter()
                .take(FUNCTIONS)
                .map(|function| self.phase_function(function))
                .collect(),
        }
    }

    fn phase_function(&self, function: &PhaseFunction) -> FunctionRecord {
        let blocks = function.hot_blocks(self.labeled);
        let terminals = &self.phases.thread.stream.trace.terminals;
        let hottest = function
            .paths
            .first()
            .map(|&(terminal, _)| terminals[terminal as usize]);
        FunctionRecord {
            path: match hottest {
                Some(Terminal::Path { path, .. }) => path.into(),
                Some(Terminal::Left(_) | Terminal::Gap) | None => -1,
            },
            ..self.function(function.function, Count(function.instructions), &blocks)
        }
    }

    fn hot_spot(&self, index: usize) -> HotSpotRecord {
        let answer = self.phases.answer;
        let hot_spot = &answer.hot_spots.hot_spots[index];
        let functions = hot_functions(answer, index).into_iter();
        let functions =
            functions.map(|hot| self.function(hot.function, Count(hot.executed), hot.blocks));
        HotSpotRecord {
            detected_at: hot_spot.detected_at.into(),
            size: answer.hot_code[index].instructions(self.phases.thread.stream.code),
            instructions: hot_spot.whole.instructions.into(),
            branches: hot_spot.branches.len(),
            functions: functions.take(FUNCTIONS).collect(),
        }
    }

    fn function(&self, function: u32, amount: Count, blocks: &BTreeSet<u32>) -> FunctionRecord {
        let stream = self.phases.thread.stream;
        let lines = |map| source_lines(map, blocks, self.options.cwd.as_deref(), RANGES);
        FunctionRecord {
            name: self.labeled.function(function).to_string(),
            function: self.indices.of_trace(stream, function),
            path: -1,
            amount: amount.into(),
            lines: stream.code.function(function).map_or_else(Vec::new, lines),
        }
    }
}
