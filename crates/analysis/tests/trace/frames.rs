//! Tests of activations: sequences of up to k paths, and callers.

use std::collections::BTreeMap;

use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::context::{Context, context};
use holloway_analysis::trace::loops::loops;
use holloway_analysis::trace::stats::{depth, stats};
use holloway_analysis::trace::{Grammar, Symbol};
use holloway_format::Count;
use proptest::prelude::*;

use super::{grammars, path, sequitur};

const LIMIT: usize = 1 << 20;

/// Events of terminals 0 to 11: two functions' paths of all kinds, frames left, a third function's
/// entry, and a gap.
fn events() -> Vec<Event> {
    let mut events = Vec::new();
    for function in 0..2 {
        for (enters, leaves) in [(true, true), (true, false), (false, false), (false, true)] {
            events.push(path(function, enters, leaves, 1));
        }
    }
    events.extend([
        Event::Left(1),
        Event::Left(2),
        path(2, true, false, 1),
        Event::Gap,
    ]);
    events
}

/// An activation: its function, its paths, and the function below.
struct Activation {
    function: u32,
    paths: Vec<u32>,
    caller: Option<u32>,
}

/// All activations of a string, event by event.
fn activations(string: &[u32], events: &[Event]) -> Vec<Activation> {
    let mut open: Vec<Activation> = Vec::new();
    let mut done = Vec::new();
    for &terminal in string {
        match events[terminal as usize] {
            Event::Path {
                function,
                enters,
                leaves,
                ..
            } => {
                if enters || open.last().is_none_or(|top| top.function != function) {
                    let caller = open.last().map(|top| top.function);
                    open.push(Activation {
                        function,
                        paths: Vec::new(),
                        caller,
                    });
                }
                open.last_mut().unwrap().paths.push(terminal);
                if leaves {
                    done.extend(open.pop());
                }
            }
            Event::Left(frames) => (0..frames).for_each(|_| done.extend(open.pop())),
            Event::Gap => done.append(&mut open),
        }
    }
    done.append(&mut open);
    done
}

fn reference_loops(string: &[u32], events: &[Event], k: usize) -> BTreeMap<Vec<u32>, Count> {
    let mut counts = BTreeMap::new();
    for activation in activations(string, events) {
        for length in 1..=k {
            for window in activation.paths.windows(length) {
                *counts.entry(window.to_vec()).or_default() += Count(1);
            }
        }
    }
    counts
}

fn reference_context(string: &[u32], events: &[Event], wanted: &[bool]) -> Context {
    let is_wanted = |id: u32| wanted[id as usize];
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    for pair in string.windows(2) {
        if is_wanted(pair[1]) {
            *before.entry(pair[0]).or_default() += Count(1);
        }
        if is_wanted(pair[0]) {
            *after.entry(pair[1]).or_default() += Count(1);
        }
    }
    let mut callers = BTreeMap::new();
    for activation in activations(string, events) {
        let times = activation.paths.iter().filter(|&&id| is_wanted(id)).count() as u64;
        if times > 0 {
            *callers.entry(activation.caller).or_default() += Count(times);
        }
    }
    Context {
        count: Count(string.iter().filter(|&&id| is_wanted(id)).count() as u64),
        before: ranked(before),
        after: ranked(after),
        callers: ranked(callers),
    }
}

fn ranked<K: Ord>(counts: BTreeMap<K, Count>) -> Vec<(K, Count)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    counts
}

#[test]
fn a_loop_that_calls_is_one_string() {
    // Twice: f enters, goes around twice, and leaves. It calls g in each round.
    let string = [1, 4, 2, 4, 2, 4, 3].repeat(2);
    let grams = loops(&sequitur(&string), &events(), 4, LIMIT).unwrap();
    assert_eq!(grams.count(&[1, 2, 2, 3]), Count(2));
    assert_eq!(grams.count(&[2, 2]), Count(2));
    assert_eq!(grams.count(&[4]), Count(6));
    assert_eq!(grams.count(&[3, 1]), Count::ZERO);
    assert_eq!(grams.count(&[4, 4]), Count::ZERO);
}

/// Only a damaged file can contain calls that nest so deeply.
#[test]
fn too_many_open_activations_are_refused() {
    let rules = (0..40).map(|rule| match rule {
        39 => vec![Symbol::terminal(1)],
        _ => vec![Symbol::rule(rule + 1); 2],
    });
    let deep = Grammar::new(rules).unwrap();
    let error = loops(&deep, &events(), 2, LIMIT).unwrap_err();
    assert!(error.to_string().contains("activations open at once"));
    let left = [Event::Left(u32::MAX)];
    assert!(context(&sequitur(&[0, 0]), &left, &[true]).is_err());
    assert_eq!(depth(&deep, &events(), deep.len()), deep.len() as i64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn loops_match_the_activations(grammar in grammars(12), k in 1usize..7) {
        let string: Vec<u32> = grammar.expand().collect();
        let grams = loops(&grammar, &events(), k, LIMIT).unwrap();
        let actual: BTreeMap<_, _> = grams.nodes().map(|(id, node)| (grams.symbols(id), node.count)).collect();
        prop_assert_eq!(actual, reference_loops(&string, &events(), k));
    }

    #[test]
    fn contexts_match_the_expansion(grammar in grammars(12), wanted in prop::collection::vec(any::<bool>(), 12)) {
        let string: Vec<u32> = grammar.expand().collect();
        let actual = context(&grammar, &events(), &wanted).unwrap();
        prop_assert_eq!(actual, reference_context(&string, &events(), &wanted));
    }

    #[test]
    fn numbers_and_depths_match_the_expansion(grammar in grammars(12), at in any::<prop::sample::Index>()) {
        let string: Vec<u32> = grammar.expand().collect();
        let events = events();
        let stats = stats(&grammar, &events);
        let count = |in_event: &dyn Fn(Event) -> u64| Count(string.iter().map(|&id| in_event(events[id as usize])).sum());
        prop_assert_eq!(stats.events, Count(string.len() as u64));
        prop_assert_eq!(stats.paths, count(&|event| event.function().is_some().into()));
        prop_assert_eq!(stats.enters, count(&|event| event.enters().into()));
        prop_assert_eq!(stats.leaves, count(&|event| event.leaves().into()));
        prop_assert_eq!(stats.left, count(&|event| match event { Event::Left(frames) => frames.into(), _ => 0 }));
        let at = at.index(string.len() + 1);
        let net: i64 = string[..at].iter().map(|&id| holloway_analysis::trace::stats::change(events[id as usize])).sum();
        prop_assert_eq!(depth(&grammar, &events, at as u64), net);
    }
}
