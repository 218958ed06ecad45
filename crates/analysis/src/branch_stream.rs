//! The branches that a thread executed, in order, from its trace.
//!
//! A *branch* is a block whose condition, switch, or computed jump chooses between two or more
//! blocks, as in [`branches`](crate::branches). Switches and computed jumps are *indirect*
//! branches. Exit edges are no outcomes, and neither is unwinding. [`BranchSet::All`] also has the
//! branches that choose nothing: jumps, calls, and returns.
//!
//! The stream covers woven code only. The address of a branch is *real* where the code's addresses
//! are known: that of the pseudo-probe where the code of the branch's block starts. (A block that
//! the path map divides, at a call for example, has its probe in its first part.) Elsewhere it is
//! *synthetic*: the number of LLVM instructions before the branch, with the functions and blocks in
//! the order of the path map. Synthetic addresses begin after the real ones. The machine's code may
//! have other branches.
//!
//! A path has a fixed sequence of branches (`sites`). So the stream follows from the trace's
//! grammar without expanding it in memory. Right sides that stand for at most [`MAX_RUN`] branches
//! are expanded once, into a table of at most [`MAX_TABLE`] branches besides those of the distinct
//! paths. A walk over the other right
//! sides then emits one slice of the table after the other. Frames that were left and gaps emit
//! nothing.
//!
//! Example: path 0 executes the branches b1 b4, path 1 executes b1 b3 b4, and the grammar is S→AAA,
//! A→01. The table has b1 b4 for path 0, b1 b3 b4 for path 1, and b1 b4 b1 b3 b4 for A. The walk
//! emits the last slice three times.
//!
//! Cost: linear in the branches of distinct paths once, then a step for each slice. Memory is the
//! table, and a few bytes for each rule.

mod image;
mod sites;

use std::collections::BTreeSet;
use std::ops::Range;
use std::slice::Iter;

use crate::block_addresses::UnknownAddresses;
use crate::trace::code::Code;
use crate::trace::{Grammar, Part, Symbol, Trace};

pub use image::ImageBranches;
use sites::Branches;
pub use sites::{AddressKind, BranchEvent, BranchId, BranchKind, BranchSet, BranchSite, Direction};

/// Maximum number of branches that a right side may stand for to be expanded into the table.
pub const MAX_RUN: usize = 1 << 10;
/// Number of branches in the table beyond which no right side is expanded any more.
pub const MAX_TABLE: usize = 1 << 20;

/// The branches of a thread, in order.
#[derive(Debug)]
pub struct BranchStream<'a> {
    grammar: &'a Grammar,
    sites: Vec<BranchSite>,
    /// By branch: the blocks whose instructions belong to it.
    blocks: Vec<BTreeSet<u32>>,
    /// The branches of terminals, then of rules.
    table: Vec<BranchEvent>,
    /// By terminal: its branches in the table.
    terminals: Vec<Range<u32>>,
    /// By rule: its branches in the table. `None` if they are not in the table.
    rules: Vec<Option<Range<u32>>>,
    /// Number of branches of the trace.
    length: u64,
    /// Why addresses are synthetic, if the code has no addresses.
    unknown_addresses: Option<UnknownAddresses>,
}

impl<'a> BranchStream<'a> {
    /// Prepares the stream of a thread's trace. `code` has the functions of the trace's image.
    pub fn new(code: &Code<'_>, trace: &'a Trace, set: BranchSet) -> BranchStream<'a> {
        let Branches {
            sites,
            blocks,
            terminals,
        } = Branches::of_terminals(code, &trace.terminals, set);
        let mut stream = BranchStream {
            grammar: &trace.grammar,
            sites,
            blocks,
            table: Vec::new(),
            terminals: Vec::with_capacity(terminals.len()),
            rules: vec![None; trace.grammar.rules() as usize],
            length: 0,
            unknown_addresses: code.addresses().as_ref().err().copied(),
        };
        for events in &terminals {
            let start = stream.table.len() as u32;
            stream.table.extend_from_slice(events);
            stream.terminals.push(start..stream.table.len() as u32);
        }
        stream.expand_short_rules();
        stream
    }

    /// Expands short right sides into the table, and counts the branches of the trace.
    fn expand_short_rules(&mut self) {
        let limit = self.table.len() + MAX_TABLE;
        // A rule uses only rules with higher numbers.
        let mut lengths = vec![0u64; self.rules.len()];
        for rule in (0..self.grammar.rules()).rev() {
            let right_side = self.grammar.rule(rule);
            let length_of = |&symbol: &Symbol| match symbol.part() {
                Part::Terminal(id) => self.terminals[id as usize].len() as u64,
                Part::Rule(used) => lengths[used as usize],
            };
            let length = right_side.iter().map(length_of);
            let length = length.fold(0, u64::saturating_add);
            lengths[rule as usize] = length;
            if length > MAX_RUN as u64 || self.table.len() as u64 + length > limit as u64 {
                continue;
            }
            let parts = right_side.iter().map(|&symbol| self.slice(symbol));
            let Some(parts) = parts.collect::<Option<Vec<Range<u32>>>>() else {
                continue;
            };
            let start = self.table.len() as u32;
            for part in parts {
                let part = part.start as usize..part.end as usize;
                self.table.extend_from_within(part);
            }
            self.rules[rule as usize] = Some(start..self.table.len() as u32);
        }
        self.length = lengths[0];
    }

    /// The branches of a symbol in the table.
    fn slice(&self, symbol: Symbol) -> Option<Range<u32>> {
        match symbol.part() {
            Part::Terminal(id) => Some(self.terminals[id as usize].clone()),
            Part::Rule(rule) => self.rules[rule as usize].clone(),
        }
    }

    /// Number of branches.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether the thread executed no branch.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Number of branches in the table.
    pub fn table_len(&self) -> usize {
        self.table.len()
    }

    /// The branches that the thread executed, in the order of their ids, which is the order of
    /// their addresses.
    pub fn sites(&self) -> &[BranchSite] {
        &self.sites
    }

    /// Number of branches that the thread executed whose address is real.
    pub fn real_addresses(&self) -> usize {
        let sites = self.sites.iter();
        sites
            .filter(|site| site.address_kind == AddressKind::Real)
            .count()
    }

    /// Why all addresses are synthetic, if the code has no addresses.
    pub fn unknown_addresses(&self) -> Option<UnknownAddresses> {
        self.unknown_addresses
    }

    /// A branch that the thread executed.
    pub fn site(&self, branch: BranchId) -> &BranchSite {
        &self.sites()[branch.index()]
    }

    /// The blocks whose instructions belong to a branch on some path that ran: the blocks after the
    /// path's previous branch, up to this one. The blocks after the last branch of a path belong
    /// to it.
    pub fn blocks(&self, branch: BranchId) -> &BTreeSet<u32> {
        &self.blocks[branch.index()]
    }

    /// The branches of a terminal of the trace, in order.
    pub fn of_terminal(&self, terminal: u32) -> &[BranchEvent] {
        let range = &self.terminals[terminal as usize];
        &self.table[range.start as usize..range.end as usize]
    }

    /// All branches in order, as slices of adjacent branches. No slice is empty.
    pub fn runs(&self) -> Runs<'_> {
        Runs {
            stream: self,
            stack: vec![self.grammar.rule(0).iter()],
        }
    }

    /// All branches in order. [`runs`](Self::runs) is faster.
    pub fn events(&self) -> impl Iterator<Item = BranchEvent> + '_ {
        self.runs().flatten().copied()
    }
}

/// Iterator over the branches of a trace, in slices.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    stream: &'a BranchStream<'a>,
    /// The unread part of each right side on the way from the start rule down to the current
    /// position.
    stack: Vec<Iter<'a, Symbol>>,
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a [BranchEvent];

    fn next(&mut self) -> Option<&'a [BranchEvent]> {
        let stream = self.stream;
        loop {
            let top = self.stack.last_mut()?;
            let Some(&symbol) = top.next() else {
                self.stack.pop();
                continue;
            };
            match (stream.slice(symbol), symbol.part()) {
                (Some(range), _) if range.is_empty() => {}
                (Some(range), _) => {
                    return Some(&stream.table[range.start as usize..range.end as usize]);
                }
                (None, Part::Rule(rule)) => {
                    let right_side = stream.grammar.rule(rule).iter();
                    if top.as_slice().is_empty() {
                        // The rule replaces its exhausted user, so right recursion needs no depth.
                        *top = right_side;
                    } else {
                        self.stack.push(right_side);
                    }
                }
                (None, Part::Terminal(_)) => {}
            }
        }
    }
}
