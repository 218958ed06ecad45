//! Writes the phases of a thread as JSON (section "Phases" of docs/json.md).

use std::io::{self, Write};

use holloway_analysis::branch_stream::{BranchId, BranchSet, Direction};
use holloway_analysis::phases::hot_spots::{Executed, HotBranch};
use holloway_analysis::phases::{Detector, HotSpotId, ModeChange, PhaseId};
use holloway_analysis::trace::Terminal;
use holloway_format::Count;
use serde::Serialize;

use super::document::{self, SCHEMA};
use super::thread::{self, SiteRecord, ThreadRecord};
use crate::options::Options;
use crate::phases::{PhaseFunction, Phases, phase_functions, phase_name, source_lines};
use crate::places::user_place;
use crate::trace::LabeledStream;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    thread: ThreadRecord<'a>,
    covers: &'static str,
    addresses: &'static str,
    branch_set: &'static str,
    branches: u64,
    instructions: Count,
    executed_size: u64,
    hot_size: u64,
    windows: WindowsRecord,
    phases: Vec<PhaseRecord>,
    hot_spots: Vec<HotSpotRecord<'a>>,
    transitions: Vec<TransitionRecord>,
    detectors: Vec<DetectorRecord>,
    profiled: Count,
    timeline: TimelineRecord<'a>,
}

#[derive(Serialize)]
struct WindowsRecord {
    branches: u64,
    count: u64,
    silhouette: f64,
}

/// An exact phase.
#[derive(Serialize)]
struct PhaseRecord {
    phase: char,
    branches: Count,
    instructions: Count,
    share: f64,
    segments: Vec<SegmentRecord>,
    functions: Vec<PhaseFunctionRecord>,
}

#[derive(Serialize)]
struct SegmentRecord {
    from: Count,
    to: Count,
}

#[derive(Serialize)]
struct PhaseFunctionRecord {
    function: String,
    instructions: u64,
    lines: Vec<String>,
    paths: Vec<PathRecord>,
}

#[derive(Serialize)]
struct PathRecord {
    id: u32,
    count: Count,
    instructions: u64,
}

#[derive(Serialize)]
struct DetectorRecord {
    detector: &'static str,
    signals: u64,
    found: u64,
    missed: u64,
    false_alarms: u64,
    median_latency: Option<Count>,
    latencies: Vec<Count>,
}

#[derive(Serialize)]
struct HotSpotRecord<'a> {
    detected_at: Count,
    size: u64,
    executed: ExecutedRecord,
    after_detection: ExecutedRecord,
    share: f64,
    branches: Vec<HotBranchRecord<'a>>,
    blocks: Vec<FunctionBlocks<'a>>,
}

#[derive(Serialize)]
struct ExecutedRecord {
    branches: Count,
    instructions: Count,
}

#[derive(Serialize)]
struct HotBranchRecord<'a> {
    #[serde(flatten)]
    site: SiteRecord<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    executed: u32,
    taken: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<TargetRecord>,
}

#[derive(Serialize)]
struct TargetRecord {
    block: u32,
    executed: u32,
}

#[derive(Serialize)]
struct FunctionBlocks<'a> {
    function: String,
    linkage_name: &'a str,
    blocks: Vec<BlockRecord<'a>>,
}

#[derive(Serialize)]
struct BlockRecord<'a> {
    block: u32,
    instructions: u32,
    file: &'a str,
    line: u32,
}

#[derive(Serialize)]
struct TransitionRecord {
    at: Count,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hot_spot: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<char>,
}

#[derive(Serialize)]
struct TimelineRecord<'a> {
    period: u64,
    length: u64,
    threshold: u32,
    branches: Vec<SiteRecord<'a>>,
    samples: Vec<SampleRecord>,
}

#[derive(Serialize)]
struct SampleRecord {
    start: Count,
    branches: Vec<usize>,
}

/// Writes the phases of a thread as one object and a newline.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(phases: &Phases<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let labeled = LabeledStream::new(phases.thread.stream, options);
    let records = Records {
        phases,
        labeled: &labeled,
    };
    let (answer, stream) = (phases.answer, phases.thread.stream);
    let hot_spots = 0..answer.hot_spots.hot_spots.len();
    let hot_spots = hot_spots.take(options.top.unwrap_or(usize::MAX));
    let document = Document {
        schema: SCHEMA,
        thread: ThreadRecord::new(phases.thread),
        covers: "woven",
        addresses: thread::addresses(&answer.stream),
        branch_set: match phases.question.branches {
            BranchSet::Choices => "conditional",
            BranchSet::All => "all",
        },
        branches: answer.stream.len(),
        instructions: answer.instructions,
        executed_size: answer.executed.instructions(stream.code),
        hot_size: answer.all_hot_code().instructions(stream.code),
        windows: WindowsRecord {
            branches: answer.exact.window,
            count: answer.exact.windows,
            silhouette: answer.exact.silhouette,
        },
        phases: (0..answer.exact.phases.len() as u32)
            .map(|phase| records.phase(PhaseId(phase)))
            .collect(),
        hot_spots: hot_spots.map(|index| records.hot_spot(index)).collect(),
        transitions: records.transitions(),
        detectors: records.detectors(),
        profiled: answer.hot_spots.profiled,
        timeline: records.timeline(),
    };
    document::write(&document, out)
}

struct Records<'a> {
    phases: &'a Phases<'a>,
    labeled: &'a LabeledStream<'a>,
}

impl<'a> Records<'a> {
    fn hot_spot(&self, index: usize) -> HotSpotRecord<'a> {
        let answer = self.phases.answer;
        let code = self.phases.thread.stream.code;
        let hot_spot = &answer.hot_spots.hot_spots[index];
        let hot_code = &answer.hot_code[index];
        let functions = hot_code.functions.iter().filter_map(|(&function, blocks)| {
            let map = code.function(function)?;
            let blocks = blocks.iter().map(|&block| {
                let block_map = &map.blocks[block as usize];
                let mut places = block_map.places.iter();
                let (file, line) = places
                    .find_map(|place| user_place(map, place))
                    .unwrap_or_default();
                BlockRecord {
                    block,
                    instructions: block_map.instructions,
                    file,
                    line,
                }
            });
            Some(FunctionBlocks {
                function: self.labeled.function(function).to_string(),
                linkage_name: &map.linkage_name,
                blocks: blocks.collect(),
            })
        });
        let whole = hot_spot.whole.instructions;
        HotSpotRecord {
            detected_at: hot_spot.detected_at,
            size: hot_code.instructions(code),
            executed: executed(hot_spot.whole),
            after_detection: executed(hot_spot.detected),
            share: whole.0 as f64 / answer.instructions.0.max(1) as f64,
            branches: hot_spot
                .branches
                .iter()
                .map(|hot| self.branch(hot))
                .collect(),
            blocks: functions.collect(),
        }
    }

    fn branch(&self, hot: &HotBranch) -> HotBranchRecord<'a> {
        let targets = hot.targets.iter();
        HotBranchRecord {
            site: self.site(hot.branch),
            direction: hot.direction.map(|direction| match direction {
                Direction::Taken => "taken",
                Direction::NotTaken => "not_taken",
            }),
            executed: hot.executed,
            taken: hot.taken,
            targets: targets
                .map(|&(block, executed)| TargetRecord { block, executed })
                .collect(),
        }
    }

    fn site(&self, branch: BranchId) -> SiteRecord<'a> {
        SiteRecord::new(self.labeled, self.phases.answer.stream.site(branch))
    }

    fn mode_changes(&self) -> Vec<TransitionRecord> {
        let changes = self.phases.answer.hot_spots.changes.iter();
        let changes = changes.map(|&(at, change)| {
            let (change, hot_spot) = match change {
                ModeChange::Detected(HotSpotId(id)) => ("detected", Some(id)),
                ModeChange::Left => ("left", None),
                ModeChange::Returned => ("returned", None),
            };
            TransitionRecord {
                at,
                source: "hot_spots",
                change: Some(change),
                hot_spot,
                from: None,
                to: None,
            }
        });
        let entered = self.phases.answer.hot_spots.entered.iter();
        let entered = entered.map(|&(at, HotSpotId(id))| TransitionRecord {
            at,
            source: "hot_spots",
            change: Some("entered"),
            hot_spot: Some(id),
            from: None,
            to: None,
        });
        changes.chain(entered).collect()
    }

    /// The transitions of all sources, in order.
    fn transitions(&self) -> Vec<TransitionRecord> {
        let exact = self.phases.answer.exact.transitions();
        let exact = exact.map(|(at, from, to)| TransitionRecord {
            at,
            source: "exact",
            change: None,
            hot_spot: None,
            from: Some(phase_name(from)),
            to: Some(phase_name(to)),
        });
        let trigger = self.phases.answer.trigger.iter().flatten();
        let trigger = trigger.map(|&at| TransitionRecord {
            at,
            source: "trigger",
            change: None,
            hot_spot: None,
            from: None,
            to: None,
        });
        let all = exact.chain(self.mode_changes()).chain(trigger);
        let mut all: Vec<TransitionRecord> = all.collect();
        all.sort_by_key(|transition| transition.at);
        all
    }

    fn phase(&self, id: PhaseId) -> PhaseRecord {
        let answer = self.phases.answer;
        let phase = &answer.exact.phases[id.index()];
        let own = answer
            .exact
            .segments
            .iter()
            .filter(|segment| segment.phase == id);
        let functions = phase_functions(self.labeled, phase);
        PhaseRecord {
            phase: phase_name(id),
            branches: phase.branches,
            instructions: phase.instructions,
            share: phase.instructions.0 as f64 / answer.instructions.0.max(1) as f64,
            segments: own
                .map(|segment| SegmentRecord {
                    from: segment.start,
                    to: segment.end,
                })
                .collect(),
            functions: functions
                .iter()
                .map(|function| self.function(function))
                .collect(),
        }
    }

    fn function(&self, function: &PhaseFunction) -> PhaseFunctionRecord {
        let map = self.phases.thread.stream.code.function(function.function);
        let blocks = function.hot_blocks(self.labeled);
        let paths = function.paths.iter().filter_map(|&(terminal, count)| {
            match self.phases.thread.stream.trace.terminals[terminal as usize] {
                Terminal::Path { path, .. } => Some(PathRecord {
                    id: path,
                    count,
                    instructions: self.labeled.events[terminal as usize].instructions(),
                }),
                Terminal::Left(_) | Terminal::Gap => None,
            }
        });
        PhaseFunctionRecord {
            function: self.labeled.function(function.function).to_string(),
            instructions: function.instructions,
            lines: map.map_or_else(Vec::new, |map| source_lines(map, &blocks, None, usize::MAX)),
            paths: paths.collect(),
        }
    }

    fn detectors(&self) -> Vec<DetectorRecord> {
        let detectors = self.phases.answer.detectors().into_iter();
        let detectors = detectors.map(|(detector, result)| DetectorRecord {
            detector: match detector {
                Detector::HotSpotsLeft => "hot_spots_left",
                Detector::HotSpotDetected => "hot_spot_detected",
                Detector::HotSpotEntered => "hot_spot_entered",
                Detector::Trigger => "trigger",
            },
            signals: result.signals,
            found: result.found(),
            missed: result.missed,
            false_alarms: result.false_alarms,
            median_latency: result.median_latency(),
            latencies: result.latencies,
        });
        detectors.collect()
    }

    /// The timeline. Its samples refer to its own list of branches.
    fn timeline(&self) -> TimelineRecord<'a> {
        let answer = self.phases.answer;
        let marked = answer.timeline.iter().flat_map(|sample| &sample.branches);
        let mut marked: Vec<BranchId> = marked.copied().collect();
        marked.sort_unstable();
        marked.dedup();
        let number = |branch: &BranchId| marked.binary_search(branch).ok();
        let samples = answer.timeline.iter().map(|sample| SampleRecord {
            start: sample.start,
            branches: sample.branches.iter().filter_map(number).collect(),
        });
        TimelineRecord {
            period: answer.sampling.period,
            length: answer.sampling.length,
            threshold: answer.sampling.threshold,
            samples: samples.collect(),
            branches: marked.iter().map(|&branch| self.site(branch)).collect(),
        }
    }
}

fn executed(executed: Executed) -> ExecutedRecord {
    ExecutedRecord {
        branches: executed.branches,
        instructions: executed.instructions,
    }
}
