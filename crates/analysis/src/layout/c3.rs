//! Call-chain clustering, C³ (Ottoni, Maher, "Optimizing Function Placement for Large-Scale
//! Data-Center Applications", 2017), known from HFSort.
//!
//! At first, each function that ran is a cluster. The functions are visited by falling executed
//! instructions. The cluster of a function is appended to the cluster of its most frequent caller,
//! unless the two together have more than [`MAX_CLUSTER`] bytes. So a callee comes after its
//! caller: calls lead forward.
//!
//! At the end, clusters are sorted by density: executed instructions divided by bytes. Functions
//! that never ran come last. Of equal functions, the one with the smaller number comes first.
//!
//! Cost: a sort, and a step for each call.

use std::cmp::Reverse;

use holloway_format::Count;

use super::call_graph::CallGraph;

/// Larger clusters are not made. The limit is that of lld.
pub const MAX_CLUSTER: u64 = 1 << 20;

#[derive(Clone, Default)]
struct Cluster {
    functions: Vec<usize>,
    bytes: u64,
    instructions: Count,
}

/// Orders the functions of a call graph.
pub fn order(graph: &CallGraph) -> Vec<usize> {
    let functions = graph.functions();
    let clusters = functions.iter().enumerate();
    let clusters = clusters.map(|(function, info)| Cluster {
        functions: vec![function],
        bytes: info.bytes,
        instructions: info.instructions,
    });
    let mut clusters: Vec<Cluster> = clusters.collect();
    let mut cluster_of: Vec<usize> = (0..functions.len()).collect();
    let callers = likely_callers(graph);
    let has_run = |&function: &usize| functions[function].instructions > Count::ZERO;
    let mut hottest: Vec<usize> = (0..functions.len()).filter(has_run).collect();
    hottest.sort_by_key(|&function| Reverse(functions[function].instructions));
    for &function in &hottest {
        let Some(caller) = callers[function].filter(has_run) else {
            continue;
        };
        let (from, to) = (cluster_of[function], cluster_of[caller]);
        if from == to || clusters[from].bytes + clusters[to].bytes > MAX_CLUSTER {
            continue;
        }
        let appended = std::mem::take(&mut clusters[from]);
        for &function in &appended.functions {
            cluster_of[function] = to;
        }
        let cluster = &mut clusters[to];
        cluster.functions.extend(appended.functions);
        cluster.bytes += appended.bytes;
        cluster.instructions = cluster.instructions.saturating_add(appended.instructions);
    }
    clusters.retain(|cluster| cluster.instructions > Count::ZERO);
    clusters.sort_by(|left, right| {
        let product = |count: &Cluster, bytes: &Cluster| {
            u128::from(count.instructions) * u128::from(bytes.bytes)
        };
        product(right, left).cmp(&product(left, right))
    });
    let order = clusters.into_iter().flat_map(|cluster| cluster.functions);
    graph.complete(order.collect())
}

/// By function: the other function that called it most; of equal callers, the lowest.
fn likely_callers(graph: &CallGraph) -> Vec<Option<usize>> {
    let mut callers: Vec<Option<(usize, Count)>> = vec![None; graph.functions().len()];
    for call in graph
        .calls()
        .iter()
        .filter(|call| call.caller != call.callee)
    {
        let best = &mut callers[call.callee];
        if call.count > best.map_or(Count::ZERO, |(_, count)| count) {
            *best = Some((call.caller, call.count));
        }
    }
    let callers = callers.into_iter();
    callers
        .map(|caller| caller.map(|(caller, _)| caller))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::call_graph::{Call, CalledFunction};
    use super::*;

    /// Checks the order of functions with these (bytes, executed instructions).
    fn check(functions: &[(u64, u64)], calls: &[(usize, usize, u64)], expect: &[usize]) {
        let function = |&(bytes, instructions)| CalledFunction {
            bytes,
            instructions: Count(instructions),
        };
        let functions = functions.iter().map(function).collect();
        let calls = calls.iter().copied().map(Call::from).collect();
        assert_eq!(order(&CallGraph::new(functions, calls)), expect);
    }

    #[test]
    fn a_callee_is_appended_to_its_most_frequent_caller() {
        // 2 is the hottest function. Its callers are 0 (3 times) and 1 (5 times).
        let calls = [(0, 1, 1), (0, 2, 3), (1, 2, 5)];
        check(&[(10, 1), (10, 2), (10, 3)], &calls, &[0, 1, 2]);
        check(
            &[(10, 1), (10, 2), (10, 3)],
            &[(0, 1, 1), (0, 2, 3)],
            &[0, 2, 1],
        );
        // Equal callers: the lower one.
        check(
            &[(10, 9), (10, 9), (10, 1)],
            &[(0, 2, 5), (1, 2, 5)],
            &[1, 0, 2],
        );
    }

    #[test]
    fn recursion_joins_nothing_twice() {
        check(
            &[(10, 1), (10, 2)],
            &[(0, 1, 5), (1, 0, 5), (1, 1, 50)],
            &[0, 1],
        );
    }

    #[test]
    fn a_cluster_stays_within_its_limit() {
        let half = MAX_CLUSTER / 2;
        check(&[(half, 9), (half, 1)], &[(1, 0, 1)], &[1, 0]);
        check(&[(half + 1, 9), (half, 1)], &[(1, 0, 1)], &[0, 1]);
    }

    #[test]
    fn clusters_are_sorted_by_density_and_functions_that_never_ran_come_last() {
        check(
            &[(10, 0), (100, 50), (10, 20), (10, 0)],
            &[(0, 2, 1)],
            &[2, 1, 0, 3],
        );
    }
}
