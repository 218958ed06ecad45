//! The files that a stream kind stores beside a profile.
//!
//! A collector writes the first file, `<profile>.<extension>`, while the process runs. Sealing
//! reads the words that the raw profile still has, and writes a second file, which counts only
//! beside a sealed profile. So no word counts twice, wherever sealing is interrupted: the raw
//! profile and the second file change places in one step. When the profile is sealed, the second
//! file gets the name of the first.

use std::io;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;

use crate::files::read_regular;

/// The extension of a stream kind's first file.
pub(crate) const fn extension(kind: Kind) -> &'static str {
    match kind.traits().stream_file {
        Some(file) => file.extension,
        None => panic!("a stream kind has a file"),
    }
}

/// The names of the files that a kind stores beside a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SideFiles {
    /// Extension of the first file.
    pub(crate) extension: &'static str,
    /// The second file.
    pub(crate) second: SecondFile,
}

/// The relation of the second file to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondFile {
    /// `sealed.<extension>` holds everything, and replaces the first file.
    Replacement,
    /// `rest.<extension>` continues the first file.
    Continuation,
}

/// The state of the profile that files lie beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileState {
    /// It still has words of its streams.
    Raw,
    /// It has counts only.
    Sealed,
}

impl SideFiles {
    /// The extensions of the second and the first file: one file name may end with both.
    pub(crate) fn extensions(self) -> [String; 2] {
        let prefix = match self.second {
            SecondFile::Replacement => "sealed",
            SecondFile::Continuation => "rest",
        };
        [
            format!("{prefix}.{}", self.extension),
            self.extension.to_owned(),
        ]
    }

    /// The file that a collector writes.
    pub(crate) fn first(self, profile: &Path) -> PathBuf {
        profile.with_extension(self.extension)
    }

    /// The file that sealing writes.
    pub(crate) fn second(self, profile: &Path) -> PathBuf {
        let [second, _] = self.extensions();
        profile.with_extension(second)
    }

    /// Reads the files that count beside a profile, as far as they can be read.
    pub(crate) fn read(self, profile: &Path, state: ProfileState) -> Vec<Vec<u8>> {
        let (first, second) = (self.first(profile), self.second(profile));
        let files = match (state, self.second) {
            (ProfileState::Raw, _) => vec![first],
            (ProfileState::Sealed, SecondFile::Replacement) => vec![second, first],
            (ProfileState::Sealed, SecondFile::Continuation) => vec![first, second],
        };
        let contents = files.iter().filter_map(|file| read_regular(file).ok());
        match self.second {
            SecondFile::Replacement => contents.take(1).collect(),
            SecondFile::Continuation => contents.collect(),
        }
    }

    /// Removes the second file, which an interrupted sealing may have left.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(crate) fn forget_second(self, profile: &Path) -> io::Result<()> {
        match std::fs::remove_file(self.second(profile)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The profile is sealed: gives the second file the name of the first. A continuation keeps its
    /// name if there is a first file.
    pub(crate) fn rename_second(self, profile: &Path) {
        let (first, second) = (self.first(profile), self.second(profile));
        let is_free = match self.second {
            SecondFile::Replacement => true,
            SecondFile::Continuation => !first.exists(),
        };
        if is_free {
            // Most often there is no second file.
            std::fs::rename(second, first).ok();
        }
    }
}
