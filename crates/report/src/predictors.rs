//! What simulated branch predictors find in a thread, as a report shows it.
//! [`terminal::predictors`](crate::terminal::predictors) and
//! [`json::predictors`](crate::json::predictors) write the report.

use holloway_analysis::predictors::{Answer, Model, Scheme};
use holloway_format::Count;

use crate::thread::Thread;

/// What simulated branch predictors find in a thread.
#[derive(Clone, Copy)]
pub struct Predictions<'a> {
    /// The thread.
    pub thread: Thread<'a>,
    /// The answer.
    pub answer: &'a Answer<'a>,
}

/// A way to remove mispredictions.
pub(crate) struct Remedy {
    /// The mispredictions of TAGE that it may remove.
    pub(crate) mispredictions: Count,
    /// The branches where it may remove some.
    pub(crate) branches: u64,
}

/// What a longer history removes. A branch that it predicts worse counts as 0.
pub(crate) fn longer_history(answer: &Answer<'_>) -> Remedy {
    remedy(answer, |hard| {
        let longer = hard.of(Model::LongerHistory);
        hard.of(Model::Tage).saturating_sub(longer)
    })
}

/// What a `select` instead of each candidate removes.
pub(crate) fn selects(answer: &Answer<'_>) -> Remedy {
    remedy(answer, |hard| match hard.select {
        Some(_) => hard.of(Model::Tage),
        None => Count::ZERO,
    })
}

fn remedy(
    answer: &Answer<'_>,
    removed: impl Fn(&holloway_analysis::predictors::HardBranch) -> Count,
) -> Remedy {
    let removed = answer.branches.iter().map(removed);
    let removed: Vec<Count> = removed.filter(|removed| *removed > Count::ZERO).collect();
    Remedy {
        branches: removed.len() as u64,
        mispredictions: removed.into_iter().fold(Count::ZERO, Count::saturating_add),
    }
}

/// The words for a model.
pub(crate) fn model_name(model: Model) -> &'static str {
    match model {
        Model::Bimodal => "bimodal",
        Model::Gshare => "gshare",
        Model::Tage => "TAGE",
        Model::LongerHistory => "longer history",
    }
}

/// The words for a scheme.
pub(crate) fn scheme_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::OneLevel => "one level",
        Scheme::TwoLevelDirtyBit => "two levels, dirty bit",
        Scheme::TwoLevelMarkerBit => "two levels, marker bit",
    }
}
