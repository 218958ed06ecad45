//! A machine that executes the graphs of a path map, and writes down its taken branches: the naive
//! twin of the counts that come from branch records.

use std::collections::{BTreeMap, HashMap};

use holloway_analysis::branch_records::{CodeLayout, CodeRange, Jump, Place, TakenBranch};
use holloway_flow::{BlockId, EdgeId, Numbering, Path, PathEnd, PathStart};
use holloway_format::{DagKind, FunctionIndex, FunctionMap, ImageMap};

use crate::build::numbering_of;

/// Bytes of code of each LLVM instruction.
const INSTRUCTION: u64 = 4;
/// Bytes of a block besides its instructions: a call, and a branch at its end.
const EXTRA: u64 = 12;
/// The address of the first function.
const TEXT: u64 = 0x1000;

/// A machine with the code of an image.
pub struct Machine {
    functions: Vec<Code>,
    layout: CodeLayout,
    frames: Vec<Frame>,
    /// All taken branches, oldest first.
    pub branches: Vec<TakenBranch>,
}

struct Code {
    index: FunctionIndex,
    map: FunctionMap,
    numbering: Numbering,
    /// Edges that end paths without leaving the function.
    ends: BTreeMap<u32, PathEnd>,
    /// By block: its first address and its end. `None` if the block has no code.
    blocks: Vec<Option<(u64, u64)>>,
    counts: ExactCounts,
}

/// What the machine counted in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactCounts {
    /// Calls.
    pub calls: u64,
    /// Executions by edge.
    pub edges: BTreeMap<u32, u64>,
    /// Executions by path.
    pub paths: BTreeMap<u64, u64>,
}

struct Frame {
    function: usize,
    /// The last block with code.
    at: u32,
    start: PathStart,
    path_blocks: Vec<BlockId>,
    path_edges: Vec<EdgeId>,
    /// Whether the block in which control is has called.
    has_called: bool,
    /// The address to which the function returns.
    return_to: Place,
}

impl Machine {
    /// A machine for the functions of the image's first module. `order` gives the order of a
    /// function's blocks in memory; blocks that are left out have no code.
    pub fn new(image: &ImageMap, order: &mut dyn FnMut(&FunctionMap) -> Vec<u32>) -> Self {
        let mut address = TEXT;
        let mut ranges = Vec::new();
        let mut functions = Vec::new();
        for (number, map) in (0u32..).zip(&image.modules[0].module.functions) {
            let index = FunctionIndex {
                module: 0,
                function: number,
            };
            let mut blocks = vec![None; map.blocks.len()];
            for (position, block) in order(map).into_iter().enumerate() {
                let instructions = map.blocks[block as usize].instructions;
                let end = address + INSTRUCTION * u64::from(instructions) + EXTRA;
                blocks[block as usize] = Some((address, end));
                ranges.push(CodeRange {
                    start: address,
                    end,
                    function: index,
                    block,
                    is_symbol: position == 0,
                });
                address = end;
            }
            // Functions are aligned.
            address = address.next_multiple_of(16) + 16;
            let ends = map.dag.iter().filter_map(|edge| match edge.kind {
                DagKind::Back(edge) => Some((edge, PathEnd::Back(EdgeId(edge)))),
                DagKind::Cut(edge) => Some((edge, PathEnd::Cut(EdgeId(edge)))),
                DagKind::Edge(_) | DagKind::Start(_) => None,
            });
            functions.push(Code {
                index,
                numbering: numbering_of(map),
                ends: ends.collect(),
                map: map.clone(),
                blocks,
                counts: ExactCounts::default(),
            });
        }
        Self {
            functions,
            layout: CodeLayout::new(ranges),
            frames: Vec::new(),
            branches: Vec::new(),
        }
    }

    /// The code of the blocks.
    pub fn layout(&self) -> &CodeLayout {
        &self.layout
    }

    /// Number of active functions.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The function that runs, and its edges from the block in which it is. `None` before the first
    /// call and after the last return.
    pub fn choices(&self) -> Option<(&FunctionMap, Vec<u32>)> {
        let frame = self.frames.last()?;
        let map = &self.functions[frame.function].map;
        let block = frame.path_blocks.last().unwrap().0;
        let edges = (0u32..).zip(&map.edges);
        let edges = edges.filter(|(_, edge)| edge.from == block);
        Some((map, edges.map(|(number, _)| number).collect()))
    }

    /// Calls a function from the block in which control is, or from other code. Does nothing if the
    /// block has no code, or has called already.
    pub fn call(&mut self, function: usize) {
        let from = match self.frames.last_mut() {
            None => None,
            Some(frame) if frame.has_called => return,
            Some(frame) => {
                let block = frame.path_blocks.last().unwrap().0;
                let Some((start, _)) = self.functions[frame.function].blocks[block as usize] else {
                    return;
                };
                frame.has_called = true;
                Some(start + INSTRUCTION)
            }
        };
        let code = &mut self.functions[function];
        code.counts.calls += 1;
        let entry = code.map.entry;
        let (start, _) = code.blocks[entry as usize].expect("entries have code");
        let return_to = match from {
            Some(from) => Place::Inside(from + INSTRUCTION),
            None => Place::Elsewhere,
        };
        self.branches.push(TakenBranch {
            from: from.map_or(Place::Elsewhere, Place::Inside),
            to: Place::Inside(start),
            jump: match from {
                Some(_) => Jump::Call,
                None => Jump::Unknown,
            },
            mispredicted: false,
        });
        self.frames.push(Frame {
            function,
            at: entry,
            start: PathStart::Entry,
            path_blocks: vec![BlockId(entry)],
            path_edges: Vec::new(),
            has_called: false,
            return_to,
        });
    }

    /// Takes an edge of the active function.
    pub fn take(&mut self, edge: u32) {
        let frame = self.frames.last_mut().unwrap();
        let code = &mut self.functions[frame.function];
        *code.counts.edges.entry(edge).or_default() += 1;
        let to = code.map.edges[edge as usize].to;
        let end = match code.ends.get(&edge) {
            Some(&end) => Some(end),
            None if to == code.map.exit => Some(PathEnd::Exit(EdgeId(edge))),
            None => None,
        };
        match end {
            Some(end) => {
                let path = Path {
                    start: frame.start,
                    blocks: std::mem::take(&mut frame.path_blocks),
                    edges: std::mem::take(&mut frame.path_edges),
                    end,
                };
                let number = code.numbering.number_of(&path).unwrap();
                *code.counts.paths.entry(number.0).or_default() += 1;
                frame.start = PathStart::Loop(BlockId(to));
            }
            None => frame.path_edges.push(EdgeId(edge)),
        }
        frame.path_blocks.push(BlockId(to));
        frame.has_called = false;
        let (_, last) = code.blocks[frame.at as usize].unwrap();
        let branch = Place::Inside(last - INSTRUCTION);
        if to == code.map.exit {
            self.branches.push(TakenBranch {
                from: branch,
                to: frame.return_to,
                jump: Jump::Return,
                mispredicted: false,
            });
            self.frames.pop();
        } else if let Some((start, _)) = code.blocks[to as usize] {
            frame.at = to;
            if start != last {
                self.branches.push(TakenBranch {
                    from: branch,
                    to: Place::Inside(start),
                    jump: Jump::Jump,
                    mispredicted: false,
                });
            }
        }
    }

    /// The exact counts of all functions that ran.
    pub fn counts(&self) -> HashMap<FunctionIndex, &ExactCounts> {
        let ran = self.functions.iter().filter(|code| code.counts.calls > 0);
        ran.map(|code| (code.index, &code.counts)).collect()
    }
}
