//! `holloway trace QUESTION`: answers questions about a run that was recorded with
//! `--collect trace`.
//!
//! A stream holds the events of one thread in one image of one process. Each chosen stream gets an
//! answer. Streams are ordered by the start of their processes.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::note::{Account, Note};
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::diff::Unit;
use holloway_collect::addresses::block_addresses;
use holloway_collect::load::{Loaded, Streams};
use holloway_collect::thread_traces::{ThreadTrace, TraceSelection};
use holloway_format::ProfileHead;
use holloway_report::notes::sentence;
use holloway_report::thread::Thread;
use holloway_report::trace::{
    AskError, Comparison, Cost, HotQuestion, Method, MinCost, Question, Run, Stream,
};
use holloway_report::{Options, grouped, plural};

use crate::cli::OutputFormat;
use crate::cli::trace::{
    AnswerArgs, ChoiceArgs, CostKey, DiffArgs, HotArgs, MethodKey, Question as QuestionArgs,
    ThreadName, TraceArgs, UnitKey,
};
use crate::failure::{Failure, Result};
use crate::printing::{source, unfiltered, warn_of_changed_workspace, write_out};
use crate::progress::Progress;
use crate::{kinds, latest, loading, status};

/// Answers a question.
///
/// # Errors
/// If there is no trace, the trace cannot be read, a pattern is wrong, or stdout cannot be written.
pub(crate) fn main(args: &TraceArgs) -> Result<ExitCode> {
    let (question, answer_args) = match &args.question {
        QuestionArgs::Stats(args) => (Question::Stats, &args.answer),
        QuestionArgs::Cat(args) => {
            let (from, count) = (args.from, args.count);
            (Question::Cat { from, count }, &args.answer)
        }
        QuestionArgs::Verify(args) => (Question::Verify, &args.answer),
        QuestionArgs::Hot(args) if args.min_len > args.max_len => {
            return Err(Failure::usage(format_args!(
                "--min-len {} is more than --max-len {}: no sequence is as long",
                args.min_len, args.max_len
            )));
        }
        QuestionArgs::Hot(args) => (Question::Hot(hot(args)), &args.answer),
        QuestionArgs::Freq(args) => (Question::Freq(&args.sequence), &args.answer),
        QuestionArgs::Before(args) => (Question::Before(&args.first, &args.second), &args.answer),
        QuestionArgs::Context(args) => (Question::Context(&args.path), &args.answer),
        QuestionArgs::Loops(args) => (Question::Loops(args.k), &args.answer),
        QuestionArgs::Query(args) => (Question::Query(&args.pattern), &args.answer),
        QuestionArgs::Diff(args) => return diff(args),
    };
    ask(question, answer_args)
}

fn hot(args: &HotArgs) -> HotQuestion {
    HotQuestion {
        min_len: args.min_len as usize,
        max_len: args.max_len as usize,
        min_cost: args.min_cost,
        cost: match args.cost {
            CostKey::Instructions => Cost::Instructions,
            CostKey::Paths => Cost::Paths,
        },
        method: match args.method {
            MethodKey::Exact => Method::Exact,
            MethodKey::Figure7 => Method::Figure7,
        },
        all: args.all,
    }
}

fn ask(question: Question<'_>, answer_args: &AnswerArgs) -> Result<ExitCode> {
    let run = match &answer_args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let selection = match question {
        Question::Cat { from, count } => TraceSelection::Events {
            from,
            count: count.unwrap_or(u64::MAX),
        },
        Question::Verify => TraceSelection::Check,
        _ => TraceSelection::All,
    };
    let traces = RunTraces::read(&run, selection)?;
    let damage = &traces.damage;
    let chosen = traces.choose(&run, &answer_args.choice)?;
    let codes = traces.codes();
    let streams = chosen.iter().map(|index| traces.stream(index, &codes));
    let streams: Vec<Stream<'_>> = streams.collect();
    let source = source();
    let options = unfiltered(
        answer_args.display.top,
        answer_args.display.style.color,
        &source,
    );
    let write = match answer_args.display.style.format {
        OutputFormat::Text => holloway_report::terminal::trace::write,
        OutputFormat::Json => holloway_report::json::trace::write,
    };
    let run = Run {
        streams: &streams,
        damage,
        accounts: &traces.accounts,
        interrupt: traces.profile.interrupt,
        profile: Some(&traces.profile),
    };
    let mut is_good = true;
    let result =
        answer(|out| write(&question, &run, &options, out).map(|verdict| is_good = verdict));
    if result.is_err() {
        // The damage may explain why a name is unknown.
        damage.iter().for_each(|note| status::warn(&sentence(note)));
    }
    result?;
    warn_of_changed_workspace(&[&traces.profile], &options);
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The default number of traces in the summary of a report.
const DEFAULT_TOP: usize = 10;

/// Prints a report's summary of traces: the CPU time, the statistics of the longest traces, and the
/// hot sequences of the longest trace.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn summary(loaded: Loaded, options: &Options<'_>) -> Result<()> {
    write_out(|out| holloway_report::terminal::write_cpu_time(&loaded.profile, options, out))?;
    let traces = RunTraces::new(loaded, TraceSelection::All);
    let codes = traces.codes();
    let mut indices = traces.selected(&ChoiceArgs::default());
    let events = |index: &StreamIndex| {
        traces.streams[index.process].1[index.thread]
            .trace
            .grammar
            .len()
    };
    indices.sort_by_key(|index| Reverse(events(index)));
    let left_out = indices
        .len()
        .saturating_sub(options.top.unwrap_or(DEFAULT_TOP));
    indices.truncate(options.top.unwrap_or(DEFAULT_TOP));
    let streams = indices.iter().map(|index| traces.stream(index, &codes));
    let streams: Vec<Stream<'_>> = streams.collect();
    let hot = HotQuestion {
        min_len: 2,
        max_len: 10,
        min_cost: MinCost::Percent(1.0),
        cost: Cost::Instructions,
        method: Method::Exact,
        all: false,
    };
    for note in &traces.damage {
        status::warn(&sentence(note));
    }
    if streams.is_empty() && left_out == 0 && !traces.damage.is_empty() {
        let text = "no trace can be read: the losses are listed above";
        return write_out(|out| writeln!(out, "{text}"));
    }
    let write = holloway_report::terminal::trace::write;
    let run = |streams| Run {
        streams,
        damage: &[],
        accounts: &[],
        interrupt: None,
        profile: None,
    };
    answer(|out| {
        if left_out == 0 || !streams.is_empty() {
            let whole = Run {
                interrupt: traces.profile.interrupt,
                ..run(&streams)
            };
            write(&Question::Stats, &whole, options, out)?;
        }
        if left_out > 0 {
            let traces = plural(left_out as u64, "trace");
            writeln!(
                out,
                "  {traces} not shown: `holloway trace stats` lists all"
            )?;
        }
        if streams.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let longest = run(&streams[..streams.len().min(1)]);
        write(&Question::Hot(hot), &longest, options, out).map(|_| ())
    })?;
    warn_of_changed_workspace(&[&traces.profile], options);
    Ok(())
}

fn diff(args: &DiffArgs) -> Result<ExitCode> {
    let read = |argument: &Path| -> Result<(PathBuf, RunTraces)> {
        let run = latest::resolve(argument)?;
        let traces = RunTraces::read(&run, TraceSelection::All)?;
        Ok((run, traces))
    };
    let [(first, a), (second, b)] = [read(&args.first)?, read(&args.second)?];
    let codes = [a.codes(), b.codes()];
    let choice = |thread: Option<ThreadName>| ChoiceArgs {
        thread: thread.or(args.choice.thread),
        ..args.choice.clone()
    };
    let chosen_a = a.choose(&first, &choice(args.thread_a))?;
    let chosen_b = b.choose(&second, &choice(args.thread_b))?;
    if chosen_a.len() != chosen_b.len() {
        return Err(Failure::usage(format_args!(
            "{} has {} and {} has {}: choose one of each with --thread-a and --thread-b; the first has {}; the second has {}",
            first.display(),
            plural(chosen_a.len() as u64, "trace"),
            second.display(),
            plural(chosen_b.len() as u64, "trace"),
            a.list(&chosen_a),
            b.list(&chosen_b),
        )));
    }
    // Data that the run lacks may be missing in the trace, too.
    let damage_a: Vec<Vec<Note>> = chosen_a.iter().map(|index| a.all_damage(index)).collect();
    let damage_b: Vec<Vec<Note>> = chosen_b.iter().map(|index| b.all_damage(index)).collect();
    let streams_a = chosen_a
        .iter()
        .zip(&damage_a)
        .map(|(index, damage)| Stream {
            damage,
            ..a.stream(index, &codes[0])
        });
    let streams_b = chosen_b
        .iter()
        .zip(&damage_b)
        .map(|(index, damage)| Stream {
            damage,
            ..b.stream(index, &codes[1])
        });
    let pairs: Vec<[Stream<'_>; 2]> = streams_a.zip(streams_b).map(|(a, b)| [a, b]).collect();
    let comparison = Comparison {
        unit: match args.unit {
            UnitKey::Paths => Unit::Events,
            UnitKey::Functions => Unit::Functions,
        },
        max_len: args.max_len as usize,
    };
    let source = source();
    let options = unfiltered(args.display.top, args.display.style.color, &source);
    let write = match args.display.style.format {
        OutputFormat::Text => holloway_report::terminal::trace::diff,
        OutputFormat::Json => holloway_report::json::trace::diff,
    };
    answer(|out| write(&pairs, &comparison, &options, out))?;
    warn_of_changed_workspace(&[&a.profile, &b.profile], &options);
    Ok(ExitCode::SUCCESS)
}

/// Writes an answer to stdout. Errors of the question become failures here; errors of stdout are
/// left to `write_out`.
fn answer(
    write: impl FnOnce(&mut dyn io::Write) -> std::result::Result<(), AskError>,
) -> Result<()> {
    let mut failure = None;
    let mut progress = Progress::start("Asking", "the traces");
    write_out(|out| match write(&mut progress.before(out)) {
        Ok(()) => Ok(()),
        Err(AskError::Write(error)) => Err(error),
        Err(error) => {
            failure = Some(match error {
                AskError::Pattern { ref text, .. } if Path::new(text).is_dir() => Failure::usage(
                    format_args!("{error}; {text} is a directory: the run comes last"),
                ),
                AskError::Pattern { .. } => Failure::usage(error),
                _ => Failure::new(error),
            });
            Ok(())
        }
    })?;
    failure.map_or(Ok(()), Err)
}

/// The traces of a run.
pub(super) struct RunTraces {
    /// The traces by process and image. Threads are in the order in which they began.
    streams: Vec<(Streams, Vec<ThreadTrace>)>,
    /// Damage of each thread's trace, in the order of `streams`.
    notes: Vec<Vec<Vec<Note>>>,
    /// Damage of the run: data that could not be read or was not recorded.
    pub(super) damage: Vec<Note>,
    /// Differences between traces and profiles, if the traces were checked.
    accounts: Vec<Account>,
    /// The counts, without the damage.
    pub(super) profile: RunProfile,
}

/// The position of a stream in [`RunTraces`]: the index of its process and image, then of its
/// thread.
pub(super) struct StreamIndex {
    process: usize,
    thread: usize,
}

/// Answers a question about the longest chosen trace of a run.
///
/// # Errors
/// If there is no such trace, it cannot be read, or `answer` fails.
pub(super) fn with_longest<T>(
    args: &AnswerArgs,
    answer: impl FnOnce(Thread<'_>) -> Result<T>,
) -> Result<T> {
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let traces = RunTraces::read(&run, TraceSelection::All)?;
    let chosen = traces.choose(&run, &args.choice)?;
    let codes = traces.codes_with_addresses();
    let Some(longest) = traces.longest(&chosen, &codes) else {
        let run = run.display();
        return Err(Failure::new(format_args!("cannot find a trace in {run}")));
    };
    answer(Thread {
        stream: &traces.stream(longest, &codes),
        other_streams: chosen.len() - 1,
        damage: &traces.damage,
        profile: Some(&traces.profile),
    })
}

impl RunTraces {
    pub(super) fn read(run: &Path, selection: TraceSelection) -> Result<Self> {
        let load = match selection {
            TraceSelection::Check => loading::load_readable,
            _ => loading::load_with_streams,
        };
        let loaded = load(run)?;
        let shown = run.display();
        let has_images = !loaded.profile.images.is_empty();
        if has_images && !loaded.kinds.has(Kind::Trace) {
            let reason = kinds::no_data(&loaded.kinds, "traces", Kind::Trace);
            return Err(Failure::usage(format_args!("{shown}: {reason}")));
        }
        let traces = Self::new(loaded, selection);
        // If all data is missing, a check reports that as its answer.
        let can_answer = selection == TraceSelection::Check && !traces.damage.is_empty();
        if traces.streams.is_empty() && !can_answer {
            let reason = traces.damage.first().map(sentence);
            let reason = reason.as_deref().unwrap_or("nothing ran");
            return Err(Failure::new(format_args!(
                "cannot find a trace in {shown}: {reason}"
            )));
        }
        Ok(traces)
    }

    pub(super) fn new(loaded: Loaded, selection: TraceSelection) -> Self {
        Self::of_streams(loaded.streams, loaded.profile, selection)
    }

    /// The traces in these streams. The profile's damage becomes the damage of the traces.
    pub(super) fn of_streams(
        mut streams: Vec<Streams>,
        mut profile: RunProfile,
        selection: TraceSelection,
    ) -> Self {
        let _progress = (!streams.is_empty()).then(|| Progress::start("Reading", "the traces"));
        streams.sort_by_key(|streams| (streams.head.start_ns, streams.head.pid));
        let traced = streams.into_iter().map(|streams| {
            let mut traces = streams.traces(selection);
            // The system gives threads ascending ids, beginning with the id of the process. After
            // the largest id it continues with the smallest free id.
            traces.sort_by_key(|trace| trace.thread.wrapping_sub(streams.head.pid));
            (streams, traces)
        });
        let mut traced: Vec<_> = traced.collect();
        let is_checked = selection == TraceSelection::Check;
        let checked = traced.iter().filter(|_| is_checked);
        let accounts = checked.filter_map(|(streams, traces)| streams.account(traces));
        let accounts: Vec<Account> = accounts.collect();
        let mut damage = std::mem::take(&mut profile.damage);
        damage.extend(accounts.iter().filter_map(Account::note));
        traced.retain(|(_, traces)| !traces.is_empty());
        let notes = |trace: &ThreadTrace| trace.damage.iter().cloned().map(Note::Trace).collect();
        let notes_of_process = |traces: &Vec<ThreadTrace>| traces.iter().map(notes).collect();
        Self {
            notes: traced
                .iter()
                .map(|(_, traces)| notes_of_process(traces))
                .collect(),
            streams: traced,
            damage,
            accounts,
            profile,
        }
    }

    pub(super) fn codes(&self) -> Vec<Code<'_>> {
        let maps = self.streams.iter().map(|(streams, _)| &streams.map);
        maps.map(|map| Code::new(map)).collect()
    }

    /// The code of each process and image, with the addresses of its blocks.
    pub(super) fn codes_with_addresses(&self) -> Vec<Code<'_>> {
        let streams = self.streams.iter().map(|(streams, _)| streams);
        let codes = streams.map(|streams| {
            let addresses = block_addresses(&streams.head, &streams.map);
            Code::new(&streams.map).with_addresses(addresses)
        });
        codes.collect()
    }

    /// The streams that the user chose.
    pub(super) fn selected(&self, choice: &ChoiceArgs) -> Vec<StreamIndex> {
        let mut indices = Vec::new();
        for (process, (streams, traces)) in self.streams.iter().enumerate() {
            let head = &streams.head;
            let is_other_process = choice.process.is_some_and(|pid| pid != head.pid);
            let is_other_image = choice
                .image
                .as_ref()
                .is_some_and(|name| *name != head.image);
            if is_other_process || is_other_image {
                continue;
            }
            let is_chosen = |&thread: &usize| {
                choice.thread.is_none_or(|wanted| {
                    let nth = nth(traces, thread).unwrap_or(1);
                    wanted.id == traces[thread].thread
                        && wanted.nth.is_none_or(|wanted| wanted == nth)
                })
            };
            let threads = (0..traces.len()).filter(is_chosen);
            indices.extend(threads.map(|thread| StreamIndex { process, thread }));
        }
        indices
    }

    /// The longest of these streams; of equally long ones, the first.
    pub(super) fn longest<'a>(
        &self,
        chosen: &'a [StreamIndex],
        codes: &[Code<'_>],
    ) -> Option<&'a StreamIndex> {
        let length = |index: &&StreamIndex| self.stream(index, codes).trace.grammar.len();
        chosen.iter().rev().max_by_key(length)
    }

    /// The streams that the user chose.
    ///
    /// # Errors
    /// If the choice selects no stream of the run.
    pub(super) fn choose(&self, run: &Path, choice: &ChoiceArgs) -> Result<Vec<StreamIndex>> {
        let indices = self.selected(choice);
        if indices.is_empty() && !self.streams.is_empty() {
            return Err(self.empty_choice(run, choice));
        }
        Ok(indices)
    }

    /// The failure for a choice that selects no stream. Names the first option that leaves no
    /// stream, and the values that it could have.
    fn empty_choice(&self, run: &Path, choice: &ChoiceArgs) -> Failure {
        let mut chosen_so_far = String::new();
        let mut narrower = ChoiceArgs::default();
        let failure = |noun: &str, chosen_so_far: &str, names: &str| {
            let run = run.display();
            Failure::usage(format_args!(
                "no {noun}{chosen_so_far} in {run}: it has {names}"
            ))
        };
        let heads = |choice: &ChoiceArgs, name: &dyn Fn(&ProfileHead) -> String| {
            let indices = self.selected(choice);
            let heads = indices
                .iter()
                .map(|index| &self.streams[index.process].0.head);
            few(heads.map(name))
        };
        if let Some(image) = &choice.image {
            let available = heads(&narrower, &|head| head.image.clone());
            narrower.image = Some(image.clone());
            if self.selected(&narrower).is_empty() {
                return failure(
                    &format!("trace of an image `{image}`"),
                    &chosen_so_far,
                    &available,
                );
            }
            chosen_so_far = format!(" of `{image}`");
        }
        if let Some(process) = choice.process {
            let name = |head: &ProfileHead| format!("{} ({})", head.pid, head.image);
            let available = heads(&narrower, &name);
            narrower.process = Some(process);
            if self.selected(&narrower).is_empty() {
                return failure(
                    &format!("trace of a process {process}"),
                    &chosen_so_far,
                    &available,
                );
            }
            chosen_so_far = format!(" of process {process}{chosen_so_far}");
        }
        let available = self.list(&self.selected(&narrower));
        failure("such thread", &chosen_so_far, &available)
    }

    pub(super) fn stream<'a>(&'a self, index: &StreamIndex, codes: &'a [Code<'a>]) -> Stream<'a> {
        let (Streams { head, .. }, traces) = &self.streams[index.process];
        let trace = &traces[index.thread];
        Stream {
            image: &head.image,
            process: head.pid,
            thread: trace.thread,
            nth: nth(traces, index.thread),
            code: &codes[index.process],
            trace: &trace.trace,
            part: trace.part,
            file_bytes: trace.file_bytes,
            checked: trace.checked.as_ref(),
            damage: &self.notes[index.process][index.thread],
        }
    }

    /// The head of the profile of a stream's process.
    pub(super) fn head(&self, index: &StreamIndex) -> &ProfileHead {
        &self.streams[index.process].0.head
    }

    /// Damage of the run and of the stream.
    pub(super) fn all_damage(&self, index: &StreamIndex) -> Vec<Note> {
        let stream_damage = &self.notes[index.process][index.thread];
        self.damage.iter().chain(stream_damage).cloned().collect()
    }

    /// Names streams in words. Of many streams, names only the first.
    fn list(&self, indices: &[StreamIndex]) -> String {
        few(indices.iter().map(|index| {
            let (Streams { head, .. }, traces) = &self.streams[index.process];
            let thread = ThreadName {
                id: traces[index.thread].thread,
                nth: nth(traces, index.thread),
            };
            format!("thread {thread} of process {} ({})", head.pid, head.image)
        }))
    }
}

/// Lists distinct names. Of many names, lists only the first.
fn few(names: impl Iterator<Item = String>) -> String {
    const MAX_LISTED: usize = 8;
    let mut seen = BTreeSet::new();
    let names: Vec<String> = names.filter(|name| seen.insert(name.clone())).collect();
    let shown = &names[..names.len().min(MAX_LISTED)];
    let list = shown.join(", ");
    match names.len() - shown.len() {
        0 => list,
        count => format!("{list} and {} more", grouped(count as u64)),
    }
}

/// The thread's number, from 1, among the threads with its id. `None` if it is the only one. The
/// system may reuse an id after its thread has ended.
fn nth(traces: &[ThreadTrace], thread: usize) -> Option<u32> {
    let id = traces[thread].thread;
    // The traces are sorted by id.
    let earlier = traces[..thread]
        .iter()
        .rev()
        .take_while(|trace| trace.thread == id)
        .count();
    let has_later = traces
        .get(thread + 1)
        .is_some_and(|trace| trace.thread == id);
    (earlier > 0 || has_later).then_some(earlier as u32 + 1)
}
