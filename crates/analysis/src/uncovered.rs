//! Finds the code of a run that never ran: functions, lines, ways of branches, and paths.
//!
//! The answer is about the source, merged over all processes and images of the run. A function of
//! the source may have several compiled copies: one for each test program, one for each type that a
//! generic function is used with, and inlined copies. The function ran if any copy ran. The same
//! holds for a line and for a way of a branch. Copies are recognized by file, line, and name of the
//! function's declaration, without generic arguments.
//!
//! Path numbers are those of one compiled copy. Copies with equal graphs, as in several test
//! programs, have equal numbers, so their paths are merged. Copies with other graphs are *versions*
//! of the function. The paths of each version that ran are counted separately and added up.
//!
//! Functions without a file are left out, because the compiler made them, and so are the shims of
//! Rust's allocator: they have the file and the line of the `#[global_allocator]`, but the user did
//! not write them. Ways of branches from which control only reaches calls that never return, or
//! landing pads, are left out, because most of them are checks that the compiler inserted. If such
//! code was written by the user, its lines are listed.
//!
//! Cost: linear in places times the depth of inlining, after the line counts and the description of
//! each branch that ran.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holloway_abi::Unit;
use holloway_flow::PathId;
use holloway_format::{Count, FunctionMap, Scope};

use crate::flow::add;
use crate::glue::{is_allocator_shim, is_glue};
use crate::lines;
use crate::run::{Function, FunctionId, RunProfile};
use crate::trail::frames;
use crate::ways::{SourceBranch, branch_ways, executions};

/// Code that never ran, and how much code there is.
#[derive(Clone, Debug, Default)]
pub struct Uncovered<'a> {
    /// Functions that never ran, those with the most lines first.
    pub functions: Vec<UncoveredFunction<'a>>,
    /// Number of functions with code.
    pub function_count: u64,
    /// By file: the lines that never ran of functions that ran.
    pub lines: BTreeMap<String, Vec<u32>>,
    /// Number of lines that never ran, also those of functions that never ran.
    pub uncovered_line_count: u64,
    /// Number of lines with code.
    pub line_count: u64,
    /// Ways never taken of branches that ran, the most executed branch first, but those of
    /// [glue](crate::glue) last.
    pub ways: Vec<UncoveredWay<'a>>,
    /// Number of ways of branches that ran.
    pub way_count: u64,
    /// Functions that ran, with paths that never ran, the one with the most instructions first, but
    /// [glue](crate::glue) last.
    pub paths: Vec<UncoveredPaths>,
    /// Different paths that ran of functions whose paths were counted.
    pub paths_run: u64,
    /// Paths of these functions.
    pub path_count: u64,
    /// Number of shims of Rust's allocator that are left out.
    pub allocator_shims: u64,
}

/// A function that never ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncoveredFunction<'a> {
    /// Source file of the declaration.
    pub file: &'a str,
    /// Line of the declaration.
    pub line: u32,
    /// The scope of a copy, with the names.
    pub scope: &'a Scope,
    /// Number of lines with code.
    pub lines: u64,
}

/// A way of a branch that was never taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncoveredWay<'a> {
    /// A function that contains the branch.
    pub function: FunctionId,
    /// The edge of this function.
    pub edge: u32,
    /// Source file of the branch.
    pub file: &'a str,
    /// Line of the branch.
    pub line: u32,
    /// Column of the branch, 0 if unknown.
    pub column: u32,
    /// Executions of the branch, in all copies.
    pub executions: Count,
}

/// The paths of a function that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UncoveredPaths {
    /// A compiled copy of the function: of the version that ran most instructions.
    pub function: FunctionId,
    /// Different paths that ran, in all versions.
    pub ran: u64,
    /// Paths of all versions that ran.
    pub possible: u64,
    /// Number of versions that ran: compiled copies with different graphs.
    pub versions: u64,
    /// Instructions run, in all versions.
    pub instructions: Count,
    /// The first paths of `function` that never ran, by number.
    pub never: Vec<PathId>,
}

/// The declaration of a function: file, line, and name without generic arguments.
pub(crate) type Declaration<'a> = (&'a str, u32, &'a str);

pub(crate) fn declaration(scope: &Scope) -> Declaration<'_> {
    let name = scope.name.split('<').next().unwrap_or(&scope.name);
    (&scope.file, scope.line, name)
}

/// Finds the code that never ran in the scopes that `keep` accepts: functions, and functions
/// inlined into them. `max_paths` limits the paths that are listed for a function. `is_library`
/// says whether a file belongs to a standard library (see [`branch_ways`]).
pub fn uncovered<'a>(
    run: &'a RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
    is_library: fn(&str) -> bool,
    max_paths: usize,
) -> Uncovered<'a> {
    let all_code = keep;
    let keep: &dyn Fn(&Function, &Scope) -> bool =
        &|function, scope| all_code(function, scope) && !is_shim(function, scope);
    let sources = sources(run, keep);
    let mut uncovered = Uncovered {
        function_count: sources.len() as u64,
        allocator_shims: allocator_shims(run, all_code),
        ..Uncovered::default()
    };
    let mut lines_of_functions: BTreeSet<(&str, u32)> = BTreeSet::new();
    for (&(file, line, _), source) in sources.iter().filter(|(_, source)| !source.ran) {
        lines_of_functions.extend(source.lines.iter().map(|&line| (file, line)));
        lines_of_functions.insert((file, line));
        uncovered.functions.push(UncoveredFunction {
            file,
            line,
            scope: source.scope,
            lines: source.lines.len() as u64,
        });
    }
    uncovered
        .functions
        .sort_by_key(|function| Reverse(function.lines));
    for (file, lines) in lines::counts(run, keep) {
        uncovered.line_count += lines.len() as u64;
        let never = lines.into_iter().filter(|&(_, count)| count == Count::ZERO);
        let never: Vec<u32> = never.map(|(line, _)| line).collect();
        uncovered.uncovered_line_count += never.len() as u64;
        let of_functions_that_ran = never
            .into_iter()
            .filter(|&line| !lines_of_functions.contains(&(file.as_str(), line)));
        let listed: Vec<u32> = of_functions_that_ran.collect();
        if !listed.is_empty() {
            uncovered.lines.insert(file, listed);
        }
    }
    add_ways(run, keep, is_library, &mut uncovered);
    add_paths(run, &sources, max_paths, &mut uncovered);
    uncovered
}

/// Whether a scope is a shim of Rust's allocator.
pub(crate) fn is_shim(function: &Function, scope: &Scope) -> bool {
    is_allocator_shim(match scope.parent {
        None => &function.map.linkage_name,
        Some(_) => &scope.linkage_name,
    })
}

/// The number of shims of Rust's allocator among the functions that `keep` accepts.
fn allocator_shims(run: &RunProfile, keep: &dyn Fn(&Function, &Scope) -> bool) -> u64 {
    let functions = run.functions.iter();
    let shims = functions.filter(|function| is_allocator_shim(&function.map.linkage_name));
    let kept = shims.filter(|function| {
        let mut scopes = function.map.scopes.iter();
        scopes.any(|scope| scope.parent.is_none() && keep(function, scope))
    });
    let names: BTreeSet<&str> = kept.map(|shim| &*shim.map.linkage_name).collect();
    names.len() as u64
}

/// A function of the source, with all of its copies.
pub(crate) struct Source<'a> {
    pub(crate) scope: &'a Scope,
    /// Whether any copy ran.
    pub(crate) ran: bool,
    /// Lines with code, in any copy.
    pub(crate) lines: BTreeSet<u32>,
    /// Compiled copies that are not inlined.
    pub(crate) copies: Vec<FunctionId>,
}

pub(crate) fn sources<'a>(
    run: &'a RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
) -> BTreeMap<Declaration<'a>, Source<'a>> {
    let mut sources: BTreeMap<Declaration<'a>, Source<'a>> = BTreeMap::new();
    for (id, function) in run.ids() {
        let scopes = &function.map.scopes;
        let is_kept = |scope: &Scope| !scope.file.is_empty() && keep(function, scope);
        let kept: Vec<bool> = scopes.iter().map(is_kept).collect();
        if !kept.contains(&true) {
            continue;
        }
        let code = ScopeCode::new(function);
        for (index, scope) in scopes.iter().enumerate().filter(|&(index, _)| kept[index]) {
            // A body that includes a file has a scope for each file, but is one function.
            let declaration = match (scope.parent, scopes.first()) {
                (None, Some(own)) => declaration(own),
                (Some(_), _) | (None, None) => declaration(scope),
            };
            let source = sources.entry(declaration).or_insert_with(|| Source {
                scope,
                ran: false,
                lines: BTreeSet::new(),
                copies: Vec::new(),
            });
            source.ran |= code.ran[index];
            source.lines.extend(&code.lines[index]);
            if scope.parent.is_none() {
                source.ran |= function.ran();
                if source.copies.last() != Some(&id) {
                    source.copies.push(id);
                }
            }
        }
    }
    sources
}

/// The code of each scope of a function.
struct ScopeCode {
    /// By scope: whether any of its code ran.
    ran: Vec<bool>,
    /// By scope: its lines with code.
    lines: Vec<BTreeSet<u32>>,
}

impl ScopeCode {
    fn new(function: &Function) -> ScopeCode {
        let map = &function.map;
        let mut code = ScopeCode {
            ran: vec![false; map.scopes.len()],
            lines: vec![BTreeSet::new(); map.scopes.len()],
        };
        for (block, &count) in map.blocks.iter().zip(&function.flow().blocks) {
            for frame in block.places.iter().flat_map(|place| frames(map, place)) {
                code.ran[frame.scope as usize] |= count > Count::ZERO;
                if frame.line != 0 {
                    code.lines[frame.scope as usize].insert(frame.line);
                }
            }
        }
        code
    }
}

fn add_ways<'a>(
    run: &'a RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
    is_library: fn(&str) -> bool,
    uncovered: &mut Uncovered<'a>,
) {
    let ran = |function: &Function, scope: &Scope| function.ran() && keep(function, scope);
    for (branch, ways) in branch_ways(run, &ran, is_library) {
        let SourceBranch { file, line, column } = branch;
        let executions = executions(&ways);
        if executions == Count::ZERO {
            continue;
        }
        uncovered.way_count += ways.len() as u64;
        let never = ways.iter().filter(|way| way.count == Count::ZERO);
        uncovered.ways.extend(never.map(|way| UncoveredWay {
            function: way.function,
            edge: way.edge,
            file,
            line,
            column,
            executions,
        }));
    }
    // The sort is stable: branches with equal executions stay in the order of files and lines.
    uncovered.ways.sort_by_cached_key(|way| {
        let is_glue = is_glue(&run.function(way.function).map);
        (is_glue, Reverse(way.executions))
    });
}

fn add_paths(
    run: &RunProfile,
    sources: &BTreeMap<Declaration<'_>, Source<'_>>,
    max_paths: usize,
    uncovered: &mut Uncovered<'_>,
) {
    for source in sources.values() {
        let versions = versions(run, &source.copies);
        let Some(hottest) = versions.iter().max_by_key(|version| version.instructions) else {
            continue;
        };
        let instructions = versions.iter().map(|version| version.instructions);
        let ran = versions
            .iter()
            .map(|version| version.paths.len() as u64)
            .sum();
        let possible = versions.iter().map(|version| version.possible(run));
        let possible = possible.fold(0, u64::saturating_add);
        uncovered.paths_run += ran;
        uncovered.path_count = uncovered.path_count.saturating_add(possible);
        if ran < possible {
            uncovered.paths.push(UncoveredPaths {
                function: hottest.function,
                ran,
                possible,
                versions: versions.len() as u64,
                instructions: instructions.fold(Count::ZERO, Count::saturating_add),
                never: hottest.never(run, max_paths),
            });
        }
    }
    uncovered.paths.sort_by_cached_key(|paths| {
        let is_glue = is_glue(&run.function(paths.function).map);
        (is_glue, Reverse(paths.instructions))
    });
}

/// Copies of a function with equal graphs. At least one copy ran.
pub(crate) struct Version {
    /// One of the copies.
    pub(crate) function: FunctionId,
    /// The paths that ran, with their executions in all copies.
    pub(crate) paths: BTreeMap<PathId, Count>,
    pub(crate) instructions: Count,
}

impl Version {
    fn possible(&self, run: &RunProfile) -> u64 {
        run.function(self.function).map.path_count
    }

    /// The first `max` paths that never ran.
    fn never(&self, run: &RunProfile, max: usize) -> Vec<PathId> {
        let paths = (0..self.possible(run)).map(PathId);
        let never = paths.filter(|path| !self.paths.contains_key(path));
        never.take(max).collect()
    }
}

pub(crate) fn versions(run: &RunProfile, copies: &[FunctionId]) -> Vec<Version> {
    let mut versions: Vec<Version> = Vec::new();
    for &id in copies {
        let function = run.function(id);
        if !function.ran() || function.unit() != Unit::Paths {
            continue;
        }
        let is_same =
            |version: &Version| same_graph(&run.function(version.function).map, &function.map);
        let index = versions.iter().position(is_same).unwrap_or_else(|| {
            versions.push(Version {
                function: id,
                paths: BTreeMap::new(),
                instructions: Count::ZERO,
            });
            versions.len() - 1
        });
        for &(path, count) in &function.counts {
            add(versions[index].paths.entry(path).or_default(), count);
        }
        add(
            &mut versions[index].instructions,
            function.flow().instructions,
        );
    }
    versions
}

/// Whether two functions have equal graphs, so that a path number means the same path in both.
fn same_graph(a: &FunctionMap, b: &FunctionMap) -> bool {
    a.path_count == b.path_count && a.edges == b.edges && a.dag == b.dag && a.blocks == b.blocks
}
