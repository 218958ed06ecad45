//! Writes the loops and their sequences of paths as JSON (section `loops` of docs/json.md, which
//! explains the keys).

use holloway_flow::PathId;
use holloway_format::Count;
use std::collections::BTreeSet;
use std::io::{self, Write};

use holloway_analysis::Function;
use holloway_analysis::Interrupt;
use holloway_analysis::loops::LoopsRun;
use holloway_analysis::loops::shape::{Finding, path_of};
use holloway_analysis::paths::instructions;
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use super::document::{self, SCHEMA};
use super::fields::{bound, places, places_of};
use crate::filter::Filter;
use crate::loops::{LoopsOptions, ShownLoop, hottest};
use crate::notes::Sentences;
use crate::options::Options;

/// Writes the loops of a run as one object and a newline. [`Options::function`] and
/// [`Options::top`] limit the loops.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    loops: &LoopsRun,
    options: &Options<'_>,
    loops_options: LoopsOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(options);
    let (list, found) = hottest(loops, &names, options.top, loops_options);
    let document = Document {
        schema: SCHEMA,
        cpu_time: CpuTimeRecord::new(&loops.run),
        k: loops
            .functions
            .iter()
            .map(|function| function.k)
            .max()
            .unwrap_or(0),
        min_share: loops_options.min_share as f64 / 1000.0,
        found,
        loops: list
            .iter()
            .map(|shown_loop| LoopRecord::new(loops, &names, shown_loop, loops_options))
            .collect(),
        losses: Losses::new(loops),
        stats: loops_options.stats.then(|| Stats::new(loops)),
        interrupted: loops.run.interrupt.map(Interrupt::name),
        damage: Sentences(&loops.run.damage),
    };
    document::write(&document, out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<CpuTimeRecord>,
    k: u32,
    min_share: f64,
    found: usize,
    loops: Vec<LoopRecord<'a>>,
    losses: Losses,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Stats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'static str>,
    damage: Sentences<'a>,
}

#[derive(Serialize)]
struct LoopRecord<'a> {
    function: String,
    linkage_name: &'a str,
    module: &'a str,
    image: &'a str,
    head: Head,
    executions: Count,
    iterations: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<&'static str>,
    starts: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peeled: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vectorized: Option<bool>,
    findings: Vec<FindingRecord>,
    sequences: Vec<Sequence>,
    paths: Vec<PathRecord>,
}

#[derive(Serialize)]
struct Head {
    block: u32,
    place: String,
}

#[derive(Serialize)]
struct FindingRecord {
    kind: &'static str,
    share: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u32>,
}

#[derive(Serialize)]
struct Sequence {
    parent: Option<usize>,
    paths: Vec<u64>,
    count: Count,
    #[serde(skip_serializing_if = "is_zero")]
    missed: Count,
}

#[derive(Serialize)]
struct PathRecord {
    id: u64,
    path_name: String,
    blocks: Vec<u32>,
    instructions: u64,
    places: Vec<String>,
}

#[derive(Serialize)]
struct Losses {
    gaps: u64,
    cut_streams: u64,
    lost_words: u64,
    dropped_nodes: u64,
    dropped_words: u64,
}

#[derive(Serialize)]
struct Stats {
    words: u64,
    look_ups: u64,
    slab_forest_nodes: u64,
    path_forest_nodes: u64,
    leaves: u64,
    average_leaf_level: f64,
    average_inner_degree: f64,
    caught: Count,
    holes: u64,
    strangers: u64,
    prunings: u64,
}

fn is_zero(count: &Count) -> bool {
    *count == Count::ZERO
}

fn numbers(paths: &[PathId]) -> Vec<u64> {
    paths.iter().map(|path| path.0).collect()
}

impl<'a> LoopRecord<'a> {
    fn new(
        loops: &'a LoopsRun,
        names: &Filter<'_>,
        shown_loop: &ShownLoop,
        loops_options: LoopsOptions,
    ) -> Self {
        let run = &loops.run;
        let function = run.function(shown_loop.function);
        let module = run.module_of(function);
        let branches = shown_loop.branches(loops_options.min_share);
        let used: BTreeSet<PathId> = branches
            .iter()
            .flat_map(|branch| branch.paths.iter().copied())
            .collect();
        let places_of_blocks = places(function);
        let loop_map = shown_loop.count.described;
        let place = shown_loop
            .count
            .place
            .map(|place| places_of(function, &[place]));
        LoopRecord {
            function: names.name(function).to_string(),
            linkage_name: &function.map.linkage_name,
            module: &module.name,
            image: &run.images[module.image.index()].name,
            head: Head {
                block: shown_loop.count.head,
                place: place.and_then(|mut place| place.pop()).unwrap_or_default(),
            },
            executions: shown_loop.count.executions,
            iterations: shown_loop.count.iterations,
            bound: bound(
                shown_loop
                    .count
                    .executions_bound(function)
                    .and(shown_loop.count.iterations_bound(function)),
            ),
            starts: shown_loop.count.starts(),
            copies: loop_map
                .map(|loop_map| loop_map.copies)
                .filter(|copies| *copies > 1),
            peeled: loop_map
                .map(|loop_map| loop_map.peeled)
                .filter(|peeled| *peeled > 0),
            vectorized: loop_map
                .map(|loop_map| loop_map.vectorized)
                .filter(|vectorized| *vectorized),
            findings: shown_loop
                .count
                .findings(function, &shown_loop.kipf)
                .into_iter()
                .map(FindingRecord::new)
                .collect(),
            sequences: branches
                .into_iter()
                .map(|branch| Sequence {
                    parent: branch.parent,
                    paths: numbers(&branch.paths),
                    count: branch.count,
                    missed: branch.missed,
                })
                .collect(),
            paths: used
                .into_iter()
                .filter_map(|path| path_record(function, &places_of_blocks, path))
                .collect(),
        }
    }
}

fn path_record(
    function: &Function,
    places_of_blocks: &[Vec<String>],
    id: PathId,
) -> Option<PathRecord> {
    let path = path_of(function, id)?;
    let mut places: Vec<String> = path
        .blocks
        .iter()
        .flat_map(|block| places_of_blocks[block.index()].iter().cloned())
        .collect();
    places.dedup();
    Some(PathRecord {
        id: id.0,
        path_name: function.name_of(&path).full(),
        blocks: path.blocks.iter().map(|block| block.0).collect(),
        instructions: instructions(function, &path),
        places,
    })
}

impl FindingRecord {
    fn new(finding: Finding) -> FindingRecord {
        let (kind, share, paths, turns) = match finding {
            Finding::OnePath { path, share } => ("one-path", share, vec![path], None),
            Finding::Period { paths, share } => ("period", share, paths, None),
            Finding::FirstTurns { turns, share } => ("first-turns", share, Vec::new(), Some(turns)),
            Finding::Trips { turns, share } => ("trips", share, Vec::new(), Some(turns)),
            Finding::Steady { paths, share } => ("steady", share, paths, None),
        };
        FindingRecord {
            kind,
            share: share as f64 / 1000.0,
            paths: numbers(&paths),
            turns,
        }
    }
}

impl Losses {
    fn new(loops: &LoopsRun) -> Losses {
        let stats = &loops.stats;
        Losses {
            gaps: stats.gaps,
            cut_streams: stats.cut_streams,
            lost_words: stats.lost_words,
            dropped_nodes: stats.dropped_nodes,
            dropped_words: stats.dropped_words,
        }
    }
}

impl Stats {
    fn new(loops: &LoopsRun) -> Stats {
        let (stats, kipf) = (&loops.stats, loops.kipf_stats());
        Stats {
            words: stats.words,
            look_ups: stats.slabs,
            slab_forest_nodes: stats.nodes,
            path_forest_nodes: kipf.nodes,
            leaves: kipf.leaves,
            average_leaf_level: kipf.leaf_level(),
            average_inner_degree: kipf.inner_degree(),
            caught: stats.caught,
            holes: stats.holes,
            strangers: stats.strangers,
            prunings: stats.prunings,
        }
    }
}
