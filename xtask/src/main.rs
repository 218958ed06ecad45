//! Set-up, tests and benches of the project: `cargo xtask help` lists them.
#![forbid(unsafe_code)]

mod bench;
mod packages;
mod test;

use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test [--skip-install] [-- CARGO TEST ARGUMENTS]
      installs the Debian packages the tests need, builds holloway, runs every test
  bench [--quick] [--only NAME]...
      the five real programs native, woven and with the compilers' own counters, and the time that weaving takes;
      writes target/bench/latest.json, and docs/benchmarks.md when all of it was run in full
  packages
      prints the Debian packages that the tests need
  help
      prints this
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.split_first() {
        None | Some((&"help" | &"--help" | &"-h", _)) => print!("{HELP}"),
        Some((&"test", rest)) => {
            let (own, cargos) = match rest.iter().position(|w| *w == "--") {
                Some(at) => (&rest[..at], &rest[at + 1..]),
                None => (rest, &[][..]),
            };
            let install = match own {
                [] => true,
                ["--skip-install"] => false,
                _ => bail!(
                    "unknown option {:?}: `cargo xtask help` lists what there is",
                    own.join(" ")
                ),
            };
            test::run(install, cargos)?;
        }
        Some((&"bench", rest)) => bench::run(&bench::Options::parse(rest)?)?,
        Some((&"packages", [])) => println!("{}", packages::NEEDED.join("\n")),
        Some((other, _)) => {
            bail!("unknown command {other:?}: `cargo xtask help` lists what there is")
        }
    }
    Ok(())
}

/// The workspace's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}
