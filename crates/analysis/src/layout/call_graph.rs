//! The functions of a program, and their calls, as a weighted graph.
//!
//! An order of functions is judged by the distance of their calls: from the start of the caller to
//! the start of the callee. A short distance makes it likely that both are in the same page.

use std::collections::BTreeMap;

use holloway_format::Count;

/// The size of a page.
const PAGE: u64 = 4096;

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CalledFunction {
    /// The size of its code. 0 counts as 1.
    pub bytes: u64,
    /// Executed instructions.
    pub instructions: Count,
}

/// The calls from one function to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The calling function.
    pub caller: usize,
    /// The called function.
    pub callee: usize,
    /// Executions.
    pub count: Count,
}

/// The functions of a program, in their original order, and their calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallGraph {
    functions: Vec<CalledFunction>,
    /// By (caller, callee), without repetitions.
    calls: Vec<Call>,
}

/// The distances of calls in an order of functions. Calls of a function to itself are left out.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CallDistance {
    /// Executed calls.
    pub calls: Count,
    /// The sum of the distances of the executed calls, in bytes.
    pub bytes: u128,
    /// Executed calls over a distance of 4096 bytes or more.
    pub beyond_page: Count,
}

impl From<(usize, usize, u64)> for Call {
    fn from((caller, callee, count): (usize, usize, u64)) -> Self {
        let count = Count(count);
        Self {
            caller,
            callee,
            count,
        }
    }
}

impl CallGraph {
    /// Makes a graph. Calls between the same two functions are added up.
    ///
    /// # Panics
    /// If a call joins a function that is not in the list.
    pub fn new(mut functions: Vec<CalledFunction>, calls: Vec<Call>) -> Self {
        let mut sums: BTreeMap<(usize, usize), Count> = BTreeMap::new();
        for Call {
            caller,
            callee,
            count,
        } in calls
        {
            let is_known = caller.max(callee) < functions.len();
            assert!(is_known, "{caller} → {callee} joins no functions");
            let sum = sums.entry((caller, callee)).or_default();
            *sum = sum.saturating_add(count);
        }
        for function in &mut functions {
            function.bytes = function.bytes.max(1);
        }
        let calls = sums.into_iter().map(|((caller, callee), count)| Call {
            caller,
            callee,
            count,
        });
        Self {
            functions,
            calls: calls.collect(),
        }
    }

    /// The functions, in their original order.
    pub fn functions(&self) -> &[CalledFunction] {
        &self.functions
    }

    /// The calls, by caller and callee.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Appends the functions that are not in `order`, in their original order.
    pub(super) fn complete(&self, mut order: Vec<usize>) -> Vec<usize> {
        let mut is_placed = vec![false; self.functions.len()];
        for &function in &order {
            is_placed[function] = true;
        }
        order.extend((0..is_placed.len()).filter(|&function| !is_placed[function]));
        order
    }
}

impl CallDistance {
    /// The distances in an order, which contains each function of the graph once.
    pub fn new(graph: &CallGraph, order: &[usize]) -> Self {
        let mut starts = vec![0; order.len()];
        let mut address: u64 = 0;
        for &function in order {
            starts[function] = address;
            address += graph.functions[function].bytes;
        }
        let mut distance = Self::default();
        for call in graph.calls.iter().filter(|call| call.caller != call.callee) {
            let bytes = starts[call.caller].abs_diff(starts[call.callee]);
            distance.calls = distance.calls.saturating_add(call.count);
            distance.bytes += u128::from(bytes) * u128::from(call.count);
            if bytes >= PAGE {
                distance.beyond_page = distance.beyond_page.saturating_add(call.count);
            }
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_lead_from_start_to_start() {
        let function = |bytes| CalledFunction {
            bytes,
            instructions: Count(1),
        };
        let calls = [(0, 2, 3), (2, 1, 4), (0, 2, 2), (1, 1, 100)];
        let functions = vec![function(100), function(5000), function(0)];
        let graph = CallGraph::new(functions, calls.map(Call::from).into());
        let distance = |order: &[usize]| {
            let distance = CallDistance::new(&graph, order);
            (distance.calls.0, distance.bytes, distance.beyond_page.0)
        };
        assert_eq!(distance(&[0, 1, 2]), (9, 5 * 5100 + 4 * 5000, 9));
        assert_eq!(distance(&[0, 2, 1]), (9, 5 * 100 + 4, 0));
    }
}
