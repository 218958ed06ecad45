//! Decisions in words: where control goes at a branch.
//!
//! - `→ line 214`: a line of the same file;
//! - `→ other.rs:12`: a line of another file;
//! - `→ column 17`: another column of the same line.
//!
//! The column is also shown if the branch has several edges to the same line. The block (`b7`, as
//! in the other views) is shown if it has several edges to the same line and column.
//!
//! A passed check (of an index, or for overflow) is left out if control stays on the line and all
//! other edges of the branch lead to calls that do not return. All decisions at one line are listed
//! in order. So the decisions of `a && b` show which of the two conditions was false:
//! `→ column 12, line 9`.

use holloway_analysis::directions::{Destination, ShownPlace};
use holloway_analysis::trail::{Step, first_place};
use holloway_format::{Outcome, Place, Text};

use super::branches::Branches;
use super::paint::clip_start;
use super::sheet::PLACE;
use crate::places::file_and_line;

impl<'a> Branches<'a> {
    /// The decisions at a step's line, in words and in order. A repeated decision is written once,
    /// with its number: `→ line 3 ×2`.
    pub(crate) fn decided(&self, step: &Step) -> String {
        let decisions = step.decisions.iter();
        let destinations: Vec<_> = decisions.map(|&edge| self.destination(edge)).collect();
        self.in_words(step.place, &destinations)
    }

    /// Decisions at a place in words, such as `→ line 3`. The text is empty if there are no
    /// decisions except passed checks.
    pub(super) fn in_words(&self, place: Place, destinations: &[Destination<'_>]) -> String {
        let mut words: Vec<(String, usize)> = Vec::new();
        for destination in destinations
            .iter()
            .filter(|destination| **destination != Destination::GoesOn)
        {
            let word = self.word(Some(place), destination);
            match words.last_mut() {
                Some((last, times)) if *last == word => *times += 1,
                _ => words.push((word, 1)),
            }
        }
        let words = words.into_iter().map(|(word, times)| match times {
            1 => word,
            _ => format!("{word} ×{times}"),
        });
        let words: Vec<String> = words.collect();
        match words.is_empty() {
            true => String::new(),
            false => format!("→ {}", words.join(", ")),
        }
    }

    /// Where control goes along an edge, in words. `branch` is the place of the branch, and `to` is
    /// the target block of the edge. The text is empty if the report already shows where control
    /// goes, because it shows the first place of `to`.
    pub(super) fn unless_shown(&self, edge: u32, branch: Option<Place>, to: u32) -> String {
        let destination = self.destination(edge);
        let block = self.map.blocks.get(to as usize);
        let first = block.and_then(|block| first_place(&block.places));
        if first.is_some_and(|first| self.is_line(&destination, first)) {
            return String::new();
        }
        self.word(branch, &destination)
    }

    /// Whether the line of `place` says completely where control goes.
    pub(super) fn is_line(&self, destination: &Destination<'_>, place: Place) -> bool {
        let scope = self.map.scopes.get(place.scope as usize);
        match destination {
            Destination::To(to) if to.column == 0 && to.block.is_none() => {
                scope.is_some_and(|scope| scope.file == *to.file && place.line == to.line)
            }
            _ => false,
        }
    }

    /// Where control goes from a branch at the place `branch`, in words.
    pub(crate) fn word(&self, branch: Option<Place>, destination: &Destination<'_>) -> String {
        destination_words(destination, &|spot| self.spot(branch, spot))
    }

    /// The target of a branch at the place `branch`: its line, and its column or block if
    /// necessary.
    fn spot(&self, branch: Option<Place>, spot: &ShownPlace<'_>) -> String {
        let scope = |place: Place| self.map.scopes.get(place.scope as usize);
        let file = branch.and_then(scope).map(|scope| &*scope.file);
        let is_on_line = branch.is_some_and(|branch| branch.line == spot.line);
        let line = match file == Some(spot.file) {
            true if is_on_line && spot.column != 0 => None,
            true => Some(format!("line {}", spot.line)),
            false => Some(file_and_line(spot.file, spot.line, self.cwd)),
        };
        spot_words(spot, line, PLACE)
    }
}

/// A destination in words. `spot` words a place.
pub(crate) fn destination_words(
    destination: &Destination<'_>,
    spot: &dyn Fn(&ShownPlace<'_>) -> String,
) -> String {
    match destination {
        Destination::Case(names) => cases(names),
        Destination::LeavesLoop(None) => "leaves the loop".to_owned(),
        Destination::LeavesLoop(Some(to)) => format!("leaves the loop to {}", spot(to)),
        Destination::StaysInLoop => "stays in the loop".to_owned(),
        Destination::StaysOnLine => "stays on the line".to_owned(),
        Destination::Back(to) => format!("back to {}", spot(to)),
        Destination::Returns => "returns".to_owned(),
        Destination::NeverReturns => "does not return".to_owned(),
        Destination::GoesOn => "goes on".to_owned(),
        Destination::Unwinds => "unwinds".to_owned(),
        Destination::MayReturnAgain => "may return again".to_owned(),
        Destination::To(to) => spot(to),
    }
}

/// A place in words: its line, and its column or block if necessary. `line` is the line in words.
/// It is absent for a place on the branch's line, which the column says. Long names of files lose
/// their beginning.
pub(crate) fn spot_words(spot: &ShownPlace<'_>, line: Option<String>, width: usize) -> String {
    let place = match (line, spot.column) {
        _ if spot.line == 0 => String::new(),
        (None, column) => format!("column {column}"),
        (Some(line), 0) => clip_start(&line, width),
        (Some(line), column) => clip_start(&format!("{line}:{column}"), width),
    };
    match spot.block {
        None => place,
        Some(block) if place.is_empty() => format!("block {block}"),
        Some(block) => format!("{place} (b{block})"),
    }
}

/// `case Push`, `case 'a' | 'b'`. Only the first cases of a long list are named.
fn cases(names: &[Text]) -> String {
    const SHOWN: usize = 4;
    let mut shown: Vec<&str> = names.iter().map(|name| &**name).take(SHOWN).collect();
    let more = format!("… {} more", names.len().saturating_sub(SHOWN));
    if names.len() > SHOWN {
        shown.push(&more);
    }
    format!("case {}", shown.join(" | "))
}

/// The words for the end of a path, or for an edge without a decision.
pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Jump
        | Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Indirect
        | Outcome::AsmGoto => "jump",
        Outcome::Normal => "returns",
        Outcome::Unwind => "unwinds",
        Outcome::Return => "return",
        Outcome::Noreturn => "does not return",
        Outcome::Resume => "unwinds on",
        Outcome::TailCall => "tail call",
        Outcome::Again => "may return again",
        Outcome::Split => "split",
        Outcome::Left => "left in a call",
        Outcome::Returned => "came back",
    }
}
