//! Answers to questions on traces, as JSON (`trace` of docs/json.md). Its functions are those of
//! [`terminal::trace`](crate::terminal::trace).

mod answer;
mod diff;
mod stream;

use std::io::Write;

use holloway_analysis::note::Account;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::notes::Sentences;
use crate::options::Options;
use crate::trace::answer::{answers, are_good};
use crate::trace::sums::{Sum, sums};
use crate::trace::{AskError, Comparison, LabeledStream, Question, Run, Stream, longest};
use answer::AnswerRecord;
use stream::{Head, Table, TerminalRecord};

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

/// Writes each stream's answer as one object and a newline. Gives what
/// [`terminal::trace::write`](crate::terminal::trace::write()) gives.
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
    let sights: Vec<LabeledStream<'_>> =
        asked.map(|one| LabeledStream::new(one, options)).collect();
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
    let of_sums: Vec<LabeledStream<'_>> = of_sums
        .iter()
        .map(|one| LabeledStream::new(one, options))
        .collect();
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
        .map(|pair| pair.each_ref().map(|one| LabeledStream::new(one, options)))
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
