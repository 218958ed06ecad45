//! The graph of one function for Graphviz: blocks with their lines and counts, edges with their
//! destinations and counts. Edges of the path that the user names are bold.

use std::collections::BTreeSet;
use std::io::Write;

use holloway_analysis::paths::regenerate;
use holloway_analysis::trail::{first_place, is_choice, last_place};
use holloway_analysis::{Function, FunctionId};
use holloway_flow::PathEnd;
use holloway_format::{BlockMap, Count, EdgeKind};

use super::run::{ExportError, ExportRun, Result, one_line};
use super::words::PathWords;
use crate::filter::Filter;
use crate::numbers::grouped;
use crate::one_function::{OneFunctionError, one_function};
use crate::path_names::numbered_name;

/// The width of the edge that was taken most often.
const WIDEST: f64 = 5.0;

/// Writes the graph.
///
/// # Errors
/// If the options do not select exactly one function that ran.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    let names = Filter::new(export.options);
    let function = export.run.function(only_function(export)?);
    let chosen = function.counts.iter().map(|&(path, _)| path);
    let chosen = chosen.filter(|&path| names.keeps_path(function, path));
    let path = export.options.path.as_ref().and_then(|_| chosen.min());
    let on_path = path
        .map(|path| edges_of(function, path))
        .unwrap_or_default();
    let name = names.name(function);
    let title = match path {
        Some(path) => format!("{name} {}", numbered_name(function, path)),
        None => name.to_string(),
    };
    let words = PathWords::new(function, export.options.cwd.as_deref());
    writeln!(out, "digraph {} {{", quoted(&title))?;
    writeln!(out, "  label={}; labelloc=t;", quoted(&title))?;
    writeln!(out, "  node [shape=box, fontname=\"monospace\"];")?;
    write_blocks(function, &words, out)?;
    write_edges(function, &words, &on_path, out)?;
    writeln!(out, "}}")?;
    Ok(())
}

fn write_blocks(function: &Function, words: &PathWords<'_>, out: &mut dyn Write) -> Result<()> {
    let map = &function.map;
    writeln!(out, "  entry [shape=oval, label=\"entry\"];")?;
    for (number, (block, &count)) in map.blocks.iter().zip(&function.flow().blocks).enumerate() {
        if number == map.exit as usize {
            writeln!(out, "  b{number} [shape=oval, label=\"exit\"];")?;
            continue;
        }
        let style = if count == Count::ZERO {
            ", style=dashed"
        } else {
            ""
        };
        let label = format!("b{number}\n{}{}", lines(block, words), grouped(count));
        writeln!(out, "  b{number} [label={}{style}];", quoted(&label))?;
    }
    Ok(())
}

fn write_edges(
    function: &Function,
    words: &PathWords<'_>,
    on_path: &BTreeSet<u32>,
    out: &mut dyn Write,
) -> Result<()> {
    let (map, flow) = (&function.map, function.flow());
    let calls = grouped(flow.calls);
    writeln!(out, "  entry -> b{} [label=\"{calls}\"];", map.entry)?;
    let most = flow.edges.iter().copied().max().unwrap_or(0).max(1);
    for ((number, edge), &count) in (0u32..).zip(&map.edges).zip(&flow.edges) {
        if edge.kind == EdgeKind::Exit && count == 0 {
            continue;
        }
        let place = edge
            .place
            .or_else(|| last_place(&map.blocks[edge.from as usize].places));
        let word = match is_choice(edge.outcome) {
            true => format!("→ {}\n", words.destination(place, number)),
            false => String::new(),
        };
        let count_text = match count < 0 {
            true => format!("-{}", grouped(count.unsigned_abs())),
            false => grouped(count.unsigned_abs()),
        };
        let label = quoted(&format!("{word}{count_text}"));
        let width = 1.0 + (WIDEST - 1.0) * count.max(0) as f64 / most as f64;
        let style = if count == 0 { ", style=dashed" } else { "" };
        let color = if on_path.contains(&number) {
            ", color=red"
        } else {
            ""
        };
        let (from, to) = (edge.from, edge.to);
        writeln!(
            out,
            "  b{from} -> b{to} [label={label}, penwidth={width:.2}{style}{color}];"
        )?;
    }
    Ok(())
}

/// The first and the last line of a block, such as `scan.c:6\n`, or nothing.
fn lines(block: &BlockMap, words: &PathWords<'_>) -> String {
    let Some(first) = first_place(&block.places) else {
        return String::new();
    };
    match last_place(&block.places).filter(|last| *last != first) {
        Some(last) if last.scope == first.scope && last.line != first.line => {
            format!("{}–{}\n", words.place(first), last.line)
        }
        Some(_) | None => format!("{}\n", words.place(first)),
    }
}

/// The edges of a path, with the edge that ends it.
fn edges_of(function: &Function, path: holloway_flow::PathId) -> BTreeSet<u32> {
    let Some(path) = regenerate(function, path) else {
        return BTreeSet::new();
    };
    let end = match path.end {
        PathEnd::Exit(edge) | PathEnd::Back(edge) | PathEnd::Cut(edge) => edge,
    };
    path.edges.iter().chain([&end]).map(|edge| edge.0).collect()
}

/// The only function that ran and that the options select.
fn only_function(export: &ExportRun<'_>) -> Result<FunctionId> {
    if export.options.function.is_none() {
        return Err(ExportError::NeedsFunction);
    }
    one_function(export.run, export.options).map_err(|error| match error {
        OneFunctionError::NothingRan | OneFunctionError::OnlyInlined { .. } => {
            ExportError::NothingRan
        }
        OneFunctionError::Several(several) => ExportError::SeveralFunctions(several),
    })
}

/// A string of DOT.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    let lines: Vec<String> = text.split('\n').map(one_line).collect();
    format!("\"{}\"", lines.join("\\n"))
}
