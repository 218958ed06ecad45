//! Measures the cost of weaving at build time. ripgrep with all its dependencies is built from
//! scratch, without any cache, and again after one crate changed. Plain and woven builds take
//! turns.

use super::samples::Samples;
use anyhow::{Context, Result};
use holloway_tests::tool::{run_ok, scratch};
use holloway_tests::workload::{Flavor, RIPGREP, rust_build_command};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// The times of plain and woven builds.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// `cargo build --release`.
    pub(crate) plain: Times,
    /// `cargo holloway build --release`.
    pub(crate) woven: Times,
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
            times.first.push(build(&folder, flavor, &target_folder)?);
            change(&folder.join("crates/core/main.rs"), round)?;
            times.second.push(build(&folder, flavor, &target_folder)?);
            std::fs::remove_dir_all(&target_folder)?;
        }
    }
    Ok(builds)
}

fn build(folder: &Path, flavor: Flavor, target_folder: &Path) -> Result<f64> {
    let mut command = rust_build_command(folder, flavor, &target_folder.join("target"));
    command.env("HOLLOWAY_CACHE", target_folder.join("cache"));
    let start = Instant::now();
    run_ok(&mut command)?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("ripgrep, {}: {seconds:.1} s", flavor.name());
    Ok(seconds)
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
