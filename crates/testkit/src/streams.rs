//! Random programs that write streams as woven code would, and record what each activation ran.

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

/// A function with a call, a loop with a call, and a return.
fn shape(kind: Kind, which: usize) -> FunctionMap {
    let cut_at_calls = |build: Build| {
        if kind == Kind::Trace {
            build.cut()
        } else {
            build
        }
    };
    let mut build = function(["pads", "plain", "jump"][which], "a.c", 1);
    for block in ENTRY..EXIT {
        build = build.block(1, &[(0, block + 1)]);
    }
    build = build.block(0, &[]);
    build = if which == JUMP {
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
    if which == PADS {
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

/// Places the counters of functions one after the other in an image.
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

/// The image of the programs.
pub fn program(kind: Kind) -> Arc<ImageMap> {
    let functions = (0..3).map(|which| shape(kind, which)).collect();
    placed(functions, kind)
}

/// The operands of `WORD_CAUGHT`.
pub fn caught(position: u64, catcher: u32) -> [u32; 4] {
    let places = position / 4;
    let low = places as u32 & (OPERAND - 1) | OPERAND;
    [
        WORD_CAUGHT,
        low,
        (places >> 31) as u32 | OPERAND,
        catcher | OPERAND,
    ]
}

/// A `WORD_OWNER` with its operand.
pub fn owner(thread: u32) -> [u32; 2] {
    [WORD_OWNER, thread | OPERAND]
}

/// The activations that really ran.
#[derive(Default)]
pub struct Truth {
    /// The words of each activation that ended a path, in the order of their first paths.
    pub activations: Vec<Vec<u32>>,
    /// The number of these activations that were left by an exception or a `longjmp`.
    pub left: u64,
}

/// A program that runs and writes its stream.
pub struct Simulator<'a> {
    maps: Vec<(FunctionMap, Numbering, u32)>,
    choices: &'a mut dyn FnMut(u32) -> u32,
    /// Position of the first word.
    pub start: u64,
    /// The words.
    pub stream: Vec<u32>,
    /// The activations that ran.
    pub truth: Truth,
    /// Number of calls that may still be made.
    fuel: u32,
    jumps: Vec<usize>,
    frames: usize,
}

/// Whether a call may end with an exception or a `longjmp`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Throws {
    Allowed,
    Forbidden,
}

/// How a call ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Returned,
    Thrown,
    /// `longjmp` to the frame of this number.
    Jumped(usize),
}

struct Frame {
    which: usize,
    number: usize,
    entered: u64,
    path: Path,
    /// Index in the truth, once a path has ended.
    known: Option<usize>,
}

impl<'a> Simulator<'a> {
    /// A program whose decisions are `choices`: each call gives a number below its argument.
    pub fn new(kind: Kind, start: u64, fuel: u32, choices: &'a mut dyn FnMut(u32) -> u32) -> Self {
        let image = program(kind);
        let words = Words::new(&image);
        let maps = words.functions().map(|function| {
            let map = image.function(function.module, function.function).unwrap();
            (map.clone(), numbering_of(map), function.first)
        });
        Simulator {
            maps: maps.collect(),
            choices,
            start,
            stream: Vec::new(),
            truth: Truth::default(),
            fuel,
            jumps: Vec::new(),
            frames: 0,
        }
    }

    /// Calls functions until no calls are left.
    pub fn run(&mut self) {
        while self.fuel > 0 {
            let which = (self.choices)(3) as usize;
            self.call(which, Throws::Allowed);
        }
    }

    fn cursor(&self) -> u64 {
        self.start + 4 * self.stream.len() as u64
    }

    fn call(&mut self, which: usize, throws: Throws) -> Done {
        self.fuel = self.fuel.saturating_sub(1);
        self.frames += 1;
        let mut frame = Frame {
            which,
            number: self.frames,
            entered: self.cursor(),
            path: path(PathStart::Entry, ENTRY),
            known: None,
        };
        self.signal();
        let jumps = self.jumps.len();
        let done = self.body(&mut frame, throws);
        self.jumps.truncate(jumps);
        // An activation that resumed has closed itself with its last word.
        let resumed = done == Done::Thrown && frame.which == PADS;
        if done != Done::Returned && !resumed {
            self.truth.left += u64::from(frame.known.is_some());
        }
        done
    }

    fn body(&mut self, frame: &mut Frame, throws: Throws) -> Done {
        if frame.which == JUMP {
            self.go(frame, SET_JUMP);
            self.jumps.push(frame.number);
            self.caught(frame);
        }
        loop {
            self.go(frame, FIRST_CALL);
            match self.inner(throws) {
                Done::Jumped(number) if number == frame.number => {
                    frame.path = path(PathStart::Loop(BlockId(SET_JUMP)), SET_JUMP);
                    self.caught(frame);
                }
                Done::Thrown if frame.which == PADS => {
                    if self.pad(frame, FIRST_PAD, HEAD) {
                        break;
                    }
                    return Done::Thrown;
                }
                Done::Returned => {
                    self.go(frame, HEAD);
                    break;
                }
                done => return done,
            }
        }
        while (self.choices)(4) > 0 {
            self.go(frame, CALL);
            match self.inner(throws) {
                Done::Jumped(number) if number == frame.number => {
                    frame.path = path(PathStart::Loop(BlockId(SET_JUMP)), SET_JUMP);
                    self.caught(frame);
                    self.go(frame, FIRST_CALL);
                    self.go(frame, HEAD);
                    continue;
                }
                Done::Thrown if frame.which == PADS => {
                    if !self.pad(frame, PAD, LATCH) {
                        return Done::Thrown;
                    }
                }
                Done::Returned => self.go(frame, LATCH),
                done => return done,
            }
            self.go(frame, HEAD);
        }
        self.go(frame, RETURN);
        self.go(frame, EXIT);
        Done::Returned
    }

    /// A call that may come back, throw, or jump.
    fn inner(&mut self, throws: Throws) -> Done {
        let which = (self.choices)(3) as usize;
        let ends = match throws {
            Throws::Allowed => 8,
            Throws::Forbidden => 6,
        };
        match (self.choices)(ends) {
            0..3 if self.fuel > 0 => self.call(which, throws),
            6 => Done::Thrown,
            7 => self
                .jumps
                .last()
                .map_or(Done::Thrown, |&frame| Done::Jumped(frame)),
            _ => Done::Returned,
        }
    }

    /// Runs a landing pad. Returns whether the function goes on.
    fn pad(&mut self, frame: &mut Frame, pad: u32, on: u32) -> bool {
        self.go(frame, pad);
        self.caught(frame);
        if (self.choices)(3) == 0 && self.fuel > 0 {
            // Clean-up calls functions, which throw nothing.
            let which = (self.choices)(2) as usize;
            self.call(which, Throws::Forbidden);
        }
        let caught = (self.choices)(2) == 0;
        self.go(frame, if caught { on } else { EXIT });
        caught
    }

    fn caught(&mut self, frame: &Frame) {
        self.signal();
        let record = caught(frame.entered, self.maps[frame.which].2);
        self.stream.extend(record);
    }

    /// A signal handler may run here.
    fn signal(&mut self) {
        if self.fuel > 0 && (self.choices)(12) == 0 {
            self.call(PLAIN, Throws::Forbidden);
        }
    }

    /// Takes an edge.
    fn go(&mut self, frame: &mut Frame, to: u32) {
        self.signal();
        let (map, numbering, first) = &self.maps[frame.which];
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
        let known = *frame.known.get_or_insert_with(|| {
            all.push(Vec::new());
            all.len() - 1
        });
        all[known].push(word);
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
