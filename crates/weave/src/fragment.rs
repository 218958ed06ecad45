//! The path map's record of an instrumented function.

use holloway_flow::{DagEdgeKind, Numbering};
use holloway_format::{BlockMap, DagEdgeMap, DagKind, EdgeMap, FunctionMap, Place};
use holloway_llvm::{AttributeKind, Function, Instruction, Opcode, TypeKind};

use crate::instrument::insert::CountPlacement;
use crate::instrument::plan::{Plan, PlannedCounts};
use crate::lower::{LoweredFunction, Part, Scopes, SubprogramCache, is_counted, map_kind};
use crate::options::{EarlyBuild, ModuleOptions};
use crate::{cases, contents, facts, loads, loops};

/// The record of a function.
pub(crate) fn function_map<'m>(
    plan: &Plan<'m>,
    placement: &CountPlacement,
    subprograms: &'m SubprogramCache<'m>,
    options: &ModuleOptions,
) -> FunctionMap {
    let lowered = &plan.lowered;
    let function: Function<'m> = lowered.parts.function;
    let mut scopes = Scopes::new(function, subprograms);
    let mut blocks: Vec<BlockMap> = lowered
        .nodes
        .iter()
        .map(|node| block_map(lowered, *node, &mut scopes))
        .collect();
    blocks.push(BlockMap::default());
    let edges = lowered
        .cfg
        .edges()
        .iter()
        .zip(&lowered.edges)
        .map(|(edge, info)| EdgeMap {
            from: edge.from.0,
            to: edge.to.0,
            kind: map_kind(edge.kind),
            outcome: info.outcome,
            place: info.location.and_then(|location| scopes.place(location)),
        })
        .collect();
    let loads = match options.collect.is_timed() {
        true => loads::loads(lowered, &mut scopes),
        false => Vec::new(),
    };
    let loops = loops::loops(lowered, &mut scopes);
    let facts = facts::facts(lowered, &mut scopes);
    // For kinds without exit edges, the map lists no leaks: timed paths always end, and a trace
    // records frames that are left.
    let leaks = match options.collect.counts_exits() {
        true => lowered.leaks.iter().map(|block| block.0).collect(),
        false => Vec::new(),
    };
    let scopes = scopes.into_scopes();
    let mut map = FunctionMap {
        name: scopes[0].name.clone(),
        linkage_name: scopes[0].linkage_name.clone(),
        file: scopes[0].file.clone(),
        line: scopes[0].line,
        hash: 0,
        in_source_order: is_unoptimized(function),
        counters: placement.counters,
        ring_counters: placement.ring_counters.map(|counters| counters.offset),
        path_count: 0,
        entry: lowered.cfg.entry().0,
        exit: lowered.cfg.exit().0,
        blocks,
        edges,
        dag: Vec::new(),
        chords: Vec::new(),
        counted: Vec::new(),
        tree: Vec::new(),
        scopes,
        loads,
        selects: select_count(lowered),
        loops,
        cases: cases::names(lowered),
        leaks,
        facts,
        contents: match options.early {
            Some(EarlyBuild::Training | EarlyBuild::Optimized(_)) => contents::contents(lowered),
            Some(EarlyBuild::Plain) | None => Vec::new(),
        },
    };
    match &plan.counts {
        PlannedCounts::Paths(numbering) => {
            map.path_count = numbering.path_count();
            map.dag = dag(numbering);
            map.chords = plan.probes.chords.iter().map(|edge| edge.0).collect();
        }
        PlannedCounts::Edges(counters) => {
            map.counted = counters.counted().iter().map(|edge| edge.0).collect();
            map.tree = counters.tree().iter().map(|edge| edge.0).collect();
        }
    }
    map.hash = map.structure_hash();
    map
}

/// Whether the function must not be optimized, as clang requests at `-O0`.
fn is_unoptimized(function: Function<'_>) -> bool {
    AttributeKind::named(function.module(), "optnone")
        .is_some_and(|kind| function.has_attribute(kind))
}

fn dag(numbering: &Numbering) -> Vec<DagEdgeMap> {
    let edges = numbering.dag_edges().iter().enumerate();
    edges
        .map(|(index, edge)| DagEdgeMap {
            from: edge.from.0,
            to: edge.to.0,
            kind: match edge.kind {
                DagEdgeKind::Edge(id) => DagKind::Edge(id.0),
                DagEdgeKind::Start(block) => DagKind::Start(block.0),
                DagEdgeKind::Back(id) => DagKind::Back(id.0),
                DagEdgeKind::Cut(id) => DagKind::Cut(id.0),
            },
            value: numbering.value(holloway_flow::DagEdgeId(index as u32)),
        })
        .collect()
}

/// The number of instructions and the places of a part. A jump at the part's end contributes no
/// place: its location is stored with the edge, and is often the location of the code that follows.
/// A part that is only a jump, for example on a split edge, has 0 instructions, because the code
/// generator emits none.
fn block_map<'m>(lowered: &LoweredFunction<'m>, node: Part, scopes: &mut Scopes<'m>) -> BlockMap {
    let instructions = &lowered.parts.blocks[node.block].instructions[node.from..node.to];
    let counted: Vec<_> = instructions
        .iter()
        .copied()
        .filter(|instruction| is_counted(*instruction))
        .collect();
    let (instruction_count, with_places) = match counted.split_last() {
        Some((last, [])) if is_jump(*last) => (0, [].as_slice()),
        Some((last, others)) if is_jump(*last) => (counted.len(), others),
        _ => (counted.len(), counted.as_slice()),
    };
    let mut places: Vec<Place> = Vec::new();
    for instruction in with_places {
        let place = instruction
            .location()
            .and_then(|location| scopes.place(location));
        if let Some(place) = place
            && places.last() != Some(&place)
        {
            places.push(place);
        }
    }
    BlockMap {
        instructions: u32::try_from(instruction_count).unwrap_or(u32::MAX),
        places,
    }
}

/// The number of choices between two values without a branch: selects with a single condition. A
/// select with a vector of conditions is not counted, because the vectorizer made it, not the
/// source.
fn select_count(lowered: &LoweredFunction<'_>) -> u32 {
    let nodes = lowered.nodes.iter();
    let instructions =
        nodes.flat_map(|node| &lowered.parts.blocks[node.block].instructions[node.from..node.to]);
    let choices = instructions.filter(|instruction| {
        instruction.opcode() == Opcode::Select
            && instruction.value().operand(0).kind().kind() == TypeKind::Integer(1)
    });
    u32::try_from(choices.count()).unwrap_or(u32::MAX)
}

fn is_jump(instruction: Instruction<'_>) -> bool {
    instruction.opcode() == Opcode::Br && instruction.successors().len() == 1
}
