//! Compares streams of random programs with a tracer's sequence of blocks.
//!
//! The tracer is compiled without instrumentation and called at the beginning of each block
//! (`random_graph`, `random_program`), so it knows the sequence without using our numbering. With
//! `trace`, the words of a thread, expanded to their blocks, must equal that sequence, with each
//! call, return, and left frame at the right position. With `loops`, whose words are appended when
//! paths end, each call must have run the blocks that the tracer saw. Calls must have ended in the
//! tracer's order, except calls of one path, which are only counted.

use crate::left::{self, BuildConfig};
use crate::tracer;
use anyhow::{Context, Result, ensure};
use holloway_format::Outcome;
use holloway_testkit::naive::{self, Event, Image, StreamReading};
use holloway_tests::kind::{Kind, Weaving};
use holloway_tests::random_graph::{self, ENTER, IDS, LEAVE};
use holloway_tests::random_program::{self, Dialect, LEFT, RETURNED};
use holloway_tests::tool::{clean, holloway_command, run, scratch};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

/// An event of the sequence. Functions have their numbers in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Enter(usize),
    Block(u32),
    Return(usize),
    /// This many frames were left since the previous event.
    Left(u32),
}

/// The tracer calls of the program's functions.
struct Calls {
    /// The id of each tracer call, by line and column.
    ids: HashMap<(u32, u32), u32>,
    /// Ids of blocks after a second return of a setjmp.
    again: HashSet<u32>,
    functions: HashMap<String, usize>,
}

#[test]
fn random_graphs_run_the_blocks_that_were_traced_in_their_order() {
    for (seed, level, clang, blocks) in [
        (200, "-O0", 22, 14),
        (201, "-O2", 22, 14),
        (202, "-O1", 19, 14),
        (203, "-O3", 22, 14),
        (204, "-Os", 22, 14),
        (205, "-O0", 22, 150),
    ] {
        graph(seed, level, clang, blocks).unwrap_or_else(|e| panic!("seed {seed}, {level}: {e:#}"));
    }
}

#[test]
fn frames_left_by_longjmp_stand_where_they_were_traced() {
    soak(140_000, 4, Dialect::C, &["-O0", "-O2", "-O1", "-O3"], 22);
    soak(150_000, 1, Dialect::C, &["-O2"], 19);
}

#[test]
fn frames_left_by_exceptions_stand_where_they_were_traced() {
    soak(160_000, 4, Dialect::Cpp, &["-O0", "-O2", "-O1"], 22);
}

fn soak(first_seed: u64, usual: u64, dialect: Dialect, levels: &[&'static str], clang: u32) {
    let number = match std::env::var("HOLLOWAY_SOAK") {
        Ok(text) => text.parse().expect("HOLLOWAY_SOAK is a number"),
        Err(_) => usual,
    };
    let mut left = 0;
    for seed in first_seed..first_seed + number {
        let level = levels[(seed % levels.len() as u64) as usize];
        let config = BuildConfig {
            dialect,
            level,
            clang,
        };
        left += program(seed, config).unwrap_or_else(|e| panic!("seed {seed}, {level}: {e:#}"));
    }
    assert!(left > 10 * number, "only {left} frames were left");
    println!("{number} programs, {left} frames left");
}

fn graph(seed: u64, level: &str, clang: u32, blocks: u64) -> Result<()> {
    let scratch = scratch("sequence")?;
    let folder = scratch.path();
    let source = random_graph::generate(seed, 30, blocks, 60);
    tracer::compile(folder, &source, level, clang)?;
    let lines = source
        .functions
        .iter()
        .flat_map(|f| f.lines.iter().copied());
    let names = source.functions.iter().map(|f| f.name.clone());
    let calls = Calls::new(&source.text, lines, names);
    for kind in [Kind::Trace, Kind::Loops] {
        let program = tracer::link(folder, kind, level, clang)?;
        let file = folder.join("sequence");
        let (reading, image) = record(&program, &folder.join(kind.name()), ("TRACE", &file), kind)?;
        let mut wanted = Vec::new();
        for id in numbers(&file)? {
            let function = (id / IDS) as usize;
            wanted.extend((id % IDS == ENTER).then_some(Item::Enter(function)));
            wanted.push(Item::Block(id));
            wanted.extend((id % IDS == LEAVE).then_some(Item::Return(function)));
        }
        same(kind, &calls, &reading, image, &wanted).context(kind.name())?;
    }
    Ok(())
}

/// Checks a random program. Returns the number of left frames.
fn program(seed: u64, config: BuildConfig) -> Result<u64> {
    let scratch = scratch("sequence")?;
    let folder = scratch.path();
    let source = random_program::generate(seed, 8, config.dialect);
    left::compile(folder, &source, config)?;
    let lines = source.functions.iter().flat_map(|f| &f.lines);
    let names = source.functions.iter().map(|f| f.name.clone());
    let calls = Calls::new(&source.text, lines.map(|(line, id)| (*line, *id)), names);
    let owner = |id: u32| {
        let mut functions = source.functions.iter();
        functions.position(|f| f.lines.values().any(|own| *own == id))
    };
    let mut left = 0;
    for kind in [Kind::Trace, Kind::Loops] {
        let program = left::link(folder, &Weaving::from(kind), config)?;
        let file = folder.join("sequence");
        let (reading, image) = record(
            &program,
            &folder.join(kind.name()),
            ("SEQUENCE", &file),
            kind,
        )?;
        let (mut wanted, mut open) = (Vec::new(), Vec::new());
        for number in numbers(&file)? {
            if number & LEFT != 0 {
                left += u64::from(number & !LEFT);
                open.truncate(open.len() - (number & !LEFT) as usize);
                wanted.push(Item::Left(number & !LEFT));
            } else if number & RETURNED != 0 {
                let function = open.pop().context("a frame returned that isn't there")?;
                wanted.push(Item::Return(function));
            } else {
                let function = owner(number).context("an id of no function")?;
                if source.functions[function].entry == number {
                    open.push(function);
                    wanted.push(Item::Enter(function));
                }
                wanted.push(Item::Block(number));
            }
        }
        same(kind, &calls, &reading, image, &wanted).context(kind.name())?;
    }
    Ok(left / 2)
}

fn numbers(file: &Path) -> Result<Vec<u32>> {
    let bytes = std::fs::read(file)?;
    let (words, _) = bytes.as_chunks::<4>();
    Ok(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
}

/// Runs the program twice: with a collector, which provides the map, and without one. Returns the
/// content of the second run's only stream.
fn record(
    program: &Path,
    data: &Path,
    (name, file): (&str, &Path),
    kind: Kind,
) -> Result<(StreamReading, Image)> {
    let collected = data.join("collected");
    std::fs::create_dir_all(data)?;
    let unused = data.join("unused");
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    command.arg(&collected).arg("--").arg(program);
    let with = run(command.env("TRACE", &unused).env(name, file))?;
    let first = std::fs::read(file)?;
    let mut command = Command::new(program);
    clean(&mut command);
    let spooled = data.join("spooled");
    command.env("HOLLOWAY_DATA", &spooled).env("TRACE", &unused);
    let without = run(command.env(name, file))?;
    ensure!(
        with.ending() == without.ending() && with.stdout == without.stdout,
        "{} with a collector, {} without\n{}",
        with.ending(),
        without.ending(),
        with.stderr
    );
    ensure!(first == std::fs::read(file)?, "it ran otherwise");
    let [stream] = &naive::streams(&spooled)?[..] else {
        anyhow::bail!("not one stream of {}", kind.name());
    };
    let mut images = naive::images(&collected)?;
    let mut image = images.remove(&stream.image).context("no map")?;
    Ok((naive::read(stream, &mut image)?, image))
}

impl Calls {
    fn new(
        text: &str,
        lines: impl Iterator<Item = (u32, u32)>,
        names: impl Iterator<Item = String>,
    ) -> Self {
        let text: Vec<&str> = text.lines().collect();
        let mut again = HashSet::new();
        let place = |(line, id): (u32, u32)| {
            let text: &str = text[line as usize - 1];
            again.extend(text.contains("again(").then_some(id));
            let call = ["trace(", "enter(", "leave(", "again("];
            let mut columns = call.iter().filter_map(|c| text.find(c));
            let column = columns.next().expect("a tracer call is on its line") as u32 + 1;
            ((line, column), id)
        };
        Self {
            ids: lines.map(place).collect(),
            again,
            functions: names.zip(0..).collect(),
        }
    }

    /// Whether a call that traced these blocks may have appended these words. Paths run through
    /// calls here, so some words are missing: those of paths on which a frame was entered again,
    /// and of the last path of a left frame.
    fn fits(&self, ours: &[u32], traced: &[u32], is_left: bool) -> bool {
        // The possible numbers of matched blocks of ours, and for each whether the current path has
        // no word.
        let mut states = HashSet::from([(0, false)]);
        for id in traced {
            let mut next = HashSet::new();
            for (matched, is_lost) in states {
                next.insert((matched, true));
                if ours.get(matched) == Some(id) && (!is_lost || self.again.contains(id)) {
                    next.insert((matched + 1, false));
                }
            }
            states = next;
        }
        states.contains(&(ours.len(), false)) || is_left && states.contains(&(ours.len(), true))
    }

    /// Returns the ids of the tracer calls on a path.
    fn traced_ids(&self, image: &mut Image, word: u32) -> Result<Vec<u32>> {
        let facts = image.facts(word)?;
        let map = image.function(facts.function);
        let places = facts
            .blocks
            .iter()
            .flat_map(|b| &map.blocks[*b as usize].places);
        let own_places = places.filter(|p| p.scope == 0);
        Ok(own_places
            .filter_map(|p| self.ids.get(&(p.line, p.column)).copied())
            .collect())
    }
}

/// A call: its function and the blocks that it ran.
type Call = (usize, Vec<u32>);

/// Checks that our sequence equals the tracer's.
fn same(
    kind: Kind,
    calls: &Calls,
    reading: &StreamReading,
    image: Image,
    wanted: &[Item],
) -> Result<()> {
    let mut image = image;
    let functions: Vec<Option<usize>> = (0..image.functions.len())
        .map(|f| {
            calls
                .functions
                .get(image.function(f).linkage_name.as_str())
                .copied()
        })
        .collect();
    let traced = |activation: usize| functions[reading.functions[activation]];
    let mut actual = Vec::new();
    let (mut ran, mut entered, mut last) = (vec![Vec::new(); reading.functions.len()], 0, None);
    // The calls by how they ended: returned or left.
    let mut ended: [Vec<Call>; 2] = Default::default();
    let mut end = |ran: &[Vec<u32>], activation: usize, left: bool| {
        let call = traced(activation).map(|f| (f, ran[activation].clone()));
        ended[usize::from(left)].extend(call);
    };
    for event in &reading.events {
        match *event {
            Event::Enter => {
                actual.extend(traced(entered).map(Item::Enter));
                entered += 1;
            }
            Event::Path { activation, word } => {
                last = image.facts(word)?.closes;
                if traced(activation).is_some() {
                    let ids = calls.traced_ids(&mut image, word)?;
                    actual.extend(ids.iter().map(|id| Item::Block(*id)));
                    ran[activation].extend(ids);
                }
            }
            Event::Close(activation) => {
                let returns = matches!(last, Some(Outcome::Return | Outcome::TailCall));
                actual.extend(traced(activation).map(|f| match returns {
                    true => Item::Return(f),
                    false => Item::Left(1),
                }));
                end(&ran, activation, !returns);
            }
            Event::Left(activation) => {
                actual.extend(traced(activation).map(|_| Item::Left(1)));
                end(&ran, activation, true);
            }
        }
    }
    for &activation in &reading.open {
        actual.extend(traced(activation).map(|_| Item::Left(1)));
        end(&ran, activation, true);
    }
    if let Some(first) = reading.older.first() {
        let function = image.function(reading.functions[*first]);
        anyhow::bail!(
            "{} activations older than the stream, the first of {} with {:?}",
            reading.older.len(),
            function.linkage_name.as_str(),
            reading
                .events
                .iter()
                .find(|e| matches!(e, Event::Path { activation, .. } if activation == first))
        );
    }
    if kind == Kind::Trace {
        return first_difference(&summed(&actual), &summed(wanted));
    }
    let [returned, left] = by_calls(wanted);
    let is_it = |ours: &Call, theirs: &Call, is_left| {
        ours.0 == theirs.0 && calls.fits(&ours.1, &theirs.1, is_left)
    };
    // Calls of one path are only counted, so their order is unknown.
    let mut counted: Vec<(Call, u64)> = Vec::new();
    for &(word, count) in &reading.ring_counts {
        let facts = image.facts(word)?;
        let Some(function) = functions[facts.function] else {
            continue;
        };
        let call = (function, calls.traced_ids(&mut image, word)?);
        match facts.closes {
            Some(Outcome::Return | Outcome::TailCall) => counted.push((call, count)),
            _ => ended[1].extend((0..count).map(|_| call.clone())),
        }
    }
    let mut ours = ended[0].iter().peekable();
    for (at, theirs) in returned.iter().enumerate() {
        if ours.next_if(|ours| is_it(ours, theirs, false)).is_some() {
            continue;
        }
        let is_counted = |one: &&mut (Call, u64)| one.1 > 0 && is_it(&one.0, theirs, false);
        let actual = counted.iter_mut().find(is_counted);
        let (_, count) = actual.with_context(|| {
            let ours = ours.peek();
            format!("call {at} that returned ran {ours:?} in the stream, {theirs:?} traced")
        })?;
        *count -= 1;
    }
    let more = ours.count() as u64 + counted.iter().map(|(_, count)| count).sum::<u64>();
    ensure!(more == 0, "{more} calls returned that were not traced");
    let mut left: Vec<&Call> = left.iter().collect();
    for ours in &ended[1] {
        let at = left.iter().position(|theirs| is_it(ours, theirs, true));
        let at = at.with_context(|| {
            let same = left.iter().filter(|theirs| theirs.0 == ours.0);
            format!(
                "no frame that was left ran {ours:?}, but: {:?}",
                same.collect::<Vec<_>>()
            )
        })?;
        left.remove(at);
    }
    Ok(())
}

/// Adds up frames that were left at the same time.
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

/// Returns the tracer's calls that returned and those that were left, each in the order of their
/// ends.
fn by_calls(items: &[Item]) -> [Vec<Call>; 2] {
    let (mut open, mut ended) = (Vec::<Call>::new(), [Vec::new(), Vec::new()]);
    for item in items {
        match *item {
            Item::Enter(function) => open.push((function, Vec::new())),
            Item::Block(id) => open.last_mut().expect("a call runs").1.push(id),
            Item::Return(_) => ended[0].extend(open.pop()),
            Item::Left(frames) => ended[1].extend(open.drain(open.len() - frames as usize..)),
        }
    }
    ended
}

fn first_difference<T: PartialEq + std::fmt::Debug>(actual: &[T], wanted: &[T]) -> Result<()> {
    let at = (0..actual.len().max(wanted.len())).find(|i| actual.get(*i) != wanted.get(*i));
    let Some(at) = at else { return Ok(()) };
    let shown = |all: &[T]| {
        format!(
            "{:?}",
            &all[at.saturating_sub(4).min(all.len())..(at + 4).min(all.len())]
        )
    };
    anyhow::bail!(
        "item {at} of {} differs: {} in the stream, {} traced",
        wanted.len(),
        shown(actual),
        shown(wanted)
    )
}
