//! Writes a transition of a running program as JSON (section "Live phases" of docs/json.md).

use std::path::Path;

use holloway_analysis::phases::LiveChange;
use holloway_analysis::trace::code::Code;
use serde::Serialize;

use super::document::SCHEMA;
use crate::filter::Filter;
use crate::live_phases::LivePhase;
use crate::phases::source_lines;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    image: &'a str,
    process: u32,
    thread: u32,
    seconds: f64,
    at: u64,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hot_spot: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    functions: Vec<FunctionRecord>,
}

#[derive(Serialize)]
struct FunctionRecord {
    function: String,
    share: f64,
    lines: Vec<String>,
}

/// The transition as one JSON object, without a newline.
#[must_use]
pub fn line(phase: &LivePhase<'_>, cwd: Option<&Path>) -> String {
    let transition = phase.transition;
    let (change, hot_spot, functions) = match &transition.change {
        LiveChange::Detected(id, functions) => ("detected", Some(id.0), &functions[..]),
        LiveChange::Entered(id, functions) => ("entered", Some(id.0), &functions[..]),
        LiveChange::Left => ("left", None, &[][..]),
        LiveChange::Returned => ("returned", None, &[][..]),
    };
    let code = Code::new(phase.map);
    let names = Filter::all();
    let executed: u64 = functions.iter().map(|function| function.executed).sum();
    let functions = functions.iter().filter_map(|function| {
        let map = code.function(function.function)?;
        Some(FunctionRecord {
            function: names.name_of(&map.linkage_name, &map.name).to_string(),
            share: function.executed as f64 / executed.max(1) as f64,
            lines: source_lines(map, &function.blocks, cwd, usize::MAX),
        })
    });
    let document = Document {
        schema: SCHEMA,
        image: phase.image,
        process: phase.process,
        thread: transition.thread,
        seconds: phase.elapsed.as_secs_f64(),
        at: transition.at.0,
        change,
        hot_spot,
        functions: functions.collect(),
    };
    serde_json::to_string(&document).expect("plain data has no maps with other keys than strings")
}
