//! Code that the terminal and JSON reports of timed paths share: the choice of paths to show, and
//! advice on prefetching their loads.

use holloway_analysis::Function;
use holloway_analysis::trail::{Frame, Trail, frames, trail};
use holloway_analysis::variation::VariationRun;
use holloway_analysis::variation::rank::Ranking;
use holloway_analysis::variation::spread::Spread;
use holloway_flow::PathId;
use holloway_format::{Load, LoadShape};

use crate::filter::Filter;
use crate::numbers::plural;
use crate::places::lines_of;

/// Number of first-ranked paths that reports compare with other rankings and evaluate on other
/// runs. The paper (Perelman, Chilimbi, Calder 2005) takes ten.
pub(crate) const FIRST_PATHS: usize = 10;

/// Returns the first `top` paths of functions that the filter keeps, as indices in the ranking, and
/// the number of all paths of these functions.
pub(crate) fn selected_paths(
    run: &VariationRun,
    ranking: &Ranking,
    names: &Filter<'_>,
    top: usize,
) -> (Vec<usize>, usize) {
    let function_of = |index: &usize| ranking.paths[*index].function;
    let mut selected: Vec<usize> = (0..ranking.paths.len())
        .filter(|index| names.keeps(&run.run, function_of(index)))
        .filter(|&index| {
            let path = &ranking.paths[index];
            names.keeps_path(run.run.function(path.function), path.path)
        })
        .collect();
    let selected_count = selected.len();
    selected.truncate(top);
    (selected, selected_count)
}

/// Returns, for the first `top` functions that the filter keeps, whether the time depends on the
/// choice of the path or varies on the same path.
pub(crate) fn selected_spreads(
    run: &VariationRun,
    ranking: &Ranking,
    names: &Filter<'_>,
    top: usize,
) -> Vec<Spread> {
    let spreads = ranking.spreads(run).into_iter();
    let spreads = spreads.filter(|spread| names.keeps(&run.run, spread.function));
    spreads.take(top).collect()
}

/// The name of a run: `A` to `Z`, then `#27`, `#28`, …
pub(crate) fn letter(run: usize) -> String {
    match u8::try_from(run).ok().filter(|run| *run < 26) {
        Some(run) => char::from(b'A' + run).to_string(),
        None => format!("#{}", run + 1),
    }
}

/// The steps of a path through the source.
pub(crate) fn trail_of(function: &Function, path: PathId) -> Option<Trail> {
    let path = function.graph()?.path(path)?;
    Some(trail(&function.map, &path))
}

/// The file of a path's [lines](lines_of), and the first and last of these lines.
pub(crate) fn lines<'a>(function: &'a Function, trail: &Trail) -> Option<(&'a str, u32, u32)> {
    let (file, lines) = lines_of(&function.map, trail)?;
    let (first, last) = (lines.iter().min()?, lines.iter().max()?);
    Some((file, *first, *last))
}

/// Returns the source lines of a load, each with its file. The first line is in the function's own
/// text, where the prefetch should be inserted. If the load was inlined, the second line is in the
/// inlined function.
pub(crate) fn load_lines<'a>(function: &'a Function, load: &Load) -> Vec<(&'a str, u32)> {
    let file = |frame: &Frame| {
        let scope = function.map.scopes.get(frame.scope as usize);
        scope.map_or("", |scope| &*scope.file)
    };
    let frames: Vec<Frame> = frames(&function.map, &load.place).collect();
    let outer_and_inner = frames.last().into_iter().chain(frames.first());
    let mut lines: Vec<_> = outer_and_inner
        .map(|frame| (file(frame), frame.line))
        .collect();
    lines.dedup();
    lines
}

/// Returns the reason for prefetching a load of this shape, and the statement to insert in the
/// language of `file`.
pub(crate) fn prefetch(shape: LoadShape, file: &str) -> (String, String) {
    let is_rust = file.ends_with(".rs");
    let words = |rust: &str, c: &str| if is_rust { rust } else { c }.to_owned();
    match shape {
        LoadShape::Chain { offset } => (
            format!(
                "loads from a list: the pointer to the next node stands {offset} bytes into this one"
            ),
            words(
                "if let Some(next) = &node.next { prefetch(&raw const **next) } // with your names; _mm_prefetch",
                "if (p->next) __builtin_prefetch(p->next); // with your names",
            ),
        ),
        LoadShape::Through { stride } => (
            format!(
                "loads from where an element says, {} each turn",
                step(stride)
            ),
            words(
                "if let Some(&at) = a.get(i + 2) { prefetch(&raw const b[at]) } // with your names; _mm_prefetch",
                "if (i + 2 < n) __builtin_prefetch(&b[a[i + 2]]); // with your names",
            ),
        ),
        LoadShape::Field { offset } => (
            format!(
                "loads from where a member of a list's node points to: the pointer to the next node stands {offset} bytes into this one"
            ),
            words(
                "if let Some(next) = &node.next { prefetch(&raw const *next.member) } // with your names; _mm_prefetch",
                "if (p->next) __builtin_prefetch(p->next->member); // with your names",
            ),
        ),
        LoadShape::Outer { stride } => (
            format!(
                "loads {} in each turn of the outer loop (j), for each turn of the inner one (i)",
                step(stride)
            ),
            words(
                "if let Some(ahead) = a[i].get(j + 1) { prefetch(&raw const *ahead) } // with your names; _mm_prefetch",
                "if (j + 1 < m) __builtin_prefetch(&a[i][j + 1]); // with your names",
            ),
        ),
        LoadShape::Rows { stride } => (
            format!(
                "loads from where an element of a row says, {} each turn, and the rows lie one after the other",
                step(stride)
            ),
            words(
                "if let Some(&at) = a.get(i + 32) { prefetch(&raw const b[at]) } // with your names; _mm_prefetch",
                "if (i + 32 < first[n]) __builtin_prefetch(&b[a[i + 32]]); // with your names",
            ),
        ),
        LoadShape::Geometric { factor, through } => (
            format!(
                "loads {}at an index that each turn multiplies by {factor}",
                if through { "through an element " } else { "" }
            ),
            geometric(factor, through, is_rust),
        ),
        LoadShape::Induction { stride } => (
            format!("loads {} each turn", step(stride)),
            words(
                "if let Some(ahead) = a.get(i + 2) { prefetch(&raw const *ahead) } // with your names; _mm_prefetch",
                "if (i + 2 < n) __builtin_prefetch(&a[i + 2]); // with your names",
            ),
        ),
    }
}

/// The statement for an index that each turn multiplies by a factor: two turns ahead.
fn geometric(factor: i64, through: bool, is_rust: bool) -> String {
    let ahead = factor.saturating_mul(factor);
    match (is_rust, through) {
        (true, false) => format!(
            "if let Some(ahead) = a.get({ahead} * i) {{ prefetch(&raw const *ahead) }} // with your names; _mm_prefetch"
        ),
        (true, true) => format!(
            "if let Some(ahead) = a.get({ahead} * i) {{ prefetch(&raw const **ahead) }} // with your names; _mm_prefetch"
        ),
        (false, false) => {
            format!("if ({ahead} * i < n) __builtin_prefetch(&a[{ahead} * i]); // with your names")
        }
        (false, true) => {
            format!("if ({ahead} * i < n) __builtin_prefetch(a[{ahead} * i]); // with your names")
        }
    }
}

/// `8 bytes further`.
fn step(stride: i64) -> String {
    let bytes = plural(stride.unsigned_abs(), "byte");
    let direction = if stride < 0 { "back" } else { "further" };
    format!("{bytes} {direction}")
}

#[cfg(test)]
mod tests {
    use super::prefetch;
    use holloway_format::LoadShape;

    fn check(shape: LoadShape, c: &str, rust: &str) {
        let (why, statement) = prefetch(shape, "a.c");
        assert!(statement.starts_with(c), "{why}: {statement}");
        let (_, statement) = prefetch(shape, "a.rs");
        assert!(statement.starts_with(rust), "{why}: {statement}");
    }

    #[test]
    fn each_shape_has_its_statement() {
        check(
            LoadShape::Field { offset: 16 },
            "if (p->next) __builtin_prefetch(p->next->member);",
            "if let Some(next) = &node.next {",
        );
        check(
            LoadShape::Outer { stride: 8 },
            "if (j + 1 < m) __builtin_prefetch(&a[i][j + 1]);",
            "if let Some(ahead) = a[i].get(j + 1) {",
        );
        let geometric = |through| LoadShape::Geometric { factor: 2, through };
        check(
            geometric(true),
            "if (4 * i < n) __builtin_prefetch(a[4 * i]);",
            "if let Some(ahead) = a.get(4 * i) { prefetch(&raw const **ahead) }",
        );
        check(
            geometric(false),
            "if (4 * i < n) __builtin_prefetch(&a[4 * i]);",
            "if let Some(ahead) = a.get(4 * i) { prefetch(&raw const *ahead) }",
        );
    }
}
