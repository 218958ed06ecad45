//! Words a transition of a running program as a status line.

use std::path::Path;

use holloway_analysis::phases::{HotFunction, HotSpotId, LiveChange, LiveTransition};
use holloway_analysis::trace::code::Code;
use holloway_format::{FunctionMap, ImageMap};

use crate::filter::Filter;
use crate::live_phases::LivePhase;
use crate::numbers::{grouped, share};
use crate::phases::source_lines;

/// Maximum number of functions of a hot spot, of files of a function, and of ranges of lines in a
/// file.
const MAX_FUNCTIONS: usize = 3;
const MAX_FILES: usize = 1;
const MAX_RANGES: usize = 4;

/// A transition as a status line: the word, and the text.
#[must_use]
pub fn status(phase: &LivePhase<'_>, cwd: Option<&Path>) -> (&'static str, String) {
    let LiveTransition { thread, at, change } = phase.transition;
    let thread = match *thread == phase.process {
        true => String::new(),
        false => format!(", thread {thread}"),
    };
    let time = phase.elapsed.as_secs_f64();
    let place = format!("{time:.2} s, branch {}{thread}", grouped(*at));
    match change {
        LiveChange::Detected(HotSpotId(id), functions) => {
            let code = code(phase.map, functions, cwd);
            (
                "Detected",
                format!("hot spot {} at {place}: {code}", id + 1),
            )
        }
        LiveChange::Entered(HotSpotId(id), functions) => {
            let code = code(phase.map, functions, cwd);
            ("Entered", format!("hot spot {} at {place}: {code}", id + 1))
        }
        LiveChange::Left => ("Left", format!("the known hot spots at {place}")),
        LiveChange::Returned => ("Returned", format!("to the known hot spots at {place}")),
    }
}

/// The functions of a hot spot, with their hottest lines: `sort 93 % a.c:18-22, merge 7 % a.c:30`.
fn code(map: &ImageMap, functions: &[HotFunction], cwd: Option<&Path>) -> String {
    let code = Code::new(map);
    let names = Filter::all();
    let executed: u64 = functions.iter().map(|function| function.executed).sum();
    let shown = functions.iter().take(MAX_FUNCTIONS).filter_map(|function| {
        let map: &FunctionMap = code.function(function.function)?;
        let name = names.name_of(&map.linkage_name, &map.name);
        let files = source_lines(map, &function.blocks, cwd, MAX_RANGES);
        let files = files[..files.len().min(MAX_FILES)].join("; ");
        let share = match functions.len() {
            1 => String::new(),
            _ => format!(" {}", share(function.executed, executed)),
        };
        Some(format!("{name}{share} {files}").trim_end().to_owned())
    });
    let mut shown: Vec<String> = shown.collect();
    match functions.len().saturating_sub(MAX_FUNCTIONS) {
        0 => {}
        more => shown.push(format!("{more} more")),
    }
    shown.join(", ")
}
