//! ARCHITECTURE.md's table of crates is what cargo says: every crate is there, and arrows go down only.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cargo_metadata::{DependencyKind, MetadataCommand};
use holloway_tests::tool::tests_directory;
use std::collections::{BTreeMap, BTreeSet};

/// A row: level, and the crates it says it uses (`None`: all of them).
struct Row {
    level: u32,
    uses: Option<BTreeSet<String>>,
}

#[test]
fn the_table_of_crates_is_true() {
    let root = tests_directory().parent().unwrap();
    let table = table(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let crates = root.join("crates");
    let mut seen = BTreeSet::new();
    for package in &metadata.packages {
        let Ok(folder) = package
            .manifest_path
            .parent()
            .unwrap()
            .as_std_path()
            .strip_prefix(&crates)
        else {
            continue;
        };
        let name = folder.to_str().unwrap().to_owned();
        let row = table
            .get(&name)
            .unwrap_or_else(|| panic!("ARCHITECTURE.md's table lacks the crate `{name}`"));
        let mut uses = BTreeSet::new();
        for dependency in package
            .dependencies
            .iter()
            .filter(|d| d.kind == DependencyKind::Normal)
        {
            let Some(path) = &dependency.path else {
                continue;
            };
            let other = path.file_name().unwrap().to_owned();
            let below = table
                .get(&other)
                .unwrap_or_else(|| panic!("`{name}` uses `{other}`, which the table lacks"));
            assert!(
                below.level < row.level,
                "`{name}` (level {}) uses `{other}` (level {}): an arrow up",
                row.level,
                below.level
            );
            uses.insert(other);
        }
        if let Some(said) = &row.uses {
            let unsaid: Vec<_> = uses.difference(said).collect();
            assert!(
                unsaid.is_empty(),
                "`{name}` uses {unsaid:?}, which its row doesn't say"
            );
        }
        seen.insert(name);
    }
    let gone: Vec<_> = table.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(
        gone.is_empty(),
        "ARCHITECTURE.md's table lists {gone:?}, which are no crates"
    );
}

/// Rows `| `name` | level | uses | … |`.
fn table(text: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        let Ok(level) = cells[2].parse() else {
            continue;
        };
        let uses = match cells[3] {
            text if text.contains("all") => None,
            // In brackets stands what of the crate is used: `format` (`abi.rs`, by path).
            text => Some(
                text.split('(')
                    .next()
                    .unwrap()
                    .split(',')
                    .map(|c| c.trim().trim_matches('`').to_owned())
                    .collect(),
            ),
        };
        rows.insert(name, Row { level, uses });
    }
    assert!(rows.len() > 5, "ARCHITECTURE.md has a table of crates");
    rows
}
