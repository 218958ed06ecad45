//! Splits a function's LLVM blocks into pieces where timed paths end and begin.

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
    /// At the top of its original block.
    Block,
    /// Where one path ends and the next begins.
    Boundary,
    /// Where a path ends and no other begins. The piece is a call of `setjmp`. The next path begins
    /// with the next piece.
    Gap,
    /// Where a path begins and no other ends.
    PathStart,
}

/// An LLVM block after splitting: an original block, or a piece of one.
pub(super) struct Piece<'m> {
    pub(super) block: Block<'m>,
    /// The original block. `None` for the entry piece.
    pub(super) original: Option<BlockIndex>,
    pub(super) begin: PieceStart,
    pub(super) instructions: Vec<Instruction<'m>>,
    /// The actions of probes, each with the index of the instruction before which it is inserted.
    pub(super) actions: Vec<(usize, Action)>,
}

impl<'m> Piece<'m> {
    /// The target of the piece's jump. `None` if the piece is more than a jump.
    pub(super) fn jump(&self) -> Option<Block<'m>> {
        match self.instructions[..] {
            [jump] if jump.opcode() == Opcode::Br => match jump.successors()[..] {
                [target] => Some(target),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the piece has no copy in the timed code. `index` is the piece's index.
    pub(super) fn is_in_checking_code_only(&self, index: usize) -> bool {
        index == 0 || self.begin == PieceStart::Gap
    }
}

/// A function's pieces. The pieces of an original block are consecutive. The first piece is the
/// entry, which contains only the frame's slots.
pub(super) struct Pieces<'m> {
    pub(super) all: Vec<Piece<'m>>,
    /// By piece: the distinct pieces that it leads to, including the next piece of its block. Here
    /// a [`BlockIndex`] is the index of a piece, because each piece is a block of the timed code.
    pub(super) successors: Vec<Vec<BlockIndex>>,
    /// By original block: its first piece.
    pub(super) first: Vec<usize>,
    /// The index of the piece that is this LLVM block.
    pub(super) index_of: HashMap<Block<'m>, usize>,
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
            index_of: HashMap::new(),
        };
        let mut starts_by_block = Vec::with_capacity(boundaries.len());
        for (block, boundaries) in BlockIndex::enumerate(&boundaries) {
            pieces.first.push(pieces.all.len());
            let mut piece_starts = vec![(
                0,
                if block == BlockIndex::ENTRY {
                    PieceStart::PathStart
                } else {
                    PieceStart::Block
                },
            )];
            for boundary in boundaries {
                match boundary.begin {
                    Some(begin) if begin == boundary.end => {
                        piece_starts.push((begin, PieceStart::Boundary));
                    }
                    Some(begin) => {
                        piece_starts.extend([
                            (boundary.end, PieceStart::Gap),
                            (begin, PieceStart::PathStart),
                        ]);
                    }
                    None => {}
                }
            }
            pieces.split_block(parts, block, &anchors, &piece_starts);
            starts_by_block.push(piece_starts);
        }
        sink(parts.function);
        for piece in &mut pieces.all[1..] {
            piece.instructions = piece.block.instructions().collect();
        }
        for (block, piece_starts) in BlockIndex::enumerate(&starts_by_block) {
            pieces.distribute_actions(sites, block, piece_starts, parts, &anchors);
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
        pieces.index_of = all.map(|(index, piece)| (piece.block, index)).collect();
        pieces
    }

    /// How the next piece of the same block begins, if there is one.
    pub(super) fn next(&self, piece: usize) -> Option<PieceStart> {
        let next = self.all.get(piece + 1).map(|next| next.begin);
        next.filter(|&begin| begin != PieceStart::Block)
    }

    /// Splits a block. A piece begins at each of `piece_starts`, which are indices of instructions.
    fn split_block(
        &mut self,
        parts: &FunctionParts<'m>,
        block: BlockIndex,
        anchors: &Anchors,
        piece_starts: &[(usize, PieceStart)],
    ) {
        let tail = parts.blocks[block].block;
        for (piece_number, &(_, begin)) in piece_starts.iter().enumerate() {
            let next = self.all.len() + 1;
            let head = match piece_starts.get(piece_number + 1) {
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
            self.all.push(Piece {
                block: head,
                original: Some(block),
                begin,
                instructions: Vec::new(),
                actions: Vec::new(),
            });
        }
    }

    /// Distributes a block's actions among its pieces. At a boundary, the actions up to and
    /// including the count belong to the piece before the boundary.
    fn distribute_actions(
        &mut self,
        sites: &Sites,
        block: BlockIndex,
        piece_starts: &[(usize, PieceStart)],
        parts: &FunctionParts<'m>,
        anchors: &Anchors,
    ) {
        let mut piece_number = 0;
        for stop in &sites[block] {
            for &action in &stop.actions {
                // The actions after a gap belong to the piece after the gap.
                while let Some(&(index, PieceStart::PathStart)) = piece_starts.get(piece_number + 1)
                    && stop.index >= index
                {
                    piece_number += 1;
                }
                let piece = &mut self.all[self.first[block] + piece_number];
                let anchor = anchors.anchor(parts, block, stop.index);
                let position = piece.instructions.iter().position(|&other| other == anchor);
                // If the anchor is the first instruction of the next piece, the action is inserted
                // before the terminator of this piece.
                let index = position.unwrap_or(piece.instructions.len() - 1);
                piece.actions.push((index, action));
                let ends_piece = matches!(
                    piece_starts.get(piece_number + 1),
                    Some((index, PieceStart::Boundary | PieceStart::Gap)) if *index == stop.index
                );
                if matches!(action, Action::Count { .. }) && ends_piece {
                    piece_number += 1;
                }
            }
        }
    }
}

/// Makes the entry piece, and moves the frame's slots there.
fn entry<'m>(parts: &FunctionParts<'m>, anchors: &Anchors) -> Piece<'m> {
    let old = &parts.blocks[0];
    let block = old.block.insert_before("holloway.entry");
    let builder = Builder::at_end(block);
    for (index, &instruction) in old.instructions.iter().enumerate() {
        if anchors.is_moved(index) {
            builder.take(instruction);
        }
    }
    end_block(block, old.block, PieceStart::PathStart);
    Piece {
        block,
        original: None,
        begin: PieceStart::Block,
        instructions: block.instructions().collect(),
        actions: Vec::new(),
    }
}

/// Inserts the terminator of the block `head` before a piece that begins with `begin`. If a check
/// or the runtime's answer decides where control goes, the branch gets its condition and its other
/// target later.
fn end_block<'m>(head: Block<'m>, tail: Block<'m>, begin: PieceStart) {
    let builder = Builder::at_end(head);
    match begin {
        PieceStart::Block | PieceStart::Gap => builder.branch(tail),
        PieceStart::Boundary | PieceStart::PathStart => {
            builder.branch_if(Type::i1(head.module()).int(0), tail, tail)
        }
    };
}
