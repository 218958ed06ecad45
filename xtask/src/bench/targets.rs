//! The targets for the cost of counting, each held against what was measured.

use super::results::Results;
use super::summary::Summary;
use super::way::{BURSTS, KS, Way};
use holloway_tests::workload::Flavour;

/// One target.
#[derive(Debug)]
pub(crate) struct Target {
    /// What it is about.
    pub(crate) what: &'static str,
    /// What is wanted.
    pub(crate) reach: String,
    /// What was measured, in words.
    pub(crate) measured: String,
    /// Reached, or by how much not; `None`: not measured.
    pub(crate) missed: Option<Missed>,
}

/// How a target was met.
#[derive(Debug)]
pub(crate) enum Missed {
    /// It was.
    No,
    /// It wasn't, by so much.
    By(String),
}

/// Slowdowns, in per cent, that the targets allow.
const PATHS: f64 = 5.0;
const WORST: f64 = 20.0;
const EDGES: f64 = 3.0;
const LOOPS: f64 = 15.0;
/// Times, over native, that they allow.
const LOOPS_ONE_CORE: f64 = 2.5;
const TRACE: f64 = 2.0;
const TRACE_NEXT: f64 = 1.5;
/// Slowdowns, in per cent, that they allow where paths are timed in bursts.
const BURST: f64 = 2.0;
const BURST_WORST: f64 = 5.0;
/// Build times, woven over plain.
const BUILD: f64 = 1.5;
/// What two medians may differ by before one program counts as slower than another, in per cent.
const NOISE: f64 = 0.5;

/// Every target that this command measures.
pub(crate) fn all(results: &Results) -> Vec<Target> {
    let summary = Summary::of(results);
    let worst = summary.worst;
    let mut all = vec![
        overhead("paths, 1 thread, geometric mean", summary.paths, PATHS),
        Target {
            measured: worst.map_or_else(unmeasured, |(name, w)| format!("{} ({name})", percent(w))),
            ..overhead("paths, 1 thread, worst program", worst.map(|w| w.1), WORST)
        },
        no_slower_than_peer(results),
        overhead("paths, 2 threads, geometric mean", summary.paths_2t, PATHS),
        nothing_lost(results),
        many_threads(results),
        overhead("edges, 1 thread, geometric mean", summary.edges, EDGES),
        loops(&summary),
        times(
            "the same for k = 8 with the collector on the program's core",
            summary.stream(Way::LoopsOneCore),
            LOOPS_ONE_CORE,
        ),
        times(
            "trace, 1 thread, to the end of the collector, geometric mean",
            summary.stream(Way::Trace),
            TRACE,
        ),
        times(
            "the next goal for that",
            summary.stream(Way::Trace),
            TRACE_NEXT,
        ),
        overhead(
            "variation, bursts of 10000:1, 1 thread, geometric mean",
            summary.stream(Way::Variation(BURSTS[0])),
            BURST,
        ),
        Target {
            measured: summary
                .worst_burst
                .map_or_else(unmeasured, |(name, w)| format!("{} ({name})", percent(w))),
            ..overhead(
                "the same, worst program",
                summary.worst_burst.map(|w| w.1),
                BURST_WORST,
            )
        },
    ];
    for (what, is_second) in [
        ("build from nothing", false),
        ("second build, one crate changed", true),
    ] {
        let ratio = results.builds.as_ref().map(|b| {
            let of = |t: &super::builds::Times| {
                if is_second {
                    t.second.clone()
                } else {
                    t.first.clone()
                }
            };
            of(&b.woven).over(&of(&b.plain)).median()
        });
        all.push(times(what, ratio, BUILD));
    }
    all
}

/// A slowdown against a limit in per cent.
fn overhead(what: &'static str, slowdown: Option<f64>, limit: f64) -> Target {
    Target {
        what,
        reach: format!("≤ {limit} %"),
        measured: slowdown.map_or_else(unmeasured, percent),
        missed: slowdown.map(|s| {
            let over = (s - 1.0) * 100.0 - limit;
            if over <= 0.0 {
                Missed::No
            } else {
                Missed::By(format!("{over:.1} points"))
            }
        }),
    }
}

/// A ratio to native against a limit.
fn times(what: &'static str, ratio: Option<f64>, limit: f64) -> Target {
    Target {
        what,
        reach: format!("≤ {limit}×"),
        measured: ratio.map_or_else(unmeasured, |r| format!("{r:.2}×")),
        missed: ratio.map(|r| {
            if r <= limit {
                Missed::No
            } else {
                Missed::By(format!("{:.2}×", r - limit))
            }
        }),
    }
}

/// Sequences over k iterations, the dearest k of all.
fn loops(summary: &Summary) -> Target {
    let what = "loops, 1 thread, to the end of the collector, dearest k, geometric mean";
    let measured = KS.map(|k| summary.stream(Way::Loops(k)).map(|mean| (k, mean)));
    let worst = measured.into_iter().flatten();
    let worst = worst.max_by(|a, b| a.1.total_cmp(&b.1));
    Target {
        measured: worst.map_or_else(unmeasured, |(k, mean)| {
            format!("{} (k = {k})", percent(mean))
        }),
        ..overhead(what, worst.map(|w| w.1), LOOPS)
    }
}

/// No program is slower with paths counted than with the compilers' own edge counters.
fn no_slower_than_peer(results: &Results) -> Target {
    let mut slower = Vec::new();
    let mut compared = 0;
    for row in results.suite.iter().filter(|r| r.workload.threads == 1) {
        let both = row
            .slowdown_of(Flavour::Paths)
            .zip(row.slowdown_of(Flavour::Peer));
        compared += usize::from(both.is_some());
        if let Some((paths, peer)) = both
            && (paths - peer) * 100.0 > NOISE
        {
            slower.push(format!(
                "{} by {:.1} points",
                row.workload.name,
                (paths - peer) * 100.0
            ));
        }
    }
    Target {
        what: "paths, 1 thread, no program slower than with the peers' edges",
        reach: "none".to_owned(),
        measured: if compared == 0 {
            unmeasured()
        } else {
            format!("{} of {compared}", slower.len())
        },
        missed: (compared > 0).then(|| {
            if slower.is_empty() {
                Missed::No
            } else {
                Missed::By(slower.join(", "))
            }
        }),
    }
}

/// With threads, each call of a function is in the profile.
fn nothing_lost(results: &Results) -> Target {
    let lost = results
        .exact
        .iter()
        .flat_map(|c| c.ours.map(|n| c.made.abs_diff(n)));
    let lost: Option<u64> = (!results.exact.is_empty()).then(|| lost.sum());
    Target {
        what: "counts lost with 2 and 64 threads",
        reach: "none".to_owned(),
        measured: lost.map_or_else(unmeasured, |n| n.to_string()),
        missed: lost.map(|n| {
            if n == 0 {
                Missed::No
            } else {
                Missed::By(n.to_string())
            }
        }),
    }
}

/// The overhead of the threaded tight loop doesn't grow with the threads.
fn many_threads(results: &Results) -> Target {
    let slowdown = |name: &str| {
        let row = results.micro.iter().find(|r| r.workload.name == name)?;
        row.slowdown_of(Flavour::Paths)
    };
    let both = slowdown("micro-threads").zip(slowdown("micro-threads64"));
    Target {
        what: "paths, a small function called from 64 threads, against 2 threads",
        reach: "no worse".to_owned(),
        measured: both.map_or_else(unmeasured, |(two, many)| {
            format!("{} at 64, {} at 2", percent(many), percent(two))
        }),
        missed: both.map(|(two, many)| {
            let over = (many - two) * 100.0;
            if over <= 2.0 {
                Missed::No
            } else {
                Missed::By(format!("{over:.1} points"))
            }
        }),
    }
}

/// A slowdown as per cent.
pub(crate) fn percent(slowdown: f64) -> String {
    format!("{:.1} %", (slowdown - 1.0) * 100.0)
}

fn unmeasured() -> String {
    "not in this run".to_owned()
}
