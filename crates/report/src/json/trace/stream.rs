//! JSON records for a stream: its thread, and the terminals that its answer refers to.

use std::cell::RefCell;
use std::collections::HashMap;

use holloway_analysis::trace::Terminal;
use holloway_analysis::trail::{Step, Trail};
use holloway_format::FunctionMap;
use serde::Serialize;

use crate::notes::Sentences;
use crate::trace::{LabeledStream, Stream};

/// The image, process, and thread of a stream, with its damage.
#[derive(Serialize)]
pub(super) struct Head<'a> {
    image: &'a str,
    process: u32,
    thread: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    nth: Option<u32>,
    events: u64,
    damage: Sentences<'a>,
}

impl<'a> Head<'a> {
    pub(super) fn new(stream: &Stream<'a>) -> Head<'a> {
        Head {
            image: stream.image,
            process: stream.process,
            thread: stream.thread,
            nth: stream.nth,
            events: stream.events(),
            damage: Sentences(stream.damage),
        }
    }
}

/// A terminal that an answer refers to.
#[derive(Serialize)]
pub(super) struct TerminalRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u32>,
    #[serde(skip_serializing_if = "is_false")]
    missing: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Serialize)]
struct PathRecord {
    name: String,
    linkage_name: String,
    id: u32,
    path_name: String,
    enters: bool,
    leaves: bool,
    instructions: u64,
    places: Vec<String>,
}

/// The terminals that an answer refers to, renumbered in the order of their first use.
pub(super) struct Table<'a> {
    pub(super) labeled: &'a LabeledStream<'a>,
    /// The number of each terminal that was used, and the terminals in the order of their numbers.
    numbered: RefCell<(HashMap<u32, u32>, Vec<u32>)>,
}

impl<'a> Table<'a> {
    pub(super) fn new(labeled: &'a LabeledStream<'a>) -> Table<'a> {
        Table {
            labeled,
            numbered: RefCell::default(),
        }
    }

    /// Returns the number of a terminal in this table.
    pub(super) fn number(&self, terminal: u32) -> u32 {
        let (numbers, order) = &mut *self.numbered.borrow_mut();
        *numbers.entry(terminal).or_insert_with(|| {
            order.push(terminal);
            order.len() as u32 - 1
        })
    }

    pub(super) fn numbers(&self, terminals: &[u32]) -> Vec<u32> {
        terminals
            .iter()
            .map(|&terminal| self.number(terminal))
            .collect()
    }

    pub(super) fn records(&self) -> Vec<TerminalRecord> {
        let (_, order) = &*self.numbered.borrow();
        order
            .iter()
            .map(|&terminal| record(self.labeled, terminal))
            .collect()
    }
}

/// The places that a path passes, in order.
fn places((map, trail): (&FunctionMap, Trail)) -> Vec<String> {
    let places = trail.steps.iter().filter_map(|Step { place, .. }| {
        let scope = map.scopes.get(place.scope as usize)?;
        Some(format!("{}:{}:{}", scope.file, place.line, place.column))
    });
    let mut places: Vec<String> = places.collect();
    places.dedup();
    places
}

fn record(labeled: &LabeledStream<'_>, terminal: u32) -> TerminalRecord {
    let mut record = TerminalRecord {
        path: None,
        left: None,
        missing: false,
    };
    match labeled.stream.trace.terminals[terminal as usize] {
        Terminal::Path { function, path } => {
            let event = labeled.events[terminal as usize];
            let map = labeled.stream.code.function(function);
            let places = labeled.trail(terminal).map_or_else(Vec::new, places);
            record.path = Some(PathRecord {
                name: labeled.function(function).to_string(),
                linkage_name: map.map_or_else(String::new, |map| map.linkage_name.to_string()),
                id: path,
                path_name: labeled.full_name(terminal),
                enters: event.enters(),
                leaves: event.leaves(),
                instructions: event.instructions(),
                places,
            });
        }
        Terminal::Left(frames) => record.left = Some(frames),
        Terminal::Gap => record.missing = true,
    }
    record
}
