//! `holloway-runner TRIPLE PROGRAM ARGS…`: the runner through which `cargo holloway` has cargo
//! start programs, tests, benchmarks, and doctests. It measures the CPU time of each program, so
//! that the run's CPU time does not contain the build. It then ends as the program ended.
//!
//! Cargo accepts one runner for each target. If the user has configured a runner, this one calls
//! it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use holloway_abi::environment::internal::{INNER_RUNNER, PER_TEST, USERS_RUNNER};
use holloway_collect::collector::{self, Measurement};
use holloway_collect::error::RunError;
use holloway_collect::{child, run_directory};
use holloway_link::tools::{RUNNER, tools_dir};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::commands::per_test;
use crate::failure::{Context, Failure, Result};
use crate::notices;
use crate::profile_directory::triple;
use crate::project::Project;
use crate::split::cargo_values;

/// Separates the words of [`INNER_RUNNER`].
const SEPARATOR: u8 = 0x1f;

/// Makes cargo start programs through `holloway-runner`. Returns which process then measures.
///
/// The collector measures cargo with the build if cargo would ignore the variable (`--config` names
/// a runner) or would split the runner's path at a space.
///
/// # Errors
/// If the directory of tool names cannot be made, or cargo's configuration cannot be read.
pub(crate) fn install(
    command: &mut Command,
    project: &Project,
    target: &str,
    cargo_options: &[OsString],
) -> Result<Measurement> {
    let configs = cargo_values(cargo_options, "--config", None);
    let tool = tools_dir()?.join(RUNNER);
    let path = tool
        .to_str()
        .filter(|path| !path.contains(char::is_whitespace));
    let Some(path) = path.filter(|_| !configs.iter().any(|config| may_name_runner(config))) else {
        return Ok(Measurement::Here);
    };
    let triple = triple(target);
    let inner = project
        .config
        .runner(target)
        .cannot(|| format!("read cargo's runner for {target}"))?;
    match inner {
        Some(inner) => {
            let mut words = vec![inner.path.into_os_string()];
            words.extend(inner.args);
            command.env(INNER_RUNNER, words.join(OsStr::from_bytes(&[SEPARATOR])));
        }
        None => {
            command.env_remove(INNER_RUNNER);
        }
    }
    match std::env::var_os(variable(&triple)) {
        Some(value) => command.env(USERS_RUNNER, value),
        None => command.env_remove(USERS_RUNNER),
    };
    command.env(variable(&triple), format!("{path} {triple}"));
    Ok(Measurement::InRunner)
}

/// Whether a value of `--config` may name a runner: a setting with this word, or a file.
fn may_name_runner(config: &str) -> bool {
    config.contains("runner") || !config.contains('=') || Path::new(config).is_file()
}

/// Cargo's variable for the runner of a target.
fn variable(triple: &str) -> String {
    let upper = triple.to_uppercase().replace(['-', '.'], "_");
    format!("CARGO_TARGET_{upper}_RUNNER")
}

/// Runs a program through the user's own runner, if there is one, and stores its CPU time.
///
/// # Errors
/// If the program cannot be run.
pub(crate) fn main(args: &[OsString]) -> Result<ExitCode> {
    let [triple, program @ ..] = args else {
        return Err(Failure::usage("holloway-runner is called by cargo only"));
    };
    let mut words = inner_runner();
    let program_index = words.len();
    words.extend_from_slice(program);
    if let (Some(_), Some(directory), false) = (
        std::env::var_os(PER_TEST),
        std::env::var_os(run_directory::DATA),
        program.is_empty(),
    ) {
        let prepare = |command: &mut Command| users_environment(command, triple);
        return per_test::run(&words, program_index, Path::new(&directory), &prepare);
    }
    let Some((first, rest)) = words.split_first() else {
        return Err(Failure::usage("holloway-runner is called by cargo only"));
    };
    let mut command = Command::new(first);
    command.args(rest);
    users_environment(&mut command, triple);
    let end = match std::env::var_os(run_directory::DATA) {
        Some(directory) => {
            collector::measure(&mut command, &PathBuf::from(directory), notices::warn)
        }
        None => child::run(&mut command),
    };
    let end = end.map_err(|error| match error {
        RunError::Start(error) => Failure::cannot_run(first, &error),
        RunError::Wait(_) => Failure::new(error),
    })?;
    if let Some(signal) = end.status.signal() {
        // The program has left its core dump. Another one would replace it.
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        setrlimit(Resource::Core, none).ok();
        signal_hook::low_level::emulate_default_handler(signal).ok();
    }
    Ok(ExitCode::from(child::exit_code(end.status)))
}

/// Gives a program the environment that it has without holloway. Tests may run other programs
/// through the runner that cargo's variable names.
fn users_environment(command: &mut Command, triple: &OsStr) {
    let variable = variable(&triple.to_string_lossy());
    match std::env::var_os(USERS_RUNNER) {
        Some(value) => command.env(variable, value),
        None => command.env_remove(variable),
    };
    command
        .env_remove(USERS_RUNNER)
        .env_remove(INNER_RUNNER)
        .env_remove(PER_TEST);
}

/// The words of the user's own runner. Empty if there is none.
fn inner_runner() -> Vec<OsString> {
    let Some(encoded) = std::env::var_os(INNER_RUNNER) else {
        return Vec::new();
    };
    let words = encoded.as_bytes().split(|&byte| byte == SEPARATOR);
    words
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_a_target_is_spelled_as_cargo_spells_it() {
        let check = |target: &str, expect: &str| assert_eq!(variable(&triple(target)), expect);
        check(
            "x86_64-unknown-linux-gnu",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
        );
        check("targets/my-board.json", "CARGO_TARGET_MY_BOARD_RUNNER");
    }

    #[test]
    fn settings_that_may_name_a_runner_are_recognized() {
        assert!(may_name_runner(
            "target.x86_64-unknown-linux-gnu.runner='qemu'"
        ));
        assert!(may_name_runner("ci/config.toml"));
        assert!(!may_name_runner("profile.dev.opt-level=1"));
    }
}
