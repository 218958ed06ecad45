//! `holloway demo`: builds, profiles, and reports a small bundled Rust program, as
//! `cargo holloway run --release` would.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_collect::settings::MapDirectories;
use holloway_collect::{child, run_directory};

use crate::cli::{CargoArgs, DemoArgs, OutputArgs, OutputFormat, StreamArgs, WeaveArgs};
use crate::commands::cargo::{CargoCall, Verb};
use crate::commands::report;
use crate::failure::{Context, Failure, Result};
use crate::split::Split;
use crate::{loading, status};

/// The demo's manifest. It declares a workspace, so the demo's directory may be inside another
/// workspace. Its debug information has types, so that reports can name the cases of a `match`.
const MANIFEST: &str = "\
[package]
name = \"holloway-demo\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

[workspace]

[profile.release]
debug = true
";

/// The default number of paths to show. They fill a screen or two.
const DEFAULT_TOP: usize = 5;

/// Files of the demo's `src`.
const SOURCES: [(&str, &str); 6] = [
    ("main.rs", include_str!("../../demo/main.rs")),
    ("program.txt", include_str!("../../demo/program.txt")),
    ("tokens.rs", include_str!("../../demo/tokens.rs")),
    ("compiler.rs", include_str!("../../demo/compiler.rs")),
    ("machine.rs", include_str!("../../demo/machine.rs")),
    ("words.rs", include_str!("../../demo/words.rs")),
];

/// Builds, runs and reports the demo.
///
/// # Errors
/// If the demo's directory cannot be written, or the demo cannot be built (cargo prints the reason)
/// or run.
pub(crate) fn main(args: &DemoArgs) -> Result<ExitCode> {
    let directory = DemoDirectory::choose(args.keep.as_deref())?;
    let project = crate::project::absolute(directory.path())?;
    unpack(&project)?;
    let target = project.join("target");
    let home = target.join(crate::project::HOLLOWAY_DIRECTORY);
    let holloway_args = CargoArgs {
        weave: WeaveArgs {
            count: args.count.clone(),
            ..WeaveArgs::default()
        },
        per_test: false,
        stream: StreamArgs::default(),
        output: OutputArgs::default(),
        view: args.view.clone(),
    };
    let options = ["--release", "--manifest-path"].map(OsString::from);
    let mut cargo: Vec<OsString> = options.into();
    cargo.push(project.join("Cargo.toml").into());
    cargo.push("--target-dir".into());
    cargo.push(target.into());
    let call = CargoCall::plan(
        Verb::Run,
        Split {
            cargo,
            ..Split::default()
        },
        &holloway_args,
    )?;
    let run = run_directory::create_in(&home.join(run_directory::RUNS), "demo")?;
    let status = call.record_into(&run)?;
    if !status.success() {
        return Err(Failure::with_code(
            child::exit_code(status),
            "cannot show the demo: it was not built or did not run (see above); `holloway doctor` says what is missing",
        ));
    }
    loading::finish(&run, &MapDirectories::default())?;
    let mut view = args.view.clone();
    view.list.top = view.list.top.or(Some(DEFAULT_TOP));
    report::print_below(&run, &view, Some(project))?;
    if let DemoDirectory::Kept(kept) = &directory {
        status::line(
            "Kept",
            &format!(
                "{}; the run is {}",
                status::shown(kept),
                status::shown(&run)
            ),
        );
    }
    if view.list.style.format == OutputFormat::Text {
        suggest();
    }
    Ok(ExitCode::SUCCESS)
}

/// What to try after the demo: a question, and the command that answers it.
const SUGGESTIONS: [(&str, &str); 6] = [
    (
        "the hot paths of your own cargo project",
        "cargo holloway run --release -- ARGS",
    ),
    (
        "the hot paths of a C program",
        "holloway cc -O2 a.c -o app && holloway run -- ./app",
    ),
    (
        "code that your tests never ran",
        "cargo holloway test --uncovered",
    ),
    (
        "the demo by function",
        "holloway demo --view functions --top 10",
    ),
    (
        "what the demo's loops do from iteration to iteration",
        "holloway demo --collect loops",
    ),
    (
        "code of the demo that is slow only sometimes",
        "holloway demo --collect variation",
    ),
];

/// Prints the suggestions.
fn suggest() {
    status::line("Next", "try one of these:");
    for (question, command) in SUGGESTIONS {
        status::line("", &format!("{question}:"));
        status::line("", &format!("    {command}"));
    }
}

/// The demo's directory.
enum DemoDirectory {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl DemoDirectory {
    fn choose(keep: Option<&Path>) -> Result<Self> {
        match keep {
            Some(directory) => Ok(Self::Kept(directory.to_owned())),
            None => {
                let temporary = tempfile::Builder::new().prefix("holloway-demo-").tempdir();
                temporary.map(Self::Temporary).cannot(|| {
                    "make a temporary directory for the demo; give one with --keep DIR".to_owned()
                })
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(directory) => directory,
            Self::Temporary(directory) => directory.path(),
        }
    }
}

/// Writes the demo's files. A directory that holds another project is left alone.
fn unpack(project: &Path) -> Result<()> {
    let manifest = project.join("Cargo.toml");
    if std::fs::read_to_string(&manifest).is_ok_and(|text| text != MANIFEST) {
        return Err(Failure::new(format_args!(
            "cannot put the demo into {}: another project is there; choose another directory",
            project.display()
        )));
    }
    let source = project.join("src");
    std::fs::create_dir_all(&source).cannot(|| format!("create {}", source.display()))?;
    let files = SOURCES
        .iter()
        .map(|&(name, text)| (source.join(name), text));
    for (file, text) in files.chain([(manifest, MANIFEST)]) {
        std::fs::write(&file, text).cannot(|| format!("write {}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::SUGGESTIONS;
    use crate::cli::{CargoHolloway, Holloway};

    #[test]
    fn suggested_commands_are_valid() {
        for (_, line) in SUGGESTIONS {
            for command in line.split(" && ") {
                let words: Vec<&str> = command.split(' ').collect();
                let error = match words[0] {
                    "cargo" => CargoHolloway::try_parse_from(
                        // Options of cargo are separated from holloway's before clap sees them.
                        ["cargo-holloway"]
                            .into_iter()
                            .chain(words[2..].iter().copied())
                            .take_while(|word| *word != "--")
                            .filter(|word| *word != "--release"),
                    )
                    .err(),
                    _ => Holloway::try_parse_from(words).err(),
                };
                assert!(error.is_none(), "{command}: {error:?}");
            }
        }
    }
}
