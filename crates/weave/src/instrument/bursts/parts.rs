//! Splitting a function's blocks where paths end and begin.

use std::collections::HashMap;

use holloway_flow::Action;
use holloway_llvm::{Block, Builder, Instruction, Opcode, Type};

use super::super::anchors::Anchors;
use super::super::boundaries::path_boundaries;
use super::super::graph::BlockGraph;
use super::super::sites::Sites;
use super::sink::sink;
use crate::lower::{BlockIndex, Layout};

/// How a part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartStart {
    /// At the top of its block.
    Block,
    /// One path ends there and the next begins.
    Boundary,
    /// A path ends there, and the next begins with the next part: a call of `setjmp` lies between.
    Gap,
    /// A path begins there, none ends.
    Fresh,
}

/// A block, or a piece of one.
pub(super) struct Part<'m> {
    pub(super) block: Block<'m>,
    /// The layout's block that the part is a piece of; `None` for the entry.
    pub(super) of: Option<BlockIndex>,
    pub(super) begin: PartStart,
    pub(super) instructions: Vec<Instruction<'m>>,
    /// The probes' actions, each with the position of the instruction that it stands before.
    pub(super) actions: Vec<(usize, Action)>,
}

impl<'m> Part<'m> {
    /// The target of the part's jump, if the part does nothing else.
    pub(super) fn jump(&self) -> Option<Block<'m>> {
        match self.instructions[..] {
            [jump] if jump.opcode() == Opcode::Br => match jump.successors()[..] {
                [target] => Some(target),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the part stands in the checking code only.
    pub(super) fn is_single(&self, index: usize) -> bool {
        index == 0 || self.begin == PartStart::Gap
    }
}

/// A function's parts. Parts of a block follow one another. The first part is the entry, which
/// holds only the frame's slots.
pub(super) struct Parts<'m> {
    pub(super) all: Vec<Part<'m>>,
    /// By part: the parts it leads to, each once, the next part of its block included. Parts are
    /// the blocks of the timed code's layout.
    pub(super) successors: Vec<Vec<BlockIndex>>,
    /// By block of the layout: its first part.
    pub(super) first: Vec<usize>,
    /// By LLVM block: the part.
    pub(super) of: HashMap<Block<'m>, usize>,
}

impl<'m> Parts<'m> {
    /// Splits the blocks.
    pub(super) fn split(layout: &Layout<'m>, graph: &BlockGraph, sites: &Sites) -> Self {
        let anchors = Anchors::new(layout);
        let boundaries = path_boundaries(layout, sites);
        let mut parts = Self {
            all: vec![entry(layout, &anchors)],
            successors: vec![vec![BlockIndex::new(1)]],
            first: Vec::with_capacity(layout.blocks.len()),
            of: HashMap::new(),
        };
        let mut begins = Vec::with_capacity(boundaries.len());
        for (block, boundaries) in BlockIndex::enumerate(&boundaries) {
            parts.first.push(parts.all.len());
            let mut places = vec![(
                0,
                if block == BlockIndex::ENTRY {
                    PartStart::Fresh
                } else {
                    PartStart::Block
                },
            )];
            for boundary in boundaries {
                match boundary.begin {
                    Some(begin) if begin == boundary.end => {
                        places.push((begin, PartStart::Boundary));
                    }
                    Some(begin) => {
                        places.extend([(boundary.end, PartStart::Gap), (begin, PartStart::Fresh)]);
                    }
                    None => {}
                }
            }
            parts.split_block(layout, block, &anchors, &places);
            begins.push(places);
        }
        sink(layout.function);
        for part in &mut parts.all[1..] {
            part.instructions = part.block.instructions().collect();
        }
        for (block, places) in BlockIndex::enumerate(&begins) {
            parts.share(sites, block, places, layout, &anchors);
        }
        for (block, targets) in graph.successors.iter().enumerate() {
            let next = parts.first.get(block + 1);
            let last = next.map_or(parts.all.len(), |&next| next) - 1;
            let targets = targets
                .iter()
                .map(|&target| BlockIndex::new(parts.first[target]));
            parts.successors[last] = targets.collect();
        }
        let all = parts.all.iter().enumerate();
        parts.of = all.map(|(index, part)| (part.block, index)).collect();
        parts
    }

    /// How the next part of the same block begins, if there is one.
    pub(super) fn next(&self, part: usize) -> Option<PartStart> {
        let next = self.all.get(part + 1).map(|next| next.begin);
        next.filter(|&begin| begin != PartStart::Block)
    }

    /// Makes the parts of a block: one begins at each place.
    fn split_block(
        &mut self,
        layout: &Layout<'m>,
        block: BlockIndex,
        anchors: &Anchors,
        places: &[(usize, PartStart)],
    ) {
        let tail = layout.blocks[block].block;
        for (number, &(_, begin)) in places.iter().enumerate() {
            let next = self.all.len() + 1;
            let head = match places.get(number + 1) {
                Some(&(index, following)) => {
                    let head = tail.split_before(anchors.at(layout, block, index));
                    end(head, tail, following);
                    self.successors.push(vec![BlockIndex::new(next)]);
                    head
                }
                None => {
                    self.successors.push(Vec::new());
                    tail
                }
            };
            self.all.push(Part {
                block: head,
                of: Some(block),
                begin,
                instructions: Vec::new(),
                actions: Vec::new(),
            });
        }
    }

    /// Distributes a block's actions among its parts. The actions at a boundary, up to the count,
    /// belong to the part before it.
    fn share(
        &mut self,
        sites: &Sites,
        block: BlockIndex,
        places: &[(usize, PartStart)],
        layout: &Layout<'m>,
        anchors: &Anchors,
    ) {
        let mut number = 0;
        for stop in &sites[block] {
            for &action in &stop.actions {
                // The actions behind a gap belong to the part behind it.
                while let Some(&(index, PartStart::Fresh)) = places.get(number + 1)
                    && stop.index >= index
                {
                    number += 1;
                }
                let part = &mut self.all[self.first[block] + number];
                let anchor = anchors.at(layout, block, stop.index);
                let found = part.instructions.iter().position(|&other| other == anchor);
                // An action before the next part's first instruction stands before this part's end.
                let index = found.unwrap_or(part.instructions.len() - 1);
                part.actions.push((index, action));
                let turns = matches!(
                    places.get(number + 1),
                    Some((index, PartStart::Boundary | PartStart::Gap)) if *index == stop.index
                );
                if matches!(action, Action::Count { .. }) && turns {
                    number += 1;
                }
            }
        }
    }
}

/// Makes the entry part, which holds the frame's slots.
fn entry<'m>(layout: &Layout<'m>, anchors: &Anchors) -> Part<'m> {
    let old = &layout.blocks[0];
    let block = old.block.insert_before("holloway.entry");
    let builder = Builder::at_end(block);
    for (index, &instruction) in old.instructions.iter().enumerate() {
        if anchors.is_moved(index) {
            builder.take(instruction);
        }
    }
    end(block, old.block, PartStart::Fresh);
    Part {
        block,
        of: None,
        begin: PartStart::Block,
        instructions: block.instructions().collect(),
        actions: Vec::new(),
    }
}

/// Ends a block before a part that begins in this way. Where a check or an answer decides, the
/// branch gets its condition later.
fn end<'m>(head: Block<'m>, tail: Block<'m>, begin: PartStart) {
    let builder = Builder::at_end(head);
    match begin {
        PartStart::Block | PartStart::Gap => builder.branch(tail),
        PartStart::Boundary | PartStart::Fresh => {
            builder.branch_if(Type::i1(head.module()).int(0), tail, tail)
        }
    };
}
