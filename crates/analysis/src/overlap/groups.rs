//! Which functions of two runs are the same, and what was counted in each.
//!
//! Cost: hashes of all graphs, tables of names; where paths are numbered otherwise, each is regenerated.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use holloway_abi::Unit;
use holloway_format::{EdgeKind, FunctionMap};

use super::number::{Number, Numbered, lasting};
use super::same::{Parts, numbering};
use super::sides::{Both, Why};
use crate::edges::jumps;
use crate::flow::add;
use crate::join::add_up;
use crate::run::{Function, FunctionId, RunProfile};

/// Counts, ascending by number, no zeros.
pub(super) type Counts = Vec<(Number, u64)>;

/// What was counted in copies of a function.
#[derive(Default)]
pub(super) struct Counted {
    /// How often each path or edge was taken.
    pub(super) taken: Counts,
    /// Instructions run on each path, or in each block.
    pub(super) work: Counts,
}

/// Copies of a function in a run.
pub(super) struct Group<'a> {
    unit: Unit,
    hash: u64,
    functions: Vec<(FunctionId, &'a Function)>,
    /// The hash of each function's graph with its numbering, made on first use.
    structures: OnceCell<Vec<u64>>,
}

impl<'a> Group<'a> {
    /// The copy that stands for all: one of which paths are known, if any.
    pub(super) fn chosen(&self) -> (FunctionId, &'a Function) {
        let mut copies = self.functions.iter();
        let known = copies.find(|(_, function)| function.graph().is_some());
        known.copied().unwrap_or(self.functions[0])
    }

    /// The copy whose paths are numbered so.
    pub(super) fn numbered(&self, structure: u64) -> Option<(FunctionId, &'a Function)> {
        let structures = self.structures.get_or_init(|| {
            let maps = self.functions.iter().map(|(_, function)| &function.map);
            maps.map(FunctionMap::structure_hash).collect()
        });
        let copy = structures.iter().position(|known| *known == structure)?;
        Some(self.functions[copy])
    }

    /// Whether it has exit edges.
    pub(super) fn has_exits(&self) -> bool {
        self.functions.iter().any(|(_, one)| one.has_exits())
    }

    /// Times its functions were left in a call or entered again, net by block.
    pub(super) fn left(&self) -> u64 {
        let mut sum = 0;
        for (_, function) in self.functions.iter().filter(|(_, one)| one.ran()) {
            let edges = function.map.edges.iter().zip(&function.flow().edges);
            for (_, &count) in edges.filter(|(edge, _)| edge.kind == EdgeKind::Exit) {
                add(&mut sum, count.unsigned_abs());
            }
        }
        sum
    }

    fn map(&self) -> &'a FunctionMap {
        &self.functions[0].1.map
    }

    fn ran(&self) -> bool {
        self.functions.iter().any(|(_, function)| function.ran())
    }

    /// What was counted, with paths in the numbering of `common`.
    pub(super) fn counted(&self, common: &Function) -> Counted {
        let mut counted = Counted::default();
        for (_, function) in &self.functions {
            match self.unit {
                Unit::Paths => add_paths(function, common, &mut counted),
                Unit::Edges => add_edges(function, &mut counted),
            }
        }
        for counts in [&mut counted.taken, &mut counted.work] {
            counts.retain(|&(_, count)| count > 0);
            add_up(counts);
        }
        counted
    }
}

fn add_paths(function: &Function, common: &Function, counted: &mut Counted) {
    let Some(graph) = function.graph() else {
        return;
    };
    let number = numbering(function, common);
    graph.measure(&function.map, &function.counts, |path| {
        let id = number(path.path);
        counted.taken.push((id, path.count));
        let work = path.instructions.saturating_mul(path.count);
        counted.work.push((id, work));
    });
}

fn add_edges(function: &Function, counted: &mut Counted) {
    if !function.ran() {
        return;
    }
    let (map, flow) = (&function.map, function.flow());
    let jumps = jumps(map);
    for (number, (edge, index)) in (0u64..).zip(lasting(map)) {
        if jumps[edge.from as usize].is_none() {
            let count = u64::try_from(flow.edges[index]).unwrap_or(0);
            counted.taken.push(((Numbered::Common, number), count));
        }
    }
    let parts = Parts::new(map);
    let blocks = (0u32..).zip(map.blocks.iter().zip(&flow.blocks));
    counted.work.extend(blocks.map(|(id, (block, &count))| {
        let whole = (Numbered::Common, u64::from(parts.part(id).0));
        (whole, count.saturating_mul(block.instructions.into()))
    }));
}

/// Functions by name and graph, in the order of the run.
pub(super) fn groups<'a>(
    run: &'a RunProfile,
    unit: Unit,
    keep: &dyn Fn(&Function) -> bool,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<(&str, &str, u32, u64), usize> = HashMap::new();
    for (id, function) in run.ids().filter(|(_, function)| keep(function)) {
        let map = &function.map;
        let hash = map.graph_hash();
        let key = (&*map.linkage_name, &*map.file, map.line, hash);
        let place = *known.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group {
                unit,
                hash,
                functions: Vec::new(),
                structures: OnceCell::new(),
            });
        }
        groups[place].functions.push((id, function));
    }
    groups
}

/// Groups with a counterpart, and those that ran and have none, by their places.
pub(super) type Matches = (Vec<Both<usize>>, Both<Vec<(usize, Why)>>);

pub(super) fn match_up(
    groups: &Both<Vec<Group<'_>>>,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> Matches {
    let linkage = |group: &Group<'_>| Rc::from(&*group.map().linkage_name);
    let shown = |group: &Group<'_>| name(group.functions[0].1);
    let mut matched = Vec::new();
    let mut free = [0, 1].map(|side| (0..groups[side].len()).collect::<Vec<usize>>());
    for named in [&linkage as &dyn Fn(&Group<'_>) -> Rc<str>, &shown] {
        let mut places: HashMap<(Rc<str>, u64), Vec<usize>> = HashMap::new();
        for &place in free[1].iter().rev() {
            let group = &groups[1][place];
            places
                .entry((named(group), group.hash))
                .or_default()
                .push(place);
        }
        // Of several alike, those in the same file first.
        let mut found = |place: usize, same_file: bool| {
            let group = &groups[0][place];
            let others = places.get_mut(&(named(group), group.hash))?;
            let fits =
                |other: &usize| !same_file || groups[1][*other].map().file == group.map().file;
            let at = others.iter().rposition(fits)?;
            Some([place, others.remove(at)])
        };
        for same_file in [true, false] {
            let pairs: Vec<_> = free[0]
                .iter()
                .filter_map(|&place| found(place, same_file))
                .collect();
            for (side, free) in free.iter_mut().enumerate() {
                let gone: BTreeSet<usize> = pairs.iter().map(|pair| pair[side]).collect();
                free.retain(|place| !gone.contains(place));
            }
            matched.extend(pairs);
        }
    }
    matched.sort_unstable();
    let names = |side: usize| -> HashSet<Rc<str>> { groups[side].iter().map(shown).collect() };
    let names = [names(0), names(1)];
    let why = |side: usize, place: usize| {
        if names[1 - side].contains(&shown(&groups[side][place])) {
            Why::Changed
        } else {
            Why::Missing
        }
    };
    let alone = [0, 1].map(|side: usize| {
        let ran = free[side]
            .iter()
            .filter(|&&place| groups[side][place].ran());
        ran.map(|&place| (place, why(side, place))).collect()
    });
    (matched, alone)
}
