//! Prints the warnings about problems that a collector meets while a program runs.

use holloway_collect::notice::Notice;

use crate::status;

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
