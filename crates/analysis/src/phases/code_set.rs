//! Sets of blocks of a program, and their size.
//!
//! Cost: a step for each block of a distinct path.

use std::collections::{BTreeMap, BTreeSet};

use holloway_flow::PathId;

use crate::branch_stream::{BranchId, BranchStream};
use crate::trace::Terminal;
use crate::trace::code::Code;

/// A set of blocks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CodeSet {
    /// By function, as numbered in [`Code`]: its blocks.
    pub functions: BTreeMap<u32, BTreeSet<u32>>,
}

impl CodeSet {
    /// The blocks that belong to these branches ([`BranchStream::blocks`]).
    pub fn of_branches(
        stream: &BranchStream<'_>,
        branches: impl IntoIterator<Item = BranchId>,
    ) -> CodeSet {
        let mut set = CodeSet::default();
        for branch in branches {
            let blocks = set.functions.entry(stream.site(branch).function);
            blocks.or_default().extend(stream.blocks(branch));
        }
        set
    }

    /// The blocks of paths.
    pub fn of_paths(code: &Code<'_>, paths: impl IntoIterator<Item = Terminal>) -> CodeSet {
        let mut set = CodeSet::default();
        for terminal in paths {
            let Terminal::Path { function, path } = terminal else {
                continue;
            };
            if let Some(path) = code.path(function, PathId(path.into())) {
                let blocks = set.functions.entry(function).or_default();
                blocks.extend(path.blocks.iter().map(|block| block.0));
            }
        }
        set
    }

    /// Adds the blocks of another set.
    pub fn add(&mut self, other: &CodeSet) {
        for (&function, blocks) in &other.functions {
            self.functions.entry(function).or_default().extend(blocks);
        }
    }

    /// Number of instructions of the blocks.
    pub fn instructions(&self, code: &Code<'_>) -> u64 {
        let functions = self.functions.iter().filter_map(|(&function, blocks)| {
            let map = code.function(function)?;
            let sizes = blocks
                .iter()
                .map(|&block| map.blocks[block as usize].instructions);
            Some(sizes.map(u64::from).sum::<u64>())
        });
        functions.sum()
    }
}
