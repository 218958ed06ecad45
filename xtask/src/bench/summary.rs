//! Summarizes a run of the benchmarks in a few slowdowns. A slowdown of 1.05 means 5 % more time.

use super::results::Results;
use super::rounds::Row;
use super::samples::geometric_mean;
use super::setup::{BURSTS, KS, Setup};
use holloway_tests::workload::Flavor;

/// Geometric means of slowdowns over the suite, and the slowest programs. A field is `None` if it
/// was not measured.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Paths, one thread.
    pub(crate) paths: Option<f64>,
    /// The slowest program with paths, one thread, by name.
    pub(crate) worst: Option<(&'static str, f64)>,
    /// Paths, two threads.
    pub(crate) paths_2t: Option<f64>,
    /// Edges, one thread.
    pub(crate) edges: Option<f64>,
    /// Edges, two threads.
    pub(crate) edges_2t: Option<f64>,
    /// The compilers' own edge counters, one thread.
    pub(crate) peer: Option<f64>,
    /// The compilers' own edge counters, two threads.
    pub(crate) peer_2t: Option<f64>,
    /// The means of every setup with a stream.
    pub(crate) streams: Vec<StreamMean>,
    /// The slowest program with the default bursts, one thread, by name.
    pub(crate) worst_burst: Option<(&'static str, f64)>,
}

/// Geometric means of a setup with a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamMean {
    /// The setup.
    pub(crate) setup: Setup,
    /// One thread.
    pub(crate) one_thread: Option<f64>,
    /// Two threads.
    pub(crate) two_threads: Option<f64>,
}

impl Summary {
    /// Summarizes the suite's rows.
    pub(crate) fn of(results: &Results) -> Self {
        let mean_of = |threads, setup| mean(&results.suite, threads, setup);
        let mean = |threads, flavor| mean_of(threads, Setup::WithoutCollector(flavor));
        let streams = KS.into_iter().map(Setup::Loops);
        let streams = streams.chain([Setup::LoopsOneCore, Setup::Trace]);
        let streams = streams
            .chain(BURSTS.map(Setup::Variation))
            .chain([Setup::Times]);
        let worst = |setup| {
            let rows = results.suite.iter().filter(|r| r.workload.threads == 1);
            let slowdowns = rows.filter_map(|r| Some((r.workload.name, r.slowdown(setup)?)));
            slowdowns.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        Self {
            paths: mean(1, Flavor::Paths),
            worst: worst(Setup::WithoutCollector(Flavor::Paths)),
            paths_2t: mean(2, Flavor::Paths),
            edges: mean(1, Flavor::Edges),
            edges_2t: mean(2, Flavor::Edges),
            peer: mean(1, Flavor::Peer),
            peer_2t: mean(2, Flavor::Peer),
            streams: streams
                .map(|setup| StreamMean {
                    setup,
                    one_thread: mean_of(1, setup),
                    two_threads: mean_of(2, setup),
                })
                .collect(),
            worst_burst: worst(Setup::Variation(BURSTS[0])),
        }
    }

    /// The mean of a setup with a stream, one thread.
    pub(crate) fn stream(&self, setup: Setup) -> Option<f64> {
        self.streams.iter().find(|s| s.setup == setup)?.one_thread
    }
}

/// The geometric mean of a setup's slowdowns over the rows with this many threads.
pub(crate) fn mean(rows: &[Row], threads: u32, setup: Setup) -> Option<f64> {
    let rows = rows.iter().filter(|r| r.workload.threads == threads);
    let slowdowns: Vec<f64> = rows.filter_map(|r| r.slowdown(setup)).collect();
    (!slowdowns.is_empty()).then(|| geometric_mean(slowdowns))
}
