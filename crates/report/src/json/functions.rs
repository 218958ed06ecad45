//! Writes the counts of each function as JSON: paths, blocks, edges.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holloway_analysis::edges::{EdgeCount, block_number, of_function};
use holloway_analysis::functions::summary;
use holloway_analysis::glue::is_glue;
use holloway_analysis::paths::{hottest, regenerate};
use holloway_analysis::{Function, FunctionId, Sort};
use holloway_flow::{Path, PathEnd, PathId, PathStart};
use holloway_format::{Count, EdgeKind};
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::context::RunContext;
use super::fields::{bound, collected, places, user_places_of};
use crate::code::Origin;

/// The functions that the filter keeps, and functions with paths through inlined code that it
/// keeps, ordered by instructions. If the user sorts by count, they are ordered by path executions,
/// or by block executions if any function counted edges.
///
/// Functions that never ran are listed only if the user names functions or asks for all code. Of a
/// large program, they take ten times the space of the functions that ran. `--top` limits the list
/// to the first functions, and the functions of the listed paths.
pub(super) struct Functions<'a>(pub(super) &'a RunContext<'a>);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RunContext {
            run,
            names,
            options,
        } = self.0;
        let keep = |id: FunctionId| names.keeps(run, id);
        let top = (options.top.is_some() || !names.keeps_all()).then(|| {
            let mut listed: BTreeMap<FunctionId, BTreeSet<PathId>> = BTreeMap::new();
            let choose = |id: FunctionId| names.paths(run, id);
            for path in hottest(run, options.sort, options.top, &choose).paths {
                listed.entry(path.function).or_default().insert(path.path);
            }
            listed
        });
        // A function with inlined code that the filter keeps is listed if it has a path to list.
        let has_listed_path =
            |id: FunctionId| top.as_ref().is_some_and(|listed| listed.contains_key(&id));
        let lists_all = options.function.is_some() || options.code.origin == Origin::All;
        let is_listed = |&(id, function): &(FunctionId, &Function)| {
            (lists_all || function.ran()) && keep(id) || has_listed_path(id)
        };
        let ids = run.ids().filter(is_listed);
        let mut ids: Vec<FunctionId> = ids.map(|(id, _)| id).collect();
        let weight = options.function_weight(run);
        let weigh = |id| summary(run, id).map_or(Count::ZERO, |summary| summary.weight(weight));
        ids.sort_by_cached_key(|&id| (is_glue(&run.function(id).map), Reverse(weigh(id))));
        let mut rank = 0..;
        ids.retain(|&id| {
            let rank = rank.next();
            options.top.is_none_or(|top| rank < Some(top)) || has_listed_path(id)
        });
        let mut functions = serializer.serialize_seq(Some(ids.len()))?;
        for id in ids {
            let listed = top
                .as_ref()
                .map(|top| top.get(&id).cloned().unwrap_or_default());
            functions.serialize_element(&FunctionRecord {
                document: self.0,
                function: run.function(id),
                listed,
            })?;
        }
        functions.end()
    }
}

struct FunctionRecord<'a> {
    document: &'a RunContext<'a>,
    function: &'a Function,
    /// The paths to list, or `None` for all paths.
    listed: Option<BTreeSet<PathId>>,
}

impl Serialize for FunctionRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.document.run;
        let map = &self.function.map;
        let module = run.module_of(self.function);
        let places = places(self.function);
        let mut record = serializer.serialize_struct("Function", 13)?;
        record.serialize_field("name", &*self.document.names.name(self.function))?;
        record.serialize_field("linkage_name", &*map.linkage_name)?;
        record.serialize_field("file", &*map.file)?;
        record.serialize_field("line", &map.line)?;
        record.serialize_field("module", &*module.name)?;
        record.serialize_field("image", &run.images[module.image.index()].name)?;
        record.serialize_field("collected", collected(self.function.unit()))?;
        if let Some(bound) = bound(self.function.bounds().sum()) {
            record.serialize_field("bound", bound)?;
        }
        record.serialize_field("possible_paths", &map.path_count)?;
        record.serialize_field("selects", &map.selects)?;
        if let Some(samples) = run.samples_of(self.function) {
            record.serialize_field("samples", &samples)?;
        }
        record.serialize_field("paths", &Paths::ran(self, &places))?;
        if !self.function.reentries.is_empty() {
            record.serialize_field("reentries", &Paths::entered_again(self, &places))?;
        }
        record.serialize_field("blocks", &Blocks(self.function, &places))?;
        record.serialize_field("edges", &Edges(of_function(self.function)))?;
        record.end()
    }
}

/// Paths with their counts, hottest first.
struct Paths<'a> {
    record: &'a FunctionRecord<'a>,
    counts: &'a [(PathId, Count)],
    /// The paths to list, or `None` for all paths.
    listed: Option<&'a BTreeSet<PathId>>,
    /// The places of each block, by block number.
    places: &'a [Vec<String>],
}

impl<'a> Paths<'a> {
    fn ran(record: &'a FunctionRecord<'a>, places: &'a [Vec<String>]) -> Paths<'a> {
        Paths {
            record,
            counts: &record.function.counts,
            listed: record.listed.as_ref(),
            places,
        }
    }

    fn entered_again(record: &'a FunctionRecord<'a>, places: &'a [Vec<String>]) -> Paths<'a> {
        Paths {
            record,
            counts: &record.function.reentries,
            listed: None,
            places,
        }
    }
}

impl Serialize for Paths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FunctionRecord {
            document, function, ..
        } = self.record;
        let mut paths: Vec<(PathId, Count, u64)> = Vec::new();
        if let Some(graph) = function.graph() {
            graph.measure(&function.map, self.counts, |path| {
                if self.listed.is_none_or(|listed| listed.contains(&path.path)) {
                    paths.push((path.path, path.count, path.instructions));
                }
            });
        }
        paths.sort_by_key(|&(_, count, instructions)| match document.options.sort {
            Sort::Count => Reverse(count),
            Sort::Instructions => Reverse(count.saturating_mul(instructions)),
        });
        let mut records = serializer.serialize_seq(Some(paths.len()))?;
        for (id, count, instructions) in paths {
            if let Some(path) = regenerate(function, id) {
                let counts = (count, instructions);
                records.serialize_element(&path_record(
                    function,
                    self.places,
                    id,
                    counts,
                    &path,
                ))?;
            }
        }
        records.end()
    }
}

#[derive(Serialize)]
struct PathRecord<'a> {
    id: u64,
    path_name: String,
    count: Count,
    instructions: u64,
    blocks: Vec<u32>,
    start: &'a str,
    end: &'a str,
    next: i64,
    places: Vec<&'a str>,
}

fn path_record<'a>(
    function: &Function,
    places: &'a [Vec<String>],
    id: PathId,
    (count, instructions): (Count, u64),
    path: &Path,
) -> PathRecord<'a> {
    let (end, edge) = match &path.end {
        PathEnd::Exit(edge) if is_exit_edge(function, edge.index()) => ("left", edge),
        PathEnd::Exit(edge) => ("exit", edge),
        PathEnd::Back(edge) => ("back", edge),
        PathEnd::Cut(edge) => ("cut", edge),
    };
    let mut passed: Vec<&str> = path
        .blocks
        .iter()
        .flat_map(|block| &places[block.index()])
        .map(String::as_str)
        .collect();
    passed.dedup();
    PathRecord {
        id: id.0,
        path_name: function.name_of(path).full(),
        count,
        instructions,
        blocks: path.blocks.iter().map(|block| block.0).collect(),
        start: if matches!(path.start, PathStart::Entry) {
            "entry"
        } else {
            "loop"
        },
        end,
        next: block_number(function, function.map.edges[edge.index()].to),
        places: passed,
    }
}

fn is_exit_edge(function: &Function, edge: usize) -> bool {
    let edge = function.map.edges.get(edge);
    edge.is_some_and(|edge| edge.kind == EdgeKind::Exit)
}

/// All blocks but the exit, with the places of each.
struct Blocks<'a>(&'a Function, &'a [Vec<String>]);

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Block<'a> {
            id: u32,
            count: Count,
            instructions: u32,
            places: &'a [String],
            #[serde(skip_serializing_if = "Option::is_none")]
            user_places: Option<Vec<String>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            bound: Option<&'a str>,
        }
        let Blocks(function, places) = *self;
        let counted = function.map.blocks.iter().zip(&function.flow().blocks);
        let blocks = (0u32..).zip(counted).zip(places);
        let blocks = blocks.filter(|((id, _), _)| *id != function.map.exit);
        let bounds = &function.bounds().blocks;
        serializer.collect_seq(blocks.map(|((id, (block, &count)), places)| Block {
            id,
            count,
            bound: bound(bounds[id as usize]),
            instructions: block.instructions,
            places,
            user_places: user_places_of(function, &block.places),
        }))
    }
}

struct Edges(Vec<EdgeCount>);

impl Serialize for Edges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Edge {
            from: i64,
            to: i64,
            count: i64,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            left: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            bound: Option<&'static str>,
        }
        serializer.collect_seq(self.0.iter().map(
            |&EdgeCount {
                 from,
                 to,
                 count,
                 left,
                 bound: count_bound,
             }| Edge {
                from,
                to,
                count,
                left,
                bound: bound(count_bound),
            },
        ))
    }
}
