//! A hot loop that reads or writes memory byte by byte, where eight bytes at a time would do.
//!
//! The weaver finds loops over bytes ([`FactKind::Bytes`]). A loop is reported if
//! - it has at least `LEAST_TURNS` turns on average;
//! - a turn has at most `MOST_INSTRUCTIONS` instructions. A longer turn does more than to copy, to
//!   compare, to search, or to add up.
//!
//! Bound: seven eighths of the loop's instructions.

use holloway_format::{Count, FactKind};

use super::cost::Model;
use super::evidence::{Evidence, Found};
use super::natural_loop::NaturalLoops;

/// The fewest turns of a loop in which eight bytes at a time may pay.
const LEAST_TURNS: u64 = 16;

/// The most instructions of a turn that can be done for eight bytes at a time.
const MOST_INSTRUCTIONS: u64 = 16;

/// The evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// Turns of the loop.
    pub turns: Count,
    /// How often the loop was entered.
    pub executions: Count,
}

/// Finds the loops over bytes.
pub fn find<'a>(evidence: &Evidence<'a>, model: &Model) -> Vec<Found<'a, Bytes>> {
    let mut pieces = Vec::new();
    for function in evidence
        .run
        .functions
        .iter()
        .filter(|function| function.ran())
    {
        let facts = function.map.facts.iter();
        for fact in facts.filter(|fact| fact.kind == FactKind::Bytes) {
            let Some(loops) = NaturalLoops::new(function) else {
                continue;
            };
            let Some(index) = loops.around(fact.block) else {
                continue;
            };
            let counts = loops.counts(index);
            let instructions = loops.instructions(index);
            let is_long = counts.turns >= counts.executions.saturating_mul(LEAST_TURNS);
            let is_simple = instructions <= counts.turns.saturating_mul(MOST_INSTRUCTIONS);
            if is_long && is_simple {
                let finding = Bytes {
                    turns: counts.turns,
                    executions: counts.executions,
                };
                pieces.push(Found {
                    function,
                    place: Some(fact.place),
                    finding,
                    saving: model.saving(Count(instructions.0 - instructions.0 / 8)),
                });
            }
        }
    }
    pieces
}
