//! Marks counts that may differ from the executions because a run with `--exits off` does not count
//! frames that are left early. Also writes the legend of these marks.

use std::io;

use holloway_analysis::bounds::Bound;

use super::paint::{Ink, Line};
use super::sheet::Sheet;

/// The mark in front of a count.
pub(super) fn mark(bound: Bound) -> &'static str {
    match bound {
        Bound::Exact => "",
        Bound::AtLeast => "≥",
        Bound::AtMost => "≤",
        Bound::Either => "~",
    }
}

/// A count with its mark.
pub(crate) fn marked(bound: Bound, count: &str) -> String {
    format!("{}{count}", mark(bound))
}

/// Explains, below a table, the marks in it.
pub(super) fn legend(
    sheet: &mut Sheet<'_>,
    marks: impl IntoIterator<Item = Bound>,
) -> io::Result<()> {
    let marks: Vec<Bound> = marks.into_iter().collect();
    let meanings = [
        (Bound::AtLeast, "≥ as many or more"),
        (Bound::AtMost, "≤ as many or fewer"),
        (Bound::Either, "~ more or fewer"),
    ];
    let used = meanings.iter().filter(|(bound, _)| marks.contains(bound));
    let used: Vec<&str> = used.map(|(_, text)| *text).collect();
    if used.is_empty() {
        return Ok(());
    }
    sheet.page.gap()?;
    let text = format!(
        "{}: frames may have been left early here, which --exits off does not count",
        used.join(" · ")
    );
    sheet.page.wrapped(Line::new(), Ink::Faint, &text)
}
