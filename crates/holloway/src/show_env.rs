//! `holloway show-env`: what another build system sets to weave, and the settings in force with where they come from.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use holloway_abi::BURST_VARIABLE;
use holloway_collect::burst::Burst;
use holloway_collect::run_directory::{DATA, DEFAULT_RUNS};
use holloway_link::collect_options::{COLLECT, CollectOptions, EXITS, GUIDE};
use holloway_link::toolchain::Rustc;
use holloway_link::tools::{CLANG, CLANGXX, RUSTC, tools_dir};

use crate::args::{EnvFormat, ShowEnvArgs};
use crate::clean::shared_cache;
use crate::failure::{Context, Result};

/// A variable, or a setting that has no value.
struct Setting {
    name: &'static str,
    value: Option<String>,
    from: String,
}

/// Prints.
///
/// # Errors
/// The directory of tool names cannot be made, or a variable makes no sense.
pub(crate) fn main(args: &ShowEnvArgs) -> Result<ExitCode> {
    let settings = settings()?;
    let text = match args.format {
        EnvFormat::Shell => shell(&settings),
        EnvFormat::Json => json(&settings),
    };
    // A reader that goes away early is no error.
    write!(std::io::stdout(), "{text}").ok();
    Ok(ExitCode::SUCCESS)
}

fn settings() -> Result<Vec<Setting>> {
    let exe = std::env::current_exe().cannot(|| "find holloway's own executable".to_owned())?;
    let tools = tools_dir()?;
    let tool = |name: &str| tools.join(name).display().to_string();
    let mut settings = vec![
        given("CC", format!("{} cc", exe.display()), "this holloway"),
        given("CXX", format!("{} c++", exe.display()), "this holloway"),
        given(
            "RUSTC_WRAPPER",
            tool(RUSTC),
            "this holloway; weaves what cargo builds with --target",
        ),
        given("HOLLOWAY_CC", tool(CLANG), "CC as one word"),
        given("HOLLOWAY_CXX", tool(CLANGXX), "CXX as one word"),
    ];
    settings.push(environment_or(
        "HOLLOWAY_SYSROOT",
        Rustc::find().map(|rustc| rustc.sysroot),
        "rustc --print sysroot",
    ));
    settings.push(environment_or("HOLLOWAY_CACHE", shared_cache(), "default"));
    let options = CollectOptions::default().or_environment()?;
    Burst::check_environment()?;
    settings.push(environment_or(
        COLLECT,
        Some(options.collection().to_string().into()),
        "default",
    ));
    for (name, unset) in UNSET {
        settings.push(environment_or(name, None, unset));
    }
    settings.push(environment_or(
        DATA,
        None,
        &format!("runs go to {DEFAULT_RUNS}/<time>-<name>"),
    ));
    Ok(settings)
}

/// Settings without a default value: what holds while they are not set.
const UNSET: [(&str, &str); 12] = [
    (
        EXITS,
        "frames that are left early count with edges, not with paths",
    ),
    (GUIDE, "probes are placed by estimates"),
    (
        BURST_VARIABLE,
        "a path is timed after about every 10000 (programs that collect variation)",
    ),
    ("HOLLOWAY_STD", "the standard library is not woven"),
    ("HOLLOWAY_ONLY", "everything is woven"),
    ("HOLLOWAY_SKIP", "nothing is left out"),
    (
        "HOLLOWAY_LLVM",
        "the libLLVM of the sysroot, else the system's",
    ),
    (
        "HOLLOWAY_CLANG",
        "the newest clang-N in PATH that fits the libLLVM, else clang",
    ),
    ("HOLLOWAY_LINKER", "rustc's links go on to cc"),
    ("HOLLOWAY_LD", "clang's links go on to ld"),
    (
        "HOLLOWAY_RUNS",
        "target/holloway/runs below the program's current directory",
    ),
    (
        "HOLLOWAY_JOBS",
        "a worker for each processor, where cargo or make lets it",
    ),
];

fn given(name: &'static str, value: String, from: &str) -> Setting {
    Setting {
        name,
        value: Some(value),
        from: from.to_owned(),
    }
}

/// A variable of the environment, else its default.
fn environment_or(name: &'static str, default: Option<PathBuf>, otherwise: &str) -> Setting {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Setting {
            name,
            value: Some(value),
            from: "environment".to_owned(),
        },
        _ => Setting {
            name,
            value: default.map(|path| path.display().to_string()),
            from: otherwise.to_owned(),
        },
    }
}

fn shell(settings: &[Setting]) -> String {
    let mut text = String::new();
    for Setting { name, value, from } in settings {
        match value {
            Some(value) => text.push_str(&format!("export {name}={}  # {from}\n", quoted(value))),
            None => text.push_str(&format!("# {name} is not set: {from}\n")),
        }
    }
    text
}

/// A word for a POSIX shell, quoted if it has to be.
pub(crate) fn word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match value.chars().all(is_plain) && !value.is_empty() {
        true => value.to_owned(),
        false => quoted(value),
    }
}

/// The same, always quoted.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn json(settings: &[Setting]) -> String {
    let entries = settings.iter().map(|setting| {
        let entry = serde_json::json!({ "value": setting.value, "from": setting.from });
        (setting.name.to_owned(), entry)
    });
    format!("{:#}\n", serde_json::Value::Object(entries.collect()))
}
