//! The coverage of a run (`holloway coverage`), for the terminal and JSON.

use holloway_analysis::covered::{
    CodeCoverage, DecisionCoverage, Evidence, FunctionCoverage, Ratio, covered,
};
use holloway_format::{FunctionMap, Place};

use crate::filter::Filter;
use crate::options::Options;
use crate::places::is_library;
use crate::source::Source;
use crate::uncovered::keeps_code;

/// Computes the coverage of the code that the user selects. If the user selects none, this is code
/// of the workspace. `max_paths` limits the missing paths of a function.
pub(crate) fn of_run<'a>(
    evidence: Evidence<'a>,
    names: &Filter<'_>,
    options: &Options<'_>,
    max_paths: usize,
) -> CodeCoverage<'a> {
    let keep = keeps_code(evidence.run, names, options);
    let may_join = |map: &FunctionMap, first: Place, second: Place| {
        is_one_expression(map, first, second, options.source)
    };
    covered(evidence, &keep, is_library, &may_join, max_paths)
}

/// The longest condition, in lines. Beyond it, the graph decides alone.
const MAX_LINES: u32 = 50;

/// Whether two conditions may be part of one expression: the source between them has no block and
/// no end of a statement. True if the source is not there.
///
/// Rust's branches have the places of their conditions. Two of them at one place are one condition
/// of the source for which the compiler made two tests: a range, a `?`, or a macro. In C, all code
/// of a macro has one place, which says nothing.
fn is_one_expression(map: &FunctionMap, first: Place, second: Place, source: &dyn Source) -> bool {
    let [from, to] = [first, second].map(|place| (place.line, place.column));
    let scope = map.scopes.get(first.scope as usize);
    let Some(scope) = scope.filter(|_| first.scope == second.scope) else {
        return true;
    };
    if from == to {
        return !scope.file.ends_with(".rs");
    }
    if from > to || to.0 - from.0 > MAX_LINES {
        return true;
    }
    let mut text = String::new();
    for line in from.0..=to.0 {
        let Some(of_line) = source.line(&scope.file, line) else {
            return true;
        };
        let column = |place: (u32, u32), otherwise: usize| match place.0 == line {
            true => (place.1.saturating_sub(1) as usize).min(otherwise),
            false => otherwise,
        };
        // Columns count bytes, and start at 1.
        let end = column(to, of_line.len());
        let start = match from.0 == line {
            true => column(from, end),
            false => 0,
        };
        text.push_str(of_line.get(start..end).unwrap_or_default());
    }
    !text.contains(['{', '}', ';']) && !text.contains("=>")
}

/// The functions with the most missing code first: those that never ran, then by lines that never
/// ran, ways of branches, and paths.
pub(crate) fn by_missing_code<'c, 'a>(
    coverage: &'c CodeCoverage<'a>,
) -> Vec<&'c FunctionCoverage<'a>> {
    let mut functions: Vec<&FunctionCoverage<'_>> = coverage
        .functions
        .iter()
        .filter(|function| {
            let measures = &function.measures;
            let ratios = [
                measures.functions,
                measures.lines,
                measures.branches,
                measures.paths,
                measures.conditions,
                measures.prime_paths,
            ];
            ratios.iter().any(|ratio| ratio.covered < ratio.possible)
        })
        .collect();
    functions.sort_by_key(|function| {
        let missing = |ratio: Ratio| ratio.possible - ratio.covered;
        let measures = &function.measures;
        std::cmp::Reverse((
            missing(measures.functions),
            missing(measures.lines),
            missing(measures.branches),
            missing(measures.paths),
        ))
    });
    functions
}

/// Whether a decision has a condition that is not covered.
pub(crate) fn is_incomplete(decision: &DecisionCoverage<'_>) -> bool {
    let ratio = decision.ratio();
    ratio.covered < ratio.possible
}

/// Says why conditions are not measured, if they are not.
pub(crate) fn without_conditions(coverage: &CodeCoverage<'_>) -> Option<&'static str> {
    if coverage.source_graphs > 0 {
        return None;
    }
    Some(match coverage.source_graphs_of_edges {
        0 => {
            "not measured: build with --graph source to see which conditions act by themselves (MC/DC)"
        }
        _ => "not measured: edges do not show conditions together; build with --collect paths",
    })
}
