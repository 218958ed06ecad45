//! Numbers all branches of an image, and finds the branches on any of its paths. For readers that
//! see paths one by one, before they know which branches run.
//!
//! Cost: linear in the blocks and edges of the image.

use std::collections::HashMap;
use std::sync::Arc;

use holloway_flow::Path;
use holloway_format::{FunctionIndex, FunctionMap, ImageMap};

use super::sites::{BranchEvent, BranchId, BranchSet, BranchSite, FunctionBranches, sites};
use crate::block_addresses::AddressLookup;
use crate::graph::check_indices;

/// The branches of an image.
pub struct ImageBranches {
    map: Arc<ImageMap>,
    set: BranchSet,
    /// By module: the number of its first function.
    first_functions: Vec<u32>,
    sites: Vec<BranchSite>,
    /// By function and block.
    ids: HashMap<(u32, u32), BranchId>,
    /// By function: its branches, from the first path on.
    functions: HashMap<u32, FunctionBranches>,
}

impl ImageBranches {
    /// Numbers the branches of an image in the order of their addresses.
    pub fn new(map: &Arc<ImageMap>, addresses: &AddressLookup, set: BranchSet) -> ImageBranches {
        let modules = map.modules.iter().map(|placed| &placed.module.functions);
        let first_functions = modules.clone().scan(0, |next, functions| {
            let first = *next;
            *next += functions.len() as u32;
            Some(first)
        });
        let first_functions = first_functions.collect();
        let functions = || (0u32..).zip(modules.clone().flatten());
        let branches = functions().flat_map(|(number, function)| {
            // No path of a damaged function is known.
            let is_intact = check_indices(function).is_ok();
            let branches = is_intact.then(|| FunctionBranches::new(function, set).all(function));
            let branches = branches.into_iter().flatten();
            branches.map(move |(block, kind)| ((number, block), kind))
        });
        let sites = sites(functions(), addresses.as_ref().ok(), branches.collect());
        let ids = (0..).map(BranchId).zip(&sites);
        let ids = ids.map(|(id, site)| ((site.function, site.block), id));
        ImageBranches {
            ids: ids.collect(),
            map: Arc::clone(map),
            set,
            first_functions,
            sites,
            functions: HashMap::new(),
        }
    }

    /// The branches, in the order of their ids, which is the order of their addresses.
    pub fn sites(&self) -> &[BranchSite] {
        &self.sites
    }

    /// The number of a function of the image, as [`Code`](crate::trace::code::Code) numbers it.
    pub fn number(&self, index: FunctionIndex) -> u32 {
        self.first_functions[index.module as usize] + index.function
    }

    /// The branches on a path of a function, in order. Each comes with the blocks whose
    /// instructions belong to its execution.
    pub fn on_path(&mut self, function: u32, path: &Path) -> Vec<(BranchEvent, Vec<u32>)> {
        let Some(map) = function_map(&self.map, &self.first_functions, function) else {
            return Vec::new();
        };
        let branches = self
            .functions
            .entry(function)
            .or_insert_with(|| FunctionBranches::new(map, self.set));
        let steps = branches.on_path(map, path).into_iter();
        let events = steps.filter_map(|step| {
            let branch = *self.ids.get(&(function, step.block))?;
            let event = BranchEvent {
                branch,
                ..step.event
            };
            Some((event, step.blocks))
        });
        events.collect()
    }
}

/// The map of the function with this number.
fn function_map<'a>(
    map: &'a ImageMap,
    first_functions: &[u32],
    number: u32,
) -> Option<&'a FunctionMap> {
    let module = first_functions.partition_point(|&first| first <= number);
    let module = module.checked_sub(1)?;
    let functions = &map.modules[module].module.functions;
    functions.get((number - first_functions[module]) as usize)
}
