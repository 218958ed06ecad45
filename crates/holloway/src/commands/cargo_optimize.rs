//! `cargo holloway optimize [CARGO OPTIONS] -- ARGS`: builds a program that carries its bitcode,
//! and optimizes it as `holloway optimize` does.
//!
//! The build has a directory of its own below holloway's, because its crates are compiled with
//! other options than those of `cargo holloway run`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser as _;
use holloway_collect::child;
use holloway_link::build_settings::{self, BuildSettings};
use holloway_link::collect_options::CollectOptions;

use crate::cli::optimize::CargoOptimizeArgs;
use crate::cli::{CargoCommand, CargoHolloway};
use crate::commands::cargo::{Verb, check_tools, executables, set_environment, without_target_dir};
use crate::commands::optimize::optimize;
use crate::failure::{Context, Failure, Result};
use crate::profile_directory::{DEBUG, profile_directories};
use crate::project::Project;
use crate::split::{Positional, Split, split};
use crate::status;

/// The name of the command.
pub(crate) const NAME: &str = "optimize";
/// The build directory, below holloway's.
const BUILD: &str = "embed";
/// The directory of optimized programs, below holloway's.
const OPTIMIZED: &str = "optimized";

/// Runs `cargo holloway optimize ARGS`.
///
/// # Errors
/// If there is no project, cargo cannot build one program, or optimizing fails.
pub(crate) fn main(args: &[OsString]) -> Result<ExitCode> {
    let split = split::<CargoOptimizeArgs>(args, Positional::Program);
    let words = ["cargo-holloway", NAME].map(OsString::from);
    let parsed = CargoHolloway::parse_from(words.iter().chain(&split.holloway));
    let CargoCommand::Optimize(args) = parsed.command else {
        unreachable!("the words begin with the name of the command")
    };
    let mut project = Project::find(&split.cargo)?;
    let optimized = project.home.join(OPTIMIZED);
    project.home.push(BUILD);
    project.build.clone_from(&project.home);
    let name = project.run_name(&split.cargo, "run");
    let program = build(&project, &split, &name)?;
    if args.no_run {
        let shown = status::shown(&program);
        status::line("Built", &shown.to_string());
        status::line("Next", &format!("holloway optimize -o OUT {shown} -- ARGS"));
        return Ok(ExitCode::SUCCESS);
    }
    let output = match args.output {
        Some(output) => output,
        None => {
            std::fs::create_dir_all(&optimized)
                .cannot(|| format!("create {}", optimized.display()))?;
            optimized.join(program.file_name().unwrap_or(name.as_ref()))
        }
    };
    optimize(&program, &split.program, &output, &args.options)
}

/// Builds the program that `cargo run` would run, with its bitcode.
fn build(project: &Project, split: &Split, name: &str) -> Result<PathBuf> {
    let targets = project.chosen_targets(&split.cargo)?;
    check_tools(project)?;
    let settings = BuildSettings {
        options: CollectOptions {
            embed: true,
            ..CollectOptions::default()
        },
        ..BuildSettings::default()
    };
    for directory in
        profile_directories(&project.home, &targets, &project.host, DEBUG, &split.cargo)
    {
        build_settings::apply(&directory, &settings)?;
    }
    let mut command = Command::new(&project.cargo);
    command
        .arg("build")
        .args(without_target_dir(&split.cargo))
        .arg("--target-dir")
        .arg(&project.home)
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped());
    if targets.is_empty() {
        command.args(["--target", &project.host]);
    }
    let target = targets
        .first()
        .map_or(project.host.as_str(), String::as_str);
    set_environment(&mut command, project, &settings, target, Verb::Build)?;
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::cannot_run(&project.cargo, &error))?;
    if !output.status.success() {
        let code = child::exit_code(output.status);
        return Err(Failure::with_code(
            code,
            "cargo could not build the program",
        ));
    }
    choose(&executables(&output.stdout), name)
}

/// Chooses the program with this name, or the only one.
fn choose(programs: &[PathBuf], name: &str) -> Result<PathBuf> {
    let is_named = |program: &&PathBuf| program.file_stem() == Some(Path::new(name).as_os_str());
    match programs {
        [] => Err(Failure::new(
            "cargo built no program: choose one with --bin or --example",
        )),
        [program] => Ok(program.clone()),
        _ => programs.iter().find(is_named).cloned().ok_or_else(|| {
            Failure::usage("cargo built several programs: choose one with --bin or --example")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{PathBuf, choose};

    #[test]
    fn the_named_or_only_program_is_chosen() {
        let check = |programs: &[&str], expect: Option<&str>| {
            let programs: Vec<PathBuf> = programs.iter().map(Into::into).collect();
            let chosen = choose(&programs, "app").ok();
            assert_eq!(chosen, expect.map(Into::into));
        };
        check(&["x/other"], Some("x/other"));
        check(&["x/other", "x/app"], Some("x/app"));
        check(&["x/other", "x/another"], None);
        check(&[], None);
    }
}
