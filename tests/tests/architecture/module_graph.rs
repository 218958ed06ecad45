//! Tests that the modules of every crate form a directed acyclic graph.
//!
//! The nodes are files. An edge means that one file uses a name of another. A failure lists each
//! cycle with the names on its edges:
//!
//! ```text
//! cargo test -p holloway-tests --test architecture modules_form
//! ```

use crate::cycles::Cycle;
use crate::module_tree::ModuleTree;
use crate::names::file_imports;
use cargo_metadata::MetadataCommand;
use holloway_tests::tool::tests_directory;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn modules_form_a_directed_acyclic_graph() {
    let root = tests_directory().parent().expect("the workspace's root");
    let mut metadata = MetadataCommand::new();
    let metadata = metadata.manifest_path(root.join("Cargo.toml")).no_deps();
    let metadata = metadata.exec().expect("cargo describes the workspace");
    let mut failures = String::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().expect("a package's folder");
        let folder = folder
            .strip_prefix(root)
            .expect("a member lies in the workspace");
        let mut cycles = BTreeSet::new();
        for target in &package.targets {
            let tree = ModuleTree::read(target.src_path.as_std_path(), &read_file);
            cycles.extend(Cycle::find_all(&file_imports(&tree)));
        }
        for cycle in &cycles {
            failures += &format!("{folder} has {}", cycle.describe(root));
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

fn read_file(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Checks the imports between the files of a crate whose root is `lib.rs`.
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let read = |path: &Path| {
        let file = files.iter().find(|(name, _)| Path::new(name) == path);
        file.map(|(_, source)| (*source).to_owned())
    };
    let imports = file_imports(&ModuleTree::read(Path::new("lib.rs"), &read));
    let shown = imports.iter().map(|((from, to), names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let [from, to] = [from, to].map(|file: &PathBuf| file.display().to_string());
        format!("{from} -> {to}: {}", names.join(" "))
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn a_reexport_leads_to_the_defining_file() {
    check(
        &[
            ("lib.rs", "mod a; mod b; pub use a::Fact;"),
            ("a.rs", "pub struct Fact;"),
            ("b.rs", "use crate::Fact;"),
        ],
        &["b.rs -> a.rs: Fact", "lib.rs -> a.rs: Fact"],
    );
}

#[test]
fn a_private_import_of_the_parent_leads_to_the_parent() {
    check(
        &[
            ("lib.rs", "mod a; mod b; use a::Fact; fn f(_: Fact) {}"),
            ("a.rs", "pub struct Fact;"),
            ("b.rs", "use super::Fact;"),
        ],
        &["b.rs -> lib.rs: Fact", "lib.rs -> a.rs: Fact"],
    );
}

#[test]
fn paths_in_types_expressions_and_macros_are_imports() {
    check(
        &[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "fn f() { let _ = super::b::make(); }"),
            (
                "b.rs",
                "pub fn make() -> Vec<crate::c::Cell> { Vec::new() }",
            ),
            (
                "c.rs",
                "use crate::d; pub struct Cell; fn g() { println!(\"{}\", d::NAME); }",
            ),
            (
                "d.rs",
                "pub const NAME: &str = \"d\"; impl crate::c::Cell {}",
            ),
        ],
        &[
            "a.rs -> b.rs: make",
            "b.rs -> c.rs: Cell",
            "c.rs -> d.rs: NAME",
            "d.rs -> c.rs: Cell",
        ],
    );
}

#[test]
fn use_trees_and_globs_are_followed() {
    check(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            (
                "a.rs",
                "use crate::{b::{self, One as Two}, c::*}; fn f(_: b::Other, _: Kind) {}",
            ),
            ("b.rs", "pub struct One; pub struct Other;"),
            ("c.rs", "pub use crate::b::Kind;"),
        ],
        &[
            "a.rs -> b.rs: Kind One Other",
            "a.rs -> c.rs: *",
            "c.rs -> b.rs: Kind",
        ],
    );
}

#[test]
fn inline_modules_belong_to_their_file_and_unit_tests_to_none() {
    check(
        &[
            ("lib.rs", "mod a; mod b; pub struct Root;"),
            (
                "a.rs",
                "pub mod inner { use super::super::b::Fact; mod deep; } #[cfg(test)] mod tests { use crate::Root; }",
            ),
            ("a/inner/deep.rs", "use crate::b; fn f() { b::go(); }"),
            (
                "b.rs",
                "pub struct Fact; pub fn go() {} #[cfg(test)] use crate::Root;",
            ),
        ],
        &["a/inner/deep.rs -> b.rs: go", "a.rs -> b.rs: Fact"],
    );
}

#[test]
fn macros_lead_to_the_module_that_defines_them() {
    check(
        &[
            ("lib.rs", "macro_rules! local { () => {} } mod a; mod b;"),
            ("a.rs", "#[macro_export] macro_rules! shared { () => {} }"),
            ("b.rs", "local!(); crate::shared!();"),
        ],
        &["b.rs -> a.rs: shared", "b.rs -> lib.rs: local"],
    );
}

#[test]
fn a_cycle_lists_its_files_and_names() {
    let file = PathBuf::from;
    let names = |name: &str| BTreeSet::from([name.to_owned()]);
    let imports = [
        ((file("a"), file("b")), names("B")),
        ((file("b"), file("c")), names("C")),
        ((file("c"), file("b")), names("B")),
        ((file("c"), file("d")), names("D")),
    ];
    let cycles = Cycle::find_all(&imports.into());
    let shown: Vec<String> = cycles.iter().map(|c| c.describe(Path::new(""))).collect();
    assert_eq!(shown, ["a cycle of 2 files:\n  b -> c: C\n  c -> b: B\n"]);
}
