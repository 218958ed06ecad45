//! Numberings restored from their parts, which are DAG edges with values: every invalid list of
//! parts is refused.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{dag, function_cfg, number};
use holloway_flow::{
    BlockId, Cfg, CountError, DagEdge, DagEdgeId, DagEdgeKind, EdgeId, Numbering, NumberingError,
    PathEnd, PathId, SuccessorOrder, edge_counts, net_counts,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn real(from: u32, to: u32, id: u32, value: u64) -> (DagEdge, u64) {
    (
        DagEdge {
            from: BlockId(from),
            to: BlockId(to),
            kind: DagEdgeKind::Edge(EdgeId(id)),
        },
        value,
    )
}

fn dummy(from: u32, to: u32, kind: DagEdgeKind, value: u64) -> (DagEdge, u64) {
    (
        DagEdge {
            from: BlockId(from),
            to: BlockId(to),
            kind,
        },
        value,
    )
}

fn restore(parts: &[(DagEdge, u64)]) -> Result<Numbering, NumberingError> {
    Numbering::from_parts(BlockId(0), BlockId(9), parts.to_vec())
}

#[test]
fn invalid_parts_are_refused() {
    use NumberingError as E;
    let start = |to| DagEdgeKind::Start(BlockId(to));
    let cases: &[(&[(DagEdge, u64)], E)] = &[
        (&[real(0, 9, 0, 1)], E::NotBijective(BlockId(0))),
        (
            &[real(0, 9, 0, 0), real(0, 9, 1, 0)],
            E::NotBijective(BlockId(0)),
        ),
        (
            &[real(0, 9, 0, 0), real(0, 9, 1, 2)],
            E::NotBijective(BlockId(0)),
        ),
        (
            &[real(0, 9, 0, 0), real(0, 9, 0, 1)],
            E::RepeatedEdge(EdgeId(0)),
        ),
        (&[real(0, 1, 0, 0)], E::DeadEnd(BlockId(1))),
        (
            &[real(0, 1, 0, 0), real(1, 1, 1, 0), real(1, 9, 2, 1)],
            E::Cycle,
        ),
        (
            &[real(0, 1, 0, 0), real(1, 0, 1, 0)],
            E::Misplaced(DagEdgeId(1)),
        ),
        (&[real(9, 1, 0, 0)], E::Misplaced(DagEdgeId(0))),
        (
            &[dummy(0, 1, start(2), 0), real(1, 9, 0, 0)],
            E::Misplaced(DagEdgeId(0)),
        ),
        (&[dummy(0, 9, start(9), 0)], E::Misplaced(DagEdgeId(0))),
        (
            &[dummy(0, 1, DagEdgeKind::Back(EdgeId(0)), 0)],
            E::Misplaced(DagEdgeId(0)),
        ),
        (
            &[
                dummy(0, 1, start(1), 0),
                dummy(0, 1, start(1), 1),
                real(1, 9, 0, 0),
            ],
            E::RepeatedStart(BlockId(1)),
        ),
    ];
    for (parts, error) in cases {
        assert_eq!(restore(parts).unwrap_err(), *error, "{parts:?}");
    }
    let error = Numbering::from_parts(BlockId(1), BlockId(1), vec![]).unwrap_err();
    assert_eq!(error, E::EntryIsExit(BlockId(1)));
}

#[test]
fn two_to_the_64_paths_are_refused() {
    let doubled = (0..64).flat_map(|block| {
        let value = 1u64 << (63 - block);
        [
            real(block, block + 1, 2 * block, 0),
            real(block, block + 1, 2 * block + 1, value),
        ]
    });
    let parts: Vec<_> = doubled.collect();
    let result = Numbering::from_parts(BlockId(0), BlockId(64), parts);
    assert_eq!(
        result.unwrap_err(),
        NumberingError::TooManyPaths(BlockId(0))
    );
}

#[test]
fn without_edges_there_are_no_paths() {
    let empty = restore(&[]).unwrap();
    assert_eq!(empty.path_count(), 0);
    assert_eq!(empty.regenerate(PathId(0)), None);
}

#[test]
fn block_ids_need_not_be_dense() {
    let (a, b) = (u32::MAX, u32::MAX - 1);
    let numbering = restore(&[real(0, a, a, 0), real(a, b, b, 0), real(b, 9, 3, 0)]).unwrap();
    let path = numbering.regenerate(PathId(0)).unwrap();
    assert_eq!(path.blocks, [0, a, b].map(BlockId));
    assert_eq!(
        edge_counts(&one_edge(), &numbering, [(PathId(0), 1)]),
        Err(CountError::NoSuchEdge(EdgeId(a)))
    );
}

fn one_edge() -> Cfg {
    "b0: entry\n e0 -> b1\nb1: exit".parse().unwrap()
}

#[test]
fn counts_of_nonexistent_paths_are_refused() {
    let numbering = restore(&[real(0, 9, 0, 0)]).unwrap();
    let cfg = one_edge();
    let counts = edge_counts(&cfg, &numbering, [(PathId(0), u64::MAX), (PathId(0), 7)]).unwrap();
    assert_eq!((counts.calls, counts.edges), (6, vec![6]), "sums wrap");
    let counts = [(PathId(1), 1)];
    let error = CountError::NoSuchPath(PathId(1));
    assert_eq!(edge_counts(&cfg, &numbering, counts), Err(error));
    assert_eq!(net_counts(&cfg, &numbering, counts), Err(error));
}

/// Checks that each path number belongs to exactly one path.
fn check_sound(numbering: &Numbering) {
    let count = numbering.path_count().min(500);
    let paths: BTreeSet<_> = (0..count)
        .map(|id| {
            let path = numbering.regenerate(PathId(id)).unwrap();
            assert_eq!(numbering.number_of(&path), Some(PathId(id)));
            path
        })
        .collect();
    assert_eq!(paths.len() as u64, count);
    assert_eq!(numbering.regenerate(PathId(numbering.path_count())), None);
}

fn any_part() -> impl Strategy<Value = (DagEdge, u64)> {
    let id = 0..6u32;
    let kind = (0..6u8, id.clone()).prop_map(|(kind, id)| match kind {
        0 => DagEdgeKind::Start(BlockId(id)),
        1 => DagEdgeKind::Back(EdgeId(id)),
        2 => DagEdgeKind::Cut(EdgeId(id)),
        _ => DagEdgeKind::Edge(EdgeId(id)),
    });
    let value = prop_oneof![0..4u64, any::<u64>()];
    (id.clone(), id, kind, value).prop_map(|(from, to, kind, value)| {
        (
            DagEdge {
                from: BlockId(from),
                to: BlockId(to),
                kind,
            },
            value,
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_parts_are_a_numbering_or_an_error(parts in prop::collection::vec(any_part(), 0..8)) {
        if let Ok(numbering) = Numbering::from_parts(BlockId(0), BlockId(5), parts) {
            check_sound(&numbering);
        }
    }

    /// If one field of one edge changes, the result is an error or still a bijection.
    #[test]
    fn a_changed_part_is_a_bijection_or_an_error(cfg in function_cfg(10), position in any::<prop::sample::Index>(), part in any_part(), field in 0..4u8) {
        let (cfg, dag) = dag(cfg);
        let numbering = number(&cfg, &dag, SuccessorOrder::MostPathsLast, 1 << 40);
        let values = (0..).map(|id| numbering.value(DagEdgeId(id)));
        let mut parts: Vec<_> = numbering.dag_edges().iter().copied().zip(values).collect();
        prop_assume!(!parts.is_empty());
        let changed = position.get_mut(&mut parts);
        match field {
            0 => changed.0.from = part.0.from,
            1 => changed.0.to = part.0.to,
            2 => changed.0.kind = part.0.kind,
            _ => changed.1 = part.1,
        }
        if let Ok(numbering) = Numbering::from_parts(cfg.entry(), cfg.exit(), parts) {
            check_sound(&numbering);
        }
    }

    /// A changed path is another path or no path at all.
    #[test]
    fn only_paths_have_numbers(cfg in function_cfg(10), id in any::<u64>(), change in 0..8u8, new_id in 0..12u32) {
        let (cfg, dag) = dag(cfg);
        let numbering = number(&cfg, &dag, SuccessorOrder::MostPathsLast, 1 << 40);
        prop_assume!(numbering.path_count() > 0);
        let path = numbering.regenerate(PathId(id % numbering.path_count())).unwrap();
        let mut changed = path.clone();
        match change {
            0 => changed.start = holloway_flow::PathStart::Loop(BlockId(new_id)),
            1 => changed.end = PathEnd::Exit(EdgeId(new_id)),
            2 => changed.end = PathEnd::Back(EdgeId(new_id)),
            3 => changed.end = PathEnd::Cut(path.end.edge()),
            4 => drop(changed.blocks.pop()),
            5 => changed.blocks.push(BlockId(new_id)),
            6 => changed.blocks[new_id as usize % path.blocks.len()] = BlockId(new_id),
            _ => changed.edges.push(EdgeId(new_id)),
        }
        match numbering.number_of(&changed) {
            Some(number) => prop_assert_eq!(numbering.regenerate(number).unwrap(), changed),
            None => prop_assert!(changed != path),
        }
    }
}
