//! A slow reference implementation that reads the streams in raw profiles: word after word, with a
//! plain stack of activations, by the rules in `holloway_abi` (modules `ring` and `word`). It
//! shares no code with `holloway_analysis`.

use crate::walk::walk;
use anyhow::{Context, Result, ensure};
use holloway_abi::{Kind, OPERAND, WORD_CAUGHT, WORD_CONTROL, WORD_OWNER};
use holloway_format::{
    Counters, DagKind, FunctionMap, ImageMap, Outcome, RawProfile, peek_profile, read_map,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The words that one thread appended in one image of one process.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Build id of the image.
    pub image: [u8; 16],
    /// Thread id.
    pub thread: u32,
    /// Stream position of the first word after the WORD_OWNER record.
    pub position: u64,
    /// The words.
    pub words: Vec<u32>,
    /// The ring counters. All owners of a ring share them; the stream of the first owner contains
    /// them.
    pub ring_counts: Vec<u64>,
}

/// An event of a stream. Activations are numbered in the order of their first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The first path of an activation ended. The activation has the next number. It may have begun
    /// before the stream.
    Enter,
    /// A path of this activation ended.
    Path {
        /// The activation.
        activation: usize,
        /// The path's word.
        word: u32,
    },
    /// This activation ended with its last path.
    Close(usize),
    /// This activation was left in a call.
    Left(usize),
}

/// The events of a stream, and the counts of its ring counters.
#[derive(Debug, Default)]
pub struct StreamReading {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The function of each activation, as an index of [`Image::functions`].
    pub functions: Vec<usize>,
    /// Activations that began before the stream.
    pub older: Vec<usize>,
    /// The activations that are open at the end, outermost first.
    pub open: Vec<usize>,
    /// Words of complete activations that ring counters counted, with their counts.
    pub ring_counts: Vec<(u32, u64)>,
    /// Words of left paths, with the number of times that control reached the call that ends the
    /// path.
    pub reached: Vec<(u32, u64)>,
}

/// An image, with an index from words to functions and paths.
pub struct Image {
    /// The map.
    pub map: ImageMap,
    /// The functions that have words: first word, module, function.
    pub functions: Vec<(u64, usize, usize)>,
    paths: HashMap<u32, Rc<PathFacts>>,
}

/// The properties of a path, derived from its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// The function of the path, as an index of [`Image::functions`].
    pub function: usize,
    /// The path number.
    pub path: u64,
    /// Whether the path starts at the function's entry.
    pub opens: bool,
    /// The outcome of the last edge if the path ends the activation, by a return or an exception. A
    /// call that does not return ends no activation, because a `longjmp` may lead back into the
    /// frame.
    pub closes: Option<Outcome>,
    /// Whether the path ends in a call that does not return.
    pub is_noreturn: bool,
    /// Whether the path ends in a call that did not come back.
    pub is_left: bool,
    /// Whether the path runs through a landing pad.
    pub catches: bool,
    /// The blocks of the path, without the virtual exit.
    pub blocks: Vec<u32>,
}

impl Image {
    /// The image of a map.
    pub fn new(map: ImageMap) -> Self {
        let mut functions = Vec::new();
        for (m, module) in map.modules.iter().enumerate() {
            for (f, function) in module.module.functions.iter().enumerate() {
                if let Counters::Array { offset, .. } = function.counters {
                    functions.push(((module.base + offset) / 8 + 1, m, f));
                }
            }
        }
        functions.sort_unstable();
        Self {
            map,
            functions,
            paths: HashMap::new(),
        }
    }

    /// The map of a function, given by its index in [`Image::functions`].
    pub fn function(&self, function: usize) -> &FunctionMap {
        let (_, m, f) = self.functions[function];
        &self.map.modules[m].module.functions[f]
    }

    /// The words of paths with ring counters, with their counts.
    fn counted(&self, counters: &[u64]) -> Vec<(u32, u64)> {
        let mut counted = Vec::new();
        for &(first, m, f) in &self.functions {
            let map = &self.map.modules[m].module.functions[f];
            let Some(offset) = map.ring_counters.filter(|_| !counters.is_empty()) else {
                continue;
            };
            let function_counters =
                &counters[(offset / 8) as usize..][..map.ring_counter_count() as usize];
            let words = (first as u32..).zip(function_counters.iter().copied());
            counted.extend(words.filter(|(_, count)| *count > 0));
        }
        counted
    }

    /// The facts of a word's path. They are computed once for each word.
    ///
    /// # Errors
    /// If the word is not the word of a path.
    pub fn facts(&mut self, word: u32) -> Result<Rc<PathFacts>> {
        if let Some(facts) = self.paths.get(&word) {
            return Ok(Rc::clone(facts));
        }
        let after = self.functions.partition_point(|f| f.0 <= u64::from(word));
        let function = after.checked_sub(1).context("a word below all functions")?;
        let path = u64::from(word) - self.functions[function].0;
        let map = self.function(function);
        ensure!(
            path < map.path_count,
            "word {word} is beyond the {} paths of {}",
            map.path_count,
            map.linkage_name.as_str()
        );
        let facts = Rc::new(facts(map, function, path));
        self.paths.insert(word, Rc::clone(&facts));
        Ok(facts)
    }
}

fn facts(map: &FunctionMap, function: usize, path: u64) -> PathFacts {
    let dag: Vec<_> = walk(map, path).into_iter().map(|e| map.dag[e]).collect();
    let opens = !matches!(dag.first().map(|e| e.kind), Some(DagKind::Start(_)));
    let mut blocks = Vec::new();
    blocks.extend(opens.then_some(map.entry));
    blocks.extend(dag.iter().map(|e| e.to).filter(|to| *to != map.exit));
    let edges = dag.iter().filter_map(|e| match e.kind {
        DagKind::Edge(e) | DagKind::Back(e) | DagKind::Cut(e) => {
            Some(map.edges[e as usize].outcome)
        }
        DagKind::Start(_) => None,
    });
    let end = match dag.last().map(|e| e.kind) {
        Some(DagKind::Edge(e)) => Some(map.edges[e as usize].outcome),
        _ => None,
    };
    PathFacts {
        function,
        path,
        opens,
        closes: end.filter(|o| matches!(o, Outcome::Return | Outcome::TailCall | Outcome::Resume)),
        is_noreturn: end == Some(Outcome::Noreturn),
        is_left: end == Some(Outcome::Left),
        catches: edges.into_iter().any(|o| o == Outcome::Unwind),
        blocks,
    }
}

/// The path maps in a run's directory, by build id.
///
/// # Errors
/// If a map cannot be read or is damaged.
pub fn images(data: &Path) -> Result<HashMap<[u8; 16], Image>> {
    let mut all = HashMap::new();
    for file in files(data, "hwm")? {
        let map = read_map(&std::fs::read(&file)?)?;
        ensure!(map.damage.is_empty(), "{} is damaged", file.display());
        all.insert(map.build_id, Image::new(map));
    }
    Ok(all)
}

/// The files of a run with this extension, sorted by name.
///
/// # Errors
/// If the directory cannot be listed.
pub fn files(data: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in
        std::fs::read_dir(data).with_context(|| format!("cannot list {}", data.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == extension) {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// The streams that a run without a collector left in its raw profiles.
///
/// # Errors
/// If a profile cannot be read, is damaged, or lacks words.
pub fn streams(data: &Path) -> Result<Vec<Stream>> {
    let mut all = Vec::new();
    for file in files(data, "hwp")? {
        let bytes = std::fs::read(&file)?;
        ensure!(
            !peek_profile(&bytes)?.sealed,
            "{}: a run without a collector leaves raw profiles",
            file.display()
        );
        let raw = RawProfile::parse(&bytes)?;
        ensure!(raw.damage().is_empty(), "{:?}", raw.damage());
        for ring in raw.ring_words() {
            let head = ring.ring.as_ref().context("a ring without its head")?;
            ensure!(head.missing.is_none(), "words are missing");
            let (mut next, mut words) = (head.origin, Vec::new());
            for piece in ring.pieces() {
                let piece = piece.map_err(|damage| anyhow::anyhow!("{damage:?}"))?;
                ensure!(
                    piece.position == next,
                    "words {next} to {} are lost",
                    piece.position
                );
                next += 4 * piece.words.len() as u64;
                words.extend(piece.words);
            }
            ensure!(next == head.cursor, "words end at {next}");
            let image = raw.header().profile.build_id;
            let first = all.len();
            split(&words, next - 4 * words.len() as u64, image, &mut all)?;
            all[first].ring_counts = head.counters().collect();
        }
    }
    Ok(all)
}

/// Splits the words of a ring into a stream for each owner.
fn split(words: &[u32], origin: u64, image: [u8; 16], all: &mut Vec<Stream>) -> Result<()> {
    let mut index = 0;
    let mut has_owner = false;
    while index < words.len() {
        match words[index] {
            WORD_OWNER => {
                all.push(Stream {
                    image,
                    thread: words[index + 1] & !OPERAND,
                    position: origin + 4 * (index as u64 + 2),
                    words: Vec::new(),
                    ring_counts: Vec::new(),
                });
                has_owner = true;
                index += 2;
            }
            word => {
                let stream = all.last_mut().filter(|_| has_owner);
                stream
                    .context("a ring begins with an owner")?
                    .words
                    .push(word);
                index += 1;
            }
        }
    }
    Ok(())
}

struct Activation {
    /// Stream position at which the activation began, or of its first word.
    position: u64,
    function: usize,
    /// Whether the activation is uncertain: it was created for a catcher that has no path so far,
    /// or it may not be the activation that caught.
    in_doubt: bool,
    /// The number of the activation, once one of its paths has ended.
    number: Option<usize>,
}

impl Activation {
    fn new(position: u64, function: usize) -> Self {
        Self {
            position,
            function,
            in_doubt: false,
            number: None,
        }
    }

    /// The same activation, marked as uncertain.
    fn in_doubt(self) -> Self {
        Self {
            in_doubt: true,
            ..self
        }
    }
}

/// Reads a stream to its end.
///
/// # Errors
/// If a word breaks a rule of streams.
pub fn read(stream: &Stream, image: &mut Image) -> Result<StreamReading> {
    let kind = image.map.kind;
    let (mut open, mut reading) = (Vec::new(), StreamReading::default());
    let mut index = 0;
    while let Some(&word) = stream.words.get(index) {
        let position = stream.position + 4 * index as u64;
        index += 1;
        match word {
            0 => {} // A hole: a signal handler jumped out before the word was written.
            WORD_CAUGHT => {
                let operands = stream.words.get(index..index + 3);
                let operands = operands.context("a control word at the end")?;
                index += 3;
                let value = |i: usize| u64::from(operands[i] & !OPERAND);
                let position = 4 * (value(0) | value(1) << 31);
                // 0 is a function whose paths all have ring counters.
                let catcher = match operands[2] & !OPERAND {
                    0 => None,
                    word => Some(image.facts(word)?.function),
                };
                reading.catch(&mut open, position, catcher, kind);
            }
            WORD_CONTROL.. => anyhow::bail!("control word {word:#x}"),
            word => {
                let facts = image.facts(word)?;
                let map = image.function(facts.function);
                let is_alone = facts.opens && facts.closes.is_some() && counts_alone(map);
                ensure!(
                    !is_alone && !facts.is_left,
                    "{word} is counted and appended"
                );
                reading.path(&mut open, position, word, &facts);
            }
        }
    }
    reading.open = open.iter().filter_map(|a| a.number).collect();
    for (word, count) in image.counted(&stream.ring_counts) {
        let is_left = image.facts(word)?.is_left;
        let counts = match is_left {
            true => &mut reading.reached,
            false => &mut reading.ring_counts,
        };
        counts.push((word, count));
    }
    Ok(reading)
}

/// The largest number of paths from the entry that are counted instead of appended.
const MAX_RING_COUNTED: u64 = 4096;

/// Whether woven code counts complete activations of a function in ring counters. It appends them
/// instead if the function has loops and landing pads, because the next word of a frame must show
/// that the frame caught an exception.
fn counts_alone(map: &FunctionMap) -> bool {
    let entry_paths = map.paths_from_entry();
    let mut edges = map.edges.iter();
    let catches = edges.any(|e| matches!(e.outcome, Outcome::Unwind | Outcome::Again));
    map.ring_counters.is_some()
        && entry_paths <= MAX_RING_COUNTED
        && (!catches || entry_paths == map.path_count)
}

/// The net count of each left path: the number of times that control reached its call, minus the
/// executions of paths that continued after the call. The count is negative if the call came back
/// more often than control reached it.
///
/// This function computes longer paths first, because a path that was left in a later call also
/// continued after the earlier calls.
///
/// # Errors
/// If a word is not the word of a path.
pub fn left<'a>(
    reading: impl Iterator<Item = &'a StreamReading>,
    image: &mut Image,
) -> Result<Vec<(u32, i64)>> {
    let mut ran: HashMap<usize, HashMap<u32, i64>> = HashMap::new();
    let mut reached: HashMap<u32, i64> = HashMap::new();
    for reading in reading {
        let words = reading.events.iter().filter_map(|event| match event {
            Event::Path { word, .. } => Some((*word, 1)),
            _ => None,
        });
        for (word, count) in words.chain(reading.ring_counts.iter().copied()) {
            let function_counts = ran.entry(image.facts(word)?.function).or_default();
            *function_counts.entry(word).or_default() += count as i64;
        }
        for &(word, count) in &reading.reached {
            *reached.entry(word).or_default() += count as i64;
        }
    }
    // In the child of a fork, a call may have come back although control never reached it there.
    for (first, m, f) in image.functions.clone() {
        let map = &image.map.modules[m].module.functions[f];
        let left = (0..map.path_count.min(MAX_RING_COUNTED)).map(|path| (first + path) as u32);
        for word in left.collect::<Vec<_>>() {
            if image.facts(word)?.is_left {
                reached.entry(word).or_default();
            }
        }
    }
    let mut paths = Vec::new();
    for (word, count) in reached {
        paths.push((image.facts(word)?, word, count));
    }
    paths.sort_by_key(|(facts, word, _)| (std::cmp::Reverse(facts.blocks.len()), *word));
    let mut left = Vec::new();
    for (facts, word, count) in paths {
        let function_counts = ran.entry(facts.function).or_default();
        let mut continued = 0;
        for (other, count) in function_counts.iter() {
            let other = image.facts(*other)?;
            let continues = other.opens == facts.opens && other.blocks.starts_with(&facts.blocks);
            continued += if continues { *count } else { 0 };
        }
        let net = count - continued;
        if net != 0 {
            function_counts.insert(word, net);
            left.push((word, net));
        }
    }
    Ok(left)
}

impl StreamReading {
    /// Removes the activations that began at `position` or later, except for the outermost of these
    /// activations that belongs to the catcher's function.
    fn catch(
        &mut self,
        open: &mut Vec<Activation>,
        position: u64,
        catcher: Option<usize>,
        kind: Kind,
    ) {
        let from = open.iter().position(|a| a.position >= position);
        let mut removed: Vec<Activation> = open.drain(from.unwrap_or(open.len())..).collect();
        let outermost = removed.iter().position(|a| Some(a.function) == catcher);
        let caught_in = outermost.map(|index| removed.remove(index));
        self.leave(&removed);
        match caught_in {
            // Paths end at calls, so the activation's first word came before the words of its
            // callees.
            caught_in if kind == Kind::Trace => open.extend(caught_in),
            Some(activation) => open.push(activation.in_doubt()),
            None => {
                open.extend(catcher.map(|catcher| Activation::new(position, catcher).in_doubt()));
            }
        }
    }

    fn leave(&mut self, removed: &[Activation]) {
        let numbers = removed.iter().rev().filter_map(|a| a.number);
        self.events.extend(numbers.map(Event::Left));
    }

    fn path(&mut self, open: &mut Vec<Activation>, position: u64, word: u32, facts: &PathFacts) {
        let function = facts.function;
        if facts.opens {
            let replaced =
                |top: &Activation| facts.catches && top.in_doubt && top.function == function;
            if open.last().is_some_and(replaced) {
                self.leave(&[open.pop().expect("the activation is on top")]);
            }
            open.push(Activation::new(position, function));
        } else {
            let innermost = open.iter().rposition(|a| a.function == function);
            let removed = open.drain(innermost.map_or(0, |index| index + 1)..);
            let removed: Vec<Activation> = removed.collect();
            self.leave(&removed);
            if innermost.is_none() {
                open.push(Activation::new(position, function));
                self.older.push(self.functions.len());
            }
        }
        let top = open.last_mut().expect("the activation is on the stack");
        top.in_doubt = false;
        let activation = *top.number.get_or_insert_with(|| {
            self.functions.push(function);
            self.events.push(Event::Enter);
            self.functions.len() - 1
        });
        self.events.push(Event::Path { activation, word });
        if facts.closes.is_some() {
            open.pop();
            self.events.push(Event::Close(activation));
        }
    }
}
