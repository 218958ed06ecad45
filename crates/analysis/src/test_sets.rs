//! Finds a smallest set of tests that covers what all tests cover: minimum set cover.
//!
//! Four rules shrink the problem first (Garfinkel, Nemhauser 1969), until none applies:
//!
//! - a test that alone covers an item is *essential*: it is chosen, and its items are done;
//! - a test whose open items another test covers, too, is dropped;
//! - an item that is covered whenever another item is covered is dropped;
//! - a test without open items is dropped.
//!
//! Often nothing is left. Otherwise a branch and bound search takes the open item with the fewest
//! tests and tries each of them, the one with the most open items first. Its bound counts open
//! items that share no test with each other: each needs a test of its own. The search stops after
//! [`MAX_STEPS`] steps. Then the set is small, but perhaps not the smallest.
//!
//! Example: test 0 covers a and b, 1 covers b and c, 2 covers c and d. a and d make tests 0 and 2
//! essential, and nothing is left.
//!
//! Cost: quadratic in tests and in items for the rules; exponential for the search, up to the
//! limit.

use std::collections::{BTreeMap, BTreeSet};

/// The most steps of the search.
pub const MAX_STEPS: u64 = 200_000;

/// A set of tests that covers what all tests cover.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TestSet {
    /// The tests, in ascending order.
    pub tests: Vec<usize>,
    /// Those of them that alone cover an item, in ascending order.
    pub essential: Vec<usize>,
    /// Whether no smaller set exists.
    pub is_smallest: bool,
}

/// Finds a smallest set of tests. `covered` are the items that each test covers.
pub fn smallest_set(covered: &[BTreeSet<u32>]) -> TestSet {
    smallest_set_within(covered, MAX_STEPS)
}

fn smallest_set_within(covered: &[BTreeSet<u32>], max_steps: u64) -> TestSet {
    let mut essential = BTreeSet::new();
    let mut counts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (test, items) in covered.iter().enumerate() {
        for &item in items {
            counts.entry(item).or_default().push(test);
        }
    }
    for tests in counts.values() {
        if let [test] = tests[..] {
            essential.insert(test);
        }
    }
    let mut problem = Problem::new(covered);
    let mut chosen = Vec::new();
    problem.reduce(&mut chosen);
    let mut search = Search {
        best: greedy(&problem),
        steps: 0,
        max_steps,
    };
    search.run(problem, Vec::new());
    chosen.extend(search.best);
    chosen.sort_unstable();
    TestSet {
        tests: chosen,
        essential: essential.into_iter().collect(),
        is_smallest: search.steps < max_steps,
    }
}

/// The tests and items that are open.
#[derive(Clone)]
struct Problem {
    /// By test: its open items.
    items: BTreeMap<usize, BTreeSet<u32>>,
    /// By item: the tests that cover it.
    tests: BTreeMap<u32, BTreeSet<usize>>,
}

impl Problem {
    fn new(covered: &[BTreeSet<u32>]) -> Self {
        let mut problem = Self {
            items: covered.iter().cloned().enumerate().collect(),
            tests: BTreeMap::new(),
        };
        // Items that the same tests cover are one item.
        let mut tests: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for (test, items) in covered.iter().enumerate() {
            for &item in items {
                tests.entry(item).or_default().insert(test);
            }
        }
        let mut known = BTreeSet::new();
        for (item, tests) in tests {
            match known.insert(tests.clone()) {
                true => drop(problem.tests.insert(item, tests)),
                false => problem.items.values_mut().for_each(|items| {
                    items.remove(&item);
                }),
            }
        }
        problem
    }

    /// Applies the rules until none applies. Adds the chosen tests.
    fn reduce(&mut self, chosen: &mut Vec<usize>) {
        loop {
            let single = self.tests.values().find(|tests| tests.len() == 1);
            if let Some(&test) = single.and_then(|tests| tests.first()) {
                self.choose(test);
                chosen.push(test);
            } else if !self.drop_tests() && !self.drop_items() {
                return;
            }
        }
    }

    /// Chooses a test: its items are done.
    fn choose(&mut self, test: usize) {
        for item in self.items.remove(&test).unwrap_or_default() {
            for other in self.tests.remove(&item).unwrap_or_default() {
                if let Some(items) = self.items.get_mut(&other) {
                    items.remove(&item);
                }
            }
        }
    }

    /// Drops tests without open items, and tests whose open items another test covers.
    fn drop_tests(&mut self) -> bool {
        let is_dropped = |(test, items): (&usize, &BTreeSet<u32>)| {
            // A test that covers the item with the fewest tests covers all items, if any does.
            let Some(tests) = items
                .iter()
                .map(|item| &self.tests[item])
                .min_by_key(|tests| tests.len())
            else {
                return true;
            };
            tests.iter().any(|other| {
                let others = &self.items[other];
                // Of equal tests, the first stays.
                other != test
                    && items.is_subset(others)
                    && (items.len() < others.len() || other < test)
            })
        };
        let dropped: Vec<usize> = self
            .items
            .iter()
            .filter(|&entry| is_dropped(entry))
            .map(|(&test, _)| test)
            .collect();
        for test in &dropped {
            for item in self.items.remove(test).unwrap_or_default() {
                if let Some(tests) = self.tests.get_mut(&item) {
                    tests.remove(test);
                }
            }
        }
        !dropped.is_empty()
    }

    /// Drops items that are covered whenever another open item is.
    fn drop_items(&mut self) -> bool {
        let implied = |(item, tests): (&u32, &BTreeSet<usize>)| {
            let candidates = tests.iter().flat_map(|test| &self.items[test]);
            let mut candidates: BTreeSet<u32> = candidates.copied().collect();
            candidates.remove(item);
            candidates.iter().any(|other| {
                let others = &self.tests[other];
                others.is_subset(tests) && (others.len() < tests.len() || other < item)
            })
        };
        let dropped: Vec<u32> = self
            .tests
            .iter()
            .filter(|&entry| implied(entry))
            .map(|(&item, _)| item)
            .collect();
        for item in &dropped {
            for test in self.tests.remove(item).unwrap_or_default() {
                if let Some(items) = self.items.get_mut(&test) {
                    items.remove(item);
                }
            }
        }
        !dropped.is_empty()
    }

    /// A lower bound for the number of tests. It counts items that share no test with each other:
    /// each of them needs a test of its own.
    fn bound(&self) -> usize {
        let mut items: Vec<(&u32, &BTreeSet<usize>)> = self.tests.iter().collect();
        items.sort_by_key(|(item, tests)| (tests.len(), **item));
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let mut bound = 0;
        for (_, tests) in items {
            if tests.is_disjoint(&used) {
                used.extend(tests);
                bound += 1;
            }
        }
        bound
    }
}

/// A solution: again and again the test with the most open items.
fn greedy(problem: &Problem) -> Vec<usize> {
    let mut problem = problem.clone();
    let mut chosen = Vec::new();
    while !problem.tests.is_empty() {
        let largest = problem.items.iter();
        let largest = largest.max_by_key(|(test, items)| (items.len(), std::cmp::Reverse(**test)));
        let Some((&test, _)) = largest else { break };
        problem.choose(test);
        chosen.push(test);
    }
    chosen
}

struct Search {
    /// The best solution so far.
    best: Vec<usize>,
    steps: u64,
    max_steps: u64,
}

impl Search {
    fn run(&mut self, mut problem: Problem, mut chosen: Vec<usize>) {
        if self.steps >= self.max_steps {
            return;
        }
        self.steps += 1;
        problem.reduce(&mut chosen);
        if chosen.len() + problem.bound() >= self.best.len() {
            return;
        }
        let hardest = problem.tests.iter().min_by_key(|(_, tests)| tests.len());
        let Some((_, tests)) = hardest else {
            self.best = chosen;
            return;
        };
        let mut tests: Vec<usize> = tests.iter().copied().collect();
        tests.sort_by_key(|test| (std::cmp::Reverse(problem.items[test].len()), *test));
        for test in tests {
            let (mut rest, mut with) = (problem.clone(), chosen.clone());
            rest.choose(test);
            with.push(test);
            self.run(rest, with);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{smallest_set, smallest_set_within};

    fn sets(covered: &[&[u32]]) -> Vec<BTreeSet<u32>> {
        covered
            .iter()
            .map(|items| items.iter().copied().collect())
            .collect()
    }

    fn union(covered: &[BTreeSet<u32>], tests: impl Iterator<Item = usize>) -> BTreeSet<u32> {
        tests
            .flat_map(|test| covered[test].iter().copied())
            .collect()
    }

    #[test]
    fn essential_tests_are_chosen() {
        let set = smallest_set(&sets(&[&[0, 1], &[1, 2], &[2, 3]]));
        assert_eq!((set.tests, set.essential), (vec![0, 2], vec![0, 2]));
        assert!(set.is_smallest);
    }

    #[test]
    fn no_tests_and_empty_tests_need_no_set() {
        assert!(smallest_set(&[]).tests.is_empty());
        assert!(smallest_set(&sets(&[&[], &[]])).tests.is_empty());
    }

    #[test]
    fn the_greedy_choice_is_not_always_the_smallest() {
        // The largest test is in no smallest set.
        let set = smallest_set(&sets(&[&[1, 2, 3, 4], &[0, 1, 2], &[3, 4, 5]]));
        assert_eq!((set.tests, set.is_smallest), (vec![1, 2], true));
    }

    #[test]
    fn a_search_that_stops_says_so() {
        // Each item has two of five tests, and no test is essential.
        let cycle = sets(&[&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 0]]);
        assert!(smallest_set(&cycle).is_smallest);
        assert_eq!(smallest_set(&cycle).tests.len(), 3);
        let stopped = smallest_set_within(&cycle, 1);
        assert!(!stopped.is_smallest);
        assert_eq!(union(&cycle, stopped.tests.into_iter()).len(), 5);
    }

    proptest! {
        #[test]
        fn no_smaller_set_covers_everything(
            covered in prop::collection::vec(prop::collection::btree_set(0u32..10, 0..6), 0..9)
        ) {
            let set = smallest_set(&covered);
            prop_assert!(set.is_smallest);
            let all = union(&covered, 0..covered.len());
            prop_assert_eq!(&union(&covered, set.tests.iter().copied()), &all);
            let smallest = (0u32..1 << covered.len())
                .filter(|mask| {
                    let tests = (0..covered.len()).filter(|test| mask & (1 << test) != 0);
                    union(&covered, tests) == all
                })
                .map(u32::count_ones)
                .min();
            prop_assert_eq!(smallest, Some(set.tests.len() as u32));
            for test in set.essential {
                let others = (0..covered.len()).filter(|&other| other != test);
                prop_assert!(union(&covered, others).len() < all.len());
            }
        }
    }
}
