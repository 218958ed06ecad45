//! The decisions on a path in one row, with the lines at which it makes them: `7 → line 10, 12 →
//! leaves the loop`. Rows that only name a path show them.

use holloway_analysis::Function;
use holloway_analysis::trail::{Trail, trail};
use holloway_format::{PathId, Place};
use unicode_width::UnicodeWidthStr;

use super::branches::Branches;
use crate::places::file_and_line;

/// Minimum columns of the decisions on a path.
pub(crate) const MIN_DECISIONS_WIDTH: usize = 48;
/// Maximum columns of the decisions on a path, in a row of a list.
pub(crate) const MAX_DECISIONS_WIDTH: usize = 96;

/// The decisions on a path. Lines outside the function's file are shown with their file. Decisions
/// at the end are left out if they take more than `width` columns. Empty if the path makes none.
pub(crate) fn decisions(branches: &Branches<'_>, trail: &Trail, width: usize) -> String {
    let map = branches.map;
    let line = |place: Place| match map.scopes.get(place.scope as usize) {
        Some(scope) if scope.file != map.file => {
            file_and_line(&scope.file, place.line, branches.cwd)
        }
        _ => place.line.to_string(),
    };
    let decided = trail.steps.iter().filter_map(|step| {
        let decided = branches.decided(step);
        (!decided.is_empty()).then(|| format!("{} {decided}", line(step.place)))
    });
    clip_list(decided, width)
}

/// The decisions on a path that is known by its number, in at most [`MAX_DECISIONS_WIDTH`] columns.
pub(crate) fn decisions_of(branches: &Branches<'_>, function: &Function, path: PathId) -> String {
    let path = function.graph().and_then(|graph| graph.path(path));
    let trail = path.map(|path| trail(&function.map, &path));
    trail.map_or_else(String::new, |trail| {
        decisions(branches, &trail, MAX_DECISIONS_WIDTH)
    })
}

/// Joins as many items as fit into `width` columns, at least one. Whole items are left out, so that
/// no line number is cut.
fn clip_list(items: impl Iterator<Item = String>, width: usize) -> String {
    let mut text = String::new();
    for item in items {
        if text.is_empty() {
            text = item;
        } else if text.width() + item.width() + 5 <= width {
            text += &format!(", {item}");
        } else {
            return text + ", …";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::clip_list;

    #[test]
    fn whole_decisions_are_left_out() {
        let items = || {
            ["7 → line 10", "12 → line 4", "5"]
                .map(str::to_owned)
                .into_iter()
        };
        assert_eq!(clip_list(items(), 80), "7 → line 10, 12 → line 4, 5");
        assert_eq!(clip_list(items(), 28), "7 → line 10, 12 → line 4, …");
        assert_eq!(clip_list(items(), 3), "7 → line 10, …");
        assert_eq!(clip_list(std::iter::empty(), 3), "");
    }
}
