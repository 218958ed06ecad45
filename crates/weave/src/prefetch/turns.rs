//! What a loop certainly does: which blocks each iteration runs, and which iterations come.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_llvm::{Block, Builder, Comparison, Instruction, Opcode, TypeKind, Value};

use super::addresses::offset;
use crate::loads::LoopAccesses;
use crate::lower::{CallAttributes, LoweredFunction};

/// A loop, with the analyses of its function: dominators, loops, and the loads of this loop.
#[derive(Clone, Copy)]
pub(super) struct LoopTurns<'a, 'm> {
    pub(super) lowered: &'a LoweredFunction<'m>,
    pub(super) attributes: &'a CallAttributes,
    pub(super) dominators: &'a Dominators,
    pub(super) loops: &'a Loops,
    pub(super) first_parts: &'a HashMap<Block<'m>, BlockId>,
    pub(super) accesses: &'a LoopAccesses<'a, 'm>,
    /// The loop's index in `loops`.
    pub(super) index: usize,
}

impl<'m> LoopTurns<'_, 'm> {
    /// The instructions of the loop, by block.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[Instruction<'m>]> {
        let blocks = self.lowered.parts.blocks.iter();
        let inside = blocks.filter(|block| self.accesses.contains(block.block));
        inside.map(|block| &*block.instructions)
    }

    /// Whether each iteration that comes to its end runs a block of the loop.
    pub(super) fn is_in_each_iteration(&self, block: Block<'m>) -> bool {
        let node = self.first_parts.get(&block).copied();
        node.zip(self.latch())
            .is_some_and(|(node, latch)| self.dominators.dominates(node, latch))
    }

    /// The part from which the only back edge leads to the loop's head.
    pub(super) fn latch(&self) -> Option<BlockId> {
        match self.loops.all()[self.index].back_edges[..] {
            [back_edge] => Some(self.lowered.cfg.edge(back_edge).from),
            _ => None,
        }
    }

    pub(super) fn block_of(&self, part: BlockId) -> Block<'m> {
        self.lowered.parts.blocks[self.lowered.nodes[part.index()].block].block
    }

    /// The terminator with the only exit of the loop. `None` if there are several, or if an
    /// instruction may not come to its end or waits for another thread.
    pub(super) fn only_exit(&self) -> Option<Instruction<'m>> {
        let inside = |block: Block<'m>| self.accesses.contains(block);
        let mut exit = None;
        for block in self.lowered.parts.blocks.iter().map(|block| block.block) {
            if !inside(block) {
                continue;
            }
            if !block.instructions().all(|i| self.attributes.ends_alone(i)) {
                return None;
            }
            let terminator = block.terminator()?;
            let successors = terminator.successors();
            if successors.is_empty() {
                return None;
            }
            let leaves = !successors.into_iter().all(inside);
            if leaves && exit.replace(terminator).is_some() {
                return None;
            }
        }
        exit
    }

    /// Finds out how the loop tells, in `block`, whether it will run the iteration after so many.
    /// `None` if that is unknown.
    pub(super) fn limit(&self, block: Block<'m>, turns: i64) -> Option<Limit<'m>> {
        let exit = self.exit_test()?;
        let (phi, step) = (exit.phi, exit.step);
        let kind = phi.kind();
        // The tests from that of this iteration on must not end the loop. At the head, this test is
        // past in all other blocks, and the wanted iteration has one more.
        let (head, latch) = (self.accesses.head(), self.block_of(self.latch()?));
        let added = match exit.block {
            exit_block if exit_block == latch => exit.added,
            exit_block if exit_block == head && block == head => exit.added,
            exit_block if exit_block == head => exit.added.checked_add(step)?,
            _ => return None,
        };
        let ends_at_limit = match exit.goes_on {
            Comparison::NotEqual => true,
            Comparison::Less if exit.is_left == (step > 0) => false,
            Comparison::Greater if exit.is_left == (step < 0) => false,
            Comparison::Equal | Comparison::Less | Comparison::Greater | Comparison::OrEqual => {
                return None;
            }
        };
        let limit = match self.changes(exit.limit) {
            false => exit.limit,
            // The limit of a later test is not less than that of this iteration.
            true if exit.block == latch && !ends_at_limit && step > 0 && self.inner_loops_end() => {
                self.least(exit.limit, exit.test)?
            }
            true => return None,
        };
        let tests = if ends_at_limit { turns } else { turns - 1 };
        let least = step.checked_abs()?.checked_mul(tests)?;
        let least = least.checked_sub(i64::from(ends_at_limit))?;
        let bits = match kind.kind() {
            TypeKind::Integer(bits) => bits.min(64),
            _ => 64,
        };
        let fits = |number: i64| number >= 0 && number <= i64::MAX >> (64 - bits);
        (fits(least) && fits(step.checked_abs()?)).then_some(Limit {
            test: exit.test,
            phi,
            added,
            limit,
            is_left: exit.is_left,
            goes_up: step > 0,
            ends_at_limit,
            least,
        })
    }

    /// The counter of a loop that ends when a number equals a limit, at the end of an iteration,
    /// and that steps by one. `None` for other loops.
    pub(super) fn exact_counter(&self) -> Option<ExactCounter<'m>> {
        let exit = self.exit_test()?;
        let is_exact = exit.goes_on == Comparison::NotEqual
            && [1, -1].contains(&exit.step)
            && exit.block == self.block_of(self.latch()?)
            && exit.phi.kind().kind() == TypeKind::Integer(64)
            && !self.changes(exit.limit);
        is_exact.then_some(ExactCounter {
            phi: exit.phi,
            added: exit.added,
            step: exit.step,
            limit: exit.limit,
        })
    }

    /// The comparison that ends the loop. `None` if the loop has several exits, or another kind of
    /// exit.
    fn exit_test(&self) -> Option<ExitTest<'m>> {
        self.test_of(self.only_exit()?)
    }

    /// The comparison of a branch out of the loop. `None` if it does not compare a counter.
    fn test_of(&self, exit: Instruction<'m>) -> Option<ExitTest<'m>> {
        let inside = |block: Block<'m>| self.accesses.contains(block);
        let [then, otherwise] = exit.successors()[..] else {
            return None;
        };
        if exit.opcode() != Opcode::Br || then == otherwise {
            return None;
        }
        let test = exit.value().operand(0).as_instruction()?;
        let goes_on = match (test.comparison()?, inside(then)) {
            (comparison, true) => comparison,
            (Comparison::Equal, false) => Comparison::NotEqual,
            (_, false) => return None,
        };
        let operands = [0, 1].map(|index| test.value().operand(index));
        let counters = operands.map(|operand| {
            let (phi, added) = self.accesses.without_constants(operand);
            let step = self.accesses.step_of(phi.as_instruction()?)?;
            let kind = phi.kind();
            (step != 0 && kind.is_scalar() && operand.kind() == kind).then_some((phi, added, step))
        });
        // One operand must be a counter. If the other one is a counter, too, nothing is known.
        let (is_left, (phi, added, step)) = match counters {
            [Some(counter), None] => (true, counter),
            [None, Some(counter)] => (false, counter),
            [None, None] | [Some(_), Some(_)] => return None,
        };
        Some(ExitTest {
            block: exit.block(),
            test,
            goes_on,
            is_left,
            phi,
            added,
            step,
            limit: operands[usize::from(is_left)],
        })
    }

    /// Whether each loop inside this one counts up or down to a limit.
    fn inner_loops_end(&self) -> bool {
        let loops = self.loops.all();
        let is_inside = |index: usize| {
            let mut around = loops[index].parent;
            while let Some(index) = around.filter(|&around| around < self.index) {
                around = loops[index].parent;
            }
            around == Some(self.index)
        };
        let mut inside = (0..self.index).filter(|&index| is_inside(index));
        inside.all(|index| {
            let accesses = LoopAccesses::new(self.lowered, self.loops, self.first_parts, index);
            let inner = LoopTurns {
                lowered: self.lowered,
                attributes: self.attributes,
                dominators: self.dominators,
                loops: self.loops,
                first_parts: self.first_parts,
                accesses: &accesses,
                index,
            };
            inner.counts()
        })
    }

    /// Whether each iteration compares a counter with a limit, which it reaches at some time.
    fn counts(&self) -> bool {
        let terminators = self.blocks().filter_map(|block| block.last().copied());
        let mut exits = terminators.filter(|exit| {
            let successors = exit.successors();
            let leaves = !successors.into_iter().all(|to| self.accesses.contains(to));
            leaves && self.is_in_each_iteration(exit.block())
        });
        exits.any(|exit| {
            let Some(test) = self.test_of(exit) else {
                return false;
            };
            let reaches = match test.goes_on {
                Comparison::NotEqual => [1, -1].contains(&test.step),
                Comparison::Less => test.is_left == (test.step > 0),
                Comparison::Greater => test.is_left == (test.step < 0),
                Comparison::Equal | Comparison::OrEqual => false,
            };
            reaches && !self.changes(test.limit)
        })
    }

    /// Whether a value may differ between iterations.
    fn changes(&self, value: Value<'m>) -> bool {
        let instruction = value.as_instruction();
        instruction.is_some_and(|instruction| self.accesses.contains(instruction.block()))
    }

    /// A value at the loop's head that a number never falls below, in this iteration and all later
    /// ones: a phi from which the number is computed only by additions of constants, none of them
    /// negative, that cannot overflow for `test`. The phi's next value is computed in the same way.
    fn least(&self, number: Value<'m>, test: Instruction<'m>) -> Option<Value<'m>> {
        let mut least = None;
        let mut waiting = vec![number];
        let mut seen = HashSet::new();
        while let Some(value) = waiting.pop() {
            if !seen.insert(value) {
                continue;
            }
            let instruction = value.as_instruction();
            let instruction = instruction.filter(|i| self.accesses.contains(i.block()))?;
            if seen.len() > MOST_SOURCES {
                return None;
            }
            match instruction.opcode() {
                Opcode::Phi if instruction.block() == self.accesses.head() => {
                    if *least.get_or_insert(value) != value {
                        return None;
                    }
                    let incoming = instruction.incoming().into_iter();
                    let inside = incoming.filter(|(_, block)| self.accesses.contains(*block));
                    waiting.extend(inside.map(|(value, _)| value));
                }
                Opcode::Phi => {
                    waiting.extend(instruction.incoming().into_iter().map(|(value, _)| value));
                }
                Opcode::Add if instruction.never_overflows_for(test) => {
                    let added = value.operand(1).as_int()?;
                    if added < 0 {
                        return None;
                    }
                    waiting.push(value.operand(0));
                }
                Opcode::Select => waiting.extend([value.operand(1), value.operand(2)]),
                _ => return None,
            }
        }
        least
    }
}

/// The largest number of values that a number is computed from.
const MOST_SOURCES: usize = 64;

/// The comparison that ends a loop: of a counter with a limit.
struct ExitTest<'m> {
    block: Block<'m>,
    test: Instruction<'m>,
    /// How the test compares if the loop goes on.
    goes_on: Comparison,
    /// Whether the counter is the comparison's first operand.
    is_left: bool,
    /// The counter's phi at the loop's head.
    phi: Value<'m>,
    /// The counter is the phi plus this.
    added: i64,
    /// What each iteration adds to the phi.
    step: i64,
    /// What the counter is compared with.
    limit: Value<'m>,
}

/// A counter of 64 bits that tells how many iterations come.
pub(super) struct ExactCounter<'m> {
    phi: Value<'m>,
    /// The phi plus this is compared with the limit.
    added: i64,
    /// 1 or -1.
    step: i64,
    limit: Value<'m>,
}

impl<'m> ExactCounter<'m> {
    /// Computes how many iterations come after this one.
    pub(super) fn iterations_left(&self, builder: &Builder<'m>) -> Value<'m> {
        let counter = match self.added {
            0 => self.phi,
            added => builder.add(self.phi, self.phi.kind().int(added)),
        };
        match self.step > 0 {
            true => builder.subtract(self.limit, counter),
            false => builder.subtract(counter, self.limit),
        }
    }
}

/// What tells whether a loop will run the iteration after so many.
pub(super) struct Limit<'m> {
    /// The comparison at the loop's exit.
    test: Instruction<'m>,
    /// The counter's phi at the loop's head.
    phi: Value<'m>,
    /// The phi plus this is the counter of the first test that is not past.
    added: i64,
    /// What the counter is compared with.
    limit: Value<'m>,
    /// Whether the counter is the comparison's first operand.
    is_left: bool,
    /// Whether the counter grows.
    goes_up: bool,
    /// Whether the loop ends when the counter equals the limit, rather than passes it.
    ends_at_limit: bool,
    /// The distance from the counter to the limit must be greater, as an unsigned number.
    least: i64,
}

impl<'m> Limit<'m> {
    /// Computes whether the loop will run that iteration.
    pub(super) fn compare(&self, builder: &Builder<'m>) -> Value<'m> {
        let kind = self.phi.kind();
        let counter = match (kind.kind(), self.added) {
            (_, 0) => self.phi,
            (TypeKind::Pointer, added) => offset(builder, self.phi, added),
            (_, added) => builder.add(self.phi, kind.int(added)),
        };
        let number = |value: Value<'m>| match kind.kind() {
            TypeKind::Pointer => builder.pointer_to_i64(value),
            _ => value,
        };
        let (counter_number, limit) = (number(counter), number(self.limit));
        let distance = match self.goes_up {
            true => builder.subtract(limit, counter_number),
            false => builder.subtract(counter_number, limit),
        };
        let is_far = builder.is_above(distance, distance.kind().int(self.least));
        if self.ends_at_limit {
            return is_far;
        }
        // The distance means something only if the next test goes on.
        let (left, right) = match self.is_left {
            true => (counter, self.limit),
            false => (self.limit, counter),
        };
        let goes_on = builder.compare_as(self.test, left, right);
        builder.and(goes_on, is_far)
    }
}
