//! Compares reports about streams of real programs with the raw words of another run of the same
//! program.
//!
//! The programs run the same way each time, so the words that one run spools equal the words that
//! the collector of another run reads. Sequences over iterations (k-IPF) must be the n-grams of
//! each activation's words, counted one by one. An expanded trace must equal the words. Only
//! [`crate::naive`] reads the raw words. The grammars of SEQUITUR and SEQUITUR(1) for these words
//! must have both properties that the algorithms' authors claim.

use crate::prepared::PreparedProgram;
use anyhow::{Context, Result, ensure};
use holloway_analysis::loops::{LoopsRun, Sequences};
use holloway_format::{Count, ImageMap, read_loops};
use holloway_testkit::naive::{self, Event, Image, Stream, StreamReading};
use holloway_testkit::sequitur::check_laws;
use holloway_tests::corpus;
use holloway_tests::files::copy_program;
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch, tests_directory};
use holloway_tests::workload::{BZIP2, Flavor, LUA, Workload, ZLIB};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sequences of words, each with its count.
type Grams = HashMap<Vec<u32>, u64>;

/// An event of a trace: a path, by its number in [`Paths`], or the number of frames that were left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Item {
    Path(usize),
    Left(u64),
}

/// Numbers paths by their symbol and their number in the function, which both words and terminals
/// determine.
#[derive(Default)]
struct Paths {
    numbers: HashMap<(String, u64), usize>,
    words: HashMap<u32, Item>,
}

impl Paths {
    fn path(&mut self, name: &str, id: u64) -> Item {
        let next = self.numbers.len();
        Item::Path(*self.numbers.entry((name.to_owned(), id)).or_insert(next))
    }

    fn word(&mut self, image: &mut Image, word: u32) -> Result<Item> {
        if let Some(item) = self.words.get(&word) {
            return Ok(*item);
        }
        let facts = image.facts(word)?;
        let name = image.function(facts.function).linkage_name.as_str();
        let item = self.path(name, facts.path);
        self.words.insert(word, item);
        Ok(item)
    }

    fn shown(&self, item: Option<&Item>) -> String {
        let name = |number: usize| self.numbers.iter().find(|(_, n)| **n == number);
        match item {
            Some(Item::Path(number)) => format!("{:?}", name(*number).map(|(name, _)| name)),
            other => format!("{other:?}"),
        }
    }

    fn items(&mut self, reading: &StreamReading, image: &mut Image) -> Result<Vec<Item>> {
        let mut all = Vec::new();
        for event in &reading.events {
            match event {
                Event::Path { word, .. } => all.push(self.word(image, *word)?),
                Event::Left(_) => all.push(Item::Left(1)),
                Event::Enter | Event::Close(_) => {}
            }
        }
        Ok(summed(&all))
    }

    /// Reads the terminals that a report lists.
    fn terminals(&mut self, stream: &Value) -> Result<Vec<Item>> {
        let all = stream["terminals"].as_array().context("no terminals")?;
        let item = |terminal: &Value| {
            if let Some(left) = terminal["left"].as_u64() {
                return Ok(Item::Left(left));
            }
            let path = &terminal["path"];
            let name = path["linkage_name"].as_str().context("a path has a name")?;
            Ok(self.path(name, path["id"].as_u64().context("a path has a number")?))
        };
        all.iter().map(item).collect()
    }
}

/// A built program, and the command line that runs it.
pub(crate) struct Subject {
    /// The executables for [`Flavor::Loops`] and [`Flavor::Trace`].
    pub(crate) programs: [PathBuf; 2],
    arguments: Vec<String>,
    /// The folder in which the program runs. It is cleared before each run.
    folder: PathBuf,
    /// The input files.
    input: Option<(&'static str, String)>,
    streams: usize,
}

#[test]
fn sequences_and_traces_of_bzip2_are_its_words() {
    let text = Some(("text", corpus::text(5, 30_000)));
    workload(&BZIP2, &["-k", "-9", "text"], text).unwrap();
}

#[test]
fn sequences_and_traces_of_lua_are_its_words() {
    let script = tests_directory().join("workloads/lua/work.lua");
    workload(&LUA, &[&script.to_string_lossy(), "1"], None).unwrap();
}

#[test]
fn sequences_and_traces_of_zlib_are_its_words() {
    let text = Some(("text", corpus::text(6, 30_000)));
    workload(&ZLIB, &["text"], text).unwrap();
}

/// Two threads that do different work at the same time. Each has a stream.
const TWO: &str = "\
#include <pthread.h>
__attribute__((noinline)) static int step(int n, unsigned *state) {
  *state = *state * 1103515245 + 12345;
  if (*state >> 16 & 1) n += 3;
  if (n % 7 == 0) return n + 1;
  return n < 3 ? n : step(n / 3, state);
}
static void *work(void *argument) {
  unsigned state = *(unsigned *)argument;
  int sum = 0;
  for (int i = 0; i < 20000 * (int)(state % 3 + 1); i++) {
    for (int j = 0; j < (int)(state >> 20 & 3); j++) sum ^= j;
    sum = step(sum + i % 100, &state) & 0xff;
  }
  *(int *)argument = sum;
  return 0;
}
int main(void) {
  unsigned one = 4, two = 8;
  pthread_t thread;
  pthread_create(&thread, 0, work, &one);
  work(&two);
  pthread_join(thread, 0);
}
";

#[test]
fn sequences_and_traces_of_two_threads_are_their_words() {
    let scratch = scratch("two-threads").unwrap();
    std::fs::write(scratch.path().join("two.c"), TWO).unwrap();
    let build = |kind: &str| {
        let program = scratch.path().join(kind);
        let mut command = holloway_command(["cc", "-O1", "-g", "-pthread", "two.c", "-o"]);
        command.arg(&program).current_dir(scratch.path());
        command.env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
        run_ok(command.env("HOLLOWAY_COLLECT", kind)).unwrap();
        program
    };
    let subject = Subject {
        programs: ["loops", "trace"].map(build),
        arguments: Vec::new(),
        folder: scratch.path().join("run"),
        input: None,
        streams: 2,
    };
    subject.check(scratch.path()).unwrap();
}

fn workload(
    workload: &'static Workload,
    arguments: &[&str],
    input: Option<(&'static str, String)>,
) -> Result<()> {
    let scratch = scratch(&format!("grams-{}", workload.name()))?;
    let subject = subject(workload, arguments, input, scratch.path())?;
    subject.check(scratch.path())
}

/// Builds a program of the suite.
pub(crate) fn subject(
    workload: &'static Workload,
    arguments: &[&str],
    input: Option<(&'static str, String)>,
    scratch: &Path,
) -> Result<Subject> {
    let prepared = PreparedProgram::of(workload)?;
    let build = |flavor| prepared.build(flavor);
    Ok(Subject {
        programs: [build(Flavor::Loops)?, build(Flavor::Trace)?],
        arguments: arguments.iter().map(|a| (*a).to_owned()).collect(),
        folder: scratch.join("run"),
        input,
        streams: 1,
    })
}

impl Subject {
    fn check(&self, scratch: &Path) -> Result<()> {
        self.loops(&scratch.join("loops-data")).context("loops")?;
        self.trace(&scratch.join("trace-data")).context("trace")
    }

    /// Runs the program in a folder that has the same name and content in each run.
    pub(crate) fn run(&self, program: &Path, data: &Path, collect: Option<&[&str]>) -> Result<()> {
        let _ = std::fs::remove_dir_all(&self.folder);
        std::fs::create_dir_all(&self.folder)?;
        let executable = self.folder.join("program");
        copy_program(program, &executable)?;
        if let Some((name, text)) = &self.input {
            std::fs::write(self.folder.join(name), text)?;
        }
        let mut command = match collect {
            Some(options) => {
                let mut command = holloway_command(["run", "--no-report", "-o"]);
                command.arg(data).args(options).arg("--").arg(&executable);
                command
            }
            None => {
                let mut command = Command::new(&executable);
                clean(&mut command);
                command.env("HOLLOWAY_DATA", data);
                command
            }
        };
        run_ok(command.args(&self.arguments).current_dir(&self.folder))?;
        Ok(())
    }

    /// Reads the streams of a run without a collector. The map comes from a run with a collector.
    pub(crate) fn spooled(
        &self,
        program: &Path,
        data: &Path,
        collected: &Path,
    ) -> Result<(Vec<StreamReading>, Image)> {
        self.run(program, data, None)?;
        let streams = naive::streams(data)?;
        ensure!(streams.len() == self.streams, "{} streams", streams.len());
        let mut threads: Vec<u32> = streams.iter().map(|s| s.thread).collect();
        threads.dedup();
        ensure!(threads.len() == streams.len(), "two streams of one thread");
        let image: &Stream = &streams[0];
        let mut image = naive::images(collected)?
            .remove(&image.image)
            .context("no map")?;
        let reading = streams.iter().map(|s| naive::read(s, &mut image));
        Ok((reading.collect::<Result<_>>()?, image))
    }

    fn loops(&self, data: &Path) -> Result<()> {
        let program = &self.programs[0];
        let mut files = Vec::new();
        for most in [8, 2] {
            let collected = data.join(format!("k{most}"));
            self.run(program, &collected, Some(&["--k", &most.to_string()]))?;
            files.push((most, collected));
        }
        let (reading, mut image) = self.spooled(program, &data.join("spooled"), &files[0].1)?;
        let words: usize = reading.iter().map(|t| t.events.len()).sum();
        let mut ran = grams(&reading, 8);
        // A left path is not part of longer sequences.
        for (word, count) in naive::left(reading.iter(), &mut image)? {
            if let Ok(count) = u64::try_from(count) {
                *ran.entry(vec![word]).or_default() += count;
            }
        }
        for (most, collected) in &files {
            let actual = naive::files(collected, "hwl")?;
            ensure!(actual.len() == 1, "{} forests", actual.len());
            let forest = read_loops(&std::fs::read(&actual[0])?, &image.map)?;
            ensure!(forest.damage.is_empty(), "{:?}", forest.damage);
            ensure!(forest.head.k == *most, "k is {}", forest.head.k);
            let run = LoopsRun::new(vec![(image.map.clone(), vec![forest])]);
            for k in [1, 2, 4, 8].into_iter().filter(|k| k <= most) {
                let wanted = ran.iter().filter(|(words, _)| words.len() <= k as usize);
                let wanted: Grams = wanted
                    .map(|(words, count)| (words.clone(), *count))
                    .collect();
                same(&forest_grams(&run, &image.map, k), &wanted)
                    .with_context(|| format!("k = {k}, collected with {most}"))?;
                println!("{words} events, k = {k}: {} sequences", wanted.len());
            }
        }
        Ok(())
    }

    fn trace(&self, data: &Path) -> Result<()> {
        let program = &self.programs[1];
        let [collected, spooled] = ["collected", "spooled"].map(|name| data.join(name));
        self.run(program, &collected, Some(&[]))?;
        let (reading, mut image) = self.spooled(program, &spooled, &collected)?;
        let mut paths = Paths::default();
        let mut wanted: Vec<Vec<Item>> = Vec::new();
        for reading in &reading {
            wanted.push(paths.items(reading, &mut image)?);
            let words = reading.events.iter().filter_map(|event| match event {
                Event::Path { word, .. } => Some(*word),
                _ => None,
            });
            check_laws(&words.collect::<Vec<_>>());
        }
        wanted.sort();
        for data in [&collected, &spooled] {
            let verified = trace_answer(data, &["verify"])?;
            for stream in streams(&verified)? {
                ensure!(
                    stream["answer"]["good"] == true,
                    "verify: {}",
                    stream["answer"]
                );
            }
            let cat = trace_answer(data, &["cat"])?;
            let actual = streams(&cat)?.iter().map(|stream| {
                let terminals = paths.terminals(stream)?;
                let sequence = stream["answer"]["sequence"]
                    .as_array()
                    .context("a sequence")?;
                sequence.iter().map(|t| at(&terminals, t)).collect()
            });
            let mut actual: Vec<Vec<Item>> = actual.collect::<Result<_>>()?;
            actual.iter_mut().for_each(|items| *items = summed(items));
            actual.sort();
            ensure!(actual.len() == wanted.len(), "{} traces", actual.len());
            for (actual, wanted) in actual.iter().zip(&wanted) {
                let differs =
                    (0..actual.len().max(wanted.len())).find(|i| actual.get(*i) != wanted.get(*i));
                if let Some(at) = differs {
                    let [actual, wanted] = [actual, wanted].map(|all| paths.shown(all.get(at)));
                    anyhow::bail!("event {at} is {actual} in the trace, {wanted} in the words");
                }
            }
        }
        self.loops_of_trace(&collected, &reading, &mut image, &mut paths)
    }

    /// Checks `holloway trace loops K`, which uses only the grammar.
    fn loops_of_trace(
        &self,
        data: &Path,
        reading: &[StreamReading],
        image: &mut Image,
        paths: &mut Paths,
    ) -> Result<()> {
        let ran = grams(reading, 8);
        for k in [1, 2, 4, 8] {
            let answer = trace_answer(data, &["loops", &k.to_string()])?;
            let mut actual = BTreeMap::<Vec<Item>, u64>::new();
            for stream in streams(&answer)? {
                let terminals = paths.terminals(stream)?;
                let sequences = stream["answer"]["sequences"]
                    .as_array()
                    .context("sequences")?;
                for sequence in sequences {
                    let items = sequence["terminals"].as_array().context("terminals")?;
                    let items = items
                        .iter()
                        .map(|t| at(&terminals, t))
                        .collect::<Result<_>>()?;
                    *actual.entry(items).or_default() +=
                        sequence["count"].as_u64().context("a count")?;
                }
            }
            let mut wanted = BTreeMap::<Vec<Item>, u64>::new();
            for (words, count) in ran.iter().filter(|(words, _)| words.len() <= k) {
                let items = words
                    .iter()
                    .map(|w| paths.word(image, *w))
                    .collect::<Result<_>>()?;
                *wanted.entry(items).or_default() += count;
            }
            let differs = wanted
                .iter()
                .find(|(items, count)| actual.get(*items) != Some(count));
            if let Some((items, count)) = differs {
                let actual = actual.get(items);
                anyhow::bail!("k = {k}: {items:?} ran {count} times, {actual:?} by `trace loops`");
            }
            let (actual, wanted) = (actual.len(), wanted.len());
            ensure!(
                actual == wanted,
                "k = {k}: {actual} sequences, {wanted} ran"
            );
        }
        Ok(())
    }
}

/// Returns the words of each activation, in order.
pub(crate) fn by_activation(reading: &StreamReading) -> Vec<Vec<u32>> {
    let mut ran = vec![Vec::new(); reading.functions.len()];
    for event in &reading.events {
        if let Event::Path { activation, word } = event {
            ran[*activation].push(*word);
        }
    }
    ran
}

/// Counts the sequences of up to `k` consecutive words of an activation.
fn grams(reading: &[StreamReading], k: usize) -> Grams {
    let mut all = Grams::new();
    for reading in reading {
        let ran = by_activation(reading);
        for &(word, count) in &reading.ring_counts {
            *all.entry(vec![word]).or_default() += count;
        }
        for words in &ran {
            for from in 0..words.len() {
                for to in from + 1..=words.len().min(from + k) {
                    match all.get_mut(&words[from..to]) {
                        Some(count) => *count += 1,
                        None => drop(all.insert(words[from..to].to_vec(), 1)),
                    }
                }
            }
        }
    }
    all
}

/// Returns the word of path 0 of a function.
pub(crate) fn first_word(run: &LoopsRun, map: &ImageMap, sequences: &Sequences) -> u32 {
    let function = run.run.function(sequences.id);
    let base = map.modules[function.module.0 as usize].base;
    ((base + function.map.counters.offset()) / 8 + 1) as u32
}

/// Returns the sequences in the forests of a run.
fn forest_grams(run: &LoopsRun, map: &ImageMap, k: u32) -> Grams {
    let mut all = Grams::new();
    for sequences in &run.functions {
        let first = first_word(run, map, sequences);
        let kipf = sequences.kipf(k, Count(1));
        for (number, node) in (0..).zip(kipf.nodes()) {
            let words = kipf
                .sequence(number)
                .iter()
                .map(|path| first + path)
                .collect();
            all.insert(words, node.count.0);
        }
    }
    all
}

fn same(actual: &Grams, wanted: &Grams) -> Result<()> {
    for (words, count) in wanted {
        ensure!(
            actual.get(words) == Some(count),
            "{words:?} ran {count} times, {:?} in the forest",
            actual.get(words)
        );
    }
    let (actual, wanted) = (actual.len(), wanted.len());
    ensure!(actual == wanted, "{actual} sequences, {wanted} ran");
    Ok(())
}

/// Adds up frames that were left one after the other.
fn summed(items: &[Item]) -> Vec<Item> {
    let mut all: Vec<Item> = Vec::new();
    for item in items {
        match (all.last_mut(), item) {
            (Some(Item::Left(sum)), Item::Left(more)) => *sum += more,
            _ => all.push(*item),
        }
    }
    all
}

/// Runs `holloway trace QUESTION RUN --format json`.
fn trace_answer(data: &Path, question: &[&str]) -> Result<Value> {
    let mut command = holloway_command(["trace"]);
    command.args(question).arg(data).args(["--format", "json"]);
    Ok(serde_json::from_str(&run_ok(&mut command)?.text())?)
}

fn streams(answer: &Value) -> Result<&Vec<Value>> {
    answer["streams"].as_array().context("no streams")
}

fn at(terminals: &[Item], number: &Value) -> Result<Item> {
    let number = number.as_u64().context("a terminal's number")?;
    let terminal = terminals
        .get(number as usize)
        .context("a terminal beyond all")?;
    Ok(*terminal)
}
