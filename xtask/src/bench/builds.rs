//! Measures the cost of weaving at build time. ripgrep with all its dependencies is built from
//! scratch, without any cache, and again after one crate changed. The programs of [`FIRST_BUILDS`]
//! are built from scratch. Plain and woven builds take turns.

use super::samples::Samples;
use anyhow::{Context, Result};
use holloway_tests::tool::{clean, run_ok, scratch};
use holloway_tests::workload::{FIRST_BUILDS, Flavor, RIPGREP, Source, rust_build_command};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The times of plain and woven builds.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// `cargo build --release`.
    pub(crate) plain: Times,
    /// `cargo holloway build --release`.
    pub(crate) woven: Times,
    /// The other programs.
    pub(crate) others: Vec<FirstBuild>,
}

/// The times of builds of a program from scratch, in seconds.
#[derive(Debug)]
pub(crate) struct FirstBuild {
    pub(crate) program: &'static str,
    /// By cargo or clang alone.
    pub(crate) plain: Samples,
    /// By Holloway.
    pub(crate) woven: Samples,
}

/// The times of one kind of build, in seconds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// A build from scratch.
    pub(crate) first: Samples,
    /// A build after a function was added to the program's crate.
    pub(crate) second: Samples,
}

/// Rounds of builds. Each round takes two minutes on two cores.
const ROUNDS: usize = 2;

/// Measures the builds.
///
/// # Errors
/// If a build fails.
pub(crate) fn measure() -> Result<Builds> {
    let scratch = scratch("bench-builds")?;
    let folder = RIPGREP.prepare(scratch.path())?;
    let mut builds = Builds::default();
    for round in 0..ROUNDS {
        for flavor in [Flavor::Native, Flavor::Paths] {
            let target_folder = scratch.path().join(format!("{}-{round}", flavor.name()));
            let times = if flavor == Flavor::Native {
                &mut builds.plain
            } else {
                &mut builds.woven
            };
            times
                .first
                .push(build(RIPGREP.name(), &folder, flavor, &target_folder)?);
            change(&folder.join("crates/core/main.rs"), round)?;
            times
                .second
                .push(build(RIPGREP.name(), &folder, flavor, &target_folder)?);
            std::fs::remove_dir_all(&target_folder)?;
        }
    }
    for source in FIRST_BUILDS {
        builds.others.push(first_build(source)?);
    }
    Ok(builds)
}

/// Builds a program from scratch in each round, plain and woven by turns. Every build has new
/// folders for its sources, its target, and its cache.
fn first_build(source: Source) -> Result<FirstBuild> {
    let (mut plain, mut woven) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        for (flavor, samples) in [(Flavor::Native, &mut plain), (Flavor::Paths, &mut woven)] {
            let scratch = scratch("bench-first-build")?;
            let folder = source.prepare(scratch.path())?;
            samples.push(match source {
                Source::Rust(_) => {
                    fetch(&folder)?;
                    build(
                        source.name(),
                        &folder,
                        flavor,
                        &scratch.path().join("build"),
                    )?
                }
                Source::C(_) => {
                    let start = Instant::now();
                    source.build(&folder, flavor)?;
                    report(source.name(), flavor, start)
                }
            });
        }
    }
    Ok(FirstBuild {
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

fn build(program: &str, folder: &Path, flavor: Flavor, target_folder: &Path) -> Result<f64> {
    let mut command = rust_build_command(folder, flavor, &target_folder.join("target"));
    command.env("HOLLOWAY_CACHE", target_folder.join("cache"));
    let start = Instant::now();
    run_ok(&mut command)?;
    Ok(report(program, flavor, start))
}

/// Prints and returns the seconds since `start`.
fn report(program: &str, flavor: Flavor, start: Instant) -> f64 {
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{program}, {}: {seconds:.1} s", flavor.name());
    seconds
}

/// Adds an exported function, which the linker must not drop.
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
        "#[unsafe(no_mangle)]\npub extern \"C\" fn added_{round}_{id}(n: u32) -> u32 {{ if n > 7 {{ n * 3 }} else {{ n }} }}"
    )?;
    Ok(())
}
