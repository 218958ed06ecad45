//! A line of a document: a function's graph with its counts, its numbering, and its paths.
//!
//! Lists of records are flat: `edges` has six numbers for each edge, and so on. This
//! keeps a document small, because the names of fields are not repeated.

use holloway_analysis::Function;
use holloway_analysis::diff::Pairing;
use holloway_analysis::increments::{Increment, Increments, Term};
use holloway_analysis::trail::is_choice;
use holloway_format::{
    Count, DagKind, EdgeKind, EdgeMap, FunctionMap, Outcome, PathId, Place, Scope,
};
use serde::Serialize;

use super::baseline::Before;
use super::branch_words::BranchWords;
use super::exact::Exact;
use super::files::FileTable;
use crate::filter::Filter;
use crate::options::Options;

/// A function that ran.
#[derive(Serialize)]
pub(super) struct FunctionRecord {
    entry: u32,
    exit: u32,
    /// By scope: the name.
    scope_names: Vec<String>,
    /// The files of the function's code, and by file: its name, as short as possible.
    files: Vec<usize>,
    file_names: Vec<String>,
    /// By scope: file, line, parent (-1 for the function itself), line of the call.
    scopes: Vec<i64>,
    /// By block: its instructions.
    instructions: Vec<u32>,
    /// By block: its executions.
    counts: Vec<Exact>,
    /// By block: its places as scope, line, column.
    places: Vec<Vec<u32>>,
    /// By edge: from, to, kind, scope, line, and column of its branch (-1, 0, 0 without a place).
    edges: Vec<i64>,
    /// By edge: its executions.
    taken: Vec<Exact>,
    /// By edge: where control goes, in words. Empty for an edge without a decision.
    words: Vec<String>,
    /// By edge: the file and the line where control goes (-1, 0 if that is not known, or is the
    /// line of the branch).
    targets: Vec<i64>,
    /// By edge of the acyclic graph: kind and number. Start edges have the number of a block,
    /// others the number of an edge.
    dag: Vec<u32>,
    /// By edge of the acyclic graph: its value.
    values: Vec<Exact>,
    /// By edge: what the code adds to the path register for the path that takes the edge or ends
    /// there, and for the path that starts behind it. Absent where it adds nothing, because the
    /// edge is on the spanning tree. Empty if the chords are not known.
    increments: Vec<Option<Exact>>,
    /// By path that ran: the difference to the number of the previous path, and its count.
    paths: Vec<Exact>,
    /// By path that ran: the edge that it takes at the decision that decides it, or -1.
    deciding: Vec<i64>,
    /// By path that an edge profile predicts: the difference to the number of the previous path,
    /// and its predicted count.
    predicted: Vec<Exact>,
    /// The counts of the baseline.
    baseline: Option<BaselineCounts>,
}

/// A function's counts in the baseline.
#[derive(Serialize)]
struct BaselineCounts {
    /// As the fields of the function's record.
    counts: Vec<Exact>,
    taken: Vec<Exact>,
    paths: Vec<Exact>,
    /// Number of paths of the baseline that this build of the function does not have, and their
    /// executions.
    other_paths: u64,
    other_executions: Exact,
}

impl FunctionRecord {
    pub(super) fn new(
        function: &Function,
        predicted: &[(PathId, Count)],
        options: &Options<'_>,
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
        baseline: Option<&Before<'_>>,
    ) -> FunctionRecord {
        let map = &function.map;
        let flow = function.flow();
        let scope_name = |scope: &Scope| match scope.parent {
            None => names.name(function).to_string(),
            Some(_) => names.name_of(&scope.linkage_name, &scope.name).to_string(),
        };
        let branches = BranchWords::new(map, options.cwd.as_deref());
        let deciding = branches.deciding(function).into_iter();
        FunctionRecord {
            entry: map.entry,
            exit: map.exit,
            scope_names: map.scopes.iter().map(scope_name).collect(),
            file_names: branches
                .files()
                .iter()
                .map(|(_, name)| name.clone())
                .collect(),
            files: branches
                .files()
                .iter()
                .map(|(file, _)| files.index(file))
                .collect(),
            scopes: scopes(map, files),
            instructions: map.blocks.iter().map(|block| block.instructions).collect(),
            counts: flow.blocks.iter().map(|&count| count.into()).collect(),
            places: map
                .blocks
                .iter()
                .map(|block| places(&block.places))
                .collect(),
            edges: map.edges.iter().flat_map(edge).collect(),
            taken: flow.edges.iter().map(|&count| count.into()).collect(),
            words: words(map, &branches),
            targets: targets(map, &branches, files),
            dag: map
                .dag
                .iter()
                .flat_map(|edge| dag_kind(edge.kind))
                .collect(),
            values: map.dag.iter().map(|edge| edge.value.into()).collect(),
            increments: increments(function),
            paths: numbered(&function.counts),
            deciding: deciding.map(|edge| edge.map_or(-1, i64::from)).collect(),
            predicted: numbered(predicted),
            baseline: baseline.and_then(BaselineCounts::new),
        }
    }
}

impl BaselineCounts {
    /// The counts. `None` if the function has another graph in the baseline.
    fn new(before: &Before<'_>) -> Option<BaselineCounts> {
        if before.counterpart.pairing == Pairing::Changed {
            return None;
        }
        let flow = before.function.flow();
        Some(BaselineCounts {
            counts: flow.blocks.iter().map(|&count| count.into()).collect(),
            taken: flow.edges.iter().map(|&count| count.into()).collect(),
            paths: numbered(&before.function.counts),
            other_paths: before.counterpart.other_paths,
            other_executions: before.counterpart.other_executions.into(),
        })
    }
}

fn scopes(map: &FunctionMap, files: &mut FileTable<'_>) -> Vec<i64> {
    let fields = map.scopes.iter().flat_map(|scope| {
        [
            files.index(&scope.file) as i64,
            scope.line.into(),
            scope.parent.map_or(-1, i64::from),
            scope.call_line.into(),
        ]
    });
    fields.collect()
}

fn places(places: &[Place]) -> Vec<u32> {
    let known = places.iter().filter(|place| place.line != 0);
    known
        .flat_map(|place| [place.scope, place.line, place.column])
        .collect()
}

fn edge(edge: &EdgeMap) -> [i64; 6] {
    let (scope, line, column) = match edge.place.filter(|place| place.line != 0) {
        Some(place) => (place.scope.into(), place.line.into(), place.column.into()),
        None => (-1, 0, 0),
    };
    [
        edge.from.into(),
        edge.to.into(),
        edge_kind(edge.kind),
        scope,
        line,
        column,
    ]
}

fn edge_kind(kind: EdgeKind) -> i64 {
    match kind {
        EdgeKind::Plain => 0,
        EdgeKind::Pinned => 1,
        EdgeKind::Cut => 2,
        EdgeKind::Exit => 3,
    }
}

fn dag_kind(kind: DagKind) -> [u32; 2] {
    match kind {
        DagKind::Edge(edge) => [0, edge],
        DagKind::Start(block) => [1, block],
        DagKind::Back(edge) => [2, edge],
        DagKind::Cut(edge) => [3, edge],
    }
}

/// By edge: where control goes. Passed checks have a text too, because paths may fail them.
fn words(map: &FunctionMap, branches: &BranchWords<'_>) -> Vec<String> {
    let word = |(number, edge): (u32, &EdgeMap)| match edge.kind {
        EdgeKind::Exit => "left in a call".to_owned(),
        EdgeKind::Plain | EdgeKind::Pinned | EdgeKind::Cut if is_choice(edge.outcome) => {
            branches.way(number)
        }
        EdgeKind::Plain | EdgeKind::Pinned | EdgeKind::Cut => end_word(edge.outcome).to_owned(),
    };
    (0u32..).zip(&map.edges).map(word).collect()
}

/// By edge: the file and the line where a decision leads.
fn targets(map: &FunctionMap, branches: &BranchWords<'_>, files: &mut FileTable<'_>) -> Vec<i64> {
    let mut target = |(number, edge): (u32, &EdgeMap)| {
        let is_decision = edge.kind != EdgeKind::Exit && is_choice(edge.outcome);
        match is_decision.then(|| branches.target(number)).flatten() {
            Some((file, line)) => [files.index(file) as i64, line.into()],
            None => [-1, 0],
        }
    };
    (0u32..).zip(&map.edges).flat_map(&mut target).collect()
}

/// The words for an edge without a decision that ends the function. Empty for other edges.
fn end_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Return => "returns",
        Outcome::Noreturn => "does not return",
        Outcome::Resume => "unwinds on",
        Outcome::TailCall => "tail call",
        Outcome::Left => "left in a call",
        Outcome::Jump
        | Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Normal
        | Outcome::Unwind
        | Outcome::Indirect
        | Outcome::AsmGoto
        | Outcome::Again
        | Outcome::Split
        | Outcome::Returned => "",
    }
}

/// By edge: the increments before and behind it.
fn increments(function: &Function) -> Vec<Option<Exact>> {
    let Some(graph) = function.graph() else {
        return Vec::new();
    };
    let increments = Increments::new(&function.map, graph);
    let terms = || {
        increments
            .edges
            .iter()
            .flat_map(|edge| [edge.before, edge.after])
    };
    let known = |term: Term| term.increment != Increment::Unknown;
    if !terms().flatten().all(known) {
        return Vec::new();
    }
    let increment = |term: Option<Term>| match term?.increment {
        Increment::Chord(increment) => Some(increment.into()),
        Increment::Tree | Increment::Unknown => None,
    };
    terms().map(increment).collect()
}

/// Paths with their counts, sorted by number: differences of numbers, and counts.
fn numbered(paths: &[(PathId, Count)]) -> Vec<Exact> {
    let mut previous = 0;
    let fields = paths.iter().flat_map(|&(path, count)| {
        let difference = path.0 - previous;
        previous = path.0;
        [difference.into(), count.into()]
    });
    fields.collect()
}
