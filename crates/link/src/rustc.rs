//! `holloway-rustc`: the rustc wrapper that cargo calls (`RUSTC_WRAPPER`).
//!
//! The wrapper appends options that make rustc emit bitcode and call `holloway-cc` as its linker.
//! The user's RUSTFLAGS, rustflags in configuration files, and linker stay unchanged. (If holloway
//! set RUSTFLAGS in the environment instead, it would *replace* the flags of the configuration
//! files.) Build scripts and proc macros get no additional options. The wrapper recognizes them by
//! a missing `--target`: `cargo holloway` always passes a target to cargo, and cargo passes
//! `--target` to rustc only for code that runs on the target.
//!
//! A call of the wrapper is cheap: it reads a few dozen words, then calls `exec`.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_abi::environment;

use crate::collect_options::{GraphStage, embeds, graph_of_environment};
use crate::error::{Error, Result};
use crate::tools::{RUST_LINKER, tools_dir};

/// Environment variable with the user's rustc wrapper, which `holloway-rustc` calls.
pub const INNER_WRAPPER: &str = environment::internal::INNER_WRAPPER;

/// Replaces this process by `argv[1..]` (rustc, or a workspace wrapper and rustc). Appends
/// holloway's options if the crate is woven.
///
/// # Errors
/// If the program is missing or cannot be run.
pub fn wrap(argv: &[OsString]) -> Result<Infallible> {
    let Some((program, args)) = argv.get(1..).and_then(<[OsString]>::split_first) else {
        return Err(Error::NoRustc);
    };
    let call = RustcCall::read(args);
    let mut command = match std::env::var_os(INNER_WRAPPER).filter(|inner| !inner.is_empty()) {
        Some(inner) => {
            let mut command = Command::new(inner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(args);
    if call.is_woven() {
        let linker = linker_beside(&argv[0])?;
        command.args(call.extra_options(&linker, embeds(), graph_of_environment()));
        if let Some((name, value)) = call.extra_environment() {
            command.env(name, value);
        }
    }
    replace_process(command)
}

/// Returns the path of `holloway-cc`: in the directory of `program_name`, the path that this
/// process was called by.
fn linker_beside(program_name: &OsStr) -> Result<PathBuf> {
    match Path::new(program_name)
        .parent()
        .filter(|directory| directory.is_absolute())
    {
        Some(directory) => Ok(directory.join(RUST_LINKER)),
        None => Ok(tools_dir()?.join(RUST_LINKER)),
    }
}

/// Replaces this process by `command`.
fn replace_process(mut command: Command) -> Result<Infallible> {
    use std::os::unix::process::CommandExt as _;
    let source = command.exec();
    Err(Error::Run {
        program: command.get_program().to_owned(),
        source,
    })
}

/// Makes rustc write bitcode that no optimizer has seen. The link step optimizes.
const UNOPTIMIZED: &str = "-Cno-prepopulate-passes";

/// The parts of a rustc command line that decide which options the wrapper adds.
#[derive(Debug, Default)]
struct RustcCall {
    is_query: bool,
    is_proc_macro: bool,
    has_target: bool,
    linker: Option<String>,
    linker_flavor: Option<String>,
    debuginfo: Option<String>,
    split_debuginfo: bool,
}

impl RustcCall {
    /// Reads the words of a command line, including the words in argument files.
    fn read(args: &[OsString]) -> Self {
        let mut call = Self::default();
        let expanded = expand(args);
        let mut words = expanded.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-C" | "--codegen" => words
                    .next()
                    .into_iter()
                    .for_each(|option| call.codegen(option)),
                "--crate-type" => call.crate_type(words.next().unwrap_or_default()),
                "--target" => call.has_target = words.next().is_some(),
                "--print" | "-vV" | "-V" | "--version" | "-" => call.is_query = true,
                "-g" => call.debuginfo = Some("2".to_owned()),
                _ => call.attached(word),
            }
        }
        call
    }

    /// Reads an option whose value follows in the same word.
    fn attached(&mut self, word: &str) {
        if let Some(option) = word
            .strip_prefix("-C")
            .or_else(|| word.strip_prefix("--codegen="))
        {
            self.codegen(option);
        } else if let Some(kind) = word.strip_prefix("--crate-type=") {
            self.crate_type(kind);
        } else if word.starts_with("--target=") {
            self.has_target = true;
        } else if word.starts_with("--print=") {
            self.is_query = true;
        }
    }

    fn crate_type(&mut self, kinds: &str) {
        self.is_proc_macro |= kinds.split(',').any(|kind| kind == "proc-macro");
    }

    fn codegen(&mut self, option: &str) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = value.to_owned();
        match name.replace('_', "-").as_str() {
            "linker" => self.linker = Some(value),
            "linker-flavor" => self.linker_flavor = Some(value),
            "debuginfo" => self.debuginfo = Some(value),
            "split-debuginfo" => self.split_debuginfo = true,
            _ => {}
        }
    }

    fn is_woven(&self) -> bool {
        self.has_target && !self.is_query && !self.is_proc_macro
    }

    /// Returns the options that make rustc leave code generation to the link step, and keep the
    /// line tables that the path map needs.
    fn extra_options(
        &self,
        holloway_linker: &Path,
        embed: bool,
        graph: GraphStage,
    ) -> Vec<OsString> {
        let graph = match embed {
            true => GraphStage::Optimized,
            false => graph,
        };
        let mut options: Vec<OsString> = woven_options(holloway_linker, graph);
        if embed {
            // The link step optimizes. Line tables would be for path maps only.
            options.push(UNOPTIMIZED.into());
        } else if !self.has_line_tables() {
            options.push("-Cdebuginfo=line-tables-only".into());
        }
        if self.split_debuginfo {
            // rustc would collect split debug information from the objects, but they contain
            // bitcode.
            options.push("-Csplit-debuginfo=off".into());
        }
        if let (None, Some(flavor)) = (
            &self.linker_flavor,
            self.user_linker().and_then(bare_flavor),
        ) {
            options.push(format!("-Clinker-flavor={flavor}").into());
        }
        options
    }

    fn extra_environment(&self) -> Option<(&'static str, &str)> {
        self.user_linker()
            .map(|linker| (environment::LINKER.name, linker))
    }

    /// Returns the linker that the user chose, if any.
    fn user_linker(&self) -> Option<&str> {
        let linker = self.linker.as_deref()?;
        let is_holloway = Path::new(linker).file_name() == Some(OsStr::new(RUST_LINKER));
        Some(linker).filter(|_| !is_holloway)
    }

    fn has_line_tables(&self) -> bool {
        !matches!(
            self.debuginfo.as_deref(),
            None | Some("0" | "none" | "line-directives-only")
        )
    }
}

/// Returns the options for the compilation of every woven crate, including doctests.
pub fn woven_options(holloway_linker: &Path, graph: GraphStage) -> Vec<OsString> {
    let mut linker = OsString::from("-Clinker=");
    linker.push(holloway_linker);
    // The link step does not merge modules. So with several codegen units, functions could not be
    // inlined from one unit into another.
    let mut options = vec![
        "-Clinker-plugin-lto".into(),
        "-Ccodegen-units=1".into(),
        linker,
    ];
    if graph == GraphStage::Source {
        options.push(UNOPTIMIZED.into());
    }
    options
}

/// Returns rustc's name for the flavor of a linker that is no compiler driver. rustc derives the
/// flavor from the file name of its linker. That is `holloway-cc` here, so an option must name the
/// flavor of the user's linker.
fn bare_flavor(linker: &str) -> Option<&'static str> {
    let stem = Path::new(linker).file_stem()?.to_str()?;
    if linker.ends_with("ld.lld") || stem == "rust-lld" || stem == "lld" || stem.ends_with("-lld") {
        return Some("ld.lld");
    }
    (stem == "ld"
        || stem.ends_with("-ld")
        || linker.ends_with("ld.bfd")
        || linker.ends_with("ld.gold"))
    .then_some("ld")
}

/// Replaces each `@file` by the words of the argument file. rustc's argument files have one word
/// per line and no quoting.
fn expand(args: &[OsString]) -> Vec<String> {
    let mut words = Vec::new();
    for arg in args {
        let word = arg.to_string_lossy();
        match word
            .strip_prefix('@')
            .and_then(|file| std::fs::read_to_string(file).ok())
        {
            Some(text) => words.extend(text.lines().map(str::to_owned)),
            None => words.push(word.into_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> RustcCall {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        RustcCall::read(&words)
    }

    fn options(line: &str) -> String {
        let options =
            call(line).extra_options(Path::new("/x/holloway-cc"), false, GraphStage::Optimized);
        options
            .iter()
            .map(|option| option.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    const BASE: &str = "-Clinker-plugin-lto -Ccodegen-units=1 -Clinker=/x/holloway-cc";

    #[test]
    fn host_crates_queries_and_proc_macros_are_left_alone() {
        assert!(call("--crate-name a a.rs --crate-type bin --target t").is_woven());
        assert!(call("a.rs --target=t").is_woven());
        assert!(!call("--crate-name build_script_build build.rs").is_woven());
        assert!(!call("- --crate-name ___ --print=file-names --target t").is_woven());
        assert!(!call("--print sysroot --target t").is_woven());
        assert!(!call("-vV").is_woven());
        assert!(!call("a.rs --crate-type proc-macro --target t").is_woven());
    }

    #[test]
    fn line_tables_are_added_unless_the_user_asks_for_them() {
        assert_eq!(
            options("-C debuginfo=0"),
            format!("{BASE} -Cdebuginfo=line-tables-only")
        );
        assert_eq!(options(""), format!("{BASE} -Cdebuginfo=line-tables-only"));
        assert_eq!(options("-Cdebuginfo=2"), BASE);
        assert_eq!(options("-g"), BASE);
        assert_eq!(options("-C debuginfo=line-tables-only"), BASE);
        assert_eq!(
            options("-Cdebuginfo=2 -C debuginfo=none"),
            format!("{BASE} -Cdebuginfo=line-tables-only")
        );
    }

    #[test]
    fn the_users_linker_is_passed_to_the_link_step() {
        let linker = |line| call(line).user_linker().map(str::to_owned);
        assert_eq!(linker("-C linker=clang -C lto"), Some("clang".to_owned()));
        assert_eq!(
            linker("-Clinker=a -Clinker=/usr/bin/gcc-12"),
            Some("/usr/bin/gcc-12".to_owned())
        );
        assert_eq!(linker("-Clinker=/x/holloway-cc"), None);
        assert_eq!(
            options("-g -Clinker=rust-lld"),
            format!("{BASE} -Clinker-flavor=ld.lld")
        );
        assert_eq!(
            options("-g -Clinker=x86_64-linux-gnu-ld"),
            format!("{BASE} -Clinker-flavor=ld")
        );
        assert_eq!(options("-g -Clinker=clang-22"), BASE);
    }
}
