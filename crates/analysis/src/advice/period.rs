//! A sequence of two or more paths that repeats in a loop: unrolled by this period, the loop needs
//! none of the tests that choose between the paths.
//!
//! The sequences come from forests of loops. A sequence is reported if at least `LEAST_SHARE` of
//! the loop's turns begin two repetitions of it.
//!
//! Bound: [`TEST`](super::cost::TEST) instructions for each decision in these turns.

use holloway_flow::PathId;
use holloway_format::Count;

use super::cost::{Model, test_cost};
use super::decided::decisions;
use super::evidence::{Evidence, Found};
use crate::loops::shape::{self, LoopCount, Thousandths};
use crate::run::Function;

/// The smallest share of a loop's turns in repetitions, in thousandths.
const LEAST_SHARE: Thousandths = 500;

/// The evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Period {
    /// The paths that repeat.
    pub paths: Vec<PathId>,
    /// The turns that begin two repetitions.
    pub turns: Count,
    /// All turns of the loop that start at its head.
    pub all_turns: Count,
}

/// Finds the periods.
pub fn find<'a>(evidence: &Evidence<'a>, model: &Model) -> Vec<Found<'a, Period>> {
    let Some(loops) = evidence.loops else {
        return Vec::new();
    };
    let mut pieces = Vec::new();
    for sequences in &loops.functions {
        let function = loops.run.function(sequences.id);
        let counts = shape::count(function);
        let references: Vec<&LoopCount> = counts.iter().collect();
        let kipf = sequences.for_loops(&references, 100);
        for loop_count in &counts {
            let findings = loop_count.findings(function, &kipf).into_iter();
            pieces.extend(findings.filter_map(|finding| {
                let (finding, amount) = period(function, loop_count, finding)?;
                Some(Found {
                    function,
                    place: loop_count.place,
                    finding,
                    saving: model.saving(amount),
                })
            }));
        }
    }
    pieces
}

/// The evidence, and the instructions of the decisions in the repetitions.
fn period(
    function: &Function,
    loop_count: &LoopCount,
    finding: shape::Finding,
) -> Option<(Period, Count)> {
    let (paths, share) = match finding {
        shape::Finding::Period { paths, share } => (paths, share),
        shape::Finding::OnePath { .. }
        | shape::Finding::FirstTurns { .. }
        | shape::Finding::Trips { .. }
        | shape::Finding::Steady { .. } => return None,
    };
    if paths.len() < 2 || share < LEAST_SHARE {
        return None;
    }
    let all_turns = loop_count.starts();
    let turns = Count((u128::from(all_turns) * u128::from(share) / 1000) as u64);
    let tests = paths.iter().map(|&path| test_instructions(function, path));
    let tests: u64 = tests.sum();
    let amount = Count((u128::from(turns) * u128::from(tests) / paths.len() as u128) as u64);
    let period = Period {
        paths,
        turns,
        all_turns,
    };
    Some((period, amount))
}

/// The instructions of the tests on a path.
fn test_instructions(function: &Function, path: PathId) -> u64 {
    let Some(path) = shape::path_of(function, path) else {
        return 0;
    };
    let decisions = decisions(&function.map, &path).into_iter();
    decisions.map(|(block, _)| test_cost(function, block)).sum()
}
