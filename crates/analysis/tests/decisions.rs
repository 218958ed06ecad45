//! Decisions and their conditions: annotated graphs, and a naive twin that evaluates expressions.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use holloway_analysis::decisions::{Vector, decisions, independent};
use holloway_flow::PathId;
use holloway_format::{FunctionMap, Outcome, Place};
use holloway_testkit::build::{Build, compute_numbering, function};
use proptest::prelude::*;

/// Any two conditions may be one expression.
fn any(_: &FunctionMap, _: Place, _: Place) -> bool {
    true
}

/// The blocks of the conditions of each decision.
fn groups(map: &FunctionMap) -> Vec<Vec<u32>> {
    let decisions = decisions(map, &any).list.into_iter();
    decisions
        .map(|decision| {
            let conditions = decision.conditions.iter();
            conditions.map(|condition| condition.block).collect()
        })
        .collect()
}

/// A function with blocks of one instruction on lines 1, 2, …, and these branches and jumps. A
/// block without an edge returns.
fn graph(blocks: u32, edges: &[(u32, &[u32])]) -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..blocks {
        build = build.block(1, &[(0, block + 1)]);
    }
    build = build.block(0, &[]);
    for block in 0..blocks {
        let to = edges.iter().find(|(from, _)| *from == block);
        build = match to.map_or(&[][..], |(_, to)| to) {
            [] => build.edge(block, blocks, Outcome::Return),
            [to] => build.edge(block, *to, Outcome::Jump),
            [holds, fails] => {
                build
                    .edge(block, *holds, Outcome::True)
                    .edge(block, *fails, Outcome::False)
            }
            _ => unreachable!("two ways"),
        };
    }
    build.done()
}

#[test]
fn operators_are_one_decision() {
    // a && b: blocks 2 and 3 are the outcomes.
    let and = graph(4, &[(0, &[1, 3]), (1, &[2, 3])]);
    assert_eq!(groups(&and), [[0, 1]]);
    // (a && b) || (c && d)
    let mixed = graph(6, &[(0, &[1, 2]), (1, &[4, 2]), (2, &[3, 5]), (3, &[4, 5])]);
    assert_eq!(groups(&mixed), [[0, 1, 2, 3]]);
    // a ? b : c is no expression of these operators.
    let ternary = graph(5, &[(0, &[1, 2]), (1, &[3, 4]), (2, &[3, 4])]);
    assert!(groups(&ternary).is_empty());
}

#[test]
fn nested_branches_are_no_decision() {
    // if (a) { if (b) … }: block 4 is the end of the inner `if`, with a place of its own.
    let nested = graph(5, &[(0, &[1, 3]), (1, &[2, 4]), (2, &[4]), (4, &[3])]);
    assert!(groups(&nested).is_empty());
}

#[test]
fn blocks_for_probes_do_not_divide_a_decision() {
    // The edge from a to its second outcome is split: block 4 has the place of the branch.
    let split = |place: u32| {
        let build = function("f", "f.c", 1)
            .block(1, &[(0, 1)])
            .block(1, &[(0, 2)])
            .block(1, &[(0, 3)])
            .block(1, &[(0, 4)])
            .block(0, &[])
            .block(0, &[])
            .edge(0, 1, Outcome::True)
            .edge(0, 4, Outcome::False)
            .edge(1, 2, Outcome::True)
            .edge(1, 3, Outcome::False)
            .edge(2, 5, Outcome::Return)
            .edge(3, 5, Outcome::Return)
            .edge(4, 3, Outcome::Jump);
        let mut map = build.done();
        map.edges[6].place = map.edges[0].place.map(|of_branch| Place {
            line: place,
            ..of_branch
        });
        map
    };
    assert_eq!(groups(&split(1)), [[0, 1]]);
    assert!(groups(&split(9)).is_empty());
}

#[test]
fn checks_inside_conditions_are_left_out() {
    // a && (b + 1 > c): block 1 checks the addition, and block 5 panics.
    let build = function("f", "f.rs", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(1, &[(0, 6)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 4, Outcome::False)
        .edge(1, 5, Outcome::True)
        .edge(1, 2, Outcome::False)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 6, Outcome::Return)
        .edge(4, 6, Outcome::Return)
        .edge(5, 6, Outcome::Noreturn);
    assert_eq!(groups(&build.done()), [[0, 2]]);
}

#[test]
fn an_assertion_of_two_conditions_is_a_decision() {
    // assert!(a || b): block 3 panics.
    let build: Build = function("f", "f.rs", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 2, Outcome::True)
        .edge(0, 1, Outcome::False)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Return)
        .edge(3, 4, Outcome::Noreturn);
    assert_eq!(groups(&build.done()), [[0, 1]]);
}

#[test]
fn the_condition_of_a_do_loop_leads_back() {
    // do { 1 } while (2 && 3);
    let map = graph(5, &[(0, &[1]), (1, &[2]), (2, &[3, 4]), (3, &[1, 4])]);
    assert_eq!(groups(&map), [[2, 3]]);
    assert!(!decisions(&map, &any).list[0].is_cut);
}

#[test]
fn the_caller_may_keep_conditions_apart() {
    let and = graph(4, &[(0, &[1, 3]), (1, &[2, 3])]);
    let never = |_: &FunctionMap, first: Place, second: Place| {
        assert_eq!((first.line, second.line), (1, 2));
        false
    };
    assert!(decisions(&and, &never).list.is_empty());
}

#[test]
fn a_path_that_starts_inside_cuts_the_decision() {
    // The edge from a to b is a cut.
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .cut()
        .edge(0, 3, Outcome::False)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Return)
        .edge(3, 4, Outcome::Return)
        .done();
    assert!(decisions(&map, &any).list[0].is_cut);
}

#[test]
fn vectors_of_an_and_show_independence() {
    let vector = |evaluated, values, outcome| Vector {
        evaluated,
        values,
        outcome,
    };
    let (both, second_fails, first_fails) =
        (vector(3, 3, true), vector(3, 1, false), vector(1, 0, false));
    let check = |vectors: &[Vector], expect: u64| {
        assert_eq!(independent(vectors.iter().copied()), expect);
    };
    check(&[both], 0);
    check(&[both, first_fails], 1);
    check(&[both, second_fails], 2);
    check(&[second_fails, first_fails], 0);
    check(&[both, second_fails, first_fails], 3);
}

/// An expression in which each condition occurs once.
#[derive(Clone, Debug)]
enum Expression {
    Condition,
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = Just(Expression::Condition);
    leaf.prop_recursive(4, 8, 2, |inner| {
        let boxed = inner.prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Expression::Not),
            (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Expression::And(a, b)),
            (boxed.clone(), boxed).prop_map(|(a, b)| Expression::Or(a, b)),
        ]
    })
}

impl Expression {
    fn conditions(&self) -> u32 {
        match self {
            Self::Condition => 1,
            Self::Not(inner) => inner.conditions(),
            Self::And(a, b) | Self::Or(a, b) => a.conditions() + b.conditions(),
        }
    }

    /// Emits the branches of the expression, the first condition being block `first`.
    fn emit(&self, first: u32, holds: u32, fails: u32, edges: &mut Vec<(u32, [u32; 2])>) {
        match self {
            Self::Condition => edges.push((first, [holds, fails])),
            Self::Not(inner) => inner.emit(first, fails, holds, edges),
            Self::And(a, b) | Self::Or(a, b) => {
                let second = first + a.conditions();
                match self {
                    Self::And(..) => a.emit(first, second, fails, edges),
                    _ => a.emit(first, holds, second, edges),
                }
                b.emit(second, holds, fails, edges);
            }
        }
    }

    /// Evaluates the expression, and records the evaluated conditions.
    fn evaluate(&self, first: u32, values: u64, evaluated: &mut u64) -> bool {
        match self {
            Self::Condition => {
                *evaluated |= 1 << first;
                values & (1 << first) != 0
            }
            Self::Not(inner) => !inner.evaluate(first, values, evaluated),
            Self::And(a, b) => {
                a.evaluate(first, values, evaluated)
                    && b.evaluate(first + a.conditions(), values, evaluated)
            }
            Self::Or(a, b) => {
                a.evaluate(first, values, evaluated)
                    || b.evaluate(first + a.conditions(), values, evaluated)
            }
        }
    }
}

proptest! {
    #[test]
    fn the_paths_of_an_expression_are_its_vectors(expression in expression()) {
        let conditions = expression.conditions();
        let (holds, fails) = (conditions, conditions + 1);
        let mut edges = Vec::new();
        expression.emit(0, holds, fails, &mut edges);
        let edges: Vec<(u32, &[u32])> = edges.iter().map(|(from, to)| (*from, &to[..])).collect();
        let map = graph(conditions + 2, &edges);
        let found = decisions(&map, &any).list;
        if conditions == 1 {
            prop_assert!(found.is_empty());
            return Ok(());
        }
        prop_assert_eq!(found.len(), 1);
        let decision = &found[0];
        let blocks: Vec<u32> = decision.conditions.iter().map(|condition| condition.block).collect();
        prop_assert_eq!(blocks, (0..conditions).collect::<Vec<_>>());
        let numbering = compute_numbering(&map);
        let paths = (0..map.path_count).map(|path| numbering.regenerate(PathId(path)).unwrap());
        let vectors: BTreeSet<Vector> = paths.map(|path| decision.vector(&path).unwrap()).collect();
        // The order of the outcomes is arbitrary.
        let expected = |negated: bool| -> BTreeSet<Vector> {
            (0..1u64 << conditions)
                .map(|values| {
                    let mut evaluated = 0;
                    let outcome = expression.evaluate(0, values, &mut evaluated) != negated;
                    Vector { evaluated, values: values & evaluated, outcome }
                })
                .collect()
        };
        prop_assert!(vectors == expected(false) || vectors == expected(true));
        // Each condition occurs once, so each acts by itself in some pair.
        prop_assert_eq!(independent(vectors), (1 << conditions) - 1);
    }
}
