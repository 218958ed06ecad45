//! Copies a function's blocks. The copy becomes the timed code.

use std::collections::HashMap;

use holloway_flow::Action;
use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Type, Value};

use super::super::sites::{Sites, Stop};
use super::pieces::{PieceStart, Pieces};
use crate::lower::{BlockInfo, FunctionParts};

/// The copy of a function's blocks.
pub(super) struct TimedCopy<'m> {
    /// The blocks, by piece: the copy of the piece, or the piece itself if it has no copy.
    pub(super) parts: FunctionParts<'m>,
    /// By piece: the actions of probes in the copy.
    pub(super) sites: Sites,
    /// Each copied instruction with its copy, in order.
    pub(super) pairs: Vec<(Instruction<'m>, Instruction<'m>)>,
}

impl<'m> TimedCopy<'m> {
    /// Copies all pieces except those that belong to the checking code only.
    pub(super) fn new(function: Function<'m>, pieces: &Pieces<'m>) -> Self {
        let mut timed = Self {
            parts: FunctionParts {
                function,
                blocks: Vec::with_capacity(pieces.all.len()),
            },
            sites: Vec::with_capacity(pieces.all.len()),
            pairs: Vec::new(),
        };
        let mut blocks = HashMap::new();
        for index in 0..pieces.all.len() {
            let block = timed.copy(pieces, index);
            if block != pieces.all[index].block {
                blocks.insert(pieces.all[index].block, block);
            }
        }
        let values = timed.pairs.iter();
        let values: HashMap<Value<'m>, Value<'m>> = values
            .map(|(old, new)| (old.value(), new.value()))
            .collect();
        for &(old, new) in &timed.pairs {
            rename(old, new, &values, &blocks);
        }
        timed
    }

    /// Copies a piece. Returns the block of the copy.
    fn copy(&mut self, pieces: &Pieces<'m>, index: usize) -> Block<'m> {
        let piece = &pieces.all[index];
        // By instruction of the piece: the index of its copy, or of the next instruction's copy.
        let mut copied_index = Vec::with_capacity(piece.instructions.len());
        let (block, instructions) = if piece.is_in_checking_code_only(index) {
            copied_index.extend(0..piece.instructions.len());
            (piece.block, piece.instructions.clone())
        } else {
            let block = self.parts.function.append_block("holloway.timed");
            let builder = Builder::at_end(block);
            let mut copies = Vec::with_capacity(piece.instructions.len());
            for &instruction in &piece.instructions {
                copied_index.push(copies.len());
                if !is_left_out(instruction) {
                    let copy = builder.copy(instruction);
                    forget_scopes(copy);
                    self.pairs.push((instruction, copy));
                    copies.push(copy);
                }
            }
            (block, copies)
        };
        let head = |instruction: &&Instruction<'_>| {
            matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
        };
        let top = instructions.iter().take_while(head).count();
        let mut stops = Vec::new();
        if matches!(piece.begin, PieceStart::Boundary | PieceStart::PathStart) {
            // Here the path register still has the value of another path.
            stops.push(Stop::new(top, vec![Action::Set(0)]));
        }
        stops.extend(
            piece
                .actions
                .iter()
                .map(|&(at, action)| Stop::new(copied_index[at], vec![action])),
        );
        self.sites.push(stops);
        self.parts.blocks.push(BlockInfo {
            block,
            instructions,
            top,
            cuts: Vec::new(),
            block_exit: None,
            targets: Vec::new(),
            sources: Vec::new(),
        });
        block
    }
}

/// Whether the copy leaves an instruction out: debug records of variables, and declarations of
/// scopes ([`forget_scopes`]).
fn is_left_out(instruction: Instruction<'_>) -> bool {
    let name = instruction.intrinsic();
    name.is_some_and(|name| {
        name.starts_with("llvm.dbg.") || name == "llvm.experimental.noalias.scope.decl"
    })
}

/// Removes the `noalias` metadata of a copied instruction. This metadata makes statements about
/// accesses in the same execution of a scope. But control may change between the two codes during
/// an execution, so the statements would be wrong. The checking code keeps its metadata, which does
/// not apply to the copies.
fn forget_scopes(copy: Instruction<'_>) {
    for name in ["alias.scope", "noalias"] {
        copy.remove_metadata(copy.module().metadata_kind(name));
    }
}

/// Makes a copied instruction use the copied values and lead to the copied blocks.
fn rename<'m>(
    old: Instruction<'m>,
    new: Instruction<'m>,
    values: &HashMap<Value<'m>, Value<'m>>,
    blocks: &HashMap<Block<'m>, Block<'m>>,
) {
    if old.opcode() == Opcode::Phi {
        for (value, block) in old.incoming() {
            let value = values.get(&value).copied().unwrap_or(value);
            new.add_incoming(value, blocks.get(&block).copied().unwrap_or(block));
        }
        return;
    }
    for index in 0..new.value().operand_count() {
        if let Some(&value) = values.get(&new.value().operand(index)) {
            new.set_operand(index, value);
        }
    }
    let mut targets = Vec::new();
    for (index, target) in (0..).zip(new.successors()) {
        if let Some(&block) = blocks.get(&target) {
            new.set_successor(index, block);
            targets.push((target, block));
        }
    }
    if new.opcode() == Opcode::IndirectBr {
        redirect_to_copies(new, &targets);
    }
}

/// Makes a copied computed goto jump to the copy of a label when its operand is the label's
/// address. `targets` has each label with its copy.
fn redirect_to_copies<'m>(goto: Instruction<'m>, targets: &[(Block<'m>, Block<'m>)]) {
    let builder = Builder::before(goto);
    let label = goto.value().operand(0);
    let mut address = label;
    let mut visited = std::collections::HashSet::new();
    for &(old, new) in targets {
        if visited.insert(old) {
            let same = builder.is_equal(label, old.address());
            address = builder.select(same, new.address(), address);
        }
    }
    assert_eq!(
        address.kind(),
        Type::pointer(goto.module()),
        "labels have addresses"
    );
    goto.set_operand(0, address);
}
