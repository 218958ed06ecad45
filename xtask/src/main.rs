//! Set-up, tests and benches of the project: `cargo xtask help` lists them.
#![forbid(unsafe_code)]

mod bench;
mod packages;
mod paths;
mod slides;
mod study;
mod test;
mod traces;
mod variation;

use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test [--skip-install] [-- CARGO TEST ARGUMENTS]
      installs the Debian packages and the Rust target the tests need, builds holloway, runs every test
  bench [--quick] [--only NAME,...] [--flavours NAME,...] [--with NAME,...] [--rounds N] [--build] [--json FILE]
      the suite of real programs and the tight loops: native, with paths and with edges counted (paths, edges), and with
      the compilers' own counters (peer); what weaving costs at build time; writes target/bench/latest.json, and
      docs/benchmarks.md when all of it was run in full. --quick: smaller inputs, fewer rounds.
      --flavours names what is measured beside native, --with what is measured besides: closed (paths without the frames
      that are left early), guided (probes placed by an earlier run), loops and trace (under `holloway run`: sequences over 2, 4, 8 and
      16 iterations, over 8 with the collector on the program's core; whole traces), variation and times (paths timed in bursts of 10000:1,
      1000:1 and 100:1; every path timed). --build only builds. --json: the results of
      this run, whatever was left out of it, go to FILE too.
  bench --callgrind [--only NAME,...] [--flavours NAME,...] [--json FILE]
      counts instructions under valgrind in place of time: the same on every run, whatever else the machine does; FILE gets them too
  study long-trace [--paths N]
      records a program of 10^9 paths, or of N, with --collect trace, and checks that nothing is missing: minutes
  study traces [--quick] [--only NAME,...] [--most N] [--compare N] [--forests N] [--figures N]
      stored streams of the suite under the measures of the papers on whole program paths and on k iterations, beside zstd, xz and plain
      SEQUITUR; writes docs/traces.md when the whole suite ran at its full size. --most: words kept of a program (10^8), --compare: those that the
      compressors get (20,000,000; 10^8 take hours), --forests: those that forests grow over (10^8), --figures: those that forests are converted of
      and hot subpaths looked for in (1,000,000)
  study paths [--quick] [--only NAME,...]
      the tables of the slides on efficient path profiling as far as they are counts: increments of paths and of edges, paths predicted from edges,
      paths and instructions that two inputs have in common; writes docs/studies/paths.md when the whole suite ran at its full size
  study variation
      which paths of MiniSat are slow at times, and what a prefetch by the paper's rule gives there; writes docs/studies/variation.md
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
        Some((&"study", rest)) => match rest {
            ["paths", options @ ..] => paths::run(&paths::Options::parse(options)?)?,
            ["traces", options @ ..] => traces::run(traces::Options::parse(options)?)?,
            ["variation"] => variation::run()?,
            ["long-trace", options @ ..] => study::run(options)?,
            _ => bail!("name one study: paths, traces, variation or long-trace"),
        },
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
