//! The functions of a program that a plan may be for.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use holloway_format::{BlockContent, FunctionCode, FunctionMap, Outcome, Text};

use super::code::function_code;

/// The functions of a program, from the path map of its build for training.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// By linkage name, and hash of the graph.
    pub(super) functions: BTreeMap<(Text, u64), ProgramFunction>,
    /// The lines and columns of all code.
    pub(super) places: BTreeSet<(u32, u32)>,
}

/// A function of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramFunction {
    /// For each edge, whether it is an outcome of a condition.
    pub(super) is_condition: Vec<bool>,
    pub(super) code: Option<FunctionCode>,
    /// The code of further copies in other modules, if it differs. The copies share their counts.
    pub(super) other_codes: Vec<FunctionCode>,
    /// The number of indirect calls. `None` if it is unknown.
    pub(super) indirect_calls: Option<usize>,
    /// The number of memory operations whose size the compiler does not know. `None` if it is
    /// unknown.
    pub(super) sized_operations: Option<usize>,
}

impl ProgramFunction {
    fn add_copy(&mut self, code: Option<FunctionCode>) {
        if let Some(code) = code
            && !self.codes().any(|known| *known == code)
        {
            self.other_codes.push(code);
        }
    }

    /// The code of all copies.
    pub(super) fn codes(&self) -> impl Iterator<Item = &FunctionCode> {
        self.code.iter().chain(&self.other_codes)
    }
}

impl<'a> FromIterator<&'a FunctionMap> for Program {
    fn from_iter<I: IntoIterator<Item = &'a FunctionMap>>(maps: I) -> Self {
        let mut program = Self::default();
        for map in maps.into_iter().filter(|map| !map.is_damaged()) {
            let edges = map.edges.iter().filter(|edge| edge.is_always_there());
            let is_condition =
                edges.map(|edge| matches!(edge.outcome, Outcome::True | Outcome::False));
            let function = ProgramFunction {
                is_condition: is_condition.collect(),
                code: function_code(map),
                other_codes: Vec::new(),
                indirect_calls: sum(map, |content| content.indirect_calls),
                sized_operations: sum(map, |content| content.sized_operations),
            };
            let key = (map.linkage_name.clone(), map.graph_hash());
            match program.functions.entry(key) {
                Entry::Vacant(entry) => drop(entry.insert(function)),
                Entry::Occupied(mut known) => known.get_mut().add_copy(function.code),
            }
            let places = map.blocks.iter().flat_map(|block| &block.places);
            let places = places.map(|place| (place.line, place.column));
            program.places.extend(places);
        }
        program
    }
}

/// The sum of a number over all blocks. `None` if the map has no contents of blocks.
fn sum(map: &FunctionMap, number: impl Fn(&BlockContent) -> u32) -> Option<usize> {
    let numbers = map.contents.iter().map(|content| number(content) as usize);
    (!map.contents.is_empty()).then(|| numbers.sum())
}
