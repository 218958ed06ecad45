//! Follows control through one stack: blocks, calls, and returns.
//!
//! The frames that are active when the stack begins are not known. They appear when control returns
//! into them. Then their block is known, but not how their path began.

use std::collections::BTreeSet;
use std::sync::Arc;

use holloway_format::FunctionIndex;
use holloway_format::branches::BranchQuality;

use super::branch::{Jump, Place, TakenBranch};
use super::counts::Weight;
use super::layout::{CodeLayout, CodeRange};
use super::sums::RecordSums;
use super::ways::{Role, Way};

/// Maximum bytes of an instruction, on x86. A call returns to an address at most this far behind
/// it.
const MAX_INSTRUCTION: u64 = 15;

/// An active function.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: FunctionIndex,
    /// The block that control saw last.
    block: u32,
    /// The path, if its start is known.
    path: Option<PathPrefix>,
    /// The address of the call in which the frame waits.
    call: Option<u64>,
}

/// The begin of a path.
#[derive(Clone, Copy, Debug)]
struct PathPrefix {
    /// The sum of the edge values.
    number: u64,
    /// The first branch that the path needs.
    first: usize,
}

/// The branches that an observation needs: their positions in the stack.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: usize,
    last: usize,
}

/// The walk through a stack.
pub(super) struct Walk<'r> {
    records: &'r mut RecordSums,
    layout: Arc<CodeLayout>,
    /// Number of branches of the stack.
    length: usize,
    /// Number of executions for which each observation stands. `None`: a stack, so the span
    /// determines the weight.
    count: Option<u64>,
    frames: Vec<Frame>,
    /// The address at which control entered the kernel.
    kernel_entry: Option<u64>,
}

impl<'r> Walk<'r> {
    pub(super) fn new(records: &'r mut RecordSums, length: usize) -> Self {
        let layout = Arc::clone(&records.layout);
        Self {
            records,
            layout,
            length,
            count: None,
            frames: Vec::new(),
            kernel_entry: None,
        }
    }

    /// For branches and runs without a stack.
    pub(super) fn of_single(records: &'r mut RecordSums, count: u64) -> Self {
        Self {
            count: Some(count),
            ..Self::new(records, 1)
        }
    }

    pub(super) fn walk(&mut self, branches: &[TakenBranch]) {
        let mut position = Place::Elsewhere;
        for (index, branch) in branches.iter().enumerate() {
            let branch = &self.known(*branch);
            match (index, position, branch.from) {
                (0, _, Place::Inside(from)) => self.restart(from),
                (0, ..) => {}
                (_, Place::Inside(start), Place::Inside(end)) => self.run(start, end, index),
                // Control got into known code or left it without a branch.
                (_, _, Place::Inside(from)) => {
                    self.add(|quality| &mut quality.impossible_runs);
                    self.restart(from);
                }
                (_, Place::Inside(start), Place::Kernel) => {
                    self.run_into_kernel(start, branch.to, index);
                }
                (_, Place::Inside(_), Place::Elsewhere) => self.lose_control(),
                (_, Place::Elsewhere | Place::Kernel, Place::Elsewhere | Place::Kernel) => {}
            }
            let mispredicted = u64::from(branch.mispredicted);
            self.jump(branch, index, mispredicted);
            position = branch.to;
        }
    }

    pub(super) fn jump_alone(&mut self, branch: TakenBranch, mispredicted: u64) {
        let branch = self.known(branch);
        if let Place::Inside(from) = branch.from {
            self.restart(from);
        }
        self.jump(&branch, 0, mispredicted);
    }

    /// The branch, with places elsewhere instead of addresses without a block. The procedure
    /// linkage table has no blocks, and neither have functions that the weaver did not see.
    fn known(&self, branch: TakenBranch) -> TakenBranch {
        let known = |place| match place {
            Place::Inside(address) if self.range(address).is_none() => Place::Elsewhere,
            place => place,
        };
        TakenBranch {
            from: known(branch.from),
            to: known(branch.to),
            ..branch
        }
    }

    pub(super) fn run_alone(&mut self, start: u64, end: u64) {
        self.restart(start);
        self.run(start, end, 0);
    }

    /// The run after the branch that led to its first address.
    pub(super) fn run_after_jump(&mut self, start: u64, end: u64) {
        if self.frames.is_empty() {
            self.restart(start);
        }
        self.run(start, end, 0);
    }

    /// Control jumped to an address within a block, and falls through into the next block, if none
    /// of the known branches is in between.
    pub(super) fn fall_through(&mut self, to: u64, branches: &BTreeSet<u64>) {
        let (Some(frame), Some(range)) = (self.frames.last(), self.range(to).copied()) else {
            return;
        };
        let has_jumped = frame.function == range.function && frame.block != range.block;
        let Some(next) = self.next_start(to) else {
            return;
        };
        if has_jumped
            && branches.range(to..next).next().is_none()
            && let Some(next) = self.starting_at(next)
        {
            self.reach(next.block, Span { first: 0, last: 0 }, 0);
        }
    }

    /// The address where the next block of the function starts, if `address` lies behind the start
    /// of a block, and the next block follows without a gap.
    pub(super) fn next_start(&self, address: u64) -> Option<u64> {
        let range = self.range(address)?;
        let next = self.starting_at(range.end)?;
        (range.start < address && next.function == range.function).then_some(next.start)
    }

    /// The target of a branch that is a jump within a function.
    pub(super) fn target_inside(&self, branch: TakenBranch) -> Option<u64> {
        let branch = self.known(branch);
        let (Place::Inside(from), Place::Inside(to)) = (branch.from, branch.to) else {
            return None;
        };
        let (source, target) = (self.range(from)?, self.range(to)?);
        let is_jump = match self.meaning(branch.jump, from, to) {
            Jump::Jump | Jump::Unknown => true,
            Jump::Call | Jump::Return => false,
        };
        (is_jump && source.function == target.function).then_some(to)
    }

    /// Forgets all frames. Control is at an address.
    fn restart(&mut self, address: u64) {
        self.frames.clear();
        let range = self.range(address).copied();
        self.frames.extend(range.map(|range| Frame {
            function: range.function,
            block: range.block,
            path: None,
            call: None,
        }));
    }

    fn range(&self, address: u64) -> Option<&CodeRange> {
        let range = self.layout.find(address)?;
        Some(self.layout.range(range))
    }

    /// The block whose code starts at an address.
    fn starting_at(&self, address: u64) -> Option<CodeRange> {
        let range = self.range(address).copied();
        range.filter(|range| range.start == address)
    }

    /// Control runs from `start` to the branch at `end`, which is number `index`.
    fn run(&mut self, start: u64, end: u64, index: usize) {
        let layout = Arc::clone(&self.layout);
        let (first, last) = (layout.find(start), layout.find(end));
        let ranges = match (first, last) {
            (Some(first), Some(last)) if start <= end => layout.straight(first, last),
            _ => None,
        };
        let Some(ranges) = ranges else {
            self.add(|quality| &mut quality.impossible_runs);
            return self.restart(end);
        };
        self.add(|quality| &mut quality.runs);
        let function = ranges[0].function;
        if self.frames.last().map(|frame| frame.function) != Some(function) {
            self.restart(start);
        }
        for range in ranges.iter().skip(1) {
            let span = Span {
                first: index.saturating_sub(1),
                last: index,
            };
            self.reach(range.block, span, 0);
        }
    }

    /// Control runs from `start` into the kernel, and the branch number `index` leads it back to
    /// `back`. Processors that record only branches to user mode leave out the branch into the
    /// kernel.
    fn run_into_kernel(&mut self, start: u64, back: Place, index: usize) {
        match back {
            Place::Inside(back) if self.is_straight(start, back) => {
                self.run(start, back, index);
                self.kernel_entry = Some(back);
            }
            Place::Inside(_) | Place::Elsewhere | Place::Kernel => self.lose_control(),
        }
    }

    /// Control left known code without a branch.
    fn lose_control(&mut self) {
        self.add(|quality| &mut quality.impossible_runs);
        self.frames.clear();
    }

    /// Whether control can run from `start` to `end` without a taken branch.
    fn is_straight(&self, start: u64, end: u64) -> bool {
        let ends = (self.layout.find(start), self.layout.find(end));
        matches!(ends, (Some(first), Some(last)) if start <= end
            && self.layout.straight(first, last).is_some())
    }

    fn add(&mut self, field: impl Fn(&mut BranchQuality) -> &mut u64) {
        let sum = field(&mut self.records.quality);
        *sum = sum.saturating_add(self.count.unwrap_or(1));
    }

    fn jump(&mut self, branch: &TakenBranch, index: usize, mispredicted: u64) {
        let span = Span {
            first: index,
            last: index,
        };
        match (branch.from, branch.to) {
            (Place::Kernel | Place::Elsewhere, Place::Kernel | Place::Elsewhere) => {}
            (Place::Inside(from), Place::Kernel) => self.kernel_entry = Some(from),
            (Place::Kernel, Place::Inside(to)) => self.resume_after_kernel(to, span),
            (Place::Elsewhere, Place::Inside(to)) => self.land(to, span),
            (Place::Inside(from), Place::Elsewhere) => match branch.jump {
                Jump::Call | Jump::Unknown => self.begin_call(from),
                Jump::Jump | Jump::Return => self.leave(span),
            },
            (Place::Inside(from), Place::Inside(to)) => match self.meaning(branch.jump, from, to) {
                Jump::Call => {
                    self.begin_call(from);
                    self.enter(to, span);
                }
                Jump::Return => {
                    self.leave(span);
                    self.land(to, span);
                }
                Jump::Jump | Jump::Unknown => self.jump_inside(to, span, mispredicted),
            },
        }
    }

    /// What a branch between two addresses of the file does.
    fn meaning(&self, jump: Jump, from: u64, to: u64) -> Jump {
        let (Some(source), Some(target)) = (self.range(from), self.range(to)) else {
            return match jump {
                Jump::Unknown => Jump::Call,
                jump => jump,
            };
        };
        match jump {
            Jump::Unknown if target.is_symbol && target.start == to => Jump::Call,
            Jump::Unknown if source.function != target.function => Jump::Return,
            jump => jump,
        }
    }

    /// A jump: inside of a function, or a call in the place of a return.
    fn jump_inside(&mut self, to: u64, span: Span, mispredicted: u64) {
        let Some(frame) = self.frames.last().copied() else {
            return self.land(to, span);
        };
        let target = self.range(to).copied();
        match target {
            Some(range) if range.function == frame.function && !self.is_entry(&range, to) => {
                if range.start == to {
                    self.reach(range.block, span, mispredicted);
                }
            }
            _ => {
                self.leave(span);
                self.enter(to, span);
            }
        }
    }

    /// Whether calls of the function lead to this address.
    fn is_entry(&mut self, range: &CodeRange, address: u64) -> bool {
        if !range.is_symbol || range.start != address {
            return false;
        }
        let Some(function) = self.records.function(range.function) else {
            return false;
        };
        let entry = function.ways.entry;
        // Other symbols of a function hold its cold code.
        range.block == entry || function.ways.way(entry, range.block).is_some()
    }

    /// The top frame calls.
    fn begin_call(&mut self, from: u64) {
        if let Some(frame) = self.frames.last_mut() {
            frame.call = Some(from);
        }
    }

    /// Control enters a function.
    fn enter(&mut self, to: u64, span: Span) {
        let Some(range) = self.range(to).copied() else {
            return;
        };
        if !self.is_entry(&range, to) {
            // A part of a function that has no symbol of its own.
            self.frames.push(Frame {
                function: range.function,
                block: range.block,
                path: None,
                call: None,
            });
            return;
        }
        let weight = self.weight(span);
        let Some(function) = self.records.function(range.function) else {
            return;
        };
        function.sums.add_call(weight);
        let entry = function.ways.entry;
        self.frames.push(Frame {
            function: range.function,
            block: entry,
            path: Some(PathPrefix {
                number: 0,
                first: span.first,
            }),
            call: None,
        });
        if range.block != entry {
            self.reach(range.block, span, 0);
        }
    }

    /// The top frame returns, or another function takes its place.
    fn leave(&mut self, span: Span) {
        if let Some(&Frame { function, .. }) = self.frames.last()
            && let Some(state) = self.records.function(function)
        {
            let exit = state.ways.exit;
            self.reach(exit, span, 0);
            self.frames.pop();
        }
    }

    /// Control comes from a return or from other code.
    fn land(&mut self, to: u64, span: Span) {
        let Some(range) = self.range(to).copied() else {
            return;
        };
        let is_return = |frame: &Frame| {
            let call = frame
                .call
                .filter(|&call| call < to && to - call <= MAX_INSTRUCTION);
            frame.function == range.function && call.is_some()
        };
        if self.frames.last().is_some_and(is_return) {
            self.come_back(to, span);
        } else if self.is_entry(&range, to) {
            self.enter(to, span);
        } else if let Some(frame) = self.frames.iter().rposition(is_return) {
            // `longjmp`, or frames without blocks.
            self.frames.truncate(frame + 1);
            self.come_back(to, span);
        } else if let Some(frame) = self.catching(&range, to) {
            self.frames.truncate(frame + 1);
            self.come_back(to, span);
        } else {
            self.restart(to);
        }
    }

    /// The frame that catches an exception at an address: a landing pad is the start of a block.
    fn catching(&self, range: &CodeRange, to: u64) -> Option<usize> {
        let waits = |frame: &Frame| frame.function == range.function && frame.call.is_some();
        let frame = self.frames.iter().rposition(waits)?;
        (range.start == to).then_some(frame)
    }

    /// Control continues in the top frame.
    fn come_back(&mut self, to: u64, span: Span) {
        if let Some(frame) = self.frames.last_mut() {
            frame.call = None;
        }
        if let Some(range) = self.starting_at(to) {
            self.reach(range.block, span, 0);
        }
    }

    /// Control continues after an interrupt or a system call.
    fn resume_after_kernel(&mut self, to: u64, span: Span) {
        let entry = self.kernel_entry.take();
        let continues = entry.is_some_and(|from| from <= to && to - from <= MAX_INSTRUCTION);
        let function = self.range(to).map(|range| range.function);
        if !continues || self.frames.last().map(|frame| frame.function) != function {
            return self.restart(to);
        }
        if entry != Some(to)
            && let Some(range) = self.starting_at(to)
        {
            self.reach(range.block, span, 0);
        }
    }

    fn weight(&self, span: Span) -> Weight {
        match self.count {
            Some(count) => Weight::of_count(count),
            None => Weight::of_span(self.length, span.first, span.last),
        }
    }

    /// The top frame reaches a block, or the exit.
    fn reach(&mut self, block: u32, span: Span, mispredicted: u64) {
        let Some(mut frame) = self.frames.pop() else {
            return;
        };
        self.add(|quality| &mut quality.transitions);
        let Some(function) = self.records.function(frame.function) else {
            return;
        };
        match function.ways.way(frame.block, block) {
            Some(Way::Edges(edges)) => {
                self.take(&mut frame, &edges, span, mispredicted);
            }
            Some(Way::Ambiguous) => {
                frame.path = None;
                self.add(|quality| &mut quality.ambiguous);
            }
            None => {
                frame.path = None;
                self.add(|quality| &mut quality.unmatched);
            }
        }
        frame.block = block;
        self.frames.push(frame);
    }

    /// A frame takes edges.
    fn take(&mut self, frame: &mut Frame, edges: &[u32], span: Span, mispredicted: u64) {
        let weight = self.weight(span);
        let (length, count) = (self.length, self.count);
        let Some(function) = self.records.function(frame.function) else {
            return;
        };
        if let Some(&edge) = edges.first()
            && mispredicted > 0
        {
            function.sums.add_misprediction(edge, mispredicted);
        }
        let mut paths = 0;
        for &edge in edges {
            function.sums.add_edge(edge, weight);
            let to = function.ways.target(edge);
            frame.path = match (function.ways.role(edge), frame.path) {
                (Role::Inside(value), Some(path)) => {
                    let number = path.number.wrapping_add(value);
                    Some(PathPrefix { number, ..path })
                }
                (Role::End(value), path) => {
                    if let (Some(path), None) = (path, count) {
                        let number = path.number.wrapping_add(value);
                        let weight = Weight::of_span(length, path.first, span.last);
                        function.sums.add_path(number, weight);
                        paths += 1;
                    }
                    let start = function.ways.start(to);
                    start.map(|number| PathPrefix {
                        number,
                        first: span.first,
                    })
                }
                (Role::Inside(_), None) | (Role::Absent, _) => None,
            };
        }
        self.records.quality.paths += paths;
    }
}
