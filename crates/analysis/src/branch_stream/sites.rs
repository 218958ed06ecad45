//! Finds the branches on the paths of a trace, and numbers them in the order of their addresses.
//!
//! Cost: linear in the blocks of distinct paths, and in the edges of their functions.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Path, PathId};
use holloway_format::{EdgeMap, FunctionMap, Outcome};

use crate::block_addresses::BlockAddresses;
use crate::branches::{is_branch_outcome, is_taken};
use crate::flow::is_before_call;
use crate::trace::Terminal;
use crate::trace::code::Code;

/// The number of a branch among the branches that a thread executed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BranchId(pub u32);

impl BranchId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The branches that a stream has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BranchSet {
    /// Conditional and indirect branches.
    #[default]
    Choices,
    /// Also jumps that do not lead to the next block of the path map, calls, and returns.
    All,
}

/// What a branch is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BranchKind {
    /// A condition.
    Conditional,
    /// A switch, a computed jump, or an `asm goto`.
    Indirect,
    /// An unconditional jump.
    Jump,
    /// A call.
    Call,
    /// The end of a function.
    Return,
}

/// Where a branch leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// The condition held, a case of a switch was chosen, or the branch is not conditional.
    Taken,
    /// The condition did not hold, or a switch chose its default.
    NotTaken,
}

/// How an address was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressKind {
    /// The address of the pseudo-probe where the code of the branch's block starts.
    Real,
    /// The number of instructions before the branch in the path map, after all real addresses.
    Synthetic,
}

/// A branch of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchSite {
    /// The address.
    pub address: u64,
    /// How the address was found.
    pub address_kind: AddressKind,
    /// The function, by its number in [`Code`].
    pub function: u32,
    /// The block that ends with the branch.
    pub block: u32,
    /// The kind.
    pub kind: BranchKind,
}

/// An execution of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchEvent {
    /// The branch.
    pub branch: BranchId,
    /// The block that the branch chose. For a return, the exit.
    pub target: u32,
    /// Whether the branch was taken.
    pub direction: Direction,
    /// Number of instructions of the path that belong to the execution: the blocks after the path's
    /// previous branch, up to this one. The blocks after the last branch of a path belong to it.
    pub instructions: u32,
}

/// The branches that a thread executed, and by terminal of its trace their executions in order.
pub(super) struct Branches {
    pub(super) sites: Vec<BranchSite>,
    /// By branch: the blocks whose instructions belong to it.
    pub(super) blocks: Vec<BTreeSet<u32>>,
    pub(super) terminals: Vec<Vec<BranchEvent>>,
}

/// A branch on a path, before the branches are numbered.
pub(super) struct Step {
    pub(super) block: u32,
    kind: BranchKind,
    pub(super) event: BranchEvent,
    /// The blocks whose instructions belong to the execution.
    pub(super) blocks: Vec<u32>,
}

impl Branches {
    /// Finds the branches of each terminal, and numbers them.
    pub(super) fn of_terminals(
        code: &Code<'_>,
        terminals: &[Terminal],
        set: BranchSet,
    ) -> Branches {
        let mut functions = HashMap::new();
        let steps = terminals.iter().map(|&terminal| match terminal {
            Terminal::Path { function, path } => {
                let map = code.function(function);
                let path = code.path(function, PathId(path.into()));
                let steps = map.zip(path).map(|(map, path)| {
                    let branches = functions
                        .entry(function)
                        .or_insert_with(|| FunctionBranches::new(map, set));
                    branches.on_path(map, &path)
                });
                (function, steps.unwrap_or_default())
            }
            Terminal::Left(_) | Terminal::Gap => (0, Vec::new()),
        });
        let mut steps: Vec<(u32, Vec<Step>)> = steps.collect();
        let executed: BTreeSet<_> = steps
            .iter()
            .flat_map(|(function, steps)| {
                steps
                    .iter()
                    .map(|step| ((*function, step.block), step.kind))
            })
            .collect();
        let addresses = code.addresses().as_ref().ok();
        let sites = sites(code.functions(), addresses, executed.into_iter().collect());
        let numbers = (0..).map(BranchId).zip(&sites);
        let numbers: HashMap<(u32, u32), BranchId> = numbers
            .map(|(id, site)| ((site.function, site.block), id))
            .collect();
        let mut blocks = vec![BTreeSet::new(); sites.len()];
        let terminals = steps.iter_mut().map(|(function, steps)| {
            let events = steps.drain(..).map(|step| {
                let branch = numbers[&(*function, step.block)];
                blocks[branch.index()].extend(step.blocks);
                BranchEvent {
                    branch,
                    ..step.event
                }
            });
            events.collect()
        });
        let terminals = terminals.collect();
        Branches {
            sites,
            blocks,
            terminals,
        }
    }
}

/// The sites of branches, in the order of their addresses. The branches, each with its function,
/// block, and kind, are sorted.
pub(super) fn sites<'a>(
    functions: impl Iterator<Item = (u32, &'a FunctionMap)>,
    known: Option<&BlockAddresses>,
    branches: Vec<((u32, u32), BranchKind)>,
) -> Vec<BranchSite> {
    // Real and synthetic addresses do not mix.
    let mut next = known.map_or(0, |known| known.last().saturating_add(1));
    let mut branches = branches.into_iter().peekable();
    let mut sites = Vec::new();
    for (function, map) in functions {
        let first = next;
        let mut ends = Vec::new();
        let mut parts = PreviousParts::default();
        while let Some(((_, block), kind)) = branches.next_if(|branch| branch.0.0 == function) {
            if ends.is_empty() {
                ends.extend(map.blocks.iter().scan(first, |end, block| {
                    // A block without instructions keeps an address of its own.
                    *end = end.saturating_add(u64::from(block.instructions.max(1)));
                    Some(*end)
                }));
                parts = PreviousParts::of(map);
            }
            let real = known.and_then(|known| {
                let mut parts = parts.up_to(block);
                parts.find_map(|part| known.of(function, part))
            });
            let (address, address_kind) = match real {
                Some(address) => (address, AddressKind::Real),
                None => (ends[block as usize] - 1, AddressKind::Synthetic),
            };
            sites.push(BranchSite {
                address,
                address_kind,
                function,
                block,
                kind,
            });
        }
        let lengths = map
            .blocks
            .iter()
            .map(|block| u64::from(block.instructions.max(1)));
        next = ends
            .last()
            .copied()
            .unwrap_or_else(|| first + lengths.sum::<u64>());
    }
    // The sort is stable, so branches at one address keep the order of the map.
    sites.sort_by_key(|site| site.address);
    sites
}

/// By block of a function: the part before it of the same block of the compiler, if any. The blocks
/// of a compiler are divided at calls, for example.
#[derive(Default)]
struct PreviousParts(HashMap<u32, u32>);

impl PreviousParts {
    fn of(map: &FunctionMap) -> Self {
        let edges = map.edges.iter();
        let splits = edges.filter(|edge| edge.outcome == Outcome::Split);
        Self(splits.map(|edge| (edge.to, edge.from)).collect())
    }

    /// A block, and the parts before it, nearest first. All code of these parts has one
    /// pseudo-probe, at the start of the first part with instructions.
    fn up_to(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        let before = |part: &u32| self.0.get(part).copied();
        // The edges of an unchecked map may form a cycle.
        std::iter::successors(Some(block), before).take(self.0.len() + 1)
    }
}

/// The branches of a function.
pub(super) struct FunctionBranches {
    set: BranchSet,
    /// By block: its kind of choice, if it chooses between two or more blocks.
    choices: Vec<Option<BranchKind>>,
}

impl FunctionBranches {
    pub(super) fn new(map: &FunctionMap, set: BranchSet) -> FunctionBranches {
        // By block: the first block that it chooses.
        let mut first: Vec<Option<u32>> = vec![None; map.blocks.len()];
        let mut choices = vec![None; map.blocks.len()];
        for edge in map
            .edges
            .iter()
            .filter(|edge| is_branch_outcome(edge.outcome))
        {
            let first = first[edge.from as usize].get_or_insert(edge.to);
            if *first != edge.to {
                let is_conditional = matches!(edge.outcome, Outcome::True | Outcome::False);
                choices[edge.from as usize] = Some(if is_conditional {
                    BranchKind::Conditional
                } else {
                    BranchKind::Indirect
                });
            }
        }
        FunctionBranches { set, choices }
    }

    /// All branches of the function, by block.
    pub(super) fn all(&self, map: &FunctionMap) -> BTreeSet<(u32, BranchKind)> {
        let edges = map.edges.iter();
        let branches = edges.filter_map(|edge| Some((edge.from, self.branch(edge)?.0)));
        branches.collect()
    }

    /// The branches on a path, in order.
    pub(super) fn on_path(&self, map: &FunctionMap, path: &Path) -> Vec<Step> {
        let (mut steps, mut instructions) = (Vec::<Step>::new(), 0u32);
        let mut blocks = Vec::new();
        let edges = path.edges.iter().copied().chain([path.end.edge()]);
        for (block, edge) in path.blocks.iter().zip(edges) {
            instructions = instructions.saturating_add(map.blocks[block.index()].instructions);
            blocks.push(block.0);
            let edge = &map.edges[edge.index()];
            if let Some((kind, direction)) = self.branch(edge) {
                steps.push(Step {
                    block: edge.from,
                    kind,
                    event: BranchEvent {
                        branch: BranchId(0),
                        target: edge.to,
                        direction,
                        instructions: std::mem::take(&mut instructions),
                    },
                    blocks: std::mem::take(&mut blocks),
                });
            }
        }
        if let Some(last) = steps.last_mut() {
            last.event.instructions = last.event.instructions.saturating_add(instructions);
            last.blocks.append(&mut blocks);
        }
        steps
    }

    /// The branch that takes an edge, if any.
    fn branch(&self, edge: &EdgeMap) -> Option<(BranchKind, Direction)> {
        if is_branch_outcome(edge.outcome) {
            let kind = self.choices[edge.from as usize];
            let direction = if is_taken(edge.outcome) {
                Direction::Taken
            } else {
                Direction::NotTaken
            };
            // A switch whose cases all lead to one block is a jump.
            return kind
                .map(|kind| (kind, direction))
                .or_else(|| self.without_choice(edge));
        }
        self.without_choice(edge)
    }

    /// The branch that takes an edge of a block without a choice.
    fn without_choice(&self, edge: &EdgeMap) -> Option<(BranchKind, Direction)> {
        let kind = match (self.set, edge.outcome) {
            (BranchSet::Choices, _) => None,
            (BranchSet::All, Outcome::Return) => Some(BranchKind::Return),
            (BranchSet::All, Outcome::Split) => is_before_call(edge).then_some(BranchKind::Call),
            (
                BranchSet::All,
                Outcome::Unwind
                | Outcome::Noreturn
                | Outcome::Resume
                | Outcome::Left
                | Outcome::Returned
                | Outcome::Again,
            ) => None,
            (BranchSet::All, Outcome::TailCall) => Some(BranchKind::Jump),
            (
                BranchSet::All,
                Outcome::Jump
                | Outcome::Normal
                | Outcome::True
                | Outcome::False
                | Outcome::Case(_)
                | Outcome::Default
                | Outcome::Indirect
                | Outcome::AsmGoto,
            ) => (edge.to != edge.from + 1).then_some(BranchKind::Jump),
        };
        kind.map(|kind| (kind, Direction::Taken))
    }
}
