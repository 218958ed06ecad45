//! The command line of Holloway. It is the only crate that prints.
//!
//! One executable has several names. The name by which a user or a tool calls it decides what
//! [`main`] does.
//!
//! | called as | by | action |
//! |---|---|---|
//! | `holloway` | the user | runs a command of `commands/` |
//! | `cargo-holloway` | `cargo holloway` | calls cargo with probes: `commands/cargo.rs` |
//! | `holloway-rustc` | cargo, by `RUSTC_WRAPPER` | adds options to rustc: `holloway_link::rustc` |
//! | `holloway-cc` | rustc, by `-Clinker` | weaves and links: `holloway_link::step` |
//! | `holloway-ld` | clang, by `--ld-path` | weaves and links a raw ld line |
//! | `holloway-runner` | cargo, as the runner of a target | measures a program: `commands/runner.rs` |
//! | `holloway-clang`, `holloway-clang++` | build systems | calls clang as `holloway cc` does |
//!
//! `holloway-cc` is a linker, and the command `holloway cc` is a compiler. rustc derives the flavor
//! of its linker from the file name, so this name makes rustc pass the options of a C compiler.
//!
//! The options of all commands are data in `cli/`. Each command is a file in `commands/`. Exit
//! codes are in `failure.rs`.

mod cli;
mod commands;
mod failure;
mod guide;
mod kinds;
mod latest;
mod link_host;
mod loading;
mod missing_profile;
mod notices;
mod output_file;
mod pager;
mod printing;
mod profile_directory;
mod progress;
mod project;
mod screen;
mod shell;
mod split;
mod status;
mod test_log;
mod tui;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use holloway_link::cc::{self, Language};
use holloway_link::{rustc, step, tools, worker};

use cli::{CargoCommand, CargoHolloway, Command, Holloway, PagerArgs, RunsCommand};
use commands::cargo::{self, Verb};
use commands::{
    advise, annotate, cargo_optimize, check, clean, coverage, demo, diff, doctor, export, graph,
    import, manager, manual, merge, monitor, optimize, overlap, phases, plan, predict, report, run,
    runner, show_env, stability, suite, trace,
};
use failure::{Failure, Result};
use link_host::{LinkHost, link};

/// Runs the command line, which begins with the name by which the program was called.
pub fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let name = argv
        .first()
        .and_then(|name| Path::new(name).file_stem())
        .unwrap_or_default();
    let args = argv.get(1..).unwrap_or_default();
    let result = match name.to_str() {
        Some(tools::RUSTC) => wrap_rustc(&argv),
        Some(tools::RUST_LINKER) => link(step::rust_linker, args),
        Some(tools::LD) => link(step::ld, args),
        Some(tools::RUNNER) => runner::main(args),
        Some(tools::CLANG) => compile(Language::C, args),
        Some(tools::CLANGXX) => compile(Language::Cxx, args),
        // `holloway` and `cargo-holloway` both call themselves as workers.
        _ if args.first().is_some_and(|word| word == worker::COMMAND) => {
            holloway_allocator::switch();
            Ok(worker::run(args[1..].to_vec()))
        }
        _ if args
            .first()
            .is_some_and(|word| word == monitor::BEGIN_COMMAND) =>
        {
            monitor::begin(&args[1..])
        }
        Some("cargo-holloway") => cargo_holloway(args),
        _ => holloway(args),
    };
    result.unwrap_or_else(|failure| {
        use std::io::Write as _;
        // Stderr may be closed. The exit code still reports the failure.
        writeln!(std::io::stderr(), "holloway: {failure}").ok();
        ExitCode::from(failure.code)
    })
}

/// Replaces this process by rustc.
fn wrap_rustc(argv: &[OsString]) -> Result<ExitCode> {
    match rustc::wrap(argv).map_err(Failure::from)? {}
}

/// Replaces this process by clang.
fn compile(language: Language, args: &[OsString]) -> Result<ExitCode> {
    match cc::cc(language, args.to_vec(), &LinkHost::default()).map_err(Failure::from)? {}
}

/// `holloway …`. Clap does not read the command lines of compilers and linkers.
fn holloway(args: &[OsString]) -> Result<ExitCode> {
    let first = args
        .first()
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    let arguments = args.get(1..).unwrap_or_default();
    match first {
        // Show holloway's options: clang's list is a thousand lines long.
        "cc" | "c++" if arguments == ["--help"] => {
            Holloway::parse_from(["holloway", "help", first]);
        }
        "cc" => return compile(Language::C, arguments),
        "c++" => return compile(Language::Cxx, arguments),
        "ld" => return link(step::ld, arguments),
        // The crate `cc` runs the first word of CC="holloway cc" to learn which compiler it is:
        // `holloway -E FILE`.
        "-E" => return compile(Language::C, args),
        _ => {}
    }
    let Holloway { command, pager } = Holloway::parse();
    match command {
        Command::Run(args) => run::main(&args),
        Command::Monitor(args) => monitor::main(&args),
        Command::Import(args) => import::main(&args),
        Command::Manager(args) => manager::main(&args),
        Command::Optimize(args) => optimize::main(&args),
        Command::Plan(args) => plan::main(&args),
        Command::Runs(command) => about_runs(&command, &pager),
        Command::Demo(args) => demo::main(&args),
        Command::Cc(_) | Command::Cxx(_) | Command::Ld(_) => {
            unreachable!("handled above, before clap")
        }
        Command::Doctor => doctor::main(),
        Command::ShowEnv(args) => show_env::main(&args),
        Command::Clean(args) => clean::main(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}

/// The commands that answer questions about recorded runs.
fn about_runs(command: &RunsCommand, pager: &PagerArgs) -> Result<ExitCode> {
    match pager.no_pager || !command.is_for_people() {
        true => answer(command),
        false => pager::paged(|| answer(command)),
    }
}

fn answer(command: &RunsCommand) -> Result<ExitCode> {
    match command {
        RunsCommand::Report(args) => report::main(args),
        RunsCommand::Annotate(args) => annotate::main(args),
        RunsCommand::Graph(args) => graph::main(args),
        RunsCommand::Tui(args) => commands::tui::main(args),
        RunsCommand::Export(args) => export::main(args),
        RunsCommand::Advise(args) => advise::main(args),
        RunsCommand::Diff(args) => diff::main(args),
        RunsCommand::Merge(args) => merge::main(args),
        RunsCommand::Coverage(args) => coverage::main(args),
        RunsCommand::Overlap(args) => overlap::main(args),
        RunsCommand::Suite(args) => suite::main(args),
        RunsCommand::Check(args) => check::main(args),
        RunsCommand::Stability(args) => stability::main(args),
        RunsCommand::Trace(args) => trace::main(args),
        RunsCommand::Phases(args) => phases::main(args),
        RunsCommand::Predict(args) => predict::main(args),
    }
}

/// `cargo holloway …`: cargo calls `cargo-holloway holloway …`.
fn cargo_holloway(args: &[OsString]) -> Result<ExitCode> {
    let args = match args.first() {
        Some(first) if first == "holloway" => &args[1..],
        _ => args,
    };
    if let Some((first, rest)) = args.split_first()
        && let Some(verb) = first.to_str().and_then(Verb::parse)
    {
        return cargo::main(verb, rest);
    }
    if let Some((first, rest)) = args.split_first()
        && first == cargo_optimize::NAME
    {
        return cargo_optimize::main(rest);
    }
    let words = std::iter::once(OsString::from("cargo-holloway")).chain(args.iter().cloned());
    let CargoHolloway { command, pager } = CargoHolloway::parse_from(words);
    match command {
        CargoCommand::Runs(command) => about_runs(&command, &pager),
        CargoCommand::Doctor => doctor::main(),
        CargoCommand::Clean(args) => clean::main(&args),
        CargoCommand::Build(_)
        | CargoCommand::Run(_)
        | CargoCommand::Test(_)
        | CargoCommand::Bench(_)
        | CargoCommand::Optimize(_) => {
            unreachable!("handled above, before clap")
        }
    }
}
