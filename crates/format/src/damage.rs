//! Damage of a file: the records that its parser leaves out, and the missing parts of recorded
//! streams.
//!
//! A [`Damage`] is the location of a loss, with a [`Fact`] that describes the loss. Both are
//! values: code matches on them, and never on their text. Sealed profiles contain the text of
//! facts, so this text is part of the file format and is in this crate ([`fact`]). The report crate
//! has all other sentences about a run.

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

/// A part of a map or profile that is left out because it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The damaged file.
    pub file: DamagedFile,
    /// Number of the damaged module in the image map, if the damage is in a module.
    pub module: Option<u32>,
    /// Number in the module of the function whose counts or map record are left out, if the damage
    /// is in a function.
    pub function: Option<u32>,
    /// Name of the function or of the module. The name is empty if it cannot be read.
    pub name: String,
    /// Byte offset of the damage in the file.
    pub offset: u64,
    /// The loss, or its reason.
    pub fact: Fact,
}

impl Damage {
    /// Damage that is not in a single function.
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

    /// A fact about all streams of a profile. It has the byte offset 0.
    pub fn of_streams(fact: Fact) -> Self {
        Self::of_file(DamagedFile::Profile, 0, fact)
    }

    /// The same damage, with the function that is left out.
    #[must_use]
    pub fn of_function(mut self, function: usize, name: &str) -> Self {
        self.function = Some(index32(function));
        self.name = name.to_owned();
        self
    }

    /// The same damage, with the module that contains it.
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
