//! What the link step needs from its caller.

use std::path::Path;

use holloway_format::Guide;

use crate::message::Message;

/// Why the run that `--guide` names cannot be used, in the caller's words.
pub type GuideError = Box<dyn std::error::Error + Send + Sync>;

/// How far a guide is checked before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuideCheck {
    /// There is something of that name. For compilations, which don't read the guide.
    Exists,
    /// It can be read whole. For links, which are going to read it.
    Readable,
}

/// The caller of the link step: it shows messages, and reads profiles.
pub trait Host: Sync {
    /// Shows a message to the user. The link goes on.
    fn show(&self, message: &Message);

    /// Checks what `--guide` names.
    ///
    /// # Errors
    /// The check fails.
    fn check_guide(&self, named: &Path, check: GuideCheck) -> Result<(), GuideError>;

    /// Makes a guide from what `--guide` names: a run, a profile, or a guide that was kept.
    ///
    /// # Errors
    /// There is no such run, or no part of it can be read.
    fn read_guide(&self, named: &Path) -> Result<Guide, GuideError>;
}
