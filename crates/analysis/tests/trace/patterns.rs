//! Tests of patterns, sequences of events, and orders.

use holloway_analysis::trace::Terminal;
use holloway_analysis::trace::before::{Order, Runs, before};
use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::pattern::{
    NameError, Pattern, PatternError, Referent, Resolved, WantedPath,
};
use holloway_analysis::trace::query::{Frequency, Matches, freq, query};
use holloway_format::Count;
use proptest::prelude::*;
use regex::Regex;

use super::{as_letters, grammar, grammars, letters, path, sequitur};

/// The terminals a to d are the paths 0 of the functions a to d; e is a left frame; f and g are the
/// paths 1 (from the entry) and 2 (to the exit) of function a.
fn terminals() -> (Vec<Terminal>, Vec<Event>) {
    let path_of = |function, path| Terminal::Path { function, path };
    let terminals = vec![
        path_of(0, 0),
        path_of(1, 0),
        path_of(2, 0),
        path_of(3, 0),
        Terminal::Left(1),
        path_of(0, 1),
        path_of(0, 2),
    ];
    let mut events: Vec<Event> = (0..4)
        .map(|function| path(function, false, false, 1))
        .collect();
    events.extend([
        Event::Left(1),
        path(0, true, false, 1),
        path(0, false, true, 1),
    ]);
    (terminals, events)
}

/// The name of path 1 of each function begins with 1234.
fn lookup(name: &str, path: WantedPath) -> Result<Vec<Referent>, NameError> {
    let path = match path {
        WantedPath::Any => None,
        WantedPath::Number(number) => Some(number),
        WantedPath::Named(prefix) => Some(u32::from(prefix.to_string().starts_with("#1234"))),
    };
    let referents = |functions: Vec<u32>| {
        let functions = functions.into_iter();
        Ok(functions
            .map(|function| Referent { function, path })
            .collect())
    };
    match name {
        "a" | "b" | "c" | "d" => referents(letters(name)),
        "b or c" => referents(vec![1, 2]),
        _ => Err(NameError::NoFunction {
            name: name.to_owned(),
            similar: Vec::new(),
        }),
    }
}

fn resolve(text: &str) -> Result<Resolved, PatternError> {
    let (terminals, events) = terminals();
    Pattern::parse(text)?.resolve(&terminals, &events, &lookup)
}

fn found(text: &str, pattern: &str) -> (u64, Option<(u64, u64)>) {
    let grammar = sequitur(&letters(text));
    let Matches { count, first, .. } = query(&grammar, &resolve(pattern).unwrap()).unwrap();
    (count.0, first)
}

#[test]
fn patterns_match() {
    // A lock (b) that is not released (c) before the function returns (g).
    assert_eq!(found("fabcagfabag", "b (!c)* return"), (1, Some((8, 10))));
    assert_eq!(found("fabcagfabag", "b (!c)* leave a"), (1, Some((8, 10))));
    assert_eq!(found("fabcag", "b (!c)* return"), (0, None));
    assert_eq!(found("abcabc", "a . c"), (2, Some((0, 2))));
    assert_eq!(found("aabcbc", "a+ (b c)+"), (1, Some((0, 3))));
    assert_eq!(found("fagaed", "enter a"), (1, Some((0, 0))));
    assert_eq!(found("fagaed", "a"), (4, Some((0, 0))));
    assert_eq!(found("fagaed", "a:0 | left"), (3, Some((1, 1))));
    assert_eq!(found("fagaed", "a#1234"), (1, Some((0, 0))));
    assert_eq!(found("fagaed", "\"a#1234\" a#abcd"), (1, Some((0, 1))));
    assert_eq!(found("fagaed", "a:0 left d?"), (1, Some((3, 4))));
    assert_eq!(found("fagaed", "leave . a:0"), (1, Some((2, 3))));
    assert_eq!(found("abcd", "\"b or c\" \"b or c\""), (1, Some((1, 2))));
    assert_eq!(found("abcd", "!(a|b) !!d"), (1, Some((2, 3))));
    assert_eq!(found("", "a"), (0, None));
}

fn refused(pattern: &str) -> String {
    let resolved = match resolve(pattern) {
        Ok(resolved) => resolved,
        Err(error) => return error.to_string(),
    };
    query(&sequitur(&[0, 1]), &resolved)
        .unwrap_err()
        .to_string()
}

#[test]
fn errors_contain_the_position_and_a_remedy() {
    for (pattern, expect) in [
        (
            "",
            "at character 1: an event is missing: a function's name, `f#3fa2`, `f:12`, `enter f`, `leave f`, `return`, `left` or `.`",
        ),
        (
            "a | ",
            "at character 5: an event is missing: a function's name, `f#3fa2`, `f:12`, `enter f`, `leave f`, `return`, `left` or `.`",
        ),
        (
            "(a b",
            "at character 1: `(` without `)`: add `)` after the group",
        ),
        (
            "a b) c",
            "at character 4: `)` without `(`: leave it out, or quote a name that has it",
        ),
        ("a *b", "none"),
        (
            "*a",
            "at character 1: `*` where an event is missing; a name that has it must be in double quotes",
        ),
        (
            "!(a b)",
            "at character 1: `!` must stand before one event or a choice of events, as in `!f` or `!(f|g)`",
        ),
        (
            "a !",
            "at character 4: the pattern ends where an event is missing",
        ),
        (
            "enter",
            "at character 6: `enter` must be followed by a function's name, or by `.` for any; a function of that name must be in double quotes",
        ),
        (
            "a:x",
            "at character 2: `:` must be followed by a path's number, as in `f:12`",
        ),
        (
            "a#12x4",
            "at character 2: `#` must be followed by 4 to 16 hexadecimal digits, as in `f#3fa2`",
        ),
        (
            "a:99999999999",
            "at character 2: `:` must be followed by a path's number, as in `f:12`",
        ),
        (
            "a \"b",
            "at character 3: a double quote is not closed: add `\"` after the name",
        ),
        (
            "a<b>",
            "at character 2: `<` means nothing here: a name that has it must be in double quotes",
        ),
        (
            "a nowhere::b",
            "at character 3: no function `nowhere::b` was recorded: it may be inlined or skipped (`holloway report --function` says where it went)",
        ),
        (
            "a* b?",
            "at character 1: the pattern also matches the empty sequence: use `+` for `*`, or name an event that must run",
        ),
    ] {
        let refused = if expect == "none" {
            resolve(pattern).map_or_else(|error| error.to_string(), |_| "none".to_owned())
        } else {
            refused(pattern)
        };
        assert_eq!(refused, expect, "{pattern}");
    }
}

#[test]
fn deep_patterns_are_refused() {
    let deep = "(".repeat(10_000) + "a" + &")".repeat(10_000);
    assert!(refused(&deep).contains("100 parentheses"));
    assert!(refused(&("!".repeat(10_000) + "a")).contains("100 `!`"));
    // Repeated operators are no deeper than one operator.
    let repeated = "f".to_owned() + &"+?*".repeat(100_000);
    assert_eq!(resolve(&repeated), resolve("f*"));
    assert!(refused(&"a ".repeat(2000)).contains("1,000 events"));
    // 2^30 sets of positions.
    let entangled = "(a|b)* a".to_owned() + &" (a|b)".repeat(30) + " c";
    let mut random = 1u64;
    let string = std::iter::repeat_with(|| {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (random >> 63) as u32
    });
    let string: Vec<u32> = string.take(100_000).collect();
    let error = query(&sequitur(&string), &resolve(&entangled).unwrap()).unwrap_err();
    assert!(error.to_string().contains("too many ways"), "{error}");
}

/// Frequencies of sequences in Larus's Fig. 5, including sequences across repetitions.
#[test]
fn sequences_of_figure_5_have_their_frequencies() {
    let figure_5 = grammar(&["111", "abbc"]);
    for (sequence, expect) in [
        ("a b", 3),
        ("a b b c", 3),
        ("c a", 2),
        ("b", 6),
        ("c a b b c a", 1),
        ("a c", 0),
    ] {
        assert_eq!(
            freq(&figure_5, &resolve(sequence).unwrap()).unwrap().count,
            Count(expect),
            "{sequence}"
        );
    }
    let choice = freq(&figure_5, &resolve("(a|c) (b|a:0)").unwrap());
    assert_eq!(choice.unwrap().count, Count(5));
    let error = freq(&figure_5, &resolve("a b*").unwrap()).unwrap_err();
    assert!(error.to_string().contains("without `*`"), "{error}");
}

#[test]
fn orders_are_counted() {
    let order = |text: &str| {
        let (p, q) = (resolve("a:0").unwrap(), resolve("b").unwrap());
        before(
            &sequitur(&letters(text)),
            p.single_event().unwrap(),
            q.single_event().unwrap(),
        )
    };
    let found = order("caabcbca");
    assert_eq!(
        found.p,
        Runs {
            count: Count(3),
            ends: Some((1, 7))
        }
    );
    assert_eq!(
        (
            found.at_once,
            found.before_next_p,
            found.later,
            found.preceded
        ),
        (Count(1), Count(1), Count(2), Count(2))
    );
    assert_eq!(found.p_is_first(), Some(true));
    assert_eq!(
        order("abbab").q_without_p,
        Runs {
            count: Count(1),
            ends: Some((2, 2))
        }
    );
    assert_eq!(order("ba").p_is_first(), Some(false));
    assert_eq!(order("cc").p_is_first(), None);
}

fn reference_order(string: &[u32], p: &[bool], q: &[bool]) -> Order {
    let positions = |set: &[bool]| -> Vec<usize> {
        (0..string.len())
            .filter(|&position| set[string[position] as usize])
            .collect()
    };
    let (p_positions, q_positions) = (positions(p), positions(q));
    let runs = |positions: &[usize]| Runs {
        count: Count(positions.len() as u64),
        ends: positions
            .first()
            .zip(positions.last())
            .map(|(&first, &last)| (first as u64, last as u64)),
    };
    let count = |holds: &dyn Fn(usize) -> bool| {
        let held = p_positions.iter().filter(|&&position| holds(position));
        Count(held.count() as u64)
    };
    let is_before_next_p = |position: usize| {
        let q = q_positions.iter().find(|&&q| q > position);
        let p = p_positions.iter().find(|&&p| p > position);
        q.is_some_and(|q| p.is_none_or(|p| p >= q))
    };
    let is_without_p = |&position: &usize| {
        let last = q_positions.iter().rfind(|&&q| q < position);
        // A position in both sets counts as Q first, then P.
        !p_positions
            .iter()
            .any(|&p| p < position && last.is_none_or(|&last| p >= last))
    };
    let unanswered: Vec<usize> = p_positions
        .iter()
        .copied()
        .filter(|&position| !is_before_next_p(position))
        .collect();
    let q_without_p: Vec<usize> = q_positions
        .iter()
        .copied()
        .filter(|position| is_without_p(position))
        .collect();
    Order {
        p: runs(&p_positions),
        q: runs(&q_positions),
        at_once: count(&|position| q_positions.contains(&(position + 1))),
        before_next_p: count(&is_before_next_p),
        later: count(&|position| q_positions.iter().any(|&q| q > position)),
        q_without_p: runs(&q_without_p),
        unanswered: runs(&unanswered),
        preceded: Count(
            q_positions
                .iter()
                .filter(|&&position| p_positions.iter().any(|&p| p < position))
                .count() as u64,
        ),
    }
}

/// A pattern, and the equivalent regular expression over the letters a to d.
fn pattern() -> impl Strategy<Value = (String, String)> {
    let leaf = prop_oneof![
        (0usize..4).prop_map(|position| {
            let c = &"abcd"[position..=position];
            (format!("{c}:0"), c.to_owned())
        }),
        (0usize..4).prop_map(|position| {
            let c = &"abcd"[position..=position];
            (format!("!{c}"), format!("[^{c}]"))
        }),
        Just((".".to_owned(), ".".to_owned())),
        Just(("!(a|\"b or c\")".to_owned(), "[^abc]".to_owned())),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), prop_oneof!["\\*", "\\+", "\\?"]).prop_map(
                |((pattern, regex), mark)| {
                    (format!("({pattern}){mark}"), format!("(?:{regex}){mark}"))
                }
            ),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| {
                let (pattern, regex): (Vec<_>, Vec<_>) = all.into_iter().unzip();
                (
                    format!("({})", pattern.join(" ")),
                    format!("(?:{})", regex.concat()),
                )
            }),
            prop::collection::vec(inner, 1..3).prop_map(|all| {
                let (pattern, regex): (Vec<_>, Vec<_>) = all.into_iter().unzip();
                (
                    format!("({})", pattern.join("|")),
                    format!("(?:{})", regex.join("|")),
                )
            }),
        ]
    })
}

/// Slow reference implementation: matches that share no event, each time the match that ends first.
fn reference_matches(text: &str, regex: &Regex) -> Matches {
    let (mut from, mut end) = (0, 0);
    let (mut count, mut first, mut last_end) = (0, None, None);
    while end < text.len() {
        end += 1;
        if let Some(begin) = (from..end).find(|&begin| regex.is_match(&text[begin..end])) {
            count += 1;
            first = first.or(Some((begin as u64, end as u64 - 1)));
            last_end = Some(end as u64 - 1);
            from = end;
        }
    }
    Matches {
        count: Count(count),
        first,
        last_end,
    }
}

proptest! {
    #[test]
    fn patterns_match_like_regular_expressions(grammar in grammars(4), (pattern, regex) in pattern()) {
        let text = as_letters(&grammar.expand().take(100).collect::<Vec<_>>());
        prop_assume!(grammar.len() <= 100);
        let full_regex = Regex::new(&format!("^(?:{regex})$")).unwrap();
        let found = query(&grammar, &resolve(&pattern).unwrap());
        if full_regex.is_match("") {
            prop_assert!(found.is_err());
        } else {
            prop_assert_eq!(found.unwrap(), reference_matches(&text, &full_regex), "{} in {}", pattern, text);
        }
    }

    #[test]
    fn frequencies_match_the_expansion(grammar in grammars(3), sequence in prop::collection::vec(0u32..3, 1..5)) {
        let string: Vec<u32> = grammar.expand().collect();
        let pattern: Vec<String> = sequence.iter().map(|&id| format!("{}:0", as_letters(&[id]))).collect();
        let found = freq(&grammar, &resolve(&pattern.join(" ")).unwrap()).unwrap();
        let positions: Vec<u64> = (0u64..).zip(string.windows(sequence.len())).filter(|(_, window)| *window == sequence).map(|(position, _)| position).collect();
        prop_assert_eq!(found, Frequency { count: Count(positions.len() as u64), ends: positions.first().copied().zip(positions.last().copied()) });
    }

    #[test]
    fn orders_match_the_expansion(
        grammar in grammars(4), p in prop::collection::vec(any::<bool>(), 4), q in prop::collection::vec(any::<bool>(), 4),
    ) {
        let string: Vec<u32> = grammar.expand().collect();
        prop_assert_eq!(before(&grammar, &p, &q), reference_order(&string, &p, &q));
    }

    /// Any text is a pattern or an error.
    #[test]
    fn any_text_is_parsed_or_refused(text in "[ab:. |()!*+?\"0-9x]{0,20}") {
        let _ = resolve(&text);
    }
}
