//! `holloway doctor`: checks this machine for tools and libraries, and says how to add missing
//! ones.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::environment;
use holloway_llvm::Library;

use crate::failure::{FAILED, Result};
use holloway_link::clang;
use holloway_link::collect_options::{CollectOptions, Switch};
use holloway_link::llvm::named_llvm;
use holloway_link::program::find_program;
use holloway_link::toolchain::{Rustc, version_line};
use holloway_link::tools::tools_dir;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Found and usable.
    Good,
    /// Something optional is missing.
    Note,
    /// Something that profiling of Rust programs needs is missing or wrong.
    Bad,
}

/// A line of the report.
struct Finding {
    state: State,
    subject: &'static str,
    /// What the check found.
    result: String,
    /// What the user can do about a problem.
    advice: Option<String>,
}

impl Finding {
    fn good(subject: &'static str, result: impl Into<String>) -> Self {
        Self {
            state: State::Good,
            subject,
            result: result.into(),
            advice: None,
        }
    }

    fn problem(
        state: State,
        subject: &'static str,
        result: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            state,
            subject,
            result: result.into(),
            advice: Some(advice.into()),
        }
    }
}

/// Makes all checks and prints a line for each result.
///
/// # Errors
/// Returns no error: the lines report failed checks. The exit code is 125 if Rust programs cannot
/// be profiled.
pub(crate) fn main() -> Result<ExitCode> {
    let findings = examine();
    let mut out = anstream::stdout().lock();
    // A closed pipe is no error.
    writeln!(out, "holloway {}", env!("CARGO_PKG_VERSION")).ok();
    for finding in &findings {
        print(&mut out, finding);
    }
    let ready = findings.iter().all(|finding| finding.state != State::Bad);
    let verdict = if ready {
        "Rust programs can be profiled here: try `holloway demo`"
    } else {
        "Rust programs cannot be profiled here yet: see above"
    };
    writeln!(out, "{verdict}").ok();
    Ok(if ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    })
}

fn print(out: &mut impl std::io::Write, finding: &Finding) {
    use clap::builder::styling::{AnsiColor, Style};
    let (word, color) = match finding.state {
        State::Good => ("ok", AnsiColor::Green),
        State::Note => ("note", AnsiColor::Yellow),
        State::Bad => ("error", AnsiColor::Red),
    };
    let style = Style::new().bold().fg_color(Some(color.into()));
    writeln!(
        out,
        "{style}{word:>8}{style:#}  {:<9} {}",
        finding.subject, finding.result
    )
    .ok();
    if let Some(advice) = &finding.advice {
        writeln!(out, "{:20} {advice}", "").ok();
    }
}

fn examine() -> Vec<Finding> {
    let rustc = Rustc::find();
    let llvm = library(rustc.as_ref());
    let mut findings = vec![system(), machines(), rust(rustc.as_ref()), libllvm(&llvm)];
    findings.push(linker());
    findings.push(lld(rustc.as_ref()));
    findings.push(compiler(llvm.as_ref().ok()));
    findings.push(rust_source(rustc.as_ref()));
    findings.push(tools());
    findings.push(cargo_subcommand());
    findings.push(clock());
    findings.push(profile_kind());
    findings
}

fn system() -> Finding {
    let name = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Finding::good("system", format!("{name}, kernel {}", kernel.trim())),
        ("linux", "aarch64") => Finding::problem(
            State::Note,
            "system",
            name,
            "untested on this processor: woven programs were tested only in an emulator, and holloway itself not at all",
        ),
        _ => Finding::problem(
            State::Bad,
            "system",
            name,
            "not supported yet: holloway runs on linux on x86_64",
        ),
    }
}

/// The processors that this holloway can link woven programs for.
fn machines() -> Finding {
    machines_with(
        !holloway_runtime::X86_64.is_empty(),
        !holloway_runtime::AARCH64.is_empty(),
    )
}

/// The finding for a holloway that contains these runtimes. It contains at least one.
fn machines_with(x86_64: bool, aarch64: bool) -> Finding {
    let problem = |result: &str, target: &str| {
        let advice =
            format!("for other machines: rustup target add {target}, and build holloway again");
        Finding::problem(State::Note, "machines", result, advice)
    };
    match (x86_64, aarch64) {
        (true, true) => Finding::good("machines", "programs for x86_64 and aarch64"),
        (true, false) => problem("programs for x86_64", "aarch64-unknown-none-softfloat"),
        (false, _) => problem("programs for aarch64", "x86_64-unknown-linux-gnu"),
    }
}

fn rust(rustc: Option<&Rustc>) -> Finding {
    match rustc {
        Some(rustc) => Finding::good(
            "rustc",
            format!(
                "{} for {}, {}",
                rustc.version,
                rustc.host,
                rustc.sysroot.display()
            ),
        ),
        None => Finding::problem(
            State::Bad,
            "rustc",
            "not found",
            "install rustup from https://rustup.rs, or put rustc into PATH",
        ),
    }
}

fn library(rustc: Option<&Rustc>) -> std::result::Result<Library, String> {
    let sysroot = rustc.map(|rustc| rustc.sysroot.as_path());
    Library::find(named_llvm().as_deref(), sysroot).map_err(|error| error.to_string())
}

fn libllvm(llvm: &std::result::Result<Library, String>) -> Finding {
    match llvm {
        Ok(library) => {
            let (major, minor, patch) = library.version();
            Finding::good(
                "libLLVM",
                format!("{major}.{minor}.{patch}, {}", library.path().display()),
            )
        }
        Err(error) => Finding::problem(
            State::Bad,
            "libLLVM",
            error.lines().next().unwrap_or_default(),
            match named_llvm() {
                Some(_) => "HOLLOWAY_LLVM names it: correct or unset it",
                None => {
                    "use a rustc from rustup, whose toolchains contain one, or name one in HOLLOWAY_LLVM"
                }
            },
        ),
    }
}

fn linker() -> Finding {
    let from_environment =
        std::env::var_os(environment::LINKER.name).filter(|linker| !linker.is_empty());
    let name = from_environment.unwrap_or_else(|| "cc".into());
    match find_program(&name) {
        Some(path) => Finding::good(
            "linker",
            format!(
                "{}, {}",
                version_line(&path).unwrap_or_default(),
                path.display()
            ),
        ),
        None => Finding::problem(
            State::Bad,
            "linker",
            format!("{} not found", name.display()),
            "install a C compiler, which links for rustc too (Debian: apt install gcc)",
        ),
    }
}

fn lld(rustc: Option<&Rustc>) -> Finding {
    let bundled = rustc.map(|rustc| {
        rustc
            .sysroot
            .join("lib/rustlib")
            .join(&rustc.host)
            .join("bin/rust-lld")
    });
    let result = bundled
        .filter(|path| path.is_file())
        .or_else(|| find_program("ld.lld".as_ref()))
        .or_else(|| find_program("ld".as_ref()));
    match result {
        Some(path) => Finding::good("ld", path.display().to_string()),
        None => Finding::problem(
            State::Bad,
            "ld",
            "neither rust-lld nor ld.lld nor ld found",
            "install binutils or lld (Debian: apt install binutils)",
        ),
    }
}

/// The clang that `holloway cc` calls, and the other candidates.
fn compiler(llvm: Option<&Library>) -> Finding {
    const WHY: &str = "only for C and C++: ";
    let candidates = match clang::candidates() {
        Ok(candidates) => candidates,
        Err(error) => {
            return Finding::problem(State::Note, "clang", "not found", format!("{WHY}{error}"));
        }
    };
    let shown = |path: &PathBuf| {
        let version = clang::version(path).unwrap_or_else(|| "unknown version".to_owned());
        format!("{version} ({})", path.display())
    };
    let Some(limit) = llvm.map(|library| library.version().0) else {
        let list: Vec<String> = candidates.iter().map(shown).collect();
        let result = format!(
            "{}; which of them fits depends on the libLLVM",
            list.join(", ")
        );
        return Finding::problem(
            State::Note,
            "clang",
            result,
            format!("{WHY}see libLLVM above"),
        );
    };
    let (fitting, newer): (Vec<_>, Vec<_>) =
        candidates.iter().partition(|path| clang::fits(path, limit));
    let newer = newer
        .into_iter()
        .map(|path| format!("{}, too new", shown(path)));
    let mut list = fitting.iter().map(|path| shown(path)).chain(newer);
    let first = list.next().expect("there is a candidate");
    let others: Vec<String> = list.collect();
    let other_candidates = if others.is_empty() {
        String::new()
    } else {
        format!("; also {}", others.join(", "))
    };
    let result = format!("{first}{other_candidates}");
    if fitting.is_empty() {
        let advice = format!(
            "{WHY}LLVM {limit} cannot read their bitcode; install clang {limit} or older, or name a newer libLLVM in HOLLOWAY_LLVM"
        );
        return Finding::problem(State::Note, "clang", result, advice);
    }
    Finding::good("clang", result)
}

fn rust_source(rustc: Option<&Rustc>) -> Finding {
    match rustc.and_then(Rustc::source) {
        Some(source) => Finding::good("rust-src", source.display().to_string()),
        None => Finding::problem(
            State::Note,
            "rust-src",
            "not installed",
            "only to show the standard library's source: rustup component add rust-src",
        ),
    }
}

/// The clock that measures the times of paths.
fn clock() -> Finding {
    if cfg!(target_arch = "aarch64") {
        return Finding::good("clock", "the generic timer's counter");
    }
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    clock_with(&info)
}

/// The finding for a processor with these flags in `/proc/cpuinfo`.
fn clock_with(info: &str) -> Finding {
    const WHY: &str = "only for --collect variation and times: ";
    let flags = info.lines().find(|line| line.starts_with("flags"));
    let flags = flags.and_then(|line| line.split_once(':'));
    let flags: Vec<&str> = flags.map_or(Vec::new(), |(_, list)| list.split_whitespace().collect());
    let lacks = |flag: &&str| !flags.contains(flag);
    if lacks(&"rdtscp") {
        return Finding::problem(
            State::Note,
            "clock",
            "no time stamp counter of a known kind",
            format!("{WHY}programs woven for them need a processor with rdtscp"),
        );
    }
    match ["constant_tsc", "nonstop_tsc"]
        .iter()
        .find(|flag| lacks(flag))
    {
        None => Finding::good("clock", "time stamp counter, constant"),
        Some(flag) => Finding::problem(
            State::Note,
            "clock",
            format!("time stamp counter without {flag}"),
            match *flag {
                "constant_tsc" => {
                    format!(
                        "{WHY}the counter's rate changes with the processor's speed, and so do times"
                    )
                }
                _ => format!("{WHY}the counter may stop while the processor sleeps"),
            },
        ),
    }
}

/// The kind of profile that the environment asks for.
fn profile_kind() -> Finding {
    match CollectOptions::default().or_environment() {
        Ok(options) if options.kind().is_stream() => {
            Finding::good("counts", options.collection().to_string())
        }
        Ok(options) => {
            let exits = Switch::from(options.counts_exits());
            Finding::good("counts", format!("{}, exits {exits}", options.kind()))
        }
        Err(error) => Finding::problem(
            State::Bad,
            "counts",
            error.to_string(),
            "correct or unset this variable",
        ),
    }
}

fn tools() -> Finding {
    match tools_dir() {
        Ok(directory) => Finding::good("tools", Path::new(&directory).display().to_string()),
        Err(error) => Finding::problem(
            State::Bad,
            "tools",
            error.to_string(),
            "make it writable, or set XDG_CACHE_HOME to a directory that is",
        ),
    }
}

/// Checks that `cargo-holloway` is in `PATH`, where cargo looks for its subcommands.
fn cargo_subcommand() -> Finding {
    const NAME: &str = "cargo-holloway";
    match find_program(std::ffi::OsStr::new(NAME)) {
        Some(file) => Finding::good("cargo", file.display().to_string()),
        None => Finding::problem(
            State::Note,
            "cargo",
            format!("no {NAME} in PATH: `cargo holloway` is unknown to cargo"),
            "cargo install --path crates/holloway --locked, or put the directory that has it in PATH",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_runtimes_name_their_target() {
        let all = machines_with(true, true);
        assert_eq!((all.state, all.advice), (State::Good, None));
        let check = |x86_64, aarch64, target: &str| {
            let finding = machines_with(x86_64, aarch64);
            assert_eq!(finding.state, State::Note);
            assert!(finding.advice.is_some_and(|text| text.contains(target)));
        };
        check(true, false, "aarch64-unknown-none-softfloat");
        check(false, true, "x86_64-unknown-linux-gnu");
    }

    #[test]
    fn a_clock_that_changes_is_reported() {
        let check = |flags: &str, state, text: &str| {
            let info = format!("processor\t: 0\nflags\t\t: fpu {flags}\nbugs\t\t: x\n");
            let finding = clock_with(&info);
            assert_eq!(finding.state, state, "{flags}");
            assert!(finding.result.contains(text), "{}", finding.result);
        };
        check(
            "tsc rdtscp constant_tsc nonstop_tsc",
            State::Good,
            "constant",
        );
        check(
            "tsc rdtscp constant_tsc",
            State::Note,
            "without nonstop_tsc",
        );
        check("tsc rdtscp", State::Note, "without constant_tsc");
        check("tsc", State::Note, "no time stamp counter");
        assert_eq!(clock_with("").state, State::Note);
    }
}
