//! Compares profiles with a simple tracer: programs with random graphs whose blocks write their id
//! to a file.
//!
//! The test divides the trace of each call into paths at the edges where the map says that paths
//! end (back edges and cuts), and counts the paths in a hash map. It uses no numbering, spanning
//! tree, or increment. At -O0 the result must equal the report, path by path. At -O2, where blocks
//! are copied and merged, each traced line must have run as often as it was traced.

use crate::ours::{Counted, Recorded, record};
use anyhow::{Context, Result, ensure};
use holloway_format::DagKind;
use holloway_tests::kind::{Kind, Weaving};
use holloway_tests::random_graph::{ENTER, IDS, LEAVE, Source, TRACER, Traced, generate};
use holloway_tests::tool::{clean, holloway_command, installed, libllvm_19, run_ok, scratch};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::process::Command;

/// A path: its start, the traced ids on it, and its end.
type Key = (String, Vec<u32>, String);

#[test]
fn paths_of_random_graphs_equal_the_trace() {
    for seed in 0..6 {
        check(seed, "-O0", 22, 14).unwrap();
    }
}

#[test]
fn paths_of_large_random_graphs_equal_the_trace() {
    check(100, "-O0", 22, 150).unwrap();
}

#[test]
fn paths_of_random_graphs_equal_the_trace_with_llvm_19() {
    for seed in 10..13 {
        check(seed, "-O0", 19, 14).unwrap();
    }
}

#[test]
fn blocks_of_optimized_random_graphs_run_as_often_as_traced() {
    for (seed, level) in [(20, "-O1"), (21, "-O2"), (22, "-O3"), (23, "-Os")] {
        check(seed, level, 22, 14).unwrap();
    }
}

fn check(seed: u64, level: &str, clang: u32, blocks: u64) -> Result<()> {
    let scratch = scratch("tracer")?;
    let source = generate(seed, 30, blocks, 60);
    compile(scratch.path(), &source, level, clang)?;
    for kind in [Kind::PathsClosed, Kind::Paths, Kind::Edges] {
        check_kind(kind, &source, level, clang, scratch.path())
            .with_context(|| format!("seed {seed}, {level}, {}", kind.name()))?;
    }
    Ok(())
}

fn check_kind(kind: Kind, source: &Source, level: &str, clang: u32, folder: &Path) -> Result<()> {
    let program = link(folder, kind, level, clang)?;
    let trace_file = folder.join("trace");
    let data = folder.join(kind.name());
    let recorded = record(&program, &[], &data, &[("TRACE", &trace_file)])?;
    let trace = std::fs::read(&trace_file)?;
    let ids: Vec<u32> = trace
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let functions = recorded.functions();
    let mut compared = 0;
    for (index, traced) in (0..).zip(&source.functions) {
        let of_this = |f: &&Counted| f.map.linkage_name.as_str() == traced.name;
        let function = functions
            .iter()
            .find(of_this)
            .with_context(|| format!("{} isn't in the map", traced.name))?;
        function.agrees_with(&recorded.report)?;
        let calls = calls_of(index, &ids);
        let check = || {
            same_runs(function, traced, &calls)?;
            let paths = level == "-O0" && !kind.counts_edges();
            Ok::<bool, anyhow::Error>(!paths || same_paths(function, traced, &calls, &recorded)?)
        };
        compared += usize::from(check().with_context(|| traced.name.clone())?);
    }
    let all = source.functions.len();
    ensure!(
        compared * 5 > all * 4,
        "only {compared} of {all} functions' paths could be told apart"
    );
    Ok(())
}

/// Compiles the program for weaving, and the tracer without instrumentation.
pub(crate) fn compile(folder: &Path, source: &Source, level: &str, clang: u32) -> Result<()> {
    std::fs::write(folder.join("random.c"), &source.text)?;
    std::fs::write(folder.join("tracer.c"), TRACER)?;
    let clang_path = installed(&format!("clang-{clang}"))?;
    let mut plain = Command::new(&clang_path);
    clean(&mut plain);
    run_ok(plain.current_dir(folder).args(["-O1", "-c", "tracer.c"]))?;
    let mut woven = holloway_command(["cc", level, "-g", "-w", "-c", "random.c"]);
    woven.current_dir(folder).env("HOLLOWAY_CLANG", clang_path);
    run_ok(&mut woven)?;
    Ok(())
}

pub(crate) fn link(
    folder: &Path,
    kind: Kind,
    level: &str,
    clang: u32,
) -> Result<std::path::PathBuf> {
    let program = folder.join(format!("program-{}", kind.name()));
    let mut woven = holloway_command(["cc", level, "-g", "random.o", "tracer.o", "-o"]);
    woven
        .arg(&program)
        .current_dir(folder)
        .env("HOLLOWAY_CLANG", installed(&format!("clang-{clang}"))?);
    Weaving::from(kind).by_environment(&mut woven);
    if clang == 19 {
        woven.env("HOLLOWAY_LLVM", libllvm_19()?);
    }
    run_ok(&mut woven)?;
    Ok(program)
}

/// Returns the ids that each call of a function traced, without the ids of its callees.
fn calls_of(function: u32, trace: &[u32]) -> Vec<Vec<u32>> {
    let (mut open, mut done) = (Vec::new(), Vec::new());
    for id in trace {
        if id % IDS == ENTER {
            open.push(Vec::new());
        }
        if let Some(call) = open.last_mut() {
            call.push(*id);
        }
        if id % IDS == LEAVE {
            let call: Vec<u32> = open.pop().expect("a call is entered before it is left");
            if id / IDS == function {
                done.push(call);
            }
        }
    }
    assert!(open.is_empty(), "the trace ends inside a call");
    done
}

/// Checks at -O0 that the report's paths, by the ids on them, equal the traced paths. Returns false
/// if the trace does not determine the paths.
fn same_paths(
    function: &Counted,
    traced: &Traced,
    calls: &[Vec<u32>],
    recorded: &Recorded,
) -> Result<bool> {
    let id_of = ids_of_blocks(function, traced)?;
    let Some(ends) = path_ends(function, &id_of) else {
        return Ok(false);
    };
    let mut naive = BTreeMap::<Key, u64>::new();
    for call in calls {
        let mut start = "entry";
        let mut path = Vec::new();
        for (at, id) in call.iter().enumerate() {
            path.push(*id);
            let ended = call
                .get(at + 1)
                .and_then(|next| ends.get(&(*id, *next)).copied().flatten());
            if let Some(end) = ended.or((at + 1 == call.len()).then_some("exit")) {
                *naive
                    .entry((start.to_owned(), std::mem::take(&mut path), end.to_owned()))
                    .or_default() += 1;
                start = "loop";
            }
        }
    }
    let mut reported = BTreeMap::<Key, u64>::new();
    for f in recorded
        .report
        .functions
        .iter()
        .filter(|f| f.linkage_name == traced.name)
    {
        for path in &f.paths {
            let ids = path
                .blocks
                .iter()
                .filter_map(|b| id_of.get(&(*b as u32)).copied())
                .collect();
            *reported
                .entry((path.start.clone(), ids, path.end.clone()))
                .or_default() += path.count;
        }
    }
    // A path between two cuts may contain no tracer call.
    reported.retain(|(_, ids, _), _| !ids.is_empty());
    for (key, count) in &naive {
        ensure!(
            reported.get(key) == Some(count),
            "path {key:?} was traced {count} times, reported {:?}",
            reported.get(key)
        );
    }
    ensure!(
        reported.len() == naive.len(),
        "{} paths reported, {} traced",
        reported.len(),
        naive.len()
    );
    Ok(true)
}

/// Returns the block of each tracer call. At -O0 each call is in exactly one block.
fn ids_of_blocks(function: &Counted, traced: &Traced) -> Result<HashMap<u32, u32>> {
    let known: HashMap<u32, u32> = traced.lines.iter().copied().collect();
    let mut ids = HashMap::new();
    for (number, actual) in (0..).zip(function.traced(|line| known.get(&line).copied())) {
        ensure!(actual.len() < 2, "block {number} holds two tracer calls");
        ids.extend(actual.first().map(|id| (number, *id)));
    }
    Ok(ids)
}

/// Returns for each pair of consecutive ids how the path ends between them, or `None` if the path
/// continues. The result is `None` as a whole if a path ends on only one of two edges from one id
/// to the other (two cases of a switch), because the trace does not distinguish these edges.
fn path_ends(
    function: &Counted,
    id_of: &HashMap<u32, u32>,
) -> Option<HashMap<(u32, u32), Option<&'static str>>> {
    let mut end_kinds = HashMap::new();
    for edge in &function.map.dag {
        match edge.kind {
            DagKind::Back(e) => end_kinds.insert(e, "back"),
            DagKind::Cut(e) => end_kinds.insert(e, "cut"),
            DagKind::Edge(_) | DagKind::Start(_) => None,
        };
    }
    let mut ends = HashMap::new();
    for (block, id) in id_of {
        let mut worklist = vec![(*block, None)];
        let mut seen = HashSet::new();
        while let Some((from, end)) = worklist.pop() {
            for (number, edge) in (0..)
                .zip(&function.map.edges)
                .filter(|(_, e)| e.from == from)
            {
                let end = end.or(end_kinds.get(&number).copied());
                if let Some(next) = id_of.get(&edge.to) {
                    let known = ends.insert((*id, *next), end);
                    if known.is_some_and(|k| k != end) {
                        return None;
                    }
                } else if seen.insert((edge.to, end)) {
                    worklist.push((edge.to, end));
                }
            }
        }
    }
    Some(ends)
}

/// Checks at any level that the line of each tracer call ran as often as it was traced.
fn same_runs(function: &Counted, traced: &Traced, calls: &[Vec<u32>]) -> Result<()> {
    let flow = function.flow()?;
    ensure!(
        flow.calls == calls.len() as i128,
        "{} calls, {} traced",
        flow.calls,
        calls.len()
    );
    let lines = function.traced(Some);
    for (line, id) in &traced.lines {
        let wanted = calls.iter().flatten().filter(|i| *i == id).count() as i128;
        let blocks = lines.iter().zip(&flow.blocks);
        let actual: i128 = blocks
            .filter(|(b, _)| b.contains(line))
            .map(|(_, n)| n)
            .sum();
        ensure!(
            actual == wanted,
            "line {line} was traced {wanted} times, reported {actual}"
        );
    }
    Ok(())
}
