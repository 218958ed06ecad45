//! An allocation in at least half of a loop's iterations, or of a function's calls.
//!
//! The weaver finds the calls of allocators ([`FactKind::Allocates`]). Calls in wrappers of
//! allocators are left out ([`is_glue`]), because the path profile does not know their callers.
//!
//! Bound: [`ALLOCATION`] for each call.

use holloway_format::{Count, FactKind};

use super::cost::{ALLOCATION, Model};
use super::evidence::{Evidence, Found};
use super::natural_loop::NaturalLoops;
use crate::glue::is_glue;
use crate::run::Function;

/// The evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// Calls of the allocator.
    pub count: Count,
    /// What repeats the allocation.
    pub repeated_by: RepeatedBy,
}

/// What repeats an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepeatedBy {
    /// A loop with this many turns.
    Loop {
        /// Turns of the loop.
        turns: Count,
    },
    /// The function's callers.
    Calls {
        /// Calls of the function.
        calls: Count,
    },
}

/// Finds the repeated allocations.
pub fn find<'a>(evidence: &Evidence<'a>, model: &Model) -> Vec<Found<'a, Allocation>> {
    let mut pieces = Vec::new();
    for function in evidence
        .run
        .functions
        .iter()
        .filter(|function| function.ran())
    {
        let facts = function.map.facts.iter();
        let calls = facts.filter(|fact| fact.kind == FactKind::Allocates);
        let mut loops = None;
        for fact in calls {
            if is_glue(&function.map) {
                continue;
            }
            let loops = loops.get_or_insert_with(|| NaturalLoops::new(function));
            let count = function.flow().blocks[fact.block as usize];
            let Some(repeated_by) = loops
                .as_ref()
                .and_then(|loops| repeated_by(function, loops, fact.block, count))
            else {
                continue;
            };
            let finding = Allocation { count, repeated_by };
            pieces.push(Found {
                function,
                place: Some(fact.place),
                finding,
                saving: model.saving(count.saturating_mul(ALLOCATION)),
            });
        }
    }
    pieces
}

/// What repeats the allocation in a block, if at least half of the repetitions allocate.
fn repeated_by(
    function: &Function,
    loops: &NaturalLoops<'_>,
    block: u32,
    count: Count,
) -> Option<RepeatedBy> {
    let (repetitions, repeated_by) = match loops.around(block) {
        Some(index) => {
            let turns = loops.counts(index).turns;
            (turns, RepeatedBy::Loop { turns })
        }
        None => {
            let calls = function.flow().calls;
            (calls, RepeatedBy::Calls { calls })
        }
    };
    (count.saturating_mul(2) >= repetitions).then_some(repeated_by)
}
