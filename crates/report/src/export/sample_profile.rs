//! LLVM's sample profile, as text: `llvm-profdata merge --sample` reads it.
//!
//! ```text
//! main:1600:1
//!  1: 1
//!  3: 800
//!  4: push:799
//!   1: 799
//! ```
//! The first line has the function's linkage name, the sum of its counts, and its calls. Other
//! lines have the offset of a source line from the function's first line, and the highest count of
//! the line's blocks. Code of an inlined function is nested below the line of the call.
//! Discriminators are absent, because path maps do not have them: blocks of one line share a count.

use std::collections::BTreeMap;
use std::io::Write;

use holloway_analysis::Function;
use holloway_format::{Count, FunctionMap};

use super::run::{ExportRun, Result, one_line};
use crate::filter::Filter;

/// Offsets have 16 bits in this format.
const OFFSET: u32 = 0xffff;

/// A function, or a function inlined at a line.
#[derive(Default)]
struct Body<'a> {
    lines: BTreeMap<u32, Count>,
    inlined: BTreeMap<(u32, &'a str), Body<'a>>,
}

impl<'a> Body<'a> {
    fn new(function: &'a Function) -> Body<'a> {
        let map = &function.map;
        let mut body = Body::default();
        for (block, &count) in map.blocks.iter().zip(&function.flow().blocks) {
            for place in block.places.iter().filter(|place| place.line != 0) {
                let Some(scope) = map.scopes.get(place.scope as usize) else {
                    continue;
                };
                let frame = body.frame(map, place.scope);
                let offset = place.line.wrapping_sub(scope.line) & OFFSET;
                let line = frame.lines.entry(offset).or_default();
                *line = count.max(*line);
            }
        }
        body
    }

    /// The body of a scope.
    fn frame(&mut self, map: &'a FunctionMap, scope: u32) -> &mut Body<'a> {
        let callee = &map.scopes[scope as usize];
        let Some(parent) = callee.parent else {
            return self;
        };
        let caller = &map.scopes[parent as usize];
        let offset = callee.call_line.wrapping_sub(caller.line) & OFFSET;
        let frame = self.frame(map, parent);
        let key = (offset, symbol(&callee.linkage_name, &callee.name));
        frame.inlined.entry(key).or_default()
    }

    fn total(&self) -> Count {
        let lines = self.lines.values().copied();
        let sum = lines.fold(Count::ZERO, Count::saturating_add);
        let inlined = self.inlined.values().map(Body::total);
        inlined.fold(sum, Count::saturating_add)
    }

    /// Writes the lines, and then the inlined functions, as the format wants them.
    fn write(&self, depth: usize, out: &mut dyn Write) -> Result<()> {
        let indent = " ".repeat(depth);
        for (offset, count) in self.lines.iter().filter(|line| *line.1 > Count::ZERO) {
            writeln!(out, "{indent}{offset}: {count}")?;
        }
        for ((offset, name), body) in &self.inlined {
            let total = body.total();
            if total > Count::ZERO {
                writeln!(out, "{indent}{offset}: {}:{total}", one_line(name))?;
                body.write(depth + 1, out)?;
            }
        }
        Ok(())
    }
}

/// Writes the functions that ran. Copies of a function in several modules or images are added up by
/// readers.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    let run = export.run;
    let names = Filter::new(export.options);
    let selected = run.ids();
    let selected = selected.filter(|&(id, function)| function.ran() && names.keeps(run, id));
    for (_, function) in selected {
        let body = Body::new(function);
        let name = symbol(&function.map.linkage_name, &function.map.name);
        let name = one_line(name);
        writeln!(out, "{name}:{}:{}", body.total(), function.flow().calls)?;
        body.write(1, out)?;
    }
    Ok(())
}

/// The linkage name, or the source name, without the suffix that LLVM gives to a local symbol that
/// it makes global.
fn symbol<'a>(linkage_name: &'a str, name: &'a str) -> &'a str {
    let symbol = match linkage_name {
        "" => name,
        linkage_name => linkage_name,
    };
    let symbol = symbol.strip_prefix('\u{1}').unwrap_or(symbol);
    symbol
        .split_once(".llvm.")
        .map_or(symbol, |(symbol, _)| symbol)
}
