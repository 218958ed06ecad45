//! Tests of sequence counts and hot subpaths.

use std::collections::BTreeMap;

use holloway_analysis::trace::Grammar;
use holloway_analysis::trace::grams::{Grams, grams};
use holloway_analysis::trace::hot::{Bounds, HotSubpath, exact, figure_7};
use holloway_format::Count;
use proptest::prelude::*;

use super::{any_grammar, as_letters, grammar, grammars, letters, sequitur, string};

const LIMIT: usize = 1 << 20;

/// Slow reference implementation: all sequences of up to `k` terminals, counted one by one.
fn reference_counts(string: &[u32], k: usize) -> BTreeMap<Vec<u32>, Count> {
    let mut counts = BTreeMap::new();
    for length in 1..=k {
        for window in string.windows(length) {
            *counts.entry(window.to_vec()).or_default() += Count(1);
        }
    }
    counts
}

fn listed(grams: &Grams) -> BTreeMap<Vec<u32>, Count> {
    let nodes = grams.nodes();
    nodes
        .map(|(id, node)| (grams.symbols(id), node.count))
        .collect()
}

fn all(count: u32) -> Vec<Option<u32>> {
    (0..count).map(Some).collect()
}

/// Larus's Fig. 5: abbcabbcabbc.
fn figure_5() -> Grammar {
    grammar(&["111", "abbc"])
}

#[test]
fn sequences_of_figure_5_are_counted_exactly() {
    let grams = grams(&figure_5(), &all(3), 3, LIMIT).unwrap();
    for (sequence, count) in [
        ("ab", 3),
        ("bb", 3),
        ("bc", 3),
        ("abb", 3),
        ("bbc", 3),
        ("ca", 2),
        ("bca", 2),
        ("cab", 2),
        ("b", 6),
        ("cc", 0),
        ("abbc", 0), // longer than 3
    ] {
        assert_eq!(grams.count(&letters(sequence)), Count(count), "{sequence}");
    }
}

fn unit(count: usize) -> Vec<Option<u64>> {
    vec![Some(1); count]
}

fn shown(hot: &[HotSubpath]) -> Vec<(String, u64, u64)> {
    hot.iter()
        .map(|sequence| {
            (
                as_letters(&sequence.terminals),
                sequence.count.0,
                sequence.cost,
            )
        })
        .collect()
}

const FIGURE_5: Bounds = Bounds {
    min_len: 2,
    max_len: 3,
    min_cost: 6,
};

fn entry(sequence: &str, count: u64, cost: u64) -> (String, u64, u64) {
    (sequence.to_owned(), count, cost)
}

#[test]
fn figure_7_finds_ab_and_bc_in_figure_5() {
    let hot = figure_7(&figure_5(), &unit(3), &FIGURE_5);
    assert_eq!(shown(&hot), [entry("ab", 3, 6), entry("bc", 3, 6)]);
}

#[test]
fn exact_finds_all_hot_sequences_of_figure_5() {
    let hot = exact(&figure_5(), &unit(3), &FIGURE_5, LIMIT).unwrap();
    let expect = [
        entry("abb", 3, 9),
        entry("bbc", 3, 9),
        entry("ab", 3, 6),
        entry("bb", 3, 6),
        entry("bc", 3, 6),
        entry("bca", 2, 6),
        entry("cab", 2, 6),
    ];
    assert_eq!(shown(&hot), expect);
    let minimal: Vec<_> = hot
        .into_iter()
        .filter(|sequence| sequence.minimal)
        .collect();
    let minimal = shown(&minimal).into_iter().map(|entry| entry.0);
    assert_eq!(minimal.collect::<Vec<_>>(), ["ab", "bb", "bc", "cab"]);
}

/// As printed, Fig. 7 would also report "cbacba", which never ran.
#[test]
fn figure_7_does_not_report_sequences_that_never_ran() {
    let bounds = Bounds {
        min_len: 1,
        max_len: 6,
        min_cost: 6,
    };
    let hot = figure_7(&grammar(&["11", "cbacc"]), &unit(3), &bounds);
    assert_eq!(shown(&hot), [entry("cba", 2, 6)]);
}

#[test]
fn no_sequence_contains_an_event_without_cost() {
    let costs = [Some(1), None];
    let bounds = Bounds {
        min_len: 1,
        max_len: 3,
        min_cost: 1,
    };
    let sequences = |hot: Vec<HotSubpath>| {
        shown(&hot)
            .into_iter()
            .map(|entry| entry.0)
            .collect::<Vec<_>>()
    };
    let grammar = grammar(&["aab1", "a"]);
    assert_eq!(
        sequences(exact(&grammar, &costs, &bounds, LIMIT).unwrap()),
        ["a", "aa"]
    );
    assert_eq!(sequences(figure_7(&grammar, &costs, &bounds)), ["a"]);
}

#[test]
fn too_many_sequences_are_refused() {
    let string: Vec<u32> = (0..1000).collect();
    let error = grams(&sequitur(&string), &all(1000), 2, 1000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "more than 1000 different sequences: ask for shorter ones"
    );
}

proptest! {
    #[test]
    fn sequences_match_the_expansion(grammar in grammars(4), k in 1usize..9) {
        let expansion: Vec<u32> = grammar.expand().collect();
        let grams = grams(&grammar, &all(4), k, LIMIT).unwrap();
        prop_assert_eq!(listed(&grams), reference_counts(&expansion, k));
    }

    #[test]
    fn skipped_terminals_do_not_count(grammar in grammars(5), k in 1usize..5) {
        let symbols = [Some(0), None, Some(1), None, Some(0)];
        let expansion: Vec<u32> = grammar.expand().filter_map(|id| symbols[id as usize]).collect();
        let grams = grams(&grammar, &symbols, k, LIMIT).unwrap();
        prop_assert_eq!(listed(&grams), reference_counts(&expansion, k));
    }

    #[test]
    fn exact_reports_all_hot_sequences(
        grammar in grammars(3), min_len in 1usize..4, length_range in 0usize..4, min_cost in 0u64..60,
    ) {
        let bounds = Bounds { min_len, max_len: min_len + length_range, min_cost };
        let costs = [Some(1), Some(5), Some(0)];
        let expansion: Vec<u32> = grammar.expand().collect();
        let cost = |sequence: &[u32]| sequence.iter().map(|&id| costs[id as usize].unwrap()).sum::<u64>();
        let counts = reference_counts(&expansion, bounds.max_len);
        let is_hot = |sequence: &[u32]| {
            sequence.len() >= min_len && counts.get(sequence).is_some_and(|count| count.0 * cost(sequence) >= min_cost)
        };
        let mut expect = Vec::new();
        for (sequence, &count) in counts.iter().filter(|(sequence, _)| is_hot(sequence)) {
            let minimal = !(1..sequence.len()).any(|end| is_hot(&sequence[..end]));
            expect.push(HotSubpath { terminals: sequence.clone(), count, cost: count.0 * cost(sequence), minimal });
        }
        let mut actual = exact(&grammar, &costs, &bounds, LIMIT).unwrap();
        prop_assert!(actual.is_sorted_by(|a, b| a.cost >= b.cost));
        actual.sort_by(|a, b| a.terminals.cmp(&b.terminals));
        prop_assert_eq!(actual, expect);
    }

    /// Fig. 7 reports only hot sequences, and never a higher count than the true one.
    #[test]
    fn figure_7_reports_hot_subpaths_only(
        grammar in prop_oneof![any_grammar(3), string(3).prop_map(|string| sequitur(&string))],
        min_len in 1usize..4, length_range in 0usize..6, min_cost in 1u64..40,
    ) {
        let bounds = Bounds { min_len, max_len: min_len + length_range, min_cost };
        let costs = [Some(1), Some(3), Some(2)];
        let expansion: Vec<u32> = grammar.expand().collect();
        let counts = reference_counts(&expansion, bounds.max_len);
        for hot in figure_7(&grammar, &costs, &bounds) {
            let count = counts.get(&hot.terminals).copied().unwrap_or_default();
            prop_assert!(hot.count <= count, "{} {} of {}", as_letters(&hot.terminals), hot.count, count);
            prop_assert!(hot.cost >= min_cost && hot.terminals.len() >= min_len);
        }
    }
}
