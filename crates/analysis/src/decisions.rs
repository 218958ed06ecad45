//! Finds the decisions of a function and which of their conditions the runs show to be independent
//! (MC/DC).
//!
//! A *condition* is a block that ends with a branch of two ways. A *decision* is a maximal group of
//! at least two conditions that short-circuit each other: it has one entry and two outcomes, and
//! control flows through it as through an expression of `&&`, `||`, and `!`, in which each
//! condition occurs once. Some other source has the graph of such an expression: in Rust, two `if`s
//! in a row that go on with the loop look like `a || b`. So the caller may say which conditions
//! belong to one expression ([`MayJoin`]).
//!
//! # Finding decisions
//! The graph is reduced by two rules until neither applies:
//!
//! - *line*: a block with one successor and this successor, if it has no other predecessor, are one
//!   node;
//! - *operator*: let a node have two successors x and y. If x has no other predecessor, and x has
//!   two successors and one of them is y, then both nodes are one node. This is `a && x` or
//!   `a || x`, up to negations.
//!
//! ```text
//!   a: b, F    b: T, c    c: T, F      b and c share T: bc is b || c, with successors T, F
//!   a: bc, F   bc: T, F                a and bc share F: a && (b || c)
//! ```
//! Compilers insert checks into conditions, such as that of `a + 1` for overflow. The way of such a
//! check that never returns is left out, first to last, where the rules do not apply. Unwinding is
//! left out everywhere. Blocks that only exist so that an edge can carry a probe are left out, too:
//! they are empty, and their jump has the place of the branch before it. The empty block after an
//! inner `if` has a place of its own. So `if (a) { if (b) … }` is no decision.
//!
//! # Vectors
//! A path passes a decision at most once. It is the decision's *vector*: which conditions were
//! evaluated, their values, and the outcome. A path profile therefore contains all vectors that
//! ran. If a path may begin inside a decision, vectors are cut and the decision is not measured.
//!
//! # Independence
//! Two vectors show that a condition acts on the outcome by itself if the outcomes differ and it is
//! the only condition that was evaluated in both and had different values. This is masking MC/DC
//! as LLVM defines it for short-circuit operators.
//!
//! Cost: nearly linear in blocks, and quadratic in the vectors of a decision.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use holloway_flow::{EdgeId, Path};
use holloway_format::{DagKind, EdgeKind, FunctionMap, Outcome, Place};

/// The most conditions of a decision. A larger group is [left out](Decisions::too_large).
pub const MAX_CONDITIONS: usize = 64;

/// The decisions of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decisions {
    /// The decisions, in the order of their first conditions' blocks.
    pub list: Vec<Decision>,
    /// Number of groups with more than [`MAX_CONDITIONS`] conditions.
    pub too_large: u64,
}

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The conditions, in the order of their evaluation: at least two.
    pub conditions: Vec<Condition>,
    /// Whether a path may begin or end between two conditions, so that the decision is not
    /// measured.
    pub is_cut: bool,
    /// By edge of a condition: the condition's value, and the outcome if the edge leaves the
    /// decision.
    steps: HashMap<u32, Step>,
}

/// A condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The block that ends with the branch on the condition.
    pub block: u32,
    /// The place where the value is computed, or of the branch.
    pub place: Option<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    condition: usize,
    value: bool,
    outcome: Option<bool>,
}

/// A way through a decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Vector {
    /// The evaluated conditions: bit i for condition i.
    pub evaluated: u64,
    /// The evaluated conditions that held.
    pub values: u64,
    /// Which of the two outcomes followed. Their order is arbitrary, but equal for all vectors of a
    /// decision.
    pub outcome: bool,
}

impl Decision {
    /// The vector of a path. `None` if the path does not pass the whole decision.
    pub fn vector(&self, path: &Path) -> Option<Vector> {
        let mut vector = Vector {
            evaluated: 0,
            values: 0,
            outcome: false,
        };
        let end = path.end.edge();
        for EdgeId(edge) in path.edges.iter().copied().chain([end]) {
            let Some(step) = self.steps.get(&edge) else {
                continue;
            };
            vector.evaluated |= 1 << step.condition;
            vector.values |= u64::from(step.value) << step.condition;
            if let Some(outcome) = step.outcome {
                vector.outcome = outcome;
                return (vector.evaluated & 1 != 0).then_some(vector);
            }
        }
        None
    }

    /// Whether two decisions have the same conditions and operators, so that their vectors can be
    /// merged.
    pub fn has_shape_of(&self, other: &Decision) -> bool {
        let shape = |decision: &Decision| -> BTreeSet<(usize, bool, Option<bool>)> {
            let steps = decision.steps.values();
            steps
                .map(|step| (step.condition, step.value, step.outcome))
                .collect()
        };
        self.conditions.len() == other.conditions.len() && shape(self) == shape(other)
    }
}

/// The conditions that a pair of vectors shows to be independent: bit i for condition i.
pub fn independent(vectors: impl IntoIterator<Item = Vector>) -> u64 {
    let (first, second): (Vec<Vector>, Vec<Vector>) =
        vectors.into_iter().partition(|vector| vector.outcome);
    let mut independent = 0;
    for a in &first {
        for b in &second {
            let differing = (a.values ^ b.values) & a.evaluated & b.evaluated;
            if differing.is_power_of_two() {
                independent |= differing;
            }
        }
    }
    independent
}

/// Says whether two conditions may belong to one expression, by the places of their branches.
/// Without it, the graph decides alone.
pub type MayJoin<'a> = &'a dyn Fn(&FunctionMap, Place, Place) -> bool;

/// Finds the decisions of a function.
pub fn decisions(map: &FunctionMap, may_join: MayJoin<'_>) -> Decisions {
    let mut reduction = Reduction::new(map, may_join);
    reduction.reduce();
    let mut decisions = Decisions::default();
    let starts: BTreeSet<u32> = map
        .dag
        .iter()
        .filter_map(|edge| match edge.kind {
            DagKind::Start(block) => Some(reduction.resolved(block)),
            DagKind::Edge(_) | DagKind::Back(_) | DagKind::Cut(_) => None,
        })
        .collect();
    for node in reduction.nodes.values() {
        match node.conditions.len() {
            0 | 1 => {}
            2..=MAX_CONDITIONS => decisions.list.push(reduction.decision(node, &starts)),
            _ => decisions.too_large += 1,
        }
    }
    decisions
        .list
        .sort_by_key(|decision| decision.conditions[0].block);
    decisions
}

/// A node of the reduced graph: a line of blocks, or a group of conditions after such a line.
#[derive(Clone, Debug, Default)]
struct Node {
    /// The blocks, in the order of their evaluation.
    blocks: Vec<u32>,
    /// The blocks that are conditions.
    conditions: Vec<u32>,
    /// The distinct successors, by the first block of their nodes.
    out: Vec<u32>,
    predecessors: BTreeSet<u32>,
}

struct Reduction<'a> {
    map: &'a FunctionMap,
    may_join: MayJoin<'a>,
    /// By block: its edges, without exit edges, unwinding, and edges that leave the function.
    out: Vec<Vec<u32>>,
    /// By block: the block after it, if the block only exists so that an edge can carry a probe.
    forwards: Vec<Option<u32>>,
    /// By block: whether control can return or reach a back edge.
    continues: Vec<bool>,
    /// The nodes, by their first block.
    nodes: BTreeMap<u32, Node>,
}

impl<'a> Reduction<'a> {
    fn new(map: &'a FunctionMap, may_join: MayJoin<'a>) -> Self {
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); map.blocks.len()];
        for (number, edge) in (0u32..).zip(&map.edges) {
            if edge.kind != EdgeKind::Exit && edge.outcome != Outcome::Unwind && edge.to != map.exit
            {
                out[edge.from as usize].push(number);
            }
        }
        let mut reduction = Self {
            map,
            may_join,
            forwards: Vec::new(),
            continues: continues(map),
            out,
            nodes: BTreeMap::new(),
        };
        reduction.forwards = reduction.forwards();
        reduction.make_nodes();
        reduction
    }

    /// The block that a block leads to without any code, or the block itself.
    fn resolved(&self, mut block: u32) -> u32 {
        // An empty block has one predecessor with several ways, so such blocks form no cycle.
        while let Some(next) = self.forwards[block as usize] {
            block = next;
        }
        block
    }

    fn forwards(&self) -> Vec<Option<u32>> {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.map.blocks.len()];
        for &edge in self.out.iter().flatten() {
            into[self.map.edges[edge as usize].to as usize].push(edge);
        }
        let edge = |edge: u32| &self.map.edges[edge as usize];
        let forward = |block: usize| {
            let content = &self.map.blocks[block];
            let ([before], [after]) = (&into[block][..], &self.out[block][..]) else {
                return None;
            };
            let (before, after) = (edge(*before), edge(*after));
            let is_forward = content.instructions == 0
                && content.places.is_empty()
                && after.outcome == Outcome::Jump
                && before.place == after.place
                && self.out[before.from as usize].len() > 1;
            is_forward.then_some(after.to)
        };
        (0..self.map.blocks.len()).map(forward).collect()
    }

    fn make_nodes(&mut self) {
        for block in 0..self.map.blocks.len() as u32 {
            if block == self.map.exit || self.forwards[block as usize].is_some() {
                continue;
            }
            let mut out = Vec::new();
            for &edge in &self.out[block as usize] {
                let to = self.resolved(self.map.edges[edge as usize].to);
                if !out.contains(&to) {
                    out.push(to);
                }
            }
            let conditions = match out.len() {
                2 if self.is_condition(block) => vec![block],
                _ => Vec::new(),
            };
            let node = Node {
                blocks: vec![block],
                conditions,
                out,
                predecessors: BTreeSet::new(),
            };
            self.nodes.insert(block, node);
        }
        let edges: Vec<(u32, u32)> = self
            .nodes
            .iter()
            .flat_map(|(&from, node)| node.out.iter().map(move |&to| (from, to)))
            .collect();
        for (from, to) in edges {
            let node = self.nodes.get_mut(&to).expect("an edge leads to a node");
            node.predecessors.insert(from);
        }
    }

    /// Whether a block branches on a condition: a truth value, or one value against all others.
    fn is_condition(&self, block: u32) -> bool {
        let edges = &self.out[block as usize];
        let outcome = |edge: &u32| self.map.edges[*edge as usize].outcome;
        edges.len() == 2
            && edges.iter().all(|edge| match outcome(edge) {
                Outcome::True | Outcome::False | Outcome::Case(_) | Outcome::Default => true,
                Outcome::Jump
                | Outcome::Normal
                | Outcome::Unwind
                | Outcome::Indirect
                | Outcome::AsmGoto
                | Outcome::Return
                | Outcome::Noreturn
                | Outcome::Resume
                | Outcome::TailCall
                | Outcome::Again
                | Outcome::Split
                | Outcome::Left
                | Outcome::Returned => false,
            })
    }

    fn reduce(&mut self) {
        let mut worklist: Vec<u32> = self.nodes.keys().rev().copied().collect();
        self.reduce_from(&mut worklist);
        let blocks: Vec<u32> = self.nodes.keys().copied().collect();
        for block in blocks {
            if self.leave_check_out(block) {
                self.reduce_from(&mut vec![block]);
            }
        }
    }

    /// Applies both rules to nodes and to the nodes that change thereby.
    fn reduce_from(&mut self, worklist: &mut Vec<u32>) {
        while let Some(block) = worklist.pop() {
            let Some(node) = self.nodes.get(&block) else {
                continue;
            };
            let next = match node.out[..] {
                [next] if self.is_line(block, next) => Some(next),
                [x, y] if !node.conditions.is_empty() => {
                    let mut ways = [(x, y), (y, x)].into_iter();
                    let way = ways.find(|&(next, shared)| self.is_operator(block, next, shared));
                    way.map(|(next, _)| next)
                }
                _ => None,
            };
            if let Some(next) = next {
                self.merge(block, next);
                worklist.extend(self.nodes[&block].predecessors.iter().copied());
                worklist.push(block);
            }
        }
    }

    fn is_line(&self, block: u32, next: u32) -> bool {
        let node = &self.nodes[&next];
        next != block && next != self.map.entry && node.predecessors.len() == 1
    }

    fn is_operator(&self, block: u32, next: u32, shared: u32) -> bool {
        let node = &self.nodes[&next];
        self.is_line(block, next)
            && !node.conditions.is_empty()
            && node.out.len() == 2
            && node.out.contains(&shared)
            && self.joins(block, next)
    }

    /// Whether the last condition of a node and the first of its successor may belong to one
    /// expression.
    fn joins(&self, block: u32, next: u32) -> bool {
        let last = self.nodes[&block].conditions.last();
        let first = self.nodes[&next].conditions.first();
        let branch = |condition: Option<&u32>| self.branch_place(*condition?);
        match (branch(last), branch(first)) {
            (Some(last), Some(first)) => (self.may_join)(self.map, last, first),
            _ => true,
        }
    }

    /// Merges a node into its predecessor.
    fn merge(&mut self, block: u32, next: u32) {
        let merged = self.nodes.remove(&next).expect("a node");
        for &to in &merged.out {
            // A node that leads back to itself is its own predecessor.
            if to != next
                && let Some(node) = self.nodes.get_mut(&to)
            {
                node.predecessors.remove(&next);
                node.predecessors.insert(block);
            }
        }
        let node = self.nodes.get_mut(&block).expect("a node");
        node.out.retain(|&to| to != next);
        for to in merged.out {
            if !node.out.contains(&to) {
                node.out.push(to);
            }
        }
        node.blocks.extend(merged.blocks);
        node.conditions.extend(merged.conditions);
    }

    /// Leaves out the way of a check that never returns. Returns whether the node is a check.
    fn leave_check_out(&mut self, block: u32) -> bool {
        let Some(node) = self.nodes.get(&block) else {
            return false;
        };
        let ([_], &[x, y]) = (&node.conditions[..], &node.out[..]) else {
            return false;
        };
        let never_returns =
            |way: u32| !self.continues[way as usize] && self.nodes[&way].predecessors.len() == 1;
        let (way, other) = match (never_returns(x), never_returns(y)) {
            (true, false) => (x, y),
            (false, true) => (y, x),
            (true, true) | (false, false) => return false,
        };
        let node = self.nodes.get_mut(&block).expect("a node");
        node.out = vec![other];
        node.conditions.clear();
        let way = self.nodes.get_mut(&way).expect("a node");
        way.predecessors.clear();
        true
    }

    fn decision(&self, node: &Node, starts: &BTreeSet<u32>) -> Decision {
        let first = node.conditions[0];
        let after_first = node.blocks.iter().skip_while(|&&block| block != first);
        let is_cut = after_first.skip(1).any(|block| starts.contains(block));
        let conditions = node.conditions.iter();
        let conditions: Vec<Condition> = conditions
            .map(|&block| Condition {
                block,
                place: self.place(block),
            })
            .collect();
        let mut steps = HashMap::new();
        for (condition, &block) in node.conditions.iter().enumerate() {
            for (position, &edge) in self.out[block as usize].iter().enumerate() {
                let to = self.resolved(self.map.edges[edge as usize].to);
                let value = match self.map.edges[edge as usize].outcome {
                    Outcome::False | Outcome::Default => false,
                    Outcome::Case(_) => position == 0,
                    _ => true,
                };
                let outcome = match node.blocks.contains(&to) && to != node.blocks[0] {
                    true => None,
                    false => Some(to == node.out[0]),
                };
                let step = Step {
                    condition,
                    value,
                    outcome,
                };
                steps.insert(edge, step);
            }
        }
        Decision {
            conditions,
            is_cut,
            steps,
        }
    }

    /// The place of a condition. The branches of Rust have the place of their condition. Those of
    /// other languages have the place of the operator, so the place before it in the block is
    /// taken.
    fn place(&self, block: u32) -> Option<Place> {
        let branch = self.branch_place(block);
        let scope = branch.and_then(|place| self.map.scopes.get(place.scope as usize));
        if scope.is_some_and(|scope| scope.file.ends_with(".rs")) {
            return branch;
        }
        let places = self.map.blocks[block as usize].places.iter().rev();
        let mut before = places.copied().filter(|&place| Some(place) != branch);
        before.find(|place| place.line != 0).or(branch)
    }

    /// The place of the branch at the end of a block.
    fn branch_place(&self, block: u32) -> Option<Place> {
        let edges = self.out[block as usize].iter();
        let mut places = edges.filter_map(|&edge| self.map.edges[edge as usize].place);
        places.find(|place| place.line != 0)
    }
}

/// By block: whether control can return or reach a back edge.
fn continues(map: &FunctionMap) -> Vec<bool> {
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); map.blocks.len()];
    let mut worklist = Vec::new();
    for edge in &map.edges {
        if edge.kind == EdgeKind::Exit {
            continue;
        }
        into[edge.to as usize].push(edge.from);
        if matches!(edge.outcome, Outcome::Return | Outcome::TailCall) {
            worklist.push(edge.from);
        }
    }
    for edge in &map.dag {
        if let DagKind::Back(back) = edge.kind {
            worklist.push(map.edges[back as usize].from);
        }
    }
    let mut continues = vec![false; map.blocks.len()];
    while let Some(block) = worklist.pop() {
        if !std::mem::replace(&mut continues[block as usize], true) {
            worklist.extend(&into[block as usize]);
        }
    }
    continues
}
