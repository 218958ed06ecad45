//! Streams of paths: runs programs with a ring, and follows the appended words.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::path::Path as FilePath;
use std::process::Command;

use holloway_abi::{OPERAND, RING_SIZE, RING_WORDS, WORD_CAUGHT, WORD_CONTROL};
use holloway_flow::{BlockId, Numbering, PathEnd, PathId, PathStart};
use holloway_format::{Counters, EdgeKind, FunctionMap, Outcome};

use super::bench::{Bench, Placed, run};
use super::graph::numbering;

/// The number of counters next to the ring in `ring.c`.
const RING_COUNTERS: u64 = 1 << 18;
/// The size of the traced lines in `ring.c`, in bytes.
const LINES: u64 = 4 << 20;

/// The words, counters, and traced lines that a program with `ring.c` wrote.
pub struct Stream {
    pub status: Option<i32>,
    pub stdout: String,
    /// The words, in order, from position 0.
    pub words: Vec<u32>,
    /// The counters next to the ring.
    pub ring_counters: Vec<u64>,
    /// The traced lines, in order.
    pub lines: Vec<u32>,
}

/// The object of `ring.c`, compiled once.
fn ring() -> &'static FilePath {
    static RING: std::sync::OnceLock<(tempfile::TempDir, std::path::PathBuf)> =
        std::sync::OnceLock::new();
    let (_, object) = RING.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("ring.o");
        let source = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/weave/support/ring.c");
        run(Command::new("gcc")
            .args(["-c", "-O2", "-fPIC", "-mgeneral-regs-only"])
            .arg("-fno-tree-loop-distribute-patterns")
            .arg(format!("-DRING_SIZE={RING_SIZE}"))
            .arg(source)
            .arg("-o")
            .arg(&object));
        (dir, object)
    });
    object
}

impl Bench {
    /// Links objects with the ring and runs the program.
    pub fn stream(&self, objects: &[Vec<u8>], link: &[&str]) -> Stream {
        let program = self.path("program");
        let mut linker = Command::new("clang++-22");
        for (index, object) in objects.iter().enumerate() {
            linker.arg(self.write(&format!("woven{index}.o"), object));
        }
        linker.arg("-fuse-ld=lld").arg(ring()).args(link);
        run(linker.arg("-o").arg(&program));
        let dump = self.path("ring");
        let _ = std::fs::remove_file(&dump);
        let output = Command::new(&program)
            .env("STUB_DUMP", &dump)
            .output()
            .unwrap();
        Stream::read(&dump, &output)
    }
}

impl Stream {
    fn read(dump: &FilePath, output: &std::process::Output) -> Self {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut stream = Self {
            status: output.status.code(),
            stdout,
            words: Vec::new(),
            ring_counters: Vec::new(),
            lines: Vec::new(),
        };
        let Ok(file) = std::fs::File::open(dump) else {
            return stream;
        };
        let words = |at: u64, count: u64| -> Vec<u32> {
            let mut bytes = vec![0; 4 * count as usize];
            file.read_exact_at(&mut bytes, at).unwrap();
            let words = bytes.chunks_exact(4);
            words
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect()
        };
        let long = |at: u64| {
            let halves = words(at, 2);
            u64::from(halves[0]) | u64::from(halves[1]) << 32
        };
        let counters_start = RING_WORDS + RING_SIZE;
        let tail = counters_start + 8 * RING_COUNTERS;
        let halves = words(counters_start, 2 * RING_COUNTERS);
        let counters = halves.chunks_exact(2);
        stream.ring_counters = counters
            .map(|halves| u64::from(halves[0]) | u64::from(halves[1]) << 32)
            .collect();
        let (cursor, taken, traced) = (long(0), long(tail), long(tail + 8));
        stream.lines = words(tail + 16, traced);
        stream.words = words(tail + 16 + LINES, taken / 4);
        let ring = words(RING_WORDS, RING_SIZE / 4);
        let left = (taken..cursor).step_by(4);
        stream
            .words
            .extend(left.map(|at| ring[(at % RING_SIZE) as usize / 4]));
        stream
    }
}

/// A path in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the path's function in the map.
    pub function: usize,
    pub path: u64,
    /// Whether the path starts at a call of the function.
    pub opens: bool,
    /// Whether the function leaves by itself at the end of the path.
    pub closes: bool,
    /// The number of the path's activation, in the order of their first words.
    pub activation: usize,
    /// The traced lines of the path, in order.
    pub lines: Vec<u32>,
}

/// A module's stream, followed path by path.
pub struct Followed {
    pub steps: Vec<Step>,
    /// Functions of the activations that were not closed, outermost first.
    pub open: Vec<usize>,
    /// The paths that were counted next to the ring, each with its function's number and its count.
    /// They are not steps.
    pub counted: Vec<(Step, u64)>,
    /// The number of times that a frame caught control, and the number of frames that were left.
    pub caught: usize,
    pub left: usize,
}

struct Activation {
    function: usize,
    number: usize,
    at: u64,
    /// The frame was kept when its function caught control, but may belong to another call.
    tentative: bool,
}

/// Follows a stream strictly: each word must continue the topmost activation or begin an
/// activation.
pub fn follow(placed: &Placed, stream: &Stream, file: &str, traced: &[u32]) -> Followed {
    let map = &placed.map;
    let numberings: Vec<Numbering> = map.functions.iter().map(numbering).collect();
    let mut followed = Followed {
        steps: Vec::new(),
        counted: Vec::new(),
        open: Vec::new(),
        caught: 0,
        left: 0,
    };
    let step = |function: usize, path: u64| {
        let map = &placed.map.functions[function];
        let found = numberings[function].regenerate(PathId(path)).unwrap();
        let closes = matches!(found.end, PathEnd::Exit(edge) if matches!(
            map.edges[edge.index()].outcome,
            Outcome::Return | Outcome::TailCall | Outcome::Resume
        ));
        let blocks = found.blocks.iter().map(|block| block.index());
        Step {
            function,
            path,
            opens: found.start == PathStart::Entry,
            closes,
            activation: 0,
            lines: blocks
                .flat_map(|block| lines(map, block, file, traced))
                .collect(),
        }
    };
    let is_left = |function: usize, path: u64| {
        let end = numberings[function].regenerate(PathId(path)).unwrap().end;
        let edges = &placed.map.functions[function].edges;
        matches!(end, PathEnd::Exit(edge) if edges[edge.index()].kind == EdgeKind::Exit)
    };
    let mut reached: Vec<(Step, u64)> = Vec::new();
    for (number, function) in map.functions.iter().enumerate() {
        let Some(offset) = function.ring_counters else {
            continue;
        };
        let first = ((offset + placed.ring_base) / 8) as usize;
        for (path, &count) in (0..function.ring_counter_count()).zip(&stream.ring_counters[first..])
        {
            if count > 0 && is_left(number, path) {
                reached.push((step(number, path), count));
            } else if count > 0 {
                let step = step(number, path);
                assert!(step.opens, "it starts at a head");
                followed.counted.push((step, count));
            }
        }
    }
    let mut stack: Vec<Activation> = Vec::new();
    let mut count = 0;
    let mut known: HashMap<u32, Step> = HashMap::new();
    let mut words = (0u64..).step_by(4).zip(&stream.words).peekable();
    while let Some((at, &word)) = words.next() {
        if word >= WORD_CONTROL {
            assert_eq!(word, WORD_CAUGHT);
            let [low, high, catcher] = [(); 3].map(|()| words.next().unwrap().1 & !OPERAND);
            let position = 4 * (u64::from(low) | u64::from(high) << 31);
            // 0: the activation is counted next to the ring.
            let catcher = (catcher != 0).then(|| find(placed, catcher));
            assert!(
                catcher.is_none_or(|(_, path)| path == 0),
                "the catcher is told by its path 0"
            );
            followed.caught += 1;
            let first = stack.partition_point(|activation| activation.at < position);
            let own = stack
                .get(first)
                .is_some_and(|a| catcher.is_some_and(|(function, _)| a.function == function));
            followed.left += stack.len() - first - usize::from(own);
            stack.truncate(first + usize::from(own));
            if own {
                stack.last_mut().unwrap().tentative = true;
            }
            continue;
        }
        let known = known.entry(word).or_insert_with(|| {
            let (function, path) = find(placed, word);
            let step = step(function, path);
            let map = &placed.map.functions[function];
            let is_alone = step.opens && step.closes && counts_alone(map);
            assert!(!is_alone, "a path counts that is alone");
            assert!(!is_left(function, path), "a left path counts");
            step
        });
        let Step {
            function,
            opens,
            closes,
            ..
        } = *known;
        if opens {
            if stack
                .last()
                .is_some_and(|top| top.tentative && top.function == function)
            {
                stack.pop();
                followed.left += 1;
            }
            let number = count;
            count += 1;
            stack.push(Activation {
                function,
                number,
                at,
                tentative: false,
            });
        }
        let top = stack
            .last_mut()
            .unwrap_or_else(|| panic!("function {function} goes on at {at}"));
        assert_eq!(top.function, function, "goes on at {at}");
        top.tentative = false;
        let activation = top.number;
        followed.steps.push(Step {
            activation,
            ..known.clone()
        });
        if closes {
            stack.pop();
        }
    }
    followed.open = stack.iter().map(|activation| activation.function).collect();
    let blocks = |step: &Step| {
        let numbering = &numberings[step.function];
        numbering.regenerate(PathId(step.path)).unwrap().blocks
    };
    followed.count_left(reached, blocks);
    followed
}

impl Followed {
    /// Counts the left paths: how often control reached their call, minus all paths that went on.
    fn count_left(
        &mut self,
        mut reached: Vec<(Step, u64)>,
        blocks: impl Fn(&Step) -> Vec<BlockId>,
    ) {
        let mut ran: HashMap<(usize, u64), (bool, Vec<BlockId>, u64)> = HashMap::new();
        let steps = self.steps.iter().map(|step| (step, 1));
        for (step, count) in steps.chain(self.counted.iter().map(|(step, count)| (step, *count))) {
            let sum = ran.entry((step.function, step.path));
            sum.or_insert_with(|| (step.opens, blocks(step), 0)).2 += count;
        }
        reached.sort_by_cached_key(|(step, _)| std::cmp::Reverse(blocks(step).len()));
        for (step, count) in reached {
            let way = blocks(&step);
            let on = ran.iter().filter(|((function, _), (opens, blocks, _))| {
                *function == step.function && *opens == step.opens && blocks.starts_with(&way)
            });
            let on: u64 = on.map(|(_, (_, _, count))| count).sum();
            let left = count
                .checked_sub(on)
                .expect("a call came back that was not reached");
            if left > 0 {
                ran.insert((step.function, step.path), (step.opens, way, left));
                self.counted.push((step, left));
            }
        }
    }
}

/// Whether paths that are whole activations are counted. They are not if a frame with loops shows
/// by its next word that it caught an exception.
fn counts_alone(map: &FunctionMap) -> bool {
    let mut edges = map.edges.iter();
    let catches = edges.any(|e| matches!(e.outcome, Outcome::Unwind | Outcome::Again));
    map.ring_counters.is_some() && (!catches || map.paths_before_starts() == map.path_count)
}

/// The function and path of a word.
fn find(placed: &Placed, word: u32) -> (usize, u64) {
    let index = u64::from(word - 1) - placed.base / 8;
    let functions = placed.map.functions.iter().enumerate();
    let mut found = functions.filter_map(|(number, function)| match function.counters {
        Counters::Array { offset, len } => {
            let path = index.checked_sub(offset / 8).filter(|path| *path < len)?;
            Some((number, path))
        }
        other => panic!("{other:?} in a stream"),
    });
    found
        .next()
        .unwrap_or_else(|| panic!("word {word} is no path's"))
}

/// The traced lines of a block, in order.
fn lines(function: &FunctionMap, block: usize, file: &str, traced: &[u32]) -> Vec<u32> {
    let places = function.blocks[block].places.iter().filter(|place| {
        place.column == 1
            && traced.contains(&place.line)
            && function.scopes[place.scope as usize].file.ends_with(file)
    });
    let mut seen: Vec<(u32, u32)> = places.map(|place| (place.scope, place.line)).collect();
    seen.dedup();
    seen.into_iter().map(|(_, line)| line).collect()
}
