//! The interface that the link step's caller implements: showing messages and reading guides.

use std::path::Path;

use holloway_format::Guide;

use crate::message::Message;

/// The reason why the run of `--guide` cannot be used. The caller words it.
pub type GuideError = Box<dyn std::error::Error + Send + Sync>;

/// How thoroughly a guide is checked before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuideCheck {
    /// The check is that the run exists. Compilations use this check, because they do not read the
    /// guide.
    Exists,
    /// The check is that the guide can be read. Links use this check, because they read the guide.
    Readable,
}

/// The caller of the link step. It shows messages and reads profiles.
pub trait Host: Sync {
    /// Shows a message to the user. The link continues.
    fn show(&self, message: &Message);

    /// Checks the value of `--guide`: a run, a profile, or a stored guide.
    ///
    /// # Errors
    /// If the check fails.
    fn check_guide(&self, path: &Path, check: GuideCheck) -> Result<(), GuideError>;

    /// Makes a guide from the value of `--guide`: a run, a profile, or a stored guide.
    ///
    /// # Errors
    /// If the run does not exist, or no part of the run can be read.
    fn read_guide(&self, path: &Path) -> Result<Guide, GuideError>;
}
