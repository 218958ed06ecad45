//! Tests of the trace analyses against slow reference implementations that read every event.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod counts;
mod frames;
mod online;
mod patterns;
mod two;

use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::{Grammar, LookAhead, Sequitur, Symbol};
use holloway_testkit::streams;
use proptest::prelude::*;

/// Terminals 0, 1, … for a, b, …
fn letters(text: &str) -> Vec<u32> {
    text.bytes()
        .map(|letter| u32::from(letter - b'a'))
        .collect()
}

fn word(terminals: &[u32]) -> String {
    let letters = terminals.iter().map(|&id| char::from(b'a' + id as u8));
    letters.collect()
}

/// A grammar of right sides, start rule first: letters are terminals, digits are rules.
fn grammar(rules: &[&str]) -> Grammar {
    let symbol = |c: u8| match c {
        b'0'..=b'9' => Symbol::rule(u32::from(c - b'0')),
        _ => Symbol::terminal(u32::from(c - b'a')),
    };
    let rules = rules.iter().map(|rule| rule.bytes().map(symbol).collect());
    Grammar::new(rules.collect::<Vec<Vec<_>>>()).unwrap()
}

fn sequitur(string: &[u32]) -> Grammar {
    let mut sequitur = Sequitur::new(LookAhead::One);
    string.iter().for_each(|&terminal| sequitur.push(terminal));
    sequitur.finish()
}

/// Strings of terminals below `count`, with repeats.
fn string(count: u32) -> impl Strategy<Value = Vec<u32>> {
    let piece = (prop::collection::vec(0..count, 1..5), 1usize..6);
    let pieces = prop::collection::vec(piece, 0..12);
    pieces.prop_map(|pieces| {
        let repeated = pieces.into_iter().map(|(piece, times)| piece.repeat(times));
        repeated.flatten().collect()
    })
}

/// Arbitrary grammars, with rules that are empty, used once, or never used.
fn any_grammar(count: u32) -> impl Strategy<Value = Grammar> {
    let right_side = prop::collection::vec((any::<bool>(), any::<u32>()), 0..5);
    let rules = prop::collection::vec(right_side, 1..8);
    rules.prop_map(move |rules| {
        let last = rules.len() as u32 - 1;
        let rules = (0u32..).zip(rules).map(|(rule, right_side)| {
            let symbol = |(is_rule, number): (bool, u32)| {
                if is_rule && rule < last {
                    Symbol::rule(rule + 1 + number % (last - rule))
                } else {
                    Symbol::terminal(number % count)
                }
            };
            right_side.into_iter().map(symbol).collect::<Vec<_>>()
        });
        Grammar::new(rules).unwrap()
    })
}

/// Grammars from SEQUITUR and arbitrary grammars.
fn grammars(count: u32) -> impl Strategy<Value = Grammar> {
    prop_oneof![
        string(count).prop_map(|string| sequitur(&string)),
        any_grammar(count)
    ]
}

fn path(function: u32, enters: bool, leaves: bool, instructions: u64) -> Event {
    Event::Path {
        function,
        enters,
        leaves,
        resumes: false,
        calls: false,
        instructions,
    }
}
