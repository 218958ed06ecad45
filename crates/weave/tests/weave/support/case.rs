//! One traced program: woven for each kind of profile, run, and what was counted compared with the tracer and between kinds.

use holloway_abi::Kind;
use holloway_format::{Guide, GuideFunction};
use holloway_llvm::Library;
use holloway_weave::{ModuleOptions, OptLevel};

use super::bench::{
    Bench, Placed, Ran, SETUPS, Setup, TRACED, library, options, profiled_lines, traced_lines,
    weave,
};
use super::graph::flow;

/// What is collected, and whether calls that don't come back are counted.
pub type Collection = (Kind, bool);

/// The kinds that are exact where every frame is left by a return, or where nothing is traced in one that isn't.
pub const KINDS: [Collection; 3] = [
    (Kind::Paths, false),
    (Kind::Edges, true),
    (Kind::Paths, true),
];

/// Those that are exact wherever frames are left.
pub const KINDS_WITH_EXITS: [Collection; 2] = [(Kind::Edges, true), (Kind::Paths, true)];

/// Those whose paths are timed, behind one that counts the same paths. (With all of them timed, each is counted.)
pub const KINDS_TIMED: [Collection; 4] = [
    (Kind::Paths, false),
    (Kind::Edges, true),
    (Kind::Times, false),
    (Kind::Variation, false),
];

/// A traced program in one module.
pub struct Case<'a> {
    /// For messages.
    pub context: String,
    pub bench: &'a Bench,
    pub llvm: Library,
    pub bitcode: Vec<u8>,
    /// Options of all kinds.
    pub options: ModuleOptions,
    /// The linker's.
    pub link: Vec<String>,
    /// Exit status of the program.
    pub status: i32,
    /// Source with its traced lines.
    pub file: &'a str,
    pub traced: &'a [u32],
}

impl Case<'_> {
    /// Weaves, runs and compares with the tracer, once for each kind; what counts exits must agree. Returns the runs of the kinds.
    pub fn check(&self, kinds: &[Collection]) -> Vec<(Placed, Ran)> {
        let runs = kinds.iter().map(|&kind| self.run(kind, None));
        let runs: Vec<_> = runs.collect();
        let mut exact = kinds.iter().zip(&runs).filter(|((_, exits), _)| *exits);
        let (_, first) = exact.next().expect("a kind with exits");
        for (_, other) in exact {
            assert_agree(first, other, &self.context);
        }
        runs
    }

    /// One kind, woven with a guide or without.
    pub fn run(&self, (collect, exits): Collection, guide: Option<Guide>) -> (Placed, Ran) {
        let options = ModuleOptions {
            collect,
            exits,
            guide,
            ..self.options.clone()
        };
        let context = format!("{}, {collect}, exits {exits}", self.context);
        let placed = weave(&self.llvm, &self.bitcode, &options, 64);
        // What calls nothing has no traced line.
        let short = |reason: &str| collect == Kind::Variation && reason.contains("too short");
        let skipped = placed.map.skipped.iter();
        let skipped: Vec<_> = skipped.filter(|f| !short(f.reason.as_str())).collect();
        assert!(skipped.is_empty(), "{context}: {skipped:?}");
        let link: Vec<&str> = self.link.iter().map(String::as_str).collect();
        let ran = self
            .bench
            .run(std::slice::from_ref(&placed.woven.object), &link);
        let status = ran.output.status.code();
        assert_eq!(status, Some(self.status), "{context}: {:?}", ran.output);
        let found = profiled_lines(&[&placed], &ran.dump, self.file, self.traced);
        let mut hits = ran.dump.lines();
        hits.retain(|line, _| self.traced.contains(line));
        assert_eq!(
            found, hits,
            "{context}: lines (left: from the profile, right: traced)"
        );
        (placed, ran)
    }
}

/// Two profiles of one run have the same graphs and the same counts of all edges.
pub fn assert_agree(left: &(Placed, Ran), right: &(Placed, Ran), context: &str) {
    let (left, right) = (flows(left), flows(right));
    assert_eq!(left.len(), right.len(), "{context}: functions");
    for (left, right) in left.iter().zip(&right) {
        assert_eq!(left, right, "{context}: edges of one profile and another");
    }
}

/// Name, graph and edge counts of each function of a run.
fn flows((placed, ran): &(Placed, Ran)) -> Vec<(String, u64, Vec<i64>)> {
    let functions = placed.map.functions.iter();
    let flows = functions.map(|function| {
        let counts = ran.dump.counts(placed.base, function);
        let name = function.linkage_name.to_string();
        (name, function.graph_hash(), flow(function, &counts).edges)
    });
    flows.collect()
}

/// What a run says to the next weaving.
pub fn guide((placed, ran): &(Placed, Ran)) -> Guide {
    let functions = placed.map.functions.iter();
    let functions = functions.map(|function| {
        let counts = flow(function, &ran.dump.counts(placed.base, function));
        let edges = function.edges.iter().zip(counts.edges);
        let edges = edges.filter(|(edge, _)| edge.kind != holloway_format::EdgeKind::Exit);
        GuideFunction {
            linkage_name: function.linkage_name.clone(),
            graph_hash: function.graph_hash(),
            edges: edges
                .map(|(_, count)| count.max(0).cast_unsigned())
                .collect(),
        }
    });
    functions.collect()
}

/// Compiles, weaves, links and runs a traced C or C++ source with every setup, level and kind; its exit status has to be 0
/// everywhere, and every traced line's count in the profile has to be what the tracer saw. Returns the runs of the first kind.
pub fn check(name: &str, source: &str, levels: &[OptLevel]) -> Vec<(Setup, OptLevel, Placed, Ran)> {
    check_with(name, source, levels, &[], &|_| {})
}

/// As [`check`], with compiler arguments and changed options.
pub fn check_with(
    name: &str,
    source: &str,
    levels: &[OptLevel],
    args: &[&str],
    change: &dyn Fn(&mut ModuleOptions),
) -> Vec<(Setup, OptLevel, Placed, Ran)> {
    check_kinds(name, source, levels, args, change, &KINDS)
}

/// As [`check_with`], of these kinds.
pub fn check_kinds(
    name: &str,
    source: &str,
    levels: &[OptLevel],
    args: &[&str],
    change: &dyn Fn(&mut ModuleOptions),
    kinds: &[Collection],
) -> Vec<(Setup, OptLevel, Placed, Ran)> {
    // Each `T;` on a line of its own, so that nothing else has its line.
    let source = format!("{TRACED}{}", source.replace("T;", "\nT;\n"));
    if let Some(keep) = std::env::var_os("HOLLOWAY_TEST_KEEP") {
        std::fs::write(keep, &source).unwrap();
    }
    let traced = traced_lines(&source);
    let mut results = Vec::new();
    for setup in SETUPS {
        for &level in levels {
            let bench = Bench::new();
            let flag = format!("-{level}");
            let mut args = args.to_vec();
            args.extend([flag.as_str(), "-fPIE"]);
            let mut options = options(name, level);
            change(&mut options);
            let case = Case {
                context: format!("{name} with {setup:?} at {level}"),
                bench: &bench,
                llvm: library(setup.llvm),
                bitcode: bench.compile(setup.clang, name, &source, &args),
                options,
                link: vec!["-pie".into()],
                status: 0,
                file: name,
                traced: &traced,
            };
            let mut runs = case.check(kinds);
            let (placed, ran) = runs.swap_remove(0);
            results.push((setup, level, placed, ran));
        }
    }
    results
}
