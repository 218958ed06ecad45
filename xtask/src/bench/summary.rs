//! Summarizes a run of the benchmarks in a few slowdowns. A slowdown of 1.05 means 5 % more time.

use super::results::Results;
use super::rounds::Row;
use super::samples::geometric_mean;
use super::way::{BURSTS, KS, Way};
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
    /// The peers, one thread.
    pub(crate) peer: Option<f64>,
    /// The peers, two threads.
    pub(crate) peer_2t: Option<f64>,
    /// The means of every way with a stream.
    pub(crate) streams: Vec<StreamMean>,
    /// The slowest program with the default bursts, one thread, by name.
    pub(crate) worst_burst: Option<(&'static str, f64)>,
}

/// Geometric means of a way with a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamMean {
    /// The way.
    pub(crate) way: Way,
    /// One thread.
    pub(crate) one_thread: Option<f64>,
    /// Two threads.
    pub(crate) two_threads: Option<f64>,
}

impl Summary {
    /// Summarizes the suite's rows.
    pub(crate) fn of(results: &Results) -> Self {
        let mean_of = |threads, way| mean(&results.suite, threads, way);
        let mean = |threads, flavor| mean_of(threads, Way::Alone(flavor));
        let streams = KS.into_iter().map(Way::Loops);
        let streams = streams.chain([Way::LoopsOneCore, Way::Trace]);
        let streams = streams
            .chain(BURSTS.map(Way::Variation))
            .chain([Way::Times]);
        let worst = |way| {
            let rows = results.suite.iter().filter(|r| r.workload.threads == 1);
            let slowdowns = rows.filter_map(|r| Some((r.workload.name, r.slowdown(way)?)));
            slowdowns.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        Self {
            paths: mean(1, Flavor::Paths),
            worst: worst(Way::Alone(Flavor::Paths)),
            paths_2t: mean(2, Flavor::Paths),
            edges: mean(1, Flavor::Edges),
            edges_2t: mean(2, Flavor::Edges),
            peer: mean(1, Flavor::Peer),
            peer_2t: mean(2, Flavor::Peer),
            streams: streams
                .map(|way| StreamMean {
                    way,
                    one_thread: mean_of(1, way),
                    two_threads: mean_of(2, way),
                })
                .collect(),
            worst_burst: worst(Way::Variation(BURSTS[0])),
        }
    }

    /// The mean of a way with a stream, one thread.
    pub(crate) fn stream(&self, way: Way) -> Option<f64> {
        self.streams.iter().find(|s| s.way == way)?.one_thread
    }
}

/// The geometric mean of a way's slowdowns over the rows with this many threads.
pub(crate) fn mean(rows: &[Row], threads: u32, way: Way) -> Option<f64> {
    let rows = rows.iter().filter(|r| r.workload.threads == threads);
    let slowdowns: Vec<f64> = rows.filter_map(|r| r.slowdown(way)).collect();
    (!slowdowns.is_empty()).then(|| geometric_mean(slowdowns))
}
