//! Splitting a function's blocks where paths end and begin.

use std::collections::HashMap;

use holloway_flow::Action;
use holloway_llvm::{Block, Builder, Instruction, Opcode, Type};

use super::super::anchors::Anchors;
use super::super::boundaries::path_boundaries;
use super::super::graph::BlockGraph;
use super::super::sites::Sites;
use super::sink::sink;
use crate::lower::{BlockIndex, FunctionParts};

/// How a piece begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceStart {
    /// At the top of its block.
    Block,
    /// One path ends there and the next begins.
    Boundary,
    /// A path ends there, and the next begins with the next piece: a call of `setjmp` lies between.
    Gap,
    /// A path begins there, none ends.
    Fresh,
}

/// A block, or a piece of one.
pub(super) struct Piece<'m> {
    pub(super) block: Block<'m>,
    /// The parts's block that the piece is a piece of; `None` for the entry.
    pub(super) of: Option<BlockIndex>,
    pub(super) begin: PieceStart,
    pub(super) instructions: Vec<Instruction<'m>>,
    /// The probes' actions, each with the position of the instruction that it stands before.
    pub(super) actions: Vec<(usize, Action)>,
}

impl<'m> Piece<'m> {
    /// The target of the piece's jump, if the piece does nothing else.
    pub(super) fn jump(&self) -> Option<Block<'m>> {
        match self.instructions[..] {
            [jump] if jump.opcode() == Opcode::Br => match jump.successors()[..] {
                [target] => Some(target),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the piece stands in the checking code only.
    pub(super) fn is_single(&self, index: usize) -> bool {
        index == 0 || self.begin == PieceStart::Gap
    }
}

/// A function's pieces. Pieces of a block follow one another. The first piece is the entry, which
/// holds only the frame's slots.
pub(super) struct Pieces<'m> {
    pub(super) all: Vec<Piece<'m>>,
    /// By piece: the pieces it leads to, each once, the next piece of its block included. Pieces are
    /// the blocks of the timed code's parts.
    pub(super) successors: Vec<Vec<BlockIndex>>,
    /// By block of the parts: its first piece.
    pub(super) first: Vec<usize>,
    /// By LLVM block: the piece.
    pub(super) of: HashMap<Block<'m>, usize>,
}

impl<'m> Pieces<'m> {
    /// Splits the blocks.
    pub(super) fn split(parts: &FunctionParts<'m>, graph: &BlockGraph, sites: &Sites) -> Self {
        let anchors = Anchors::new(parts);
        let boundaries = path_boundaries(parts, sites);
        let mut pieces = Self {
            all: vec![entry(parts, &anchors)],
            successors: vec![vec![BlockIndex::new(1)]],
            first: Vec::with_capacity(parts.blocks.len()),
            of: HashMap::new(),
        };
        let mut begins = Vec::with_capacity(boundaries.len());
        for (block, boundaries) in BlockIndex::enumerate(&boundaries) {
            pieces.first.push(pieces.all.len());
            let mut places = vec![(
                0,
                if block == BlockIndex::ENTRY {
                    PieceStart::Fresh
                } else {
                    PieceStart::Block
                },
            )];
            for boundary in boundaries {
                match boundary.begin {
                    Some(begin) if begin == boundary.end => {
                        places.push((begin, PieceStart::Boundary));
                    }
                    Some(begin) => {
                        places
                            .extend([(boundary.end, PieceStart::Gap), (begin, PieceStart::Fresh)]);
                    }
                    None => {}
                }
            }
            pieces.split_block(parts, block, &anchors, &places);
            begins.push(places);
        }
        sink(parts.function);
        for piece in &mut pieces.all[1..] {
            piece.instructions = piece.block.instructions().collect();
        }
        for (block, places) in BlockIndex::enumerate(&begins) {
            pieces.share(sites, block, places, parts, &anchors);
        }
        for (block, targets) in graph.successors.iter().enumerate() {
            let next = pieces.first.get(block + 1);
            let last = next.map_or(pieces.all.len(), |&next| next) - 1;
            let targets = targets
                .iter()
                .map(|&target| BlockIndex::new(pieces.first[target]));
            pieces.successors[last] = targets.collect();
        }
        let all = pieces.all.iter().enumerate();
        pieces.of = all.map(|(index, piece)| (piece.block, index)).collect();
        pieces
    }

    /// How the next piece of the same block begins, if there is one.
    pub(super) fn next(&self, piece: usize) -> Option<PieceStart> {
        let next = self.all.get(piece + 1).map(|next| next.begin);
        next.filter(|&begin| begin != PieceStart::Block)
    }

    /// Makes the pieces of a block: one begins at each place.
    fn split_block(
        &mut self,
        parts: &FunctionParts<'m>,
        block: BlockIndex,
        anchors: &Anchors,
        places: &[(usize, PieceStart)],
    ) {
        let tail = parts.blocks[block].block;
        for (number, &(_, begin)) in places.iter().enumerate() {
            let next = self.all.len() + 1;
            let head = match places.get(number + 1) {
                Some(&(index, following)) => {
                    let head = tail.split_before(anchors.anchor(parts, block, index));
                    end(head, tail, following);
                    self.successors.push(vec![BlockIndex::new(next)]);
                    head
                }
                None => {
                    self.successors.push(Vec::new());
                    tail
                }
            };
            self.all.push(Piece {
                block: head,
                of: Some(block),
                begin,
                instructions: Vec::new(),
                actions: Vec::new(),
            });
        }
    }

    /// Distributes a block's actions among its pieces. The actions at a boundary, up to the count,
    /// belong to the piece before it.
    fn share(
        &mut self,
        sites: &Sites,
        block: BlockIndex,
        places: &[(usize, PieceStart)],
        parts: &FunctionParts<'m>,
        anchors: &Anchors,
    ) {
        let mut number = 0;
        for stop in &sites[block] {
            for &action in &stop.actions {
                // The actions after a gap belong to the piece after it.
                while let Some(&(index, PieceStart::Fresh)) = places.get(number + 1)
                    && stop.index >= index
                {
                    number += 1;
                }
                let piece = &mut self.all[self.first[block] + number];
                let anchor = anchors.anchor(parts, block, stop.index);
                let found = piece.instructions.iter().position(|&other| other == anchor);
                // An action before the next piece's first instruction stands before this piece's end.
                let index = found.unwrap_or(piece.instructions.len() - 1);
                piece.actions.push((index, action));
                let turns = matches!(
                    places.get(number + 1),
                    Some((index, PieceStart::Boundary | PieceStart::Gap)) if *index == stop.index
                );
                if matches!(action, Action::Count { .. }) && turns {
                    number += 1;
                }
            }
        }
    }
}

/// Makes the entry piece, which holds the frame's slots.
fn entry<'m>(parts: &FunctionParts<'m>, anchors: &Anchors) -> Piece<'m> {
    let old = &parts.blocks[0];
    let block = old.block.insert_before("holloway.entry");
    let builder = Builder::at_end(block);
    for (index, &instruction) in old.instructions.iter().enumerate() {
        if anchors.is_moved(index) {
            builder.take(instruction);
        }
    }
    end(block, old.block, PieceStart::Fresh);
    Piece {
        block,
        of: None,
        begin: PieceStart::Block,
        instructions: block.instructions().collect(),
        actions: Vec::new(),
    }
}

/// Ends a block before a piece that begins in this way. Where a check or an answer decides, the
/// branch gets its condition later.
fn end<'m>(head: Block<'m>, tail: Block<'m>, begin: PieceStart) {
    let builder = Builder::at_end(head);
    match begin {
        PieceStart::Block | PieceStart::Gap => builder.branch(tail),
        PieceStart::Boundary | PieceStart::Fresh => {
            builder.branch_if(Type::i1(head.module()).int(0), tail, tail)
        }
    };
}
