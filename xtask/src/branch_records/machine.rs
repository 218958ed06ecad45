//! Executes a trace on a simulated machine that records its taken branches.
//!
//! Each LLVM instruction has four bytes, and each block four more for a branch. Blocks are in the
//! order of the path map. Control falls through to the next block, or takes a branch.

use holloway_abi::PathEnds;
use holloway_analysis::branch_records::{CodeLayout, CodeRange, Jump, Place, TakenBranch};
use holloway_analysis::trace::Terminal;
use holloway_analysis::trace::code::Code as TraceCode;
use holloway_flow::{PathEnd, PathId, PathStart};
use holloway_format::{FunctionIndex, ImageMap};
use std::collections::HashMap;
use std::sync::Arc;

/// Branches of a stack, as in most processors.
pub(super) const STACK: usize = 32;
/// Bytes of an LLVM instruction.
const INSTRUCTION: u64 = 4;
/// Bytes of a block besides its instructions: a call and a branch.
const EXTRA: u64 = 12;

/// The code of an image, and the routes of the paths of a trace.
pub(super) struct Code {
    layout: Arc<CodeLayout>,
    /// By function of the trace.
    functions: Vec<FunctionCode>,
    routes: HashMap<(u32, u32), Route>,
}

struct FunctionCode {
    index: FunctionIndex,
    exit: u32,
    /// By block: its first address.
    starts: Vec<u64>,
    /// By block: the first address after it.
    ends: Vec<u64>,
}

/// A path.
struct Route {
    enters: bool,
    first: u32,
    /// The edges and their targets; the last edge ends the path.
    edges: Vec<(u32, u32)>,
    leaves: bool,
}

impl Code {
    /// The code of an image, and the paths among the terminals of a trace.
    pub(super) fn new(map: &ImageMap, terminals: &[Terminal]) -> Self {
        debug_assert_eq!(map.kind.traits().path_ends, PathEnds::Calls);
        let code = TraceCode::new(map);
        let mut address = 0x1000;
        let mut ranges = Vec::new();
        let mut functions = Vec::new();
        for (module, placed) in (0u32..).zip(&map.modules) {
            for (function, map) in (0u32..).zip(&placed.module.functions) {
                let index = FunctionIndex { module, function };
                let mut code = FunctionCode {
                    index,
                    exit: map.exit,
                    starts: Vec::new(),
                    ends: Vec::new(),
                };
                // The entry comes first, so that calls lead to the symbol.
                for (block, block_map) in (0u32..).zip(&map.blocks) {
                    code.starts.push(address);
                    if block != map.exit {
                        let start = address;
                        address += INSTRUCTION * u64::from(block_map.instructions) + EXTRA;
                        ranges.push(CodeRange {
                            start,
                            end: address,
                            function: index,
                            block,
                            is_symbol: block == map.entry,
                        });
                    }
                    code.ends.push(address);
                }
                address += 32;
                functions.push(code);
            }
        }
        let mut routes = HashMap::new();
        for &terminal in terminals {
            let Terminal::Path { function, path } = terminal else {
                continue;
            };
            let found = code.path(function, PathId(path.into()));
            let (Some(map), Some(found)) = (code.function(function), found) else {
                continue;
            };
            let edges = found.edges.iter().copied().chain([found.end.edge()]);
            let edges = edges.map(|edge| (edge.0, map.edges[edge.index()].to));
            let route = Route {
                enters: found.start == PathStart::Entry,
                first: found.blocks.first().map_or(map.entry, |block| block.0),
                edges: edges.collect(),
                leaves: matches!(found.end, PathEnd::Exit(_)),
            };
            routes.insert((function, path), route);
        }
        Self {
            layout: Arc::new(CodeLayout::new(ranges)),
            functions,
            routes,
        }
    }

    pub(super) fn layout(&self) -> Arc<CodeLayout> {
        Arc::clone(&self.layout)
    }
}

/// What was executed.
#[derive(Default)]
pub(super) struct Exact {
    /// Taken branches.
    pub(super) branches: u64,
    pub(super) edges: HashMap<(FunctionIndex, u32), u64>,
    pub(super) paths: HashMap<(FunctionIndex, u64), u64>,
    /// Executed paths that span more branches than a stack holds.
    pub(super) long_paths: u64,
}

/// An execution of a trace.
pub(super) struct Execution<'a> {
    code: &'a Code,
    frames: Vec<Frame>,
    exact: Exact,
}

struct Frame {
    function: u32,
    block: u32,
    /// The address to which the function returns, if the caller is known.
    return_to: Option<u64>,
}

impl<'a> Execution<'a> {
    pub(super) fn new(code: &'a Code) -> Self {
        Self {
            code,
            frames: Vec::new(),
            exact: Exact::default(),
        }
    }

    /// What was executed.
    pub(super) fn finish(self) -> Exact {
        self.exact
    }

    /// Executes a path. Calls `taken` with each taken branch.
    pub(super) fn run(&mut self, terminal: Terminal, taken: &mut dyn FnMut(TakenBranch)) {
        let (function, path) = match terminal {
            Terminal::Path { function, path } => (function, path),
            Terminal::Left(frames) => {
                let left = self.frames.len().saturating_sub(frames as usize);
                return self.frames.truncate(left);
            }
            Terminal::Gap => return self.frames.clear(),
        };
        let Some(route) = self.code.routes.get(&(function, path)) else {
            return self.frames.clear();
        };
        let code = &self.code.functions[function as usize];
        let before = self.exact.branches;
        let branches = &mut self.exact.branches;
        let mut take = |from: Place, to: Place, jump| {
            *branches += 1;
            taken(TakenBranch {
                from,
                to,
                jump,
                mispredicted: false,
            });
        };
        if route.enters {
            // The caller is at a call at the beginning of its block.
            let call = self.frames.last().map(|frame| {
                let caller = &self.code.functions[frame.function as usize];
                caller.starts[frame.block as usize]
            });
            let from = call.map_or(Place::Elsewhere, Place::Inside);
            let jump = if call.is_some() {
                Jump::Call
            } else {
                Jump::Unknown
            };
            take(from, Place::Inside(code.starts[route.first as usize]), jump);
            self.frames.push(Frame {
                function,
                block: route.first,
                return_to: call.map(|call| call + INSTRUCTION),
            });
        } else if self.frames.last().map(|frame| frame.function) != Some(function) {
            self.frames.clear();
            self.frames.push(Frame {
                function,
                block: route.first,
                return_to: None,
            });
        }
        let mut block = route.first;
        for &(edge, to) in &route.edges {
            *self.exact.edges.entry((code.index, edge)).or_default() += 1;
            let end = code.ends[block as usize];
            if to != code.exit && code.starts[to as usize] != end {
                let target = Place::Inside(code.starts[to as usize]);
                take(Place::Inside(end - INSTRUCTION), target, Jump::Jump);
            }
            if to != code.exit {
                block = to;
            }
        }
        let frame = self.frames.last_mut().expect("a frame was pushed");
        frame.block = block;
        if route.leaves {
            let from = Place::Inside(code.ends[block as usize] - INSTRUCTION);
            let return_to = frame.return_to;
            self.frames.pop();
            take(
                from,
                return_to.map_or(Place::Elsewhere, Place::Inside),
                Jump::Return,
            );
        }
        let span = self.exact.branches - before;
        self.exact.long_paths += u64::from(span >= STACK as u64);
        *self
            .exact
            .paths
            .entry((code.index, path.into()))
            .or_default() += 1;
    }
}
