//! The cost of weaving at build time: ripgrep with all its dependencies, plain and woven in turn,
//! from nothing built and nothing cached, and again after one crate changed.

use super::samples::Samples;
use anyhow::{Context, Result};
use holloway_tests::tool::{run_ok, scratch};
use holloway_tests::workload::{Flavor, RIPGREP, rust_build_command};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Seconds of builds.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// `cargo build --release`.
    pub(crate) plain: Times,
    /// `cargo holloway build --release`.
    pub(crate) woven: Times,
}

/// Seconds of one kind of build.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// From nothing.
    pub(crate) first: Samples,
    /// After a function was added to the program's own crate.
    pub(crate) second: Samples,
}

/// Rounds of builds. Each round takes two minutes on two cores.
const ROUNDS: usize = 2;

/// Measures the builds.
///
/// # Errors
/// A build fails.
pub(crate) fn measure() -> Result<Builds> {
    let scratch = scratch("bench-builds")?;
    let folder = RIPGREP.prepare(scratch.path())?;
    let mut builds = Builds::default();
    for round in 0..ROUNDS {
        for flavor in [Flavor::Native, Flavor::Paths] {
            let place = scratch.path().join(format!("{}-{round}", flavor.name()));
            let times = if flavor == Flavor::Native {
                &mut builds.plain
            } else {
                &mut builds.woven
            };
            times.first.push(build(&folder, flavor, &place)?);
            change(&folder.join("crates/core/main.rs"), round)?;
            times.second.push(build(&folder, flavor, &place)?);
            std::fs::remove_dir_all(&place)?;
        }
    }
    Ok(builds)
}

fn build(folder: &Path, flavor: Flavor, place: &Path) -> Result<f64> {
    let mut command = rust_build_command(folder, flavor, &place.join("target"));
    command.env("HOLLOWAY_CACHE", place.join("cache"));
    let start = Instant::now();
    run_ok(&mut command)?;
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("ripgrep, {}: {seconds:.1} s", flavor.name());
    Ok(seconds)
}

/// Adds a function that no linker may drop.
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
