//! Answers to questions on traces, as JSON: "trace" of docs/json.md. The same entry points as [`terminal::trace`](crate::terminal::trace).

mod answer;
mod diff;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;

use holloway_analysis::note::Account;
use holloway_analysis::trace::Terminal;
use holloway_analysis::trail::{Step, Trail};
use holloway_format::FunctionMap;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::Options;
use crate::notes::Sentences;
use crate::trace::answer::{answers, are_good};
use crate::trace::sums::{Sum, sums};
use crate::trace::{AskError, Comparison, Question, Run, Sight, Stream, longest};
use answer::AnswerRecord;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    question: &'static str,
    damage: Sentences<'a>,
    #[serde(flatten)]
    verified: Option<Verified<'a>>,
    streams: Vec<StreamRecord<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sums: Vec<SumRecord<'a>>,
}

/// What several streams of an image answer together.
#[derive(Serialize)]
struct SumRecord<'a> {
    image: &'a str,
    streams: u64,
    events: u64,
    answer: AnswerRecord<'a>,
    terminals: Vec<TerminalRecord>,
}

/// What was verified of the run.
#[derive(Serialize)]
struct Verified<'a> {
    good: bool,
    processes: Vec<Process<'a>>,
}

#[derive(Serialize)]
struct Process<'a> {
    image: &'a str,
    process: u32,
    counted: u64,
    missing: u64,
    surplus: u64,
}

impl<'a> Verified<'a> {
    fn new(accounts: &'a [Account], good: bool) -> Verified<'a> {
        let processes = accounts.iter().map(|account| Process {
            image: &account.image,
            process: account.process,
            counted: account.counted,
            missing: account.missing,
            surplus: account.surplus,
        });
        Verified {
            good,
            processes: processes.collect(),
        }
    }
}

#[derive(Serialize)]
struct StreamRecord<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    answer: AnswerRecord<'a>,
    terminals: Vec<TerminalRecord>,
}

#[derive(Serialize)]
struct Head<'a> {
    image: &'a str,
    process: u32,
    thread: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    nth: Option<u32>,
    events: u64,
    damage: Sentences<'a>,
}

impl<'a> Head<'a> {
    fn new(stream: &Stream<'a>) -> Head<'a> {
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

/// A terminal that an answer speaks of.
#[derive(Serialize)]
struct TerminalRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u32>,
    #[serde(skip_serializing_if = "is_false")]
    missing: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(what: &bool) -> bool {
    !what
}

#[derive(Serialize)]
struct PathRecord {
    name: String,
    linkage_name: String,
    id: u32,
    enters: bool,
    leaves: bool,
    instructions: u64,
    places: Vec<String>,
}

/// Writes each stream's answer, as one object and a newline. Gives what [`terminal::trace::write`](crate::terminal::trace::write()) gives.
///
/// # Errors
/// As of [`terminal::trace::write`](crate::terminal::trace::write()).
pub fn write(
    question: &Question<'_>,
    run: &Run<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<bool, AskError> {
    let most = match question {
        Question::Stats | Question::Hot(_) => options.top.unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let asked = longest(run.streams, most);
    let asked = asked.iter().map(|&place| &run.streams[place]);
    let sights: Vec<Sight<'_>> = asked.map(|one| Sight::new(one, options)).collect();
    let tables: Vec<Table<'_>> = sights.iter().map(Table::new).collect();
    let answers = answers(&sights, question, run.damage)?;
    let streams = answers.iter().map(|(sight, answer)| {
        let of = |table: &&Table<'_>| std::ptr::eq(table.sight, *sight);
        let table = tables.iter().find(of).expect("a table for each stream");
        let answer = AnswerRecord::new(table, question, answer, options.top);
        StreamRecord {
            head: Head::new(sight.stream),
            answer,
            terminals: table.records(),
        }
    });
    let sums = sums(&answers);
    let of_sums: Vec<Stream<'_>> = sums.iter().map(Sum::stream).collect();
    let of_sums: Vec<Sight<'_>> = of_sums.iter().map(|one| Sight::new(one, options)).collect();
    let of_sums: Vec<Table<'_>> = of_sums.iter().map(Table::new).collect();
    let sums = sums.iter().zip(&of_sums).map(|(sum, table)| SumRecord {
        image: table.sight.stream.image,
        streams: sum.streams,
        events: sum.events,
        answer: AnswerRecord::new(table, question, &sum.answer, options.top),
        terminals: table.records(),
    });
    let is_verified = matches!(question, Question::Verify);
    let good = !is_verified || are_good(&answers);
    let document = Document {
        schema: SCHEMA,
        question: name(question),
        damage: Sentences(run.damage),
        verified: is_verified.then(|| Verified::new(run.accounts, good)),
        streams: streams.collect(),
        sums: sums.collect(),
    };
    document::write(&document, out)?;
    Ok(good)
}

/// Writes streams of two runs compared, pair by pair, as one object and a newline.
///
/// # Errors
/// As of [`terminal::trace::diff`](crate::terminal::trace::diff()).
pub fn diff(
    pairs: &[[Stream<'_>; 2]],
    how: &Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<(), AskError> {
    let sights: Vec<_> = pairs
        .iter()
        .map(|pair| pair.each_ref().map(|one| Sight::new(one, options)))
        .collect();
    document::write(&diff::document(&sights, how, options.top)?, out)?;
    Ok(())
}

fn name(question: &Question<'_>) -> &'static str {
    match question {
        Question::Stats => "stats",
        Question::Cat { .. } => "cat",
        Question::Verify => "verify",
        Question::Hot(_) => "hot",
        Question::Freq(_) => "freq",
        Question::Before(..) => "before",
        Question::Context(_) => "context",
        Question::Loops(_) => "loops",
        Question::Query(_) => "query",
    }
}

/// The terminals that an answer speaks of, in the order in which it does, by their new numbers.
struct Table<'a> {
    sight: &'a Sight<'a>,
    known: RefCell<(HashMap<u32, u32>, Vec<u32>)>,
}

impl<'a> Table<'a> {
    fn new(sight: &'a Sight<'a>) -> Table<'a> {
        Table {
            sight,
            known: RefCell::default(),
        }
    }

    fn number(&self, terminal: u32) -> u32 {
        let (numbers, order) = &mut *self.known.borrow_mut();
        *numbers.entry(terminal).or_insert_with(|| {
            order.push(terminal);
            order.len() as u32 - 1
        })
    }

    fn numbers(&self, terminals: &[u32]) -> Vec<u32> {
        terminals.iter().map(|&one| self.number(one)).collect()
    }

    fn records(&self) -> Vec<TerminalRecord> {
        let (_, order) = &*self.known.borrow();
        order
            .iter()
            .map(|&terminal| record(self.sight, terminal))
            .collect()
    }
}

/// The places that a path runs through, in order.
fn places((map, trail): (&FunctionMap, Trail)) -> Vec<String> {
    let places = trail.steps.iter().filter_map(|Step { place, .. }| {
        let scope = map.scopes.get(place.scope as usize)?;
        Some(format!("{}:{}:{}", scope.file, place.line, place.column))
    });
    let mut places: Vec<String> = places.collect();
    places.dedup();
    places
}

fn record(sight: &Sight<'_>, terminal: u32) -> TerminalRecord {
    let mut record = TerminalRecord {
        path: None,
        left: None,
        missing: false,
    };
    match sight.stream.trace.terminals[terminal as usize] {
        Terminal::Path { function, path } => {
            let event = sight.events[terminal as usize];
            let map = sight.stream.code.function(function);
            let places = sight.trail(terminal).map_or_else(Vec::new, places);
            record.path = Some(PathRecord {
                name: sight.function(function).to_string(),
                linkage_name: map.map_or_else(String::new, |map| map.linkage_name.to_string()),
                id: path,
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
