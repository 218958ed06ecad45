//! Advice for people: changes of the source that may pay, but that a machine must not make, because
//! it does not know what the program is for.
//!
//! Each kind of advice has a file, which finds the places in a run. Each piece has a [`Finding`]
//! (the evidence) and a [`Saving`]: an upper bound under the [cost model](cost). Pieces are ranked
//! by this bound. docs/advise.md has the formulas.
//!
//! Advice is about one run. "Always" means: in every execution that this run counted. So a person
//! has to judge whether it holds in general.

pub mod allocation;
pub mod busy_wait;
pub mod bytes;
pub mod cost;
pub mod decided;
mod evidence;
mod natural_loop;
pub mod period;
pub mod same_outcome;
pub mod unpredictable;
pub mod waiting_loads;

use crate::branches;

use allocation::Allocation;
use busy_wait::BusyWait;
use bytes::Bytes;
use cost::Model;
use decided::Decided;
use period::Period;
use same_outcome::SameOutcome;
use unpredictable::Unpredictable;
use waiting_loads::WaitingLoads;

pub use cost::{LEAST_SHARE, Saving};
pub use evidence::{Evidence, Found};

/// The kinds of advice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// [`BusyWait`]
    BusyWait,
    /// [`SameOutcome`]
    SameOutcome,
    /// [`Decided`]
    Decided,
    /// [`Period`]
    Period,
    /// [`Allocation`]
    Allocation,
    /// [`Bytes`]
    Bytes,
    /// [`Unpredictable`]
    Unpredictable,
    /// [`WaitingLoads`]
    WaitingLoads,
}

/// Data that a kind of advice needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Counts of edges or of paths.
    Counts,
    /// Counts of paths.
    Paths,
    /// Sequences of paths over iterations: `--collect loops` or `trace`.
    Sequences,
    /// Forests of sequences: `--collect loops`.
    Loops,
    /// Times of paths: `--collect variation` or `times`.
    Times,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 8] = [
        Kind::BusyWait,
        Kind::SameOutcome,
        Kind::Decided,
        Kind::Period,
        Kind::Allocation,
        Kind::Bytes,
        Kind::Unpredictable,
        Kind::WaitingLoads,
    ];

    /// The data that the kind needs.
    pub fn need(self) -> Need {
        match self {
            Kind::BusyWait | Kind::Allocation | Kind::Bytes | Kind::Unpredictable => Need::Counts,
            Kind::Decided => Need::Paths,
            Kind::SameOutcome => Need::Sequences,
            Kind::Period => Need::Loops,
            Kind::WaitingLoads => Need::Times,
        }
    }
}

/// What was found: the evidence for a piece of advice.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    /// A loop that only waits for another thread.
    BusyWait(BusyWait),
    /// A decision with the same outcome in every iteration of a loop's execution.
    SameOutcome(SameOutcome),
    /// A decision that an earlier decision on the path makes already.
    Decided(Decided),
    /// A sequence of paths that repeats.
    Period(Period),
    /// An allocation in each iteration, or in each call.
    Allocation(Allocation),
    /// A loop over bytes.
    Bytes(Bytes),
    /// A branch that is mispredicted often.
    Unpredictable(Unpredictable),
    /// Loads that wait for memory.
    WaitingLoads(WaitingLoads),
}

impl Finding {
    /// The kind of the finding.
    pub fn kind(&self) -> Kind {
        match self {
            Finding::BusyWait(_) => Kind::BusyWait,
            Finding::SameOutcome(_) => Kind::SameOutcome,
            Finding::Decided(_) => Kind::Decided,
            Finding::Period(_) => Kind::Period,
            Finding::Allocation(_) => Kind::Allocation,
            Finding::Bytes(_) => Kind::Bytes,
            Finding::Unpredictable(_) => Kind::Unpredictable,
            Finding::WaitingLoads(_) => Kind::WaitingLoads,
        }
    }
}

/// A piece of advice.
pub type Advice<'a> = Found<'a, Finding>;

/// The advice for a run.
#[derive(Clone, Debug)]
pub struct Advised<'a> {
    /// Largest bound first.
    pub pieces: Vec<Advice<'a>>,
    /// The kinds for which the run lacks the data.
    pub missing: Vec<Kind>,
}

/// Finds the advice for a run whose bound is at least [`LEAST_SHARE`] of the run, except for code
/// that belongs to a library and was not inlined into the user's code.
pub fn advise<'a>(evidence: &Evidence<'a>) -> Advised<'a> {
    let ranking = branches::hardest(evidence.run, evidence.previous_paths, None, &|_| true);
    let model = Model::new(evidence.run, ranking.mispredictions);
    let (mut pieces, mut missing) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        if !has(evidence, kind.need()) {
            missing.push(kind);
            continue;
        }
        match kind {
            Kind::BusyWait => add(
                &mut pieces,
                busy_wait::find(evidence, &model),
                Finding::BusyWait,
            ),
            Kind::SameOutcome => add(
                &mut pieces,
                same_outcome::find(evidence, &model),
                Finding::SameOutcome,
            ),
            Kind::Decided => add(
                &mut pieces,
                decided::find(evidence, &model),
                Finding::Decided,
            ),
            Kind::Period => add(&mut pieces, period::find(evidence, &model), Finding::Period),
            Kind::Allocation => add(
                &mut pieces,
                allocation::find(evidence, &model),
                Finding::Allocation,
            ),
            Kind::Bytes => add(&mut pieces, bytes::find(evidence, &model), Finding::Bytes),
            Kind::Unpredictable => add(
                &mut pieces,
                unpredictable::find(evidence, &ranking, &model),
                Finding::Unpredictable,
            ),
            Kind::WaitingLoads => add(
                &mut pieces,
                waiting_loads::find(evidence),
                Finding::WaitingLoads,
            ),
        }
    }
    pieces.retain(|piece: &Advice<'_>| {
        piece.saving.share >= LEAST_SHARE && evidence.is_users_code(piece.function, piece.place)
    });
    // A stable sort: pieces with equal bounds stay in the order of kinds and functions.
    pieces.sort_by(|a, b| b.saving.share.total_cmp(&a.saving.share));
    Advised { pieces, missing }
}

/// Adds what a kind of advice found.
fn add<'a, F>(pieces: &mut Vec<Advice<'a>>, found: Vec<Found<'a, F>>, finding: fn(F) -> Finding) {
    pieces.extend(found.into_iter().map(|found| Found {
        function: found.function,
        place: found.place,
        finding: finding(found.finding),
        saving: found.saving,
    }));
}

/// Whether a run has some data.
fn has(evidence: &Evidence<'_>, need: Need) -> bool {
    match need {
        Need::Counts => true,
        Need::Paths => evidence
            .run
            .functions
            .iter()
            .any(|function| function.graph().is_some()),
        Need::Sequences => evidence.previous_paths.is_some(),
        Need::Loops => evidence.loops.is_some(),
        Need::Times => evidence.variation.is_some(),
    }
}
