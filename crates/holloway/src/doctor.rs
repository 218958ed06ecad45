//! `holloway doctor`: what was found on this machine, and what to do about what was not.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use holloway_llvm::Library;

use crate::failure::{FAILED, Result};
use crate::link::{self, find_program};
use crate::toolchain::{Clang, Rustc, clangs, version_line};

/// How a thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Found and usable.
    Good,
    /// Something optional is not there.
    Note,
    /// Rust programs cannot be profiled without it.
    Bad,
}

/// A line of the report.
struct Finding {
    state: State,
    what: &'static str,
    found: String,
    to_do: Option<String>,
}

impl Finding {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            state: State::Good,
            what,
            found: found.into(),
            to_do: None,
        }
    }

    fn lacking(
        state: State,
        what: &'static str,
        found: impl Into<String>,
        to_do: impl Into<String>,
    ) -> Self {
        Self {
            state,
            what,
            found: found.into(),
            to_do: Some(to_do.into()),
        }
    }
}

/// Looks around and prints a line for each thing.
///
/// # Errors
/// None: what is missing is said in the lines and in the exit code (125 when Rust programs cannot be profiled).
pub(crate) fn main() -> Result<ExitCode> {
    let findings = examine();
    let mut out = anstream::stdout().lock();
    // A reader that goes away early is no error.
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
        State::Bad => ("missing", AnsiColor::Red),
    };
    let style = Style::new().bold().fg_color(Some(color.into()));
    writeln!(
        out,
        "{style}{word:>8}{style:#}  {:<9} {}",
        finding.what, finding.found
    )
    .ok();
    if let Some(to_do) = &finding.to_do {
        writeln!(out, "{:20} {to_do}", "").ok();
    }
}

fn examine() -> Vec<Finding> {
    let rustc = Rustc::find();
    let llvm = library(rustc.as_ref());
    let mut findings = vec![system(), rust(rustc.as_ref()), loaded(&llvm)];
    findings.push(linker());
    findings.push(lld(rustc.as_ref()));
    findings.push(clang(&clangs(), llvm.as_ref().ok()));
    findings.push(rust_source(rustc.as_ref()));
    findings.push(tools());
    findings
}

fn system() -> Finding {
    let name = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Finding::good("system", format!("{name}, kernel {}", kernel.trim())),
        ("linux", _) => Finding::lacking(
            State::Bad,
            "system",
            name,
            "not supported yet: woven programs run on linux on x86_64",
        ),
        _ => Finding::lacking(
            State::Bad,
            "system",
            name,
            "not supported yet: holloway runs on linux on x86_64",
        ),
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
        None => Finding::lacking(
            State::Bad,
            "rustc",
            "not found",
            "install rustup from https://rustup.rs, or put rustc into PATH",
        ),
    }
}

fn library(rustc: Option<&Rustc>) -> std::result::Result<Library, String> {
    let sysroot = rustc.map(|rustc| rustc.sysroot.as_path());
    Library::find(link::named_llvm().as_deref(), sysroot).map_err(|error| error.to_string())
}

fn loaded(llvm: &std::result::Result<Library, String>) -> Finding {
    match llvm {
        Ok(library) => {
            let (major, minor, patch) = library.version();
            Finding::good(
                "libLLVM",
                format!("{major}.{minor}.{patch}, {}", library.path().display()),
            )
        }
        Err(why) => Finding::lacking(
            State::Bad,
            "libLLVM",
            why.lines().next().unwrap_or_default(),
            "use a rustc from rustup, whose toolchains carry one, or name one in HOLLOWAY_LLVM",
        ),
    }
}

fn linker() -> Finding {
    let chosen = std::env::var_os("HOLLOWAY_LINKER").filter(|linker| !linker.is_empty());
    let name = chosen.unwrap_or_else(|| "cc".into());
    match find_program(&name) {
        Some(path) => Finding::good(
            "linker",
            format!(
                "{}, {}",
                version_line(&path).unwrap_or_default(),
                path.display()
            ),
        ),
        None => Finding::lacking(
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
    let found = bundled
        .filter(|path| path.is_file())
        .or_else(|| find_program("ld.lld".as_ref()))
        .or_else(|| find_program("ld".as_ref()));
    match found {
        Some(path) => Finding::good("ld", path.display().to_string()),
        None => Finding::lacking(
            State::Bad,
            "ld",
            "neither rust-lld, ld.lld nor ld found",
            "install binutils or lld (Debian: apt install binutils)",
        ),
    }
}

fn clang(clangs: &[Clang], llvm: Option<&Library>) -> Finding {
    let newest = llvm.map_or(0, |library| library.version().0);
    let shown = |clang: &Clang| format!("{} ({})", clang.version, clang.path.display());
    let list: Vec<String> = clangs.iter().map(shown).collect();
    if let Some(usable) = clangs.iter().find(|clang| clang.major <= newest) {
        let others = clangs.iter().filter(|clang| clang.path != usable.path);
        let others: Vec<String> = others
            .map(|clang| {
                if clang.major > newest {
                    format!("{}, too new", shown(clang))
                } else {
                    shown(clang)
                }
            })
            .collect();
        let also = if others.is_empty() {
            String::new()
        } else {
            format!("; also {}", others.join(", "))
        };
        return Finding::good("clang", format!("{}{also}", shown(usable)));
    }
    if clangs.is_empty() {
        return Finding::lacking(
            State::Note,
            "clang",
            "not found",
            "only for C and C++: install clang (Debian: apt install clang) or name one in HOLLOWAY_CLANG",
        );
    }
    Finding::lacking(
        State::Note,
        "clang",
        format!("{}: newer than LLVM {newest}", list.join(", ")),
        format!(
            "only for C and C++: install clang {newest} or older, or name a newer libLLVM in HOLLOWAY_LLVM"
        ),
    )
}

fn rust_source(rustc: Option<&Rustc>) -> Finding {
    match rustc.and_then(Rustc::source) {
        Some(source) => Finding::good("rust-src", source.display().to_string()),
        None => Finding::lacking(
            State::Note,
            "rust-src",
            "not installed",
            "only to show the standard library's source: rustup component add rust-src",
        ),
    }
}

fn tools() -> Finding {
    match link::tools_dir() {
        Ok(directory) => Finding::good("tools", Path::new(&directory).display().to_string()),
        Err(failure) => Finding::lacking(
            State::Bad,
            "tools",
            failure.message,
            "make it writable, or set XDG_CACHE_HOME to a directory that is",
        ),
    }
}
