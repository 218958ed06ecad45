//! The command crate's part in a link: prints messages, makes guides from runs, and turns the
//! linker's status into an exit code.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use holloway_collect::child;
use holloway_format::Guide;
use holloway_link::{GuideCheck, GuideError, Host, Message, Severity};

use crate::failure::{Failure, Result};
use crate::{guide, status};

/// Prints the messages of links, and reads runs for them.
pub(crate) struct LinkHost;

/// A link step of [`holloway_link::step`].
type Step = fn(Vec<OsString>, &dyn Host) -> holloway_link::Result<ExitStatus>;

/// Runs a link step and returns the linker's exit code.
///
/// # Errors
/// The link step fails.
pub(crate) fn link(step: Step, args: &[OsString]) -> Result<ExitCode> {
    let status = step(args.to_vec(), &LinkHost)?;
    Ok(ExitCode::from(child::exit_code(status)))
}

/// Prints a message of a link.
pub(crate) fn print(message: &Message) {
    let text = message.to_string();
    match message.severity() {
        Severity::Warning => status::warn(&text),
        Severity::Note => status::note(&text),
    }
}

impl Host for LinkHost {
    fn show(&self, message: &Message) {
        print(message);
    }

    fn check_guide(&self, named: &Path, check: GuideCheck) -> std::result::Result<(), GuideError> {
        let checked = match check {
            GuideCheck::Exists => guide::check(named),
            GuideCheck::Readable => guide::check_whole(named),
        };
        checked.map_err(boxed)
    }

    fn read_guide(&self, named: &Path) -> std::result::Result<Guide, GuideError> {
        guide::read(named).map_err(boxed)
    }
}

fn boxed(failure: Failure) -> GuideError {
    failure.message.into()
}
