//! Tests that the table of crates in ARCHITECTURE.md agrees with `cargo metadata`: it lists every
//! crate, and dependencies lead to lower levels only.

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use holloway_tests::tool::tests_directory;
use std::collections::{BTreeMap, BTreeSet};

/// A row of the table.
struct Row {
    level: u32,
    /// The crates that the row lists; `None` for "all of them".
    dependencies: Option<BTreeSet<String>>,
}

#[test]
fn the_table_of_crates_is_true() {
    let root = tests_directory().parent().unwrap();
    let table = read_table(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let crates = root.join("crates");
    let mut seen = BTreeSet::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().unwrap().as_std_path();
        if let Ok(name) = folder.strip_prefix(&crates) {
            let name = name.to_str().unwrap();
            check_row(&table, name, package);
            seen.insert(name.to_owned());
        }
    }
    let unknown: Vec<_> = table.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(
        unknown.is_empty(),
        "ARCHITECTURE.md's table lists {unknown:?}, which are no crates"
    );
}

/// Checks that the crate's dependencies have lower levels, and that its row lists them.
fn check_row(table: &BTreeMap<String, Row>, name: &str, package: &Package) {
    let row = table
        .get(name)
        .unwrap_or_else(|| panic!("ARCHITECTURE.md's table lacks the crate `{name}`"));
    let mut used = BTreeSet::new();
    for dependency in &package.dependencies {
        let (DependencyKind::Normal, Some(path)) = (dependency.kind, &dependency.path) else {
            continue;
        };
        let other = path.file_name().unwrap().to_owned();
        let below = table
            .get(&other)
            .unwrap_or_else(|| panic!("`{name}` uses `{other}`, which the table lacks"));
        assert!(
            below.level < row.level,
            "`{name}` (level {}) uses `{other}` (level {}): dependencies lead to lower levels",
            row.level,
            below.level
        );
        used.insert(other);
    }
    if let Some(listed) = &row.dependencies {
        let missing: Vec<_> = used.difference(listed).collect();
        assert!(
            missing.is_empty(),
            "`{name}` uses {missing:?}, which its row does not list"
        );
    }
}

/// Reads rows of the form `| name | level | uses | … |`, with the name in backquotes.
fn read_table(text: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        let Ok(level) = cells[2].parse() else {
            continue;
        };
        let dependencies = match cells[3] {
            text if text.contains("all") => None,
            // Brackets hold the part of the crate that is used.
            text => {
                let names = text.split('(').next().unwrap().split(',');
                Some(
                    names
                        .map(|c| c.trim().trim_matches('`').to_owned())
                        .collect(),
                )
            }
        };
        rows.insert(
            name,
            Row {
                level,
                dependencies,
            },
        );
    }
    assert!(rows.len() > 5, "ARCHITECTURE.md has a table of crates");
    rows
}
