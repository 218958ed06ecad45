//! Writes plans.

use std::fmt::Write as _;

use crate::plan::counts::{Functions, Plan, PrefetchPlan};
use crate::plan::lines::{
    FIRST_LINE, FUNCTION, LAST_LINE, LATE_LINE, LOAD, ORDER_LINE, PLACE, PREFETCHES_LINE, SIZE,
    TAIL, TARGET, UNPREDICTABLE, escape,
};

impl Plan {
    /// Writes the plan as text. Control characters and backslashes in names are escaped.
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        write_functions(&self.functions, &mut text);
        if !self.late.is_empty() {
            let _ = writeln!(text, "{LATE_LINE}");
            write_functions(&self.late, &mut text);
        }
        if !self.order.is_empty() {
            let _ = writeln!(text, "{ORDER_LINE}");
        }
        for name in &self.order {
            let _ = writeln!(text, "{PLACE}{}", escape(name));
        }
        if !self.prefetches.is_empty() {
            let _ = writeln!(text, "{PREFETCHES_LINE}");
        }
        for (name, loads) in &self.prefetches {
            for PrefetchPlan {
                line,
                column,
                turns,
            } in loads
            {
                let _ = writeln!(text, "{LOAD}{line} {column} {turns} {}", escape(name));
            }
        }
        text + LAST_LINE + "\n"
    }
}

fn write_functions(functions: &Functions, text: &mut String) {
    for ((name, hash), function) in functions {
        let name = escape(name);
        let (calls, edges) = (function.calls, function.edge_count);
        let _ = writeln!(text, "{FUNCTION}{hash:016x} {calls} {edges} {name}");
        if let Some(code) = &function.code {
            code.write(text);
        }
        for (edge, count) in &function.taken {
            let _ = writeln!(text, "{edge} {count}");
        }
        for ((site, name), count) in &function.targets {
            let separator = if name.is_empty() { "" } else { " " };
            let name = escape(name);
            let _ = writeln!(text, "{TARGET}{site} {count}{separator}{name}");
        }
        for ((site, bytes), count) in &function.sizes {
            let _ = writeln!(text, "{SIZE}{site} {count} {bytes}");
        }
        for (edge, count) in &function.unpredictable {
            let _ = writeln!(text, "{UNPREDICTABLE}{edge} {count}");
        }
        for (edges, count) in &function.tails {
            let edges: Vec<String> = edges.iter().map(usize::to_string).collect();
            let _ = writeln!(text, "{TAIL}{count} {}", edges.join("-"));
        }
    }
}
