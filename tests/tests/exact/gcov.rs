//! Tests the line counts of real programs at -O0: on each line where gcc's gcov and `llvm-cov gcov`
//! agree, `report --view lines` must print the same count.
//!
//! `program/lines.rs` compares the programs of tests/programs with both gcovs.

use anyhow::{Context, Result, ensure};
use holloway_tests::files::copy_program;
use holloway_tests::gcov::{BOTH, Gcov, agreed, lines_of_run, unlike};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{BZIP2, CProject, Flavor, Scale, ZLIB};
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Arms that end where the next condition begins: by code, by loops, by other arms, and empty ones.
const ELSE_IF: &str = r"
#include <stdlib.h>
int kinds[6];
static void sort(int n) {
  if (n % 2 == 0) {
    kinds[0]++;
  } else if (n % 3 == 0) {
    kinds[1]++;
  } else if (n % 5 == 0) {
    for (int i = 0; i < n; i++)
      kinds[2]++;
  } else if (n % 7 == 0) {
    kinds[4]++;
    if (n > 50) {
      kinds[3]++;
    }
  } else if (n > 100) {
  } else {
    kinds[5]++;
  }
}
static int steps(int n) {
  int count = 0;
  do {
    count++;
    if (n % 2) {
      n = 3 * n + 1;
    } else { n /= 2; }
  } while (n != 1);
  return count;
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int n = 1; n <= atoi(argv[1]); n++) {
    sort(n);
    sum += steps(n);
  }
  return sum == 0;
}
";

#[test]
fn lines_with_the_end_of_an_arm_count_as_in_gcc() {
    let scratch = scratch("else-if").unwrap();
    let source = scratch.path().join("arms.c");
    std::fs::write(&source, ELSE_IF).unwrap();
    let folder = scratch.path().join("gcc");
    std::fs::create_dir(&folder).unwrap();
    let mut compile = Gcov::Gcc.compiler(&folder).unwrap();
    run_ok(compile.arg(&source).args(["-o", "program"])).unwrap();
    run_ok(Command::new(folder.join("program")).arg("105")).unwrap();
    let wanted = &Gcov::Gcc.lines(&folder).unwrap()["arms.c"];
    for kind in ["paths", "edges"] {
        let program = scratch.path().join(kind);
        let mut compile = holloway_command(["cc", "--collect", kind, "-O0", "-g"]);
        run_ok(compile.arg(&source).arg("-o").arg(&program)).unwrap();
        let data = scratch.path().join(format!("{kind}.data"));
        let mut run = holloway_command(["run", "-o"]);
        run_ok(run.arg(&data).arg("--").arg(&program).arg("105")).unwrap();
        let lines = &lines_of_run(&data).unwrap()["arms.c"];
        for (line, count) in wanted {
            assert_eq!(lines.get(line), Some(count), "{kind}: line {line}");
        }
        assert!(wanted.len() > 25, "{wanted:?}");
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
