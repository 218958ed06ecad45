//! Keeping values of large functions in the frame.
//!
//! Where the two codes meet, each value that lives there needs phis in both codes
//! ([`super::ssa_repair`]), and the code generator takes long over phis. An interpreter has a
//! hundred loops, with hundreds of values live at each: they took most of the time that SQLite's
//! code generation took. A value in the frame needs no phi. Each code stores it where it is made
//! and loads it where it is used. The code generator would keep most such values in the frame
//! anyway, for lack of registers.
//!
//! So if too many values live at too many places, this stage spills the values that save most phis
//! for the fewest loads, weighted by how often blocks are likely to run. Values that never live in
//! the same block share a slot.

use std::collections::{BTreeMap, HashMap};

use holloway_llvm::{Block, Builder, Instruction, Opcode, Type, Value};

use super::super::frequencies::TransitionFrequencies;
use super::pieces::{Piece, PieceStart, Pieces};
use crate::lower::{BlockIndex, FunctionParts};

/// A function spills values if more than this many live at places where the codes meet, each value
/// counted at each place. SQLite's interpreter has 35,774, its next function 3,497. With this limit
/// bzip2 took 1.07 times as long as plain; with 4,000 (and 400 for `LEFT`) 1.34 times, because its
/// decoder has more (`cargo xtask bench --flavours variation --quick --rounds 5 --only bzip2`,
/// twice with each).
const MOST: usize = 10_000;
/// The number of live values left after spilling. With 2,000 SQLite took 54 seconds of processor
/// time to weave, with 400 it took 46, and 40 if its largest functions had no timed code (measured
/// once each, on a busy machine, with the same `MOST`).
const LEFT: usize = 2_000;

/// A value that lives in several pieces.
struct LiveValue<'m> {
    instruction: Instruction<'m>,
    /// The piece that computes it.
    made: usize,
    /// The pieces at whose top it is live.
    pieces: Vec<usize>,
    /// The number of places where the codes meet and it is live.
    places: usize,
    /// Operands in other pieces, by the piece that has to load the value.
    uses: BTreeMap<usize, Vec<(Instruction<'m>, u32)>>,
    /// How often it would be stored or loaded.
    cost: u64,
}

/// The pieces as a graph.
struct PieceGraph<'m> {
    piece: HashMap<Block<'m>, usize>,
    /// By instruction: its position in its piece.
    order: HashMap<Instruction<'m>, usize>,
    sources: Vec<Vec<usize>>,
    /// By piece: the number of the meeting place at its top, if the codes meet there.
    meeting: Vec<Option<usize>>,
    frequency: Vec<u64>,
}

/// Spills values until few enough live where the codes meet.
pub(super) fn spill<'m>(
    parts: &FunctionParts<'m>,
    pieces: &mut Pieces<'m>,
    frequencies: &TransitionFrequencies,
) {
    // After a second return of `setjmp`, the frame would hold values stored since the first.
    if pieces
        .all
        .iter()
        .any(|piece| piece.begin == PieceStart::Gap)
    {
        return;
    }
    let shape = PieceGraph::new(parts, pieces, frequencies);
    let mut living = shape.living(pieces);
    let mut places: usize = living.iter().map(|living| living.places).sum();
    if places <= MOST {
        return;
    }
    living.retain(|living| living.places > 0 && living.may_store());
    living.sort_by_key(|living| living.cost / living.places as u64);
    let mut frame = FrameSlots::default();
    for living in living {
        if places <= LEFT {
            break;
        }
        places -= living.places;
        let slot = frame.slot(&living, pieces);
        living.put(slot, pieces, &shape);
    }
    for piece in &mut pieces.all {
        refresh(piece);
    }
}

impl<'m> PieceGraph<'m> {
    fn new(
        parts: &FunctionParts<'m>,
        pieces: &Pieces<'m>,
        frequencies: &TransitionFrequencies,
    ) -> Self {
        let mut sources = vec![Vec::new(); pieces.all.len()];
        for (source, targets) in pieces.successors.iter().enumerate() {
            for &target in targets {
                sources[target.index()].push(source);
            }
        }
        let mut numbers = HashMap::new();
        let meeting = pieces.all.iter().map(|piece| {
            let place = piece.jump().unwrap_or(piece.block);
            let next = numbers.len();
            (piece.begin == PieceStart::Boundary).then(|| *numbers.entry(place).or_insert(next))
        });
        let order = pieces.all.iter().flat_map(|piece| {
            let numbers = piece.instructions.iter().enumerate();
            numbers.map(|(number, &instruction)| (instruction, number))
        });
        let runs: Vec<u64> = BlockIndex::all(parts.blocks.len())
            .map(|block| runs(parts, block, frequencies))
            .collect();
        Self {
            meeting: meeting.collect(),
            order: order.collect(),
            frequency: pieces
                .all
                .iter()
                .map(|piece| piece.of.map_or(0, |block| runs[block]))
                .collect(),
            piece: pieces.of.clone(),
            sources,
        }
    }

    /// The values that live in several pieces.
    fn living(&self, pieces: &Pieces<'m>) -> Vec<LiveValue<'m>> {
        let made = pieces.all.iter().enumerate().skip(1);
        let made = made.flat_map(|(index, piece)| {
            let instructions = piece.instructions.iter();
            instructions.map(move |&instruction| (index, instruction))
        });
        let living = made.map(|(made, instruction)| self.life(pieces, made, instruction));
        living.filter(|living| !living.pieces.is_empty()).collect()
    }

    fn life(
        &self,
        pieces: &Pieces<'m>,
        made: usize,
        instruction: Instruction<'m>,
    ) -> LiveValue<'m> {
        let value = instruction.value();
        let mut users: Vec<_> = value.users();
        users.sort_unstable_by_key(|user| user.as_instruction().map(|user| self.at(user)));
        users.dedup();
        let mut open = Vec::new();
        let mut uses: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for user in users.into_iter().filter_map(Value::as_instruction) {
            let incoming = user.incoming();
            for operand in 0..user.value().operand_count() {
                if user.value().operand(operand) != value {
                    continue;
                }
                let from = incoming.get(operand as usize).map(|(_, block)| block);
                let at = self.piece[from.unwrap_or(&user.block())];
                if at == made {
                    continue;
                }
                open.push(at);
                // A piece that only jumps stays so, because control comes back after it.
                let jumps =
                    pieces.all[at].begin == PieceStart::Boundary && pieces.all[at].jump().is_some();
                let load = if from.is_some() && jumps { at - 1 } else { at };
                if load != made {
                    uses.entry(load).or_default().push((user, operand));
                }
            }
        }
        let lives = self.lives(made, open);
        let mut places: Vec<usize> = lives
            .iter()
            .filter_map(|&piece| self.meeting[piece])
            .collect();
        places.sort_unstable();
        places.dedup();
        let loads = uses.keys().map(|&piece| self.frequency[piece]);
        LiveValue {
            instruction,
            made,
            places: places.len(),
            cost: loads.fold(self.frequency[made], u64::saturating_add),
            pieces: lives,
            uses,
        }
    }

    fn at(&self, user: Instruction<'m>) -> (usize, usize) {
        (self.piece[&user.block()], self.order[&user])
    }

    /// The pieces at whose top a value is live that piece `made` computes and the pieces `open` use.
    fn lives(&self, made: usize, mut open: Vec<usize>) -> Vec<usize> {
        let mut seen = std::collections::BTreeSet::new();
        while let Some(piece) = open.pop() {
            if piece != made && seen.insert(piece) {
                open.extend(&self.sources[piece]);
            }
        }
        seen.into_iter().collect()
    }
}

impl<'m> LiveValue<'m> {
    fn may_store(&self) -> bool {
        let opcode = self.instruction.opcode();
        let jumps = matches!(opcode, Opcode::Invoke | Opcode::CallBr);
        self.instruction.value().kind().is_scalar() && !jumps
    }

    /// Stores the value where it is computed, and loads it where it is used.
    fn put(&self, slot: Value<'m>, pieces: &Pieces<'m>, shape: &PieceGraph<'m>) {
        let value = self.instruction.value();
        let made = &pieces.all[self.made].instructions;
        let head = |instruction: &&Instruction<'_>| {
            matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
        };
        let behind = match head(&&self.instruction) {
            true => made.iter().take_while(head).count(),
            false => shape.order[&self.instruction] + 1,
        };
        Builder::before(made[behind]).store(value, slot);
        for (&piece, uses) in &self.uses {
            let instructions = &pieces.all[piece].instructions;
            let inside = uses.iter().filter(|(user, _)| user.opcode() != Opcode::Phi);
            let first = inside.map(|(user, _)| shape.order[user]).min();
            let first = first.unwrap_or(instructions.len() - 1);
            let loaded = Builder::before(instructions[first]).load(value.kind(), slot);
            for &(user, operand) in uses {
                user.set_operand(operand, loaded);
            }
        }
    }
}

/// The slots of a function's frame.
#[derive(Default)]
struct FrameSlots<'m> {
    /// Each slot with its type and a bit per piece in which it is taken.
    slots: Vec<(Type<'m>, Value<'m>, Vec<u64>)>,
}

impl<'m> FrameSlots<'m> {
    fn slot(&mut self, living: &LiveValue<'m>, pieces: &Pieces<'m>) -> Value<'m> {
        let kind = living.instruction.value().kind();
        let mut lives = vec![0u64; pieces.all.len().div_ceil(64)];
        for &piece in living.pieces.iter().chain([&living.made]) {
            lives[piece / 64] |= 1 << (piece % 64);
        }
        let free = |taken: &[u64]| {
            taken
                .iter()
                .zip(&lives)
                .all(|(taken, own)| taken & own == 0)
        };
        let mut slots = self.slots.iter_mut();
        if let Some((_, slot, taken)) =
            slots.find(|(other, _, taken)| *other == kind && free(taken))
        {
            for (taken, own) in taken.iter_mut().zip(&lives) {
                *taken |= own;
            }
            return *slot;
        }
        let slot = Builder::at_top(pieces.all[0].block).slot(kind);
        self.slots.push((kind, slot, lives));
        slot
    }
}

/// How often a block is likely to run.
fn runs(parts: &FunctionParts<'_>, block: BlockIndex, frequencies: &TransitionFrequencies) -> u64 {
    let info = &parts.blocks[block];
    let sources = info.sources.iter();
    let come = sources.fold(0u64, |sum, &from| {
        sum.saturating_add(frequencies.between(from, block))
    });
    let targets = info.targets.iter();
    let gone = targets.fold(0u64, |sum, to| {
        sum.saturating_add(frequencies.between(block, to.block))
    });
    come.max(gone)
}

/// Reads a piece's instructions again. Its probes stay before the same instructions.
fn refresh(piece: &mut Piece<'_>) {
    let new: Vec<_> = piece.block.instructions().collect();
    if new.len() != piece.instructions.len() {
        for (index, _) in &mut piece.actions {
            let anchor = piece.instructions[*index];
            let found = new.iter().position(|&other| other == anchor);
            *index = found.expect("nothing was taken out");
        }
        piece.instructions = new;
    }
}
