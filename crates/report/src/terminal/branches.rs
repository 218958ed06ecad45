//! The branches of functions, and the destination of each edge: where control goes along it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use holloway_analysis::Function;
use holloway_analysis::deciding::deciding_edges;
use holloway_analysis::directions::{Destination, Directions, ShownPlace};
use holloway_analysis::trail::is_choice;
use holloway_format::FunctionMap;

use crate::places::is_library;

/// The branches of a function. [`outcome`](super::outcome) puts the decisions at these branches
/// into words.
pub(crate) struct Branches<'a> {
    pub(crate) map: &'a FunctionMap,
    /// The names of files below this directory are shown relative to it.
    pub(crate) cwd: Option<&'a Path>,
    directions: Directions<'a>,
}

/// A cache of the branches of all functions that a view shows. The key is the function's map,
/// because functions of two runs may have the same ids.
#[derive(Default)]
pub(crate) struct KnownBranches<'a>(RefCell<HashMap<*const FunctionMap, Rc<Branches<'a>>>>);

impl<'a> KnownBranches<'a> {
    /// The branches of a function.
    pub(crate) fn branches(&self, map: &'a FunctionMap, cwd: Option<&'a Path>) -> Rc<Branches<'a>> {
        let mut known = self.0.borrow_mut();
        let branches = known.entry(std::ptr::from_ref(map));
        Rc::clone(branches.or_insert_with(|| Rc::new(Branches::new(map, cwd))))
    }
}

impl<'a> Branches<'a> {
    pub(crate) fn new(map: &'a FunctionMap, cwd: Option<&'a Path>) -> Self {
        Self {
            map,
            cwd,
            directions: Directions::new(map, is_library),
        }
    }

    /// By path that ran: the edge that it takes at the [decision that decides
    /// it](holloway_analysis::deciding). A check that passes is no decision.
    pub(crate) fn deciding(&self, function: &Function) -> Vec<Option<u32>> {
        deciding_edges(function, &|edge| {
            is_choice(self.map.edges[edge as usize].outcome)
                && self.destination(edge) != Destination::GoesOn
        })
    }

    /// Where control goes along an edge.
    pub(crate) fn destination(&self, edge: u32) -> Destination<'a> {
        self.directions.destination(edge)
    }

    /// The line where control goes along an edge. `None` if it is unknown.
    pub(crate) fn target(&self, edge: u32) -> Option<ShownPlace<'a>> {
        self.directions.target(edge)
    }
}
