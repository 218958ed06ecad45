//! Losses of a file: the records that its reader leaves out, and the missing parts of recorded
//! streams.
//!
//! A [`Damage`] says where and holds a [`Fact`], which says what. Both are values: code matches on
//! them, and never on their text. Sealed profiles carry the text of a fact, so the text is part of
//! that format and stays here ([`fact`]); every other sentence about a run is the report's.

pub mod fact;

use std::fmt;

pub use fact::{Fact, Index, MissingPart, MissingPaths, Percent, Sample, SpoolDamage};

/// The file that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DamagedFile {
    /// The path map.
    Map,
    /// The profile.
    Profile,
}

/// A part of a map or profile that is left out since it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file that lost it.
    pub file: DamagedFile,
    /// Module in the image map, if the damage concerns one.
    pub module: Option<u32>,
    /// Function in the module whose counts or map record are left out, if the damage concerns one.
    pub function: Option<u32>,
    /// Name of the function (or of the module), empty if it can't be read.
    pub name: String,
    /// Byte offset in the file.
    pub offset: u64,
    /// The loss, or its reason.
    pub fact: Fact,
}

impl Damage {
    /// Damage to a file that concerns no single function.
    pub fn of_file(file: DamagedFile, offset: u64, fact: impl Into<Fact>) -> Self {
        Self {
            file,
            module: None,
            function: None,
            name: String::new(),
            offset,
            fact: fact.into(),
        }
    }

    /// A fact about all streams of a profile, rather than about a place in its file.
    pub fn of_streams(fact: Fact) -> Self {
        Self::of_file(DamagedFile::Profile, 0, fact)
    }

    /// The same damage, with the function that it costs.
    #[must_use]
    pub fn of_function(mut self, function: usize, name: &str) -> Self {
        self.function = Some(index32(function));
        self.name = name.to_owned();
        self
    }

    /// The same damage, with the module that it concerns.
    #[must_use]
    pub fn in_module(mut self, module: usize) -> Self {
        self.module = Some(index32(module));
        self
    }
}

fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match self.file {
            DamagedFile::Map => "path map",
            DamagedFile::Profile => "profile",
        };
        write!(f, "{file} damaged at byte {}", self.offset)?;
        if let Some(function) = self.function {
            write!(f, ", function {function}")?;
        }
        if let Some(module) = self.module {
            let preposition = if self.function.is_some() { " of" } else { "," };
            write!(f, "{preposition} module {module}")?;
        }
        if !self.name.is_empty() {
            write!(f, " ({})", self.name)?;
        }
        write!(f, ": {}", self.fact)
    }
}
