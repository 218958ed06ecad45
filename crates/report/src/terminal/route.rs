//! A path in one row: its first line, the decisions that distinguish it from other known paths, and
//! its last line.
//!
//! ```text
//! scan.c:4 … 6 → case 'b', 9 → line 10 … 21
//! ```
//! `…` stands for lines without such decisions. If the row is too long, the least important
//! decisions are left out ([`by_importance`]). The terminal's width has no effect, because no
//! number may depend on it.

use std::rc::Rc;

use holloway_analysis::directions::Destination;
use holloway_analysis::divergence::{Divergence, by_importance};
use holloway_analysis::trail::{End, Trail};
use holloway_format::Place;
use unicode_width::UnicodeWidthStr;

use super::branches::Branches;
use super::paint::clip_start;
use super::sheet::PLACE;
use crate::places::{file_and_line, shared_frame};
use crate::trace::LabeledStream;

/// Columns in which a path is described, if at least one decision fits.
const ROUTE_WIDTH: usize = 48;
/// Columns in which a sequence of paths is described, if at least one decision fits.
const SEQUENCE_WIDTH: usize = 60;
/// Between the descriptions of two paths.
const SEPARATOR: &str = " · ";

/// Describes a path by its first line, its last line, and the decisions that distinguish it. Empty
/// if the path has no line.
pub(super) fn route(branches: &Branches<'_>, trail: &Trail, divergences: &[Divergence]) -> String {
    let Some(lines) = Lines::new(branches, trail) else {
        return String::new();
    };
    lines.fit(divergences, ROUTE_WIDTH, |shown| {
        let place = file_and_line(lines.file(), lines.list[0].line, branches.cwd);
        let shown_lines = lines.with_ends(shown);
        let first = clip_start(&place, PLACE);
        lines.text(&shown_lines, shown, &first)
    })
}

/// An event's place in the source: its first line, the decisions that distinguish its path, and its
/// last line.
pub(super) fn route_of(labeled: &LabeledStream<'_>, terminal: u32) -> Rc<str> {
    labeled.route(terminal, || {
        let Some((map, trail)) = labeled.trail(terminal) else {
            return String::new();
        };
        let branches = Branches::new(map, labeled.cwd);
        route(&branches, &trail, &labeled.divergences(terminal))
    })
}

/// Describes each of a sequence of paths by the decisions that distinguish it:
/// `6 → case 'b', 9 → line 10 · 6 → case 'c'`. Paths at the end are left out if they do not fit.
/// Empty if nothing distinguishes the paths.
pub(super) fn sequence_of_decisions(
    branches: &Branches<'_>,
    paths: &[(Trail, Vec<Divergence>)],
) -> String {
    let mut descriptions: Vec<String> = Vec::new();
    let mut used = 0;
    for (trail, divergences) in paths {
        let description = decisions(
            branches,
            trail,
            divergences,
            SEQUENCE_WIDTH.saturating_sub(used),
        );
        if description.is_empty() {
            continue;
        }
        let columns = description.width() + SEPARATOR.width();
        if !descriptions.is_empty() && used + columns > SEQUENCE_WIDTH {
            descriptions.push("…".to_owned());
            break;
        }
        used += columns;
        descriptions.push(description);
    }
    descriptions.join(SEPARATOR)
}

/// The lines with the decisions that distinguish a path, in at most `width` columns if that is
/// possible without leaving out all decisions.
fn decisions(
    branches: &Branches<'_>,
    trail: &Trail,
    divergences: &[Divergence],
    width: usize,
) -> String {
    let Some(lines) = Lines::new(branches, trail) else {
        return String::new();
    };
    lines.fit(divergences, width, |shown| {
        let shown_lines = lines.with_decisions(shown);
        let Some(first) = shown_lines.first() else {
            return String::new();
        };
        lines.text(&shown_lines, shown, &lines.list[*first].line.to_string())
    })
}

/// The lines of a path in the frame that all its steps share.
struct Lines<'b, 'a> {
    branches: &'b Branches<'a>,
    /// The scope of the frame.
    scope: u32,
    list: Vec<LineOfRoute>,
}

/// Consecutive steps of a path on one line.
struct LineOfRoute {
    line: u32,
    /// The place of the first of these steps.
    place: Place,
    decisions: Vec<u32>,
}

impl<'b, 'a> Lines<'b, 'a> {
    /// The lines of a path, without the loop head to which it goes back. `None` if there are none.
    fn new(branches: &'b Branches<'a>, trail: &Trail) -> Option<Lines<'b, 'a>> {
        let (scope, lines_of_steps) = shared_frame(branches.map, trail)?;
        let mut list: Vec<LineOfRoute> = Vec::new();
        for (step, line) in trail.steps.iter().zip(lines_of_steps) {
            match list.last_mut() {
                Some(last) if last.line == line || line == 0 => {
                    last.decisions.extend(&step.decisions);
                }
                _ => list.push(LineOfRoute {
                    line,
                    place: step.place,
                    decisions: step.decisions.clone(),
                }),
            }
        }
        let head = match trail.end {
            End::Back(head) => head.map(|head| head.line),
            End::Exit(_) | End::Cut(_) => None,
        };
        if list.len() > 1 {
            list.pop_if(|last| last.decisions.is_empty() && Some(last.line) == head);
        }
        (!list.is_empty()).then_some(Lines {
            branches,
            scope,
            list,
        })
    }

    fn file(&self) -> &str {
        &self.branches.map.scopes[self.scope as usize].file
    }

    /// Describes the path by as many of the most important decisions as fit, at least one. Another
    /// decision says more than the back edge with which the path ends.
    fn fit(
        &self,
        divergences: &[Divergence],
        width: usize,
        describe: impl Fn(&[u32]) -> String,
    ) -> String {
        let ordered = by_importance(divergences).into_iter();
        let mut shown: Vec<u32> = ordered.map(|divergence| divergence.edge).collect();
        let goes_back =
            |edge: &u32| matches!(self.branches.destination(*edge), Destination::Back(_));
        if shown.len() > 1 && shown.first().is_some_and(goes_back) {
            shown.remove(0);
        }
        loop {
            let text = describe(&shown);
            if text.width() <= width || shown.len() <= 1 {
                return text;
            }
            shown.pop();
        }
    }

    /// The lines with any of these decisions, as indices.
    fn with_decisions(&self, shown: &[u32]) -> Vec<usize> {
        let is_shown = |index: &usize| !self.destinations(*index, shown).is_empty();
        (0..self.list.len()).filter(is_shown).collect()
    }

    /// The first line, the lines with any of these decisions, and the last line, as indices.
    fn with_ends(&self, shown: &[u32]) -> Vec<usize> {
        let mut lines = self.with_decisions(shown);
        if lines.first() != Some(&0) {
            lines.insert(0, 0);
        }
        let end = self.list.len() - 1;
        let last = lines[lines.len() - 1];
        // A decision at the line before the last one may say that the last line comes next.
        let is_said = || {
            let is_same = self.list[last].line == self.list[end].line;
            is_same || last + 1 == end && self.leads_to(last, end, shown)
        };
        if last != end && !is_said() {
            lines.push(end);
        }
        lines
    }

    /// Where control goes at the decisions `shown` of a line, except passed checks.
    fn destinations(&self, index: usize, shown: &[u32]) -> Vec<Destination<'a>> {
        let decisions = self.list[index].decisions.iter();
        let shown_here = decisions.filter(|edge| shown.contains(edge));
        let destinations = shown_here.map(|&edge| self.branches.destination(edge));
        let is_no_check = |destination: &Destination<'_>| *destination != Destination::GoesOn;
        destinations.filter(is_no_check).collect()
    }

    /// Whether the last decision of a line says just that control goes to another line.
    fn leads_to(&self, index: usize, to: usize, shown: &[u32]) -> bool {
        let to = &self.list[to];
        match self.destinations(index, shown).last() {
            Some(Destination::Back(place)) => place.block.is_none() && place.line == to.line,
            Some(destination) => self.branches.is_line(destination, to.place),
            None => false,
        }
    }

    /// Lines with the decisions `shown`. `first` is the text of the first line.
    fn text(&self, lines: &[usize], shown: &[u32], first: &str) -> String {
        let mut text = first.to_owned();
        for (number, &index) in lines.iter().enumerate() {
            let line = &self.list[index];
            let previous = number.checked_sub(1).map(|number| lines[number]);
            if let Some(previous) = previous {
                let separator = if previous + 1 == index { "," } else { " …" };
                text += &format!("{separator} {}", line.line);
            }
            let mut destinations = self.destinations(index, shown);
            let next = lines.get(number + 1);
            if next.is_some_and(|&next| next == index + 1 && self.leads_to(index, next, shown)) {
                destinations.pop();
            }
            let branch = Place {
                scope: self.scope,
                line: line.line,
                column: 0,
            };
            let words = self.branches.in_words(branch, &destinations);
            if !words.is_empty() {
                text += &format!(" {words}");
            }
        }
        text
    }
}
