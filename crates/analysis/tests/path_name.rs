//! Names of paths: the same in all kinds and numberings, and different for different routes.

use std::collections::BTreeMap;

use holloway_analysis::path_name::{PathName, PathNames};
use holloway_flow::{Numbering, Path, PathEnd, PathId, PathStart, SuccessorOrder};
use holloway_format::{BlockMap, EdgeKind, EdgeMap, FunctionMap, Outcome};
use holloway_testkit::build::{count_paths, function, numbering_of, slide};
use proptest::prelude::*;

/// All paths of a function with numbered paths, with their names.
fn named(map: &FunctionMap) -> Vec<(Path, PathName)> {
    let (numbering, names): (Numbering, _) = (numbering_of(map), PathNames::new(map));
    let paths = (0..numbering.path_count()).map(|id| {
        let path = numbering.regenerate(PathId(id));
        path.expect("the number is below the path count")
    });
    paths
        .map(|path| (path.clone(), names.name(&path)))
        .collect()
}

#[test]
fn the_paths_of_the_slides_have_six_names() {
    let names: Vec<String> = named(&slide())
        .iter()
        .map(|(_, name)| name.to_string())
        .collect();
    // The names must never change: users compare the names of different versions.
    assert_eq!(
        names,
        ["#5f21", "#a753", "#a9fd", "#156e", "#c0d3", "#8204"]
    );
}

/// The element of a block's division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Division {
    /// The block is whole.
    None,
    /// After a call that may not come back, as with exit edges.
    AfterCall,
    /// Before a call, as in a trace.
    BeforeCall,
    /// Before a call and after it, as in a trace with exit edges.
    Both,
}

/// A function whose blocks are divided, with the origin of its blocks and edges.
struct Divided {
    map: FunctionMap,
    /// By block: the block of the original, and the instructions before it.
    blocks: Vec<(u32, u32)>,
    /// By edge: the edge of the original.
    edges: Vec<Option<u32>>,
}

/// Divides blocks as the weaver does for kinds with exit edges and for traces. Each block has two
/// instructions, a call, and two more instructions.
fn divide(original: &FunctionMap, divisions: &[Division]) -> Divided {
    let mut map = FunctionMap {
        blocks: Vec::new(),
        edges: Vec::new(),
        ..original.clone()
    };
    let (mut blocks, mut edges) = (Vec::new(), Vec::new());
    let mut ranges = Vec::new();
    for (block, original_block) in (0u32..).zip(&original.blocks) {
        let lengths: &[u32] = match divisions.get(block as usize) {
            _ if block == original.exit => &[0],
            None | Some(Division::None) => &[5],
            Some(Division::AfterCall) => &[3, 2],
            Some(Division::BeforeCall) => &[2, 3],
            Some(Division::Both) => &[2, 1, 2],
        };
        let first = map.blocks.len() as u32;
        let mut offset = 0;
        for &instructions in lengths {
            map.blocks.push(BlockMap {
                instructions,
                places: original_block.places.clone(),
            });
            blocks.push((block, offset));
            offset += instructions;
        }
        ranges.push((first, map.blocks.len() as u32 - 1));
    }
    map.exit = ranges[original.exit as usize].0;
    let between = |from, kind, outcome| EdgeMap {
        from,
        to: from + 1,
        kind,
        outcome,
        place: None,
    };
    for (block, &(first, last)) in ranges.iter().enumerate() {
        let returned = |from| between(from, EdgeKind::Plain, Outcome::Returned);
        let split = |from| between(from, EdgeKind::Cut, Outcome::Split);
        let left = |from| EdgeMap {
            to: map.exit,
            ..between(from, EdgeKind::Exit, Outcome::Left)
        };
        match divisions.get(block) {
            _ if block == original.exit as usize => {}
            None | Some(Division::None) => {}
            Some(Division::AfterCall) => map.edges.extend([returned(first), left(first)]),
            Some(Division::BeforeCall) => map.edges.push(split(first)),
            Some(Division::Both) => {
                let edges = [split(first), returned(first + 1), left(first + 1)];
                map.edges.extend(edges);
            }
        }
        edges.resize(map.edges.len(), None);
        for (number, edge) in (0u32..).zip(&original.edges) {
            if edge.from as usize == block {
                map.edges.push(EdgeMap {
                    from: last,
                    to: ranges[edge.to as usize].0,
                    ..*edge
                });
                edges.push(Some(number));
            }
        }
    }
    map.entry = 0;
    Divided { map, blocks, edges }
}

/// A route in terms of the original function: its start, its edges, and its end.
type Route = (Option<(u32, u32)>, Vec<u32>, (u8, u32, u32));

fn route(divided: &Divided, path: &Path) -> Route {
    let start = match path.start {
        PathStart::Entry => None,
        PathStart::Loop(head) => Some(divided.blocks[head.index()]),
    };
    let last = path.end.edge();
    let all_edges = path.edges.iter().chain([&last]);
    let edges = all_edges
        .filter_map(|edge| divided.edges[edge.index()])
        .collect();
    let kind = match path.end {
        PathEnd::Exit(_) => 0,
        PathEnd::Back(_) => 1,
        PathEnd::Cut(_) => 2,
    };
    let edge = divided.map.edges[last.index()];
    let from = edge.from as usize;
    let (block, offset) = divided.blocks[from];
    let end = match divided.edges[last.index()] {
        Some(edge) => (kind, edge, u32::MAX),
        None => (kind, block, offset + divided.map.blocks[from].instructions),
    };
    (start, edges, end)
}

fn divisions() -> impl Strategy<Value = Vec<Division>> {
    use Division::{AfterCall, BeforeCall, Both, None};
    prop::collection::vec(
        prop::sample::select(&[None, AfterCall, BeforeCall, Both][..]),
        8,
    )
}

/// Random graphs. Each block has an edge to a later block, and there are further random edges. The
/// last block is the exit.
fn graphs() -> impl Strategy<Value = FunctionMap> {
    (1u32..7)
        .prop_flat_map(|blocks| {
            let forward = prop::collection::vec(any::<prop::sample::Index>(), blocks as usize);
            let more = prop::collection::vec((0..blocks, 1..=blocks, 0u8..6), 0..9);
            (Just(blocks), forward, more)
        })
        .prop_map(|(blocks, forward, more)| {
            let mut build = function("f", "f.c", 1);
            for block in 0..blocks {
                build = build.block(5, &[(0, block + 1)]);
            }
            build = build.block(0, &[]);
            for (from, to) in (0u32..).zip(forward) {
                let to = from + 1 + to.index((blocks - from) as usize) as u32;
                build = build.edge(from, to, Outcome::Jump);
            }
            for (from, to, kind) in more {
                build = build.edge(from, to, Outcome::Jump);
                if kind == 0 && to != blocks {
                    build = build.cut();
                }
            }
            build.unfinished()
        })
}

proptest! {
    /// All paths of a function in all numberings, with all divisions of its blocks: two paths have
    /// the same name if and only if they are the same route.
    #[test]
    fn names_are_those_of_routes(
        original in graphs(),
        divided in prop::collection::vec(divisions(), 1..4),
        weights in prop::collection::vec(0u64..9, 40),
        limit in 12u64..200,
    ) {
        let mut names: BTreeMap<Route, PathName> = BTreeMap::new();
        let mut routes: BTreeMap<u64, Route> = BTreeMap::new();
        let all_divisions = [vec![], vec![Division::AfterCall; 8], vec![Division::BeforeCall; 8]];
        for divisions in all_divisions.iter().chain(&divided) {
            let divided = divide(&original, divisions);
            let hottest_first = SuccessorOrder::HottestFirst(&weights);
            let maps = [
                count_paths(&divided.map, SuccessorOrder::MostPathsLast, 4096),
                count_paths(&divided.map, SuccessorOrder::AsGiven, 4096),
                count_paths(&divided.map, hottest_first, 4096),
                count_paths(&divided.map, hottest_first, limit),
            ];
            for map in maps.into_iter().flatten() {
                for (path, name) in named(&map) {
                    let route = route(&divided, &path);
                    let known_name = *names.entry(route.clone()).or_insert(name);
                    prop_assert_eq!(known_name, name, "one route has two names: {:?}", route);
                    let known_route = routes.entry(name.hash()).or_insert(route.clone());
                    prop_assert_eq!(&*known_route, &route, "two routes have one name");
                }
            }
        }
    }

    /// The order of blocks, and the places and instructions of whole blocks, do not change names.
    #[test]
    fn names_depend_on_the_graph_only(original in graphs(), rotation in 0u32..7) {
        let map = count_paths(&original, SuccessorOrder::AsGiven, 4096);
        prop_assume!(map.is_some());
        let inner = original.exit - 1;
        // Moves all blocks but the entry and the exit.
        let moved = |block: u32| match block {
            0 => 0,
            block if block == original.exit => block,
            block => 1 + (block - 1 + rotation) % inner.max(1),
        };
        let mut other = original.clone();
        for block in &mut other.blocks {
            *block = BlockMap { instructions: 3, places: Vec::new() };
        }
        for edge in &mut other.edges {
            (edge.from, edge.to) = (moved(edge.from), moved(edge.to));
        }
        let other = count_paths(&other, SuccessorOrder::AsGiven, 4096);
        let names = |map: Option<FunctionMap>| -> BTreeMap<Vec<u32>, PathName> {
            let named = named(&map.unwrap()).into_iter();
            named.map(|(path, name)| {
                let start = path.blocks.first().map_or(0, |block| block.0);
                let is_entry = u32::from(path.start == PathStart::Entry);
                let edges = path.edges.iter().map(|edge| edge.0);
                (edges.chain([path.end.edge().0, is_entry, start]).collect(), name)
            }).collect()
        };
        let renamed: BTreeMap<Vec<u32>, PathName> = names(map).into_iter().map(|(mut key, name)| {
            let start = key.last_mut().unwrap();
            *start = moved(*start);
            (key, name)
        }).collect();
        prop_assert_eq!(renamed, names(other));
    }
}
