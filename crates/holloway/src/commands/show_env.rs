//! `holloway show-env`: prints the variables that make another build system weave, and the settings
//! in force with their origins.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use holloway_abi::environment::{self, Description, VARIABLES, compilers};
use holloway_collect::burst::Burst;
use holloway_link::collect_options::CollectOptions;
use holloway_link::toolchain::Rustc;
use holloway_link::tools::{CLANG, CLANGXX, RUSTC, tools_dir};

use crate::cli::{EnvFormat, ShowEnvArgs};
use crate::commands::clean::shared_cache;
use crate::failure::{Context, Result};
use crate::shell::quoted;

/// A variable, its value if it has one, and the origin of the value.
struct Setting {
    name: &'static str,
    value: Option<String>,
    origin: String,
}

/// Prints the variables.
///
/// # Errors
/// If the directory of tool names cannot be made, or a variable has a wrong value.
pub(crate) fn main(args: &ShowEnvArgs) -> Result<ExitCode> {
    let settings = settings()?;
    let text = match args.format {
        EnvFormat::Shell => shell(&settings),
        EnvFormat::Json => json(&settings),
    };
    // A closed pipe is no error.
    write!(std::io::stdout(), "{text}").ok();
    Ok(ExitCode::SUCCESS)
}

fn settings() -> Result<Vec<Setting>> {
    let exe = std::env::current_exe().cannot(|| "find holloway's own executable".to_owned())?;
    let tools = tools_dir()?;
    let tool = |name: &str| tools.join(name).display().to_string();
    let mut settings = vec![
        set("CC", format!("{} cc", exe.display()), "this holloway"),
        set("CXX", format!("{} c++", exe.display()), "this holloway"),
        set(
            "RUSTC_WRAPPER",
            tool(RUSTC),
            "this holloway; weaves what cargo builds with --target",
        ),
        set(compilers::CC, tool(CLANG), "CC as one word"),
        set(compilers::CXX, tool(CLANGXX), "CXX as one word"),
    ];
    let options = CollectOptions::default().or_environment()?;
    Burst::check_environment()?;
    for variable in VARIABLES {
        let computed = if variable.name == environment::SYSROOT.name {
            Rustc::find().map(|rustc| (rustc.sysroot, "rustc --print sysroot"))
        } else if variable.name == environment::CACHE.name {
            shared_cache().map(|cache| (cache, "default"))
        } else if variable.name == environment::COLLECT.name {
            Some((options.collection().to_string().into(), "default"))
        } else {
            None
        };
        settings.push(in_force(variable, computed));
    }
    Ok(settings)
}

fn set(name: &'static str, value: String, origin: &str) -> Setting {
    Setting {
        name,
        value: Some(value),
        origin: origin.to_owned(),
    }
}

/// The setting of a variable: its value in the environment, else `computed`. `computed` is the
/// default with its origin.
fn in_force(variable: Description, computed: Option<(PathBuf, &str)>) -> Setting {
    let name = variable.name;
    if let Ok(value) = std::env::var(name)
        && !value.is_empty()
    {
        return set(name, value, "environment");
    }
    match computed {
        Some((value, origin)) => set(name, value.display().to_string(), origin),
        None => Setting {
            name,
            value: None,
            origin: variable.default.to_owned(),
        },
    }
}

fn shell(settings: &[Setting]) -> String {
    let mut text = String::new();
    for Setting {
        name,
        value,
        origin,
    } in settings
    {
        match value {
            Some(value) => text.push_str(&format!("export {name}={}  # {origin}\n", quoted(value))),
            None => text.push_str(&format!("# {name} is not set: {origin}\n")),
        }
    }
    text
}

fn json(settings: &[Setting]) -> String {
    let entries = settings.iter().map(|setting| {
        let entry = serde_json::json!({ "value": setting.value, "from": setting.origin });
        (setting.name.to_owned(), entry)
    });
    format!("{:#}\n", serde_json::Value::Object(entries.collect()))
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use holloway_abi::environment::VARIABLES;

    /// `UPDATE_EXPECT=1 cargo test -p holloway --lib show_env` writes the page.
    #[test]
    fn the_page_lists_all_variables() {
        let mut page = "\
# Environment variables

`holloway show-env` prints the value of each variable on your machine, and where it comes from.
An empty variable counts as unset, unless its row says otherwise.

| Variable | Value | Effect | While unset |
|---|---|---|---|
"
        .to_owned();
        for variable in VARIABLES {
            let value = variable.value.replace('|', "\\|");
            let (name, help, default) = (variable.name, variable.help, variable.default);
            page += &format!("| `{name}` | `{value}` | {help} | {default} |\n");
        }
        expect_file!["../../../../docs/environment.md"].assert_eq(&page);
    }
}
