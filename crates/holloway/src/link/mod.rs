//! The link step: a linker that weaves its inputs before it links them.
//!
//! rustc (`holloway-cc`, a compiler driver's line) and clang (`holloway-ld`, a raw ld line) hand us whole links.
//! The stages, each a file:
//!
//! 1. `response`, `line`: words → what is linked, into what;
//! 2. `search`, `inputs`: files and libraries → bitcode modules, and what has none;
//! 3. `farm`: each module in a worker process of its own, largest first, cached by content;
//! 4. `bases`: a base for each module's counters, patched in; modules that can't have one lose their probes;
//!    `place`: path map, image object, runtime object; `copies`: functions whose copy without probes may be linked
//!    instead;
//! 5. `real`: the real linker on the line with woven files in the places of the old ones.
//!
//! A link without bitcode, a question (`--version`) or a line that links nothing goes straight to the real linker.

mod bases;
mod copies;
mod farm;
mod guide;
mod inputs;
mod jobserver;
mod line;
mod llvm;
mod place;
mod real;
mod response;
mod search;
mod settings;
mod sought;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

use holloway_weave::image::Machine;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

use crate::failure::{Context, Result};
use crate::wanted::Wanted;
use crate::{linked, status};
use farm::Farm;
use guide::LinkGuide;
use line::{Flavour, Line, Output};
use search::Search;
use settings::Settings;

pub(crate) use line::takes_value;
pub(crate) use llvm::{Llvm, find_llvm, named_llvm};
pub(crate) use real::find_program;
pub(crate) use response::expand;
pub(crate) use settings::level;
pub(crate) use tools::{
    CLANG, CLANGXX, LD, RUST_LINKER, RUSTC, cache_home, dead_tools, remove_tools, tools_dir,
};

/// `holloway-cc`: linker of rustc. Takes a compiler driver's line, or a raw ld line when rustc hands one over.
///
/// # Errors
/// When an input cannot be read or woven, or the real linker not run.
pub(crate) fn rust_linker(args: Vec<OsString>) -> Result<ExitCode> {
    let args = response::expand(args)?;
    link(guess_flavour(&args), &args, Wanted::default()).map(ExitCode::from)
}

/// `holloway-ld`: linker of clang, and `holloway ld`. Takes a raw ld line, our own options in front.
///
/// # Errors
/// As [`rust_linker`], or an option of ours makes no sense.
pub(crate) fn ld(args: Vec<OsString>) -> Result<ExitCode> {
    let (wanted, args) = Wanted::take(args)?;
    link(Flavour::Ld, &response::expand(args)?, wanted).map(ExitCode::from)
}

/// rustc passes a raw line when the target's linker flavour is `ld`: such a line has options only ld knows, and no
/// `-Wl,`.
fn guess_flavour(args: &[OsString]) -> Flavour {
    let has = |test: &dyn Fn(&str) -> bool| args.iter().filter_map(|arg| arg.to_str()).any(test);
    let raw = has(&|arg| {
        matches!(
            arg,
            "--as-needed"
                | "--eh-frame-hdr"
                | "--gc-sections"
                | "-Bdynamic"
                | "-Bstatic"
                | "--start-group"
        )
    });
    if raw && !has(&|arg| arg.starts_with("-Wl,")) {
        Flavour::Ld
    } else {
        Flavour::Driver
    }
}

fn link(flavour: Flavour, args: &[OsString], wanted: Wanted) -> Result<u8> {
    let linker = real::real_linker(flavour)?;
    let mut line = Line::parse(flavour, args.to_vec());
    line.machine = line.machine.or_else(|| {
        // A cross compiler: `aarch64-linux-gnu-gcc`.
        let name = linker.file_name().and_then(|name| name.to_str());
        name.and_then(Machine::of_triple)
    });
    if line.makes == Output::NotALink {
        return real::run(&linker, args, None);
    }
    let settings = Settings::new(&line, wanted)?;
    let inputs = inputs::gather(&line, &settings)?;
    if settings.probes {
        for (shown, why) in &inputs.unusable {
            linked::warn(&format!("{shown}: {why}: linked as it is"));
        }
    }
    if inputs.modules.is_empty() {
        return plain(&linker, &line);
    }
    let scratch = scratch()?;
    let guide = settings.guide.as_deref().filter(|_| settings.probes);
    let guide = guide.map(|named| LinkGuide::new(named, scratch.path()));
    let guide = guide.transpose()?;
    let farm = Farm::new(&inputs, &settings, guide.as_ref(), scratch.path())?;
    let mut woven = farm.weave_all()?;
    let bases = bases::place(&farm, &mut woven, &settings)?;
    if let Some(guide) = &guide {
        guide.tell(&woven);
    }
    if settings.probes {
        sought::tell(&settings.only, &settings.skip, &woven, &line.output_name())?;
    }
    let placed = place::place(&line, &inputs, woven, bases, &settings, scratch.path())?;
    let args = line.write(
        &|word| placed.swaps.get(&word).cloned(),
        &placed.objects,
        placed.at,
    );
    let code = real::run(&linker, &args, Some(scratch.path()))?;
    if placed.has_runtime() {
        match code {
            0 => note_musl(&line),
            _ => note_needs(&line),
        }
    }
    Ok(code)
}

/// Of a shared object: musl's `dlopen` refuses thread-local storage of the static kind (of a symbol without a name it crashes as it says so).
fn note_musl(line: &Line) {
    if line.makes == Output::SharedObject && Search::new(line, true).finds_musl() {
        status::note(&format!(
            "{}: musl loads a woven shared object with the program, not by dlopen: link the program with it, or name it in LD_PRELOAD",
            line.output_name()
        ));
    }
}

/// After a link that failed: what the runtime needs and the line leaves out.
fn note_needs(line: &Line) {
    let needs = [
        (
            line.no_libc,
            "the C library",
            "pthread_atfork",
            "link it (-lc)",
        ),
        (
            line.no_start_files,
            "the start files",
            "__dso_handle",
            "link crtbegin.o or crtbeginS.o",
        ),
    ];
    for (_, left_out, symbol, remedy) in needs.iter().filter(|need| need.0) {
        status::note(&format!(
            "this link leaves out {left_out}, and the runtime needs {symbol} from there; {remedy}, or link this image without holloway"
        ));
    }
}

/// A link with nothing to weave: the line as it came, less what was meant for an LTO plugin.
fn plain(linker: &std::path::Path, line: &Line) -> Result<u8> {
    let args = line.write(&|_| None, &[], usize::MAX);
    let scratch = scratch()?;
    real::run(linker, &args, Some(scratch.path()))
}

/// A private directory for what only this link needs; it goes with its end, and when the user interrupts it.
fn scratch() -> Result<TempDir> {
    let dir = tempfile::Builder::new().prefix("holloway-link-").tempdir();
    let dir = dir.cannot(|| {
        format!(
            "make a directory in {} (TMPDIR)",
            std::env::temp_dir().display()
        )
    })?;
    let path = dir.path().to_owned();
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _ = std::fs::remove_dir_all(path);
                let _ = emulate_default_handler(signal);
            }
        });
    }
    Ok(dir)
}
