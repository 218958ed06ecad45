//! What a run's numbers cover, and what they don't.
//!
//! Cost: linear in functions, scopes and counted paths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use holloway_format::{EdgeKind, EdgeMap, Skipped, VanishedFunction};

use crate::edges::jumps;
use crate::flow::add;
use crate::run::{Function, ModuleId, RunProfile};
use holloway_abi::Unit;

/// What was counted, and what was left out and why.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Processes that ran an instrumented image (distinct process ids).
    pub processes: u64,
    /// Of them, children of a fork.
    pub forked: u64,
    /// Threads that entered instrumented code, over all processes.
    pub threads: u64,
    /// Threads and hash segments whose counts were lost.
    pub lost: u64,
    /// Functions instrumented.
    pub instrumented: u64,
    /// Of them, functions that ran.
    pub run: u64,
    /// Functions left uninstrumented, by reason, the most frequent first.
    pub skipped: Vec<(String, u64)>,
    /// Functions without code of their own that live on inlined in instrumented ones.
    pub inlined: u64,
    /// Functions without code at all.
    pub gone: u64,
    /// Times the functions were entered.
    pub calls: u64,
    /// Functions that ran and whose paths were counted.
    pub by_paths: u64,
    /// Functions that ran and whose edges were counted.
    pub by_edges: u64,
    /// Paths executed.
    pub path_executions: u64,
    /// Of them, those counted in hash tables.
    pub hashed_executions: u64,
    /// Times any counter was incremented for all this, of paths and of edges.
    pub increments: u64,
    /// Different paths executed.
    pub distinct_paths: u64,
    /// Paths there are in the functions of which paths were counted and ran.
    pub possible_paths: u64,
    /// Images in which frames of path functions may have been left in a call, uncounted (`--exits off`).
    pub paths_without_exits: Vec<String>,
    /// Images in which frames of edge functions may have been left in a call, though counts take every call to
    /// have come back (`--exits off`).
    pub edges_without_exits: Vec<String>,
    /// Times any edge was taken, where edges were counted: edges as [`crate::edges::hottest`] ranks them, but for exit edges.
    pub edges_taken: u64,
    /// Different edges taken, where edges were counted.
    pub distinct_edges: u64,
    /// Edges there are in the functions of which edges were counted and ran.
    pub possible_edges: u64,
    /// Times a function was left in a call that did not come back, block by block less the times it came back once more.
    pub left: u64,
    /// Times a call came back once more, block by block less the times it did not.
    pub entered_again: u64,
    /// Instructions run.
    pub instructions: u64,
    /// Modules that ran and have no line tables, so that their paths have no places; sorted.
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
            let left = function.flow().left.iter();
            left.for_each(|&left| add(&mut coverage.left, left));
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
    add(&mut coverage.possible_paths, function.map.path_count);
    if function.hashed() {
        add(&mut coverage.hashed_executions, executions);
    }
}

fn count_edges(function: &Function, coverage: &mut Coverage) {
    coverage.by_edges += 1;
    let jumps = jumps(&function.map);
    let edges = function.map.edges.iter().zip(&function.flow().edges);
    let whole = |edge: &EdgeMap| edge.is_always_there() && jumps[edge.from as usize].is_none();
    for (_, &count) in edges.filter(|(edge, _)| whole(edge)) {
        coverage.possible_edges += 1;
        coverage.distinct_edges += u64::from(count > 0);
        add(&mut coverage.edges_taken, count.unsigned_abs());
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
        add(sum, count.unsigned_abs());
    }
}

/// Names of the images that ran and in which frames of such functions may have been left uncounted. A function all of whose
/// frames were left has no counts, so it need not have run. Where the map doesn't say which functions leak, any that ran may,
/// unless the image counts frames that are left.
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

/// A function without a file may be the compiler's own; a module without any has no line tables.
fn without_lines(run: &RunProfile) -> Vec<String> {
    let mut ran: BTreeMap<&str, bool> = BTreeMap::new();
    for function in run.functions.iter().filter(|function| function.ran()) {
        let name: &str = &run.module_of(function).name;
        *ran.entry(name).or_default() |= !function.map.file.is_empty();
    }
    let bare = ran.into_iter().filter(|&(_, lines)| !lines);
    bare.map(|(name, _)| name.to_owned()).collect()
}

fn count_processes(run: &RunProfile, coverage: &mut Coverage) {
    let mut pids = BTreeSet::new();
    let mut forked = BTreeSet::new();
    for process in run.images.iter().flat_map(|image| &image.processes) {
        pids.insert(process.pid);
        if process.forked {
            forked.insert(process.pid);
        }
        add(&mut coverage.lost, process.lost);
    }
    coverage.processes = pids.len() as u64;
    coverage.forked = forked.len() as u64;
    coverage.threads = threads(run);
}

/// Threads of a process enter several images: the image that saw most of them tells their number. A process that has one image
/// several times has executed it anew, in the thread that did so.
fn threads(run: &RunProfile) -> u64 {
    let mut most: BTreeMap<u32, u64> = BTreeMap::new();
    for image in &run.images {
        let mut of_image: BTreeMap<u32, u64> = BTreeMap::new();
        for process in &image.processes {
            let threads = u64::from(process.threads);
            let known = of_image.entry(process.pid).or_default();
            *known = match *known {
                0 => threads,
                before => before + threads.saturating_sub(1),
            };
        }
        for (pid, threads) in of_image {
            let known = most.entry(pid).or_default();
            *known = threads.max(*known);
        }
    }
    most.values().sum()
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

/// Functions without counters, each once.
#[derive(Clone, Debug, Default)]
pub struct LeftOut<'a> {
    /// Uninstrumented functions.
    pub skipped: Vec<(ModuleId, &'a Skipped)>,
    /// Functions without code of their own in any module, and whether they live on inlined in instrumented ones.
    pub gone: Vec<(ModuleId, &'a VanishedFunction, bool)>,
}

/// Lists the functions without counters, in the order of the modules.
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
                let lives = inlined.contains(&*gone.linkage_name) || inlined.contains(&*gone.name);
                left_out.gone.push((id, gone, lives));
            }
        }
    }
    left_out
}

/// Tells functions apart by name: mangled names over all modules, the plain ones of C (`static`s often share one) in each.
type Identity<'a> = (Option<ModuleId>, &'a str);

fn identity(module: ModuleId, linkage_name: &str) -> Identity<'_> {
    let mangled = linkage_name.starts_with("_R") || linkage_name.starts_with("_Z");
    (if mangled { None } else { Some(module) }, linkage_name)
}
