//! Inserts the probes of planned functions. Each kind of collection has its style of probes.
//!
//! | kind | style |
//! |---|---|
//! | paths, edges | `counters`: arrays and hash tables |
//! | loops | `stream`, with counters next to the ring (`ring_counters`) |
//! | trace | `stream`; [`super::block_probes`] marks the blocks |
//! | variation | `bursts` |
//! | times | `times` |
//! | none | no probes; [`super::block_probes`] marks the blocks |

use holloway_abi::{Kind, RING_SIZE, RING_WORDS};
use holloway_format::Counters;

use super::bursts::{self, leaves::ShortLeaves};
use super::frequencies::TransitionFrequencies;
use super::globals::Globals;
use super::plan::{Plan, PlannedCounts};
use super::ring_counters::{RingCountedPaths, RingCounters, WholeActivations};
use super::selector::InstructionSelector;
use super::sites::{Destination, Sites, sites};
use super::word::FirstWord;
use super::{counters, stream, times};
use crate::error::Defect;

/// The counters of a function.
pub(crate) struct CountPlacement {
    /// The function's counters, or the numbers of its words in a stream.
    pub(crate) counters: Counters,
    /// Counters next to the ring, if the function has any.
    pub(crate) ring_counters: Option<RingCounters>,
}

/// Inserts the probes of the functions of one module.
pub(crate) struct ProbeInserter<'a> {
    pub(crate) collect: Kind,
    /// The symbol of the module's counter base.
    pub(crate) base_symbol: &'a str,
    /// The functions that are too short to be timed.
    pub(crate) leaves: &'a ShortLeaves,
}

impl ProbeInserter<'_> {
    /// Inserts the probes of a plan into its function.
    ///
    /// # Errors
    /// Returns the violated invariant if the plan is wrong, which is a bug.
    pub(crate) fn insert<'m>(
        &self,
        plan: &Plan<'m>,
        placement: &CountPlacement,
        globals: &Globals<'m>,
        selector: InstructionSelector,
    ) -> Result<(), Defect> {
        let parts = &plan.lowered.parts;
        let counters = placement.counters;
        let first = FirstWord::at(counters.offset());
        match self.collect {
            Kind::Paths | Kind::Edges => {
                let sites = usual_sites(plan)?;
                let frequencies = TransitionFrequencies::new(&plan.lowered, &plan.weights);
                counters::insert(parts, &sites, &frequencies, counters, globals, selector);
            }
            Kind::Loops => match placement.ring_counters {
                Some(ring_counters) => {
                    self.insert_next_to_ring(plan, ring_counters, first, globals, selector)?;
                }
                None => stream::insert(parts, &usual_sites(plan)?, first, globals, selector, None),
            },
            Kind::Trace => {
                stream::insert(parts, &usual_sites(plan)?, first, globals, selector, None);
            }
            Kind::Variation => {
                let sites = usual_sites(plan)?;
                let frequencies = TransitionFrequencies::new(&plan.lowered, &plan.weights);
                bursts::insert::insert(parts, &sites, &frequencies, first, globals, self.leaves);
            }
            Kind::Times => times::insert(parts, &usual_sites(plan)?, first, globals),
            Kind::Nothing => {}
        }
        Ok(())
    }

    /// Inserts the probes of a function some or all of whose paths are counted next to the ring.
    fn insert_next_to_ring<'m>(
        &self,
        plan: &Plan<'m>,
        ring_counters: RingCounters,
        first: FirstWord,
        globals: &Globals<'m>,
        selector: InstructionSelector,
    ) -> Result<(), Defect> {
        let PlannedCounts::Paths(numbering) = &plan.counts else {
            return Err(Defect::EdgesInsteadOfPaths);
        };
        let parts = &plan.lowered.parts;
        let ring_globals = globals.of_ring_counters(parts.function.module(), self.base_symbol);
        let offset = RING_WORDS + RING_SIZE + ring_counters.offset;
        let all_from_entry = numbering.paths_from_entry() == numbering.path_count();
        if ring_counters.whole_activations == WholeActivations::Counted && all_from_entry {
            let counters = Counters::Array {
                offset,
                len: numbering.path_count(),
            };
            let sites = usual_sites(plan)?;
            let frequencies = TransitionFrequencies::new(&plan.lowered, &plan.weights);
            let ring = counters::insert(
                parts,
                &sites,
                &frequencies,
                counters,
                &ring_globals,
                selector,
            );
            // No word of the function enters the stream, so no word can identify it.
            stream::mark_anonymous_catchers(parts, ring);
            return Ok(());
        }
        let paths =
            RingCountedPaths::new(&plan.lowered, numbering, ring_counters.whole_activations);
        let sites = sites(&plan.lowered, &plan.probes, |edge| paths.destination(edge))?;
        let counting = stream::RingCounting {
            paths,
            globals: &ring_globals,
            offset,
        };
        stream::insert(parts, &sites, first, globals, selector, Some(&counting));
        Ok(())
    }
}

/// The probes of a plan by LLVM block. All counts go to the kind's usual destination.
fn usual_sites(plan: &Plan<'_>) -> Result<Sites, Defect> {
    sites(&plan.lowered, &plan.probes, |_| Destination::Usual)
}
