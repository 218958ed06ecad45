//! Finds the crates that changed since a commit, and the crates that depend on them.

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
    /// The integration tests of these packages, each as package and test.
    pub(crate) integration_tests: BTreeSet<(String, String)>,
}

impl Changes {
    /// Compares the working tree, including uncommitted and untracked files, with a commit.
    ///
    /// # Errors
    /// If git or cargo fails.
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
                // The workspace's manifest, lock file, and configuration affect every package.
                None if is_workspace_file(file) => changed.extend(folders.values().cloned()),
                None => {}
            }
        }
        let mut affected = changed.clone();
        loop {
            let depends = |name: &cargo_metadata::Dependency| affected.contains(&name.name);
            let dependents = metadata.packages.iter().filter(|package| {
                !affected.contains(package.name.as_str())
                    && package.dependencies.iter().any(depends)
            });
            let dependents: Vec<String> =
                dependents.map(|package| package.name.to_string()).collect();
            if dependents.is_empty() {
                break;
            }
            affected.extend(dependents);
        }
        let packages = metadata.packages.iter();
        let tested = packages.filter(|package| affected.contains(package.name.as_str()));
        let integration_tests = tested.flat_map(|package| {
            let tests = package.targets.iter().filter(|target| target.is_test());
            tests.map(|test| (package.name.to_string(), test.name.clone()))
        });
        Self {
            integration_tests: integration_tests.collect(),
            dependents: affected.difference(&changed).cloned().collect(),
            changed,
        }
    }
}

/// Returns the commit where this branch left `main`. On `main`, this is the last commit.
///
/// # Errors
/// If git fails.
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

/// The names of packages, by their folders relative to the workspace's root.
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
    let mut containing = folders
        .iter()
        .filter(|(folder, _)| file.starts_with(folder));
    containing.next().map(|(_, package)| package.as_str())
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
        let actual = Changes::of_files(&files, &metadata);
        for (actual, expected) in [(&actual.changed, changed), (&actual.dependents, dependents)] {
            let missing: Vec<_> = expected.iter().filter(|e| !actual.contains(**e)).collect();
            assert!(
                missing.is_empty(),
                "{files:?}: {missing:?} not in {actual:?}"
            );
        }
        if changed.is_empty() {
            assert!(actual.changed.is_empty() && actual.dependents.is_empty());
        }
    }

    #[test]
    fn a_file_changes_its_package_and_the_dependents() {
        let dependents = ["holloway", "holloway-report", "holloway-tests", "xtask"];
        check(
            &["crates/analysis/src/lib.rs"],
            &["holloway-analysis"],
            &dependents,
        );
        check(&["crates/holloway/src/main.rs"], &["holloway"], &[]);
        check(&["xtask/src/main.rs"], &["xtask"], &[]);
    }

    #[test]
    fn the_workspace_manifest_changes_all_packages_and_pages_change_none() {
        check(&["Cargo.lock"], &["holloway-abi", "holloway", "xtask"], &[]);
        check(&["docs/guide.md", "README.md"], &[], &[]);
    }
}
