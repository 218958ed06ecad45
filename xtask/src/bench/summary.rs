//! The whole run in a few figures: slowdowns, 1.05 for 5 %.

use super::results::Results;
use super::rounds::Row;
use super::samples::geometric_mean;
use super::way::{BURSTS, KS, Way};
use holloway_tests::workload::Flavour;

/// Geometric means over the suite, and the worst of it. `None`: not measured.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Paths, one thread.
    pub(crate) paths: Option<f64>,
    /// The dearest program of it, by name.
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
    /// Every way with a stream.
    pub(crate) streams: Vec<StreamMean>,
    /// The dearest program with bursts of the usual length, one thread, by name.
    pub(crate) worst_burst: Option<(&'static str, f64)>,
}

/// Geometric means of a way with a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamMean {
    /// Which.
    pub(crate) way: Way,
    /// One thread.
    pub(crate) one: Option<f64>,
    /// Two threads.
    pub(crate) two: Option<f64>,
}

impl Summary {
    /// Takes them from the suite's rows.
    pub(crate) fn of(results: &Results) -> Self {
        let mean_of = |threads, way| mean(&results.suite, threads, way);
        let mean = |threads, flavour| mean_of(threads, Way::Alone(flavour));
        let streams = KS.into_iter().map(Way::Loops);
        let streams = streams.chain([Way::LoopsOneCore, Way::Trace]);
        let streams = streams
            .chain(BURSTS.map(Way::Variation))
            .chain([Way::Times]);
        let worst = |way| {
            let one = results.suite.iter().filter(|r| r.workload.threads == 1);
            let slowdowns = one.filter_map(|r| Some((r.workload.name, r.slowdown(way)?)));
            slowdowns.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        Self {
            paths: mean(1, Flavour::Paths),
            worst: worst(Way::Alone(Flavour::Paths)),
            paths_2t: mean(2, Flavour::Paths),
            edges: mean(1, Flavour::Edges),
            edges_2t: mean(2, Flavour::Edges),
            peer: mean(1, Flavour::Peer),
            peer_2t: mean(2, Flavour::Peer),
            streams: streams
                .map(|way| StreamMean {
                    way,
                    one: mean_of(1, way),
                    two: mean_of(2, way),
                })
                .collect(),
            worst_burst: worst(Way::Variation(BURSTS[0])),
        }
    }

    /// The mean of a way with a stream, one thread.
    pub(crate) fn stream(&self, way: Way) -> Option<f64> {
        self.streams.iter().find(|s| s.way == way)?.one
    }
}

/// The geometric mean of a way's slowdowns over the rows with so many threads.
pub(crate) fn mean(rows: &[Row], threads: u32, way: Way) -> Option<f64> {
    let rows = rows.iter().filter(|r| r.workload.threads == threads);
    let slowdowns: Vec<f64> = rows.filter_map(|r| r.slowdown(way)).collect();
    (!slowdowns.is_empty()).then(|| geometric_mean(slowdowns))
}
