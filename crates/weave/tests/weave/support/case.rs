//! Checks a traced program: weaves it for each kind of collection, runs it, and compares its counts
//! with the tracer's counts and between kinds.

use holloway_abi::Kind;
use holloway_format::{Count, Guide, GuideFunction};
use holloway_llvm::Library;
use holloway_weave::{ModuleOptions, OptLevel};

use super::graph::flow;
use super::workspace::{
    PatchedModule, ProgramRun, SETUPS, Setup, TRACED, Workspace, library, options, profiled_lines,
    traced_lines, weave,
};

/// A kind of collection, and whether calls that do not come back are counted (`--exits`).
pub type Collection = (Kind, bool);

/// The kinds with exact counts if every frame returns, or if frames that do not return contain no
/// traced line.
pub const KINDS: [Collection; 3] = [
    (Kind::Paths, false),
    (Kind::Edges, true),
    (Kind::Paths, true),
];

/// The kinds with exact counts even if frames are left.
pub const KINDS_WITH_EXITS: [Collection; 2] = [(Kind::Edges, true), (Kind::Paths, true)];

/// The kinds with timed paths, and before them kinds to compare them with. ([`Kind::Times`]
/// measures every path, so it also counts every path.)
pub const KINDS_TIMED: [Collection; 4] = [
    (Kind::Paths, false),
    (Kind::Edges, true),
    (Kind::Times, false),
    (Kind::Variation, false),
];

/// A traced program in one module.
pub struct Case<'a> {
    /// The name of the case in messages.
    pub context: String,
    pub workspace: &'a Workspace,
    pub llvm: Library,
    pub bitcode: Vec<u8>,
    /// The options for all kinds.
    pub options: ModuleOptions,
    /// The options of the linker.
    pub link: Vec<String>,
    /// The exit status of the program.
    pub status: i32,
    /// The source file that contains the traced lines.
    pub file: &'a str,
    /// The source lines that call the tracer.
    pub traced: &'a [u32],
}

impl Case<'_> {
    /// Weaves and runs the program for each kind, and compares the counts with the tracer's. Kinds
    /// that count exits must agree. Returns the runs of the kinds.
    pub fn check(&self, kinds: &[Collection]) -> Vec<(PatchedModule, ProgramRun)> {
        let runs = kinds.iter().map(|&kind| self.run(kind, None));
        let runs: Vec<_> = runs.collect();
        let mut exact = kinds.iter().zip(&runs).filter(|((_, exits), _)| *exits);
        let (_, first) = exact.next().expect("a kind with exits");
        for (_, other) in exact {
            assert_agree(first, other, &self.context);
        }
        runs
    }

    /// Weaves and runs the program for one kind, with or without a guide.
    pub fn run(
        &self,
        (collect, exits): Collection,
        guide: Option<Guide>,
    ) -> (PatchedModule, ProgramRun) {
        let options = ModuleOptions {
            collect,
            exits,
            guide,
            ..self.options.clone()
        };
        let context = format!("{}, {collect}, exits {exits}", self.context);
        let patched = weave(&self.llvm, &self.bitcode, &options, 64);
        // The kind variation skips short functions without calls. These have no traced lines,
        // because tracing is a call.
        let is_too_short =
            |reason: &str| collect == Kind::Variation && reason.contains("too short");
        let skipped = patched.map.skipped.iter();
        let skipped: Vec<_> = skipped
            .filter(|function| !is_too_short(function.reason.as_str()))
            .collect();
        assert!(skipped.is_empty(), "{context}: {skipped:?}");
        let link: Vec<&str> = self.link.iter().map(String::as_str).collect();
        let program_run = self
            .workspace
            .run(std::slice::from_ref(&patched.woven.object), &link);
        let status = program_run.output.status.code();
        assert_eq!(
            status,
            Some(self.status),
            "{context}: {:?}",
            program_run.output
        );
        let profiled = profiled_lines(&[&patched], &program_run.dump, self.file, self.traced);
        let mut hits = program_run.dump.lines();
        hits.retain(|line, _| self.traced.contains(line));
        assert_eq!(
            profiled, hits,
            "{context}: lines (left: from the profile, right: traced)"
        );
        (patched, program_run)
    }
}

/// Checks that the profiles of two kinds have the same graphs and the same counts of all edges.
pub fn assert_agree(
    left: &(PatchedModule, ProgramRun),
    right: &(PatchedModule, ProgramRun),
    context: &str,
) {
    let (left, right) = (flows(left), flows(right));
    assert_eq!(left.len(), right.len(), "{context}: functions");
    for (left, right) in left.iter().zip(&right) {
        assert_eq!(left, right, "{context}: edges of one profile and another");
    }
}

/// The name, graph, and edge counts of each function of a run.
fn flows((patched, program_run): &(PatchedModule, ProgramRun)) -> Vec<(String, u64, Vec<i64>)> {
    let functions = patched.map.functions.iter();
    let flows = functions.map(|function| {
        let counts = program_run.dump.counts(patched.base, function);
        let name = function.linkage_name.to_string();
        (name, function.graph_hash(), flow(function, &counts).edges)
    });
    flows.collect()
}

/// The guide that a run provides for the next weaving.
pub fn guide((patched, program_run): &(PatchedModule, ProgramRun)) -> Guide {
    let functions = patched.map.functions.iter();
    let functions = functions.map(|function| {
        let counts = flow(function, &program_run.dump.counts(patched.base, function));
        let edges = function.edges.iter().zip(counts.edges);
        let edges = edges.filter(|(edge, _)| edge.kind != holloway_format::EdgeKind::Exit);
        GuideFunction {
            linkage_name: function.linkage_name.clone(),
            graph_hash: function.graph_hash(),
            edges: edges
                .map(|(_, count)| Count(count.max(0).cast_unsigned()))
                .collect(),
        }
    });
    functions.collect()
}

/// Compiles, weaves, links, and runs a traced C or C++ source with every setup, level, and kind.
/// Its exit status must be 0 everywhere. Every traced line's count in the profile must equal the
/// tracer's. Returns the runs of the first kind.
pub fn check(
    name: &str,
    source: &str,
    levels: &[OptLevel],
) -> Vec<(Setup, OptLevel, PatchedModule, ProgramRun)> {
    check_with(name, source, levels, &[], &|_| {})
}

/// Like [`check`], with compiler arguments and changed options.
pub fn check_with(
    name: &str,
    source: &str,
    levels: &[OptLevel],
    args: &[&str],
    change: &dyn Fn(&mut ModuleOptions),
) -> Vec<(Setup, OptLevel, PatchedModule, ProgramRun)> {
    check_kinds(name, source, levels, args, change, &KINDS)
}

/// Like [`check_with`], but for the given kinds.
pub fn check_kinds(
    name: &str,
    source: &str,
    levels: &[OptLevel],
    args: &[&str],
    change: &dyn Fn(&mut ModuleOptions),
    kinds: &[Collection],
) -> Vec<(Setup, OptLevel, PatchedModule, ProgramRun)> {
    // Puts each `T;` on a separate line, so that no other code has its line.
    let source = format!("{TRACED}{}", source.replace("T;", "\nT;\n"));
    if let Some(keep) = std::env::var_os("HOLLOWAY_TEST_KEEP") {
        std::fs::write(keep, &source).unwrap();
    }
    let traced = traced_lines(&source);
    let mut results = Vec::new();
    for setup in SETUPS {
        for &level in levels {
            let workspace = Workspace::new();
            let flag = format!("-{level}");
            let mut args = args.to_vec();
            args.extend([flag.as_str(), "-fPIE"]);
            let mut options = options(name, level);
            change(&mut options);
            let case = Case {
                context: format!("{name} with {setup:?} at {level}"),
                workspace: &workspace,
                llvm: library(setup.llvm),
                bitcode: workspace.compile(setup.clang, name, &source, &args),
                options,
                link: vec!["-pie".into()],
                status: 0,
                file: name,
                traced: &traced,
            };
            let mut runs = case.check(kinds);
            let (patched, program_run) = runs.swap_remove(0);
            results.push((setup, level, patched, program_run));
        }
    }
    results
}
