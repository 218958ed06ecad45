//! Runs programs whose probes append to a ring, and reconstructs activations from the words.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::path::Path as FilePath;
use std::process::Command;

use holloway_abi::{OPERAND, RING_SIZE, RING_WORDS, WORD_CAUGHT, WORD_CONTROL};
use holloway_flow::{BlockId, Numbering, PathEnd, PathId, PathStart};
use holloway_format::{Counters, EdgeKind, FunctionMap, Outcome};

use super::graph::numbering;
use super::workspace::{PatchedModule, Workspace, run};

/// The number of counters next to the ring in `ring.c`.
const RING_COUNTERS: u64 = 1 << 18;
/// The size of the traced lines in `ring.c`, in bytes.
const LINES: u64 = 4 << 20;

/// The words, counters, and traced lines that a program with `ring.c` has written.
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

impl Workspace {
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
        let (cursor, drained, traced) = (long(0), long(tail), long(tail + 8));
        stream.lines = words(tail + 16, traced);
        stream.words = words(tail + 16 + LINES, drained / 4);
        let ring = words(RING_WORDS, RING_SIZE / 4);
        let in_ring = (drained..cursor).step_by(4);
        stream
            .words
            .extend(in_ring.map(|at| ring[(at % RING_SIZE) as usize / 4]));
        stream
    }
}

/// A path of a stream, in its activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the path's function in the map.
    pub function: usize,
    pub path: u64,
    /// Whether the path starts at the function's entry, and so begins an activation.
    pub opens: bool,
    /// Whether the path ends with a return, a tail call, or a resumed exception, and so ends an
    /// activation.
    pub closes: bool,
    /// The number of the path's activation, in the order of their first words.
    pub activation: usize,
    /// The traced lines of the path, in order.
    pub lines: Vec<u32>,
}

/// The paths of a stream, assigned to activations.
pub struct FollowedStream {
    pub steps: Vec<Step>,
    /// The functions of the activations that did not end, outermost first.
    pub open: Vec<usize>,
    /// The paths that were counted next to the ring, each with its function's number and its count.
    /// They are not steps.
    pub counted: Vec<(Step, u64)>,
    /// How often control came back to a frame from an exception or `longjmp`.
    pub caught: usize,
    /// The number of frames that were left without a path to their exit.
    pub left: usize,
}

struct Activation {
    function: usize,
    number: usize,
    /// The position in the stream of the activation's first word.
    first_position: u64,
    /// Whether it is uncertain that the frame still exists. The frame's function caught control,
    /// but perhaps in another activation.
    tentative: bool,
}

/// Assigns the words of a stream to activations. Each word must continue the topmost activation or
/// begin an activation.
pub fn follow(
    patched: &PatchedModule,
    stream: &Stream,
    file: &str,
    traced: &[u32],
) -> FollowedStream {
    let map = &patched.map;
    let numberings: Vec<Numbering> = map.functions.iter().map(numbering).collect();
    let mut followed = FollowedStream {
        steps: Vec::new(),
        counted: Vec::new(),
        open: Vec::new(),
        caught: 0,
        left: 0,
    };
    let step = |function: usize, path: u64| {
        let map = &patched.map.functions[function];
        let regenerated = numberings[function].regenerate(PathId(path)).unwrap();
        let closes = matches!(regenerated.end, PathEnd::Exit(edge) if matches!(
            map.edges[edge.index()].outcome,
            Outcome::Return | Outcome::TailCall | Outcome::Resume
        ));
        let blocks = regenerated.blocks.iter().map(|block| block.index());
        Step {
            function,
            path,
            opens: regenerated.start == PathStart::Entry,
            closes,
            activation: 0,
            lines: blocks
                .flat_map(|block| lines(map, block, file, traced))
                .collect(),
        }
    };
    let is_left = |function: usize, path: u64| {
        let end = numberings[function].regenerate(PathId(path)).unwrap().end;
        let edges = &patched.map.functions[function].edges;
        matches!(end, PathEnd::Exit(edge) if edges[edge.index()].kind == EdgeKind::Exit)
    };
    let mut reached: Vec<(Step, u64)> = Vec::new();
    for (number, function) in map.functions.iter().enumerate() {
        let Some(offset) = function.ring_counters else {
            continue;
        };
        let first = ((offset + patched.ring_base) / 8) as usize;
        for (path, &count) in (0..function.ring_counter_count()).zip(&stream.ring_counters[first..])
        {
            if count > 0 && is_left(number, path) {
                reached.push((step(number, path), count));
            } else if count > 0 {
                let step = step(number, path);
                assert!(step.opens, "a counted path starts at the entry");
                followed.counted.push((step, count));
            }
        }
    }
    let mut stack: Vec<Activation> = Vec::new();
    let mut count = 0;
    let mut steps_by_word: HashMap<u32, Step> = HashMap::new();
    let mut words = (0u64..).step_by(4).zip(&stream.words).peekable();
    while let Some((at, &word)) = words.next() {
        if word >= WORD_CONTROL {
            assert_eq!(word, WORD_CAUGHT);
            let [low, high, catcher] = [(); 3].map(|()| words.next().unwrap().1 & !OPERAND);
            let position = 4 * (u64::from(low) | u64::from(high) << 31);
            // The catcher is 0 if the catching function appends no words.
            let catcher = (catcher != 0).then(|| find(patched, catcher));
            assert!(
                catcher.is_none_or(|(_, path)| path == 0),
                "path 0 identifies the catcher"
            );
            followed.caught += 1;
            let first = stack.partition_point(|activation| activation.first_position < position);
            let keeps_frame = stack
                .get(first)
                .is_some_and(|a| catcher.is_some_and(|(function, _)| a.function == function));
            followed.left += stack.len() - first - usize::from(keeps_frame);
            stack.truncate(first + usize::from(keeps_frame));
            if keeps_frame {
                stack.last_mut().unwrap().tentative = true;
            }
            continue;
        }
        let known_step = steps_by_word.entry(word).or_insert_with(|| {
            let (function, path) = find(patched, word);
            let step = step(function, path);
            let map = &patched.map.functions[function];
            let is_whole_activation = step.opens && step.closes && counts_whole_activations(map);
            assert!(
                !is_whole_activation,
                "whole activations are counted, not appended"
            );
            assert!(
                !is_left(function, path),
                "left paths are counted, not appended"
            );
            step
        });
        let Step {
            function,
            opens,
            closes,
            ..
        } = *known_step;
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
                first_position: at,
                tentative: false,
            });
        }
        let top = stack
            .last_mut()
            .unwrap_or_else(|| panic!("function {function} continues at {at}"));
        assert_eq!(top.function, function, "continues at {at}");
        top.tentative = false;
        let activation = top.number;
        followed.steps.push(Step {
            activation,
            ..known_step.clone()
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

impl FollowedStream {
    /// Counts the left paths: how often control reached the call, minus the number of paths that
    /// continued after the call.
    fn count_left(
        &mut self,
        mut reached: Vec<(Step, u64)>,
        blocks: impl Fn(&Step) -> Vec<BlockId>,
    ) {
        let mut counts_by_path: HashMap<(usize, u64), (bool, Vec<BlockId>, u64)> = HashMap::new();
        let steps = self.steps.iter().map(|step| (step, 1));
        for (step, count) in steps.chain(self.counted.iter().map(|(step, count)| (step, *count))) {
            let sum = counts_by_path.entry((step.function, step.path));
            sum.or_insert_with(|| (step.opens, blocks(step), 0)).2 += count;
        }
        reached.sort_by_cached_key(|(step, _)| std::cmp::Reverse(blocks(step).len()));
        for (step, count) in reached {
            let path_blocks = blocks(&step);
            let continued = counts_by_path
                .iter()
                .filter(|((function, _), (opens, blocks, _))| {
                    *function == step.function
                        && *opens == step.opens
                        && blocks.starts_with(&path_blocks)
                });
            let continued: u64 = continued.map(|(_, (_, _, count))| count).sum();
            let left = count
                .checked_sub(continued)
                .expect("a call came back that was not reached");
            if left > 0 {
                counts_by_path.insert((step.function, step.path), (step.opens, path_blocks, left));
                self.counted.push((step, left));
            }
        }
    }
}

/// Whether paths that are whole activations are counted instead of appended. They are not in a
/// function with loops to which exceptions may come back, because the next word reports that.
fn counts_whole_activations(map: &FunctionMap) -> bool {
    let mut edges = map.edges.iter();
    let catches = edges.any(|e| matches!(e.outcome, Outcome::Unwind | Outcome::Again));
    map.ring_counters.is_some() && (!catches || map.paths_before_starts() == map.path_count)
}

/// The function and path of a word.
fn find(patched: &PatchedModule, word: u32) -> (usize, u64) {
    let index = u64::from(word - 1) - patched.base / 8;
    let functions = patched.map.functions.iter().enumerate();
    let mut candidates = functions.filter_map(|(number, function)| match function.counters {
        Counters::Array { offset, len } => {
            let path = index.checked_sub(offset / 8).filter(|path| *path < len)?;
            Some((number, path))
        }
        other => panic!("{other:?} in a stream"),
    });
    candidates
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
    let mut lines_of_block: Vec<(u32, u32)> =
        places.map(|place| (place.scope, place.line)).collect();
    lines_of_block.dedup();
    lines_of_block.into_iter().map(|(_, line)| line).collect()
}
