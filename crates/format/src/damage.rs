//! What was lost in a file that could be read otherwise, so that reports can say it aloud.

use std::fmt;

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
    /// Where.
    pub file: DamagedFile,
    /// Module in the image map, where the damage concerns one.
    pub module: Option<u32>,
    /// Function in the module, where the damage concerns one: its counts or its map record are left out.
    pub function: Option<u32>,
    /// Name of the function (or of the module), empty where it can't be read.
    pub name: String,
    /// Byte offset in the file.
    pub offset: u64,
    /// What is wrong, in words, lower case.
    pub what: String,
}

impl Damage {
    /// Damage to a file that concerns no single function.
    pub fn of_file(file: DamagedFile, offset: u64, what: impl fmt::Display) -> Self {
        Self {
            file,
            module: None,
            function: None,
            name: String::new(),
            offset,
            what: what.to_string(),
        }
    }

    /// The same with the function it costs.
    #[must_use]
    pub fn of_function(mut self, function: usize, name: &str) -> Self {
        self.function = Some(index32(function));
        self.name = name.to_owned();
        self
    }

    /// The same with the module it concerns.
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
            let of = if self.function.is_some() { " of" } else { "," };
            write!(f, "{of} module {module}")?;
        }
        if !self.name.is_empty() {
            write!(f, " ({})", self.name)?;
        }
        write!(f, ": {}", self.what)
    }
}
