//! The link step: a linker that weaves its inputs before it links them.
//!
//! rustc (`holloway-cc`, a compiler driver's line) and clang (`holloway-ld`, a raw ld line) hand us
//! whole links. The stages, each a module:
//!
//! 1. `response`, `line`: from words to inputs and output;
//! 2. `search`, `inputs`: from files and libraries to bitcode modules;
//! 3. `weaver`: each module in a worker process of its own, the largest first, cached by content;
//! 4. `counter_bases`: a base for each module's counters, patched into its code. A module without
//!    a base loses its probes;
//! 5. `woven_files`: path map, image object, runtime object, and the woven files. `duplicates`
//!    lists functions whose copy without probes may be linked instead;
//! 6. `linker`: the real linker, on the line with woven files in the places of the old ones.
//!
//! A link without bitcode, a question (`--version`), or a line that links nothing goes straight to
//! the real linker.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;

use holloway_weave::image::Machine;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

use crate::collect_options::CollectOptions;
use crate::counter_bases::CounterBases;
use crate::error::{Error, Result};
use crate::guide::LinkGuide;
use crate::host::Host;
use crate::inputs::Inputs;
use crate::line::{ExtraObjects, Flavor, Line, Output};
use crate::message::{Message, RuntimeNeed};
use crate::records::Recorder;
use crate::search::Search;
use crate::settings::LinkSettings;
use crate::weaver::Weaver;
use crate::woven_files::WovenFiles;
use crate::{inputs, linker, patterns, response};

/// `holloway-cc`: linker of rustc. Takes a compiler driver's line, or a raw ld line when rustc
/// hands one over.
///
/// # Errors
/// When an input cannot be read or woven, or the real linker not run.
pub fn rust_linker(args: Vec<OsString>, host: &dyn Host) -> Result<ExitStatus> {
    let args = response::expand(args)?;
    link(guess_flavor(&args), &args, CollectOptions::default(), host)
}

/// `holloway-ld`: linker of clang, and `holloway ld`. Takes a raw ld line, our own options in
/// front.
///
/// # Errors
/// As [`rust_linker`], or an option of ours has a wrong value.
pub fn ld(args: Vec<OsString>, host: &dyn Host) -> Result<ExitStatus> {
    let (options, args) = CollectOptions::take(args)?;
    link(Flavor::Ld, &response::expand(args)?, options, host)
}

/// rustc passes a raw line when the target's linker flavor is `ld`: such a line has options that
/// only ld knows, and no `-Wl,`.
fn guess_flavor(args: &[OsString]) -> Flavor {
    const LD_OPTIONS: [&str; 6] = [
        "--as-needed",
        "--eh-frame-hdr",
        "--gc-sections",
        "-Bdynamic",
        "-Bstatic",
        "--start-group",
    ];
    let words = || args.iter().filter_map(|arg| arg.to_str());
    let is_raw = words().any(|word| LD_OPTIONS.contains(&word));
    if is_raw && !words().any(|word| word.starts_with("-Wl,")) {
        Flavor::Ld
    } else {
        Flavor::Driver
    }
}

fn link(
    flavor: Flavor,
    args: &[OsString],
    options: CollectOptions,
    host: &dyn Host,
) -> Result<ExitStatus> {
    let recorder = Recorder::from_env(host);
    let linker = linker::real_linker(flavor)?;
    let mut line = Line::parse(flavor, args.to_vec());
    line.machine = line.machine.or_else(|| {
        // A cross compiler: `aarch64-linux-gnu-gcc`.
        let name = linker.file_name().and_then(|name| name.to_str());
        name.and_then(Machine::of_triple)
    });
    if line.output_kind == Output::NotALink {
        return linker::run(&linker, args, None);
    }
    let settings = LinkSettings::new(&line, options)?;
    let inputs = inputs::gather(&line, &settings)?;
    if settings.probes {
        warn_unusable(&inputs, &recorder);
    }
    if inputs.modules.is_empty() {
        return link_plainly(&linker, &line);
    }
    let scratch = scratch()?;
    let woven = weave(&line, &inputs, &settings, scratch.path(), &recorder)?;
    let objects = ExtraObjects {
        paths: &woven.objects,
        before_word: woven.objects_before,
    };
    let args = line.write(&|word| woven.replacements.get(&word).cloned(), &objects);
    let status = linker::run(&linker, &args, Some(scratch.path()))?;
    if woven.has_runtime() {
        if status.success() {
            note_musl(&line, host);
        } else {
            note_runtime_needs(&line, host);
        }
    }
    if status.success()
        && let Some(map) = &woven.map
    {
        recorder.store_map(map);
    }
    Ok(status)
}

fn warn_unusable(inputs: &Inputs, recorder: &Recorder<'_>) {
    for (input, reason) in &inputs.unusable {
        recorder.show(&Message::UnusableBitcode {
            input: input.clone(),
            reason: *reason,
        });
    }
}

/// Weaves the modules of a link and writes the files to link into `scratch`.
fn weave(
    line: &Line,
    inputs: &Inputs,
    settings: &LinkSettings,
    scratch: &Path,
    recorder: &Recorder<'_>,
) -> Result<WovenFiles> {
    let guide = settings.guide.as_deref().filter(|_| settings.probes);
    let guide = guide.map(|named| LinkGuide::new(named, scratch, recorder.host()));
    let guide = guide.transpose()?;
    let weaver = Weaver::new(inputs, settings, guide.as_ref(), scratch, recorder)?;
    let mut outcomes = weaver.weave_all()?;
    let bases = CounterBases::assign(&weaver, &mut outcomes, settings)?;
    if let Some(guide) = &guide {
        recorder.guide(guide.matches(&outcomes));
    }
    if settings.probes {
        let selections = patterns::selections(&settings.only, &settings.skip, &outcomes)?;
        recorder.patterns(&selections, &line.output_name());
    }
    WovenFiles::write(line, inputs, outcomes, bases, settings, scratch)
}

/// A note on shared objects for musl, whose `dlopen` refuses thread-local storage of the static
/// kind. If the storage's symbol has no name, musl even crashes while it reports the refusal.
fn note_musl(line: &Line, host: &dyn Host) {
    if line.output_kind == Output::SharedObject && Search::new(line).finds_musl() {
        let output = line.output_name();
        host.show(&Message::MuslSharedObject { output });
    }
}

/// After a link that failed: notes on libraries and objects that the runtime needs and the line
/// leaves out.
fn note_runtime_needs(line: &Line, host: &dyn Host) {
    if line.no_libc {
        host.show(&Message::Missing(RuntimeNeed::CLibrary));
    }
    if line.no_start_files {
        host.show(&Message::Missing(RuntimeNeed::StartFiles));
    }
}

/// A link with nothing to weave: the line as it came, without the words for an LTO plugin.
fn link_plainly(linker: &Path, line: &Line) -> Result<ExitStatus> {
    let args = line.write(&|_| None, &ExtraObjects::NONE);
    let scratch = scratch()?;
    linker::run(linker, &args, Some(scratch.path()))
}

/// A private directory for the files that only this link needs. It goes when the link ends, and
/// when the user interrupts the link.
fn scratch() -> Result<TempDir> {
    let directory = tempfile::Builder::new().prefix("holloway-link-").tempdir();
    let directory = directory.map_err(|source| Error::ScratchDirectory {
        path: std::env::temp_dir(),
        source,
    })?;
    let path = directory.path().to_owned();
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                let _ = std::fs::remove_dir_all(path);
                let _ = emulate_default_handler(signal);
            }
        });
    }
    Ok(directory)
}
