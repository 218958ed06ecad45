//! Line counts: those of clang's `--coverage` at -O0, as `llvm-cov gcov` prints them, held against `report --view lines`.
//!
//! gcov lists some lines more: those that hold a jump only. And it counts a line once for each piece of a block on it, so
//! where a statement spreads over lines, or a line holds a loop or a condition, its counts are not runs. Each line with
//! one whole statement must have the same count in both.

use anyhow::{Context, Result, ensure};
use holloway_tests::program::{Program, run_program};
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch, tests_directory};
use holloway_tests::workload::{BZIP2, CProject, Flavour, Scale, ZLIB};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Counts by line, of each file by its name.
type Lines = BTreeMap<String, BTreeMap<u32, u64>>;
/// The same of gcov, and whether the line holds one whole statement.
type Gcov = BTreeMap<String, BTreeMap<u32, (u64, bool)>>;

/// Single-threaded programs whose calls all return: gcov's graph knows no other.
const PROGRAMS: [&str; 7] = [
    "loops",
    "switches",
    "irreducible",
    "small_functions",
    "varargs",
    "deep_recursion",
    "huge_paths",
];

#[test]
fn lines_of_test_programs_agree_with_gcov() {
    let mut lines = 0;
    for name in PROGRAMS {
        let folder = tests_directory().join("programs").join(name);
        let program = Program::read(&folder).unwrap();
        let include = tests_directory().join("programs/include");
        let project = CProject {
            files: vec![folder.join("main.c")],
            flags: vec![format!("-I{}", include.display())],
            libraries: Vec::new(),
            folder,
        };
        let run = |exe: &Path, data: Option<&Path>| -> Result<()> {
            let output = run_program(Command::new(exe).args(&program.directives.args), data)?;
            ensure!(output.status.success(), "{}", output.ending());
            Ok(())
        };
        lines += compare(name, &project, run).unwrap();
    }
    assert!(lines >= 40, "only {lines} lines were compared");
}

#[test]
fn lines_of_bzip2_and_zlib_agree_with_gcov() {
    for (workload, least) in [(&BZIP2, 700), (&ZLIB, 300)] {
        let scratch = scratch("gcov").unwrap();
        let folder = workload.prepare(scratch.path()).unwrap();
        let project = workload.c_project(&folder).unwrap().expect("a C program");
        let run = |exe: &Path, data: Option<&Path>| -> Result<()> {
            // bzip2 looks at the name it was started by, and refuses to overwrite: each run is alone, under one name.
            let input = scratch.path().join("input");
            let _ = std::fs::remove_dir_all(&input);
            workload.write_input(&input, Scale::Small)?;
            let program = input.join("program");
            std::fs::copy(exe, &program)?;
            workload.run(Path::new("./program"), &input, Scale::Small, data)?;
            Ok(())
        };
        let lines = compare(workload.name(), &project, run).unwrap();
        println!("{}: {lines} lines equal", workload.name());
        assert!(lines >= least, "only {lines} lines were compared");
    }
}

/// Builds and runs for coverage and for each kind; the number of lines compared.
fn compare(
    name: &str,
    project: &CProject,
    run: impl Fn(&Path, Option<&Path>) -> Result<()>,
) -> Result<usize> {
    let scratch = scratch(&format!("gcov-{name}"))?;
    let sources = scratch.path().join("sources");
    holloway_tests::program::copy_tree(&project.folder, &sources)?;
    let moved = |file: &std::path::PathBuf| -> Result<std::path::PathBuf> {
        Ok(sources.join(file.strip_prefix(&project.folder)?))
    };
    let project = CProject {
        files: project.files.iter().map(moved).collect::<Result<_>>()?,
        folder: sources.clone(),
        ..project.clone()
    };
    let theirs = gcov(&project, scratch.path(), |exe| run(exe, None))?;
    let mut compared = 0;
    for flavour in [Flavour::Paths, Flavour::Closed, Flavour::Edges] {
        let executable = project.build(flavour, "-O0")?;
        let data = scratch.path().join(format!("data-{}", flavour.name()));
        run(&executable, Some(&data))?;
        let ours = our_lines(&data)?;
        compared = same(&ours, &theirs).with_context(|| format!("{name}, {}", flavour.name()))?;
    }
    Ok(compared)
}

/// Every line with one statement that both list has the same count; how many there are.
fn same(ours: &Lines, theirs: &Gcov) -> Result<usize> {
    let (mut compared, mut wrong) = (0, Vec::new());
    for (file, lines) in ours {
        let known = theirs.get(file);
        for (line, count) in lines {
            let Some(gcov) = known.and_then(|k| k.get(line)).filter(|(_, whole)| *whole) else {
                continue;
            };
            let gcov = &gcov.0;
            compared += 1;
            if count != gcov {
                wrong.push(format!("{file}:{line}: {count}, gcov counted {gcov}"));
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {compared} lines differ\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    Ok(compared)
}

/// Reads `report --view lines`.
fn our_lines(data: &Path) -> Result<Lines> {
    let mut command = holloway_command(["report", "--view", "lines", "--top", "1000"]);
    let text = run_ok(command.arg(data))?.text();
    let (mut all, mut file) = (Lines::new(), String::new());
    for line in text.lines() {
        if let Some((path, _)) = line
            .split_once("  ")
            .filter(|(_, r)| r.contains(" line executions · "))
        {
            file = base_name(path);
        }
        let mut cells = line.split(" │");
        if let (Some(count), Some(number)) = (cells.next(), cells.next())
            && let (Ok(count), Ok(number)) =
                (count.trim().replace(',', "").parse(), number.trim().parse())
        {
            all.entry(file.clone()).or_default().insert(number, count);
        }
    }
    Ok(all)
}

/// Builds with `--coverage`, runs, and reads what `llvm-cov gcov` says of each object.
fn gcov(project: &CProject, scratch: &Path, run: impl Fn(&Path) -> Result<()>) -> Result<Gcov> {
    let folder = scratch.join("gcov");
    std::fs::create_dir_all(&folder)?;
    let clang = installed("clang-22")?;
    let start = || {
        let mut command = Command::new(&clang);
        clean(&mut command);
        command
            .current_dir(&folder)
            .args(["--coverage", "-O0", "-w"]);
        command
    };
    let mut objects = Vec::new();
    for (number, file) in project.files.iter().enumerate() {
        let object = format!("{number}.o");
        let mut compile = start();
        compile.args(["-g", "-c"]).args(&project.flags).arg(file);
        run_ok(compile.args(["-o", &object]))?;
        objects.push(object);
    }
    let executable = folder.join("program");
    run_ok(
        start()
            .args(&objects)
            .args(&project.libraries)
            .arg("-o")
            .arg(&executable),
    )?;
    run(&executable)?;
    let mut all = Gcov::new();
    for number in 0..objects.len() {
        let mut print = Command::new(installed("llvm-cov-22")?);
        print
            .current_dir(&folder)
            .args(["gcov", "-t", &format!("{number}.gcda")]);
        add(&mut all, &run_ok(&mut print)?.text());
    }
    Ok(all)
}

/// Adds `COUNT:LINE:TEXT` lines; line 0 says the file.
fn add(all: &mut Gcov, text: &str) {
    let (mut file, mut before) = (String::new(), "");
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').map(str::trim);
        let (Some(count), Some(number), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if let Some(source) = rest.strip_prefix("Source:") {
            file = base_name(source);
        }
        let count = match count {
            "#####" | "=====" => Some(0),
            _ => count.parse::<u64>().ok(),
        };
        if let (Some(count), Ok(number)) = (count, number.parse::<u32>()) {
            let whole = before.ends_with([';', '{', '}']) && is_statement(rest);
            let lines = all.entry(file.clone()).or_default();
            lines.entry(number).or_insert((0, whole)).0 += count;
        }
        before = rest;
    }
}

/// Whether a line holds a statement to its end, without a condition or loop.
fn is_statement(text: &str) -> bool {
    let forks = [
        "if", "for", "while", "do", "case", "?", "&&", "||", "{", "}",
    ];
    text.ends_with(';') && !forks.iter().any(|word| text.contains(word))
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
