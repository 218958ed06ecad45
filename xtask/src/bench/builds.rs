//! Measures the cost of weaving at build time: a first build without any cache, and a second one
//! after a function was added to the program's own crate. Plain and woven builds take turns.
//!
//! On a busy machine, wall-clock time depends on the neighbors. Processor time hardly does: it is
//! the time of all processes of a build, user and system. But it does not show how well a build
//! uses several processors.

use super::samples::Samples;
use anyhow::{Context, Result};
use holloway_tests::tool::{clean, run_ok, scratch};
use holloway_tests::workload::{FIRST_BUILDS, Flavor, RIPGREP, Source, rust_build_command};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The program whose builds the targets are about.
const TARGET: &str = "ripgrep";

/// The file of each Rust program that is changed before its second build.
const CHANGED_FILES: [(&str, &str); 4] = [
    (TARGET, "crates/core/main.rs"),
    ("brotli", "src/bin/brotli.rs"),
    ("oxipng", "src/main.rs"),
    ("jaq", "src/main.rs"),
];

/// The times of the builds of all programs.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    pub(crate) programs: Vec<ProgramBuilds>,
}

/// The times of plain and woven builds of a program.
#[derive(Debug)]
pub(crate) struct ProgramBuilds {
    pub(crate) program: &'static str,
    /// By cargo or clang alone.
    pub(crate) plain: Times,
    /// By Holloway.
    pub(crate) woven: Times,
}

/// The times of one kind of build.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// From scratch.
    pub(crate) first: Seconds,
    /// After a function was added to the program's own crate. Without rounds for C.
    pub(crate) second: Seconds,
}

/// Seconds of each round.
#[derive(Debug, Default)]
pub(crate) struct Seconds {
    /// Wall-clock time.
    pub(crate) wall: Samples,
    /// The time of all processors, user and system.
    pub(crate) cpu: Samples,
}

impl Builds {
    /// The builds of the program that the targets are about.
    pub(crate) fn target(&self) -> Option<&ProgramBuilds> {
        self.programs.iter().find(|build| build.program == TARGET)
    }

    /// Formats the table.
    pub(crate) fn table(&self) -> String {
        let mut text = String::from(
            "| program | build | plain s | woven s | ratio | plain CPU s | woven CPU s | ratio of CPU time |\n|---|---|--:|--:|--:|--:|--:|--:|\n",
        );
        for build in &self.programs {
            let rows = [
                ("first", &build.plain.first, &build.woven.first),
                ("second", &build.plain.second, &build.woven.second),
            ];
            for (name, plain, woven) in rows {
                if plain.wall.all().is_empty() {
                    continue;
                }
                writeln!(
                    text,
                    "| {} | {name} | {:.1} | {:.1} | **{:.2}×** | {:.1} | {:.1} | **{:.2}×** |",
                    build.program,
                    plain.wall.median(),
                    woven.wall.median(),
                    woven.wall.over(&plain.wall).median(),
                    plain.cpu.median(),
                    woven.cpu.median(),
                    woven.cpu.over(&plain.cpu).median(),
                )
                .expect("a string takes everything");
            }
        }
        text
    }
}

/// Measures the builds of the programs that `is_chosen` chooses by their names.
///
/// # Errors
/// If a build fails.
pub(crate) fn measure(rounds: usize, is_chosen: &dyn Fn(&str) -> bool) -> Result<Builds> {
    let mut builds = Builds::default();
    let sources = std::iter::once(RIPGREP.source).chain(FIRST_BUILDS);
    for source in sources.filter(|source| is_chosen(source.name())) {
        builds.programs.push(program(source, rounds)?);
    }
    Ok(builds)
}

/// Builds a program in each round, plain and woven by turns. Every round has new folders for
/// sources, target, and cache.
fn program(source: Source, rounds: usize) -> Result<ProgramBuilds> {
    let (mut plain, mut woven) = (Times::default(), Times::default());
    for round in 0..rounds {
        for (flavor, times) in [(Flavor::Native, &mut plain), (Flavor::Paths, &mut woven)] {
            let scratch = scratch("bench-builds")?;
            let folder = source.prepare(scratch.path())?;
            let target = scratch.path().join("build");
            let name = source.name();
            match source {
                Source::Rust(_) => {
                    fetch(&folder)?;
                    timed(name, flavor, &mut times.first, || {
                        build(&folder, flavor, &target)
                    })?;
                    let changed = CHANGED_FILES.iter().find(|(program, _)| *program == name);
                    let (_, file) = changed.context("no file to change")?;
                    change(&folder.join(file), round)?;
                    timed(name, flavor, &mut times.second, || {
                        build(&folder, flavor, &target)
                    })?;
                }
                Source::C(_) => timed(name, flavor, &mut times.first, || {
                    source.build(&folder, flavor).map(drop)
                })?,
            }
        }
    }
    Ok(ProgramBuilds {
        program: source.name(),
        plain,
        woven,
    })
}

/// Downloads the dependencies of a project before its build is timed.
fn fetch(folder: &Path) -> Result<()> {
    let mut command = Command::new("cargo");
    clean(&mut command);
    command.current_dir(folder).args(["fetch", "--locked"]);
    run_ok(&mut command)?;
    Ok(())
}

fn build(folder: &Path, flavor: Flavor, target_folder: &Path) -> Result<()> {
    let mut command = rust_build_command(folder, flavor, &target_folder.join("target"));
    command.env("HOLLOWAY_CACHE", target_folder.join("cache"));
    run_ok(&mut command).map(drop)
}

/// Times a build, and prints its time.
fn timed(
    program: &str,
    flavor: Flavor,
    seconds: &mut Seconds,
    build: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (start, cpu_before) = (Instant::now(), cpu_of_children()?);
    build()?;
    let (wall, cpu) = (
        start.elapsed().as_secs_f64(),
        cpu_of_children()? - cpu_before,
    );
    eprintln!(
        "{program}, {}: {wall:.1} s, {cpu:.1} s of CPU time",
        flavor.name()
    );
    seconds.wall.push(wall);
    seconds.cpu.push(cpu);
    Ok(())
}

/// The CPU time of the child processes that have ended, and of theirs, in seconds: fields 16 and 17
/// of `/proc/self/stat`.
fn cpu_of_children() -> Result<f64> {
    /// Ticks of the kernel's clock for programs, on every machine that Linux runs on today.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Field 2 is the name in parentheses, which may contain spaces.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("no name in /proc/self/stat")?;
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: Vec<f64> = ticks.map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

/// Adds a function that the linker must not drop.
fn change(file: &Path, round: usize) -> Result<()> {
    let mut text = std::fs::OpenOptions::new()
        .append(true)
        .open(file)
        .with_context(|| format!("cannot open {}", file.display()))?;
    let id = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)?
        .as_nanos();
    writeln!(
        text,
        "fn added_{round}_{id}(n: u32) -> u32 {{ if n > 7 {{ n * 3 }} else {{ n }} }}\n#[used]\nstatic ADDED_{round}_{id}: fn(u32) -> u32 = added_{round}_{id};"
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_that_ended_have_cpu_time() {
        let before = cpu_of_children().expect("own times");
        let count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        run_ok(Command::new("sh").args(["-c", count])).expect("a loop");
        assert!(cpu_of_children().expect("own times") > before);
    }

    #[test]
    fn each_rust_program_has_a_file_to_change() {
        for source in std::iter::once(RIPGREP.source).chain(FIRST_BUILDS) {
            let has_file = CHANGED_FILES.iter().any(|(name, _)| *name == source.name());
            assert_eq!(has_file, matches!(source, Source::Rust(_)), "{source:?}");
        }
    }

    #[test]
    fn a_program_without_second_builds_has_one_row() {
        let seconds = |wall, cpu| {
            let mut seconds = Seconds::default();
            seconds.wall.push(wall);
            seconds.cpu.push(cpu);
            seconds
        };
        let times = |wall, cpu| Times {
            first: seconds(wall, cpu),
            second: Seconds::default(),
        };
        let builds = Builds {
            programs: vec![ProgramBuilds {
                program: "sqlite",
                plain: times(2.0, 4.0),
                woven: times(3.0, 5.0),
            }],
        };
        let row = "| sqlite | first | 2.0 | 3.0 | **1.50×** | 4.0 | 5.0 | **1.25×** |\n";
        assert!(builds.table().ends_with(row), "{}", builds.table());
        assert_eq!(builds.table().lines().count(), 3);
    }
}
