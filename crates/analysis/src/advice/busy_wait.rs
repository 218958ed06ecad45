//! A loop that only waits for another thread, and executes instructions meanwhile.
//!
//! The weaver finds such loops ([`FactKind::Waits`]). Every one that takes a share of the run is
//! reported. Bound: all instructions of the loop.

use holloway_format::{Count, FactKind};

use super::cost::Model;
use super::evidence::{Evidence, Found};
use super::natural_loop::NaturalLoops;

/// The evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusyWait {
    /// Turns of the loop.
    pub turns: Count,
    /// How often the loop was entered: how often the program waited.
    pub waits: Count,
}

/// Finds the busy waits of a run.
pub fn find<'a>(evidence: &Evidence<'a>, model: &Model) -> Vec<Found<'a, BusyWait>> {
    let mut pieces = Vec::new();
    for function in evidence
        .run
        .functions
        .iter()
        .filter(|function| function.ran())
    {
        let facts = function.map.facts.iter();
        for fact in facts.filter(|fact| fact.kind == FactKind::Waits) {
            let Some(loops) = NaturalLoops::new(function) else {
                continue;
            };
            let Some(index) = loops.around(fact.block) else {
                continue;
            };
            let counts = loops.counts(index);
            let finding = BusyWait {
                turns: counts.turns,
                waits: counts.executions,
            };
            pieces.push(Found {
                function,
                place: Some(fact.place),
                finding,
                saving: model.saving(loops.instructions(index)),
            });
        }
    }
    pieces
}
