//! Compares dominators, loops, and weights with their definitions, and checks which graphs are
//! refused.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{any_cfg, reachable};
use holloway_flow::{
    BlockId, Cfg, CfgError, Dag, Dominators, Edge, EdgeId, EdgeKind, Loops, estimate_weights,
    reverse_postorder,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A block dominates another block if the other block cannot be reached without it.
fn naive_dominators(cfg: &Cfg) -> BTreeMap<BlockId, BTreeSet<BlockId>> {
    let reached = reachable(cfg);
    let mut dominators: BTreeMap<BlockId, BTreeSet<BlockId>> = reached
        .iter()
        .map(|&block| (block, BTreeSet::new()))
        .collect();
    for &removed in &reached {
        let edges = cfg.edges().iter().copied();
        let edges = edges.filter(|edge| edge.from != removed && edge.to != removed);
        let remaining =
            Cfg::new(cfg.block_count(), cfg.entry(), cfg.exit(), edges.collect()).unwrap();
        let still_reached = if removed == cfg.entry() {
            BTreeSet::new()
        } else {
            reachable(&remaining)
        };
        for block in reached.difference(&still_reached) {
            dominators.get_mut(block).unwrap().insert(removed);
        }
    }
    dominators
}

/// The loop of a head: the head, and every block that reaches one of its back edges without passing
/// the head.
fn naive_loops(cfg: &Cfg) -> BTreeMap<BlockId, BTreeSet<BlockId>> {
    let dominators = naive_dominators(cfg);
    let mut loops: BTreeMap<BlockId, BTreeSet<BlockId>> = BTreeMap::new();
    for edge in cfg.edges() {
        if !dominators
            .get(&edge.from)
            .is_some_and(|set| set.contains(&edge.to))
        {
            continue;
        }
        let body = loops.entry(edge.to).or_default();
        body.insert(edge.to);
        let mut work = vec![edge.from];
        while let Some(block) = work.pop() {
            if body.insert(block) {
                let into = cfg
                    .predecessors(block)
                    .iter()
                    .map(|&edge| cfg.edge(edge).from);
                work.extend(into.filter(|from| dominators.contains_key(from)));
            }
        }
    }
    loops
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Exit edges do not change the estimates of other edges, and do not turn other edges into back
    /// edges.
    #[test]
    fn exit_edges_do_not_affect_other_edges(cfg in any_cfg(10), cold in 0..10u32) {
        let plain: Vec<Edge> = cfg.edges().iter().copied().filter(|edge| edge.kind != EdgeKind::Exit).collect();
        let kept_ids: Vec<usize> = (0..cfg.edges().len()).filter(|&id| cfg.edges()[id].kind != EdgeKind::Exit).collect();
        let without = Cfg::new(cfg.block_count(), cfg.entry(), cfg.exit(), plain).unwrap();
        let weights = estimate_weights(&cfg, &[BlockId(cold)]);
        let others: Vec<u64> = kept_ids.iter().map(|&id| weights[id]).collect();
        prop_assert_eq!(others, estimate_weights(&without, &[BlockId(cold)]));
        if let (Ok(with), Ok(without)) = (Dag::new(&cfg), Dag::new(&without)) {
            let back: Vec<_> = without.back_edges().map(|id| kept_ids[id.index()]).collect();
            prop_assert_eq!(with.back_edges().map(EdgeId::index).collect::<Vec<_>>(), back);
        }
    }

    #[test]
    fn dominators_match_their_definition(cfg in any_cfg(12)) {
        let naive = naive_dominators(&cfg);
        let dominators = Dominators::new(&cfg);
        for a in cfg.blocks() {
            for b in cfg.blocks() {
                let expected = naive.get(&b).is_some_and(|set| set.contains(&a));
                prop_assert_eq!(dominators.dominates(a, b), expected, "{} over {}", a, b);
            }
            // All other strict dominators dominate the immediate dominator.
            let mut strict = naive.get(&a).cloned().unwrap_or_default();
            strict.remove(&a);
            let closest = strict.iter().copied().find(|candidate| strict.is_subset(&naive[candidate]));
            prop_assert_eq!(dominators.immediate(a), closest);
        }
        let order: BTreeSet<_> = reverse_postorder(&cfg).into_iter().collect();
        prop_assert_eq!(order, reachable(&cfg));
    }

    #[test]
    fn loops_match_their_definition(cfg in any_cfg(12)) {
        let naive = naive_loops(&cfg);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        prop_assert_eq!(loops.all().iter().map(|l| l.head).collect::<BTreeSet<_>>(), naive.keys().copied().collect());
        for block in cfg.blocks() {
            let enclosing: Vec<_> = naive.iter().filter(|(_, body)| body.contains(&block)).collect();
            prop_assert_eq!(loops.depth(block) as usize, enclosing.len());
            let innermost = enclosing.iter().min_by_key(|(_, body)| body.len()).map(|(head, _)| **head);
            prop_assert_eq!(loops.innermost(block).map(|index| loops.all()[index].head), innermost);
            for other in cfg.blocks() {
                let leaves = innermost.is_some_and(|head| !naive[&head].contains(&other));
                prop_assert_eq!(loops.leaves(block, other), leaves);
            }
        }
        for (index, natural_loop) in loops.all().iter().enumerate() {
            prop_assert!(natural_loop.parent.is_none_or(|parent| parent > index));
            prop_assert!(natural_loop.back_edges.iter().all(|&edge| cfg.edge(edge).to == natural_loop.head));
        }
    }
}

fn weights(text: &str, cold: &[u32]) -> Vec<u64> {
    let cold: Vec<BlockId> = cold.iter().copied().map(BlockId).collect();
    estimate_weights(&text.parse().unwrap(), &cold)
}

#[test]
fn both_edges_of_a_branch_weigh_the_same() {
    let text =
        "b0: entry\n e0 -> b1\n e1 -> b2\nb1:\n e2 -> b3\nb2:\n e3 -> b3\nb3:\n e4 -> b4\nb4: exit";
    let weights = weights(text, &[]);
    assert_eq!(weights[0], weights[1]);
    assert_eq!(weights[4], weights[0] + weights[1] - 1);
}

#[test]
fn a_loop_head_weighs_eight_times_its_entry() {
    let text =
        "b0: entry\n e0 -> b1\nb1:\n e1 -> b2\n e2 -> b3\nb2:\n e3 -> b1\nb3:\n e4 -> b4\nb4: exit";
    let weights = weights(text, &[]);
    assert!(
        (weights[1] + weights[2]).abs_diff(8 * weights[0]) <= 1,
        "equal except for rounding"
    );
    assert!(
        weights[1] > 7 * weights[2],
        "staying is likelier than leaving"
    );
    assert_eq!(weights[1], weights[3]);
}

#[test]
fn edges_to_cold_blocks_weigh_almost_nothing() {
    let text =
        "b0: entry\n e0 -> b1\n e1 -> b2\nb1:\n e2 -> b3\nb2:\n e3 -> b4\nb3:\n e4 -> b4\nb4: exit";
    // b3 is cold. So b1 is cold too, because it leads only to b3.
    let cold = weights(text, &[3]);
    assert_eq!(cold[0], 1);
    assert!(cold[1] > 1 << 20);
    // A cold block that is not in the graph has no effect.
    assert_eq!(weights(text, &[77]), weights(text, &[]));
}

fn graph(edges: &[(u32, u32, EdgeKind)]) -> Result<Cfg, CfgError> {
    let edges = edges.iter().map(|&(from, to, kind)| Edge {
        from: BlockId(from),
        to: BlockId(to),
        kind,
    });
    Cfg::new(3, BlockId(0), BlockId(2), edges.collect())
}

#[test]
fn invalid_graphs_are_refused() {
    use EdgeKind::{Cut, Exit, Pinned, Plain};
    assert_eq!(
        graph(&[(0, 3, Plain)]),
        Err(CfgError::NoSuchBlock(BlockId(3)))
    );
    assert_eq!(
        graph(&[(0, 1, Plain), (2, 1, Plain)]),
        Err(CfgError::LeavesExit(EdgeId(1)))
    );
    assert_eq!(
        graph(&[(1, 0, Plain)]),
        Err(CfgError::EntersEntry(EdgeId(0)))
    );
    assert_eq!(
        graph(&[(1, 2, Cut)]),
        Err(CfgError::ExitNotPlain(EdgeId(0)))
    );
    assert_eq!(
        graph(&[(1, 2, Pinned)]),
        Err(CfgError::ExitNotPlain(EdgeId(0)))
    );
    assert_eq!(
        graph(&[(0, 2, Exit), (0, 1, Exit)]),
        Err(CfgError::ExitElsewhere(EdgeId(1)))
    );
    assert_eq!(
        graph(&[(0, 2, Exit), (1, 2, Exit), (0, 2, Exit)]),
        Err(CfgError::SecondExit(EdgeId(2)))
    );
    assert_eq!(graph(&[(2, 2, Exit)]), Err(CfgError::LeavesExit(EdgeId(0))));
    assert_eq!(
        Cfg::new(1, BlockId(0), BlockId(0), vec![]),
        Err(CfgError::EntryIsExit(BlockId(0)))
    );
    assert_eq!(
        Cfg::new(0, BlockId(0), BlockId(1), vec![]),
        Err(CfgError::NoSuchBlock(BlockId(0)))
    );
    let text = graph(&[(1, 0, Plain)]).unwrap_err().to_string();
    assert_eq!(
        text,
        "e0 enters the entry block; put an empty block before it"
    );
}
