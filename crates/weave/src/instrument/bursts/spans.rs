//! Splits a function's LLVM blocks into spans where timed paths end and begin.

use std::collections::HashMap;

use holloway_flow::Action;
use holloway_llvm::{Block, Builder, Instruction, Opcode, Type};

use super::super::anchors::Anchors;
use super::super::boundaries::path_boundaries;
use super::super::graph::BlockGraph;
use super::super::sites::Sites;
use super::sink::sink;
use crate::lower::{BlockIndex, FunctionParts};

/// How a span begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanStart {
    /// At the top of its original block.
    Block,
    /// Where one path ends and the next begins.
    Boundary,
    /// Where a path ends and no other begins. The span is a call of `setjmp`. The next path begins
    /// with the next span.
    Gap,
    /// Where a path begins and no other ends.
    PathStart,
}

/// An LLVM block after splitting: an original block, or a span of one.
pub(super) struct Span<'m> {
    pub(super) block: Block<'m>,
    /// The original block. `None` for the entry span.
    pub(super) original: Option<BlockIndex>,
    pub(super) begin: SpanStart,
    pub(super) instructions: Vec<Instruction<'m>>,
    /// The actions of probes, each with the index of the instruction before which it is inserted.
    pub(super) actions: Vec<(usize, Action)>,
}

impl<'m> Span<'m> {
    /// The target of the span's jump. `None` if the span is more than a jump.
    pub(super) fn jump(&self) -> Option<Block<'m>> {
        match self.instructions[..] {
            [jump] if jump.opcode() == Opcode::Br => match jump.successors()[..] {
                [target] => Some(target),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the span has no copy in the timed code. `index` is the span's index.
    pub(super) fn is_in_checking_code_only(&self, index: usize) -> bool {
        index == 0 || self.begin == SpanStart::Gap
    }
}

/// A function's spans. The spans of an original block are consecutive. The first span is the
/// entry, which contains only the frame's slots.
pub(super) struct Spans<'m> {
    pub(super) all: Vec<Span<'m>>,
    /// By span: the distinct spans that it leads to, including the next span of its block. Here
    /// a [`BlockIndex`] is the index of a span, because each span is a block of the timed code.
    pub(super) successors: Vec<Vec<BlockIndex>>,
    /// By original block: its first span.
    pub(super) first: Vec<usize>,
    /// The index of the span that is this LLVM block.
    pub(super) index_of: HashMap<Block<'m>, usize>,
}

impl<'m> Spans<'m> {
    /// Splits the blocks.
    pub(super) fn split(parts: &FunctionParts<'m>, graph: &BlockGraph, sites: &Sites) -> Self {
        let anchors = Anchors::new(parts);
        let boundaries = path_boundaries(parts, sites);
        let mut spans = Self {
            all: vec![entry(parts, &anchors)],
            successors: vec![vec![BlockIndex::new(1)]],
            first: Vec::with_capacity(parts.blocks.len()),
            index_of: HashMap::new(),
        };
        let mut starts_by_block = Vec::with_capacity(boundaries.len());
        for (block, boundaries) in BlockIndex::enumerate(&boundaries) {
            spans.first.push(spans.all.len());
            let mut span_starts = vec![(
                0,
                if block == BlockIndex::ENTRY {
                    SpanStart::PathStart
                } else {
                    SpanStart::Block
                },
            )];
            for boundary in boundaries {
                match boundary.begin {
                    Some(begin) if begin == boundary.end => {
                        span_starts.push((begin, SpanStart::Boundary));
                    }
                    Some(begin) => {
                        span_starts.extend([
                            (boundary.end, SpanStart::Gap),
                            (begin, SpanStart::PathStart),
                        ]);
                    }
                    None => {}
                }
            }
            spans.split_block(parts, block, &anchors, &span_starts);
            starts_by_block.push(span_starts);
        }
        sink(parts.function);
        for span in &mut spans.all[1..] {
            span.instructions = span.block.instructions().collect();
        }
        for (block, span_starts) in BlockIndex::enumerate(&starts_by_block) {
            spans.distribute_actions(sites, block, span_starts, parts, &anchors);
        }
        for (block, targets) in graph.successors.iter().enumerate() {
            let next = spans.first.get(block + 1);
            let last = next.map_or(spans.all.len(), |&next| next) - 1;
            let targets = targets
                .iter()
                .map(|&target| BlockIndex::new(spans.first[target]));
            spans.successors[last] = targets.collect();
        }
        let all = spans.all.iter().enumerate();
        spans.index_of = all.map(|(index, span)| (span.block, index)).collect();
        spans
    }

    /// How the next span of the same block begins, if there is one.
    pub(super) fn next(&self, span: usize) -> Option<SpanStart> {
        let next = self.all.get(span + 1).map(|next| next.begin);
        next.filter(|&begin| begin != SpanStart::Block)
    }

    /// Splits a block. A span begins at each of `span_starts`, which are indices of instructions.
    fn split_block(
        &mut self,
        parts: &FunctionParts<'m>,
        block: BlockIndex,
        anchors: &Anchors,
        span_starts: &[(usize, SpanStart)],
    ) {
        let tail = parts.blocks[block].block;
        for (span_number, &(_, begin)) in span_starts.iter().enumerate() {
            let next = self.all.len() + 1;
            let head = match span_starts.get(span_number + 1) {
                Some(&(index, following)) => {
                    let head = tail.split_before(anchors.anchor(parts, block, index));
                    end_block(head, tail, following);
                    self.successors.push(vec![BlockIndex::new(next)]);
                    head
                }
                None => {
                    self.successors.push(Vec::new());
                    tail
                }
            };
            self.all.push(Span {
                block: head,
                original: Some(block),
                begin,
                instructions: Vec::new(),
                actions: Vec::new(),
            });
        }
    }

    /// Distributes a block's actions among its spans. At a boundary, the actions up to and
    /// including the count belong to the span before the boundary.
    fn distribute_actions(
        &mut self,
        sites: &Sites,
        block: BlockIndex,
        span_starts: &[(usize, SpanStart)],
        parts: &FunctionParts<'m>,
        anchors: &Anchors,
    ) {
        let mut span_number = 0;
        for stop in &sites[block] {
            for &action in &stop.actions {
                // The actions after a gap belong to the span after the gap.
                while let Some(&(index, SpanStart::PathStart)) = span_starts.get(span_number + 1)
                    && stop.index >= index
                {
                    span_number += 1;
                }
                let span = &mut self.all[self.first[block] + span_number];
                let anchor = anchors.anchor(parts, block, stop.index);
                let position = span.instructions.iter().position(|&other| other == anchor);
                // If the anchor is the first instruction of the next span, the action is inserted
                // before the terminator of this span.
                let index = position.unwrap_or(span.instructions.len() - 1);
                span.actions.push((index, action));
                let ends_span = matches!(
                    span_starts.get(span_number + 1),
                    Some((index, SpanStart::Boundary | SpanStart::Gap)) if *index == stop.index
                );
                if matches!(action, Action::Count { .. }) && ends_span {
                    span_number += 1;
                }
            }
        }
    }
}

/// Makes the entry span, and moves the frame's slots there.
fn entry<'m>(parts: &FunctionParts<'m>, anchors: &Anchors) -> Span<'m> {
    let old = &parts.blocks[0];
    let block = old.block.insert_before("holloway.entry");
    let builder = Builder::at_end(block);
    for (index, &instruction) in old.instructions.iter().enumerate() {
        if anchors.is_moved(index) {
            builder.take(instruction);
        }
    }
    end_block(block, old.block, SpanStart::PathStart);
    Span {
        block,
        original: None,
        begin: SpanStart::Block,
        instructions: block.instructions().collect(),
        actions: Vec::new(),
    }
}

/// Inserts the terminator of the block `head` before a span that begins with `begin`. If a check
/// or the runtime's answer decides where control goes, the branch gets its condition and its other
/// target later.
fn end_block<'m>(head: Block<'m>, tail: Block<'m>, begin: SpanStart) {
    let builder = Builder::at_end(head);
    match begin {
        SpanStart::Block | SpanStart::Gap => builder.branch(tail),
        SpanStart::Boundary | SpanStart::PathStart => {
            builder.branch_if(Type::i1(head.module()).int(0), tail, tail)
        }
    };
}
