//! Paths as stacks: the function, where the path starts, its decisions in order, and its name with
//! its end.
//!
//! ```text
//! scan              the function
//! loop head a.c:5   where the path starts
//! a.c:6 → line 9    a decision
//! p3#3fa2 back to a.c:5
//! ```
//! Paths with equal first decisions share the lower part of their stacks. So a flame graph that
//! sorts stacks (*left heavy*) shows the tree of decisions, and the width of each box is the weight
//! of all paths with these decisions. A passed check is no decision. The last box names one path,
//! so no two paths have equal stacks.
//!
//! Cost: each path is regenerated once. Frames are stored once, and a stack is a list of their
//! numbers.

use std::collections::HashMap;

use holloway_analysis::paths::{HotPath, hottest, regenerate};
use holloway_analysis::trail::{Trail, first_place, trail};
use holloway_analysis::variation::{RankOptions, VariationRun, rank};
use holloway_analysis::{Function, FunctionId, Sort};
use holloway_flow::PathId;
use holloway_format::{Count, Place};

use super::run::ExportRun;
use super::words::PathWords;
use crate::filter::Filter;
use crate::path_names::{full_name, numbered_name};

/// A box of a stack.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Frame {
    pub(super) name: String,
    /// Empty if unknown.
    pub(super) file: String,
    /// 0 if unknown.
    pub(super) line: u32,
}

/// A path with its stack.
pub(super) struct PathStack {
    pub(super) function: FunctionId,
    pub(super) path: PathId,
    pub(super) count: Count,
    /// Instructions of one execution.
    pub(super) length: u64,
    /// Instructions of all executions.
    pub(super) instructions: Count,
    /// Nanoseconds of all executions, if the path was timed.
    pub(super) nanoseconds: Option<Count>,
    /// The name, such as `p3#3fa2`.
    pub(super) name: String,
    /// The full short name: 16 hexadecimal digits.
    pub(super) full_name: String,
    /// Numbers of frames, the function first.
    pub(super) frames: Vec<u32>,
}

/// The paths of a run as stacks.
#[derive(Default)]
pub(super) struct Stacks {
    pub(super) frames: Vec<Frame>,
    /// The paths that ran, most instructions first.
    pub(super) paths: Vec<PathStack>,
    /// Whether paths were timed.
    pub(super) is_timed: bool,
    numbers: HashMap<Frame, u32>,
}

/// A weight of stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Executions × instructions of one execution.
    Instructions,
    /// Executions.
    Count,
    /// Estimated time of all executions (`--collect variation`, `times`).
    Time,
}

impl Weight {
    /// The word for the weight.
    pub(super) fn word(self) -> &'static str {
        match self {
            Weight::Instructions => "instructions",
            Weight::Count => "executions",
            Weight::Time => "time",
        }
    }
}

impl PathStack {
    pub(super) fn weight(&self, weight: Weight) -> Count {
        match weight {
            Weight::Instructions => self.instructions,
            Weight::Count => self.count,
            Weight::Time => self.nanoseconds.unwrap_or_default(),
        }
    }
}

impl Stacks {
    pub(super) fn new(export: &ExportRun<'_>) -> Stacks {
        let run = export.run;
        let names = Filter::new(export.options);
        let choose = |id: FunctionId| names.paths(run, id);
        let mut times = export.variation.and_then(times);
        let mut stacks = Stacks {
            is_timed: times.is_some(),
            ..Stacks::default()
        };
        let mut words: HashMap<FunctionId, PathWords<'_>> = HashMap::new();
        for path in hottest(run, Sort::Instructions, export.options.top, &choose).paths {
            let function = run.function(path.function);
            let cwd = export.options.cwd.as_deref();
            let words = words
                .entry(path.function)
                .or_insert_with(|| PathWords::new(function, cwd));
            let Some(regenerated) = regenerate(function, path.path) else {
                continue;
            };
            let trail = trail(&function.map, &regenerated);
            let frames = stacks.stack(&names.name(function), function, path, &trail, words);
            stacks.paths.push(PathStack {
                function: path.function,
                path: path.path,
                count: path.count,
                length: path.instructions,
                instructions: path.total_instructions(),
                nanoseconds: times
                    .as_mut()
                    .and_then(|times| times.remove(&(path.function, path.path))),
                name: numbered_name(function, path.path),
                full_name: full_name(function, path.path),
                frames,
            });
        }
        stacks
    }

    /// The weights that the run has.
    pub(super) fn weights(&self) -> Vec<Weight> {
        let mut weights = vec![Weight::Instructions, Weight::Count];
        weights.extend(self.is_timed.then_some(Weight::Time));
        weights
    }

    fn stack(
        &mut self,
        name: &str,
        function: &Function,
        path: HotPath,
        trail: &Trail,
        words: &mut PathWords<'_>,
    ) -> Vec<u32> {
        let map = &function.map;
        let mut stack = vec![self.number(name.to_owned(), &map.file, map.line)];
        let start = words.start(trail);
        stack.push(self.at_place(start, trail.at, words));
        for step in &trail.steps {
            for &edge in &step.decisions {
                if let Some(text) = words.decision(step, edge) {
                    stack.push(self.at_place(text, Some(step.place), words));
                }
            }
        }
        let last = trail.steps.last().map(|step| step.place);
        let end = format!(
            "{} {}",
            numbered_name(function, path.path),
            words.end(trail)
        );
        stack.push(self.at_place(end, last.or(trail.at), words));
        stack
    }

    fn at_place(&mut self, name: String, place: Option<Place>, words: &PathWords<'_>) -> u32 {
        match place.and_then(|place| first_place(&[place])) {
            Some(place) => self.number(name, words.file(place), place.line),
            None => self.number(name, "", 0),
        }
    }

    fn number(&mut self, name: String, file: &str, line: u32) -> u32 {
        let frame = Frame {
            name,
            file: file.to_owned(),
            line,
        };
        let next = self.frames.len() as u32;
        let number = *self.numbers.entry(frame.clone()).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        number
    }
}

/// Nanoseconds of all executions of the paths that were timed. `None` if the frequency of the
/// clock is unknown.
fn times(variation: &VariationRun) -> Option<HashMap<(FunctionId, PathId), Count>> {
    let frequency = variation.frequency()?;
    let ranking = rank(variation, RankOptions::default());
    let paths = ranking.paths.iter().map(|path| {
        let nanoseconds = (path.total / frequency * 1e9).round();
        ((path.function, path.path), Count(nanoseconds as u64))
    });
    Some(paths.collect())
}
