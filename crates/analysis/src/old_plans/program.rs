//! The functions of a program that a plan may be for.

use std::collections::BTreeMap;

use holloway_format::{FunctionCode, FunctionMap, Outcome, Text};

use super::code::function_code;

/// The functions of a program, from the path map of its build for training.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// By linkage name, and hash of the graph.
    pub(super) functions: BTreeMap<(Text, u64), ProgramFunction>,
}

/// A function of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramFunction {
    /// For each edge, whether it is an outcome of a condition.
    pub(super) is_condition: Vec<bool>,
    pub(super) code: Option<FunctionCode>,
}

impl<'a> FromIterator<&'a FunctionMap> for Program {
    fn from_iter<I: IntoIterator<Item = &'a FunctionMap>>(maps: I) -> Self {
        let mut functions = BTreeMap::new();
        for map in maps.into_iter().filter(|map| !map.is_damaged()) {
            let edges = map.edges.iter().filter(|edge| edge.is_always_there());
            let is_condition =
                edges.map(|edge| matches!(edge.outcome, Outcome::True | Outcome::False));
            let function = ProgramFunction {
                is_condition: is_condition.collect(),
                code: function_code(map),
            };
            let key = (map.linkage_name.clone(), map.graph_hash());
            functions.entry(key).or_insert(function);
        }
        Self { functions }
    }
}
