//! The CPU time of a run in JSON (section `cpu_time` of docs/json.md).

use holloway_analysis::RunProfile;
use holloway_analysis::cpu_time::{CpuTime, SampleSums, Shares};
use holloway_format::Count;
use serde::Serialize;

use crate::cpu_time::{groups, margin};

/// The CPU time of a run.
#[derive(Serialize)]
pub(super) struct CpuTimeRecord {
    user_seconds: f64,
    system_seconds: f64,
    /// `sampled`, `refused`, or `failed`.
    sampling: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errno: Option<u32>,
    #[serde(flatten)]
    samples: Option<SamplesRecord>,
}

#[derive(Serialize)]
struct SamplesRecord {
    period_seconds: f64,
    samples: Count,
    woven_samples: Count,
    woven_share: Option<f64>,
    margin: Option<f64>,
    lost: u64,
    unsampled_seconds: f64,
    unwoven: Vec<UnwovenRecord>,
    other_programs: Vec<ProgramRecord>,
    unused_libraries: Vec<LibraryRecord>,
}

#[derive(Serialize)]
struct UnwovenRecord {
    name: String,
    sort: &'static str,
    path: String,
    samples: Count,
    share: f64,
}

#[derive(Serialize)]
struct ProgramRecord {
    path: String,
    samples: Count,
}

#[derive(Serialize)]
struct LibraryRecord {
    loaded: String,
    woven: String,
}

impl CpuTimeRecord {
    /// The record of a run, if its CPU time was recorded.
    pub(super) fn new(run: &RunProfile) -> Option<Self> {
        run.cpu_time.as_ref().map(Self::of)
    }

    /// The record of a CPU time.
    pub(super) fn of(time: &CpuTime) -> Self {
        let (sampling, errno, samples) = match &time.shares {
            Shares::Refused { errno } => ("refused", Some(*errno), None),
            Shares::Failed => ("failed", None, None),
            Shares::Sampled(sums) => ("sampled", None, Some(SamplesRecord::new(sums))),
        };
        Self {
            user_seconds: time.user_ns as f64 / 1e9,
            system_seconds: time.system_ns as f64 / 1e9,
            sampling,
            errno,
            samples,
        }
    }
}

impl SamplesRecord {
    fn new(sums: &SampleSums) -> Self {
        let share = |samples: Count| samples.to_f64() / sums.total.to_f64();
        let unwoven = groups(sums)
            .into_iter()
            .map(|(group, samples)| UnwovenRecord {
                sort: group.sort.word(),
                name: group.name,
                path: group.path,
                samples,
                share: share(samples),
            });
        let programs = sums.other_programs.iter();
        let libraries = sums.unused_libraries.iter();
        let has_samples = sums.total > Count::ZERO;
        Self {
            period_seconds: sums.period_ns as f64 / 1e9,
            samples: sums.total,
            woven_samples: sums.woven,
            woven_share: has_samples.then(|| share(sums.woven)),
            margin: has_samples.then(|| margin(sums.woven, sums.total)),
            lost: sums.lost,
            unsampled_seconds: sums.unsampled_ns as f64 / 1e9,
            unwoven: unwoven.collect(),
            other_programs: programs
                .map(|(path, samples)| ProgramRecord {
                    path: path.clone(),
                    samples: *samples,
                })
                .collect(),
            unused_libraries: libraries
                .map(|library| LibraryRecord {
                    loaded: library.loaded.clone(),
                    woven: library.woven.clone(),
                })
                .collect(),
        }
    }
}
