//! Makes the call graph of a program from its counts, and chooses an order of its functions.
//!
//! The path map of a program in training names the direct callees of each block
//! ([`FunctionMap::contents`](holloway_format::FunctionMap::contents)), and the run has counted the
//! targets of its indirect calls. A name stands for the function of the caller's module, or else
//! for the first function of this name. Calls of other functions, such as those of the C library,
//! are left out.
//!
//! Cost: that of the two orders, and a step for each call in the code.

use std::collections::HashMap;

use holloway_format::{CallTarget, Count, SiteValue, Text};

use super::call_graph::{Call, CallDistance, CallGraph, CalledFunction};
use super::function::code_bytes;
use super::{c3, closest_is_best};
use crate::random::Random;
use crate::run::{ModuleId, RunProfile};

/// Orders the functions of a program that ran, and returns their linkage names. Of the original
/// order and the two of [`closest_is_best`] and [`c3`], it is the one with the fewest calls to
/// another page, and of equal ones, the one with the smallest distance of calls. `name_of` names
/// the targets of indirect calls.
pub fn program_order(run: &RunProfile, name_of: impl Fn(CallTarget) -> Text) -> Vec<Text> {
    let graph = call_graph(run, name_of);
    let original = (0..graph.functions().len()).collect();
    let orders = [original, closest_is_best::order(&graph), c3::order(&graph)];
    let best = orders.into_iter().min_by_key(|order| {
        let distance = CallDistance::new(&graph, order);
        (distance.beyond_page, distance.bytes)
    });
    let ran = best
        .into_iter()
        .flatten()
        .map(|function| &run.functions[function]);
    let ran = ran.filter(|function| function.ran());
    ran.map(|function| function.map.linkage_name.clone())
        .collect()
}

/// Random orders of functions, given by their linkage names. The same names give the same orders.
pub fn random_orders(names: &[Text], count: usize) -> Vec<Vec<Text>> {
    let order = |seed| {
        let mut order = names.to_vec();
        Random::with_seed(seed).shuffle(&mut order);
        order
    };
    (0..count as u64).map(order).collect()
}

/// The functions of a run, and their calls of each other.
fn call_graph(run: &RunProfile, name_of: impl Fn(CallTarget) -> Text) -> CallGraph {
    let functions = run.functions.iter().map(|function| CalledFunction {
        bytes: code_bytes(&function.map),
        instructions: function.flow().instructions,
    });
    let functions = functions.collect();
    let names = Names::of(run);
    let mut calls = Vec::new();
    for (caller, function) in run.functions.iter().enumerate() {
        let flow = function.flow();
        let blocks = function.map.contents.iter().zip(&flow.blocks);
        let direct = blocks.flat_map(|(content, &count)| {
            let callees = content.callees.iter();
            callees.map(move |callee| (callee.clone(), count))
        });
        let indirect = function
            .values
            .iter()
            .filter_map(|&(value, count)| match value {
                SiteValue::Target(target) => Some((name_of(target), count)),
                SiteValue::Size(_) => None,
            });
        for (name, count) in direct.chain(indirect) {
            if let Some(callee) = names.find(&name, function.module)
                && count > Count::ZERO
            {
                calls.push(Call {
                    caller,
                    callee,
                    count,
                });
            }
        }
    }
    CallGraph::new(functions, calls)
}

/// The functions of a run by their linkage names.
struct Names<'r> {
    of_module: HashMap<(ModuleId, &'r str), usize>,
    first: HashMap<&'r str, usize>,
}

impl<'r> Names<'r> {
    fn of(run: &'r RunProfile) -> Self {
        let mut names = Self {
            of_module: HashMap::new(),
            first: HashMap::new(),
        };
        for (index, function) in run.functions.iter().enumerate() {
            let name = &*function.map.linkage_name;
            names
                .of_module
                .entry((function.module, name))
                .or_insert(index);
            names.first.entry(name).or_insert(index);
        }
        names
    }

    /// The function that a module means by a name.
    fn find(&self, name: &str, module: ModuleId) -> Option<usize> {
        let own = self.of_module.get(&(module, name));
        own.or_else(|| self.first.get(name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use holloway_format::{BlockContent, CallTarget, FunctionMap, Outcome, Text};
    use holloway_testkit::build::{Counts, function, image, module, profile};

    use super::{program_order, random_orders};
    use crate::run::RunProfile;

    /// A function with one path and 2,000 instructions, which calls others.
    fn calling(name: &str, callees: &[&str]) -> FunctionMap {
        let map = function(name, "a.c", 1)
            .block(2000, &[(0, 1)])
            .block(0, &[]);
        let mut map = map.edge(0, 1, Outcome::Return).done();
        let callees = callees.iter().map(|&name| name.into()).collect();
        let entry = BlockContent {
            callees,
            ..BlockContent::default()
        };
        map.contents = vec![entry, BlockContent::default()];
        map
    }

    fn names(order: &[Text]) -> Vec<&str> {
        order.iter().map(|name| &**name).collect()
    }

    #[test]
    fn callers_and_callees_lie_together() {
        let functions = [
            calling("main", &["last", "puts"]),
            calling("helper", &[]),
            calling("never", &["helper"]),
            calling("last", &["helper"]),
        ];
        let image = image("app", vec![module("a", functions.into())]);
        let counts: [Counts<'_>; 3] = [(0, 0, &[(0, 1)]), (0, 1, &[(0, 100)]), (0, 3, &[(0, 100)])];
        let profile = profile(&image, 1, &counts);
        let run = RunProfile::new(vec![(image, vec![profile])]);
        let order = program_order(&run, |_: CallTarget| Text::default());
        let order = names(&order);
        let place = |name| order.iter().position(|&other| other == name);
        assert_eq!(place("never"), None, "it did not run");
        let [helper, last] = ["helper", "last"].map(|name| place(name).expect(name));
        assert_eq!(helper.abs_diff(last), 1, "{order:?}");
        assert_eq!(order.len(), 3);
    }

    #[test]
    fn random_orders_are_permutations_that_do_not_change() {
        let functions: Vec<Text> = (0..50).map(|n| format!("f{n}").as_str().into()).collect();
        let orders = random_orders(&functions, 2);
        assert_eq!(orders, random_orders(&functions, 2));
        assert_ne!(orders[0], orders[1]);
        let expected: BTreeSet<&str> = names(&functions).into_iter().collect();
        for order in &orders {
            assert_eq!(order.len(), functions.len());
            let sorted: BTreeSet<&str> = names(order).into_iter().collect();
            assert_eq!(sorted, expected);
        }
    }
}
