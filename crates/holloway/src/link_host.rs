//! Connects the crate `holloway-link` with the command line: prints the messages of links, makes
//! guides from runs, and turns the linker's status into an exit code.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::sync::Mutex;

use holloway_collect::child;
use holloway_format::Guide;
use holloway_link::{GuideCheck, GuideError, Host, Message, Severity, Weaving};

use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::{guide, status};

/// The [`Host`] of links: prints their messages, and reads guides for them.
#[derive(Default)]
pub(crate) struct LinkHost {
    /// The progress of weaving, while modules are woven.
    weaving: Mutex<Option<Progress>>,
}

/// A link step of [`holloway_link::step`].
type Step = fn(Vec<OsString>, &dyn Host) -> holloway_link::Result<ExitStatus>;

/// Runs a link step and returns the linker's exit code.
///
/// # Errors
/// If the link step fails.
pub(crate) fn link(step: Step, args: &[OsString]) -> Result<ExitCode> {
    let status = step(args.to_vec(), &LinkHost::default())?;
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
        // The message would be printed into the line of progress. The next module begins a new one.
        self.show_weaving(None);
        print(message);
    }

    fn show_weaving(&self, weaving: Option<&Weaving>) {
        let mut shown = self
            .weaving
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match weaving {
            Some(weaving) => shown
                .get_or_insert_with(|| Progress::start("Weaving", ""))
                .set(&weaving.to_string()),
            None => *shown = None,
        }
    }

    fn check_guide(
        &self,
        guide_or_run: &Path,
        check: GuideCheck,
    ) -> std::result::Result<(), GuideError> {
        let result = match check {
            GuideCheck::Exists => guide::check(guide_or_run),
            GuideCheck::Readable => guide::check_readable(guide_or_run),
        };
        result.map_err(guide_error)
    }

    fn read_guide(&self, guide_or_run: &Path) -> std::result::Result<Guide, GuideError> {
        guide::read(guide_or_run).map_err(guide_error)
    }
}

fn guide_error(failure: Failure) -> GuideError {
    failure.message.into()
}
