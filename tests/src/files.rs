//! Copies programs, and folders of their sources.

use crate::tool::run_ok;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Copies a program that is to be run.
///
/// The copy is made by a process of its own. If this process wrote it, a process that another
/// thread starts meanwhile would keep it open for writing for a moment, and such a program cannot
/// be run.
///
/// # Errors
/// If reading or writing fails.
pub fn copy_program(from: &Path, to: &Path) -> Result<()> {
    run_ok(Command::new("cp").arg("--").arg(from).arg(to))?;
    Ok(())
}

/// Copies a folder with everything below it.
///
/// # Errors
/// If reading or writing fails.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in
        std::fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?
    {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
