//! The targets for the cost of counting, each compared with the measured figure.

use super::builds::Builds;
use super::results::Results;
use super::setup::{BURSTS, KS, Setup};
use super::summary::Summary;
use holloway_tests::workload::Flavor;

/// A target that was measured.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name of the figure that the target limits.
    pub(crate) name: &'static str,
    /// The limit.
    pub(crate) limit: String,
    /// The measured figure.
    pub(crate) measured: String,
    pub(crate) verdict: Verdict,
}

/// Whether a target was reached.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The target was reached.
    Reached,
    /// The target was missed by this difference.
    MissedBy(String),
}

/// Maximum slowdowns, in percent.
const PATHS: f64 = 5.0;
const WORST: f64 = 20.0;
const EDGES: f64 = 3.0;
const LOOPS: f64 = 15.0;
/// Maximum ratios to native time.
const LOOPS_ONE_CORE: f64 = 2.5;
const TRACE: f64 = 2.0;
const TRACE_NEXT: f64 = 1.5;
/// Maximum slowdowns with paths timed in bursts, in percent.
const BURST: f64 = 2.0;
const BURST_WORST: f64 = 5.0;
/// Maximum ratio of woven to plain build time.
const BUILD: f64 = 1.5;
/// Two slowdowns that differ by at most this much count as equal, in percent.
const NOISE: f64 = 0.5;
/// The overhead with 64 threads may exceed the overhead with 2 threads by this much, in percentage
/// points.
const GROWTH: f64 = 2.0;

/// Returns the targets for all figures that this run measured.
pub(crate) fn all(results: &Results) -> Vec<Target> {
    let summary = Summary::of(results);
    let builds = results.builds.as_ref().and_then(Builds::target);
    let stream = |setup| summary.stream(setup);
    let targets = [
        overhead("paths, 1 thread, geometric mean", summary.paths, PATHS),
        worst("paths, 1 thread, worst program", summary.worst, WORST),
        no_slower_than_peer(results),
        overhead("paths, 2 threads, geometric mean", summary.paths_2t, PATHS),
        nothing_lost(results),
        many_threads(results),
        overhead("edges, 1 thread, geometric mean", summary.edges, EDGES),
        loops(&summary),
        ratio(
            "loops, k = 8, the same with the collector on the program's core",
            stream(Setup::LoopsOneCore),
            LOOPS_ONE_CORE,
        ),
        ratio(
            "trace, 1 thread, to the end of the collector, geometric mean",
            stream(Setup::Trace),
            TRACE,
        ),
        ratio("trace, the next goal", stream(Setup::Trace), TRACE_NEXT),
        overhead(
            "variation, bursts of 10000:1, 1 thread, geometric mean",
            stream(Setup::Variation(BURSTS[0])),
            BURST,
        ),
        worst(
            "variation, bursts of 10000:1, 1 thread, worst program",
            summary.worst_burst,
            BURST_WORST,
        ),
        ratio(
            "build from nothing",
            builds.map(|b| b.woven.first.wall.over(&b.plain.first.wall).median()),
            BUILD,
        ),
        ratio(
            "second build, one crate changed",
            builds.map(|b| b.woven.second.wall.over(&b.plain.second.wall).median()),
            BUILD,
        ),
    ];
    targets.into_iter().flatten().collect()
}

impl Verdict {
    /// A target is reached if the figure is at most the limit. `excess` formats the difference.
    fn new(figure: f64, limit: f64, excess: impl FnOnce(f64) -> String) -> Self {
        match figure <= limit {
            true => Self::Reached,
            false => Self::MissedBy(excess(figure - limit)),
        }
    }
}

/// The target for a slowdown, with a limit in percent.
fn overhead(name: &'static str, slowdown: Option<f64>, limit: f64) -> Option<Target> {
    let slowdown = slowdown?;
    Some(Target {
        name,
        limit: format!("≤ {limit} %"),
        measured: percent(slowdown),
        verdict: Verdict::new((slowdown - 1.0) * 100.0, limit, points),
    })
}

/// The target for the slowdown of the slowest program, with a limit in percent.
fn worst(name: &'static str, slowest: Option<(&'static str, f64)>, limit: f64) -> Option<Target> {
    let (program, slowdown) = slowest?;
    Some(Target {
        measured: format!("{} ({program})", percent(slowdown)),
        ..overhead(name, Some(slowdown), limit)?
    })
}

/// The target for a ratio to native.
fn ratio(name: &'static str, ratio: Option<f64>, limit: f64) -> Option<Target> {
    let ratio = ratio?;
    Some(Target {
        name,
        limit: format!("≤ {limit}×"),
        measured: format!("{ratio:.2}×"),
        verdict: Verdict::new(ratio, limit, |excess| format!("{excess:.2}×")),
    })
}

/// The target for sequences over k iterations, with the k that costs most.
fn loops(summary: &Summary) -> Option<Target> {
    let name = "loops, 1 thread, to the end of the collector, dearest k, geometric mean";
    let measured = KS.map(|k| summary.stream(Setup::Loops(k)).map(|mean| (k, mean)));
    let measured = measured.into_iter().flatten();
    let (k, mean) = measured.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Target {
        measured: format!("{} (k = {k})", percent(mean)),
        ..overhead(name, Some(mean), LOOPS)?
    })
}

/// The target that no program is slower with path counters than with the compilers' edge counters.
fn no_slower_than_peer(results: &Results) -> Option<Target> {
    let mut slower = Vec::new();
    let mut compared = 0;
    for row in results.suite.iter().filter(|r| r.workload.threads == 1) {
        let (paths, peer) = (
            row.slowdown_of(Flavor::Paths),
            row.slowdown_of(Flavor::Peer),
        );
        let Some((paths, peer)) = paths.zip(peer) else {
            continue;
        };
        compared += 1;
        let excess = (paths - peer) * 100.0;
        if excess > NOISE {
            slower.push(format!("{} by {}", row.workload.name, points(excess)));
        }
    }
    (compared > 0).then(|| Target {
        name: "paths, 1 thread, no program slower than with the peers' edges",
        limit: "none".to_owned(),
        measured: format!("{} of {compared}", slower.len()),
        verdict: match slower.is_empty() {
            true => Verdict::Reached,
            false => Verdict::MissedBy(slower.join(", ")),
        },
    })
}

/// The target that profiles of threaded programs contain all calls of a function.
fn nothing_lost(results: &Results) -> Option<Target> {
    let lost = results
        .exact
        .iter()
        .flat_map(|c| c.ours.map(|n| c.made.abs_diff(n)));
    let lost: u64 = lost.sum();
    (!results.exact.is_empty()).then(|| Target {
        name: "counts lost with 2 and 64 threads",
        limit: "none".to_owned(),
        measured: lost.to_string(),
        verdict: match lost {
            0 => Verdict::Reached,
            _ => Verdict::MissedBy(lost.to_string()),
        },
    })
}

/// The target that the overhead of the threaded tight loop does not grow with the number of
/// threads.
fn many_threads(results: &Results) -> Option<Target> {
    let slowdown = |name: &str| {
        let row = results.micro.iter().find(|r| r.workload.name == name)?;
        row.slowdown_of(Flavor::Paths)
    };
    let (two, many) = slowdown("micro-threads").zip(slowdown("micro-threads64"))?;
    let growth = (many - two) * 100.0;
    Some(Target {
        name: "paths, a small function called from 64 threads, against 2 threads",
        limit: "no worse".to_owned(),
        measured: format!("{} at 64, {} at 2", percent(many), percent(two)),
        verdict: match growth <= GROWTH {
            true => Verdict::Reached,
            false => Verdict::MissedBy(points(growth)),
        },
    })
}

fn points(excess: f64) -> String {
    format!("{excess:.1} points")
}

/// A slowdown in percent.
pub(crate) fn percent(slowdown: f64) -> String {
    format!("{:.1} %", (slowdown - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_measured_nothing_has_no_targets() {
        let results = Results {
            machine: String::new(),
            date: String::new(),
            quick: false,
            suite: Vec::new(),
            micro: Vec::new(),
            exact: Vec::new(),
            builds: None,
        };
        assert!(all(&results).is_empty());
    }

    #[test]
    fn a_limit_is_reached_or_missed_by_the_difference() {
        let target = overhead("paths", Some(1.072), 5.0).expect("it was measured");
        assert_eq!((&*target.limit, &*target.measured), ("≤ 5 %", "7.2 %"));
        assert!(matches!(target.verdict, Verdict::MissedBy(text) if text == "2.2 points"));
        let target = ratio("build", Some(1.25), 1.5).expect("it was measured");
        assert_eq!((&*target.limit, &*target.measured), ("≤ 1.5×", "1.25×"));
        assert!(matches!(target.verdict, Verdict::Reached));
    }
}
