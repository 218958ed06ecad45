//! Tests of SEQUITUR and SEQUITUR(1) against the figures of Larus 1999, and of the two properties
//! that the algorithm's authors state.

use holloway_analysis::trace::{Grammar, LookAhead, Part, Sequitur};
use holloway_testkit::sequitur;
use proptest::prelude::*;
use sequitur::{LOOK_AHEADS, check_laws, grammar};

/// The rules as text, in the order of their first use. They are named S, A, B, …
fn show(grammar: &Grammar) -> String {
    let mut seen = vec![0];
    let mut text = String::new();
    let mut index = 0;
    while index < seen.len() {
        let name = |index: usize| {
            if index == 0 {
                'S'
            } else {
                (b'A' + index as u8 - 1) as char
            }
        };
        text.push(name(index));
        text.push('=');
        for symbol in grammar.rule(seen[index]) {
            text.push(match symbol.part() {
                Part::Terminal(id) => char::from_u32(id).expect("terminals are characters here"),
                Part::Rule(rule) => {
                    let known = seen.iter().position(|&r| r == rule);
                    name(known.unwrap_or_else(|| {
                        seen.push(rule);
                        seen.len() - 1
                    }))
                }
            });
        }
        text.push(' ');
        index += 1;
    }
    text.trim_end().to_owned()
}

fn check(look_ahead: LookAhead, input: &str, expect: &str) {
    let symbols: Vec<u32> = input.chars().map(u32::from).collect();
    assert_eq!(
        show(&grammar(look_ahead, &symbols)),
        expect,
        "{input} {look_ahead:?}"
    );
    check_laws(&symbols);
}

#[test]
fn larus_3_1_with_and_without_look_ahead() {
    for look_ahead in LOOK_AHEADS {
        check(look_ahead, "abcab", "S=AcA A=ab");
        // The grammar printed in the paper breaks rule utility.
        check(look_ahead, "abcabdabcab", "S=AdA A=BcB B=ab");
        check(look_ahead, "abcabdabcabd", "S=AA A=BcBd B=ab");
        // The paper's grammar for this string has a misprint.
        check(look_ahead, "abcabcabcabc", "S=AA A=BB B=abc");
    }
}

#[test]
fn larus_figure_5_grammar() {
    for look_ahead in LOOK_AHEADS {
        check(look_ahead, "abbcabbcabbc", "S=AAA A=abbc");
    }
}

#[test]
fn larus_3_2_look_ahead() {
    check(LookAhead::None, "11111211111", "S=AB2BA A=11 B=A1");
    check(LookAhead::One, "11111211111", "S=A2A A=BB1 B=11");
}

#[test]
fn larus_figure_4_look_ahead() {
    check(LookAhead::None, "121213121214", "S=AB3B214 A=12 B=A1");
    check(LookAhead::One, "121213121214", "S=A3A4 A=BB1 B=12");
}

#[test]
fn strings_that_break_other_implementations() {
    for text in [
        "52225222",
        "acccaccc",
        "aabbaabb",
        "aabababbaaabababb",
        "1000110110001000",
    ] {
        check_laws(&text.chars().map(u32::from).collect::<Vec<_>>());
    }
}

#[test]
fn every_short_string_of_three_symbols() {
    for length in 0..=10u32 {
        for number in 0..3u32.pow(length) {
            let digits: Vec<u32> = (0..length)
                .map(|index| number / 3u32.pow(index) % 3)
                .collect();
            check_laws(&digits);
        }
    }
}

#[test]
fn runs_of_one_symbol() {
    for length in 0..300 {
        check_laws(&vec![7; length]);
    }
}

proptest! {
    #[test]
    fn random_strings(input in prop::collection::vec(0u32..4, 0..400)) {
        check_laws(&input);
    }

    #[test]
    fn random_strings_of_many_symbols(input in prop::collection::vec(0u32..30, 0..2000)) {
        check_laws(&input);
    }

    #[test]
    fn repeated_pieces(pieces in prop::collection::vec(prop::collection::vec(0u32..5, 1..12), 1..6),
                       order in prop::collection::vec(0usize..6, 0..120)) {
        let input: Vec<u32> = order.iter().flat_map(|&i| pieces[i % pieces.len()].clone()).collect();
        check_laws(&input);
    }

    #[test]
    fn a_cleared_sequitur_equals_a_new_one(first in prop::collection::vec(0u32..4, 0..100), second in prop::collection::vec(0u32..4, 0..100)) {
        for look_ahead in LOOK_AHEADS {
            let mut used = Sequitur::new(look_ahead);
            first.iter().for_each(|&symbol| used.push(symbol));
            used.clear();
            second.iter().for_each(|&symbol| used.push(symbol));
            prop_assert_eq!(used.finish(), grammar(look_ahead, &second));
        }
    }
}
