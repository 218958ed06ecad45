//! `cargo xtask study builds`: how long woven builds take, beside plain ones.
//!
//! `cargo xtask bench` has the same table, but takes an hour for the rest. The ratios of CPU time
//! hold on a busy machine, too.

use crate::bench::{Builds, KeptBuilds, measure_builds};
use crate::machine;
use crate::workspace::root;
use anyhow::{Context, Result, ensure};
use std::num::NonZeroUsize;

/// The text before the table.
const HEAD: &str = "\
# Build times

Written by `cargo xtask study builds`. *first*: with all dependencies, from nothing built or cached.
*second*: again, after a function was added to the program's own crate. *plain* is `cargo build
--release`, and of SQLite `clang -O2`; *woven* is `cargo holloway build --release`, and
`holloway cc -O2`. brotli and oxipng have `lto = \"fat\"`, so their second builds weave the whole
program.

Plain and woven builds take turns. Times are medians, and ratios are medians of the rounds' ratios.
CPU time is that of all processes of a build, user and system. On a busy machine, read the ratios of
CPU time. On an idle one, the ratios of wall-clock time also show how well a build uses several
processors. Lower is better.
";

/// The options of `cargo xtask study builds`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Build only these programs, and do not write the page
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Build each program this many times
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: NonZeroUsize,
}

/// Runs the study, prints its table, and writes docs/studies/builds.md if nothing was left out.
///
/// # Errors
/// If a build fails, or no program is chosen.
pub(crate) fn run(options: &Options) -> Result<()> {
    let _kept_builds = KeptBuilds::open()?;
    let is_chosen =
        |name: &str| options.only.is_empty() || options.only.iter().any(|chosen| chosen == name);
    let builds: Builds = measure_builds(options.rounds.get(), &is_chosen)?;
    ensure!(
        !builds.programs.is_empty(),
        "no such program: there are ripgrep, brotli, oxipng, jaq, and sqlite"
    );
    let table = builds.table();
    println!("{}\n\n{table}", machine::description());
    if !options.only.is_empty() {
        return Ok(());
    }
    let page = root().join("docs/studies/builds.md");
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let machine = machine::description();
    let text = format!(
        "{HEAD}\nMeasured on {date}, on {machine}, in {} rounds.\n\n{table}",
        options.rounds
    );
    std::fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
    println!("written to docs/studies/builds.md");
    Ok(())
}
