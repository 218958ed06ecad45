//! The interface between the link step and its caller.

use std::path::Path;

use holloway_format::Guide;

use crate::message::Message;

/// The reason why the run that `--guide` names cannot be used, in the caller's words.
pub type GuideError = Box<dyn std::error::Error + Send + Sync>;

/// How far a guide is checked before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuideCheck {
    /// The run exists. For compilations, which do not read the guide.
    Exists,
    /// The guide can be read. For links, which read it later.
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
