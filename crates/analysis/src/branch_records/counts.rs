//! The counts of a function that branch records show, with fractional weights.

use std::collections::BTreeMap;

use holloway_format::branches::{EdgeSamples, FunctionBranches};
use holloway_format::{Count, FunctionIndex, FunctionMap};

/// Bits of a weight below 1. Sums are exact in this precision, and do not depend on the order.
const FRACTION: u32 = 16;

/// How many times an observation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight(u64);

impl Weight {
    /// The weight of an observation that needs the branches `first` to `last` of a stack of
    /// `length` branches. The stack contains them in `length - (last - first)` of `length`
    /// positions.
    pub(super) fn of_span(length: usize, first: usize, last: usize) -> Self {
        let length = length as u64;
        let positions = length.saturating_sub(last.saturating_sub(first) as u64);
        Self((length << FRACTION) / positions.max(1))
    }

    /// The weight of observations that were counted elsewhere.
    pub(super) fn of_count(count: u64) -> Self {
        Self(count.saturating_mul(1 << FRACTION))
    }

    fn count(self) -> Count {
        Count(self.0.saturating_add(1 << (FRACTION - 1)) >> FRACTION)
    }

    fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// The sums of a function.
#[derive(Debug)]
pub(super) struct FunctionSums {
    calls: Weight,
    /// By edge.
    edges: Vec<Weight>,
    /// By edge: taken branches that were mispredicted.
    mispredicted: Vec<u64>,
    paths: BTreeMap<u64, Weight>,
}

impl FunctionSums {
    pub(super) fn new(map: &FunctionMap) -> Self {
        Self {
            calls: Weight(0),
            edges: vec![Weight(0); map.edges.len()],
            mispredicted: vec![0; map.edges.len()],
            paths: BTreeMap::new(),
        }
    }

    pub(super) fn add_call(&mut self, weight: Weight) {
        self.calls.add(weight);
    }

    pub(super) fn add_edge(&mut self, edge: u32, weight: Weight) {
        self.edges[edge as usize].add(weight);
    }

    pub(super) fn add_misprediction(&mut self, edge: u32, count: u64) {
        let sum = &mut self.mispredicted[edge as usize];
        *sum = sum.saturating_add(count);
    }

    pub(super) fn add_path(&mut self, path: u64, weight: Weight) {
        self.paths.entry(path).or_insert(Weight(0)).add(weight);
    }

    /// The rounded counts. `None` if there are none.
    pub(super) fn counts(&self, index: FunctionIndex) -> Option<FunctionBranches> {
        let edges = (0u32..).zip(self.edges.iter().zip(&self.mispredicted));
        let edges: Vec<EdgeSamples> = edges
            .map(|(edge, (weight, &mispredicted))| EdgeSamples {
                edge,
                count: weight.count(),
                mispredicted: Count(mispredicted),
            })
            .filter(|edge| edge.count > Count::ZERO)
            .collect();
        let paths = self.paths.iter();
        let function = FunctionBranches {
            index,
            calls: self.calls.count(),
            edges,
            paths: paths
                .map(|(&path, weight)| (path, weight.count()))
                .collect(),
        };
        (!function.edges.is_empty() || function.calls > Count::ZERO).then_some(function)
    }
}
