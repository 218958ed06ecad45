//! Finds branches that a conditional move could replace: LLVM's `select`.
//!
//! Such a branch skips one small block (a triangle), or chooses between two small blocks that lead
//! to the same block (a diamond). The blocks have no other way in, and end with a jump, so they
//! call nothing that ends a path. The path map does not say whether a block stores to memory or
//! may trap. So these are candidates, not certain cases.

use holloway_format::{FunctionMap, Outcome};

/// Maximum number of instructions of a block that a `select` may replace.
pub const MAX_INSTRUCTIONS: u32 = 8;

/// The candidates of a function.
#[derive(Debug)]
pub struct Candidates {
    /// By block: the numbers of edges into it.
    ways_in: Vec<u32>,
    /// By block: the blocks that it leads to, with the outcomes.
    next: Vec<Vec<(u32, Outcome)>>,
    instructions: Vec<u32>,
}

impl Candidates {
    /// Prepares the search in a function.
    pub fn new(map: &FunctionMap) -> Candidates {
        let blocks = map.blocks.len();
        let mut candidates = Candidates {
            ways_in: vec![0; blocks],
            next: vec![Vec::new(); blocks],
            instructions: map.blocks.iter().map(|block| block.instructions).collect(),
        };
        for edge in &map.edges {
            candidates.next[edge.from as usize].push((edge.to, edge.outcome));
            if let Some(ways_in) = candidates.ways_in.get_mut(edge.to as usize) {
                *ways_in += 1;
            }
        }
        candidates
    }

    /// Instructions of the blocks that a `select` would execute always. `None` if the branch at the
    /// end of the block is no candidate.
    pub fn instructions(&self, block: u32) -> Option<u32> {
        let [(first, Outcome::True | Outcome::False), (second, _)] = self.next[block as usize][..]
        else {
            return None;
        };
        let arm = |arm: u32| {
            let is_small = self.instructions[arm as usize] <= MAX_INSTRUCTIONS;
            let end = match self.next[arm as usize][..] {
                [(end, Outcome::Jump)] if is_small && self.ways_in[arm as usize] == 1 => end,
                _ => return None,
            };
            // A loop is no arm.
            (end != block).then_some((end, self.instructions[arm as usize]))
        };
        match (arm(first), arm(second)) {
            (Some((end, instructions)), _) if end == second => Some(instructions),
            (_, Some((end, instructions))) if end == first => Some(instructions),
            (Some((left, a)), Some((right, b))) if left == right => Some(a + b),
            _ => None,
        }
    }
}
