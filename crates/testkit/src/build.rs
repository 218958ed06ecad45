//! Builds path maps and profiles of small programs for tests. `flow` numbers the paths and chooses
//! the edge counters, as in the weaver.

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_flow::{
    BlockId, Cfg, Dag, DagEdge, DagEdgeId, DagEdgeKind, Edge, EdgeCounters, EdgeId, EdgeKind,
    Numbering, PathId, Probes, SuccessorOrder, estimate_weights,
};
use holloway_format::{
    BlockMap, CaseNames, Count, Counters, DagEdgeMap, DagKind, EdgeMap, FunctionCounts,
    FunctionIndex, FunctionMap, ImageMap, ModuleMap, Outcome, Place, PlacedModule, Profile,
    ProfileHead, Scope, Skipped, VanishedFunction,
};

/// A function under construction. Block 0 is the entry; the last block is the exit.
pub struct Build {
    map: FunctionMap,
    hashed: bool,
}

/// A C-like function.
pub fn function(name: &str, file: &str, line: u32) -> Build {
    mangled(name, name, file, line)
}

/// A function whose linkage name differs from its name.
pub fn mangled(linkage_name: &str, name: &str, file: &str, line: u32) -> Build {
    let scope = Scope {
        name: name.into(),
        linkage_name: linkage_name.into(),
        file: file.into(),
        line,
        ..Scope::default()
    };
    let map = FunctionMap {
        name: name.into(),
        linkage_name: linkage_name.into(),
        file: file.into(),
        line,
        scopes: vec![scope],
        ..FunctionMap::default()
    };
    Build { map, hashed: false }
}

impl Build {
    /// Adds a frame inlined into `parent` at `call_line`.
    pub fn inlined(mut self, name: &str, file: &str, parent: u32, call_line: u32) -> Build {
        self.map.scopes.push(Scope {
            name: name.into(),
            linkage_name: name.into(),
            file: file.into(),
            line: 1,
            parent: Some(parent),
            call_line,
            call_column: 5,
        });
        self
    }

    /// Adds a block with places, each as (scope, line).
    pub fn block(mut self, instructions: u32, places: &[(u32, u32)]) -> Build {
        let places = places
            .iter()
            .map(|&(scope, line)| Place {
                scope,
                line,
                column: 3,
            })
            .collect();
        self.map.blocks.push(BlockMap {
            instructions,
            places,
        });
        self
    }

    /// Adds a block of one instruction with places, each as (scope, line, column).
    pub fn block_at(mut self, places: &[(u32, u32, u32)]) -> Build {
        let place = |&(scope, line, column): &(u32, u32, u32)| Place {
            scope,
            line,
            column,
        };
        self.map.blocks.push(BlockMap {
            instructions: 1,
            places: places.iter().map(place).collect(),
        });
        self
    }

    /// Adds an edge. The place of its branch is the last place of the block `from`.
    pub fn edge(mut self, from: u32, to: u32, outcome: Outcome) -> Build {
        let place = self.map.blocks[from as usize].places.last().copied();
        let kind = holloway_format::EdgeKind::Plain;
        self.map.edges.push(EdgeMap {
            from,
            to,
            kind,
            outcome,
            place,
        });
        self
    }

    /// Names the switch cases of an edge.
    pub fn case(mut self, edge: u32, names: &[&str]) -> Build {
        let names = names.iter().map(|&name| name.into()).collect();
        self.map.cases.push(CaseNames { edge, names });
        self
    }

    /// Makes the last edge a cut edge.
    pub fn cut(mut self) -> Build {
        self.map.edges.last_mut().unwrap().kind = holloway_format::EdgeKind::Cut;
        self
    }

    /// Makes the last edge a pinned edge: it can carry no probe.
    pub fn pinned(mut self) -> Build {
        self.map.edges.last_mut().unwrap().kind = holloway_format::EdgeKind::Pinned;
        self
    }

    /// Adds an exit edge: a call in `from` may not come back.
    pub fn left(self, from: u32) -> Build {
        // The exit is not known yet. `close` fills in its number.
        let mut build = self.edge(from, u32::MAX, Outcome::Left);
        build.map.edges.last_mut().unwrap().kind = holloway_format::EdgeKind::Exit;
        build
    }

    /// Marks the function as not optimized: its places are in source order.
    pub fn in_source_order(mut self) -> Build {
        self.map.in_source_order = true;
        self
    }

    /// Sets the place of the last edge's branch.
    pub fn at(self, scope: u32, line: u32) -> Build {
        self.at_column(scope, line, 3)
    }

    /// Sets the place of the last edge's branch, with its column.
    pub fn at_column(mut self, scope: u32, line: u32, column: u32) -> Build {
        self.map.edges.last_mut().unwrap().place = Some(Place {
            scope,
            line,
            column,
        });
        self
    }

    /// Counts the paths in a hash table.
    pub fn hashed(mut self) -> Build {
        self.hashed = true;
        self
    }

    /// Returns the function without counters.
    pub fn unfinished(mut self) -> FunctionMap {
        self.close();
        self.map
    }

    /// Returns the function with edge counters.
    pub fn edges(mut self) -> FunctionMap {
        self.close();
        count_edges(&self.map, &[]).unwrap()
    }

    /// Makes the last block the exit.
    fn close(&mut self) {
        self.map.exit = self.map.blocks.len() as u32 - 1;
        for edge in &mut self.map.edges {
            edge.to = edge.to.min(self.map.exit);
        }
    }

    /// Returns the function with numbered paths and path counters.
    pub fn done(mut self) -> FunctionMap {
        self.close();
        let map = count_paths(&self.map, SuccessorOrder::MostPathsLast, 1 << 31).unwrap();
        FunctionMap {
            counters: match (map.counters, self.hashed) {
                (counters, false) => counters,
                (counters, true) => Counters::Hash {
                    offset: counters.offset(),
                },
            },
            ..map
        }
    }
}

/// The graph of a function in a path map.
pub fn cfg(map: &FunctionMap) -> Cfg {
    let kind = |kind| match kind {
        holloway_format::EdgeKind::Plain => EdgeKind::Plain,
        holloway_format::EdgeKind::Pinned => EdgeKind::Pinned,
        holloway_format::EdgeKind::Cut => EdgeKind::Cut,
        holloway_format::EdgeKind::Exit => EdgeKind::Exit,
    };
    let edges = map
        .edges
        .iter()
        .map(|edge| Edge {
            from: BlockId(edge.from),
            to: BlockId(edge.to),
            kind: kind(edge.kind),
        })
        .collect();
    Cfg::new(
        map.blocks.len() as u32,
        BlockId(map.entry),
        BlockId(map.exit),
        edges,
    )
    .unwrap()
}

/// The numbering of a map's graph, as [`Build::done`] creates it.
pub fn compute_numbering(map: &FunctionMap) -> Numbering {
    let cfg = cfg(map);
    let dag = Dag::new(&cfg).unwrap();
    Numbering::new(&cfg, dag, SuccessorOrder::MostPathsLast, 1 << 31).unwrap()
}

/// The number of the path that runs exactly these blocks.
pub fn path_number(map: &FunctionMap, blocks: &[u32]) -> u64 {
    let numbering = compute_numbering(map);
    let runs_blocks = |path: &u64| {
        let path = numbering.regenerate(PathId(*path)).unwrap();
        path.blocks
            .iter()
            .map(|block| block.0)
            .eq(blocks.iter().copied())
    };
    (0..map.path_count).find(runs_blocks).unwrap()
}

/// A run of one process and one function with these counts, each as (path number, count).
pub fn run_of(map: FunctionMap, counters: &[(u64, u64)]) -> RunProfile {
    let image = image("app", vec![module("a", vec![map])]);
    let profile = profile(&image, 1, &[(0, 0, counters)]);
    RunProfile::new(vec![(image, vec![profile])])
}

/// The numbering from the edge values in a map.
pub fn numbering_of(map: &FunctionMap) -> Numbering {
    let edges = map.dag.iter().map(|edge| {
        let kind = match edge.kind {
            DagKind::Edge(edge) => DagEdgeKind::Edge(EdgeId(edge)),
            DagKind::Start(block) => DagEdgeKind::Start(BlockId(block)),
            DagKind::Back(edge) => DagEdgeKind::Back(EdgeId(edge)),
            DagKind::Cut(edge) => DagEdgeKind::Cut(EdgeId(edge)),
        };
        let (from, to) = (BlockId(edge.from), BlockId(edge.to));
        (DagEdge { from, to, kind }, edge.value)
    });
    let (entry, exit) = (BlockId(map.entry), BlockId(map.exit));
    Numbering::from_parts(entry, exit, edges.collect()).unwrap()
}

/// The same function with path counters; `None` if its pinned edges forbid path counters.
pub fn count_paths(
    map: &FunctionMap,
    order: SuccessorOrder<'_>,
    limit: u64,
) -> Option<FunctionMap> {
    let cfg = cfg(map);
    let numbering = Numbering::new(&cfg, Dag::new(&cfg).ok()?, order, limit).ok()?;
    let weights = estimate_weights(&cfg, &[]);
    let probes = Probes::new(&cfg, &numbering, &weights, &[]);
    let chords = probes.map_or_else(|_| Vec::new(), |probes| probes.chords);
    let dag = (0u32..).zip(numbering.dag_edges());
    let dag = dag.map(|(index, edge)| DagEdgeMap {
        from: edge.from.0,
        to: edge.to.0,
        kind: match edge.kind {
            DagEdgeKind::Edge(edge) => DagKind::Edge(edge.0),
            DagEdgeKind::Start(block) => DagKind::Start(block.0),
            DagEdgeKind::Back(edge) => DagKind::Back(edge.0),
            DagEdgeKind::Cut(edge) => DagKind::Cut(edge.0),
        },
        value: numbering.value(DagEdgeId(index)),
    });
    Some(FunctionMap {
        counters: Counters::Array {
            offset: 0,
            len: numbering.path_count(),
        },
        path_count: numbering.path_count(),
        dag: dag.collect(),
        chords: chords.iter().map(|edge| edge.0).collect(),
        ..map.clone()
    })
}

/// The same function with edge counters; `None` if its pinned edges forbid edge counters.
pub fn count_edges(map: &FunctionMap, weights: &[u64]) -> Option<FunctionMap> {
    let counters = EdgeCounters::new(&cfg(map), weights).ok()?;
    let numbers = |edges: &[EdgeId]| edges.iter().map(|edge| edge.0).collect();
    Some(FunctionMap {
        counters: Counters::Edges {
            offset: 0,
            len: counters.counted().len() as u64,
            has_values: false,
        },
        path_count: 0,
        dag: Vec::new(),
        chords: Vec::new(),
        counted: numbers(counters.counted()),
        tree: numbers(counters.tree()),
        ..map.clone()
    })
}

/// A module of functions.
pub fn module(name: &str, functions: Vec<FunctionMap>) -> ModuleMap {
    ModuleMap {
        name: name.into(),
        producer: "test".into(),
        functions,
        ..ModuleMap::default()
    }
}

/// A function without probes.
pub fn skipped(name: &str, reason: &str) -> Skipped {
    Skipped {
        name: name.into(),
        linkage_name: name.into(),
        reason: reason.into(),
    }
}

/// A function that has no code after optimization.
pub fn gone(name: &str) -> VanishedFunction {
    VanishedFunction {
        name: name.into(),
        linkage_name: name.into(),
    }
}

/// An image of modules. Its kind is the kind of most of its functions.
pub fn image(name: &str, modules: Vec<ModuleMap>) -> ImageMap {
    let functions = modules.iter().flat_map(|module| &module.functions);
    let edges = |map: &&FunctionMap| matches!(map.counters, Counters::Edges { .. });
    ImageMap {
        build_id: [0xab; 16],
        kind: if functions.clone().filter(edges).count() * 2 > functions.count() {
            Kind::Edges
        } else {
            Kind::Paths
        },
        name: name.into(),
        leaks_unknown: false,
        modules: modules
            .into_iter()
            .map(|module| PlacedModule { base: 0, module })
            .collect(),
        damage: Vec::new(),
    }
}

/// The index of a module, the index of a function, and the counts of its paths as (path number,
/// count).
pub type Counts<'a> = (u32, u32, &'a [(u64, u64)]);

/// A profile of an image.
pub fn profile(image: &ImageMap, pid: u32, functions: &[Counts<'_>]) -> Profile {
    let functions = functions
        .iter()
        .map(|&(module, function, counts)| FunctionCounts {
            index: FunctionIndex { module, function },
            counts: counts
                .iter()
                .map(|&(number, count)| (number, Count(count)))
                .collect(),
            ..FunctionCounts::default()
        });
    let head = ProfileHead {
        build_id: image.build_id,
        image: image.name.clone(),
        image_path: format!("/tmp/{}", image.name).into(),
        pid,
        ppid: 1,
        threads: 1,
        ..ProfileHead::default()
    };
    Profile {
        functions: functions.collect(),
        ..Profile::from_head(head)
    }
}

/// The function `fact` of Burger and Dybvig (Figure 3). Block 0 is B1, the test. Block 1 is B2, the
/// base case. Block 2 is B3, the call. Block 3 is B4, the multiplication. Block 4 is the exit.
pub fn fact() -> Build {
    function("fact", "fact.c", 1)
        .block(2, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(2, &[(0, 4)])
        .block(2, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 4, Outcome::Return)
        .edge(2, 3, Outcome::Jump)
        .left(2)
        .edge(3, 4, Outcome::Return)
}

/// The example of the slides on PP, the path profiler of Ball and Larus. Blocks 0 to 5 are A to F,
/// 6 is the exit. Paths: 0 ACDF, 1 ACDEF, 2 ABCDF, 3 ABCDEF, 4 ABDF, 5 ABDEF.
pub fn slide() -> FunctionMap {
    function("slide", "slide.c", 1)
        .block(2, &[(0, 2)])
        .block(3, &[(0, 3)])
        .block(1, &[(0, 5)])
        .block(2, &[(0, 7)])
        .block(4, &[(0, 8)])
        .block(1, &[(0, 10)])
        .block(0, &[])
        .edge(0, 2, Outcome::False)
        .edge(0, 1, Outcome::True)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 5, Outcome::False)
        .edge(3, 4, Outcome::True)
        .edge(4, 5, Outcome::Jump)
        .edge(5, 6, Outcome::Return)
        .done()
}

/// The first of two profiles of [`slide`] with the same edge counts (slides on PP, "why paths").
pub const SLIDE_FIRST: &[(u64, u64)] = &[(0, 90), (1, 60), (3, 100), (4, 20)];
/// The second of these two profiles.
pub const SLIDE_SECOND: &[(u64, u64)] = &[(0, 110), (1, 40), (3, 100), (5, 20)];
