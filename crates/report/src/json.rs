//! The report for programs: JSON, schema 1, documented in docs/json.md.
//!
//! Written as it is made: a function at a time, a path at a time.
//!
//! Cost: each path listed is regenerated once; memory does not grow with the paths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use holloway_analysis::coverage::{LeftOut, coverage, left_out};
use holloway_analysis::edges::{EdgeCount, block_number, of_function};
use holloway_analysis::find::{Fate, where_is};
use holloway_analysis::paths::{hottest, regenerate};
use holloway_analysis::{Function, FunctionId, ModuleId, RunProfile, Sort};
use holloway_flow::{Path, PathEnd, PathId, PathStart};
use holloway_format::{Gone, Place, Skipped, Text};
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::Options;
use crate::filter::Filter;

/// Version of the schema.
pub const SCHEMA: u32 = 1;

/// Writes the run as JSON, one object and a newline. [`Options::function`] and [`Options::top`] limit functions and
/// paths; totals are always those of the whole run.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(run: &RunProfile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        run,
        names: Filter::new(options.function.as_ref()),
        options,
    };
    let mut out = BufWriter::new(out);
    serde_json::to_writer(&mut out, &document)?;
    writeln!(out)?;
    out.flush()
}

struct Document<'a> {
    run: &'a RunProfile,
    names: Filter<'a>,
    options: &'a Options<'a>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Document", 8)?;
        document.serialize_field("schema", &SCHEMA)?;
        document.serialize_field("images", &self.images())?;
        document.serialize_field("totals", &self.totals())?;
        document.serialize_field("damage", &self.run.damage)?;
        if self.options.function.is_some() {
            document.serialize_field("found", &self.found())?;
        }
        document.serialize_field("functions", &Functions(self))?;
        let left_out = left_out(self.run);
        document.serialize_field("skipped", &self.skipped(&left_out))?;
        document.serialize_field("gone", &self.gone(&left_out))?;
        document.end()
    }
}

#[derive(Serialize)]
struct ImageRecord<'a> {
    name: &'a str,
    build_id: String,
    processes: Vec<ProcessRecord<'a>>,
}

#[derive(Serialize)]
struct ProcessRecord<'a> {
    pid: u32,
    ppid: u32,
    path: &'a str,
    threads: u32,
    forked: bool,
    lost: u64,
}

#[derive(Serialize)]
struct Totals {
    path_executions: u64,
    hashed_executions: u64,
    distinct_paths: u64,
    possible_paths: u64,
    instructions: u64,
    calls: u64,
    functions: u64,
    functions_run: u64,
    functions_skipped: u64,
    functions_inlined: u64,
    functions_gone: u64,
    processes: u64,
    threads: u64,
    lost: u64,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct SkippedRecord<'a> {
    name: String,
    linkage_name: &'a str,
    module: &'a str,
    reason: &'a str,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct GoneRecord<'a> {
    name: String,
    linkage_name: &'a str,
    module: &'a str,
    inlined: bool,
}

#[derive(Serialize)]
struct FoundRecord<'a> {
    name: String,
    instrumented: Vec<&'a str>,
    inlined_into: Vec<IntoRecord<'a>>,
    skipped: Vec<ReasonRecord<'a>>,
    gone: Vec<&'a str>,
}

#[derive(Serialize)]
struct ReasonRecord<'a> {
    module: &'a str,
    reason: String,
}

#[derive(Serialize)]
struct IntoRecord<'a> {
    name: String,
    linkage_name: &'a str,
    times: u32,
}

impl<'a> Document<'a> {
    fn images(&self) -> Vec<ImageRecord<'a>> {
        let process = |process: &'a holloway_analysis::Process| ProcessRecord {
            pid: process.pid,
            ppid: process.ppid,
            path: &process.image_path,
            threads: process.threads,
            forked: process.forked,
            lost: process.lost,
        };
        let image = |image: &'a holloway_analysis::Image| ImageRecord {
            name: &image.name,
            build_id: image
                .build_id
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            processes: image.processes.iter().map(process).collect(),
        };
        self.run.images.iter().map(image).collect()
    }

    fn totals(&self) -> Totals {
        let coverage = coverage(self.run);
        Totals {
            path_executions: coverage.path_executions,
            hashed_executions: coverage.hashed_executions,
            distinct_paths: coverage.distinct_paths,
            possible_paths: coverage.possible_paths,
            instructions: coverage.instructions,
            calls: coverage.calls,
            functions: coverage.instrumented,
            functions_run: coverage.run,
            functions_skipped: coverage.skipped_total(),
            functions_inlined: coverage.inlined,
            functions_gone: coverage.gone,
            processes: coverage.processes,
            threads: coverage.threads,
            lost: coverage.lost,
        }
    }

    fn skipped(&self, left_out: &LeftOut<'a>) -> BTreeSet<SkippedRecord<'a>> {
        let asked = left_out
            .skipped
            .iter()
            .filter(|(_, one)| self.names.matches(&one.linkage_name, &one.name));
        let record = |&(id, one): &(ModuleId, &'a Skipped)| SkippedRecord {
            name: self.name(&one.linkage_name, &one.name),
            linkage_name: &one.linkage_name,
            module: self.module(id),
            reason: &one.reason,
        };
        asked.map(record).collect()
    }

    fn gone(&self, left_out: &LeftOut<'a>) -> BTreeSet<GoneRecord<'a>> {
        let asked = left_out
            .gone
            .iter()
            .filter(|(_, one, _)| self.names.matches(&one.linkage_name, &one.name));
        let record = |&(id, one, inlined): &(ModuleId, &'a Gone, bool)| GoneRecord {
            name: self.name(&one.linkage_name, &one.name),
            linkage_name: &one.linkage_name,
            module: self.module(id),
            inlined,
        };
        asked.map(record).collect()
    }

    fn found(&self) -> Vec<FoundRecord<'a>> {
        let fates = where_is(self.run, &|linkage_name, name| {
            self.names
                .matches(linkage_name, name)
                .then(|| self.names.name_of(linkage_name, name))
        });
        fates
            .into_iter()
            .map(|(name, fate)| self.found_one(&name, &fate))
            .collect()
    }

    fn found_one(&self, name: &str, fate: &Fate) -> FoundRecord<'a> {
        let map = |id: FunctionId| &self.run.function(id).map;
        FoundRecord {
            name: name.to_owned(),
            instrumented: fate
                .instrumented
                .iter()
                .map(|&id| &*map(id).linkage_name)
                .collect(),
            inlined_into: fate
                .inlined
                .iter()
                .map(|&(id, times)| IntoRecord {
                    name: self.name(&map(id).linkage_name, &map(id).name),
                    linkage_name: &map(id).linkage_name,
                    times,
                })
                .collect(),
            skipped: fate
                .skipped
                .iter()
                .map(|(id, reason)| ReasonRecord {
                    module: self.module(*id),
                    reason: reason.to_string(),
                })
                .collect(),
            gone: fate.gone.iter().map(|&id| self.module(id)).collect(),
        }
    }

    fn module(&self, id: ModuleId) -> &'a str {
        &self.run.modules[id.index()].name
    }

    fn name(&self, linkage_name: &Text, name: &Text) -> String {
        self.names.name_of(linkage_name, name).to_string()
    }
}

/// All functions shown, those with most path executions first.
struct Functions<'a>(&'a Document<'a>);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Document {
            run,
            names,
            options,
        } = self.0;
        let keep = |id: FunctionId| names.keeps(run, id);
        let top = options.top.map(|top| {
            let mut listed: BTreeMap<FunctionId, BTreeSet<PathId>> = BTreeMap::new();
            for path in hottest(run, options.sort, Some(top), &keep).paths {
                listed.entry(path.function).or_default().insert(path.path);
            }
            listed
        });
        let mut ids: Vec<FunctionId> = run.ids().map(|(id, _)| id).filter(|&id| keep(id)).collect();
        ids.sort_by_cached_key(|&id| Reverse(run.function(id).executions()));
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
    document: &'a Document<'a>,
    function: &'a Function,
    /// The paths to list, where not all are.
    listed: Option<BTreeSet<PathId>>,
}

impl Serialize for FunctionRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.document.run;
        let map = &self.function.map;
        let module = run.module_of(self.function);
        let mut record = serializer.serialize_struct("Function", 9)?;
        record.serialize_field("name", &*self.document.names.name(self.function))?;
        record.serialize_field("linkage_name", &*map.linkage_name)?;
        record.serialize_field("file", &*map.file)?;
        record.serialize_field("line", &map.line)?;
        record.serialize_field("module", &*module.name)?;
        record.serialize_field("image", &run.images[module.image.index()].name)?;
        record.serialize_field("possible_paths", &map.path_count)?;
        record.serialize_field("paths", &Paths(self))?;
        record.serialize_field("edges", &Edges(of_function(self.function)))?;
        record.end()
    }
}

struct Paths<'a>(&'a FunctionRecord<'a>);

impl Serialize for Paths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FunctionRecord {
            document,
            function,
            listed,
        } = self.0;
        let mut paths: Vec<(PathId, u64, u64)> = Vec::new();
        if let Some(graph) = function.graph() {
            graph.instructions(
                &function.map,
                &function.counts,
                |path, count, instructions| {
                    if listed.as_ref().is_none_or(|listed| listed.contains(&path)) {
                        paths.push((path, count, instructions));
                    }
                },
            );
        }
        paths.sort_by_key(|&(_, count, instructions)| match document.options.sort {
            Sort::Count => Reverse(count),
            Sort::Instructions => Reverse(instructions.saturating_mul(count)),
        });
        let places = places(function);
        let mut records = serializer.serialize_seq(Some(paths.len()))?;
        for (id, count, instructions) in paths {
            if let Some(path) = regenerate(function, id) {
                records.serialize_element(&path_record(
                    function,
                    &places,
                    id,
                    (count, instructions),
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
    count: u64,
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
    (count, instructions): (u64, u64),
    path: &Path,
) -> PathRecord<'a> {
    let (end, edge) = match &path.end {
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

/// The places of each block as `file:line:column`.
fn places(function: &Function) -> Vec<Vec<String>> {
    let file = |place: &Place| {
        function
            .map
            .scopes
            .get(place.scope as usize)
            .map_or("", |scope| &scope.file)
    };
    let text = |place: &Place| format!("{}:{}:{}", file(place), place.line, place.column);
    let lines = |places: &[Place]| {
        places
            .iter()
            .filter(|place| place.line != 0)
            .map(text)
            .collect()
    };
    function
        .map
        .blocks
        .iter()
        .map(|block| lines(&block.places))
        .collect()
}

struct Edges(Vec<EdgeCount>);

impl Serialize for Edges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Edge {
            from: i64,
            to: i64,
            count: u64,
        }
        serializer.collect_seq(self.0.iter().map(|&EdgeCount { from, to, count }| Edge {
            from,
            to,
            count,
        }))
    }
}
