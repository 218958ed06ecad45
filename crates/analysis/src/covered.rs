//! The coverage of a run: the functions, lines, branches, paths, and conditions that ran, out of
//! those of the program, in total, by file, and by function.
//!
//! The answer is about the source, as that of [`uncovered`](crate::uncovered): copies of a function
//! are merged, and the same code is left out. Unlike there, code of functions that never ran counts
//! as possible everywhere.
//!
//! - *branches*: the ways of branches ([`branch_ways`]);
//! - *paths*: the regular paths ([`missing_paths`](crate::missing_paths)) of each version that ran,
//!   or of one copy if none ran;
//! - *conditions*: those of decisions ([`decisions`](crate::decisions)) in functions whose graph is
//!   that of the source. A condition is covered if it acted on the outcome by itself;
//! - *prime paths* ([`prime_paths`](crate::prime_paths)), if the run recorded sequences of paths.
//!
//! Cost: as `uncovered`, and for each function its missing paths.

use std::collections::BTreeMap;

use holloway_abi::Unit;
use holloway_format::{Count, Scope};

use crate::decisions::{Decision, MayJoin, Vector, decisions, independent};
use crate::flow::add;
use crate::lines;
use crate::loops::{LoopsRun, Sequences};
use crate::missing_paths::{MissingPath, path_coverage, regular_path_count};
use crate::prime_paths::{Matcher, PrimePaths};
use crate::run::{Function, FunctionId, RunProfile};
use crate::uncovered::{Declaration, Source, declaration, is_shim, sources, versions};
use crate::ways::branch_ways;

/// How many things ran, and how many there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ratio {
    /// Those that ran.
    pub covered: u64,
    /// All of them.
    pub possible: u64,
}

impl Ratio {
    fn add(&mut self, other: Ratio) {
        self.covered = self.covered.saturating_add(other.covered);
        self.possible = self.possible.saturating_add(other.possible);
    }

    fn count(&mut self, is_covered: bool) {
        self.add(Ratio {
            covered: is_covered.into(),
            possible: 1,
        });
    }
}

/// The coverage of some code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// Functions.
    pub functions: Ratio,
    /// Lines with code.
    pub lines: Ratio,
    /// Ways of branches.
    pub branches: Ratio,
    /// Regular paths.
    pub paths: Ratio,
    /// Conditions of decisions. A condition is covered if it acted on the outcome by itself.
    pub conditions: Ratio,
    /// Prime paths. None without sequences of paths.
    pub prime_paths: Ratio,
}

impl Measures {
    fn add(&mut self, other: Measures) {
        self.functions.add(other.functions);
        self.lines.add(other.lines);
        self.branches.add(other.branches);
        self.paths.add(other.paths);
        self.conditions.add(other.conditions);
        self.prime_paths.add(other.prime_paths);
    }
}

/// The coverage of a run.
#[derive(Clone, Debug, Default)]
pub struct CodeCoverage<'a> {
    /// The coverage of all code.
    pub totals: Measures,
    /// By file, as the map names it.
    pub files: BTreeMap<&'a str, Measures>,
    /// The functions, in the order of files and lines.
    pub functions: Vec<FunctionCoverage<'a>>,
    /// The decisions, in the order of functions.
    pub decisions: Vec<DecisionCoverage<'a>>,
    /// Functions whose paths are counted and whose graph is that of the source, so that their
    /// decisions are known.
    pub source_graphs: u64,
    /// Functions whose graph is that of the source, but whose edges are counted, which do not show
    /// the values of conditions together.
    pub source_graphs_of_edges: u64,
    /// Groups of conditions that are too large to be measured.
    pub large_decisions: u64,
    /// The prime paths that are not counted. `None` without sequences of paths.
    pub uncounted_primes: Option<UncountedPrimes>,
}

/// Prime paths that are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UncountedPrimes {
    /// Functions with too many of them.
    pub functions: u64,
    /// Prime paths over more iterations than the run recorded.
    pub long_paths: u64,
    /// Whether sequences were dropped to save memory, so that more prime paths may have run.
    pub is_lossy: bool,
}

/// The coverage of a function of the source.
#[derive(Clone, Debug)]
pub struct FunctionCoverage<'a> {
    /// Source file of the declaration.
    pub file: &'a str,
    /// Line of the declaration.
    pub line: u32,
    /// The scope of a copy, with the names.
    pub scope: &'a Scope,
    /// The coverage of the function.
    pub measures: Measures,
    /// A compiled copy: of the version that ran most instructions, if any ran. `None` if the
    /// function is only inlined.
    pub function: Option<FunctionId>,
    /// The paths of this copy that never ran, the nearest to a path that ran first.
    pub missing: Vec<MissingPath>,
    /// Whether the list has all of them.
    pub is_complete: bool,
}

/// A decision of the source, merged over the copies of its function.
#[derive(Clone, Debug)]
pub struct DecisionCoverage<'a> {
    /// A function that contains the decision.
    pub function: FunctionId,
    /// Source file of the first condition. Empty without debug information.
    pub file: &'a str,
    /// The conditions, in the order of their evaluation.
    pub conditions: Vec<ConditionCoverage>,
    /// The vectors that ran, with their executions.
    pub vectors: BTreeMap<Vector, Count>,
    /// Whether the decision is measured. Paths that begin inside a decision do not show its
    /// vectors.
    pub is_measured: bool,
}

/// A condition of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConditionCoverage {
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
    /// Whether the vectors show that the condition acts on the outcome by itself.
    pub is_independent: bool,
    /// How often the condition held.
    pub held: Count,
    /// How often the condition failed.
    pub failed: Count,
}

impl DecisionCoverage<'_> {
    /// The conditions that are covered.
    pub fn ratio(&self) -> Ratio {
        let mut ratio = Ratio::default();
        for condition in &self.conditions {
            ratio.count(condition.is_independent);
        }
        ratio
    }
}

/// What a coverage is computed from.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The counts.
    pub run: &'a RunProfile,
    /// The sequences of paths, with the same functions, if the run recorded loops.
    pub loops: Option<&'a LoopsRun>,
}

/// Computes the coverage of the scopes that `keep` accepts: functions, and functions inlined into
/// them. `max_paths` limits the missing paths that are listed for a function. `is_library` says
/// whether a file belongs to a standard library (see [`branch_ways`]), and `may_join` whether two
/// conditions may belong to one decision.
pub fn covered<'a>(
    evidence: Evidence<'a>,
    keep: &dyn Fn(&Function, &Scope) -> bool,
    is_library: fn(&str) -> bool,
    may_join: MayJoin<'_>,
    max_paths: usize,
) -> CodeCoverage<'a> {
    let run = evidence.run;
    let keep: &dyn Fn(&Function, &Scope) -> bool =
        &|function, scope| keep(function, scope) && !is_shim(function, scope);
    let lines = lines::counts(run, keep);
    let ways = ways_of_functions(run, keep, is_library);
    let mut coverage = CodeCoverage {
        uncounted_primes: evidence.loops.map(|loops| UncountedPrimes {
            is_lossy: loops.stats.prunings > 0,
            ..UncountedPrimes::default()
        }),
        ..CodeCoverage::default()
    };
    let sequences: Option<BTreeMap<FunctionId, &Sequences>> = evidence.loops.map(|loops| {
        let functions = loops.functions.iter();
        functions
            .map(|sequences| (sequences.id, sequences))
            .collect()
    });
    for (declaration, source) in &sources(run, keep) {
        let mut function = FunctionCoverage {
            file: declaration.0,
            line: declaration.1,
            scope: source.scope,
            measures: Measures::default(),
            function: None,
            missing: Vec::new(),
            is_complete: false,
        };
        let measures = &mut function.measures;
        measures.functions.count(source.ran);
        let counts = lines.get(declaration.0);
        // The line of the declaration counts the calls.
        let declared = declaration.1;
        let has_declared = counts.is_some_and(|counts| counts.contains_key(&declared));
        let mut lines_of_function = source.lines.clone();
        lines_of_function.extend(has_declared.then_some(declared));
        for line in &lines_of_function {
            let count = counts.and_then(|counts| counts.get(line)).copied();
            measures
                .lines
                .count(count.unwrap_or_default() > Count::ZERO);
        }
        measures.branches = ways.get(declaration).copied().unwrap_or_default();
        add_paths(run, source, max_paths, &mut function);
        if let (Some(sequences), Some(uncounted)) = (&sequences, &mut coverage.uncounted_primes) {
            let primes = prime_paths(run, source, sequences, uncounted);
            function.measures.prime_paths = primes;
        }
        let decisions = decisions_of(run, source, may_join, &mut coverage);
        for decision in decisions.iter().filter(|decision| decision.is_measured) {
            function.measures.conditions.add(decision.ratio());
        }
        coverage.decisions.extend(decisions);
        let file = coverage.files.entry(declaration.0).or_default();
        file.add(function.measures);
        coverage.functions.push(function);
    }
    // Several functions may share a line.
    for (file, measures) in &mut coverage.files {
        measures.lines = Ratio::default();
        for &count in lines.get(*file).into_iter().flat_map(BTreeMap::values) {
            measures.lines.count(count > Count::ZERO);
        }
    }
    for &measures in coverage.files.values() {
        coverage.totals.add(measures);
    }
    coverage
}

/// The ways of branches by the function that contains them.
fn ways_of_functions<'a>(
    run: &'a RunProfile,
    keep: &dyn Fn(&Function, &Scope) -> bool,
    is_library: fn(&str) -> bool,
) -> BTreeMap<Declaration<'a>, Ratio> {
    let mut by_function: BTreeMap<Declaration<'_>, Ratio> = BTreeMap::new();
    for ways in branch_ways(run, keep, is_library).into_values() {
        let Some(first) = ways.first() else { continue };
        let map = &run.function(first.function).map;
        let place = map.edges[first.edge as usize].place;
        let scope = place.and_then(|place| map.scopes.get(place.scope as usize));
        let Some(scope) = scope else { continue };
        // A branch with one way is a check.
        if ways.len() > 1 {
            let declared = match (scope.parent, map.scopes.first()) {
                (None, Some(own)) => declaration(own),
                (Some(_), _) | (None, None) => declaration(scope),
            };
            let ratio = by_function.entry(declared).or_default();
            for way in &ways {
                ratio.count(way.count > Count::ZERO);
            }
        }
    }
    by_function
}

fn add_paths(
    run: &RunProfile,
    source: &Source<'_>,
    max_paths: usize,
    function: &mut FunctionCoverage<'_>,
) {
    let versions = versions(run, &source.copies);
    let hottest = versions.iter().max_by_key(|version| version.instructions);
    function.function = hottest.map(|version| version.function);
    for version in &versions {
        let max = match Some(version.function) == function.function {
            true => max_paths,
            false => 0,
        };
        let paths = path_coverage(run.function(version.function), &version.paths, max);
        function.measures.paths.add(Ratio {
            covered: paths.ran,
            possible: paths.possible,
        });
        if max > 0 {
            (function.missing, function.is_complete) = (paths.missing, paths.is_complete);
        }
    }
    if function.function.is_none() {
        let counted = |id: &&FunctionId| run.function(**id).unit() == Unit::Paths;
        let copy = source.copies.iter().find(counted).copied();
        function.function = copy.or(source.copies.first().copied());
        if let Some(id) = copy {
            function.measures.paths.add(Ratio {
                covered: 0,
                possible: regular_path_count(&run.function(id).map),
            });
        }
    }
}

/// The prime paths of a function of the source: of its versions that ran, or else of one copy.
fn prime_paths(
    run: &RunProfile,
    source: &Source<'_>,
    sequences: &BTreeMap<FunctionId, &Sequences>,
    uncounted: &mut UncountedPrimes,
) -> Ratio {
    let copies = source.copies.iter().copied();
    let copies: Vec<FunctionId> = copies
        .filter(|&id| run.function(id).unit() == Unit::Paths)
        .collect();
    let any_ran = copies.iter().any(|&id| run.function(id).ran());
    let mut versions: BTreeMap<u64, Vec<FunctionId>> = BTreeMap::new();
    for &id in &copies {
        let function = run.function(id);
        if function.ran() || !any_ran && versions.is_empty() {
            versions.entry(function.map.hash).or_default().push(id);
        }
    }
    let mut ratio = Ratio::default();
    for copies in versions.values() {
        let map = &run.function(copies[0]).map;
        let Some(primes) = PrimePaths::new(map) else {
            uncounted.functions += 1;
            continue;
        };
        let mut matcher = Matcher::new(&primes);
        let longest = copies.iter().map(|id| {
            let sequences = sequences.get(id).copied();
            matcher.add(run.function(*id), sequences)
        });
        let longest = longest.min().unwrap_or(usize::MAX);
        for (&crossings, &ran) in primes.crossings.iter().zip(&matcher.ran) {
            match crossings < longest {
                true => ratio.count(ran),
                false => uncounted.long_paths += 1,
            }
        }
    }
    ratio
}

/// The decisions of a function of the source.
fn decisions_of<'a>(
    run: &'a RunProfile,
    source: &Source<'a>,
    may_join: MayJoin<'_>,
    coverage: &mut CodeCoverage<'a>,
) -> Vec<DecisionCoverage<'a>> {
    let mut merged: Vec<(Decision, DecisionCoverage<'a>)> = Vec::new();
    let (mut has_source_graph, mut has_edges) = (false, false);
    for &id in &source.copies {
        let function = run.function(id);
        if !function.map.is_source_graph {
            continue;
        }
        if function.unit() == Unit::Edges {
            has_edges = true;
            continue;
        }
        has_source_graph = true;
        let found = decisions(&function.map, may_join);
        coverage.large_decisions += found.too_large;
        for decision in found.list {
            let vectors = vectors(function, &decision);
            let described = describe(function, id, &decision);
            let is_same = |(other, known): &&mut (Decision, DecisionCoverage<'_>)| {
                known.file == described.file
                    && known.conditions == described.conditions
                    && other.has_shape_of(&decision)
            };
            match merged.iter_mut().find(is_same) {
                Some((_, known)) => {
                    for (vector, count) in vectors {
                        add(known.vectors.entry(vector).or_default(), count);
                    }
                    known.is_measured &= described.is_measured;
                }
                None => {
                    let described = DecisionCoverage {
                        vectors,
                        ..described
                    };
                    merged.push((decision, described));
                }
            }
        }
    }
    coverage.source_graphs += u64::from(has_source_graph);
    coverage.source_graphs_of_edges += u64::from(has_edges);
    let decisions = merged.into_iter().map(|(_, mut decision)| {
        let independent = independent(decision.vectors.keys().copied());
        for (number, condition) in decision.conditions.iter_mut().enumerate() {
            let bit = 1 << number;
            let executions = |value: u64| {
                let vectors = decision.vectors.iter();
                let vectors = vectors.filter(|(vector, _)| {
                    vector.evaluated & bit != 0 && vector.values & bit == value
                });
                vectors.fold(Count::ZERO, |sum, (_, &count)| sum.saturating_add(count))
            };
            condition.is_independent = independent & bit != 0;
            (condition.held, condition.failed) = (executions(bit), executions(0));
        }
        decision
    });
    decisions.collect()
}

/// The vectors of a decision that ran in a function, with their executions.
fn vectors(function: &Function, decision: &Decision) -> BTreeMap<Vector, Count> {
    let mut vectors = BTreeMap::new();
    let Some(graph) = function.graph() else {
        return vectors;
    };
    for &(path, count) in &function.counts {
        let path = graph.path(path);
        if let Some(vector) = path.and_then(|path| decision.vector(&path)) {
            add(vectors.entry(vector).or_default(), count);
        }
    }
    vectors
}

/// A decision without vectors.
fn describe<'a>(
    function: &'a Function,
    id: FunctionId,
    decision: &Decision,
) -> DecisionCoverage<'a> {
    let first = decision
        .conditions
        .iter()
        .find_map(|condition| condition.place);
    let scope = first.and_then(|place| function.map.scopes.get(place.scope as usize));
    let conditions = decision.conditions.iter();
    DecisionCoverage {
        function: id,
        file: scope.map_or("", |scope| &*scope.file),
        conditions: conditions
            .map(|condition| ConditionCoverage {
                line: condition.place.map_or(0, |place| place.line),
                column: condition.place.map_or(0, |place| place.column),
                is_independent: false,
                held: Count::ZERO,
                failed: Count::ZERO,
            })
            .collect(),
        vectors: BTreeMap::new(),
        is_measured: !decision.is_cut,
    }
}
