//! Writes the answers to questions about traces as JSON (section `trace` of docs/json.md, which
//! explains the keys). [`terminal::trace`](crate::terminal::trace) has the same two functions.

mod answer;
mod diff;
mod stream;

use std::io::Write;

use holloway_analysis::Interrupt;
use holloway_analysis::note::Account;
use holloway_format::Count;
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<CpuTimeRecord>,
    question: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'static str>,
    damage: Sentences<'a>,
    #[serde(flatten)]
    verified: Option<Verified<'a>>,
    streams: Vec<StreamRecord<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sums: Vec<SumRecord<'a>>,
}

/// The sum of the answers of an image's streams.
#[derive(Serialize)]
struct SumRecord<'a> {
    image: &'a str,
    streams: u64,
    events: u64,
    answer: AnswerRecord<'a>,
    terminals: Vec<TerminalRecord>,
}

/// The result of `verify` for the run.
#[derive(Serialize)]
struct Verified<'a> {
    good: bool,
    processes: Vec<Process<'a>>,
}

#[derive(Serialize)]
struct Process<'a> {
    image: &'a str,
    process: u32,
    counted: Count,
    missing: Count,
    surplus: Count,
}

impl<'a> From<&'a Account> for Process<'a> {
    fn from(account: &'a Account) -> Self {
        Process {
            image: &account.image,
            process: account.process,
            counted: account.counted,
            missing: account.missing,
            surplus: account.surplus,
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

/// Writes the answers of all streams as one object and a newline. Returns the same value as
/// [`terminal::trace::write`](crate::terminal::trace::write()).
///
/// # Errors
/// If no stream has an answer, or if writing to `out` fails.
pub fn write(
    question: &Question<'_>,
    run: &Run<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<bool, AskError> {
    let limit = match question {
        Question::Stats | Question::Hot(_) => options.top.unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let chosen = longest(run.streams, limit);
    let streams = chosen.iter().map(|&index| &run.streams[index]);
    let labeled_streams: Vec<LabeledStream<'_>> = streams
        .map(|stream| LabeledStream::new(stream, options))
        .collect();
    let tables: Vec<Table<'_>> = labeled_streams.iter().map(Table::new).collect();
    let answers = answers(&labeled_streams, question, run.damage)?;
    let streams = answers.iter().map(|(labeled, answer)| {
        let is_table_of_stream = |table: &&Table<'_>| std::ptr::eq(table.labeled, *labeled);
        let table = tables
            .iter()
            .find(is_table_of_stream)
            .expect("a table for each stream");
        let answer = AnswerRecord::new(table, question, answer, options.top);
        StreamRecord {
            head: Head::new(labeled.stream),
            answer,
            terminals: table.records(),
        }
    });
    let sums = sums(&answers);
    let sum_streams: Vec<Stream<'_>> = sums.iter().map(Sum::stream).collect();
    let labeled_sums: Vec<LabeledStream<'_>> = sum_streams
        .iter()
        .map(|stream| LabeledStream::new(stream, options))
        .collect();
    let sum_tables: Vec<Table<'_>> = labeled_sums.iter().map(Table::new).collect();
    let sums = sums.iter().zip(&sum_tables).map(|(sum, table)| SumRecord {
        image: table.labeled.stream.image,
        streams: sum.streams,
        events: sum.events,
        answer: AnswerRecord::new(table, question, &sum.answer, options.top),
        terminals: table.records(),
    });
    let is_verified = matches!(question, Question::Verify);
    let good = !is_verified || are_good(&answers);
    let document = Document {
        schema: SCHEMA,
        cpu_time: run.profile.and_then(CpuTimeRecord::new),
        question: name(question),
        interrupted: run.interrupt.map(Interrupt::name),
        damage: Sentences(run.damage),
        verified: is_verified.then(|| Verified {
            good,
            processes: run.accounts.iter().map(Process::from).collect(),
        }),
        streams: streams.collect(),
        sums: sums.collect(),
    };
    document::write(&document, out)?;
    Ok(good)
}

/// Writes a comparison of the streams of two runs, pair by pair, as one object and a newline.
///
/// # Errors
/// If there are too many different sequences to count, or if writing to `out` fails.
pub fn diff(
    pairs: &[[Stream<'_>; 2]],
    comparison: &Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<(), AskError> {
    let labeled_streams: Vec<_> = pairs
        .iter()
        .map(|pair| {
            pair.each_ref()
                .map(|stream| LabeledStream::new(stream, options))
        })
        .collect();
    document::write(
        &diff::document(&labeled_streams, comparison, options.top)?,
        out,
    )?;
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
