//! Sums up a run: how much its counts cover, and which functions and frames they leave out.
//!
//! Cost: linear in functions, scopes and counted paths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use holloway_format::{Count, EdgeKind, EdgeMap, Skipped, VanishedFunction, WriteFailure};

use crate::edges::jumps;
use crate::flow::add;
use crate::run::{Function, ModuleId, RunProfile};
use holloway_abi::Unit;

/// Totals of a run, and the functions that were left out with the reasons.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Processes that ran an instrumented image (distinct process ids).
    pub processes: u64,
    /// Processes among these that are children of a fork.
    pub forked: u64,
    /// Threads that entered instrumented code, over all processes.
    pub threads: u64,
    /// Number of threads and hash segments whose counts were lost.
    pub lost: u64,
    /// Why counts or words were lost, if a process recorded it.
    pub failure: Option<WriteFailure>,
    /// Functions instrumented.
    pub instrumented: u64,
    /// Instrumented functions that ran.
    pub run: u64,
    /// Functions left uninstrumented, by reason, the most frequent first.
    pub skipped: Vec<(String, u64)>,
    /// Functions that have no separate code and were inlined into instrumented functions.
    pub inlined: u64,
    /// Functions that have no code at all.
    pub gone: u64,
    /// Times the functions were entered.
    pub calls: Count,
    /// Functions that ran and whose paths were counted.
    pub by_paths: u64,
    /// Functions that ran and whose edges were counted.
    pub by_edges: u64,
    /// Paths executed.
    pub path_executions: Count,
    /// Path executions that were counted in hash tables.
    pub hashed_executions: Count,
    /// Increments of all counters, of paths and of edges.
    pub increments: Count,
    /// Different paths executed.
    pub distinct_paths: u64,
    /// All paths of the functions that ran and whose paths were counted.
    pub possible_paths: u64,
    /// Images in which frames of path functions may have been left in a call without being counted
    /// (`--exits off`).
    pub paths_without_exits: Vec<String>,
    /// Images in which frames of edge functions may have been left in a call, although the counts
    /// assume that every call came back (`--exits off`).
    pub edges_without_exits: Vec<String>,
    /// Executions of edges in functions whose edges were counted. Only the edges that
    /// [`crate::edges::hottest`] ranks count, without exit edges.
    pub edges_taken: Count,
    /// Different edges taken in functions whose edges were counted.
    pub distinct_edges: u64,
    /// All edges of the functions that ran and whose edges were counted.
    pub possible_edges: u64,
    /// Frames that were left in a call that did not come back. In each block, calls that came back
    /// once more are subtracted.
    pub left: Count,
    /// Calls that came back once more. In each block, calls that did not come back are subtracted.
    pub entered_again: Count,
    /// Instructions run.
    pub instructions: Count,
    /// Names of modules that ran and have no line tables, so their paths have no places. Sorted.
    pub without_lines: Vec<String>,
}

impl Coverage {
    /// Functions left uninstrumented.
    pub fn skipped_total(&self) -> u64 {
        self.skipped.iter().map(|&(_, count)| count).sum()
    }
}

/// Sums up a run.
pub fn coverage(run: &RunProfile) -> Coverage {
    let mut coverage = Coverage {
        instrumented: run.functions.len() as u64,
        ..Coverage::default()
    };
    count_processes(run, &mut coverage);
    count_left_out(run, &mut coverage);
    for function in run.functions.iter().filter(|function| function.ran()) {
        coverage.run += 1;
        add(&mut coverage.calls, function.flow().calls);
        add(&mut coverage.instructions, function.flow().instructions);
        add(&mut coverage.increments, function.increments());
        match function.unit() {
            Unit::Paths => count_paths(function, &mut coverage),
            Unit::Edges => count_edges(function, &mut coverage),
        }
        count_left(function, &mut coverage);
        if run.images[run.module_of(function).image.index()].ends_paths_at_calls() {
            let left_frames = function.flow().left.iter();
            left_frames.for_each(|&frames| add(&mut coverage.left, frames));
        }
    }
    coverage.without_lines = without_lines(run);
    coverage.paths_without_exits = without_exits(run, Unit::Paths);
    coverage.edges_without_exits = without_exits(run, Unit::Edges);
    coverage
}

fn count_paths(function: &Function, coverage: &mut Coverage) {
    let executions = function.executions();
    coverage.by_paths += 1;
    coverage.distinct_paths += function.counts.len() as u64;
    add(&mut coverage.path_executions, executions);
    coverage.possible_paths = coverage
        .possible_paths
        .saturating_add(function.map.path_count);
    if function.hashed() {
        add(&mut coverage.hashed_executions, executions);
    }
}

fn count_edges(function: &Function, coverage: &mut Coverage) {
    coverage.by_edges += 1;
    let jumps = jumps(&function.map);
    let edges = function.map.edges.iter().zip(&function.flow().edges);
    let is_counted = |edge: &EdgeMap| edge.is_always_there() && jumps[edge.from as usize].is_none();
    for (_, &count) in edges.filter(|(edge, _)| is_counted(edge)) {
        coverage.possible_edges += 1;
        coverage.distinct_edges += u64::from(count > 0);
        add(&mut coverage.edges_taken, Count(count.unsigned_abs()));
    }
}

fn count_left(function: &Function, coverage: &mut Coverage) {
    let edges = function.map.edges.iter().zip(&function.flow().edges);
    for (_, &count) in edges.filter(|(edge, _)| edge.kind == EdgeKind::Exit) {
        let sum = if count > 0 {
            &mut coverage.left
        } else {
            &mut coverage.entered_again
        };
        add(sum, Count(count.unsigned_abs()));
    }
}

/// Names of the images that ran and in which frames of functions that collect `collected` may have
/// been left without being counted.
///
/// A function in which a frame may be left without being counted *leaks*. A leaking function is
/// included even if it has no counts, because all of its frames may have been left. If the map does
/// not list leaks, every function that ran may leak, unless the image counts frames that were left.
fn without_exits(run: &RunProfile, collected: Unit) -> Vec<String> {
    let has_exits = run.exits_by_image();
    let image_of = |function: &&Function| run.module_of(function).image.index();
    let leaky = run.functions.iter().filter(|function| {
        let image = image_of(function);
        let leaks = match run.images[image].leaks_unknown {
            true => function.ran() && !has_exits[image],
            false => !function.map.leaks.is_empty(),
        };
        leaks && function.unit() == collected && !run.images[image].processes.is_empty()
    });
    let images: BTreeSet<usize> = leaky.map(|function| image_of(&function)).collect();
    let names = images.iter().map(|&image| run.images[image].name.clone());
    names.collect()
}

/// Names of the modules that ran and have no line tables. In such a module no function has a source
/// file. A single function without a file may be one that the compiler generated.
fn without_lines(run: &RunProfile) -> Vec<String> {
    let mut ran: BTreeMap<&str, bool> = BTreeMap::new();
    for function in run.functions.iter().filter(|function| function.ran()) {
        let name: &str = &run.module_of(function).name;
        *ran.entry(name).or_default() |= !function.map.file.is_empty();
    }
    let without_lines = ran.into_iter().filter(|&(_, has_lines)| !has_lines);
    without_lines.map(|(name, _)| name.to_owned()).collect()
}

fn count_processes(run: &RunProfile, coverage: &mut Coverage) {
    let mut pids = BTreeSet::new();
    let mut forked = BTreeSet::new();
    for process in run.images.iter().flat_map(|image| &image.processes) {
        pids.insert(process.pid);
        if process.forked {
            forked.insert(process.pid);
        }
        coverage.lost = coverage.lost.saturating_add(process.lost);
        coverage.failure = coverage.failure.or(process.failure);
    }
    coverage.processes = pids.len() as u64;
    coverage.forked = forked.len() as u64;
    coverage.threads = threads(run);
}

/// Number of threads in all processes.
///
/// The threads of a process may enter several images. The image that most threads entered gives
/// their number. If a process lists one image several times, it executed the image again. The
/// thread that called `exec` continues in the new image and is counted once.
fn threads(run: &RunProfile) -> u64 {
    let mut max_by_process: BTreeMap<u32, u64> = BTreeMap::new();
    for image in &run.images {
        let mut by_process: BTreeMap<u32, u64> = BTreeMap::new();
        for process in &image.processes {
            let threads = u64::from(process.threads);
            let sum = by_process.entry(process.pid).or_default();
            *sum = match *sum {
                0 => threads,
                earlier => earlier + threads.saturating_sub(1),
            };
        }
        for (pid, threads) in by_process {
            let maximum = max_by_process.entry(pid).or_default();
            *maximum = threads.max(*maximum);
        }
    }
    max_by_process.values().sum()
}

fn count_left_out(run: &RunProfile, coverage: &mut Coverage) {
    let LeftOut { skipped, gone } = left_out(run);
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, skipped) in skipped {
        *reasons.entry(&skipped.reason).or_default() += 1;
    }
    for (_, _, inlined) in gone {
        *(if inlined {
            &mut coverage.inlined
        } else {
            &mut coverage.gone
        }) += 1;
    }
    coverage.skipped = reasons
        .into_iter()
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect();
    coverage.skipped.sort_by_key(|&(_, count)| Reverse(count));
}

/// Functions without counters. Each is listed once.
#[derive(Clone, Debug, Default)]
pub struct LeftOut<'a> {
    /// Uninstrumented functions.
    pub skipped: Vec<(ModuleId, &'a Skipped)>,
    /// Functions that have no separate code in any module. The flag says whether an instrumented
    /// function contains an inlined copy.
    pub gone: Vec<(ModuleId, &'a VanishedFunction, bool)>,
}

/// Returns the functions without counters, in the order of the modules.
pub fn left_out(run: &RunProfile) -> LeftOut<'_> {
    let instrumented: HashSet<Identity<'_>> = run
        .functions
        .iter()
        .map(|function| identity(function.module, &function.map.linkage_name))
        .collect();
    let inlined: HashSet<&str> = run
        .functions
        .iter()
        .flat_map(|function| &function.map.scopes)
        .filter(|scope| scope.parent.is_some())
        .map(|scope| {
            if scope.linkage_name.is_empty() {
                &*scope.name
            } else {
                &*scope.linkage_name
            }
        })
        .collect();
    let (mut seen_skipped, mut seen_gone) = (HashSet::new(), HashSet::new());
    let mut left_out = LeftOut::default();
    for (id, module) in (0u32..).map(ModuleId).zip(&run.modules) {
        for skipped in &module.skipped {
            if seen_skipped.insert((identity(id, &skipped.linkage_name), &skipped.reason)) {
                left_out.skipped.push((id, skipped));
            }
        }
        for gone in &module.gone {
            let identity = identity(id, &gone.linkage_name);
            if !instrumented.contains(&identity) && seen_gone.insert(identity) {
                let is_inlined =
                    inlined.contains(&*gone.linkage_name) || inlined.contains(&*gone.name);
                left_out.gone.push((id, gone, is_inlined));
            }
        }
    }
    left_out
}

/// Identifies a function. A mangled name is unique over all modules. A plain name of C is unique
/// only in its module, since `static` functions often share a name.
type Identity<'a> = (Option<ModuleId>, &'a str);

fn identity(module: ModuleId, linkage_name: &str) -> Identity<'_> {
    let mangled = linkage_name.starts_with("_R") || linkage_name.starts_with("_Z");
    (if mangled { None } else { Some(module) }, linkage_name)
}
