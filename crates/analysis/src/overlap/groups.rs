//! Matches the functions of two runs, and adds up the counts of each function.
//!
//! Cost: a hash of each graph, and tables of names. If two builds number a function's paths
//! differently, each of these paths is regenerated.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use holloway_abi::Unit;
use holloway_format::{Count, EdgeKind, FunctionMap};

use super::number::{Number, Numbering, common_edges};
use super::same::{Parts, numbering};
use super::sides::{Both, Why};
use crate::edges::jumps;
use crate::flow::add;
use crate::join::add_up;
use crate::run::{Function, FunctionId, RunProfile};

/// Counts in ascending order of numbers, without zeros.
pub(crate) type Counts = Vec<(Number, Count)>;

/// The counts of all copies of a function.
#[derive(Default)]
pub(crate) struct GroupCounts {
    /// Executions of each path or edge.
    pub(crate) executions: Counts,
    /// Executed instructions of each path or block.
    pub(crate) instructions: Counts,
}

/// The copies of a function in a run.
pub(crate) struct Group<'a> {
    unit: Unit,
    hash: u64,
    functions: Vec<(FunctionId, &'a Function)>,
    /// The hash of each function's graph and numbering, computed on first use.
    structures: OnceCell<Vec<u64>>,
}

impl<'a> Group<'a> {
    /// The copies, with their ids.
    pub(crate) fn copies(&self) -> &[(FunctionId, &'a Function)] {
        &self.functions
    }

    /// The representative copy: a copy with known paths, if there is one.
    pub(crate) fn representative(&self) -> (FunctionId, &'a Function) {
        let mut copies = self.functions.iter();
        let with_paths = copies.find(|(_, function)| function.graph().is_some());
        with_paths.copied().unwrap_or(self.functions[0])
    }

    /// The copy whose graph and numbering have this hash.
    pub(crate) fn copy_with_structure(&self, structure: u64) -> Option<(FunctionId, &'a Function)> {
        let structures = self.structures.get_or_init(|| {
            let maps = self.functions.iter().map(|(_, function)| &function.map);
            maps.map(FunctionMap::structure_hash).collect()
        });
        let copy = structures.iter().position(|hash| *hash == structure)?;
        Some(self.functions[copy])
    }

    /// Adds the copies of another function with the same graph.
    pub(crate) fn add(&mut self, other: &Group<'a>) {
        self.functions.extend(&other.functions);
        self.structures = OnceCell::new();
    }

    /// The hash of the graph.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The copies.
    pub(crate) fn ids(&self) -> impl Iterator<Item = FunctionId> {
        self.functions.iter().map(|(id, _)| *id)
    }

    /// Whether any copy has exit edges.
    pub(crate) fn has_exits(&self) -> bool {
        self.functions
            .iter()
            .any(|(_, function)| function.has_exits())
    }

    /// Frames of the copies that were left in a call or entered again: the sum of the absolute
    /// counts of all exit edges.
    pub(crate) fn left_frames(&self) -> Count {
        let mut sum = Count::ZERO;
        for (_, function) in self.functions.iter().filter(|(_, function)| function.ran()) {
            let edges = function.map.edges.iter().zip(&function.flow().edges);
            for (_, &count) in edges.filter(|(edge, _)| edge.kind == EdgeKind::Exit) {
                add(&mut sum, Count(count.unsigned_abs()));
            }
        }
        sum
    }

    pub(crate) fn map(&self) -> &'a FunctionMap {
        &self.functions[0].1.map
    }

    pub(crate) fn ran(&self) -> bool {
        self.functions.iter().any(|(_, function)| function.ran())
    }

    /// Adds up the counts of all copies. Paths get their numbers in the numbering of `common`.
    pub(crate) fn counts(&self, common: &Function) -> GroupCounts {
        let mut sums = GroupCounts::default();
        for (_, function) in &self.functions {
            match self.unit {
                Unit::Paths => add_paths(function, common, &mut sums),
                Unit::Edges => add_edges(function, &mut sums),
            }
        }
        for counts in [&mut sums.executions, &mut sums.instructions] {
            counts.retain(|&(_, count)| count > Count::ZERO);
            add_up(counts);
        }
        sums
    }
}

fn add_paths(function: &Function, common: &Function, sums: &mut GroupCounts) {
    let Some(graph) = function.graph() else {
        return;
    };
    let number = numbering(function, common);
    graph.measure(&function.map, &function.counts, |path| {
        let id = number(path.path);
        sums.executions.push((id, path.count));
        let instructions = path.count.saturating_mul(path.instructions);
        sums.instructions.push((id, instructions));
    });
}

fn add_edges(function: &Function, sums: &mut GroupCounts) {
    if !function.ran() {
        return;
    }
    let (map, flow) = (&function.map, function.flow());
    let jumps = jumps(map);
    for (number, (edge, index)) in (0u64..).zip(common_edges(map)) {
        if jumps[edge.from as usize].is_none() {
            let count = u64::try_from(flow.edges[index]).unwrap_or(0);
            sums.executions
                .push(((Numbering::Common, number), Count(count)));
        }
    }
    let parts = Parts::new(map);
    let blocks = (0u32..).zip(map.blocks.iter().zip(&flow.blocks));
    sums.instructions
        .extend(blocks.map(|(id, (block, &count))| {
            let undivided_block = (Numbering::Common, u64::from(parts.part(id).0));
            (
                undivided_block,
                count.saturating_mul(block.instructions.into()),
            )
        }));
}

/// Groups the functions that `keep` accepts by name and graph, in the order of the run.
pub(crate) fn groups<'a>(
    run: &'a RunProfile,
    unit: Unit,
    keep: &dyn Fn(&Function) -> bool,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut indices: HashMap<(&str, &str, u32, u64), usize> = HashMap::new();
    for (id, function) in run.ids().filter(|(_, function)| keep(function)) {
        let map = &function.map;
        let hash = map.graph_hash();
        let key = (&*map.linkage_name, &*map.file, map.line, hash);
        let index = *indices.entry(key).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Group {
                unit,
                hash,
                functions: Vec::new(),
                structures: OnceCell::new(),
            });
        }
        groups[index].functions.push((id, function));
    }
    groups
}

/// A function in both runs.
pub(crate) struct PairOfGroups<'a>(pub(crate) Both<&'a Group<'a>>);

impl<'a> PairOfGroups<'a> {
    /// The representative copy of each run.
    pub(crate) fn representatives(&self) -> Both<(FunctionId, &'a Function)> {
        self.0.map(Group::representative)
    }

    /// The side whose representative gives both sides their numbers: the first with numbered paths.
    fn numbering_side(&self) -> usize {
        let mut copies = self.representatives().into_iter();
        copies
            .position(|(_, function)| function.graph().is_some())
            .unwrap_or(0)
    }

    /// The counts of both runs, in one numbering.
    pub(crate) fn counts(&self) -> Both<GroupCounts> {
        let common = self.representatives()[self.numbering_side()].1;
        self.0.map(|group| group.counts(common))
    }

    /// The side and the copy in which a path or an edge of this numbering has its number.
    pub(crate) fn owner(&self, numbering: Numbering) -> (usize, (FunctionId, &'a Function)) {
        let owner = match numbering {
            Numbering::Common => None,
            Numbering::Own { structure } => (0..2).find_map(|side| {
                let copy = self.0[side].copy_with_structure(structure);
                copy.map(|copy| (side, copy))
            }),
        };
        let side = self.numbering_side();
        owner.unwrap_or_else(|| (side, self.representatives()[side]))
    }
}

/// Indices of groups: the pairs of groups that match, and by run the groups that ran and have no
/// counterpart.
pub(crate) type Matches = (Vec<Both<usize>>, Both<Vec<(usize, Why)>>);

/// Matches the groups of two runs: first by linkage name, then by the name that the user knows.
pub(crate) fn match_up(
    groups: &Both<Vec<Group<'_>>>,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> Matches {
    let linkage = |group: &Group<'_>| Rc::from(&*group.map().linkage_name);
    let shown = |group: &Group<'_>| name(group.functions[0].1);
    let mut pairs = Vec::new();
    let mut unmatched = [0, 1].map(|side| (0..groups[side].len()).collect::<Vec<usize>>());
    for name_of in [&linkage as &dyn Fn(&Group<'_>) -> Rc<str>, &shown] {
        let mut candidates: HashMap<(Rc<str>, u64), Vec<usize>> = HashMap::new();
        for &index in unmatched[1].iter().rev() {
            let group = &groups[1][index];
            candidates
                .entry((name_of(group), group.hash))
                .or_default()
                .push(index);
        }
        // Several groups may have the same name and graph. Groups in the same file match first.
        let mut take_match = |index: usize, same_file: bool| {
            let group = &groups[0][index];
            let others = candidates.get_mut(&(name_of(group), group.hash))?;
            let fits =
                |other: &usize| !same_file || groups[1][*other].map().file == group.map().file;
            let position = others.iter().rposition(fits)?;
            Some([index, others.remove(position)])
        };
        for same_file in [true, false] {
            let matched: Vec<_> = unmatched[0]
                .iter()
                .filter_map(|&index| take_match(index, same_file))
                .collect();
            for (side, unmatched) in unmatched.iter_mut().enumerate() {
                let matched_on_side: BTreeSet<usize> =
                    matched.iter().map(|pair| pair[side]).collect();
                unmatched.retain(|index| !matched_on_side.contains(index));
            }
            pairs.extend(matched);
        }
    }
    pairs.sort_unstable();
    let names = |side: usize| -> HashSet<Rc<str>> { groups[side].iter().map(shown).collect() };
    let names = [names(0), names(1)];
    let why = |side: usize, index: usize| {
        if names[1 - side].contains(&shown(&groups[side][index])) {
            Why::Changed
        } else {
            Why::Missing
        }
    };
    let alone = [0, 1].map(|side: usize| {
        let ran = unmatched[side]
            .iter()
            .filter(|&&index| groups[side][index].ran());
        ran.map(|&index| (index, why(side, index))).collect()
    });
    (pairs, alone)
}

/// Merges two lists: returns all numbers in ascending order, each with its counts in both lists.
pub(crate) fn merge([a, b]: Both<&Counts>) -> Vec<(Number, Both<Count>)> {
    let mut merged = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = [a.peek(), b.peek()].into_iter().flatten();
        let Some(number) = next.map(|entry| entry.0).min() else {
            return merged;
        };
        let count = |entry: Option<&(Number, Count)>| entry.map_or(Count::ZERO, |entry| entry.1);
        let counts = [
            count(a.next_if(|entry| entry.0 == number)),
            count(b.next_if(|entry| entry.0 == number)),
        ];
        merged.push((number, counts));
    }
}
