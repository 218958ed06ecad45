//! The branches of the source with their ways, merged over all copies of the code.
//!
//! A branch of the source is a file, a line, and a column. Generic functions, inlined functions,
//! and several programs of a run have copies of it. Ways of copies are one way if they lead to the
//! same destination, in terms of the source.
//!
//! Ways from which control only reaches calls that never return, or landing pads, are left out,
//! because most of them are checks that the compiler inserted.
//!
//! Cost: linear in edges, after the description of each branch.

use std::collections::BTreeMap;

use holloway_format::{Count, EdgeKind, Scope};

use crate::directions::{Destination, Directions, ShownPlace};
use crate::flow::add;
use crate::run::{Function, FunctionId, RunProfile};
use crate::trail::is_choice;

/// A branch of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourceBranch<'a> {
    /// Source file.
    pub file: &'a str,
    /// Line.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
}

/// A way of a branch, in all copies of the branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way<'a> {
    /// Where control goes.
    pub destination: Destination<'a>,
    /// Executions of the branch that took this way.
    pub count: Count,
    /// A function that contains the branch.
    pub function: FunctionId,
    /// The edge of this function.
    pub edge: u32,
}

/// Returns the branches in the scopes that `keep` accepts, with their ways in the order of the
/// code. A branch has one way only if all other ways are left out. `is_library` says whether a file
/// belongs to a standard library (see [`Directions::new`]).
pub fn branch_ways<'a>(
    run: &'a RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
    is_library: fn(&str) -> bool,
) -> BTreeMap<SourceBranch<'a>, Vec<Way<'a>>> {
    let mut branches: BTreeMap<SourceBranch<'a>, Vec<Way<'a>>> = BTreeMap::new();
    for (id, function) in run.ids() {
        let edges = branch_edges(function, keep);
        if edges.is_empty() {
            continue;
        }
        let directions = Directions::new(&function.map, is_library);
        for (branch, edge) in edges {
            let destination = merged(directions.destination(edge));
            let to = function.map.edges[edge as usize].to;
            if is_check(&destination) || !directions.can_continue(to) {
                continue;
            }
            let taken = u64::try_from(function.flow().edges[edge as usize]).unwrap_or(0);
            let ways = branches.entry(branch).or_default();
            match ways.iter_mut().find(|way| way.destination == destination) {
                Some(way) => add(&mut way.count, Count(taken)),
                None => ways.push(Way {
                    destination,
                    count: Count(taken),
                    function: id,
                    edge,
                }),
            }
        }
    }
    branches
}

/// Executions of a branch with these ways.
pub fn executions(ways: &[Way<'_>]) -> Count {
    let counts = ways.iter().map(|way| way.count);
    counts.fold(Count::ZERO, Count::saturating_add)
}

/// The edges of a function that are ways of branches in the scopes that `keep` accepts.
fn branch_edges<'a>(
    function: &'a Function,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> Vec<(SourceBranch<'a>, u32)> {
    let map = &function.map;
    let edges = (0u32..).zip(&map.edges);
    let edges = edges.filter(|(_, edge)| is_choice(edge.outcome) && edge.kind != EdgeKind::Exit);
    let branch_edges = edges.filter_map(|(number, edge)| {
        let place = edge.place.filter(|place| place.line != 0)?;
        let scope = map.scopes.get(place.scope as usize)?;
        let is_kept = !scope.file.is_empty() && keep(function, scope);
        let branch = SourceBranch {
            file: &scope.file,
            line: place.line,
            column: place.column,
        };
        is_kept.then_some((branch, number))
    });
    branch_edges.collect()
}

/// The destination without the number of a block, which differs between copies.
fn merged(destination: Destination<'_>) -> Destination<'_> {
    let without_block = |to| ShownPlace { block: None, ..to };
    match destination {
        Destination::To(to) => Destination::To(without_block(to)),
        Destination::Back(to) => Destination::Back(without_block(to)),
        Destination::LeavesLoop(to) => Destination::LeavesLoop(to.map(without_block)),
        other => other,
    }
}

/// Whether a way of a branch belongs to a check: it leads to a call that never returns or to a
/// landing pad, or it is the only other way.
fn is_check(destination: &Destination<'_>) -> bool {
    matches!(
        destination,
        Destination::NeverReturns | Destination::Unwinds | Destination::GoesOn
    )
}
