//! Generators of random maps and profiles for property tests, and small fixed maps.
#![allow(dead_code, reason = "each test file uses only some of the functions")]

use holloway_abi::Kind;
use holloway_format::{
    BlockMap, CaseNames, Count, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, FunctionCounts,
    FunctionIndex, FunctionMap, GuideFunction, ImageMap, Load, LoadShape, LoopMap, ModuleMap,
    Outcome, Place, PlacedModule, Profile, ProfileHead, Scope, Skipped, SourceFile, Text,
    VanishedFunction, decode_image, encode_image,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Strings. There are few different strings, so that functions share them. Some are long, and some
/// are not ASCII.
fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        Just(Text::default()),
        Just(Text::from("main")),
        Just(Text::from("src/main.rs")),
        "[a-zé∀ ]{0,12}".prop_map(Text::from),
        Just(Text::from(
            "core::iter::adapters::map::Map<I, F>::fold".repeat(9)
        )),
    ]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..300u32, any::<u32>()]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Jump),
        Just(Outcome::True),
        Just(Outcome::False),
        any::<i64>().prop_map(Outcome::Case),
        Just(Outcome::Default),
        Just(Outcome::Normal),
        Just(Outcome::Unwind),
        Just(Outcome::Indirect),
        Just(Outcome::AsmGoto),
        Just(Outcome::Return),
        Just(Outcome::Noreturn),
        Just(Outcome::Resume),
        Just(Outcome::TailCall),
        Just(Outcome::Again),
        Just(Outcome::Split),
        Just(Outcome::Left),
        Just(Outcome::Returned),
    ]
}

fn place(scopes: u32) -> impl Strategy<Value = Place> {
    (0..scopes, number(), number()).prop_map(|(scope, line, column)| Place {
        scope,
        line,
        column,
    })
}

fn scope(index: u32) -> impl Strategy<Value = Scope> {
    let parent = if index == 0 {
        Just(None).boxed()
    } else {
        option::of(0..index).boxed()
    };
    (text(), text(), text(), number(), parent, number(), number()).prop_map(
        |(name, linkage_name, file, line, parent, call_line, call_column)| Scope {
            name,
            linkage_name,
            file,
            line,
            parent,
            call_line,
            call_column,
        },
    )
}

fn edge(blocks: u32, scopes: u32) -> impl Strategy<Value = EdgeMap> {
    let kind = prop_oneof![
        Just(EdgeKind::Plain),
        Just(EdgeKind::Pinned),
        Just(EdgeKind::Cut),
        Just(EdgeKind::Exit)
    ];
    (
        0..blocks,
        0..blocks,
        kind,
        outcome(),
        option::of(place(scopes)),
    )
        .prop_map(|(from, to, kind, outcome, place)| EdgeMap {
            from,
            to,
            kind,
            outcome,
            place,
        })
}

fn dag_edge(blocks: u32, edges: u32) -> impl Strategy<Value = DagEdgeMap> {
    let kind = if edges == 0 {
        (0..blocks).prop_map(DagKind::Start).boxed()
    } else {
        prop_oneof![
            (0..edges).prop_map(DagKind::Edge),
            (0..blocks).prop_map(DagKind::Start),
            (0..edges).prop_map(DagKind::Back),
            (0..edges).prop_map(DagKind::Cut),
        ]
        .boxed()
    };
    (
        0..blocks,
        0..blocks,
        kind,
        prop_oneof![0..9u64, any::<u64>()],
    )
        .prop_map(|(from, to, kind, value)| DagEdgeMap {
            from,
            to,
            kind,
            value,
        })
}

fn load_shape() -> impl Strategy<Value = LoadShape> {
    let number = prop_oneof![-9..90i64, any::<i64>()];
    (0..3, number).prop_map(|(shape, number)| match shape {
        0 => LoadShape::Induction { stride: number },
        1 => LoadShape::Chain { offset: number },
        2 => LoadShape::Through { stride: number },
        3 => LoadShape::Field { offset: number },
        4 => LoadShape::Outer { stride: number },
        5 => LoadShape::Geometric {
            factor: number,
            through: false,
        },
        _ => LoadShape::Geometric {
            factor: number,
            through: true,
        },
    })
}

prop_compose! {
    fn random_graph()(blocks in 1..6u32, scopes in 1..5u32, edges in 0..8u32)
        (entry in 0..blocks, exit in 0..blocks,
         blocks_ in vec((number(), vec(place(scopes), 0..4)), blocks as usize..=blocks as usize),
         edges_ in vec(edge(blocks, scopes), edges as usize..=edges as usize),
         dag in vec(dag_edge(blocks, edges), 0..9),
         scopes in (0..scopes).map(|index| scope(index).boxed()).collect::<Vec<_>>(),
         loads in vec((0..blocks, place(scopes), load_shape()), 0..3),
         selects in prop_oneof![Just(0), number()],
         loops in vec((0..blocks, option::of(place(scopes)), number(), number(), any::<[bool; 2]>()), 0..3),
         cases in vec((0..edges.max(1), vec(text(), 0..3)), 0..if edges == 0 { 1 } else { 3 }),
         imply in any::<bool>(), [in_source_order, is_source_graph] in any::<[bool; 2]>())
        -> FunctionMap {
        let blocks = blocks_.into_iter().map(|(instructions, places)| BlockMap { instructions, places }).collect();
        let loads = loads.into_iter().map(|(block, place, shape)| Load { block, place, shape }).collect();
        let loops = loops.into_iter().map(|(head, start, copies, peeled, [vectorized, must_progress])| LoopMap { head, start, copies, peeled, vectorized, must_progress }).collect();
        let cases = cases.into_iter().map(|(edge, names)| CaseNames { edge, names }).collect();
        let chords = (0..dag.len() as u32).filter(|edge| edge % 3 != selects % 3).collect();
        let mut function = FunctionMap { entry, exit, blocks, edges: edges_, dag, chords, scopes, loads, selects, loops, cases, in_source_order, is_source_graph, ..FunctionMap::default() };
        for index in 0..function.dag.len() {
            // Half of the functions have the ends of dag edges that the weaver usually writes.
            if let (true, Some((from, to))) = (imply, function.implied_ends(function.dag[index].kind)) {
                function.dag[index] = DagEdgeMap { from, to, ..function.dag[index] };
            }
        }
        function
    }
}

/// A valid function whose counters have no offset yet.
pub(crate) fn function() -> impl Strategy<Value = FunctionMap> {
    let array = (1..9u64, 0..3u64).prop_map(|(paths, gap)| {
        (
            paths,
            Counters::Array {
                offset: 0,
                len: paths + gap,
            },
        )
    });
    let hash = prop_oneof![5000..9000u64, Just(u64::MAX)]
        .prop_map(|paths| (paths, Counters::Hash { offset: 0 }));
    let edges = any::<bool>().prop_map(|has_values| {
        let (offset, len) = (0, 0);
        let counters = Counters::Edges {
            offset,
            len,
            has_values,
        };
        (0, counters)
    });
    let counters = prop_oneof![3 => array, 1 => hash, 2 => edges];
    (random_graph(), text(), text(), text(), number(), counters).prop_map(
        |(graph, name, linkage_name, file, line, (path_count, counters))| {
            let mut function = FunctionMap {
                name,
                linkage_name,
                file,
                line,
                path_count,
                counters,
                ..graph
            };
            if let Counters::Edges { len, .. } = &mut function.counters {
                function.dag.clear();
                function.chords.clear();
                let edges = 0..function.edges.len() as u32;
                (function.counted, function.tree) = edges
                    .rev()
                    .partition(|edge| edge % 3 != instructions(&function.blocks) % 3);
                *len = function.counted.len() as u64;
            }
            function.hash = function.structure_hash();
            function
        },
    )
}

fn instructions(blocks: &[BlockMap]) -> u32 {
    blocks.iter().fold(0, |sum, block| sum ^ block.instructions)
}

/// A function of a guide.
pub(crate) fn guide_function() -> impl Strategy<Value = GuideFunction> {
    let edges = vec(prop_oneof![0..9u64, any::<u64>()].prop_map(Count), 0..5);
    (text(), 0..3u64, edges).prop_map(|(linkage_name, graph_hash, edges)| GuideFunction {
        linkage_name,
        graph_hash,
        edges,
    })
}

/// A valid module.
pub(crate) fn module() -> impl Strategy<Value = ModuleMap> {
    let skipped = (text(), text(), text()).prop_map(|(name, linkage_name, reason)| Skipped {
        name,
        linkage_name,
        reason,
    });
    let gone =
        (text(), text()).prop_map(|(name, linkage_name)| VanishedFunction { name, linkage_name });
    let source = (text(), any::<[u8; 16]>()).prop_map(|(file, md5)| SourceFile { file, md5 });
    (
        text(),
        text(),
        vec((function(), 0..3u64), 0..5),
        vec(skipped, 0..3),
        vec(gone, 0..3),
        vec(source, 0..3),
    )
        .prop_map(|(name, producer, functions, skipped, gone, sources)| {
            let mut module = ModuleMap {
                name,
                producer,
                skipped,
                gone,
                sources,
                ..ModuleMap::default()
            };
            for (function, gap) in functions {
                module.counters_size += 8 * gap;
                add(&mut module, function);
            }
            module
        })
}

/// Appends a function, and assigns the offset of its counters.
pub(crate) fn add(module: &mut ModuleMap, mut function: FunctionMap) {
    match &mut function.counters {
        Counters::Array { offset, .. }
        | Counters::Hash { offset }
        | Counters::Edges { offset, .. } => {
            *offset = module.counters_size;
        }
    }
    module.counters_size += function.counters.size();
    module.functions.push(function);
}

/// The encoded map of an image with these modules, one after the other.
pub(crate) fn image(modules: &[ModuleMap]) -> Vec<u8> {
    let fragments: Vec<Vec<u8>> = modules.iter().map(ModuleMap::encode).collect();
    let mut base = 0;
    let mut parts: Vec<(u64, &[u8])> = Vec::new();
    for (module, fragment) in modules.iter().zip(&fragments) {
        parts.push((base, fragment));
        base += module.counters_size;
    }
    encode_image(Kind::Paths, "app", &parts).0
}

/// A valid decoded map, and a profile of its functions.
pub(crate) fn map_and_profile() -> impl Strategy<Value = (ImageMap, Profile)> {
    let head = (
        any::<u32>(),
        any::<u32>(),
        any::<u64>(),
        any::<u32>(),
        any::<u64>(),
        any::<bool>(),
    );
    let runs = vec(
        (
            any::<prop::sample::Index>(),
            vec((any::<u64>(), 1..u64::MAX / 64), 1..9),
        ),
        0..9,
    );
    (vec(module(), 0..4), head, runs).prop_map(
        |(modules, (pid, ppid, start_ns, threads, lost, forked), runs)| {
            let map = decode_image(&image(&modules)).unwrap();
            let head = ProfileHead {
                build_id: map.build_id,
                image: "app".into(),
                image_path: "/somewhere/app".into(),
                pid,
                ppid,
                start_ns,
                threads,
                lost,
                forked,
                ..ProfileHead::default()
            };
            let mut profile = Profile::from_head(head);
            let functions = function_indices(&map);
            if !functions.is_empty() {
                for (index, mut counts) in runs {
                    let index = *index.get(&functions);
                    let function_map = map.function(index).unwrap();
                    if function_map.counter_limit() == 0 {
                        continue;
                    }
                    counts
                        .iter_mut()
                        .for_each(|(path, _)| *path %= function_map.counter_limit());
                    counts.sort_unstable();
                    counts.dedup_by_key(|&mut (path, _)| path);
                    let counts = counts.into_iter().map(|(path, count)| (path, Count(count)));
                    let counts: Vec<_> = counts.collect();
                    let has_values = function_map.counters.values().is_some();
                    let values = counts.iter().filter(|_| has_values);
                    let values = values.map(|&(number, count)| (number << 40, count));
                    profile.functions.push(FunctionCounts {
                        index,
                        hash: function_map.hash,
                        values: values.collect(),
                        counts,
                    });
                }
            }
            profile.functions.sort_by_key(|counts| counts.index);
            profile.functions.dedup_by_key(|counts| counts.index);
            (map, profile)
        },
    )
}

/// The indices of all functions.
pub(crate) fn function_indices(map: &ImageMap) -> Vec<FunctionIndex> {
    let modules = (0..).zip(&map.modules);
    modules
        .flat_map(|(module, placed)| {
            (0..)
                .zip(&placed.module.functions)
                .map(move |(function, _)| FunctionIndex { module, function })
        })
        .collect()
}

/// A function with `paths` paths. Each of the first four paths is an edge from block 0 to block 1,
/// the exit.
pub(crate) fn small_function(name: &str, paths: u64, counters: Counters) -> FunctionMap {
    let edges = (0..paths.min(4)).map(|case| EdgeMap {
        from: 0,
        to: 1,
        kind: EdgeKind::Plain,
        outcome: Outcome::Case(case as i64),
        place: Some(Place {
            scope: 0,
            line: 2,
            column: 5,
        }),
    });
    let edges: Vec<EdgeMap> = edges.collect();
    let dag = (0..edges.len() as u32).map(|e| DagEdgeMap {
        from: 0,
        to: 1,
        kind: DagKind::Edge(e),
        value: e.into(),
    });
    let mut function = FunctionMap {
        name: name.into(),
        linkage_name: format!("_R{name}").into(),
        file: format!("{name}.rs").into(),
        line: 1,
        hash: 0,
        in_source_order: false,
        is_source_graph: false,
        counters,
        ring_counters: None,
        path_count: paths,
        entry: 0,
        exit: 1,
        blocks: vec![
            BlockMap {
                instructions: 7,
                places: vec![Place {
                    scope: 0,
                    line: 1,
                    column: 1,
                }],
            },
            BlockMap::default(),
        ],
        dag: dag.collect(),
        chords: Vec::new(),
        counted: Vec::new(),
        tree: Vec::new(),
        edges,
        scopes: vec![Scope {
            name: name.into(),
            linkage_name: format!("_R{name}").into(),
            file: format!("{name}.rs").into(),
            line: 1,
            ..Scope::default()
        }],
        loads: Vec::new(),
        selects: 0,
        loops: Vec::new(),
        cases: Vec::new(),
        leaks: Vec::new(),
        facts: Vec::new(),
        contents: Vec::new(),
    };
    function.hash = function.structure_hash();
    function
}

/// A function with two edges from block 0 to block 1, the exit, and an exit edge between the same
/// blocks. The first edge is counted.
pub(crate) fn small_edge_function(name: &str) -> FunctionMap {
    let mut function = small_function(
        name,
        2,
        Counters::Edges {
            offset: 0,
            len: 1,
            has_values: false,
        },
    );
    function.edges.push(EdgeMap {
        from: 0,
        to: 1,
        kind: EdgeKind::Exit,
        outcome: Outcome::Left,
        place: None,
    });
    function.path_count = 0;
    function.dag.clear();
    function.counted = vec![0];
    function.tree = vec![2, 1];
    function.hash = function.structure_hash();
    function
}

/// Two modules. The first has a function with an array of counters, a hashed function, and another
/// function with an array. The second has a function with an array.
pub(crate) fn small_modules() -> [ModuleMap; 2] {
    let mut first = ModuleMap {
        name: "first".into(),
        producer: "test".into(),
        ..ModuleMap::default()
    };
    add(
        &mut first,
        small_function("one", 3, Counters::Array { offset: 0, len: 4 }),
    );
    add(
        &mut first,
        small_function("two", 1 << 40, Counters::Hash { offset: 0 }),
    );
    add(
        &mut first,
        small_function("three", 2, Counters::Array { offset: 0, len: 2 }),
    );
    first.skipped.push(Skipped {
        name: "naked".into(),
        linkage_name: "_Rnaked".into(),
        reason: "naked".into(),
    });
    first.sources.push(SourceFile {
        file: "a.c".into(),
        md5: *b"0123456789abcdef",
    });
    first.gone.push(VanishedFunction {
        name: "tiny".into(),
        linkage_name: "_Rtiny".into(),
    });
    let mut second = ModuleMap {
        name: "second".into(),
        producer: "test".into(),
        ..ModuleMap::default()
    };
    add(
        &mut second,
        small_function("four", 1, Counters::Array { offset: 0, len: 1 }),
    );
    [first, second]
}

/// Two modules with three functions each. Each function has 100 paths.
pub(crate) fn equal_functions() -> ImageMap {
    let function = FunctionMap {
        counters: Counters::Array {
            offset: 0,
            len: 100,
        },
        path_count: 100,
        hash: 7,
        blocks: vec![BlockMap::default()],
        ..FunctionMap::default()
    };
    let module = PlacedModule {
        base: 0,
        module: ModuleMap {
            functions: vec![function; 3],
            ..ModuleMap::default()
        },
    };
    ImageMap {
        build_id: [9; 16],
        modules: vec![module; 2],
        ..ImageMap::default()
    }
}
