//! Reports of runs with arbitrary maps do not panic.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{count_edges, fact, function, image, module, profile, slide};
use holloway_analysis::RunProfile;
use holloway_analysis::loops::shape;
use holloway_format::{EdgeKind, FunctionMap, Outcome, PathId, Place};
use holloway_report::browse::Browser;
use holloway_report::export::{self, ExportError, ExportRun, Format, Weight};
use holloway_report::source::Nothing;
use holloway_report::terminal::annotate;
use holloway_report::terminal::graph::{self, GraphChoice};
use holloway_report::{Options, Sort, View, annotation, json, overlap, terminal};
use holloway_testkit::build;
use proptest::prelude::*;
use regex::Regex;

/// A loop over inlined frames.
fn inlined() -> FunctionMap {
    function("outer", "a.c", 1)
        .inlined("middle", "b.h", 0, 3)
        .inlined("inner", "c.h", 1, 9)
        .block(1, &[(0, 2), (1, 8)])
        .block(2, &[(2, 5), (1, 9)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 1, Outcome::Case(7))
        .edge(1, 2, Outcome::Unwind)
        .edge(2, 3, Outcome::Resume)
        .done()
}

/// A change that replaces one number of a map.
#[derive(Clone, Debug)]
struct Change {
    /// Selects the field.
    field: u8,
    /// Selects the block, edge, dag edge, or scope.
    index: usize,
    /// The new number.
    value: u32,
}

fn change(
    map: &mut FunctionMap,
    Change {
        field,
        index,
        value,
    }: &Change,
) {
    let value = *value;
    let block = index % map.blocks.len();
    let edge = index % map.edges.len();
    let dag = index.checked_rem(map.dag.len());
    // A function may have no scopes.
    let scope = index.checked_rem(map.scopes.len());
    match field {
        0 => map.edges[edge].from = value,
        1 => map.edges[edge].to = value,
        2 => {
            map.edges[edge].place = Some(Place {
                scope: value,
                line: value,
                column: 0,
            });
        }
        3 => {
            if let Some(dag) = dag {
                map.dag[dag].from = value;
            }
        }
        4 => {
            if let Some(dag) = dag {
                map.dag[dag].to = value;
            }
        }
        5 => {
            if let Some(dag) = dag {
                map.dag[dag].value = value.into();
            }
        }
        // The parser rejects maps in which a parent does not come before its child.
        6 => {
            if let Some(scope) = scope {
                map.scopes[scope].parent = Some(value).filter(|&value| (value as usize) < scope);
            }
        }
        7 => {
            if let Some(scope) = scope {
                map.scopes[scope].call_line = value;
            }
        }
        8 => map.blocks[block].instructions = u32::MAX - value,
        9 => map.blocks[block].places.push(Place {
            scope: value,
            line: value / 2,
            column: value,
        }),
        10 => map.entry = value,
        11 => map.exit = value,
        12 => map.path_count = value.into(),
        13 => map.scopes.truncate(value as usize),
        14 => {
            map.edges[edge].kind = match value % 4 {
                0 => EdgeKind::Plain,
                1 => EdgeKind::Pinned,
                2 => EdgeKind::Cut,
                _ => EdgeKind::Exit,
            };
        }
        15 => {
            map.edges[edge].outcome = match value % 3 {
                0 => Outcome::Returned,
                1 => Outcome::Again,
                _ => Outcome::Left,
            };
        }
        19 => map.counted.push(value),
        16 => map.tree.push(value),
        17 => map.counted.truncate(value as usize),
        18 => map.tree.reverse(),
        20 => map.leaks.push(value),
        21 => map.chords.push(value),
        _ => map.blocks[block].places.clear(),
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (0u8..23, any::<usize>(), 0u32..8).prop_map(|(field, index, value)| Change {
        field,
        index,
        value,
    });
    prop::collection::vec(change, 0..4)
}

/// Whether all places have scopes of the map. The parser rejects other maps.
fn places_have_scopes(map: &FunctionMap) -> bool {
    let block_places = map.blocks.iter().flat_map(|block| &block.places);
    let edge_places = map.edges.iter().filter_map(|edge| edge.place.as_ref());
    block_places
        .chain(edge_places)
        .all(|place| (place.scope as usize) < map.scopes.len())
}

/// Shows each function that ran: its graph, its source, and what the terminal interface shows.
fn show_functions(run: &RunProfile, options: &Options<'_>) {
    for (id, _) in run.ids().filter(|(_, function)| function.ran()) {
        for path in [None, Some(PathId(3))] {
            let choice = GraphChoice {
                path,
                numbering: true,
                all_blocks: path.is_none(),
            };
            let mut out = Vec::new();
            graph::write(run, id, choice, options, &mut out).unwrap();
            String::from_utf8(out).unwrap();
        }
    }
    let mut out = Vec::new();
    let annotations = annotation::of_functions(run, options);
    annotate::write(run, &annotations, options, &mut out).unwrap();
    let browser = Browser::new(run, options);
    let functions = browser.functions().into_iter();
    let paths = functions.flat_map(|entry| browser.paths_of(entry.function));
    for entry in paths.chain(browser.paths()) {
        browser.decisions(&entry);
        browser.as_text(&entry);
    }
}

/// Writes the run in all formats. Refusals are errors that name the reason.
fn export_all(run: &RunProfile, options: &Options<'_>) {
    let run = ExportRun {
        run,
        variation: None,
        options,
    };
    for format in Format::ALL {
        let mut out = Vec::new();
        match export::write(&run, format, Weight::Instructions, &mut out) {
            Ok(()) => assert!(format.is_binary() || String::from_utf8(out).is_ok()),
            Err(ExportError::Io(error)) => panic!("{}: {error}", format.name()),
            Err(refusal) => assert!(!refusal.to_string().contains('\n')),
        }
    }
}

proptest! {
    #[test]
    fn every_view_of_any_map_is_written(
        changes in prop::collection::vec(changes(), 4),
        counts in prop::collection::btree_map(0u64..9, prop_oneof![1u64..50, Just(u64::MAX)], 0..6),
        width in 0usize..90,
    ) {
        let edges = count_edges(&slide(), &[]).unwrap();
        let mut maps = [slide(), inlined(), fact().done(), edges];
        for (map, changes) in maps.iter_mut().zip(changes) {
            for one in &changes {
                change(map, one);
            }
        }
        let counts: Vec<(u64, u64)> = counts.into_iter().collect();
        let app = image("app", vec![module("a", maps.into())]);
        let mut functions: Vec<_> = (0..4).map(|function| (0, function, &*counts)).collect();
        functions.push((7, 7, &counts));
        let profiles = vec![profile(&app, 1, &functions)];
        let run = RunProfile::new(vec![(app, profiles)]);
        let function = Some(Regex::new("slide|inner").unwrap());
        for view in [None, Some(View::Paths), Some(View::Functions), Some(View::Edges), Some(View::Branches), Some(View::Blocks), Some(View::Lines), Some(View::PathsFromEdges)] {
            for (sort, function) in [(Sort::Count, None), (Sort::Instructions, function.clone())] {
                let options = Options { view, sort, width, function, ..Options::new(&Nothing) };
                let mut out = Vec::new();
                terminal::write(&run, &options, &mut out).unwrap();
                let text = String::from_utf8(out).unwrap();
                prop_assert!(text.starts_with("Coverage") || width < 8);
                let mut out = Vec::new();
                json::write(&run, &options, &mut out).unwrap();
                let _: serde_json::Value = serde_json::from_slice(&out).unwrap();
            }
        }
        for function in [None, Some("slide"), Some("outer|fact")] {
            let function = function.map(|function| Regex::new(function).unwrap());
            export_all(&run, &Options { function, ..Options::new(&Nothing) });
        }
        show_functions(&run, &Options { width, ..Options::new(&Nothing) });
        for function in run.functions.iter().filter(|function| places_have_scopes(&function.map)) {
            shape::count(function);
        }
        let other = {
            let app = image("app", vec![module("a", vec![slide(), inlined(), fact().edges()])]);
            let profile = profile(&app, 1, &[(0, 0, &[(0, 1), (3, 9)]), (0, 2, &[(0, 4)])]);
            RunProfile::new(vec![(app, vec![profile])])
        };
        for (a, b) in [(&run, &other), (&other, &run), (&run, &run)] {
            let options = Options { width, ..Options::new(&Nothing) };
            let mut out = Vec::new();
            overlap::write(a, b, &options, &mut out).unwrap();
            String::from_utf8(out).unwrap();
            let mut out = Vec::new();
            overlap::json(a, b, &options, &mut out).unwrap();
            let _: serde_json::Value = serde_json::from_slice(&out).unwrap();
        }
    }
}
