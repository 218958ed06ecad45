//! Simulates random programs that append streams as woven code does, and records the true paths of
//! each activation.

use std::sync::Arc;

use holloway_abi::{Kind, OPERAND, WORD_CAUGHT, WORD_OWNER};
use holloway_analysis::stream::Words;
use holloway_flow::{BlockId, EdgeId, Numbering, Path, PathEnd, PathStart};
use holloway_format::{Counters, DagKind, FunctionMap, ImageMap, ModuleMap, Outcome, PlacedModule};

use crate::build::{Build, function, image, module, numbering_of};

/// The function with landing pads.
pub const PADS: usize = 0;
/// The function without landing pads and `setjmp`.
pub const PLAIN: usize = 1;
/// The function with a `setjmp` at its start.
pub const JUMP: usize = 2;

const ENTRY: u32 = 0;
const HEAD: u32 = 1;
const CALL: u32 = 2;
const PAD: u32 = 3;
const LATCH: u32 = 4;
const RETURN: u32 = 5;
const FIRST_PAD: u32 = 6;
const FIRST_CALL: u32 = 7;
const SET_JUMP: u32 = 8;
const EXIT: u32 = 9;

/// The function with this index ([`PADS`], [`PLAIN`], or [`JUMP`]): a call, a loop with a call, and
/// a return.
fn function_map(kind: Kind, function_index: usize) -> FunctionMap {
    let cut_at_calls = |build: Build| {
        if kind == Kind::Trace {
            build.cut()
        } else {
            build
        }
    };
    let mut build = function(["pads", "plain", "jump"][function_index], "a.c", 1);
    for block in ENTRY..EXIT {
        build = build.block(1, &[(0, block + 1)]);
    }
    build = build.block(0, &[]);
    build = if function_index == JUMP {
        let build = build.edge(ENTRY, SET_JUMP, Outcome::Jump).cut();
        cut_at_calls(build.edge(SET_JUMP, FIRST_CALL, Outcome::Again))
    } else {
        cut_at_calls(build.edge(ENTRY, FIRST_CALL, Outcome::Jump))
    };
    build = build
        .edge(FIRST_CALL, HEAD, Outcome::Normal)
        .edge(HEAD, CALL, Outcome::True);
    build = cut_at_calls(build)
        .edge(HEAD, RETURN, Outcome::False)
        .edge(CALL, LATCH, Outcome::Normal)
        .edge(LATCH, HEAD, Outcome::Jump)
        .edge(RETURN, EXIT, Outcome::Return);
    if function_index == PADS {
        build = build
            .edge(FIRST_CALL, FIRST_PAD, Outcome::Unwind)
            .edge(FIRST_PAD, HEAD, Outcome::Jump)
            .edge(FIRST_PAD, EXIT, Outcome::Resume)
            .edge(CALL, PAD, Outcome::Unwind)
            .edge(PAD, LATCH, Outcome::Jump)
            .edge(PAD, EXIT, Outcome::Resume);
    }
    build.done()
}

/// An image of functions whose counters follow each other.
pub fn placed(mut functions: Vec<FunctionMap>, kind: Kind) -> Arc<ImageMap> {
    let mut offset = 0;
    for map in &mut functions {
        if let Counters::Array { len, .. } = map.counters {
            map.counters = Counters::Array { offset, len };
            offset += 8 * len;
        }
    }
    let module = ModuleMap {
        counters_size: offset,
        ..module("m", functions)
    };
    Arc::new(ImageMap {
        kind,
        modules: vec![PlacedModule { base: 64, module }],
        ..image("app", Vec::new())
    })
}

/// The image of the simulated programs.
pub fn program(kind: Kind) -> Arc<ImageMap> {
    let functions = (0..3)
        .map(|function_index| function_map(kind, function_index))
        .collect();
    placed(functions, kind)
}

/// A `WORD_CAUGHT` record.
pub fn caught(position: u64, catcher: u32) -> [u32; 4] {
    let word_position = position / 4;
    let low = word_position as u32 & (OPERAND - 1) | OPERAND;
    [
        WORD_CAUGHT,
        low,
        (word_position >> 31) as u32 | OPERAND,
        catcher | OPERAND,
    ]
}

/// A `WORD_OWNER` record.
pub fn owner(thread: u32) -> [u32; 2] {
    [WORD_OWNER, thread | OPERAND]
}

/// The activations that really ran.
#[derive(Default)]
pub struct Truth {
    /// The words of each activation. Activations without a path that ended are missing. The order
    /// is the order of their first words.
    pub activations: Vec<Vec<u32>>,
    /// The number of these activations that were left, by an exception or a `longjmp`.
    pub left: u64,
}

/// A simulated program. It runs and appends its stream.
pub struct Simulator<'a> {
    maps: Vec<(FunctionMap, Numbering, u32)>,
    choices: &'a mut dyn FnMut(u32) -> u32,
    /// Stream position of the first word.
    pub start: u64,
    /// The words.
    pub stream: Vec<u32>,
    /// The activations that ran.
    pub truth: Truth,
    /// Number of calls that may still be made.
    remaining_calls: u32,
    /// The frames that called `setjmp`, by their numbers.
    jumps: Vec<usize>,
    /// Number of frames so far.
    frames: usize,
}

/// Whether a call may end with an exception or a `longjmp`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Throws {
    Allowed,
    Forbidden,
}

/// The way in which a call ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Returned,
    Thrown,
    /// A `longjmp` to the frame with this number.
    Jumped(usize),
}

struct Frame {
    function_index: usize,
    number: usize,
    entered: u64,
    path: Path,
    /// Index in [`Truth::activations`], once a path has ended.
    activation: Option<usize>,
}

impl<'a> Simulator<'a> {
    /// A program of `remaining_calls` calls whose decisions come from `choices`. Each call of
    /// `choices` returns a number less than its argument.
    pub fn new(
        kind: Kind,
        start: u64,
        remaining_calls: u32,
        choices: &'a mut dyn FnMut(u32) -> u32,
    ) -> Self {
        let image = program(kind);
        let words = Words::new(&image);
        let maps = words.functions().map(|function| {
            let map = image.function(function.index).unwrap();
            (map.clone(), numbering_of(map), function.first)
        });
        Simulator {
            maps: maps.collect(),
            choices,
            start,
            stream: Vec::new(),
            truth: Truth::default(),
            remaining_calls,
            jumps: Vec::new(),
            frames: 0,
        }
    }

    /// Calls functions until no calls are left.
    pub fn run(&mut self) {
        while self.remaining_calls > 0 {
            let function_index = (self.choices)(3) as usize;
            self.call(function_index, Throws::Allowed);
        }
    }

    fn cursor(&self) -> u64 {
        self.start + 4 * self.stream.len() as u64
    }

    fn call(&mut self, function_index: usize, throws: Throws) -> Done {
        self.remaining_calls = self.remaining_calls.saturating_sub(1);
        self.frames += 1;
        let mut frame = Frame {
            function_index,
            number: self.frames,
            entered: self.cursor(),
            path: path(PathStart::Entry, ENTRY),
            activation: None,
        };
        self.signal();
        let jumps = self.jumps.len();
        let done = self.body(&mut frame, throws);
        self.jumps.truncate(jumps);
        // If the exception continues after a landing pad, the frame's last word closes its
        // activation.
        let resumed = done == Done::Thrown && frame.function_index == PADS;
        if done != Done::Returned && !resumed {
            self.truth.left += u64::from(frame.activation.is_some());
        }
        done
    }

    fn body(&mut self, frame: &mut Frame, throws: Throws) -> Done {
        if frame.function_index == JUMP {
            self.take_edge(frame, SET_JUMP);
            self.jumps.push(frame.number);
            self.caught(frame);
        }
        loop {
            self.take_edge(frame, FIRST_CALL);
            match self.inner(throws) {
                Done::Jumped(number) if number == frame.number => {
                    frame.path = path(PathStart::Loop(BlockId(SET_JUMP)), SET_JUMP);
                    self.caught(frame);
                }
                Done::Thrown if frame.function_index == PADS => {
                    if self.pad(frame, FIRST_PAD, HEAD) {
                        break;
                    }
                    return Done::Thrown;
                }
                Done::Returned => {
                    self.take_edge(frame, HEAD);
                    break;
                }
                done => return done,
            }
        }
        while (self.choices)(4) > 0 {
            self.take_edge(frame, CALL);
            match self.inner(throws) {
                Done::Jumped(number) if number == frame.number => {
                    frame.path = path(PathStart::Loop(BlockId(SET_JUMP)), SET_JUMP);
                    self.caught(frame);
                    self.take_edge(frame, FIRST_CALL);
                    self.take_edge(frame, HEAD);
                    continue;
                }
                Done::Thrown if frame.function_index == PADS => {
                    if !self.pad(frame, PAD, LATCH) {
                        return Done::Thrown;
                    }
                }
                Done::Returned => self.take_edge(frame, LATCH),
                done => return done,
            }
            self.take_edge(frame, HEAD);
        }
        self.take_edge(frame, RETURN);
        self.take_edge(frame, EXIT);
        Done::Returned
    }

    /// A call that may come back, throw, or jump.
    fn inner(&mut self, throws: Throws) -> Done {
        let function_index = (self.choices)(3) as usize;
        let ends = match throws {
            Throws::Allowed => 8,
            Throws::Forbidden => 6,
        };
        match (self.choices)(ends) {
            0..3 if self.remaining_calls > 0 => self.call(function_index, throws),
            6 => Done::Thrown,
            7 => self
                .jumps
                .last()
                .map_or(Done::Thrown, |&frame| Done::Jumped(frame)),
            _ => Done::Returned,
        }
    }

    /// Runs a landing pad. Returns whether the function caught the exception and continues at
    /// `next`.
    fn pad(&mut self, frame: &mut Frame, pad: u32, next: u32) -> bool {
        self.take_edge(frame, pad);
        self.caught(frame);
        if (self.choices)(3) == 0 && self.remaining_calls > 0 {
            // Clean-up code calls functions, which throw no exception.
            let function_index = (self.choices)(2) as usize;
            self.call(function_index, Throws::Forbidden);
        }
        let caught = (self.choices)(2) == 0;
        self.take_edge(frame, if caught { next } else { EXIT });
        caught
    }

    fn caught(&mut self, frame: &Frame) {
        self.signal();
        let record = caught(frame.entered, self.maps[frame.function_index].2);
        self.stream.extend(record);
    }

    /// Perhaps runs a signal handler.
    fn signal(&mut self) {
        if self.remaining_calls > 0 && (self.choices)(12) == 0 {
            self.call(PLAIN, Throws::Forbidden);
        }
    }

    /// Takes the edge to the block `to`. If a path ends with it, appends the path's word.
    fn take_edge(&mut self, frame: &mut Frame, to: u32) {
        self.signal();
        let (map, numbering, first) = &self.maps[frame.function_index];
        let from = frame.path.blocks.last().unwrap().0;
        let mut edges = map.edges.iter();
        let edge = edges
            .position(|edge| (edge.from, edge.to) == (from, to))
            .unwrap();
        let id = EdgeId(edge as u32);
        let mut kinds = map.dag.iter().map(|edge| edge.kind);
        let kind = kinds.find(|kind| match *kind {
            DagKind::Edge(real) | DagKind::Back(real) | DagKind::Cut(real) => real == id.0,
            DagKind::Start(_) => false,
        });
        frame.path.end = match kind.unwrap() {
            DagKind::Back(_) => PathEnd::Back(id),
            DagKind::Cut(_) => PathEnd::Cut(id),
            _ if to == EXIT => PathEnd::Exit(id),
            _ => {
                frame.path.edges.push(id);
                frame.path.blocks.push(BlockId(to));
                return;
            }
        };
        let word = first + numbering.number_of(&frame.path).unwrap().0 as u32;
        frame.path = path(PathStart::Loop(BlockId(to)), to);
        self.stream.push(word);
        let all = &mut self.truth.activations;
        let activation = *frame.activation.get_or_insert_with(|| {
            all.push(Vec::new());
            all.len() - 1
        });
        all[activation].push(word);
    }
}

fn path(start: PathStart, block: u32) -> Path {
    Path {
        start,
        blocks: vec![BlockId(block)],
        edges: Vec::new(),
        end: PathEnd::Exit(EdgeId(0)),
    }
}
