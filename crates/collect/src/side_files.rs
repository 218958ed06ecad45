//! Side files: the files next to a profile that contain its analyzed streams.
//!
//! A collector writes the first file, `<profile>.<extension>`, while the process runs. Sealing
//! analyzes the words that are still in the raw profile, and writes a second file. Readers ignore
//! the second file as long as the profile is raw. So if sealing is interrupted, no word is counted
//! twice: replacing the raw profile by a sealed one removes its words and makes the second file
//! valid, in one step. Afterwards, the second file gets the name of the first, unless it continues
//! an existing first file.

use std::io;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;

use crate::files::read_regular;

/// Returns the extension of a stream kind's first file.
pub(crate) const fn extension(kind: Kind) -> &'static str {
    match kind.traits().stream_file {
        Some(file) => file.extension,
        None => panic!("the kind has no streams"),
    }
}

/// The names of the side files of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SideFiles {
    /// The extension of the first file.
    pub(crate) extension: &'static str,
    /// How the second file relates to the first.
    pub(crate) second: SecondFile,
}

/// The relation of the second file to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondFile {
    /// The second file (`sealed.<extension>`) includes the content of the first, and replaces it.
    Replacement,
    /// The second file (`rest.<extension>`) continues the first file.
    Continuation,
}

/// The state of a profile with side files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileState {
    /// The profile may still contain words of streams.
    Raw,
    /// The profile contains counts, but no words.
    Sealed,
}

impl SideFiles {
    /// Returns the extensions of the second and the first file. The longer extension comes first,
    /// because the name of a second file ends with both.
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

    /// Returns the path of the first file, which a collector writes.
    pub(crate) fn first(self, profile: &Path) -> PathBuf {
        profile.with_extension(self.extension)
    }

    /// Returns the path of the second file, which sealing writes.
    pub(crate) fn second(self, profile: &Path) -> PathBuf {
        let [second, _] = self.extensions();
        profile.with_extension(second)
    }

    /// Reads the valid files next to a profile in this state. Skips files that cannot be read.
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

    /// Removes the second file of an interrupted sealing, if there is one.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub(crate) fn remove_second(self, profile: &Path) -> io::Result<()> {
        match std::fs::remove_file(self.second(profile)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Gives the second file the name of the first after the profile has been sealed. A
    /// continuation keeps its name if a first file exists.
    pub(crate) fn rename_second(self, profile: &Path) {
        let (first, second) = (self.first(profile), self.second(profile));
        let is_free = match self.second {
            SecondFile::Replacement => true,
            SecondFile::Continuation => !first.exists(),
        };
        if is_free {
            // Usually there is no second file.
            std::fs::rename(second, first).ok();
        }
    }
}
