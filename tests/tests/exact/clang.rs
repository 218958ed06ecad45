//! Calls, branches and switches counted by clang's `-fprofile-generate` at -O0, held against ours, one by one.

use crate::ours::{Counted, Recorded, record};
use anyhow::{Context, Result, bail, ensure};
use holloway_format::Outcome;
use holloway_tests::clang_counts::{Branch, Function, Outcome as Way, count};
use holloway_tests::program::{Language, Program, run_program};
use holloway_tests::tool::{run_ok, scratch, tests_directory};
use holloway_tests::workload::{CProject, Flavour, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Single-threaded programs whose calls all return: what clang's spanning tree needs to be exact itself.
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
    if workload == Workload::Lua {
        // Lua hashes some pointers, and two builds have different ones.
        let limits = folder.join("llimits.h");
        let text = std::fs::read_to_string(&limits).unwrap();
        let fixed = text.replace("((L_P2I)(p) & UINT_MAX)", "((L_P2I)(p) & 0)");
        assert!(fixed != text, "llimits.h defines point2uint in another way");
        std::fs::write(limits, fixed).unwrap();
    }
    let project = workload.c_project(&folder).unwrap().expect("a C program");
    // Both runs start from the same files, and none that the other has written, under the same name (bzip2 looks at
    // it letter by letter).
    let (input, plain_input) = (scratch.path().join("woven"), scratch.path().join("plain"));
    workload.write_input(&input, 1).unwrap();
    workload.write_input(&plain_input, 1).unwrap();
    let plain = |exe: &Path| -> Result<()> {
        std::fs::copy(exe, plain_input.join("program"))?;
        for mut command in calm_commands(workload, &plain_input) {
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
        std::fs::copy(exe, input.join("program"))?;
        let lines: Vec<String> = calm_commands(workload, &input).iter().map(line).collect();
        let script = format!("cd '{}' && {}", input.display(), lines.join(" && "));
        record(Path::new("sh"), &["-c", &script], data, &[])
    };
    let compared = compare(workload.name(), project, plain, woven).unwrap();
    println!("{}: {compared}", workload.name());
    compared
}

/// The workload's commands; Lua's without coroutines, which leave calls by longjmp: there clang's own counts are wrong.
fn calm_commands(workload: Workload, input: &Path) -> Vec<Command> {
    let mut commands = workload.commands(Path::new("./program"), input, 1);
    if workload == Workload::Lua {
        commands[0].arg("calm");
    }
    commands
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
        all.taken += ours.outcomes.iter().map(|(_, count)| count).sum::<u64>();
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
        let edges = function
            .map
            .edges
            .iter()
            .zip(&counts)
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
            outcomes.push((way, *count));
            place = place.or(edge.place);
        }
        outcomes.sort_unstable();
        let place = place.unwrap_or_default();
        // Scope 0: what is inlined from elsewhere was counted elsewhere by clang.
        if !outcomes.is_empty() && place.scope == 0 {
            all.push(Branch {
                line: place.line,
                column: place.column,
                outcomes,
            });
        }
    }
    all
}
