//! Streams of random programs, compared with the sequence of a tracer: which block of which call
//! ran after which.
//!
//! The tracer is compiled plain and called at the beginning of each block (`random_graph`,
//! `random_program`), so it knows the sequence without any number of ours. With `trace`, the words
//! of a thread, expanded to their blocks, must be that sequence, with each enter, return, and left
//! frame in its place. With `loops`, whose words come when paths end, each call must have run the
//! blocks that the tracer saw. Calls must have ended in the tracer's order, except calls of one
//! path, which are only counted.

use crate::left::{self, Sort};
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

/// What happened, in order; functions by their number in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Enter(usize),
    Block(u32),
    Return(usize),
    /// So many frames were left since the item before.
    Left(u32),
}

/// Where the tracer is called, and by whom.
struct Calls {
    /// By line and column.
    ids: HashMap<(u32, u32), u32>,
    /// Ids behind a second return of a setjmp.
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
        let sort = Sort {
            dialect,
            level,
            clang,
        };
        left += program(seed, sort).unwrap_or_else(|e| panic!("seed {seed}, {level}: {e:#}"));
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
        let (told, image) = record(&program, &folder.join(kind.name()), ("TRACE", &file), kind)?;
        let mut wanted = Vec::new();
        for id in numbers(&file)? {
            let function = (id / IDS) as usize;
            wanted.extend((id % IDS == ENTER).then_some(Item::Enter(function)));
            wanted.push(Item::Block(id));
            wanted.extend((id % IDS == LEAVE).then_some(Item::Return(function)));
        }
        same(kind, &calls, &told, image, &wanted).context(kind.name())?;
    }
    Ok(())
}

/// The number of frames left.
fn program(seed: u64, sort: Sort) -> Result<u64> {
    let scratch = scratch("sequence")?;
    let folder = scratch.path();
    let source = random_program::generate(seed, 8, sort.dialect);
    left::compile(folder, &source, sort)?;
    let lines = source.functions.iter().flat_map(|f| &f.lines);
    let names = source.functions.iter().map(|f| f.name.clone());
    let calls = Calls::new(&source.text, lines.map(|(line, id)| (*line, *id)), names);
    let owner = |id: u32| {
        let mut functions = source.functions.iter();
        functions.position(|f| f.lines.values().any(|own| *own == id))
    };
    let mut left = 0;
    for kind in [Kind::Trace, Kind::Loops] {
        let program = left::link(folder, &Weaving::from(kind), sort)?;
        let file = folder.join("sequence");
        let (told, image) = record(
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
        same(kind, &calls, &told, image, &wanted).context(kind.name())?;
    }
    Ok(left / 2)
}

fn numbers(file: &Path) -> Result<Vec<u32>> {
    let bytes = std::fs::read(file)?;
    let (words, _) = bytes.as_chunks::<4>();
    Ok(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
}

/// Runs the program twice, with a collector, from which the map is had, and without one; what its
/// one stream says.
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
            let mut found = call.iter().filter_map(|c| text.find(c));
            let column = found.next().expect("a tracer call is on its line") as u32 + 1;
            ((line, column), id)
        };
        Self {
            ids: lines.map(place).collect(),
            again,
            functions: names.zip(0..).collect(),
        }
    }

    /// Whether a call may have given this stream of blocks where paths run through calls: of the
    /// path that it was on when a frame was come back to there is no word, nor of the last one of a
    /// frame that was left.
    fn fits(&self, ours: &[u32], traced: &[u32], is_left: bool) -> bool {
        // How many of ours may be behind, and whether on a path of which there is no word.
        let mut states = HashSet::from([(0, false)]);
        for id in traced {
            let mut next = HashSet::new();
            for (at, lost) in states {
                next.insert((at, true));
                if ours.get(at) == Some(id) && (!lost || self.again.contains(id)) {
                    next.insert((at + 1, false));
                }
            }
            states = next;
        }
        states.contains(&(ours.len(), false)) || is_left && states.contains(&(ours.len(), true))
    }

    /// The ids of the tracer calls that a path runs.
    fn on(&self, image: &mut Image, word: u32) -> Result<Vec<u32>> {
        let facts = image.facts(word)?;
        let map = image.function(facts.function);
        let places = facts
            .blocks
            .iter()
            .flat_map(|b| &map.blocks[*b as usize].places);
        let own = places.filter(|p| p.scope == 0);
        Ok(own
            .filter_map(|p| self.ids.get(&(p.line, p.column)).copied())
            .collect())
    }
}

/// One call: its function and the blocks it ran.
type Call = (usize, Vec<u32>);

/// Our sequence must be the tracer's.
fn same(
    kind: Kind,
    calls: &Calls,
    told: &StreamReading,
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
    let traced = |activation: usize| functions[told.functions[activation]];
    let mut found = Vec::new();
    let (mut ran, mut entered, mut last) = (vec![Vec::new(); told.functions.len()], 0, None);
    // How calls ended: returned, or left.
    let mut ended: [Vec<Call>; 2] = Default::default();
    let mut end = |ran: &[Vec<u32>], activation: usize, left: bool| {
        let call = traced(activation).map(|f| (f, ran[activation].clone()));
        ended[usize::from(left)].extend(call);
    };
    for event in &told.events {
        match *event {
            Event::Enter => {
                found.extend(traced(entered).map(Item::Enter));
                entered += 1;
            }
            Event::Path { activation, word } => {
                last = image.facts(word)?.closes;
                if traced(activation).is_some() {
                    let ids = calls.on(&mut image, word)?;
                    found.extend(ids.iter().map(|id| Item::Block(*id)));
                    ran[activation].extend(ids);
                }
            }
            Event::Close(activation) => {
                let returns = matches!(last, Some(Outcome::Return | Outcome::TailCall));
                found.extend(traced(activation).map(|f| match returns {
                    true => Item::Return(f),
                    false => Item::Left(1),
                }));
                end(&ran, activation, !returns);
            }
            Event::Left(activation) => {
                found.extend(traced(activation).map(|_| Item::Left(1)));
                end(&ran, activation, true);
            }
        }
    }
    for &activation in &told.open {
        found.extend(traced(activation).map(|_| Item::Left(1)));
        end(&ran, activation, true);
    }
    if let Some(first) = told.older.first() {
        let function = image.function(told.functions[*first]);
        anyhow::bail!(
            "{} activations older than the stream, the first of {} with {:?}",
            told.older.len(),
            function.linkage_name.as_str(),
            told.events
                .iter()
                .find(|e| matches!(e, Event::Path { activation, .. } if activation == first))
        );
    }
    if kind == Kind::Trace {
        return first_difference(&summed(&found), &summed(wanted));
    }
    let [returned, left] = by_calls(wanted);
    let is_it = |ours: &Call, theirs: &Call, is_left| {
        ours.0 == theirs.0 && calls.fits(&ours.1, &theirs.1, is_left)
    };
    // Calls of one path are counted, and in no order.
    let mut counted: Vec<(Call, u64)> = Vec::new();
    for &(word, count) in &told.ring_counts {
        let facts = image.facts(word)?;
        let Some(function) = functions[facts.function] else {
            continue;
        };
        let call = (function, calls.on(&mut image, word)?);
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
        let found = counted.iter_mut().find(is_counted);
        let (_, count) = found.with_context(|| {
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

/// Frames left at one time, added up.
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

/// The tracer's calls, those that returned and those that were left, each in the order of their
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

fn first_difference<T: PartialEq + std::fmt::Debug>(found: &[T], wanted: &[T]) -> Result<()> {
    let at = (0..found.len().max(wanted.len())).find(|i| found.get(*i) != wanted.get(*i));
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
        shown(found),
        shown(wanted)
    )
}
