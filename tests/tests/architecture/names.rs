//! Resolves paths to the files that define their names, and gives the imports between files.
//!
//! An import of a re-exported name leads to the file that defines the name: `use crate::Report`
//! leads to `report.rs` if `lib.rs` has `pub use report::Report`. If the module on the way imports
//! the name only privately, the import leads to that module. An import of a module leads nowhere by
//! itself, but the paths through it do.

use crate::module_tree::{Import, ImportVisibility, ModuleId, ModuleTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The names that the first file imports from the second.
pub(crate) type FileImports = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// The meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meaning {
    Module(ModuleId),
    /// An item that this module defines, or imports only for itself.
    ItemIn(ModuleId),
}

/// Who looks up a name of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookupFrom {
    /// In the module itself, which sees its private imports.
    Inside,
    /// In another module.
    Outside,
}

/// Re-exports may form a cycle. No real chain is longer than this.
const LONGEST_CHAIN: u32 = 16;

/// Returns all imports between two files of a crate.
pub(crate) fn file_imports(tree: &ModuleTree) -> FileImports {
    let mut all = FileImports::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let globs = module.imports.iter().filter(|import| import.name.is_none());
        for import in globs {
            for target in resolve(tree, id, &import.path, 0) {
                let (Meaning::Module(target) | Meaning::ItemIn(target)) = target;
                add(&mut all, tree, (id, target), "*");
            }
        }
        let named = module.imports.iter().filter(|import| import.name.is_some());
        let paths = named.map(|import| &import.path).chain(&module.mentions);
        for path in paths {
            for target in resolve(tree, id, path, 0) {
                if let Meaning::ItemIn(target) = target {
                    add(&mut all, tree, (id, target), &shown_name(tree, path));
                }
            }
        }
    }
    all
}

fn add(all: &mut FileImports, tree: &ModuleTree, (from, to): (ModuleId, ModuleId), name: &str) {
    let [from, to] = [from, to].map(|id| tree.modules[id].file.clone());
    if from != to {
        all.entry((from, to)).or_default().insert(name.to_owned());
    }
}

/// The name of an item in messages: for `page::Kind::Text` it is `Kind`.
fn shown_name(tree: &ModuleTree, path: &[String]) -> String {
    let is_module = |name: &String| {
        let mut modules = tree.modules.iter();
        matches!(name.as_str(), "crate" | "self" | "super")
            || modules.any(|module| module.children.contains_key(name))
    };
    let item = path.iter().find(|name| !is_module(name));
    item.or(path.last()).cloned().unwrap_or_default()
}

/// Resolves a path in a module. The result is empty if the path leads out of the crate.
fn resolve(tree: &ModuleTree, module: ModuleId, path: &[String], depth: u32) -> Vec<Meaning> {
    let Some((first, rest)) = path.split_first() else {
        return Vec::new();
    };
    if depth > LONGEST_CHAIN {
        return Vec::new();
    }
    let start = match first.as_str() {
        "crate" => vec![Meaning::Module(0)],
        "self" => vec![Meaning::Module(module)],
        "super" => {
            let parent = tree.modules[module].parent;
            parent.map(Meaning::Module).into_iter().collect()
        }
        name => {
            let mut meanings = look_up(tree, module, name, LookupFrom::Inside, depth);
            if meanings.is_empty() && rest.is_empty() {
                meanings.extend(macro_above(tree, module, name));
            }
            meanings
        }
    };
    start
        .into_iter()
        .flat_map(|start| walk(tree, start, rest, depth))
        .collect()
}

/// Follows the remaining path from a module to an item.
fn walk(tree: &ModuleTree, start: Meaning, path: &[String], depth: u32) -> Vec<Meaning> {
    let (Meaning::Module(module), Some((name, rest))) = (start, path.split_first()) else {
        // The part after an item is a variant, a constant, or a method of the item.
        return vec![start];
    };
    if name == "super" {
        let parent = tree.modules[module].parent;
        let parent = parent.map(Meaning::Module).into_iter();
        return parent.flat_map(|p| walk(tree, p, rest, depth)).collect();
    }
    let mut meanings = look_up(tree, module, name, LookupFrom::Outside, depth);
    if meanings.is_empty() {
        let exported = tree.exported_macros.get(name).filter(|_| module == 0);
        meanings.push(Meaning::ItemIn(exported.copied().unwrap_or(module)));
    }
    let meanings = meanings.into_iter();
    meanings.flat_map(|f| walk(tree, f, rest, depth)).collect()
}

/// Looks up a name in a module.
fn look_up(
    tree: &ModuleTree,
    id: ModuleId,
    name: &str,
    from: LookupFrom,
    depth: u32,
) -> Vec<Meaning> {
    let module = &tree.modules[id];
    if let Some(children) = module.children.get(name) {
        return children.iter().copied().map(Meaning::Module).collect();
    }
    if module.items.contains(name) {
        return vec![Meaning::ItemIn(id)];
    }
    let follow = |import: &Import, path: &[String]| -> Vec<Meaning> {
        let is_visible =
            from == LookupFrom::Inside || import.visibility == ImportVisibility::Reexport;
        match is_visible {
            true => resolve(tree, id, path, depth + 1),
            false => vec![Meaning::ItemIn(id)],
        }
    };
    let named = module.imports.iter();
    let mut named = named.filter(|import| import.name.as_deref() == Some(name));
    if let Some(import) = named.next() {
        // A module of another crate and a child of this one may share a name.
        let is_itself = import.path.len() == 1 && import.path[0] == name;
        return match is_itself {
            true => Vec::new(),
            false => follow(import, &import.path),
        };
    }
    if depth > LONGEST_CHAIN {
        return Vec::new();
    }
    let globs = module.imports.iter().filter(|i| i.name.is_none());
    let mut meanings = BTreeSet::new();
    for glob in globs {
        if from == LookupFrom::Outside && glob.visibility == ImportVisibility::Private {
            continue;
        }
        for target in resolve(tree, id, &glob.path, depth + 1) {
            if let Meaning::Module(target) = target
                && target != id
            {
                let inner = look_up(tree, target, name, LookupFrom::Outside, depth + 1);
                meanings.extend(inner);
            }
        }
    }
    meanings.into_iter().collect()
}

/// Returns the ancestor module that defines a macro before it declares its children.
fn macro_above(tree: &ModuleTree, module: ModuleId, name: &str) -> Option<Meaning> {
    let mut above = tree.modules[module].parent;
    while let Some(id) = above {
        if tree.modules[id].macros.contains(name) {
            return Some(Meaning::ItemIn(id));
        }
        above = tree.modules[id].parent;
    }
    None
}
