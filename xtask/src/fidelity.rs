//! `cargo xtask study fidelity`: how well samples estimate the executions of blocks and edges. Each
//! way of sampling has a module, which writes a section of the page.

mod plot;
mod section;
mod time;

use crate::bench::KeptBuilds;
use crate::machine::load;
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result};

/// The text before the sections.
const HEAD: &str = "\
# How well samples estimate executions

Written by `cargo xtask study fidelity`. The tables compare estimates with the exact counts of
another run (`--collect edges`): 1 means that each block or edge has the same share in both. Blocks
are weighted by their instructions, edges by their executions.
";

/// The options of `cargo xtask study fidelity`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Write the page although programs are left out
    #[arg(long)]
    write: bool,
}

/// Runs the study, prints it, and writes the page and the plots if the whole suite ran.
///
/// # Errors
/// If a build or a run fails, or if the machine does not permit sampling.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let chosen = suite::chosen(&options.only);
    let sections = [time::study(&kept_builds, &chosen)?];
    for section in &sections {
        println!("{}", section.text);
    }
    if options.only.is_empty() || options.write {
        let studies = root().join("docs/studies");
        let write = |name: &str, text: &str| {
            let file = studies.join(name);
            std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
        };
        let coverage = format!("{} {}", suite::coverage(&options.only), load());
        let texts: Vec<&str> = sections.iter().map(|section| &*section.text).collect();
        write(
            "fidelity.md",
            &format!("{HEAD}\n{coverage}\n\n{}", texts.join("\n")),
        )?;
        for section in &sections {
            write(section.plot_name, &section.plot)?;
        }
        println!("written to docs/studies/fidelity.md");
    }
    Ok(())
}
