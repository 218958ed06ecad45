//! The checks of the checking code, and the ways from one code to the other. Places that only jump
//! to the same block share their check's slow path.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Global, Instruction, Opcode, Type, Value};

use super::super::clock::{Clock, StartStorage};
use super::super::entry::rare_branch_weights;
use super::countdown_loops::CountdownLoops;
use super::pieces::{PieceStart, Pieces};
use super::timed_code::TimedCode;
use crate::lower::FunctionParts;

/// The two codes of a function, and the blocks and values needed between them.
pub(super) struct Crossings<'a, 'm> {
    pub(super) parts: &'a FunctionParts<'m>,
    pub(super) pieces: &'a Pieces<'m>,
    pub(super) timed: &'a TimedCode<'m>,
    pub(super) clock: &'a Clock<'a, 'm>,
    pub(super) places: &'a StartStorage<'m>,
    pub(super) countdown: Global<'m>,
}

impl<'m> Crossings<'_, 'm> {
    /// The places where paths begin, grouped by shared ways. The places of a group only jump to the
    /// same block (mostly back edges of a loop) and start paths with the same number. An
    /// interpreter's loop has hundreds of back edges. With separate ways for each back edge, every
    /// live value would need hundreds of phis.
    pub(super) fn groups(&self, loops: &CountdownLoops<'m>) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<(Block<'m>, Option<usize>), Vec<usize>> = HashMap::new();
        let actions = |piece: usize| {
            let stops = self.timed.copy.sites[piece].iter();
            stops.flat_map(|stop| stop.actions.iter().copied())
        };
        for piece in 1..self.pieces.all.len() {
            if !matches!(
                self.pieces.all[piece].begin,
                PieceStart::Boundary | PieceStart::Fresh
            ) {
                continue;
            }
            if let Some(target) = self.jump(piece)
                && self.timed.answers[piece].is_none()
            {
                let around = loops.loop_of(self.pieces, piece - 1);
                let same = known.entry((target, around)).or_default();
                let mut like = same.iter();
                if let Some(&group) =
                    like.find(|&&group| actions(groups[group][0]).eq(actions(piece)))
                {
                    groups[group].push(piece);
                    continue;
                }
                same.push(groups.len());
            }
            groups.push(vec![piece]);
        }
        groups
    }

    /// The block that a piece jumps to, if the piece does nothing else.
    fn jump(&self, piece: usize) -> Option<Block<'m>> {
        self.pieces.all[piece].jump()
    }

    /// Makes the ways at the beginning of a group's pieces. Adds the blocks between the two codes to
    /// `between`.
    pub(super) fn insert(
        &self,
        group: &[usize],
        loops: &mut CountdownLoops<'m>,
        between: &mut Vec<Block<'m>>,
    ) {
        let block = |name| self.parts.function.append_block(name);
        let cold = block("holloway.burst");
        let enter = block("holloway.begin");
        let back = block("holloway.back");
        between.extend([enter, back]);
        let checks = group.iter().map(|&piece| {
            let left = self.check(piece - 1, cold, loops);
            (left, self.pieces.all[piece - 1].block)
        });
        let checks: Vec<_> = checks.collect();
        let builder = Builder::at_end(cold);
        let lefts = checks
            .iter()
            .filter_map(|&(left, block)| Some((left?, block)));
        let lefts: Vec<_> = lefts.collect();
        let left = (!lefts.is_empty()).then(|| phi_of(&builder, &lefts));
        let from: Vec<Block<'m>> = checks.iter().map(|&(_, block)| block).collect();
        let target = self.target(group[0]);
        let ended = self.ended(group, enter, back);
        let carried = self.carried(group, target, &from, &ended, cold);
        if let Some(left) = left {
            builder.store(left, self.countdown.value());
        }
        let ring = self.clock.ask_runtime(&builder).value();
        builder.branch_if(builder.is_null(ring), back, enter);
        self.enter(group[0], enter, (ring, cold), &ended, &carried);
        self.back(target, back, &carried, loops);
    }

    /// The piece where control comes back from the timed code. If the piece only jumps, it is the
    /// jump's target.
    fn target(&self, piece: usize) -> usize {
        let Some(block) = self.jump(piece) else {
            return piece;
        };
        self.pieces.of[&block]
    }

    /// Makes the timed code branch by the runtime's answer before these pieces. Returns, by piece,
    /// the answer and its block.
    fn ended(
        &self,
        group: &[usize],
        enter: Block<'m>,
        back: Block<'m>,
    ) -> Vec<Option<(Value<'m>, Block<'m>)>> {
        let ended = group.iter().map(|&piece| {
            let before = &self.timed.copy.parts.blocks[piece - 1];
            let answer = self.timed.answers[piece - 1]?.value();
            let end = before.terminator();
            end.set_operand(0, Builder::before(end).is_null(answer));
            end.set_successor(0, back);
            end.set_successor(1, enter);
            Some((answer, before.block))
        });
        ended.collect()
    }

    /// The values for the phis of the block that the pieces jump to.
    fn carried(
        &self,
        group: &[usize],
        target: usize,
        from: &[Block<'m>],
        ended: &[Option<(Value<'m>, Block<'m>)>],
        cold: Block<'m>,
    ) -> Vec<CarriedPhi<'m>> {
        if target == group[0] {
            return Vec::new();
        }
        let copied = &self.timed.copy.parts.blocks;
        let phis = self.pieces.all[target].instructions.iter().copied();
        let phis = phis.zip(copied[target].instructions.iter().copied());
        let phis = phis.take_while(|(phi, _)| phi.opcode() == Opcode::Phi);
        let carried = phis.map(|(phi, copy)| {
            let (values, copies) = (incoming(phi), incoming(copy));
            let pieces = group.iter().zip(from);
            let checked =
                pieces.map(|(&piece, &from)| (values[&self.pieces.all[piece].block], from));
            let checked: Vec<_> = checked.collect();
            let mut all = vec![(phi_of(&Builder::at_end(cold), &checked), cold)];
            for (&piece, ended) in group.iter().zip(ended) {
                let value = copies.get(&copied[piece].block);
                all.extend(value.zip(*ended).map(|(&value, (_, block))| (value, block)));
            }
            CarriedPhi { phi, copy, all }
        });
        carried.collect()
    }

    /// Inserts the check at the end of a piece. Returns the countdown if only a register has it.
    fn check(
        &self,
        piece: usize,
        cold: Block<'m>,
        loops: &mut CountdownLoops<'m>,
    ) -> Option<Value<'m>> {
        let end = end_of(&self.pieces.all[piece].instructions);
        let (word, countdown) = (Type::i32(end.module()), self.countdown.value());
        let around = loops.loop_of(self.pieces, piece);
        let left = around.map(|around| loops.decrement(around, end));
        let builder = Builder::before(end);
        let checked = left.unwrap_or_else(|| {
            let left = builder.add(builder.load(word, countdown), word.int(-1));
            builder.store(left, countdown);
            left
        });
        end.set_operand(0, builder.is_negative(checked));
        end.set_successor(0, cold);
        end.set_metadata(
            end.module().metadata_kind("prof"),
            rare_branch_weights(end.module()),
        );
        left
    }

    /// Begins a timed path in the block `enter`, which the check and the end of a timed path lead
    /// to.
    fn enter(
        &self,
        piece: usize,
        enter: Block<'m>,
        asked: (Value<'m>, Block<'m>),
        ended: &[Option<(Value<'m>, Block<'m>)>],
        carried: &[CarriedPhi<'m>],
    ) {
        let builder = Builder::at_end(enter);
        let rings: Vec<_> = [asked]
            .into_iter()
            .chain(ended.iter().copied().flatten())
            .collect();
        let ring = phi_of(&builder, &rings);
        let copied = &self.timed.copy;
        let target = &copied.parts.blocks[piece];
        let values = carried.iter().map(|carried| phi_of(&builder, &carried.all));
        let values: Vec<_> = values.collect();
        for (carried, value) in carried.iter().zip(values) {
            let mut sources = carried.copy.incoming().into_iter();
            let at = sources.position(|(_, block)| block == target.block);
            if let Some(at) = at.and_then(|at| u32::try_from(at).ok()) {
                carried.copy.set_operand(at, opaque(&builder, value));
            }
        }
        let goto = target.terminator();
        let lone = self.pieces.all[piece].instructions.len() == 1;
        match goto.opcode() {
            // The lookup of the label, after this place, is not piece of the path.
            Opcode::IndirectBr if lone => self.begin(&Builder::before(goto), ring),
            _ => self.begin(&builder, ring),
        }
        builder.branch(target.block);
    }

    fn begin(&self, builder: &Builder<'m>, ring: Value<'m>) {
        let began = self.clock.begin_after_call(builder, ring);
        self.places.store(builder, began);
    }

    /// Returns to the checking code from the block `back`.
    fn back(
        &self,
        target: usize,
        back: Block<'m>,
        carried: &[CarriedPhi<'m>],
        loops: &mut CountdownLoops<'m>,
    ) {
        let builder = Builder::at_end(back);
        let values = carried.iter().map(|carried| phi_of(&builder, &carried.all));
        let values: Vec<_> = values.collect();
        for (carried, value) in carried.iter().zip(values) {
            carried.phi.add_incoming(opaque(&builder, value), back);
        }
        let end = builder.branch(self.pieces.all[target].block);
        if let Some(around) = loops.loop_of(self.pieces, target) {
            loops.reload(around, end);
        }
    }
}

/// The values that a phi gets on the ways between the codes.
struct CarriedPhi<'m> {
    phi: Instruction<'m>,
    /// Its copy in the timed code.
    copy: Instruction<'m>,
    /// From each block that leads to `enter` and to `back`.
    all: Vec<(Value<'m>, Block<'m>)>,
}

/// A phi's values, by incoming block.
fn incoming<'m>(phi: Instruction<'m>) -> HashMap<Block<'m>, Value<'m>> {
    let incoming = phi.incoming().into_iter();
    incoming.map(|(value, block)| (block, value)).collect()
}

/// A phi of these values.
fn phi_of<'m>(builder: &Builder<'m>, values: &[(Value<'m>, Block<'m>)]) -> Value<'m> {
    let phi = builder.phi(values[0].0.kind());
    for &(value, block) in values {
        phi.add_incoming(value, block);
    }
    phi.value()
}

/// The same value, frozen, so that LLVM's analyses stop there ([`super::ssa_repair`]).
fn opaque<'m>(builder: &Builder<'m>, value: Value<'m>) -> Value<'m> {
    match value.kind().is_scalar() {
        true => builder.freeze(value),
        false => value,
    }
}

fn end_of<'m>(instructions: &[Instruction<'m>]) -> Instruction<'m> {
    *instructions.last().expect("blocks aren't empty")
}
