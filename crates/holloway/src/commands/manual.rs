//! `holloway completions SHELL` and `holloway man [DIR]`: completion scripts and man pages, made
//! from the types that also parse the command line.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};

use crate::cli::{CargoHolloway, CompletionsArgs, Holloway, ManArgs};
use crate::failure::{Context, Failure, Result};
use crate::status;

/// Prints a completion script. There is no script for `cargo holloway`, because it would
/// have to be part of cargo's completions.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut Holloway::command(),
        "holloway",
        &mut script,
    );
    write_out(&script)
}

/// Prints holloway's page, or writes a page for each command.
///
/// # Errors
/// If stdout or the directory cannot be written.
pub(crate) fn man(args: &ManArgs) -> Result<ExitCode> {
    let Some(directory) = &args.directory else {
        return write_out(&page(Holloway::command())?);
    };
    std::fs::create_dir_all(directory).cannot(|| format!("create {}", directory.display()))?;
    for (root, name) in [
        (Holloway::command(), "holloway"),
        (CargoHolloway::command(), "cargo-holloway"),
    ] {
        write_pages(root, name, directory)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for a command and for each of its subcommands: `holloway.1`, `holloway-run.1`, …
fn write_pages(command: Command, name: &str, directory: &Path) -> Result<()> {
    let command = command.name(name.to_owned()).disable_help_subcommand(true);
    for subcommand in command.get_subcommands() {
        let full = format!("{name}-{}", subcommand.get_name());
        write_pages(subcommand.clone(), &full, directory)?;
    }
    let file = directory.join(format!("{name}.1"));
    std::fs::write(&file, page(command)?).cannot(|| format!("write {}", file.display()))?;
    status::line("Wrote", &file.display().to_string());
    Ok(())
}

fn page(command: Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::new(format_args!("cannot make the man page: {error}")))?;
    Ok(page)
}

/// Writes to stdout. A closed pipe is no error.
fn write_out(bytes: &[u8]) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format_args!(
            "cannot write to stdout: {error}"
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}
