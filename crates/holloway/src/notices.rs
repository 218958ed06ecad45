//! Prints the warnings about problems that a collector meets while a program runs.

use std::io::Write as _;

use holloway_collect::live_phases::{PhaseNotice, PhaseNotify};
use holloway_collect::notice::Notice;
use holloway_report::live_phases::LivePhase;
use holloway_report::{json, terminal};

use crate::cli::OutputFormat;
use crate::status;

/// The function that prints transitions in this format.
pub(crate) fn phases(format: OutputFormat) -> PhaseNotify {
    match format {
        OutputFormat::Text => |notice| {
            let cwd = std::env::current_dir().ok();
            let (word, text) = terminal::live_phases::status(&live_phase(notice), cwd.as_deref());
            status::line(word, &text);
        },
        OutputFormat::Json => |notice| {
            let cwd = std::env::current_dir().ok();
            let line = json::live_phases::line(&live_phase(notice), cwd.as_deref());
            // Stderr may be closed, so an error is ignored.
            writeln!(std::io::stderr(), "{line}").ok();
        },
    }
}

fn live_phase<'a>(notice: &'a PhaseNotice<'a>) -> LivePhase<'a> {
    LivePhase {
        image: &notice.head.image,
        map: notice.map,
        process: notice.head.pid,
        elapsed: notice.elapsed,
        transition: notice.transition,
    }
}

/// Prints a notice of the collector as a warning on stderr.
pub(crate) fn warn(notice: Notice) {
    match notice {
        Notice::Unwritten(error) => status::warn(&error.to_string()),
        // The profile cannot be read, so holloway does not know whether its program has streams.
        Notice::PermissionDenied { profile } => status::warn(&format!(
            "cannot take the paths out of {}: permission denied; if its program collects loops, a trace or times, the program waits until holloway ends: end it, and run both as one user",
            profile.display()
        )),
    }
}
