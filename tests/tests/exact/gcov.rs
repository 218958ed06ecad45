//! Tests the line counts of real programs at -O0: on each line where gcc's gcov and `llvm-cov gcov`
//! agree, `report --view lines` must print the same count.
//!
//! `program/lines.rs` compares the programs of tests/programs with both gcovs.

use anyhow::{Context, Result, ensure};
use holloway_tests::files::copy_program;
use holloway_tests::gcov::{BOTH, Gcov, agreed, lines_of_run, unlike};
use holloway_tests::tool::{run_ok, scratch};
use holloway_tests::workload::{BZIP2, CProject, Flavor, Scale, ZLIB};
use std::path::{Path, PathBuf};

#[test]
fn lines_of_bzip2_and_zlib_agree_with_both_gcovs() {
    for (workload, least) in [(&BZIP2, 2500), (&ZLIB, 2200)] {
        let scratch = scratch("gcov").unwrap();
        let folder = workload.prepare(scratch.path()).unwrap();
        let project = workload.c_project(&folder).unwrap().expect("a C program");
        let run = |exe: &Path, data: Option<&Path>| -> Result<()> {
            // bzip2's behavior depends on the name that it is started by, and it refuses to
            // overwrite files. So each run has a separate folder and the same name.
            let input = scratch.path().join("input");
            let _ = std::fs::remove_dir_all(&input);
            workload.write_input(&input, Scale::Small)?;
            let program = input.join("program");
            copy_program(exe, &program)?;
            workload.run(Path::new("./program"), &input, Scale::Small, data)?;
            Ok(())
        };
        let lines = compare(&project, scratch.path(), run).unwrap();
        println!("{}: {lines} lines equal", workload.name());
        assert!(lines >= least, "only {lines} lines were compared");
    }
}

/// Builds and runs a program for coverage and for each kind. Returns the number of compared lines.
fn compare(
    project: &CProject,
    scratch: &Path,
    run: impl Fn(&Path, Option<&Path>) -> Result<()>,
) -> Result<usize> {
    let folder = |gcov: Gcov| scratch.join(format!("gcov-{}", gcov.name()));
    for gcov in BOTH {
        run(&build(project, gcov, &folder(gcov))?, None)?;
    }
    let agreed = agreed(&folder(Gcov::Gcc), &folder(Gcov::Clang))?;
    let mut least = usize::MAX;
    for flavor in [Flavor::Paths, Flavor::Edges] {
        let executable = project.build(flavor, "-O0")?;
        let data = scratch.join(format!("data-{}", flavor.name()));
        run(&executable, Some(&data))?;
        let (compared, unlike) = unlike(&lines_of_run(&data)?, &agreed);
        let shown = unlike[..unlike.len().min(20)].join("\n");
        let number = unlike.len();
        ensure!(
            number == 0,
            "{}: {number} of {compared} lines\n{shown}",
            flavor.name()
        );
        least = least.min(compared);
    }
    Ok(least)
}

/// Builds with a compiler's counters.
fn build(project: &CProject, gcov: Gcov, folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let mut objects = Vec::new();
    for (number, file) in project.files.iter().enumerate() {
        let object = format!("{number}.o");
        let mut compile = gcov.compiler(folder)?;
        compile.args(&project.flags).arg("-c").arg(file);
        run_ok(compile.args(["-o", &object])).with_context(|| file.display().to_string())?;
        objects.push(object);
    }
    let executable = folder.join("program");
    let mut link = gcov.compiler(folder)?;
    link.args(&objects)
        .args(&project.libraries)
        .arg("-o")
        .arg(&executable);
    run_ok(&mut link)?;
    Ok(executable)
}
