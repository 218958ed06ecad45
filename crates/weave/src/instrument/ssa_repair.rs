//! SSA repair: merges the two definitions that a value has in two copies of the same code.
//!
//! The checking code and the timed code both compute each value of the function, and so do a block
//! and its copy. A value may come from either code. So the value and its copy are one variable
//! with two definitions. Each use gets the definition that reaches it, or a phi if both reach it.
//! As for the path register (`register.rs`), values flow along the edges until nothing changes.
//! Here they flow only among the blocks in which the variable is live (pruned SSA form: Choi,
//! Cytron, Ferrante 1991). This module also repairs the weaver's own variables with several
//! definitions, for example a loop's countdown.
//!
//! Cost: for each value that another block uses, the number of blocks in which the value is live.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Value};

use super::definitions::SplitVariable;
use super::graph::reverse_postorder;
use crate::lower::BlockIndex;

/// A function's blocks: the blocks of both codes and the crossings.
pub(crate) struct SsaRepair<'m> {
    blocks: Vec<Block<'m>>,
    node: HashMap<Block<'m>, BlockIndex>,
    successors: Vec<Vec<BlockIndex>>,
    /// By block: the source of each edge into it, parallel edges included.
    sources: Vec<Vec<BlockIndex>>,
    /// By block: its index in `order`. `None` if control cannot reach the block.
    order_index: Vec<Option<usize>>,
    /// The blocks that control can reach, in reverse postorder.
    order: Vec<BlockIndex>,
    /// The blocks through which control changes the code.
    crossing_blocks: HashSet<BlockIndex>,
}

/// The definition that reaches the top or the bottom of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReachingValue {
    /// The value of this definition.
    Definition(usize),
    /// The phi at the top of this block.
    Phi(BlockIndex),
}

/// An operand that needs the variable's value at the top or the bottom of a block.
struct VariableUse<'m> {
    user: Instruction<'m>,
    operand: u32,
    side: Side,
}

/// The top or the bottom of a block.
#[derive(Clone, Copy)]
enum Side {
    Top(BlockIndex),
    Bottom(BlockIndex),
}

/// Computes the definition of a variable that reaches each block.
struct Solver<'a, 'm> {
    repair: &'a SsaRepair<'m>,
    /// The number of the definition in each block that defines the variable.
    definitions: HashMap<BlockIndex, usize>,
    top: HashMap<BlockIndex, ReachingValue>,
}

impl<'m> SsaRepair<'m> {
    /// Prepares the repair of a function. Control changes the code through `crossing_blocks`.
    pub(crate) fn new(function: Function<'m>, crossing_blocks: &[Block<'m>]) -> Self {
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
        let mut order_index = vec![None; blocks.len()];
        for (index, &block) in order.iter().enumerate() {
            order_index[block] = Some(index);
        }
        Self {
            crossing_blocks: crossing_blocks.iter().map(|block| node[block]).collect(),
            blocks,
            node,
            successors,
            sources,
            order_index,
            order,
        }
    }

    /// Repairs the values of instructions. Each pair is an instruction and its copy.
    pub(crate) fn repair_copies(&self, pairs: &[(Instruction<'m>, Instruction<'m>)]) {
        for &(old, new) in pairs {
            let definitions =
                [old, new].map(|instruction| (instruction.block(), instruction.value()));
            let uses = self.uses(definitions);
            if !uses.is_empty() {
                self.repair(&definitions, &uses);
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
        let uses: Vec<_> = uses
            .filter(|variable_use| self.is_reached(variable_use))
            .collect();
        if !uses.is_empty() {
            self.repair(&variable.definitions, &uses);
        }
    }

    fn is_reached(&self, variable_use: &VariableUse<'m>) -> bool {
        let (Side::Top(node) | Side::Bottom(node)) = variable_use.side;
        self.order_index[node].is_some()
    }

    /// The uses of a value and of its copy outside the blocks that compute them.
    fn uses(&self, definitions: [(Block<'m>, Value<'m>); 2]) -> Vec<VariableUse<'m>> {
        let mut uses = Vec::new();
        let mut visited = HashSet::new();
        for (defining_block, value) in definitions {
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
                    let variable_use = VariableUse {
                        user,
                        operand,
                        side,
                    };
                    if block != defining_block
                        && self.is_reached(&variable_use)
                        && visited.insert((user, operand))
                    {
                        uses.push(variable_use);
                    }
                }
            }
        }
        uses
    }

    /// The value that users of a phi get. In a crossing this is a frozen value, at which LLVM's
    /// analyses stop. Without it, the analyses would follow each number through both codes again
    /// and again, in SQLite for minutes.
    fn value_of_phi(&self, block: BlockIndex, phi: Instruction<'m>) -> Value<'m> {
        if !self.crossing_blocks.contains(&block) || !phi.value().kind().is_scalar() {
            return phi.value();
        }
        let mut instructions = self.blocks[block].instructions();
        let first = instructions.find(|instruction| instruction.opcode() != Opcode::Phi);
        Builder::before(first.expect("blocks have an end")).freeze(phi.value())
    }

    /// Gives `uses` the definitions that reach them, or phis. Each definition is a block and the
    /// value at its end.
    fn repair(&self, definitions: &[(Block<'m>, Value<'m>)], uses: &[VariableUse<'m>]) {
        let numbers = definitions.iter().enumerate();
        let mut solver = Solver {
            repair: self,
            definitions: numbers
                .map(|(i, (block, _))| (self.node[block], i))
                .collect(),
            top: HashMap::new(),
        };
        solver.solve(&solver.live(uses));
        let reaching_value = |variable_use: &VariableUse<'m>| match variable_use.side {
            Side::Top(node) => solver.top.get(&node).copied(),
            Side::Bottom(node) => solver.bottom(node),
        };
        let kind = definitions[0].1.kind();
        // Makes the phis that the uses need, and the phis that these phis need.
        let mut pending: Vec<_> = uses.iter().map(reaching_value).collect();
        let mut phis: BTreeMap<BlockIndex, Instruction<'m>> = BTreeMap::new();
        while let Some(next) = pending.pop() {
            if let Some(ReachingValue::Phi(block)) = next
                && !phis.contains_key(&block)
            {
                phis.insert(block, Builder::at_top(self.blocks[block]).phi(kind));
                pending.extend(self.sources[block].iter().map(|&from| solver.bottom(from)));
            }
        }
        let phi_values: HashMap<BlockIndex, Value<'m>> = phis
            .iter()
            .map(|(&block, &phi)| (block, self.value_of_phi(block, phi)))
            .collect();
        let value = |reaching_value: Option<ReachingValue>| match reaching_value {
            Some(ReachingValue::Definition(number)) => definitions[number].1,
            Some(ReachingValue::Phi(block)) => phi_values[&block],
            // No definition reaches the use.
            None => kind.poison(),
        };
        for (&block, phi) in &phis {
            for &source in &self.sources[block] {
                phi.add_incoming(value(solver.bottom(source)), self.blocks[source]);
            }
        }
        for variable_use in uses {
            variable_use
                .user
                .set_operand(variable_use.operand, value(reaching_value(variable_use)));
        }
    }
}

impl<'m> Solver<'_, 'm> {
    /// The blocks at whose top the variable is live.
    fn live(&self, uses: &[VariableUse<'m>]) -> BTreeSet<BlockIndex> {
        let mut live = BTreeSet::new();
        let mut pending = Vec::new();
        for variable_use in uses {
            match variable_use.side {
                Side::Bottom(node) if self.definitions.contains_key(&node) => {}
                Side::Top(node) | Side::Bottom(node) => pending.push(node),
            }
        }
        while let Some(node) = pending.pop() {
            if self.repair.order_index[node].is_some() && live.insert(node) {
                let sources = self.repair.sources[node].iter();
                pending.extend(sources.filter(|&source| !self.definitions.contains_key(source)));
            }
        }
        live
    }

    /// Computes the definition that reaches the top of each block in `live`.
    fn solve(&mut self, live: &BTreeSet<BlockIndex>) {
        let repair = self.repair;
        let mut pending_blocks: BTreeSet<usize> = live
            .iter()
            .filter_map(|&node| repair.order_index[node])
            .collect();
        while let Some(next) = pending_blocks.pop_first() {
            let node = repair.order[next];
            let old = self.top.get(&node).copied();
            if old == Some(ReachingValue::Phi(node)) {
                continue;
            }
            let sources = repair.sources[node].iter();
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
                let successors = repair.successors[node].iter();
                let successors = successors.filter(|&next| live.contains(next));
                pending_blocks.extend(successors.filter_map(|&next| repair.order_index[next]));
            }
        }
    }

    /// The definition at the end of a block.
    fn bottom(&self, node: BlockIndex) -> Option<ReachingValue> {
        match self.definitions.get(&node) {
            Some(&number) => Some(ReachingValue::Definition(number)),
            None => self.top.get(&node).copied(),
        }
    }
}
