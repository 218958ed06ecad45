//! Compares the counts of calls, branches, and switches at -O0 with clang's `-fprofile-generate`,
//! for each kind of profile.

use crate::calm::Calm;
use crate::ours::{Counted, Flow, Recorded, record, steady};
use anyhow::{Context, Result, bail, ensure};
use holloway_format::Outcome;
use holloway_tests::clang_counts::{Branch, Function, Outcome as Way, count};
use holloway_tests::csmith::CsmithProgram;
use holloway_tests::program::{Language, Program};
use holloway_tests::tool::{run_ok, scratch, tests_directory};
use holloway_tests::workload::{BZIP2, CProject, Flavor, LUA, SQLITE, Workload, ZLIB};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flavors that are compared with clang's counts. The run before the last flavor guides the
/// last.
const FLAVORS: [Flavor; 4] = [
    Flavor::Paths,
    Flavor::WithoutExits,
    Flavor::Edges,
    Flavor::Guided,
];

/// Single-threaded programs whose calls all return. Only for these are clang's counts exact,
/// because clang uses a spanning tree.
const PROGRAMS: [&str; 8] = [
    "loops",
    "switches",
    "irreducible",
    "small_functions",
    "musttail",
    "varargs",
    "deep_recursion",
    "huge_paths",
];

#[test]
fn test_programs_agree_with_clang() {
    for name in PROGRAMS {
        let folder = tests_directory().join("programs").join(name);
        let program = Program::read(&folder).unwrap();
        assert_eq!(program.language, Language::C);
        let project = CProject {
            folder: folder.clone(),
            files: vec![folder.join("main.c")],
            flags: vec![format!(
                "-I{}",
                tests_directory().join("programs/include").display()
            )],
            libraries: Vec::new(),
        };
        let run = |exe: &Path| run_ok(&mut Command::new(exe)).map(|_| ());
        let woven = |exe: &Path, data: &Path| record(exe, &[], data, &[]);
        let compared = compare(name, project, &FLAVORS, run, woven).unwrap();
        println!("{name}: {compared}");
        assert!(compared.functions > 0);
    }
}

/// `HOLLOWAY_SOAK=N` compares N programs.
#[test]
fn csmith_programs_agree_with_clang() {
    let number = match std::env::var("HOLLOWAY_SOAK") {
        Ok(text) => text.parse().expect("HOLLOWAY_SOAK is a number"),
        Err(_) => 2,
    };
    let mut branches = 0;
    for seed in 1..=number {
        let scratch = scratch("exact-csmith").unwrap();
        let program = CsmithProgram::generate(scratch.path(), seed).unwrap();
        // A program that fails or does not end has no counts.
        if program.native_outputs().unwrap().is_none() {
            continue;
        }
        let project = CProject {
            folder: scratch.path().to_owned(),
            files: vec![program.source()],
            flags: CsmithProgram::flags().map(str::to_owned).to_vec(),
            libraries: Vec::new(),
        };
        let run = |exe: &Path| run_ok(&mut Command::new(exe)).map(|_| ());
        let woven = |exe: &Path, data: &Path| record(exe, &[], data, &[]);
        let flavors = [Flavor::Paths, Flavor::Edges];
        let compared = compare("csmith", project, &flavors, run, woven);
        branches += compared
            .unwrap_or_else(|error| panic!("seed {seed}: {error:#}"))
            .branches;
    }
    assert!(branches > 0, "nothing was compared");
}

#[test]
fn bzip2_agrees_with_clang() {
    let compared = compare_workload(&BZIP2, &FLAVORS);
    assert!(
        compared.functions > 60 && compared.branches > 500,
        "too little was compared: {compared}"
    );
}

#[test]
fn zlib_agrees_with_clang() {
    let compared = compare_workload(&ZLIB, &FLAVORS);
    assert!(
        compared.functions > 50 && compared.branches > 400,
        "too little was compared: {compared}"
    );
}

#[test]
fn lua_agrees_with_clang() {
    let compared = compare_workload(&LUA, &FLAVORS);
    assert!(
        compared.functions > 400 && compared.branches > 1000,
        "too little was compared: {compared}"
    );
}

#[test]
fn sqlite_agrees_with_clang() {
    // SQLite is the largest program, so only two flavors are compared.
    let compared = compare_workload(&SQLITE, &[Flavor::Paths, Flavor::Edges]);
    assert!(
        compared.functions > 1000 && compared.branches > 5000,
        "too little was compared: {compared}"
    );
}

fn compare_workload(workload: &Workload, flavors: &[Flavor]) -> Compared {
    let scratch = scratch(&format!("exact-{}", workload.name())).unwrap();
    let folder = workload.prepare(scratch.path()).unwrap();
    steady(workload, &folder).unwrap();
    let project = workload.c_project(&folder).unwrap().expect("a C program");
    let calm = Calm::new(workload, scratch.path()).unwrap();
    let plain = |exe: &Path| calm.run(exe);
    let woven = |exe: &Path, data: &Path| calm.record(exe, data);
    let compared = compare(workload.name(), project, flavors, plain, woven).unwrap();
    println!("{}: {compared}", workload.name());
    compared
}

/// The numbers of compared functions and branches, all of which were equal.
#[derive(Default)]
pub(crate) struct Compared {
    pub(crate) functions: usize,
    called: usize,
    pub(crate) branches: usize,
    taken: u64,
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            functions,
            called,
            branches,
            taken,
        } = self;
        write!(
            f,
            "{functions} functions ({called} called), {branches} branches taken {taken} times: all equal"
        )
    }
}

/// Builds and runs the program with clang's counters and with ours, and compares every function
/// that clang has profiled.
fn compare(
    name: &str,
    project: CProject,
    flavors: &[Flavor],
    plain: impl FnOnce(&Path) -> Result<()>,
    woven: impl Fn(&Path, &Path) -> Result<Recorded>,
) -> Result<Compared> {
    let scratch = scratch(&format!("counters-{name}"))?;
    let sources = scratch.path().join("sources");
    holloway_tests::files::copy_tree(&project.folder, &sources)?;
    let moved: Vec<PathBuf> = project
        .files
        .iter()
        .map(|f| sources.join(f.file_name().expect("a file has a name")))
        .collect();
    let project = CProject {
        folder: sources,
        files: moved,
        ..project
    };
    let theirs = count(
        &project.files,
        &project.flags,
        &project.libraries,
        scratch.path(),
        plain,
    )?;
    let mut compared = Compared::default();
    for &flavor in flavors {
        compared = Compared::default();
        let data = scratch.path().join(flavor.name());
        let executable = project.build(flavor, "-O0").context("woven build")?;
        let recorded = woven(&executable, &data)?;
        if flavor == Flavor::Edges {
            std::os::unix::fs::symlink(&data, Flavor::guide(&project.folder))?;
        }
        let wrong = differences(&theirs, &recorded, &mut compared)?;
        ensure!(
            wrong.is_empty(),
            "{name}, {}: {} functions differ\n{}",
            flavor.name(),
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
    }
    Ok(compared)
}

/// Returns a message for each function whose counts differ from clang's.
pub(crate) fn differences(
    theirs: &[(PathBuf, Vec<Function>)],
    recorded: &Recorded,
    compared: &mut Compared,
) -> Result<Vec<String>> {
    let ours = recorded.functions();
    let mut wrong = Vec::new();
    for (file, functions) in theirs {
        let file = file.to_string_lossy();
        let stem = module_stem(&file);
        for theirs in functions.iter().filter(|f| f.calls.is_some()) {
            match compare_function(stem, theirs, &ours, recorded, compared) {
                Ok(()) => {}
                Err(e) => wrong.push(format!("{stem}.c: {}: {e:#}", theirs.name)),
            }
        }
    }
    Ok(wrong)
}

fn compare_function(
    stem: &str,
    theirs: &Function,
    ours: &[Counted],
    recorded: &Recorded,
    all: &mut Compared,
) -> Result<()> {
    let same =
        |f: &&Counted| f.map.linkage_name.as_str() == theirs.name && module_stem(f.module) == stem;
    let Some(function) = ours.iter().find(same) else {
        let skips = recorded.map.modules.iter().flat_map(|m| &m.module.skipped);
        match skips
            .into_iter()
            .find(|s| s.linkage_name.as_str() == theirs.name)
        {
            Some(skipped) => bail!("skipped: {}", skipped.reason.as_str()),
            None => bail!("isn't in the map"),
        }
    };
    compare_counts(function, theirs, recorded, all)
}

/// Compares the calls and branches of one function.
pub(crate) fn compare_counts(
    function: &Counted,
    theirs: &Function,
    recorded: &Recorded,
    all: &mut Compared,
) -> Result<()> {
    let calls = theirs.calls.unwrap_or(0);
    let flow = function.flow()?;
    ensure!(
        flow.calls == i128::from(calls),
        "{} calls, the compiler counted {calls}",
        flow.calls
    );
    function.agrees_with(&recorded.report)?;
    let branches = branches(function, &flow)?;
    let theirs: Vec<&Branch> = theirs.branches.iter().filter(|b| b.line != 0).collect();
    ensure!(
        branches.len() == theirs.len(),
        "{} branches, the compiler has {}",
        branches.len(),
        theirs.len()
    );
    for (ours, theirs) in branches.iter().zip(theirs) {
        ensure!(ours == theirs, "{ours:?}, the compiler counted {theirs:?}");
        all.taken += ours.outcomes.iter().map(|(_, count)| count).sum::<u64>();
    }
    all.functions += 1;
    all.called += usize::from(calls > 0);
    all.branches += branches.len();
    Ok(())
}

/// Returns the file name up to its first dot, such as `blocksort` for `blocksort.woven-O0.o`.
fn module_stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.split('.').next().unwrap_or(file)
}

/// Returns our counts in clang's form: two-way branches and switches in the order of their blocks.
fn branches(function: &Counted, flow: &Flow) -> Result<Vec<Branch>> {
    let mut all = Vec::new();
    for block in 0..function.map.blocks.len() as u32 {
        let edges = function
            .map
            .edges
            .iter()
            .zip(&flow.edges)
            .filter(|(e, _)| e.from == block);
        let mut place = None;
        let mut outcomes: Vec<(Way, u64)> = Vec::new();
        for (edge, count) in edges {
            let way = match edge.outcome {
                Outcome::True => Way::True,
                Outcome::False => Way::False,
                Outcome::Default => Way::Default,
                Outcome::Case(value) => Way::Case(value),
                _ => continue,
            };
            outcomes.push((way, u64::try_from(*count).context("a negative count")?));
            place = place.or(edge.place);
        }
        outcomes.sort_unstable();
        let place = place.unwrap_or_default();
        // The compiler counts inlined code in another function. Text from a macro belongs to the
        // function, and its scope has no parent either. A branch without a line cannot be assigned,
        // so it is left out.
        let scope = function.map.scopes.get(place.scope as usize);
        let is_own = scope.is_some_and(|scope| scope.parent.is_none());
        if !outcomes.is_empty() && is_own && place.line != 0 {
            all.push(Branch {
                line: place.line,
                column: place.column,
                outcomes,
            });
        }
    }
    Ok(all)
}
