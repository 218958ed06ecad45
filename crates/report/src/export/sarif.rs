//! SARIF 2.1: results with code flows, which editors show as steps through the source.
//!
//! - `hot-path`: the paths with the most instructions;
//! - `slow-path`: paths that are usually fast but sometimes slow, if paths were timed;
//! - `never-taken`: ways that branches never took, those of the most executed branches first.
//!
//! A step is a line of the path with its decisions, as in the paths view. The fingerprint of a path
//! is its function's linkage name and its full name, which stay the same from build to build. That
//! of a way is its function's linkage name, the line of the branch, and the destination.

use std::io::{self, Write};

use holloway_analysis::paths::{hottest, regenerate};
use holloway_analysis::trail::{Trail, frames, trail};
use holloway_analysis::uncovered::UncoveredWay;
use holloway_analysis::variation::{RankOptions, RankedPath, VariationRun, rank};
use holloway_analysis::{Function, FunctionId, Sort};
use holloway_flow::PathId;
use holloway_format::Place;

use super::run::{ExportRun, Result};
use super::sarif_log::{
    ArtifactLocation, CodeFlow, HOT, Location, Log, Message, NEVER, Properties, Region, Rule, SLOW,
    SarifResult, Step,
};
use super::words::PathWords;
use crate::filter::Filter;
use crate::numbers::{grouped, plural, share};
use crate::path_names::{full_name, numbered_name};
use crate::places::{file_and_line, inlined_at};
use crate::uncovered;
use crate::variation::selected_paths;

/// Results of a rule, without `--top`.
const RESULTS: usize = 10;

/// Writes the log as one JSON object and a newline.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    let names = Filter::new(export.options);
    let results = Results {
        export,
        names: &names,
        top: export.options.top.unwrap_or(RESULTS),
    };
    let mut list = results.hot();
    list.extend(
        export
            .variation
            .into_iter()
            .flat_map(|timed| results.slow(timed)),
    );
    list.extend(results.never());
    let log = Log::new(list, export.options.cwd.as_deref());
    serde_json::to_writer(&mut *out, &log).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

struct Results<'a> {
    export: &'a ExportRun<'a>,
    names: &'a Filter<'a>,
    top: usize,
}

impl Results<'_> {
    fn hot(&self) -> Vec<SarifResult> {
        let run = self.export.run;
        let choose = |id: FunctionId| self.names.paths(run, id);
        let ranking = hottest(run, Sort::Instructions, Some(self.top), &choose);
        let results = ranking.paths.iter().filter_map(|path| {
            let function = run.function(path.function);
            let text = format!(
                "{} {}: {} of all instructions, {} of {}",
                self.names.name(function),
                numbered_name(function, path.path),
                share(path.total_instructions(), ranking.total),
                plural(path.count, "execution"),
                plural(path.instructions, "instruction"),
            );
            let mut result = self.path(&HOT, function, path.path, text)?;
            result.properties = Some(Properties {
                count: path.count,
                instructions: Some(path.instructions),
            });
            Some(result)
        });
        results.collect()
    }

    fn slow(&self, timed: &VariationRun) -> Vec<SarifResult> {
        let ranking = rank(timed, RankOptions::default());
        let (selected, _) = selected_paths(timed, &ranking, self.names, usize::MAX);
        let paths = selected.into_iter().map(|index| &ranking.paths[index]);
        let certain = paths.filter(|path| path.is_certain()).take(self.top);
        let results = certain.filter_map(|path| {
            let function = timed.run.function(path.function);
            self.path(&SLOW, function, path.path, self.slow_text(function, path))
        });
        results.collect()
    }

    fn slow_text(&self, function: &Function, path: &RankedPath) -> String {
        format!(
            "{} {}: usually {} cycles, at most {}",
            self.names.name(function),
            numbered_name(function, path.path),
            grouped(path.base.0),
            grouped(path.times.largest().0),
        )
    }

    fn never(&self) -> Vec<SarifResult> {
        let uncovered = uncovered::of_run(self.export.run, self.names, self.export.options, 0);
        let ways = uncovered.ways.iter().take(self.top);
        ways.map(|way| self.way(way)).collect()
    }

    fn way(&self, way: &UncoveredWay<'_>) -> SarifResult {
        let function = self.export.run.function(way.function);
        let words = PathWords::new(function, self.cwd());
        let place = function.map.edges[way.edge as usize].place;
        let destination = words.destination(place, way.edge);
        let text = format!(
            "never → {destination}, in {} of the branch",
            plural(way.executions, "execution")
        );
        let location = self.location(way.file, way.line, way.column, None);
        let linkage_name = &function.map.linkage_name;
        let branch = file_and_line(way.file, way.line, self.cwd());
        let fingerprint = format!("{linkage_name} {branch} {destination}");
        let mut result = SarifResult::new(&NEVER, text, location, fingerprint);
        result.properties = Some(Properties {
            count: way.executions,
            instructions: None,
        });
        result
    }

    fn cwd(&self) -> Option<&std::path::Path> {
        self.export.options.cwd.as_deref()
    }

    /// The result for a path. `None` if the path has no line.
    fn path(
        &self,
        rule: &'static Rule,
        function: &Function,
        path: PathId,
        text: String,
    ) -> Option<SarifResult> {
        let trail = trail(&function.map, &regenerate(function, path)?);
        let words = PathWords::new(function, self.cwd());
        let steps = self.steps(function, &trail, &words);
        let first = steps.first()?.location.at();
        let fingerprint = format!(
            "{}#{}",
            function.map.linkage_name,
            full_name(function, path)
        );
        let mut result = SarifResult::new(rule, text, first, fingerprint);
        result.code_flows = vec![CodeFlow::new(steps)];
        Some(result)
    }

    /// The lines of a path, with the start before the first one, and the end after the last one.
    ///
    /// An editor cannot open library code that is not on the machine. So a step in a library is at
    /// the line of the user's code that it was inlined into. Further steps at that line are left
    /// out unless something is decided there.
    fn steps(&self, function: &Function, trail: &Trail, words: &PathWords<'_>) -> Vec<Step> {
        let map = &function.map;
        let last = trail.steps.len().saturating_sub(1);
        let mut steps: Vec<Step> = Vec::new();
        let mut previous = None;
        for (index, step) in trail.steps.iter().enumerate() {
            let user_place = inlined_at(map, step.place);
            let place = user_place.unwrap_or(step.place);
            let mut parts = Vec::new();
            if index == 0 {
                parts.push(words.start(trail));
            }
            let decided = words.decided(step);
            if !decided.is_empty() {
                parts.push(match user_place {
                    Some(_) => format!("{} {decided}", words.place(step.place)),
                    None => decided,
                });
            }
            if index == last {
                parts.push(words.end(trail));
            }
            let file = words.file(place);
            let is_repeated = previous.replace((file, place.line)) == Some((file, place.line));
            if is_repeated && user_place.is_some() && parts.is_empty() {
                continue;
            }
            let message = match parts.is_empty() {
                true => words.place(step.place),
                false => parts.join(", "),
            };
            let Place { line, column, .. } = place;
            steps.push(Step {
                location: self.location(file, line, column, Some(Message { text: message })),
                nesting_level: frames(map, &place).count().saturating_sub(1),
                execution_order: steps.len() + 1,
            });
        }
        steps
    }

    fn location(&self, file: &str, line: u32, column: u32, message: Option<Message>) -> Location {
        let region = Region {
            start_line: line.max(1),
            start_column: (column > 0).then_some(column),
        };
        Location::new(ArtifactLocation::new(file, self.cwd()), region, message)
    }
}
