//! Probes of the kind times, which times every path. It is the reference for timing in bursts.
//!
//! The function's entry loads the thread's ring, as for streams ([`super::stream`]). A probe reads
//! the clock where a path begins, and another calls the runtime where the path ends
//! ([`super::clock`]). With its probes, a path of ten instructions takes a hundred times as long,
//! so this kind is for small runs.

use holloway_llvm::Builder;

use super::anchors::Anchors;
use super::boundaries::path_boundaries;
use super::clock::{AfterPath, Clock, StartStorage};
use super::entry::enter;
use super::globals::Globals;
use super::graph::{BlockGraph, positions, reverse_postorder};
use super::register::RegisterFlow;
use super::sites::{Sites, with_nonnegative_increments};
use super::variable::ProbeVariable;
use super::word::FirstWord;
use crate::lower::{BlockIndex, FunctionParts};

/// Inserts the probes of a function whose paths are all timed.
pub(super) fn insert<'m>(
    parts: &FunctionParts<'m>,
    sites: &Sites,
    first: FirstWord,
    globals: &Globals<'m>,
) {
    let positions = positions(parts);
    let graph = BlockGraph::of_parts(parts, &positions);
    let sites = with_nonnegative_increments(sites);
    let boundaries = path_boundaries(parts, &sites);
    let register = RegisterFlow::new(&graph, &sites, &[]);
    let anchors = Anchors::new(parts);
    let mut variable = ProbeVariable::new(parts, &sites, &register, &[]);
    let ring = enter(parts, globals, &anchors);
    let entry = parts.function.blocks().next().expect("a body");
    let storage = StartStorage::frame(entry);
    let clock = Clock::new(parts.function, globals, first);
    let begin = |block, index| {
        let builder = Builder::before(anchors.anchor(parts, block, index));
        storage.store(&builder, clock.begin(&builder, ring));
    };
    begin(BlockIndex::ENTRY, 0);
    for block in reverse_postorder(&graph.successors) {
        let mut boundaries = boundaries[block].iter();
        variable.step(&anchors, block, |builder, number, _| {
            let boundary = boundaries.next().expect("a boundary for each count");
            let end = |next| clock.end(builder, number, next, &storage);
            match boundary.begin {
                Some(index) if index == boundary.end => {
                    // The ring from the entry may be wrong, because another thread may have taken
                    // over this stack. So this uses the ring that the runtime returns.
                    let ring = end(AfterPath::Begins);
                    storage.store(builder, clock.begin_after_call(builder, ring.value()));
                }
                Some(index) => {
                    end(AfterPath::None);
                    begin(block, index);
                }
                None => {
                    end(AfterPath::None);
                }
            }
        });
    }
    variable.complete_phis(&positions);
}
