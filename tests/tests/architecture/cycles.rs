//! Finds the cycles of a graph of files: its strongly connected components of two or more files.

use crate::names::FileImports;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Files that all import each other, directly or through others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cycle {
    /// The imports between its files, and the imported names.
    imports: FileImports,
}

impl Cycle {
    /// Returns all cycles of a graph.
    pub(crate) fn find_all(imports: &FileImports) -> BTreeSet<Self> {
        let mut targets = BTreeMap::<&Path, Vec<&Path>>::new();
        for (from, to) in imports.keys() {
            targets.entry(from).or_default().push(to);
        }
        let reachable: BTreeMap<&Path, BTreeSet<&Path>> = targets
            .keys()
            .map(|file| (*file, reachable(&targets, file)))
            .collect();
        let reaches = |from: &Path, to: &Path| {
            let files = reachable.get(from);
            files.is_some_and(|files| files.contains(to))
        };
        let mut all = BTreeSet::new();
        for file in reachable.keys().filter(|file| reaches(file, file)) {
            let is_member = |other: &PathBuf| reaches(file, other) && reaches(other, file);
            let inner = imports.iter();
            let inner = inner.filter(|((from, to), _)| is_member(from) && is_member(to));
            all.insert(Self {
                imports: inner.map(|(k, v)| (k.clone(), v.clone())).collect(),
            });
        }
        all
    }

    /// Formats a line for each import, with files relative to `root`.
    pub(crate) fn describe(&self, root: &Path) -> String {
        let files: BTreeSet<&PathBuf> = self.imports.keys().map(|(from, _)| from).collect();
        let mut text = format!("a cycle of {} files:\n", files.len());
        let relative = |file: &Path| {
            let file = file.strip_prefix(root).unwrap_or(file);
            file.display().to_string()
        };
        for ((from, to), names) in &self.imports {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (from, to) = (relative(from), relative(to));
            writeln!(text, "  {from} -> {to}: {}", names.join(", "))
                .expect("a string takes everything");
        }
        text
    }
}

/// Returns the files that are reachable from a file by imports. The file itself is included only if
/// it is in a cycle.
fn reachable<'a>(
    targets: &BTreeMap<&'a Path, Vec<&'a Path>>,
    start: &'a Path,
) -> BTreeSet<&'a Path> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for target in targets.get(file).into_iter().flatten() {
            if seen.insert(*target) {
                open.push(target);
            }
        }
    }
    seen
}
