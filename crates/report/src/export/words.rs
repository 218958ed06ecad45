//! Words for the parts of a path: its start, its decisions, and its end.

use std::collections::HashMap;
use std::path::Path;

use holloway_analysis::Function;
use holloway_analysis::directions::Destination;
use holloway_analysis::trail::{End, Start, Step, Trail};
use holloway_format::{FunctionMap, Outcome, Place};

use crate::places::file_and_line;
use crate::terminal::branches::Branches;
use crate::terminal::outcome;

/// The words for the paths of one function.
pub(super) struct PathWords<'a> {
    branches: Branches<'a>,
    decisions: HashMap<(u32, Place), Option<String>>,
}

impl<'a> PathWords<'a> {
    pub(super) fn new(function: &'a Function, cwd: Option<&'a Path>) -> PathWords<'a> {
        PathWords {
            branches: Branches::new(&function.map, cwd),
            decisions: HashMap::new(),
        }
    }

    fn map(&self) -> &'a FunctionMap {
        self.branches.map
    }

    /// The file of a place; empty if it is unknown.
    pub(super) fn file(&self, place: Place) -> &'a str {
        let scope = self.map().scopes.get(place.scope as usize);
        scope.map_or("", |scope| &scope.file)
    }

    /// A place as `scan.c:6`.
    pub(super) fn place(&self, place: Place) -> String {
        file_and_line(self.file(place), place.line, self.branches.cwd)
    }

    /// A decision with its place, such as `scan.c:6 → line 9`. `None` for a passed check.
    pub(super) fn decision(&mut self, step: &Step, edge: u32) -> Option<String> {
        let key = (edge, step.place);
        if let Some(known) = self.decisions.get(&key) {
            return known.clone();
        }
        let destination = self.branches.destination(edge);
        let is_check = destination == Destination::GoesOn;
        let text = (!is_check).then(|| {
            let word = self.branches.word(Some(step.place), &destination);
            format!("{} → {word}", self.place(step.place))
        });
        self.decisions.insert(key, text.clone());
        text
    }

    /// All decisions of a step, such as `→ line 9`. Empty without decisions.
    pub(super) fn decided(&self, step: &Step) -> String {
        self.branches.decided(step)
    }

    /// Where control goes along an edge whose branch is at `place`.
    pub(super) fn destination(&self, place: Option<Place>, edge: u32) -> String {
        let destination = self.branches.destination(edge);
        self.branches.word(place, &destination)
    }

    /// The start of a path, such as `loop head scan.c:5`.
    pub(super) fn start(&self, trail: &Trail) -> String {
        let kind = match trail.start {
            Start::Entry => return "entry".to_owned(),
            Start::Loop => "loop head",
            Start::Cut => "after a cut",
        };
        self.with_place(kind, trail.at)
    }

    /// The end of a path, such as `returns` or `back to scan.c:5`.
    pub(super) fn end(&self, trail: &Trail) -> String {
        match trail.end {
            End::Exit(Outcome::Return | Outcome::Jump) => "returns".to_owned(),
            End::Exit(Outcome::Left) => "left in a call that did not come back".to_owned(),
            End::Exit(outcome) => outcome::word(outcome).to_owned(),
            End::Back(None) => "back to the loop head".to_owned(),
            End::Back(head) => self.with_place("back to", head),
            End::Cut(next) => self.with_place("cut, goes on", next),
        }
    }

    fn with_place(&self, words: &str, place: Option<Place>) -> String {
        match place {
            Some(place) => format!("{words} {}", self.place(place)),
            None => words.to_owned(),
        }
    }
}
