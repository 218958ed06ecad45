//! Compares every kind of profile with random programs that count their blocks and their left
//! frames.
//!
//! Each line with a tracer call must have run as often as traced, and the numbers of returns and
//! left frames of each function must equal the traced ones. At -O0 the blocks are those of the
//! source, so the left frames of each block must equal the traced ones. All kinds must agree on
//! every edge. `HOLLOWAY_SOAK=N` tests N programs of each build configuration.

use crate::ours::{Counted, Recorded, record_any};
use anyhow::{Context, Result, ensure};
use holloway_analysis::bounds::Bound;
use holloway_analysis::{RunProfile, lines};
use holloway_format::{Count, EdgeKind, Outcome};
use holloway_tests::agree::differences;
use holloway_tests::kind::{Kind, Weaving};
use holloway_tests::random_program::{Counts, Dialect, Source, TRACER, Traced, generate};
use holloway_tests::tool::{
    Output, clean, holloway_command, installed, libllvm_19, run, run_ok, scratch,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kinds in the order of their builds. The runs of the first kinds guide the last two.
const KINDS: [Kind; 7] = [
    Kind::Paths,
    Kind::Edges,
    Kind::Loops,
    Kind::PathsClosed,
    Kind::EdgesClosed,
    Kind::Guided,
    Kind::GuidedEdges,
];

/// How a random program is built.
#[derive(Clone, Copy)]
pub(crate) struct BuildConfig {
    pub(crate) dialect: Dialect,
    pub(crate) level: &'static str,
    pub(crate) clang: u32,
}

fn soak(first_seed: u64, usual: u64, dialect: Dialect, levels: &[&'static str], clang: u32) {
    let number = match std::env::var("HOLLOWAY_SOAK") {
        Ok(text) => text.parse().expect("HOLLOWAY_SOAK is a number"),
        Err(_) => usual,
    };
    let mut left = 0;
    for seed in first_seed..first_seed + number {
        let level = levels[(seed % levels.len() as u64) as usize];
        let config = BuildConfig {
            dialect,
            level,
            clang,
        };
        left += check(seed, config).unwrap_or_else(|e| panic!("seed {seed}, {level}: {e:#}"));
    }
    assert!(
        left > 10 * number || dialect == Dialect::Quiet,
        "only {left} frames were left in {number} programs"
    );
    println!("{number} programs, {left} frames left");
}

#[test]
fn c_at_o0() {
    soak(1000, 4, Dialect::C, &["-O0"], 22);
}

#[test]
fn c_optimized() {
    soak(20_000, 4, Dialect::C, &["-O2", "-O1", "-O3", "-Os"], 22);
}

#[test]
fn c_with_llvm_19() {
    soak(40_000, 2, Dialect::C, &["-O0", "-O2"], 19);
}

#[test]
fn cpp_at_o0() {
    soak(60_000, 2, Dialect::Cpp, &["-O0"], 22);
}

#[test]
fn cpp_optimized() {
    soak(80_000, 2, Dialect::Cpp, &["-O2", "-O1"], 22);
}

#[test]
fn loops_at_o0() {
    soak(100_000, 2, Dialect::Quiet, &["-O0"], 22);
}

#[test]
fn loops_optimized() {
    soak(120_000, 6, Dialect::Quiet, &["-O2", "-O1", "-O3"], 22);
}

/// Checks one program. Returns the number of frames that it left.
fn check(seed: u64, config: BuildConfig) -> Result<u64> {
    let scratch = scratch("left")?;
    let folder = scratch.path();
    let source = generate(seed, 8, config.dialect);
    let plain = compile(folder, &source, config)?;
    let trace = folder.join("trace");
    let mut command = Command::new(plain);
    clean(&mut command);
    let plain = run(command.env("TRACE", &trace))?;
    let counts = Counts::read(&trace)?;
    let mut recorded = BTreeMap::new();
    for kind in KINDS {
        std::fs::remove_file(&trace)?;
        let actual = check_kind(kind, folder, config, &plain).context(kind.name())?;
        ensure!(
            Counts::read(&trace)? == counts,
            "{}: it ran otherwise than plain",
            kind.name()
        );
        if kind.has_exits() {
            same_counts(&actual, &source, &counts, config).context(kind.name())?;
        }
        recorded.insert(kind, actual);
    }
    let exits = &recorded[&Kind::Paths];
    for (kind, actual) in &recorded {
        let wrong = differences(
            (*kind, &actual.report),
            (Kind::Paths, &exits.report),
            &|_| false,
        );
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    let exits = exits.run();
    for kind in [Kind::PathsClosed, Kind::EdgesClosed] {
        let closed = recorded[&kind].run();
        calls_are_bounded(&closed, &exits).context(kind.name())?;
        // The lines of optimized code are not compared, because divided blocks change how often
        // control arrives at a line.
        if config.level == "-O0" {
            lines_are_bounded(&closed, &exits).context(kind.name())?;
        }
    }
    Ok(counts.left.iter().sum())
}

/// Whether a count with this bound may differ from the true number in this way.
fn holds(bound: Bound, actual: u64, wanted: u64) -> bool {
    match bound {
        Bound::Exact => actual == wanted,
        Bound::AtLeast => actual <= wanted,
        Bound::AtMost => actual >= wanted,
        Bound::Either => true,
    }
}

/// Checks that each line count without exit edges differs from the true count only if it has a
/// bound, and only in the direction of the bound.
fn lines_are_bounded(closed: &RunProfile, exits: &RunProfile) -> Result<()> {
    let (actual, wanted) = [closed, exits]
        .map(|run| lines::counts(run, &|_, _| true))
        .into();
    let bounds = lines::bounds(closed, &|_, _| true);
    ensure!(!bounds.is_empty(), "no count is marked");
    for (file, lines) in &wanted {
        for (line, &wanted) in lines {
            let count = actual.get(file).and_then(|lines| lines.get(line)).copied();
            let bound = bounds.get(file).and_then(|lines| lines.get(line)).copied();
            let (count, bound) = (count.unwrap_or(Count(0)), bound.unwrap_or_default());
            ensure!(
                holds(bound, count.0, wanted.0),
                "{file}:{line}: {count} as {bound:?}, ran {wanted} times"
            );
        }
    }
    Ok(())
}

/// Checks the same for the calls of functions.
fn calls_are_bounded(closed: &RunProfile, exits: &RunProfile) -> Result<()> {
    for function in &closed.functions {
        let name = &function.map.linkage_name;
        let mut named = exits.functions.iter();
        let other = named.find(|other| other.map.linkage_name == *name);
        let wanted = other.map_or(0, |other| other.flow().calls.0);
        let (bound, calls) = (function.bounds().calls, function.flow().calls);
        ensure!(
            holds(bound, calls.0, wanted),
            "{}: {calls} calls as {bound:?}, {wanted} made",
            name.as_str()
        );
    }
    Ok(())
}

/// Links for a kind and runs the program. It must end like the plain program and print the same.
fn check_kind(kind: Kind, folder: &Path, config: BuildConfig, plain: &Output) -> Result<Recorded> {
    let weaving = match kind {
        Kind::Guided => Weaving::guided(kind, &folder.join(Kind::Edges.name())),
        Kind::GuidedEdges => Weaving::guided(kind, &folder.join(Kind::Paths.name())),
        _ => kind.into(),
    };
    let program = link(folder, &weaving, config)?;
    let (data, trace) = (folder.join(kind.name()), folder.join("trace"));
    let (output, recorded) = record_any(&program, &[], &data, &[("TRACE", &trace)])?;
    ensure!(
        output.ending() == plain.ending() && output.stdout == plain.stdout,
        "{}, not {}\n--- plain\n{}--- woven\n{}{}",
        output.ending(),
        plain.ending(),
        plain.text(),
        output.text(),
        output.stderr
    );
    Ok(recorded)
}

/// Compiles the program for weaving and without instrumentation. Returns the plain program.
pub(crate) fn compile(folder: &Path, source: &Source, config: BuildConfig) -> Result<PathBuf> {
    let (file, (compiler, verb)) = (config.dialect.file(), config.dialect.compiler());
    std::fs::write(folder.join(file), &source.text)?;
    std::fs::write(folder.join("tracer.c"), TRACER)?;
    let plain = |compiler: &str| -> Result<Command> {
        let mut command = Command::new(installed(&format!("{compiler}-{}", config.clang))?);
        clean(&mut command);
        command.current_dir(folder);
        Ok(command)
    };
    run_ok(plain("clang")?.args(["-O1", "-c", "tracer.c"]))?;
    run_ok(plain(compiler)?.args([config.level, "-w", file, "tracer.o", "-o", "plain"]))?;
    let mut woven =
        holloway_command([verb, config.level, "-g", "-w", "-c", file, "-o", "random.o"]);
    let compiler = installed(&format!("{compiler}-{}", config.clang))?;
    run_ok(woven.current_dir(folder).env("HOLLOWAY_CLANG", compiler))?;
    Ok(folder.join("plain"))
}

pub(crate) fn link(folder: &Path, weaving: &Weaving, config: BuildConfig) -> Result<PathBuf> {
    let (compiler, verb) = config.dialect.compiler();
    let program = folder.join(format!("program-{}", weaving.kind.name()));
    let mut woven = holloway_command([verb, config.level, "-g", "random.o", "tracer.o", "-o"]);
    woven.arg(&program).current_dir(folder).env(
        "HOLLOWAY_CLANG",
        installed(&format!("{compiler}-{}", config.clang))?,
    );
    weaving.by_environment(&mut woven);
    if config.clang == 19 {
        woven.env("HOLLOWAY_LLVM", libllvm_19()?);
    }
    run_ok(&mut woven)?;
    Ok(program)
}

fn same_counts(
    recorded: &Recorded,
    source: &Source,
    counts: &Counts,
    config: BuildConfig,
) -> Result<()> {
    let functions = recorded.functions();
    for traced in &source.functions {
        let is_traced = |f: &&Counted| f.map.linkage_name.as_str() == traced.name;
        let function = functions
            .iter()
            .find(is_traced)
            .with_context(|| format!("{} isn't in the map", traced.name))?;
        let check = || {
            function.agrees_with(&recorded.report)?;
            same_runs(function, traced, counts)?;
            same_returns(function, traced, counts)?;
            // In C++ a call that may throw ends its block, and the code after it is in a block
            // without a tracer call.
            if config.level == "-O0" && config.dialect != Dialect::Cpp {
                same_left(function, traced, counts)?;
            }
            Ok::<(), anyhow::Error>(())
        };
        check().with_context(|| traced.name.clone())?;
    }
    Ok(())
}

/// Checks that each block ran as often as its tracer calls were traced. Nothing before these calls
/// in the block leaves the frame.
fn same_runs(function: &Counted, traced: &Traced, counts: &Counts) -> Result<()> {
    let flow = function.flow()?;
    ensure!(
        flow.calls == i128::from(counts.runs[traced.entry as usize]),
        "{} calls, {} traced",
        flow.calls,
        counts.runs[traced.entry as usize]
    );
    let mut actual = BTreeMap::<u32, i128>::new();
    let ids = function.traced(|line| traced.lines.get(&line).copied());
    for (ids, count) in ids.iter().zip(&flow.blocks) {
        for id in ids {
            *actual.entry(*id).or_default() += count;
        }
    }
    for (id, actual) in actual {
        let wanted = counts.runs[id as usize];
        ensure!(
            actual == i128::from(wanted),
            "block {id} ran {actual} times, {wanted} traced"
        );
    }
    Ok(())
}

/// Checks that the function returned as often as traced. So the total number of left frames is
/// right, too.
fn same_returns(function: &Counted, traced: &Traced, counts: &Counts) -> Result<()> {
    let flow = function.flow()?;
    let edges = function.map.edges.iter().zip(&flow.edges);
    let returns = edges.filter(|(e, _)| matches!(e.outcome, Outcome::Return | Outcome::TailCall));
    let actual: i128 = returns.map(|(_, count)| count).sum();
    let wanted: u64 = traced
        .returns
        .iter()
        .map(|id| counts.runs[*id as usize])
        .sum();
    ensure!(
        actual == i128::from(wanted),
        "{actual} returns, {wanted} traced"
    );
    Ok(())
}

/// Checks that each block was left as often as traced, and that each setjmp returned again as often
/// as traced.
fn same_left(function: &Counted, traced: &Traced, counts: &Counts) -> Result<()> {
    let flow = function.flow()?;
    let heads = function.heads();
    let ids = function.traced(|line| traced.lines.get(&line).copied());
    let sum = |table: &[u64], ids: &[u32]| -> i128 {
        ids.iter().map(|id| i128::from(table[*id as usize])).sum()
    };
    let (mut left, mut wanted) = (vec![0; heads.len()], vec![0; heads.len()]);
    for (edge, count) in function.map.edges.iter().zip(&flow.edges) {
        if edge.kind == EdgeKind::Exit || edge.outcome == Outcome::Noreturn {
            left[heads[edge.from as usize]] += count;
        }
    }
    for (block, ids) in ids.iter().enumerate() {
        wanted[heads[block]] += sum(&counts.left, ids);
    }
    for edge in &function.map.edges {
        if edge.outcome == Outcome::Again {
            let parts = (0..heads.len()).filter(|b| heads[*b] == heads[edge.from as usize]);
            let reentries: i128 = parts.map(|b| sum(&counts.again, &ids[b])).sum();
            wanted[heads[edge.to as usize]] -= reentries;
        }
    }
    for (block, head) in heads
        .iter()
        .enumerate()
        .filter(|(block, head)| block == *head)
    {
        ensure!(
            left[block] == wanted[block],
            "block {block} (ids {:?}) was left {} times, {} traced",
            ids[*head],
            left[block],
            wanted[block]
        );
    }
    Ok(())
}
