//! The command line of Holloway. It is the only crate that prints.
//!
//! One executable under several names: [`main`] looks at the name it was called by.
//!
//! | called as | by | is |
//! |---|---|---|
//! | `holloway` | the user | the commands of `args.rs` |
//! | `cargo-holloway` | `cargo holloway` | cargo's verbs, woven: `cargo_verb.rs` |
//! | `holloway-rustc` | cargo (`RUSTC_WRAPPER`) | appends our options to rustc's: `rustc.rs` |
//! | `holloway-cc` | rustc (`-Clinker`) | the link step that weaves: `link/` |
//! | `holloway-ld` | clang (`--ld-path`) | the same for a raw ld line |
//! | `holloway-clang`, `holloway-clang++` | build systems | `holloway cc`, `holloway c++` as one word: `cc.rs` |
//!
//! A command is a file; exit codes are in `failure.rs`.

mod args;
mod cargo_verb;
mod cc;
mod clang;
mod clean;
mod demo;
mod doctor;
mod failure;
mod guide;
mod kinds;
mod latest;
mod link;
mod linked;
mod loading;
mod manual;
mod missing_profile;
mod notices;
mod overlap;
mod project;
mod report;
mod run;
mod rustc;
mod settings;
mod show_env;
mod split;
mod stability;
mod status;
mod toolchain;
mod trace;
mod wanted;
mod worker;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use args::{CargoCommand, CargoHolloway, Command, Holloway};
use cargo_verb::Verb;
use failure::Result;

/// Does what the command line says; the name the program is called by is part of it.
pub fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let name = argv
        .first()
        .and_then(|name| Path::new(name).file_stem())
        .unwrap_or_default();
    let rest = argv.get(1..).unwrap_or_default();
    let result = match name.to_str() {
        Some(link::RUSTC) => rustc::wrap(&argv),
        Some(link::RUST_LINKER) => link_and_store(rest, link::rust_linker),
        Some(link::LD) => link_and_store(rest, link::ld),
        Some(link::CLANG) => cc::cc(cc::Language::C, rest.to_vec()),
        Some(link::CLANGXX) => cc::cc(cc::Language::Cxx, rest.to_vec()),
        // Both programs are their own worker.
        _ if rest.first().is_some_and(|word| word == worker::COMMAND) => {
            Ok(worker::run(rest[1..].to_vec()))
        }
        Some("cargo-holloway") => cargo_holloway(rest),
        _ => holloway(rest),
    };
    result.unwrap_or_else(|failure| {
        use std::io::Write as _;
        // Stderr may be closed; the exit code still says it.
        writeln!(std::io::stderr(), "holloway: {failure}").ok();
        ExitCode::from(failure.code)
    })
}

fn link_and_store(
    args: &[OsString],
    link: impl FnOnce(Vec<OsString>) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let code = link(args.to_vec())?;
    if code == ExitCode::SUCCESS {
        linked::store_map(args);
    }
    Ok(code)
}

/// `holloway …`. What belongs to a compiler is not for clap to read.
fn holloway(args: &[OsString]) -> Result<ExitCode> {
    let first = args
        .first()
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    let rest = args.get(1..).unwrap_or_default();
    match first {
        // Who asks like this wants to know what is ours: clang's list is a thousand lines long.
        "cc" | "c++" if rest == ["--help"] => {
            Holloway::parse_from(["holloway", "help", first]);
        }
        "cc" => return cc::cc(cc::Language::C, rest.to_vec()),
        "c++" => return cc::cc(cc::Language::Cxx, rest.to_vec()),
        "ld" => return link_and_store(rest, link::ld),
        // The crate cc asks the first word of CC="holloway cc" what compiler it is: `holloway -E FILE`.
        "-E" => return cc::cc(cc::Language::C, args.to_vec()),
        _ => {}
    }
    match Holloway::parse().command {
        Command::Run(args) => run::main(&args),
        Command::Report(args) => report::main(&args),
        Command::Overlap(args) => overlap::main(&args),
        Command::Stability(args) => stability::main(&args),
        Command::Trace(args) => trace::main(&args),
        Command::Demo(args) => demo::main(&args),
        Command::Cc(_) | Command::Cxx(_) | Command::Ld(_) => {
            unreachable!("taken above, before clap")
        }
        Command::Doctor => doctor::main(),
        Command::ShowEnv(args) => show_env::main(&args),
        Command::Clean(args) => clean::main(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
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
        return cargo_verb::main(verb, rest);
    }
    let words = std::iter::once(OsString::from("cargo-holloway")).chain(args.iter().cloned());
    match CargoHolloway::parse_from(words).command {
        CargoCommand::Report(args) => report::main(&args),
        CargoCommand::Overlap(args) => overlap::main(&args),
        CargoCommand::Stability(args) => stability::main(&args),
        CargoCommand::Trace(args) => trace::main(&args),
        CargoCommand::Doctor => doctor::main(),
        CargoCommand::Clean(args) => clean::main(&args),
        CargoCommand::Build(_)
        | CargoCommand::Run(_)
        | CargoCommand::Test(_)
        | CargoCommand::Bench(_) => {
            unreachable!("taken above, before clap")
        }
    }
}
