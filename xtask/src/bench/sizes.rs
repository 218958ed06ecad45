//! Measures the machine code in executables.

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionKind};
use std::path::Path;

/// Returns the total size of the executable sections of an ELF file, in bytes.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn code_bytes(executable: &Path) -> Result<u64> {
    let bytes = std::fs::read(executable)
        .with_context(|| format!("cannot read {}", executable.display()))?;
    let file = object::File::parse(&*bytes)
        .with_context(|| format!("cannot read {}", executable.display()))?;
    let code = file.sections().filter(|s| s.kind() == SectionKind::Text);
    Ok(code.map(|s| s.size()).sum())
}
