//! The figures of the slides on "Efficient path profiling" (Ball and Larus), each as a test.
//!
//! Blocks A..F are b0..b5; the exit is b6, with one edge from F.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use holloway_flow::{
    Action, BlockId, Cfg, Chords, CountBase, Dag, DagEdgeId, DagEdgeKind, EdgeId, EdgeProbe,
    Numbering, Path, PathEnd, PathId, PathStart, Probes, SuccessorOrder, edge_counts,
};
use std::collections::BTreeMap;

/// The dag of the slides. The edges of each block are in the order in which the slides number
/// successors with equal NumPaths.
const DAG: &str = "
    b0: entry
      e0 -> b2
      e1 -> b1
    b1:
      e2 -> b2
      e3 -> b3
    b2:
      e4 -> b3
    b3:
      e5 -> b5
      e6 -> b4
    b4:
      e7 -> b5
    b5:
      e8 -> b6
    b6: exit";

/// The loop of the slides: A→F, A→B, B→C, B→D, C→E, D→E, E→F, and the back edge E→B.
const LOOP: &str = "
    b0: entry
      e0 -> b5
      e1 -> b1
    b1:
      e2 -> b2
      e3 -> b3
    b2:
      e4 -> b4
    b3:
      e5 -> b4
    b4:
      e6 -> b5
      e7 -> b1
    b5:
      e8 -> b6
    b6: exit";

fn numbered(text: &str, order: SuccessorOrder<'_>) -> (Cfg, Numbering) {
    let cfg: Cfg = text.parse().unwrap();
    let numbering = Numbering::new(&cfg, Dag::new(&cfg).unwrap(), order, 1 << 31).unwrap();
    (cfg, numbering)
}

fn letters(path: &Path) -> String {
    path.blocks
        .iter()
        .map(|block| char::from(b'A' + u8::try_from(block.0).unwrap()))
        .collect()
}

fn path_names(numbering: &Numbering) -> Vec<String> {
    let paths = (0..numbering.path_count()).map(|id| numbering.regenerate(PathId(id)).unwrap());
    paths.map(|path| letters(&path)).collect()
}

/// Edge values by the letters of an edge's ends.
fn values(numbering: &Numbering) -> BTreeMap<String, u64> {
    let letter = |block: BlockId| char::from(b'A' + u8::try_from(block.0).unwrap());
    let edges = numbering.dag_edges().iter().zip((0..).map(DagEdgeId));
    let edges =
        edges.filter(|(edge, _)| matches!(edge.kind, DagEdgeKind::Edge(_)) && edge.to.0 < 6);
    edges
        .map(|(edge, id)| {
            (
                [letter(edge.from), letter(edge.to)].iter().collect(),
                numbering.value(id),
            )
        })
        .collect()
}

#[test]
fn pp_slides_path_representation_numpaths_and_values() {
    let (_, numbering) = numbered(DAG, SuccessorOrder::MostPathsLast);
    let counts: Vec<_> = (0..6)
        .map(|block| numbering.path_count_from(BlockId(block)).unwrap())
        .collect();
    assert_eq!(counts, [6, 4, 2, 2, 1, 1]);
    let expected = [
        ("AC", 0),
        ("AB", 2),
        ("BC", 0),
        ("BD", 2),
        ("DF", 0),
        ("DE", 1),
        ("CD", 0),
        ("EF", 0),
    ];
    assert_eq!(
        values(&numbering),
        expected
            .map(|(edge, value)| (edge.to_owned(), value))
            .into()
    );
    assert_eq!(
        path_names(&numbering),
        ["ACDF", "ACDEF", "ABCDF", "ABCDEF", "ABDF", "ABDEF"]
    );
}

#[test]
fn pp_slides_path_regeneration_of_3_is_abcdef() {
    let (_, numbering) = numbered(DAG, SuccessorOrder::MostPathsLast);
    let path = numbering.regenerate(PathId(3)).unwrap();
    assert_eq!(path.start, PathStart::Entry);
    assert_eq!(path.blocks, [0, 1, 2, 3, 4, 5].map(BlockId));
    assert_eq!(path.edges, [1, 2, 4, 6, 7].map(EdgeId));
    assert_eq!(path.end, PathEnd::Exit(EdgeId(8)));
    assert_eq!(numbering.number_of(&path), Some(PathId(3)));
}

#[test]
fn pp_slides_arbitrary_control_flow_nine_paths() {
    let (_, numbering) = numbered(LOOP, SuccessorOrder::AsGiven);
    let expected = [
        "AF", "ABCEF", "ABCE", "ABDEF", "ABDE", "BCEF", "BCE", "BDEF", "BDE",
    ];
    assert_eq!(path_names(&numbering), expected);
    let paths = (0..9).map(|id| numbering.regenerate(PathId(id)).unwrap());
    for path in paths {
        let is_back = letters(&path).ends_with('E');
        let (exit, back) = (PathEnd::Exit(EdgeId(8)), PathEnd::Back(EdgeId(7)));
        assert_eq!(path.end, if is_back { back } else { exit });
        let is_from_head = letters(&path).starts_with('B');
        assert_eq!(
            path.start,
            if is_from_head {
                PathStart::Loop(BlockId(1))
            } else {
                PathStart::Entry
            }
        );
    }
}

/// "Event counting": the increment of a chord is the signed sum of the values around the cycle that
/// it closes in the tree. The weights are the slides' edge profile, so the tree has maximum weight.
#[test]
fn pp_slides_event_counting_increments() {
    let (_, numbering) = numbered(DAG, SuccessorOrder::MostPathsLast);
    // AC AB BC BD CD DF DE EF FX
    let weights = [150, 120, 100, 20, 250, 110, 160, 160, 270];
    let chords = Chords::new(&numbering, &weights);
    let increments: Vec<i64> = (0..9)
        .map(|edge| chords.increment(DagEdgeId(edge)))
        .collect();
    let tree: Vec<bool> = (0..9)
        .map(|edge| !chords.is_chord(DagEdgeId(edge)))
        .collect();
    // Heaviest first: FX, CD, DE, EF. With EXIT→ENTRY on the tree, A is already connected to C, so
    // AC is a chord although it weighs 150. The last tree edge is AB. The cycle of AC is
    // A→C→D→E→F→X→A: Inc = AC + CD + DE + EF = 1. The cycles of BC and BD begin with B→C or B→D and
    // continue to X and A→B: BC + CD + DE + EF + AB = 3, BD + DE + EF + AB = 5. DF: DF − EF − DE =
    // −1.
    assert_eq!(
        tree,
        [false, true, false, false, true, false, true, true, true]
    );
    assert_eq!(increments, [1, 0, 3, 5, 0, -1, 0, 0, 0]);
    // The increments follow from the chords alone.
    let known = [0, 2, 3, 5].map(DagEdgeId);
    assert_eq!(Chords::of_chords(&numbering, &known), Some(chords));
    // EF and FX are enough for F and X, so AB is missing.
    let too_many = [0, 1, 2, 3, 5].map(DagEdgeId);
    assert_eq!(Chords::of_chords(&numbering, &too_many), None);
}

/// No path needs more than one probe here, which is the point of Figure 9 of the paper.
#[test]
fn pp_placement_counts_where_the_path_is_decided() {
    let (cfg, numbering) = numbered(DAG, SuccessorOrder::MostPathsLast);
    let probes = Probes::new(
        &cfg,
        &numbering,
        &[150, 120, 100, 20, 250, 110, 160, 160, 270],
        &[],
    )
    .unwrap();
    assert_eq!(probes.entry, []);
    let count = |increment| Action::Count {
        base: CountBase::Register,
        increment,
    };
    let edge_probe = |id, action| {
        (
            EdgeId(id),
            EdgeProbe {
                before: vec![action],
                after: vec![],
            },
        )
    };
    // C and D have two ways in, so AC, BC, and BD set the register. E and F have one way to go, so
    // DF and DE count.
    let expected = [
        edge_probe(0, Action::Set(0)),
        edge_probe(2, Action::Set(2)),
        edge_probe(3, Action::Set(4)),
        edge_probe(5, count(0)),
        edge_probe(6, count(1)),
    ];
    assert_eq!(probes.edges, expected);
}

/// Slide "Path versus edge profiling": two path profiles have the same edge profile. The path that
/// the heaviest edges predict is the hottest in neither.
#[test]
fn pp_slides_path_versus_edge_profiling() {
    let (cfg, numbering) = numbered(DAG, SuccessorOrder::MostPathsLast);
    let first = [
        ("ACDF", 90),
        ("ACDEF", 60),
        ("ABCDEF", 100),
        ("ABDF", 20),
        ("ABDEF", 0),
    ];
    let second = [
        ("ACDF", 110),
        ("ACDEF", 40),
        ("ABCDEF", 100),
        ("ABDF", 0),
        ("ABDEF", 20),
    ];
    let names = path_names(&numbering);
    let edges = |profile: [(&str, u64); 5]| {
        let id = |name| PathId(names.iter().position(|other| other == name).unwrap() as u64);
        edge_counts(
            &cfg,
            &numbering,
            profile.map(|(name, count)| (id(name), count)),
        )
        .unwrap()
    };
    let counts = edges(first);
    assert_eq!(counts, edges(second));
    assert_eq!(counts.calls, 270);
    // AC AB BC BD CD DF DE EF
    assert_eq!(counts.edges, [150, 120, 100, 20, 250, 110, 160, 160, 270]);
    let mut predicted = vec![cfg.entry()];
    while let Some(&edge) = cfg
        .successors(*predicted.last().unwrap())
        .iter()
        .max_by_key(|edge| counts.edges[edge.index()])
    {
        predicted.push(cfg.edge(edge).to);
    }
    assert_eq!(predicted, [0, 2, 3, 4, 5, 6].map(BlockId));
    let hottest =
        |profile: [(&'static str, u64); 5]| profile.iter().max_by_key(|entry| entry.1).unwrap().0;
    assert_eq!((hottest(first), hottest(second)), ("ABCDEF", "ACDF"));
}

/// Smart numbering (Bond, McKinley): with the hottest successor first, the hottest path has the
/// number 0 and carries no increment.
#[test]
fn smart_numbering_gives_the_hottest_path_zero() {
    let weights = [150, 120, 100, 20, 250, 110, 160, 160, 270];
    let (_, numbering) = numbered(DAG, SuccessorOrder::HottestFirst(&weights));
    assert_eq!(letters(&numbering.regenerate(PathId(0)).unwrap()), "ACDEF");
}

/// Figure 3 of "k-iteration path profiling": A→B, B→{D, C}, C→E, D→E, E→B back, E→F; the paths are
/// numbered from 0 (BDE) to 7 (ABCEF).
#[test]
fn kblpp_figure_3_numbering() {
    let text = "
        b0: entry
          e0 -> b1
        b1:
          e1 -> b3
          e2 -> b2
        b2:
          e3 -> b4
        b3:
          e4 -> b4
        b4:
          e5 -> b1
          e6 -> b5
        b5:
          e7 -> b6
        b6: exit";
    // Hottest first, and the back edge hotter than the entry: the loop's paths come first.
    let (_, numbering) = numbered(
        text,
        SuccessorOrder::HottestFirst(&[1, 2, 1, 1, 1, 9, 1, 1]),
    );
    let expected = [
        "BDE", "BDEF", "BCE", "BCEF", "ABDE", "ABDEF", "ABCE", "ABCEF",
    ];
    assert_eq!(path_names(&numbering), expected);
}
