//! `cargo xtask study store`: the size of a manager's store relative to the code of the programs,
//! beside table 6 of Zhang et al. (1997).
//!
//! Each program runs once while `holloway monitor --system` samples it. `holloway manager` adds the
//! run to a store of its own. Nothing is timed, so the machine may be busy.

use crate::bench::KeptBuilds;
use crate::monitor::Monitor;
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result};
use holloway_collect::files::map_name;
use holloway_format::peek_map;
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use object::{Object as _, ObjectSection as _};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::Path;

/// Samples per second.
const FREQUENCY: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// The text before the table.
const HEAD: &str = "\
# The size of a store of profiles

Written by `cargo xtask study store`. Each program of the suite ran once, with 1,024 samples per
second, and [`holloway manager`](../monitor.md) added the run to a store. *Profile* is the record
of the program in the store: the CPU time of each block, and no addresses. *Path map* is the
compressed map, which says what the blocks are. Shares are of the bytes of machine code. The
database itself has a fixed size in addition. Lower is better.

The long-term store of Morph took 29 to 84 % of the size of text (Zhang et al. 1997, table 6).
Morph knew the blocks from the program's intermediate form, which was kept in addition.
";

/// The options of `cargo xtask study store`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Write the page although programs are left out
    #[arg(long)]
    write: bool,
}

/// The sizes of a program's profile, in bytes.
struct Sizes {
    name: &'static str,
    code: u64,
    samples: u64,
    profile: u64,
    map: u64,
    database: u64,
}

/// Runs the study, prints it, and writes the page if the whole suite ran.
///
/// # Errors
/// If a build or a run fails, or if the machine does not permit sampling.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let chosen = suite::chosen(&options.only);
    kept_builds.build(chosen.iter().copied(), &[Flavor::None], Scale::Full)?;
    let mut programs = Vec::new();
    for workload in chosen {
        programs.push(measure(&kept_builds, workload).with_context(|| workload.name)?);
    }
    let table = table(&programs);
    println!("{table}");
    if options.only.is_empty() || options.write {
        let page = root().join("docs/studies/store.md");
        let coverage = suite::coverage(&options.only);
        std::fs::write(&page, format!("{HEAD}\n{coverage}\n\n{table}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/store.md");
    }
    Ok(())
}

fn measure(kept_builds: &KeptBuilds, workload: &'static Workload) -> Result<Sizes> {
    let input = kept_builds.input(workload, Scale::Full)?;
    let executable = kept_builds.executable(workload.source, Flavor::None);
    let scratch = scratch("study-store")?;
    let (run, store) = (scratch.path().join("run"), scratch.path().join("store"));
    let monitor = Monitor::start(&run, Some(FREQUENCY))?;
    workload.run(&executable, &input, Scale::Full, None)?;
    monitor.stop()?;
    let mut manager = holloway_command(["manager", "--format", "json", "--store"]);
    let output = run_ok(manager.arg(&store).arg(&run))?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let programs = document["programs"].as_array().context("no programs")?;
    let is_own = |program: &&Value| {
        let path = program["path"].as_str().unwrap_or_default();
        Path::new(path) == executable
    };
    let program = programs.iter().find(is_own).context("not in the store")?;
    let number = |name: &str| program[name].as_u64().with_context(|| format!("no {name}"));
    let mut sizes = Sizes {
        name: workload.name,
        code: number("code_bytes")?,
        samples: number("samples")?,
        profile: number("stored_bytes")?,
        map: 0,
        database: 0,
    };
    for file in std::fs::read_dir(&store)? {
        let file = file?;
        let bytes = file.metadata()?.len();
        if file
            .path()
            .extension()
            .is_some_and(|extension| extension == "redb")
        {
            sizes.database = bytes;
        }
    }
    // Other woven programs may have run on the machine.
    let bytes = std::fs::read(&executable)?;
    let file = object::File::parse(&*bytes)?;
    let section = file.section_by_name(holloway_abi::MAP_SECTION);
    let build_id = peek_map(section.context("no path map")?.data()?)?;
    sizes.map = store.join(map_name(&build_id)).metadata()?.len();
    Ok(sizes)
}

fn table(programs: &[Sizes]) -> String {
    let mut text = "\
| program | code (KiB) | samples | profile (KiB) | of code | path map (KiB) | of code | both, of code |
|---|--:|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    let kib = |bytes: u64| format!("{:.1}", bytes as f64 / 1024.0);
    let row = |name: &str, code: u64, samples: u64, profile: u64, map: u64| {
        let share = |bytes: u64| format!("{:.1} %", 100.0 * bytes as f64 / code as f64);
        format!(
            "| {name} | {} | {samples} | {} | {} | {} | {} | {} |\n",
            kib(code),
            kib(profile),
            share(profile),
            kib(map),
            share(map),
            share(profile + map)
        )
    };
    for sizes in programs {
        text += &row(
            sizes.name,
            sizes.code,
            sizes.samples,
            sizes.profile,
            sizes.map,
        );
    }
    let sum = |figure: fn(&Sizes) -> u64| programs.iter().map(figure).sum::<u64>();
    text += &row(
        "**all**",
        sum(|sizes| sizes.code),
        sum(|sizes| sizes.samples),
        sum(|sizes| sizes.profile),
        sum(|sizes| sizes.map),
    );
    let database = programs
        .iter()
        .map(|sizes| sizes.database)
        .max()
        .unwrap_or(0);
    text + &format!("\nThe database of one program: {} KiB.\n", kib(database))
}
