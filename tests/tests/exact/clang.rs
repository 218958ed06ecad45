//! Calls, branches and switches counted by clang's `-fprofile-generate` at -O0, held against ours, one by one.

use crate::ours::{Counted, Recorded, record};
use anyhow::{Context, Result, bail, ensure};
use holloway_format::Outcome;
use holloway_tests::clang_counts::{Branch, Function, count};
use holloway_tests::program::{Language, Program, run_program};
use holloway_tests::tool::{run_ok, scratch, tests_directory};
use holloway_tests::workload::{CProject, Flavour, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Single-threaded programs whose calls all return: what clang's spanning tree needs to be exact itself.
const PROGRAMS: [&str; 9] = [
    "loops",
    "switches",
    "irreducible",
    "small_functions",
    "musttail",
    "varargs",
    "deep_recursion",
    "huge_paths",
    "constructors",
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
        let compared =
            compare(name, project, run, |exe, data| record(exe, &[], data, &[])).unwrap();
        println!("{name}: {compared}");
        assert!(compared.functions > 0);
    }
}

#[test]
fn bzip2_agrees_with_clang() {
    let compared = compare_workload(Workload::Bzip2);
    assert!(
        compared.functions > 60 && compared.branches > 500,
        "too little was compared: {compared}"
    );
}

#[test]
fn lua_agrees_with_clang() {
    let compared = compare_workload(Workload::Lua);
    assert!(
        compared.functions > 400 && compared.branches > 1000,
        "too little was compared: {compared}"
    );
}

#[test]
fn sqlite_agrees_with_clang() {
    let compared = compare_workload(Workload::Sqlite);
    assert!(
        compared.functions > 1000 && compared.branches > 5000,
        "too little was compared: {compared}"
    );
}

fn compare_workload(workload: Workload) -> Compared {
    let scratch = scratch(&format!("exact-{}", workload.name())).unwrap();
    let folder = workload.prepare(scratch.path()).unwrap();
    let project = workload.c_project(&folder).unwrap().expect("a C program");
    let input = scratch.path().join("input");
    workload.write_input(&input, 1).unwrap();
    let plain = |exe: &Path| -> Result<()> {
        for mut command in workload.commands(exe, &input, 1) {
            run_program(&mut command, None)?;
        }
        Ok(())
    };
    let woven = |exe: &Path, data: &Path| -> Result<Recorded> {
        // One shell runs them all, so that one `holloway run` sees every process.
        let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
        let line = |c: &Command| {
            let words: Vec<String> = std::iter::once(c.get_program())
                .chain(c.get_args())
                .map(quoted)
                .collect();
            words.join(" ")
        };
        let lines: Vec<String> = workload.commands(exe, &input, 1).iter().map(line).collect();
        let script = format!("cd '{}' && {}", input.display(), lines.join(" && "));
        record(Path::new("sh"), &["-c", &script], data, &[])
    };
    let compared = compare(workload.name(), project, plain, woven).unwrap();
    println!("{}: {compared}", workload.name());
    compared
}

#[derive(Default)]
struct Compared {
    functions: usize,
    called: usize,
    branches: usize,
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

/// Builds and runs both, and compares every function that clang has profiled.
fn compare(
    name: &str,
    project: CProject,
    plain: impl FnOnce(&Path) -> Result<()>,
    woven: impl FnOnce(&Path, &Path) -> Result<Recorded>,
) -> Result<Compared> {
    let scratch = scratch(&format!("counters-{name}"))?;
    let sources = scratch.path().join("sources");
    holloway_tests::program::copy_tree(&project.folder, &sources)?;
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
    let executable = project
        .build(Flavour::Woven, "-O0")
        .context("woven build")?;
    let recorded = woven(&executable, &scratch.path().join("data"))?;
    let theirs = count(
        &project.files,
        &project.flags,
        &project.libraries,
        scratch.path(),
        plain,
    )?;
    let ours = recorded.functions();
    let mut compared = Compared::default();
    let mut wrong = Vec::new();
    for (file, functions) in theirs {
        let stem = file
            .file_stem()
            .context("a source file has a name")?
            .to_string_lossy()
            .into_owned();
        for theirs in functions.iter().filter(|f| f.calls.is_some()) {
            match compare_function(&stem, theirs, &ours, &recorded, &mut compared) {
                Ok(()) => {}
                Err(e) => wrong.push(format!("{stem}.c: {}: {e:#}", theirs.name)),
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{name}: {} functions differ\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    Ok(compared)
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
    let calls = theirs.calls.unwrap_or(0);
    ensure!(
        function.calls() == calls,
        "{} calls, clang counted {calls}",
        function.calls()
    );
    function.agrees_with(&recorded.report)?;
    let branches = branches(function);
    ensure!(
        branches.len() == theirs.branches.len(),
        "{} branches, clang has {}",
        branches.len(),
        theirs.branches.len()
    );
    for (ours, theirs) in branches.iter().zip(&theirs.branches) {
        ensure!(ours == theirs, "{ours:?}, clang counted {theirs:?}");
        all.taken += ours.counts.iter().sum::<u64>();
    }
    all.functions += 1;
    all.called += usize::from(calls > 0);
    all.branches += branches.len();
    Ok(())
}

/// `blocksort.woven-O0.o` and the like, up to the first dot.
fn module_stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.split('.').next().unwrap_or(file)
}

/// Our counts in clang's form: the two-way branches and switches in the order of their blocks.
fn branches(function: &Counted) -> Vec<Branch> {
    let counts = function.edge_counts();
    let mut all = Vec::new();
    for block in 0..function.map.blocks.len() as u32 {
        let edges: Vec<_> = function
            .map
            .edges
            .iter()
            .zip(&counts)
            .filter(|(e, _)| e.from == block)
            .collect();
        let count = |outcome: Outcome| {
            edges
                .iter()
                .find(|(e, _)| e.outcome == outcome)
                .map(|(_, count)| **count)
        };
        let place = edges.first().and_then(|(e, _)| e.place).unwrap_or_default();
        let (line, column) = (place.line, place.column);
        if let (Some(yes), Some(no)) = (count(Outcome::True), count(Outcome::False)) {
            all.push(Branch {
                line,
                column,
                cases: None,
                counts: vec![yes, no],
            });
        } else if let Some(default) = count(Outcome::Default) {
            let cases = edges.iter().filter_map(|(e, count)| match e.outcome {
                Outcome::Case(value) => Some((value, **count)),
                _ => None,
            });
            let (values, taken): (Vec<i64>, Vec<u64>) = cases.unzip();
            let counts = std::iter::once(default).chain(taken).collect();
            all.push(Branch {
                line,
                column,
                cases: Some(values),
                counts,
            });
        }
    }
    all
}
