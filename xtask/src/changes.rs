//! The crates that changed, and the crates that depend on them.

use crate::workspace::root;
use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Packages to test after a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Packages with changed files.
    pub(crate) changed: BTreeSet<String>,
    /// Packages that depend on these, directly or through others.
    pub(crate) dependents: BTreeSet<String>,
    /// The integration tests of all these packages: package and test.
    pub(crate) integration_tests: BTreeSet<(String, String)>,
}

impl Changes {
    /// Compares the working tree, including uncommitted and untracked files, with a commit.
    ///
    /// # Errors
    /// git or cargo fails.
    pub(crate) fn since(commit: &str) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root().join("Cargo.toml"))
            .no_deps()
            .exec()?;
        Ok(Self::of_files(&changed_files(commit)?, &metadata))
    }

    fn of_files(files: &[String], metadata: &Metadata) -> Self {
        let folders = package_folders(metadata);
        let mut changed = BTreeSet::new();
        for file in files {
            match package_of(file, &folders) {
                Some(package) => drop(changed.insert(package.to_owned())),
                // The manifest, the lock file, and the configuration concern every package.
                None if is_workspace_file(file) => changed.extend(folders.values().cloned()),
                None => {}
            }
        }
        let mut all = changed.clone();
        loop {
            let depends = |name: &cargo_metadata::Dependency| all.contains(&name.name);
            let more = metadata.packages.iter().filter(|package| {
                !all.contains(package.name.as_str()) && package.dependencies.iter().any(depends)
            });
            let more: Vec<String> = more.map(|package| package.name.to_string()).collect();
            if more.is_empty() {
                break;
            }
            all.extend(more);
        }
        let packages = metadata.packages.iter();
        let tested = packages.filter(|package| all.contains(package.name.as_str()));
        let integration_tests = tested.flat_map(|package| {
            let tests = package.targets.iter().filter(|target| target.is_test());
            tests.map(|test| (package.name.to_string(), test.name.clone()))
        });
        Self {
            integration_tests: integration_tests.collect(),
            dependents: all.difference(&changed).cloned().collect(),
            changed,
        }
    }
}

/// The commit where this branch left `main`; on `main` itself, the last commit.
///
/// # Errors
/// git fails.
pub(crate) fn merge_base() -> Result<String> {
    for main in ["origin/main", "main"] {
        if let Ok(base) = git(&["merge-base", "HEAD", main]) {
            return Ok(base.trim().to_owned());
        }
    }
    Ok("HEAD".to_owned())
}

fn changed_files(commit: &str) -> Result<Vec<String>> {
    let tracked = git(&["diff", "--name-only", "--no-renames", commit])?;
    let untracked = git(&["ls-files", "--others", "--exclude-standard"])?;
    let lines = tracked.lines().chain(untracked.lines());
    Ok(lines.map(str::to_owned).collect())
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root())
        .output()
        .context("cannot start git")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Names of packages by their folders, relative to the workspace's root.
fn package_folders(metadata: &Metadata) -> BTreeMap<String, String> {
    let folders = metadata.packages.iter().filter_map(|package| {
        let folder = package.manifest_path.parent()?;
        let folder = folder.strip_prefix(&metadata.workspace_root).ok()?;
        Some((folder.to_string(), package.name.to_string()))
    });
    folders.collect()
}

fn package_of<'a>(file: &str, folders: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let file = Path::new(file);
    let mut holding = folders
        .iter()
        .filter(|(folder, _)| file.starts_with(folder));
    holding.next().map(|(_, package)| package.as_str())
}

fn is_workspace_file(file: &str) -> bool {
    matches!(file, "Cargo.toml" | "Cargo.lock") || file.starts_with(".cargo/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[&str], changed: &[&str], dependents: &[&str]) {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        let metadata = MetadataCommand::new()
            .manifest_path(root().join("Cargo.toml"))
            .no_deps()
            .exec()
            .expect("cargo describes the workspace");
        let found = Changes::of_files(&files, &metadata);
        for (found, expected) in [(&found.changed, changed), (&found.dependents, dependents)] {
            let missing: Vec<_> = expected.iter().filter(|e| !found.contains(**e)).collect();
            assert!(
                missing.is_empty(),
                "{files:?}: {missing:?} not in {found:?}"
            );
        }
        if changed.is_empty() {
            assert!(found.changed.is_empty() && found.dependents.is_empty());
        }
    }

    #[test]
    fn a_file_changes_its_package_and_those_above_it() {
        let above = ["holloway", "holloway-report", "holloway-tests", "xtask"];
        check(
            &["crates/analysis/src/lib.rs"],
            &["holloway-analysis"],
            &above,
        );
        check(&["crates/holloway/src/main.rs"], &["holloway"], &[]);
        check(&["xtask/src/main.rs"], &["xtask"], &[]);
    }

    #[test]
    fn the_workspace_manifest_changes_everything_and_pages_nothing() {
        check(&["Cargo.lock"], &["holloway-abi", "holloway", "xtask"], &[]);
        check(&["docs/guide.md", "README.md"], &[], &[]);
    }
}
