//! The link step: acts as the linker, weaves the inputs, and then calls the real linker.
//!
//! rustc calls the link step as `holloway-cc`, with the options of a compiler driver. clang calls
//! it as `holloway-ld`, with the options of `ld`. The stages of the link step, with their modules:
//!
//! 1. `response`, `line`: parse the command line into inputs and output.
//! 2. `search`, `inputs`: find the bitcode modules in the input files and libraries.
//! 3. `weaver`: weave each module in a separate worker process, the largest module first. A cache
//!    stores woven modules by the hash of their bitcode and settings.
//! 4. `counter_bases`: assign a counter base to each module and write it into the module's code. A
//!    module without a base loses its probes.
//! 5. `woven_files`: write the image object with the path map, the runtime object, and the woven
//!    files. `duplicates` lists functions whose copies without probes may be linked instead.
//! 6. `linker`: run the real linker on the line, with the woven files instead of the inputs.
//!
//! With `--embed`, the modules are compiled without probes, and `embed` adds an object with the
//! recipe of the link. `relink` links a program again from its recipe.
//!
//! A line without bitcode, or a line that links nothing (`--version`, `-c`), is passed to the real
//! linker directly.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;

use holloway_weave::image::Machine;

use crate::collect_options::CollectOptions;
use crate::counter_bases::CounterBases;
use crate::error::Result;
use crate::guide::LinkGuide;
use crate::host::Host;
use crate::inputs::Inputs;
use crate::line::{ExtraObjects, Flavor, Line, Output};
use crate::message::{Message, RuntimeNeed};
use crate::records::Recorder;
use crate::scratch::Scratch;
use crate::search::LibrarySearch;
use crate::settings::{EarlyLink, LinkSettings};
use crate::weaver::Weaver;
use crate::woven_files::WovenFiles;
use crate::{embed, inputs, linker, patterns, response};

/// Runs `holloway-cc`, the linker of rustc. `args` are options of a compiler driver, or options of
/// `ld` if rustc passes them.
///
/// # Errors
/// If an input cannot be read or woven, or the real linker cannot be run.
pub fn rust_linker(args: Vec<OsString>, host: &dyn Host) -> Result<ExitStatus> {
    let args = response::expand(args)?;
    link(guess_flavor(&args), &args, CollectOptions::default(), host)
}

/// Runs `holloway-ld`, the linker of clang, or `holloway ld`. `args` are holloway's options
/// (`--collect`), and after them the options of `ld`.
///
/// # Errors
/// If [`rust_linker`] would fail, or one of holloway's options has a wrong value.
pub fn ld(args: Vec<OsString>, host: &dyn Host) -> Result<ExitStatus> {
    let (options, args) = CollectOptions::take_leading(args)?;
    link(Flavor::Ld, &response::expand(args)?, options, host)
}

/// Guesses which options rustc passed. If the target's linker flavor is `ld`, the line has options
/// that only ld knows, and no `-Wl,`.
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
    let has_ld_option = words().any(|word| LD_OPTIONS.contains(&word));
    if has_ld_option && !words().any(|word| word.starts_with("-Wl,")) {
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
        // The name of a cross compiler begins with the target: `aarch64-linux-gnu-gcc`.
        let name = linker.file_name().and_then(|name| name.to_str());
        name.and_then(Machine::of_triple)
    });
    if line.output_kind == Output::NotALink {
        return linker::run(&linker, args, None);
    }
    let settings = LinkSettings::new(&line, options)?;
    link_line(&line, &linker, &settings, &recorder).map(|linked| linked.status)
}

/// The result of a link.
pub(crate) struct Linked {
    /// The linker's exit status.
    pub(crate) status: ExitStatus,
    /// The number of functions that got counts of a plan.
    pub(crate) planned_functions: u64,
}

/// Weaves the inputs of a line and links them.
pub(crate) fn link_line(
    line: &Line,
    linker: &Path,
    settings: &LinkSettings,
    recorder: &Recorder<'_>,
) -> Result<Linked> {
    let inputs = inputs::gather(line, settings)?;
    if settings.probes {
        warn_unusable(&inputs, recorder);
    }
    if inputs.modules.is_empty() {
        return Ok(Linked {
            status: link_plainly(linker, line)?,
            planned_functions: 0,
        });
    }
    let scratch = scratch()?;
    let mut woven = weave(line, &inputs, settings, scratch.path(), recorder)?;
    // A numbered program has the same layout as the plain one only with the recipe and its note.
    let has_recipe = matches!(settings.early, Some(EarlyLink::Embed | EarlyLink::Numbered));
    if has_recipe && line.output_kind == Output::Executable {
        let machine = line.machine.unwrap_or(woven.machine);
        let object = embed::write_object(line, &inputs, linker, settings, machine, scratch.path());
        woven.objects.push(object?);
    }
    let objects = ExtraObjects {
        paths: &woven.objects,
        before_word: woven.objects_before,
    };
    let args = line.write(&|word| woven.replacements.get(&word).cloned(), &objects);
    let status = linker::run(linker, &args, Some(scratch.path()))?;
    if woven.has_runtime {
        if status.success() {
            note_musl(line, recorder.host());
        } else {
            note_runtime_needs(line, recorder.host());
        }
    }
    if status.success()
        && let Some(map) = &woven.map
    {
        recorder.store_map(map);
    }
    Ok(Linked {
        status,
        planned_functions: woven.planned_functions,
    })
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
    let guide = guide.map(|path| LinkGuide::new(path, scratch, recorder.host()));
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

/// Shows a note if the output is a shared object for musl. The runtime uses thread-local storage
/// with the initial-exec model, which musl's `dlopen` rejects. If the storage's symbol has no name,
/// musl even crashes while it reports the rejection.
fn note_musl(line: &Line, host: &dyn Host) {
    if line.output_kind == Output::SharedObject && LibrarySearch::new(line).finds_musl() {
        let output = line.output_name();
        host.show(&Message::MuslSharedObject { output });
    }
}

/// Shows, after a failed link, which libraries and objects the line leaves out although the runtime
/// needs them.
fn note_runtime_needs(line: &Line, host: &dyn Host) {
    if line.no_libc {
        host.show(&Message::Missing(RuntimeNeed::CLibrary));
    }
    if line.no_start_files {
        host.show(&Message::Missing(RuntimeNeed::StartFiles));
    }
}

/// Links without weaving: passes the line on unchanged, except for the words for an LTO plugin.
fn link_plainly(linker: &Path, line: &Line) -> Result<ExitStatus> {
    let args = line.write(&|_| None, &ExtraObjects::NONE);
    let scratch = scratch()?;
    linker::run(linker, &args, Some(scratch.path()))
}

/// Creates a private directory for temporary files of this link.
fn scratch() -> Result<Scratch> {
    Scratch::new("holloway-link-")
}
