//! Optimizes [random programs](crate::random_program) with loops, switches, calls through pointers,
//! and frames that are left by `longjmp`, exceptions, and `exit`. The optimized programs must print
//! the same, and execute each block as often.

use crate::optimized::{Carrier, Checked};
use crate::random_program::{Dialect, TRACER, generate};
use crate::tool::{clean, holloway_command, installed, run, run_ok};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// The functions of a program.
const FUNCTIONS: u64 = 8;

/// What a program does: its output, its end, and its trace.
type Behavior = (Vec<u8>, ExitStatus, Vec<u8>);

/// Builds the random program with this seed with clang, and with Holloway and random plans. Returns
/// `None` if it fails, so that it cannot be trained.
///
/// # Errors
/// If a build fails, or an optimized program does something else.
pub fn check(
    folder: &Path,
    seed: u64,
    dialect: Dialect,
    level: &'static str,
) -> Result<Option<Checked>> {
    let source = generate(seed, FUNCTIONS, dialect);
    std::fs::write(folder.join(dialect.file()), &source.text)?;
    std::fs::write(folder.join("tracer.c"), TRACER)?;
    let (clang, verb) = dialect.compiler();
    let [clang_c, clang] = ["clang", clang].map(|name| installed(&format!("{name}-22")));
    let (clang_c, clang) = (clang_c?, clang?);
    let start = |program: &Path| {
        let mut command = Command::new(program);
        clean(&mut command);
        command.current_dir(folder).args([level, "-w"]);
        command
    };
    run_ok(start(&clang_c).args(["-c", "tracer.c"]))?;
    let native = folder.join("native");
    run_ok(start(&clang).args([dialect.file(), "tracer.o", "-o", "native"]))?;
    let program = folder.join("program");
    let mut embed = holloway_command([verb, "--embed", "-g", level, "-w"]);
    embed.current_dir(folder).env("HOLLOWAY_CLANG", clang);
    run_ok(embed.args([dialect.file(), "tracer.o", "-o", "program"]))?;
    let trace = folder.join("trace");
    let expected = behavior(&native, &trace)?;
    if !expected.1.success() {
        return Ok(None);
    }
    let same = |program: &Path| {
        let actual = behavior(program, &trace)?;
        ensure!(actual == expected, "it does something else");
        Ok(())
    };
    same(&program).context("the plain program")?;
    let lines: Vec<usize> = (1..=source.text.lines().count()).collect();
    let carrier = Carrier {
        folder,
        program: &program,
        environment: &[("TRACE", &trace)],
        args: &[],
        other_args: None,
        lines: &lines,
        seed,
    };
    carrier.check(&same).map(Some)
}

fn behavior(program: &Path, trace: &Path) -> Result<Behavior> {
    let output = run(Command::new(program).env("TRACE", trace))?;
    let traced = std::fs::read(trace).context("no trace")?;
    std::fs::remove_file(trace)?;
    Ok((output.stdout, output.status, traced))
}
