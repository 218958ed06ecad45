//! SSA repair: values that live where the two codes meet.
//!
//! Both codes compute each value of the function. After a place where control changes the code,
//! the value may come from either code. So the two values are one variable with two definitions.
//! Each use gets the definition that reaches it, or a phi if both do. As for the path register
//! (`register.rs`), values flow along the edges until nothing changes. Here they flow only among
//! the blocks in which the variable is live (Choi, Cytron, Ferrante 1991: pruned SSA form). The
//! same code repairs the weaver's values with several definitions, such as a loop's countdown.
//!
//! Cost: for each value that is used in another block than its own, the blocks in which it is live.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Value};

use super::super::definitions::SplitVariable;
use super::super::graph::reverse_postorder;
use crate::lower::BlockIndex;

/// A function's blocks, of both codes and between them.
pub(super) struct SsaRepair<'m> {
    blocks: Vec<Block<'m>>,
    node: HashMap<Block<'m>, BlockIndex>,
    successors: Vec<Vec<BlockIndex>>,
    /// By block: the source of each edge into it, parallel edges included.
    sources: Vec<Vec<BlockIndex>>,
    /// By block: its position in reverse postorder; `None` if it can't be reached.
    place: Vec<Option<usize>>,
    order: Vec<BlockIndex>,
    /// Blocks between the two codes.
    between: HashSet<BlockIndex>,
}

/// The definition that reaches a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReachingValue {
    /// The value of this definition.
    Made(usize),
    /// The phi at the top of this block.
    Phi(BlockIndex),
}

/// An operand that needs the variable's value at one side of a block.
struct VariableUse<'m> {
    user: Instruction<'m>,
    operand: u32,
    side: Side,
}

/// A side of a block.
#[derive(Clone, Copy)]
enum Side {
    Top(BlockIndex),
    Bottom(BlockIndex),
}

/// The definitions of one variable during its repair.
struct Solver<'a, 'm> {
    join: &'a SsaRepair<'m>,
    /// By block: its definition.
    made: HashMap<BlockIndex, usize>,
    top: HashMap<BlockIndex, ReachingValue>,
}

impl<'m> SsaRepair<'m> {
    /// Prepares the repair of a function. `between` are the blocks that lead from one code to the
    /// other.
    pub(super) fn new(function: Function<'m>, between: &[Block<'m>]) -> Self {
        let blocks: Vec<Block<'m>> = function.blocks().collect();
        let node: HashMap<_, _> = BlockIndex::enumerate(&blocks)
            .map(|(index, &block)| (block, index))
            .collect();
        let mut sources = vec![Vec::new(); blocks.len()];
        let mut successors = Vec::with_capacity(blocks.len());
        for (source, block) in BlockIndex::enumerate(&blocks) {
            let end = block.terminator().expect("every block has an end");
            let mut targets: Vec<BlockIndex> = end.successors().iter().map(|b| node[b]).collect();
            for &target in &targets {
                sources[target].push(source);
            }
            targets.sort_unstable();
            targets.dedup();
            successors.push(targets);
        }
        let order = reverse_postorder(&successors);
        let mut place = vec![None; blocks.len()];
        for (index, &block) in order.iter().enumerate() {
            place[block] = Some(index);
        }
        Self {
            between: between.iter().map(|block| node[block]).collect(),
            blocks,
            node,
            successors,
            sources,
            place,
            order,
        }
    }

    /// Repairs the values of these instructions, each with its copy.
    pub(super) fn repair_copies(&self, pairs: &[(Instruction<'m>, Instruction<'m>)]) {
        for &(old, new) in pairs {
            let made = [old, new].map(|instruction| (instruction.block(), instruction.value()));
            let uses = self.uses(made);
            if !uses.is_empty() {
                self.repair(&made, &uses);
            }
        }
    }

    /// Gives the uses of a variable their values.
    pub(super) fn repair_variable(&self, variable: &SplitVariable<'m>) {
        let uses = variable.uses.iter().map(|&(user, operand)| VariableUse {
            user,
            operand,
            side: Side::Top(self.node[&user.block()]),
        });
        let uses: Vec<_> = uses.filter(|found| self.is_reached(found)).collect();
        if !uses.is_empty() {
            self.repair(&variable.definitions, &uses);
        }
    }

    fn is_reached(&self, found: &VariableUse<'m>) -> bool {
        let (Side::Top(node) | Side::Bottom(node)) = found.side;
        self.place[node].is_some()
    }

    /// The uses of two values outside of the blocks that compute them.
    fn uses(&self, made: [(Block<'m>, Value<'m>); 2]) -> Vec<VariableUse<'m>> {
        let mut uses = Vec::new();
        let mut seen = HashSet::new();
        for (at, value) in made {
            for user in value.users() {
                let Some(user) = user.as_instruction() else {
                    continue;
                };
                let incoming = user.incoming();
                for operand in 0..user.value().operand_count() {
                    if user.value().operand(operand) != value {
                        continue;
                    }
                    let (block, side) = match incoming.get(operand as usize) {
                        Some(&(_, block)) => (block, Side::Bottom(self.node[&block])),
                        None => (user.block(), Side::Top(self.node[&user.block()])),
                    };
                    let found = VariableUse {
                        user,
                        operand,
                        side,
                    };
                    if block != at && self.is_reached(&found) && seen.insert((user, operand)) {
                        uses.push(found);
                    }
                }
            }
        }
        uses
    }

    /// The value to use for a phi. Between the two codes that is a frozen value, at which LLVM's
    /// analyses stop. They would otherwise follow each number through both codes over and over: in
    /// SQLite for minutes.
    fn out(&self, block: BlockIndex, phi: Instruction<'m>) -> Value<'m> {
        if !self.between.contains(&block) || !phi.value().kind().is_scalar() {
            return phi.value();
        }
        let mut instructions = self.blocks[block].instructions();
        let behind = instructions.find(|instruction| instruction.opcode() != Opcode::Phi);
        Builder::before(behind.expect("blocks have an end")).freeze(phi.value())
    }

    fn repair(&self, made: &[(Block<'m>, Value<'m>)], uses: &[VariableUse<'m>]) {
        let numbers = made.iter().enumerate();
        let mut solver = Solver {
            join: self,
            made: numbers
                .map(|(i, (block, _))| (self.node[block], i))
                .collect(),
            top: HashMap::new(),
        };
        solver.solve(&solver.live(uses));
        let reach = |found: &VariableUse<'m>| match found.side {
            Side::Top(node) => solver.top.get(&node).copied(),
            Side::Bottom(node) => solver.bottom(node),
        };
        let kind = made[0].1.kind();
        // The phis that a use needs, itself or by way of others.
        let mut open: Vec<_> = uses.iter().map(reach).collect();
        let mut phis: BTreeMap<BlockIndex, Instruction<'m>> = BTreeMap::new();
        while let Some(next) = open.pop() {
            if let Some(ReachingValue::Phi(block)) = next
                && !phis.contains_key(&block)
            {
                phis.insert(block, Builder::at_top(self.blocks[block]).phi(kind));
                open.extend(self.sources[block].iter().map(|&from| solver.bottom(from)));
            }
        }
        let outs: HashMap<BlockIndex, Value<'m>> = phis
            .iter()
            .map(|(&block, &phi)| (block, self.out(block, phi)))
            .collect();
        let value = |reach: Option<ReachingValue>| match reach {
            Some(ReachingValue::Made(number)) => made[number].1,
            Some(ReachingValue::Phi(block)) => outs[&block],
            // No definition reaches the place.
            None => kind.poison(),
        };
        for (&block, phi) in &phis {
            for &source in &self.sources[block] {
                phi.add_incoming(value(solver.bottom(source)), self.blocks[source]);
            }
        }
        for found in uses {
            found.user.set_operand(found.operand, value(reach(found)));
        }
    }
}

impl<'m> Solver<'_, 'm> {
    /// The blocks at whose top the variable is live.
    fn live(&self, uses: &[VariableUse<'m>]) -> BTreeSet<BlockIndex> {
        let mut live = BTreeSet::new();
        let mut open = Vec::new();
        for found in uses {
            match found.side {
                Side::Bottom(node) if self.made.contains_key(&node) => {}
                Side::Top(node) | Side::Bottom(node) => open.push(node),
            }
        }
        while let Some(node) = open.pop() {
            if self.join.place[node].is_some() && live.insert(node) {
                let sources = self.join.sources[node].iter();
                open.extend(sources.filter(|&source| !self.made.contains_key(source)));
            }
        }
        live
    }

    fn solve(&mut self, live: &BTreeSet<BlockIndex>) {
        let join = self.join;
        let mut waiting: BTreeSet<usize> =
            live.iter().filter_map(|&node| join.place[node]).collect();
        while let Some(next) = waiting.pop_first() {
            let node = join.order[next];
            let old = self.top.get(&node).copied();
            if old == Some(ReachingValue::Phi(node)) {
                continue;
            }
            let sources = join.sources[node].iter();
            let mut reaching = sources.filter_map(|&source| self.bottom(source));
            let Some(first) = reaching.next() else {
                continue;
            };
            let new = match reaching.all(|other| other == first) {
                true => first,
                false => ReachingValue::Phi(node),
            };
            if old != Some(new) {
                self.top.insert(node, new);
                let behind = join.successors[node].iter();
                let behind = behind.filter(|&next| live.contains(next));
                waiting.extend(behind.filter_map(|&next| join.place[next]));
            }
        }
    }

    /// The definition at the end of a block.
    fn bottom(&self, node: BlockIndex) -> Option<ReachingValue> {
        match self.made.get(&node) {
            Some(&number) => Some(ReachingValue::Made(number)),
            None => self.top.get(&node).copied(),
        }
    }
}
