//! Provides the sources of real programs from the cargo registry.
//!
//! tests/registry lists the crates with checksums. `cargo fetch` unpacks them, and `cargo metadata`
//! reports their folders. Each crate is copied before it is built, so the registry's copy never
//! changes.

use crate::files::copy_tree;
use crate::tool::{clean, run_ok, tests_directory};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Copies a crate's unpacked source to `target`. `name` is a dependency in
/// tests/registry/Cargo.toml.
///
/// # Errors
/// If Cargo cannot fetch it, or it cannot be copied.
pub fn copy(name: &str, target: &Path) -> Result<()> {
    copy_tree(&source(name)?, target)
}

/// Returns the folder in which cargo has unpacked a crate.
///
/// # Errors
/// If Cargo cannot fetch it.
pub fn source(name: &str) -> Result<PathBuf> {
    let version = version(name)?;
    let folder = unpacked()?.join(format!("{name}-{version}"));
    ensure!(
        folder.is_dir(),
        "cargo fetched {name} {version}, but didn't unpack it as {}",
        folder.display()
    );
    Ok(folder)
}

/// Returns the version of a crate in tests/registry/Cargo.lock.
fn version(name: &str) -> Result<String> {
    let lock = std::fs::read_to_string(tests_directory().join("registry/Cargo.lock"))?;
    let (_, rest) = lock
        .split_once(&format!("name = \"{name}\"\nversion = \""))
        .with_context(|| format!("{name} isn't locked"))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

/// The directory in which cargo unpacks this registry's crates.
fn unpacked() -> Result<PathBuf> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    if let Some(folder) = FOLDER.get() {
        return Ok(folder.clone());
    }
    let manifest = tests_directory().join("registry/Cargo.toml");
    let cargo = |verb: &str, more: &[&str]| {
        let mut command = Command::new("cargo");
        clean(&mut command);
        command
            .arg(verb)
            .arg("--manifest-path")
            .arg(&manifest)
            .args(more);
        run_ok(&mut command)
    };
    cargo("fetch", &["--locked", "--quiet"])?;
    let metadata = cargo(
        "metadata",
        &["--locked", "--offline", "--format-version", "1"],
    )?;
    let json: serde_json::Value = serde_json::from_slice(&metadata.stdout)?;
    let packages = json["packages"]
        .as_array()
        .context("metadata lists packages")?;
    let library = packages
        .iter()
        .find(|p| p["name"] == "bzip2-sys")
        .context("bzip2-sys is a dependency")?;
    let manifest = Path::new(
        library["manifest_path"]
            .as_str()
            .context("a package has a manifest")?,
    );
    let folder = manifest
        .parent()
        .and_then(Path::parent)
        .context("a crate is unpacked in a folder")?;
    Ok(FOLDER.get_or_init(|| folder.to_owned()).clone())
}
