//! Finds loops over rows that lie one after the other in an array, as in a graph or a sparse matrix
//! in compressed rows:
//!
//! ```text
//! for (v = 0; v < n; v++)                          first  0 2 2 5
//!   for (e = first[v]; e < first[v + 1]; e++)      to     7 1 | | 3 0 4
//!     sum += x[to[e]];
//! ```
//! Each row begins where the row before it ends. So the inner loop, which may run only a few turns,
//! loads the elements `to[e]` of all rows one after the other, and an element of a later row is
//! known turns before its row begins.
//!
//! The optimizer peels and unrolls such inner loops. So the search does not look for an inner loop.
//! It follows all ways through one iteration of the outer loop, and keeps the *position* up to
//! which the elements of the row are loaded. A position is a value plus a constant.
//!
//! - The position begins as a phi at the outer loop's head: the row's start. The next iteration's
//!   start is this iteration's end, a number that each iteration loads.
//! - A load of the element at the position moves the position by one.
//! - A phi that takes over the position is the new name of the position. This is how inner loops go
//!   on. Each turn of an inner loop must move the position.
//! - The row is done where a branch finds the position equal to the end, or not below it.
//!
//! The shape holds if the row is done whenever the iteration ends. Then the following is certain,
//! as long as the outer loop goes on: from a position on, every element is loaded until the
//! position reaches a later row's end. The position grows by one at a time, and otherwise only
//! falls: when a row's end lies below its start. Cost: each instruction of the outer loop once for
//! each array.

use std::collections::{HashMap, HashSet};

use holloway_flow::Loops;
use holloway_llvm::{Block, Comparison, Instruction, Opcode, TypeKind, Value};

use super::accesses::LoopAccesses;
use crate::lower::LoweredFunction;

/// The maximum number of arrays that are tried for one loop.
const MOST_ARRAYS: usize = 8;
/// The maximum number of values in the search for the element that an address is computed from.
const MOST_VALUES: usize = 32;

/// A loop that walks along the rows of an array.
#[derive(Clone)]
pub(crate) struct RowWalk<'m> {
    /// The load of the row's end, which is the next row's start.
    pub(crate) end: Instruction<'m>,
    /// A comparison of a position with the row's end: whether the position is below the end.
    pub(crate) is_below: Instruction<'m>,
    /// Whether the position is the comparison's first operand.
    is_left: bool,
    /// The pointer to the array.
    pub(crate) array: Value<'m>,
    /// Bytes from one element to the next.
    pub(crate) stride: i64,
    /// The loads of elements.
    pub(crate) elements: Vec<RowElement<'m>>,
}

/// A load of an element in a row.
#[derive(Clone, Copy)]
pub(crate) struct RowElement<'m> {
    pub(crate) load: Instruction<'m>,
    pub(crate) position: Position<'m>,
}

/// A position in an array: a value plus a constant.
pub(crate) type Position<'m> = (Value<'m>, i64);

impl<'m> RowWalk<'m> {
    /// The walks of a loop along rows.
    pub(crate) fn find(
        lowered: &LoweredFunction<'m>,
        loops: &Loops,
        accesses: &LoopAccesses<'_, 'm>,
    ) -> Vec<Self> {
        let head = accesses.head();
        let starts = head.instructions().filter_map(|phi| {
            let end = accesses.next(phi)?.as_instruction()?;
            let is_end = end.is_plain_load() && accesses.contains(end.block());
            (is_end && is_wide(phi.value())).then_some((phi.value(), end))
        });
        let starts: Vec<_> = starts.collect();
        if starts.is_empty() {
            return Vec::new();
        }
        let blocks = lowered.parts.blocks.iter();
        let inside = blocks.filter(|block| accesses.contains(block.block));
        let loads = inside.flat_map(|block| &block.instructions).copied();
        let mut arrays = Vec::new();
        for array in loads.filter_map(|load| Some(element(accesses, load)?.0)) {
            if arrays.len() < MOST_ARRAYS && !arrays.contains(&array) {
                arrays.push(array);
            }
        }
        let heads = loops.all().iter();
        let heads = heads.map(|inner| lowered.nodes[inner.head.index()].block);
        let heads: HashSet<Block<'m>> =
            heads.map(|head| lowered.parts.blocks[head].block).collect();
        let mut walks = Vec::new();
        for (start, end) in starts {
            for &array in &arrays {
                let follower = Follower {
                    accesses,
                    heads: &heads,
                    array,
                    end,
                    is_below: None,
                    elements: Vec::new(),
                    states: HashMap::new(),
                };
                walks.extend(follower.follow(start));
            }
        }
        walks
    }

    /// A position and an end, in the order in which [`Self::is_below`] compares them.
    pub(crate) fn in_order(&self, position: Value<'m>, end: Value<'m>) -> (Value<'m>, Value<'m>) {
        match self.is_left {
            true => (position, end),
            false => (end, position),
        }
    }

    /// The element that an address is computed from.
    pub(crate) fn element_of(
        &self,
        accesses: &LoopAccesses<'_, 'm>,
        address: Value<'m>,
    ) -> Option<RowElement<'m>> {
        let mut values = vec![address];
        let mut next = 0;
        while let Some(&value) = values.get(next)
            && next < MOST_VALUES
        {
            next += 1;
            let instruction = value.as_instruction();
            let Some(instruction) = instruction.filter(|i| accesses.contains(i.block())) else {
                continue;
            };
            match instruction.opcode() {
                Opcode::Load => {
                    let mut elements = self.elements.iter();
                    if let Some(element) = elements.find(|element| element.load == instruction) {
                        return Some(*element);
                    }
                }
                Opcode::Add
                | Opcode::Subtract
                | Opcode::Multiply
                | Opcode::Shift
                | Opcode::Bits
                | Opcode::Resize
                | Opcode::Freeze
                | Opcode::Offset => {
                    values.extend((0..value.operand_count()).map(|index| value.operand(index)));
                }
                _ => {}
            }
        }
        None
    }
}

/// An array: the pointer to it, bytes from one element to the next, and bytes before the first one.
type Array<'m> = (Value<'m>, i64, i64);

/// The array and the position of an element that is loaded.
fn element<'m>(
    accesses: &LoopAccesses<'_, 'm>,
    load: Instruction<'m>,
) -> Option<(Array<'m>, Position<'m>)> {
    if !load.is_plain_load() || !load.value().kind().is_scalar() {
        return None;
    }
    let in_loop = |value: Value<'m>| {
        let instruction = value.as_instruction();
        instruction.filter(|instruction| accesses.contains(instruction.block()))
    };
    let mut pointer = load.value().operand(0);
    let (mut constant, mut index) = (0i64, None);
    while let Some(address) = in_loop(pointer).and_then(Instruction::address) {
        constant = constant.checked_add(address.constant)?;
        for term in address.terms {
            if index.replace(term).is_some() {
                return None;
            }
        }
        pointer = address.base;
    }
    // A pointer to the array may be loaded again for each row.
    if let Some(instruction) = in_loop(pointer) {
        let is_member = instruction.is_plain_load();
        let place = instruction.value().operand(0);
        if !is_member || in_loop(place).is_some() {
            return None;
        }
    }
    let (index, stride) = index?;
    if stride <= 0 || !is_wide(index) {
        return None;
    }
    let (root, added) = accesses.without_constants(index);
    let bytes = added.checked_mul(stride)?.checked_add(constant)?;
    let array = (pointer, stride, bytes.rem_euclid(stride));
    Some((array, (root, bytes.div_euclid(stride))))
}

fn is_wide(value: Value<'_>) -> bool {
    value.kind().kind() == TypeKind::Integer(64)
}

/// Where the walk along a row is.
#[derive(Clone, Copy, PartialEq)]
enum State<'m> {
    /// The elements before this position are loaded.
    At(Position<'m>),
    /// All elements of the row are loaded.
    Done,
}

/// Follows the walk along a row, through one iteration of the outer loop.
struct Follower<'a, 'm> {
    accesses: &'a LoopAccesses<'a, 'm>,
    /// The heads of all loops of the function.
    heads: &'a HashSet<Block<'m>>,
    array: Array<'m>,
    end: Instruction<'m>,
    is_below: Option<(Instruction<'m>, bool)>,
    elements: Vec<RowElement<'m>>,
    states: HashMap<Block<'m>, State<'m>>,
}

impl<'m> Follower<'_, 'm> {
    fn follow(mut self, start: Value<'m>) -> Option<RowWalk<'m>> {
        let head = self.accesses.head();
        self.states.insert(head, State::At((start, 0)));
        let mut waiting = vec![head];
        while let Some(block) = waiting.pop() {
            let state = self.after_loads(block);
            for (successor, state) in self.after_branch(block, state)? {
                if successor == head || !self.accesses.contains(successor) {
                    if state != State::Done {
                        return None;
                    }
                    continue;
                }
                let known = self.states.get(&successor).copied();
                let state = self.enter(successor, block, state, known.is_some())?;
                match known {
                    Some(known) if known != state => return None,
                    Some(_) => {}
                    None => {
                        self.states.insert(successor, state);
                        waiting.push(successor);
                    }
                }
            }
        }
        let (is_below, is_left) = self.is_below?;
        (!self.elements.is_empty()).then_some(RowWalk {
            end: self.end,
            is_below,
            is_left,
            array: self.array.0,
            stride: self.array.1,
            elements: self.elements,
        })
    }

    /// The state at the end of a block.
    fn after_loads(&mut self, block: Block<'m>) -> State<'m> {
        let mut state = self.states[&block];
        for load in block.instructions() {
            let State::At(position) = state else { break };
            if element(self.accesses, load) == Some((self.array, position)) {
                self.elements.push(RowElement { load, position });
                state = State::At((position.0, position.1.saturating_add(1)));
            }
        }
        state
    }

    /// The state on each edge out of a block. `None` if two branches compare in different ways.
    fn after_branch(
        &mut self,
        block: Block<'m>,
        state: State<'m>,
    ) -> Option<Vec<(Block<'m>, State<'m>)>> {
        let terminator = block.terminator()?;
        let successors = terminator.successors();
        let unchanged = |block| (block, state);
        let all = || successors.iter().copied().map(unchanged).collect();
        let State::At(position) = state else {
            return Some(all());
        };
        let [then, otherwise] = successors[..] else {
            return Some(all());
        };
        let test = terminator.value().operand(0).as_instruction();
        let test = test.filter(|_| terminator.opcode() == Opcode::Br && then != otherwise);
        let Some((test, comparison)) = test.and_then(|test| Some((test, test.comparison()?)))
        else {
            return Some(all());
        };
        let [left, right] = [0, 1].map(|index| test.value().operand(index));
        let is_position = |value| self.accesses.without_constants(value) == position;
        let is_left = is_position(left) && right == self.end.value();
        let is_right = is_position(right) && left == self.end.value();
        if !is_left && !is_right {
            return Some(all());
        }
        match comparison {
            Comparison::Equal => Some(vec![(then, State::Done), unchanged(otherwise)]),
            Comparison::NotEqual => Some(vec![unchanged(then), (otherwise, State::Done)]),
            Comparison::Less if is_left => self.below(test, true, then, otherwise, state),
            Comparison::Greater if is_right => self.below(test, false, then, otherwise, state),
            Comparison::Less | Comparison::Greater | Comparison::OrEqual => Some(all()),
        }
    }

    /// The states after a branch that goes to `then` if the position is below the end.
    fn below(
        &mut self,
        test: Instruction<'m>,
        is_left: bool,
        then: Block<'m>,
        otherwise: Block<'m>,
        state: State<'m>,
    ) -> Option<Vec<(Block<'m>, State<'m>)>> {
        let (first, first_is_left) = *self.is_below.get_or_insert((test, is_left));
        let is_same = first.operation() == test.operation() && first_is_left == is_left;
        is_same.then(|| vec![(then, state), (otherwise, State::Done)])
    }

    /// The state at the beginning of a block that control enters from another one. `is_known` if
    /// the block has a state, so that a loop's head is entered from inside the loop.
    fn enter(
        &self,
        block: Block<'m>,
        from: Block<'m>,
        state: State<'m>,
        is_known: bool,
    ) -> Option<State<'m>> {
        let is_head = self.heads.contains(&block);
        let State::At(position) = state else {
            // Another loop after the row may never end.
            return (!is_head).then_some(state);
        };
        let takes_over = |phi: &Instruction<'m>| {
            let mut incoming = phi.incoming().into_iter();
            is_wide(phi.value())
                && incoming.any(|(value, block)| {
                    block == from && self.accesses.without_constants(value) == position
                })
        };
        let name = block.instructions().find(takes_over);
        match name {
            // Without a load since the head, the loop may never end.
            Some(_) if is_head && is_known && position.1 <= 0 => None,
            Some(phi) => Some(State::At((phi.value(), 0))),
            None if is_head => None,
            None => Some(state),
        }
    }
}
