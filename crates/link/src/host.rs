//! The interface that the link step's caller implements: showing messages and reading guides.

use std::fmt;
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

/// The progress of weaving the modules of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weaving {
    /// The position of the module that was begun last, from 1 on.
    pub position: usize,
    /// The number of modules to weave. Modules in the cache do not count.
    pub modules: usize,
    /// The module: the name of its crate or source file.
    pub module: String,
}

impl fmt::Display for Weaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            position,
            modules,
            module,
        } = self;
        write!(f, "{position} of {modules}: {module}")
    }
}

/// The caller of the link step. It shows messages and reads profiles.
pub trait Host: Sync {
    /// Shows a message to the user. The link continues.
    fn show(&self, message: &Message);

    /// Shows which module of the link is being woven. `None` means that weaving has ended.
    fn show_weaving(&self, weaving: Option<&Weaving>);

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
