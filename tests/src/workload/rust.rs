//! Builds Rust programs: ripgrep from its crate, and the packages of tests/workloads/rust.

use super::flavor::Flavor;
use crate::files::{copy_program, copy_tree};
use crate::program::find_executable;
use crate::registry;
use crate::tool::{run_ok, tests_directory};
use anyhow::Result;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package to build.
#[derive(Debug)]
pub struct RustSource {
    /// Its name in paths, and cargo's name of the package.
    pub name: &'static str,
    /// The executable.
    pub(super) binary: &'static str,
    /// Whether the package is a crate of the registry. If not, it is a member of the workspace
    /// tests/workloads/rust.
    pub(super) from_registry: bool,
}

impl RustSource {
    /// Copies the project to `folder`: the crate, or the whole workspace, whose members share a
    /// Cargo.lock.
    pub(super) fn copy(&self, folder: &Path) -> Result<()> {
        if self.from_registry {
            registry::copy(self.name, folder)?;
            // It may lie below another workspace, which it is no member of.
            let mut manifest = OpenOptions::new()
                .append(true)
                .open(folder.join("Cargo.toml"))?;
            Ok(manifest.write_all(b"\n[workspace]\n")?)
        } else {
            copy_tree(&tests_directory().join("workloads/rust"), folder)
        }
    }

    /// Returns the files and folders of a copied project that belong to this program.
    pub(super) fn parts(&self, folder: &Path) -> Vec<PathBuf> {
        if self.from_registry {
            vec![folder.to_owned()]
        } else {
            vec![folder.join("Cargo.lock"), folder.join(self.name)]
        }
    }

    /// Builds a copied project by cargo alone and without optimization, which takes a third of the
    /// time. Returns the executable.
    pub(super) fn build_plain(&self, folder: &Path) -> Result<PathBuf> {
        let target = folder.join("target-plain");
        let mut command = build_command(folder, Flavor::Native, &target);
        command.args(["--package", self.name]);
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        command.env("CARGO_PROFILE_RELEASE_LTO", "off");
        run_ok(command.env("CARGO_PROFILE_RELEASE_DEBUG", "false"))?;
        find_executable(&target, self.binary)
    }

    /// Builds a copied project. Returns the executable, whose name contains the flavor.
    pub(super) fn build(&self, folder: &Path, flavor: Flavor) -> Result<PathBuf> {
        let target = folder.join(format!("target-{}", flavor.compiled()));
        let mut command = build_command(folder, flavor, &target);
        run_ok(command.args(["--package", self.name]))?;
        // Another flavor of Holloway's is linked in the same place.
        let executable = folder.join(format!("program-{}-{}", self.name, flavor.name()));
        copy_program(&find_executable(&target, self.binary)?, &executable)?;
        Ok(executable)
    }
}

/// Returns the cargo command for a release build of a flavor.
#[must_use]
pub fn build_command(folder: &Path, flavor: Flavor, target: &Path) -> Command {
    let mut command = flavor.cargo(folder);
    command
        .current_dir(folder)
        .args(["--release", "--locked"])
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
        // rhai's hash tables are seeded when they are compiled: the same in each flavor.
        .env("CONST_RANDOM_SEED", "1");
    let flags = match flavor {
        Flavor::Peer => Some("-Cprofile-generate".to_owned()),
        Flavor::PeerOptimized => {
            let counts = Flavor::peer_counts(folder);
            Some(format!("-Cprofile-use={}", counts.display()))
        }
        _ => None,
    };
    if let Some(flags) = flags {
        // With --target the flags stay away from build scripts and proc macros.
        command
            .args(["--target", "x86_64-unknown-linux-gnu"])
            .env("RUSTFLAGS", flags);
    }
    command
}
