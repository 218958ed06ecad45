//! Leads the code of an optimized program back to the blocks before the optimizer, and estimates
//! the executions of these blocks.
//!
//! The optimizer copies, moves, and removes code. So one block may have code at many addresses, in
//! several functions, or none. Each address has the number of the unoptimized instruction that it
//! comes from, within the calls that were inlined. The blocks of the *early graphs* list the same
//! numbers as their places, because the passes before them are the first passes of the optimizer.
//!
//! ```text
//! frames of an address    main 7 · sort 3 · less 2   (instruction 2 of less, inlined twice)
//! early graph of sort     block 4: less 2, inlined by the call sort 3
//! ```
//! The passes before the early graph inlined `less` into `sort`, and later passes inlined `sort`
//! into `main`. So the longest end of the frames that an early graph knows tells the block: here
//! `sort 3 · less 2`, and not `less 2`.
//!
//! *Samples.* The time of a block is the time of all its copies. Its executions are its samples,
//! divided by the number of its instructions that are left in the program, as if each of them took
//! 1 ns ([`estimate`](crate::estimate)).
//!
//! *Branch records.* The code between two taken branches ran once. An instruction has as many
//! executions as its copies have together. Copies of an unrolled loop lie in different rows of
//! the line table. So do the halves of an instruction that the code generator has split, which
//! would count twice. The median of the instructions of a block ignores these.
//!
//! A block without code has no measure, and [`holloway_flow::inference`] gives it what flows
//! through. A fork that no measure decides is divided evenly: the sides of a select have no code.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use holloway_flow::inference::infer;
use holloway_flow::{BlockId, Cfg};
use holloway_format::{Count, FunctionIndex, FunctionMap, ImageMap, Place};

use crate::bounds::Forks;
use crate::estimate::{edge_costs, executions, measure};
use crate::flow::{Flow, clamped, graph_of};
use crate::join::{FunctionSums, Sums};
use crate::misfit::Misfit;
use crate::run::{CountBasis, Function, RunProfile};

/// An unoptimized instruction: its function, and its number there.
pub type Numbered = (Arc<str>, u32);

/// A block of an early graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EarlyBlock {
    /// The function.
    pub function: FunctionIndex,
    /// The block.
    pub block: u32,
}

/// The blocks of early graphs by the instructions in them.
#[derive(Debug)]
pub struct Origins {
    /// The block of each instruction, and a number for the instruction. `None` if several blocks of
    /// a function contain the instruction.
    blocks: HashMap<Vec<Numbered>, Option<(EarlyBlock, u32)>>,
}

/// Code of an optimized program that comes from one unoptimized instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalCode {
    /// The addresses.
    pub addresses: Range<u64>,
    /// The block.
    pub block: EarlyBlock,
    /// A number for the instruction ([`Origins::find`]).
    pub instruction: u32,
}

/// What was seen of an optimized program. Addresses are those of its symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Samples by address.
    Samples {
        /// The number of samples at each address.
        samples: BTreeMap<u64, u64>,
        /// The time between two samples.
        period_ns: u64,
    },
    /// Branch records: the number of executions of each straight section, by its first address and
    /// the address of its last instruction.
    Sections(BTreeMap<(u64, u64), u64>),
}

impl Origins {
    /// Reads the blocks of the early graphs in `map`, whose places are numbers of instructions.
    pub fn new(map: &ImageMap) -> Self {
        let mut origins = Self {
            blocks: HashMap::new(),
        };
        for (module, placed) in (0u32..).zip(&map.modules) {
            for (function, function_map) in (0u32..).zip(&placed.module.functions) {
                let function = FunctionIndex { module, function };
                if !function_map.is_damaged() {
                    origins.add(function, function_map);
                }
            }
        }
        origins
    }

    fn add(&mut self, function: FunctionIndex, map: &FunctionMap) {
        for (block, block_map) in (0u32..).zip(&map.blocks) {
            let found = EarlyBlock { function, block };
            for place in &block_map.places {
                let Some(frames) = frames(map, place) else {
                    continue;
                };
                let next = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
                let known = self.blocks.entry(frames).or_insert(Some((found, next)));
                if known.is_some_and(|(block, _)| block != found) {
                    *known = None;
                }
            }
        }
    }

    /// The block of an instruction: the last frame, within the inlined calls before it. The second
    /// result tells the instruction from the others of the block, and from its inlined copies.
    pub fn find(&self, frames: &[Numbered]) -> Option<(EarlyBlock, u32)> {
        let ends = (0..frames.len()).map(|start| &frames[start..]);
        let mut known = ends.filter_map(|end| self.blocks.get(end));
        known.next().copied().flatten()
    }
}

/// The frames of a place: the inlined calls, outermost first, and the instruction. `None` if the
/// scopes are damaged.
fn frames(map: &FunctionMap, place: &Place) -> Option<Vec<Numbered>> {
    let mut scope = map.scopes.get(place.scope as usize)?;
    let mut frames: Vec<Numbered> = vec![(scope.name.as_str().into(), place.line)];
    while let Some(parent) = scope.parent {
        let number = scope.call_line;
        scope = map.scopes.get(parent as usize)?;
        frames.push((scope.name.as_str().into(), number));
        if frames.len() > map.scopes.len() {
            return None;
        }
    }
    frames.reverse();
    Some(frames)
}

/// Estimates the executions of the early graphs in `map`. Functions that were not seen do not run.
pub fn estimate_early(map: &ImageMap, code: &[OriginalCode], observed: &Observed) -> RunProfile {
    let measured = match observed {
        Observed::Samples { samples, period_ns } => by_samples(code, samples, *period_ns),
        Observed::Sections(sections) => by_sections(code, sections),
    };
    let mut sums = Sums::new();
    for (block, count) in measured {
        let sum = sums.entry(block.function).or_default();
        sum.counts.push((block.block.into(), Count(count)));
    }
    sums.retain(|_, sum| sum.counts.iter().any(|&(_, count)| count > Count::ZERO));
    sums.values_mut().for_each(FunctionSums::add_up);
    let mut profile = RunProfile::new(Vec::new());
    profile.basis = match observed {
        Observed::Samples { samples, .. } => CountBasis::Time {
            samples: Count(sum(samples.values())),
        },
        Observed::Sections(sections) => CountBasis::Branches {
            branches: Count(sum(sections.values())),
            depth: 0,
            unit: holloway_abi::Unit::Edges,
        },
    };
    profile.note_damage(map);
    let mut derive = |profile: &mut RunProfile, function: &mut Function| {
        if let Err(misfit) = derive_flow(function) {
            profile.leave_out(function, misfit);
            function.ran = false;
        }
        function.counts.clear();
    };
    profile.add(map.clone(), sums, Vec::new(), Forks::Absent, &mut derive);
    profile
}

/// The sum of counts. Counts of a file may be of any size.
fn sum<'c>(counts: impl Iterator<Item = &'c u64>) -> u64 {
    counts.copied().fold(0, u64::saturating_add)
}

/// The executions of each block that has code.
fn by_samples(
    code: &[OriginalCode],
    samples: &BTreeMap<u64, u64>,
    period_ns: u64,
) -> BTreeMap<EarlyBlock, u64> {
    let mut blocks: BTreeMap<EarlyBlock, (u64, BTreeSet<u32>)> = BTreeMap::new();
    for code in code {
        let (total, numbers) = blocks.entry(code.block).or_default();
        numbers.insert(code.instruction);
        let seen = samples.range(code.addresses.clone());
        *total = total.saturating_add(sum(seen.map(|(_, count)| count)));
    }
    let blocks = blocks.into_iter();
    blocks
        .map(|(block, (sum, numbers))| {
            let length = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            (block, executions(Count(sum), period_ns, length))
        })
        .collect()
}

/// The executions of each block that has code: the median of its instructions.
fn by_sections(
    code: &[OriginalCode],
    sections: &BTreeMap<(u64, u64), u64>,
) -> BTreeMap<EarlyBlock, u64> {
    let changes = changes(sections);
    let mut changes = changes.into_iter().peekable();
    let mut running = 0i128;
    let mut blocks: BTreeMap<EarlyBlock, BTreeMap<u32, u64>> = BTreeMap::new();
    // The code is in the order of addresses.
    for code in code {
        while let Some((_, change)) =
            changes.next_if(|&(address, _)| address <= code.addresses.start)
        {
            running += change;
        }
        let count = u64::try_from(running.max(0)).unwrap_or(u64::MAX);
        let sum = blocks.entry(code.block).or_default();
        let sum = sum.entry(code.instruction).or_default();
        *sum = sum.saturating_add(count);
    }
    let median = |numbers: BTreeMap<u32, u64>| {
        let mut counts: Vec<u64> = numbers.into_values().collect();
        counts.sort_unstable();
        counts[counts.len() / 2]
    };
    let blocks = blocks.into_iter();
    blocks
        .map(|(block, numbers)| (block, median(numbers)))
        .collect()
}

/// Where the number of executions changes from one address to the next, and by how much.
fn changes(sections: &BTreeMap<(u64, u64), u64>) -> BTreeMap<u64, i128> {
    let mut changes: BTreeMap<u64, i128> = BTreeMap::new();
    for (&(start, last), &count) in sections {
        *changes.entry(start).or_default() += i128::from(count);
        *changes.entry(last.saturating_add(1)).or_default() -= i128::from(count);
    }
    changes
}

fn derive_flow(function: &mut Function) -> Result<(), Misfit> {
    let map = &function.map;
    let cfg = graph_of(map)?;
    let mut measured = vec![None; map.blocks.len()];
    for &(block, count) in &function.counts {
        measured[block.0 as usize] = Some(count);
    }
    let lengths = map.blocks.iter().map(|block| block.instructions);
    let measures = lengths
        .zip(&measured)
        .map(|(length, &count)| measure(length, count));
    let measures: Vec<_> = measures.collect();
    let mut inferred = infer(&cfg, &measures, &edge_costs(map));
    divide_evenly(&cfg, &measured, &mut inferred.edges);
    let edges = inferred.edges.iter().map(|&count| clamped(count.into()));
    let calls = Count(inferred.blocks[map.entry as usize]);
    function.flow = OnceLock::from(Flow::of_edges(map, edges.collect(), calls));
    Ok(())
}

/// Divides what flows from a block to another block on several ways evenly among these ways, if
/// they have no measure: an edge, or two edges through a block without code.
fn divide_evenly(cfg: &Cfg, measured: &[Option<Count>], counts: &mut [u64]) {
    for block in cfg.blocks() {
        let mut ways: BTreeMap<BlockId, Vec<Vec<usize>>> = BTreeMap::new();
        for &edge in cfg.successors(block) {
            let between = cfg.edge(edge).to;
            let (into, out) = (cfg.predecessors(between), cfg.successors(between));
            match (measured[between.index()], into, out) {
                (None, [_], &[next]) => ways
                    .entry(cfg.edge(next).to)
                    .or_default()
                    .push(vec![edge.index(), next.index()]),
                _ => ways.entry(between).or_default().push(vec![edge.index()]),
            }
        }
        for ways in ways.into_values().filter(|ways| ways.len() > 1) {
            let total = sum(ways.iter().map(|way| &counts[way[0]]));
            let number = ways.len() as u64;
            for (position, way) in (0..).zip(&ways) {
                let share = total / number + u64::from(position < total % number);
                way.iter().for_each(|&edge| counts[edge] = share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_flow::{Edge, EdgeKind};
    use holloway_format::{BlockMap, ModuleMap, PlacedModule, Scope};

    fn place(scope: u32, line: u32) -> Place {
        Place {
            scope,
            line,
            column: 0,
        }
    }

    /// A map with a function for each list of blocks. `less` is inlined into `sort` by call 3.
    fn map() -> ImageMap {
        let scope = |name: &str, parent, call_line| Scope {
            name: name.into(),
            parent,
            call_line,
            ..Scope::default()
        };
        let block = |places: Vec<Place>| BlockMap {
            instructions: 2,
            places,
        };
        let function = |name: &str, scopes, blocks| FunctionMap {
            linkage_name: name.into(),
            scopes,
            blocks,
            ..FunctionMap::default()
        };
        let sort = function(
            "sort",
            vec![scope("sort", None, 0), scope("less", Some(0), 3)],
            vec![
                block(vec![place(0, 1), place(0, 2)]),
                block(vec![place(1, 2), place(0, 9)]),
                block(vec![place(0, 9)]),
            ],
        );
        let less = function(
            "less",
            vec![scope("less", None, 0)],
            vec![block(vec![place(0, 1), place(0, 2)])],
        );
        ImageMap {
            modules: vec![PlacedModule {
                base: 0,
                module: ModuleMap {
                    functions: vec![sort, less],
                    ..ModuleMap::default()
                },
            }],
            ..ImageMap::default()
        }
    }

    #[test]
    fn the_longest_known_end_of_the_frames_tells_the_block() {
        let origins = Origins::new(&map());
        let check = |frames: &[(&str, u32)], expect: Option<(u32, u32)>| {
            let frames: Vec<Numbered> = frames
                .iter()
                .map(|&(name, number)| (name.into(), number))
                .collect();
            let found = origins.find(&frames);
            let found = found.map(|(found, _)| (found.function.function, found.block));
            assert_eq!(found, expect, "{frames:?}");
        };
        check(&[("sort", 2)], Some((0, 0)));
        check(&[("main", 7), ("sort", 2)], Some((0, 0)));
        check(&[("main", 7), ("sort", 3), ("less", 2)], Some((0, 1)));
        // Copies of one instruction, and instructions of two functions with one number, differ.
        let id = |frames: &[(&str, u32)]| {
            let frames = frames.iter().map(|&(name, number)| (name.into(), number));
            origins.find(&frames.collect::<Vec<_>>()).unwrap().1
        };
        assert_ne!(id(&[("sort", 2)]), id(&[("sort", 3), ("less", 2)]));
        // Another call of less, which only later passes have inlined.
        check(&[("sort", 5), ("less", 2)], Some((1, 0)));
        // In two blocks, and in none.
        check(&[("sort", 9)], None);
        check(&[("sort", 99)], None);
        check(&[], None);
    }

    fn code(start: u64, end: u64, block: u32, instruction: u32) -> OriginalCode {
        let function = FunctionIndex {
            module: 0,
            function: 0,
        };
        OriginalCode {
            addresses: start..end,
            block: EarlyBlock { function, block },
            instruction,
        }
    }

    #[test]
    fn the_time_of_all_copies_is_divided_by_the_instructions() {
        // Block 0 has the instructions 1 and 2, each twice, because its loop was unrolled.
        let code = [
            code(0, 4, 0, 1),
            code(4, 8, 0, 2),
            code(8, 12, 0, 1),
            code(12, 16, 0, 2),
            code(16, 20, 1, 5),
        ];
        let samples = BTreeMap::from([(1, 3), (4, 2), (15, 1), (40, 99)]);
        let found: Vec<u64> = by_samples(&code, &samples, 1_000).into_values().collect();
        assert_eq!(found, [3_000, 0]);
    }

    #[test]
    fn sections_give_the_median_of_the_instructions() {
        // Instruction 2 is split in two rows, and so counts twice.
        let code = [
            code(0, 4, 0, 1),
            code(4, 8, 0, 2),
            code(8, 12, 0, 3),
            code(12, 16, 0, 2),
            code(16, 20, 1, 5),
        ];
        let sections = BTreeMap::from([((0, 14), 10), ((8, 14), 1), ((0, 17), 5)]);
        let found: Vec<u64> = by_sections(&code, &sections).into_values().collect();
        assert_eq!(found, [16, 5]);
    }

    #[test]
    fn ways_without_measures_run_equally_often() {
        // 0 → 1 → 3, 0 → 2 → 3, 3 → 4: a select.
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
        let edges = edges.map(|(from, to)| Edge {
            from: BlockId(from),
            to: BlockId(to),
            kind: EdgeKind::Plain,
        });
        let cfg = Cfg::new(5, BlockId(0), BlockId(4), edges.to_vec()).unwrap();
        let check = |measured: [Option<Count>; 5], expect: [u64; 5]| {
            let mut counts = [9, 0, 9, 0, 9];
            divide_evenly(&cfg, &measured, &mut counts);
            assert_eq!(counts, expect);
        };
        let (known, unknown) = (Some(Count(9)), None);
        check([known, unknown, unknown, known, known], [5, 4, 5, 4, 9]);
        check([known, known, unknown, known, known], [9, 0, 9, 0, 9]);
    }
}
