//! Checks the two properties of SEQUITUR's grammars (Nevill-Manning, Witten 1997): no digram (pair
//! of neighboring symbols) occurs twice, and each rule is used at least twice.

use std::collections::HashMap;

use holloway_analysis::trace::{Grammar, LookAhead, Part, Sequitur};

/// SEQUITUR and SEQUITUR(1).
pub const LOOK_AHEADS: [LookAhead; 2] = [LookAhead::None, LookAhead::One];

/// The grammar of a string.
pub fn grammar(look_ahead: LookAhead, input: &[u32]) -> Grammar {
    let mut sequitur = Sequitur::new(look_ahead);
    for &symbol in input {
        sequitur.push(symbol);
    }
    sequitur.finish()
}

/// Checks the grammars of a string: each grammar expands to the string, contains no digram twice
/// except for overlapping occurrences, and uses each rule at least twice.
///
/// # Panics
/// If a grammar does not have these properties.
pub fn check_laws(input: &[u32]) {
    let shown = &input[..input.len().min(2000)];
    for look_ahead in LOOK_AHEADS {
        let grammar = grammar(look_ahead, input);
        assert!(
            grammar.expand().eq(input.iter().copied()),
            "{shown:?} {look_ahead:?}"
        );
        let mut uses = vec![0; grammar.rules() as usize];
        let mut digrams = HashMap::new();
        for rule in 0..grammar.rules() {
            let side = grammar.rule(rule);
            assert!(rule == 0 || side.len() > 1, "{shown:?} {look_ahead:?}");
            for &symbol in side {
                if let Part::Rule(used) = symbol.part() {
                    uses[used as usize] += 1;
                }
            }
            for (index, pair) in side.windows(2).enumerate() {
                let (first_rule, first_index) =
                    *digrams.entry((pair[0], pair[1])).or_insert((rule, index));
                let is_first = (first_rule, first_index) == (rule, index);
                let overlaps = first_rule == rule && first_index + 1 == index;
                assert!(
                    is_first || overlaps,
                    "{pair:?} twice: {shown:?} {look_ahead:?}"
                );
            }
        }
        assert!(uses[1..].iter().all(|&u| u > 1), "{shown:?} {look_ahead:?}");
    }
}
