//! Tests of comparing two traces.

use std::collections::BTreeSet;
use std::rc::Rc;

use holloway_analysis::trace::code::{Code, Event};
use holloway_analysis::trace::diff::{Alphabet, Diff, Unit, diff, first};
use holloway_analysis::trace::{Terminal, Trace};
use holloway_format::{FunctionMap, ImageMap, ModuleMap, PlacedModule};
use proptest::prelude::*;

use super::{grammars, path, sequitur, string};

const LIMIT: usize = 1 << 20;

/// An image whose functions have only names.
fn image(build: u8, names: &[&str]) -> ImageMap {
    let function = |name: &&str| FunctionMap {
        linkage_name: (*name).into(),
        ..FunctionMap::default()
    };
    let module = ModuleMap {
        functions: names.iter().map(function).collect(),
        ..ModuleMap::default()
    };
    ImageMap {
        build_id: [build; 16],
        modules: vec![PlacedModule { base: 0, module }],
        ..ImageMap::default()
    }
}

fn name(map: &FunctionMap) -> Rc<str> {
    // The name without its hash.
    map.linkage_name.split('#').next().unwrap_or("").into()
}

/// One terminal for each function: its path 0.
fn terminals(functions: u32) -> Vec<Terminal> {
    (0..functions)
        .map(|function| Terminal::Path { function, path: 0 })
        .collect()
}

fn events(functions: u32) -> Vec<Event> {
    (0..functions)
        .map(|function| path(function, true, false, 1))
        .collect()
}

#[test]
fn functions_are_matched_across_builds() {
    let (a, b) = (
        image(1, &["f", "g#1", "old", "h"]),
        image(2, &["h", "new", "g#2", "f"]),
    );
    let (a, b) = (Code::new(&a), Code::new(&b));
    let all = terminals(4);
    let alphabet = Alphabet::new([&a, &b], [&all, &all], &name);
    assert_eq!(alphabet.functions, [vec![0, 1, 2, 3], vec![3, 4, 1, 0]]);
    assert_eq!(alphabet.terminals, [vec![0, 1, 2, 3], vec![3, 4, 1, 0]]);
    assert_eq!(alphabet.unmatched, [1, 1]);
}

fn compare(a: &Trace, b: &Trace, length: usize) -> (Alphabet, Diff) {
    let image = image(1, &["a", "b", "c", "d"]);
    let code = Code::new(&image);
    let alphabet = Alphabet::new([&code, &code], [&a.terminals, &b.terminals], &name);
    let events = events(4);
    let actual = diff(
        [a, b],
        [&events, &events],
        &alphabet,
        Unit::Events,
        length,
        LIMIT,
    )
    .unwrap();
    (alphabet, actual)
}

fn trace(string: &[u32]) -> Trace {
    Trace {
        terminals: terminals(4),
        grammar: sequitur(string),
    }
}

#[test]
fn equal_traces_have_no_difference() {
    let string = [0, 1, 2, 0, 1, 2, 3];
    let (_, actual) = compare(&trace(&string), &trace(&string), 3);
    assert!(actual.is_same());
    assert_eq!(actual.common, 7);
    assert_eq!(actual.one_sided, [vec![], vec![]]);
}

#[test]
fn the_first_difference_is_found() {
    let (a, b) = ([0, 1, 2, 0, 1, 2, 3], [0, 1, 2, 0, 1, 1, 2]);
    let (_, actual) = compare(&trace(&a), &trace(&b), 3);
    assert_eq!(
        (actual.common, actual.after_common),
        (5, [Some(2), Some(1)])
    );
    let only = |side: usize| {
        actual.one_sided[side]
            .iter()
            .map(|sequence| sequence.symbols.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(only(0), [vec![3]]);
    assert_eq!(only(1), [vec![1, 1]]);
    let (_, actual) = compare(&trace(&a), &trace(&a[..5]), 3);
    assert_eq!((actual.common, actual.after_common), (5, [Some(2), None]));
}

/// Slow reference implementation: sequences of `a` that `b` does not contain, although `b` contains
/// all their shorter parts.
fn reference_one_sided(a: &[u32], b: &[u32], length: usize) -> BTreeSet<Vec<u32>> {
    let has = |string: &[u32], part: &[u32]| {
        part.is_empty() || string.windows(part.len()).any(|window| window == part)
    };
    let mut only = BTreeSet::new();
    for length in 1..=length {
        for window in a.windows(length) {
            if !has(b, window) && has(b, &window[1..]) && has(b, &window[..length - 1]) {
                only.insert(window.to_vec());
            }
        }
    }
    only
}

proptest! {
    #[test]
    fn differences_match_the_expansions(
        a in grammars(4), mut b in string(4), keep in any::<prop::sample::Index>(), length in 1usize..5,
    ) {
        // Most of the pairs have a common beginning.
        let expanded: Vec<u32> = a.expand().collect();
        let mut other = expanded[..keep.index(expanded.len() + 1)].to_vec();
        other.append(&mut b);
        let a = Trace { terminals: terminals(4), grammar: a };
        let (alphabet, actual) = compare(&a, &trace(&other), length);
        let common = expanded.iter().zip(&other).take_while(|(a, b)| a == b).count();
        prop_assert_eq!(actual.common, common as u64);
        prop_assert_eq!(actual.after_common, [expanded.get(common).copied(), other.get(common).copied()]);
        for (side, strings) in [(0, [&expanded, &other]), (1, [&other, &expanded])] {
            let only: BTreeSet<_> = actual.one_sided[side].iter().map(|sequence| sequence.symbols.clone()).collect();
            prop_assert_eq!(only, reference_one_sided(strings[0], strings[1], length));
        }
        let symbols = alphabet.symbols(0, &events(4), Unit::Events);
        for sequence in &actual.one_sided[0] {
            let place = expanded.windows(sequence.symbols.len()).position(|window| *window == *sequence.symbols).unwrap() as u64;
            let end = place + sequence.symbols.len() as u64 - 1;
            prop_assert_eq!(first(&a.grammar, &symbols, &sequence.symbols), Some((place, end)));
        }
    }
}
