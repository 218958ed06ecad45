//! Lists the programs of tests/programs with the directives in their sources.

use crate::directives::Directives;
use crate::tool;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// A folder of tests/programs.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the folder.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The language.
    pub language: Language,
    /// The directives in its sources.
    pub directives: Directives,
}

/// Returns all programs, sorted by name.
///
/// # Errors
/// If a folder has no main file, or a directive is unknown.
pub fn all() -> Result<Vec<Program>> {
    let root = tool::tests_directory().join("programs");
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(&root)? {
        let folder = entry?.path();
        if folder.is_dir() && !folder.ends_with("include") {
            programs.push(Program::read(&folder)?);
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// The language of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `main.c`.
    C,
    /// `main.cpp`.
    Cpp,
    /// `main.rs`, one file.
    Rust,
    /// A Cargo project.
    Cargo,
}

impl Program {
    /// Reads a folder.
    ///
    /// # Errors
    /// If the folder has no main file, or a directive is unknown.
    pub fn read(folder: &Path) -> Result<Self> {
        let kinds = [
            ("Cargo.toml", Language::Cargo),
            ("main.rs", Language::Rust),
            ("main.cpp", Language::Cpp),
            ("main.c", Language::C),
        ];
        let language = kinds
            .iter()
            .find(|(file, _)| folder.join(file).is_file())
            .map(|(_, l)| *l);
        let language = language.with_context(|| {
            format!(
                "{}: no Cargo.toml, main.rs, main.cpp or main.c",
                folder.display()
            )
        })?;
        let name = folder
            .file_name()
            .context("a folder has a name")?
            .to_string_lossy()
            .into_owned();
        Ok(Self {
            name,
            folder: folder.to_owned(),
            language,
            directives: Directives::read(folder)?,
        })
    }

    /// A number that distributes programs over variants: the sum of the bytes of the name.
    pub(super) fn number(&self) -> usize {
        self.name.bytes().map(usize::from).sum()
    }
}
