//! Reads the modules of one crate: their files, and the names that each module defines, imports,
//! and mentions.
//!
//! Modules and imports with `#[cfg(test)]` are left out, because unit tests may use everything.
//! Tokens inside macro calls are read as paths, too (`format!("{}", crate::page::title())`).

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// The index of a module in [`ModuleTree::modules`].
pub(crate) type ModuleId = usize;

/// The segments of a path, as written: `crate`, `page`, `title`.
pub(crate) type NamePath = Vec<String>;

/// Reads a source file; `None` if there is none. Tests pass files that exist only in memory.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// All modules of a crate; the first one is its root.
#[derive(Debug, Default)]
pub(crate) struct ModuleTree {
    pub(crate) modules: Vec<Module>,
    /// Macros with `#[macro_export]`, which belong to the root no matter which module defines them.
    pub(crate) exported_macros: BTreeMap<String, ModuleId>,
}

/// A module, either a file or an inline `mod name { … }` in a file.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// `None` for the root.
    pub(crate) parent: Option<ModuleId>,
    /// Child modules by name. One name has several modules if `#[cfg]` chooses between them.
    pub(crate) children: BTreeMap<String, Vec<ModuleId>>,
    /// Functions, types, constants, and macros that are defined here.
    pub(crate) items: BTreeSet<String>,
    /// The macros among them, which child modules see without a path.
    pub(crate) macros: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Paths in signatures, types, expressions, patterns, and macro calls.
    pub(crate) mentions: BTreeSet<NamePath>,
}

/// A name (or all names) that a `use` item brings into a module.
#[derive(Debug)]
pub(crate) struct Import {
    /// The local name; `None` for a glob (`use path::*`).
    pub(crate) name: Option<String>,
    pub(crate) path: NamePath,
    pub(crate) visibility: ImportVisibility,
}

/// The modules that may use an import's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportVisibility {
    /// `use …`: the module itself.
    Private,
    /// `pub use …`, `pub(crate) use …`: other modules too.
    Reexport,
}

impl ModuleTree {
    /// Reads a crate from its root file.
    pub(crate) fn read(root: &Path, read_file: ReadFile<'_>) -> Self {
        let mut tree = Self::default();
        let folder = root.parent().expect("a file lies in a folder");
        tree.read_file_module(root, folder, None, read_file);
        tree
    }

    /// Adds the module of a file, whose child modules are files in `child_folder`.
    fn read_file_module(
        &mut self,
        file: &Path,
        child_folder: &Path,
        parent: Option<ModuleId>,
        read_file: ReadFile<'_>,
    ) -> ModuleId {
        let source = read_file(file).unwrap_or_else(|| panic!("cannot read {}", file.display()));
        let syntax = syn::parse_file(&source)
            .unwrap_or_else(|error| panic!("cannot parse {}: {error}", file.display()));
        self.add_module(file, child_folder, parent, &syntax.items, read_file)
    }

    fn add_module(
        &mut self,
        file: &Path,
        child_folder: &Path,
        parent: Option<ModuleId>,
        items: &[Item],
        read_file: ReadFile<'_>,
    ) -> ModuleId {
        let id = self.modules.len();
        let mut reader = ItemReader::default();
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            ..Module::default()
        });
        for item in items.iter().filter(|item| !is_test_only(attributes(item))) {
            reader.visit_item(item);
            match item {
                Item::Mod(declaration) => {
                    let child = self.add_child(id, file, child_folder, declaration, read_file);
                    let children = &mut self.modules[id].children;
                    let name = declaration.ident.to_string();
                    children.entry(name).or_default().push(child);
                }
                Item::Macro(definition) => {
                    let exported = |a: &Attribute| a.path().is_ident("macro_export");
                    if let Some(name) = &definition.ident {
                        self.modules[id].macros.insert(name.to_string());
                        if definition.attrs.iter().any(exported) {
                            self.exported_macros.insert(name.to_string(), id);
                        }
                    }
                }
                _ => {}
            }
        }
        let module = &mut self.modules[id];
        module.items = items.iter().filter_map(item_name).collect();
        module.imports = reader.imports;
        module.mentions = reader.mentions;
        id
    }

    /// Adds a child module, inline or in a file of its own.
    fn add_child(
        &mut self,
        parent: ModuleId,
        file: &Path,
        child_folder: &Path,
        declaration: &ItemMod,
        read_file: ReadFile<'_>,
    ) -> ModuleId {
        let name = declaration.ident.to_string();
        let own_folder = child_folder.join(&name);
        if let Some((_, items)) = &declaration.content {
            return self.add_module(file, &own_folder, Some(parent), items, read_file);
        }
        if let Some(path) = path_attribute(&declaration.attrs) {
            let folder = file.parent().expect("a file lies in a folder");
            let target = clean(&folder.join(path));
            let target_folder = target.parent().expect("a file lies in a folder");
            return self.read_file_module(&target, target_folder, Some(parent), read_file);
        }
        let flat = child_folder.join(format!("{name}.rs"));
        let nested = own_folder.join("mod.rs");
        let target = [flat, nested].into_iter().find(|f| read_file(f).is_some());
        let target =
            target.unwrap_or_else(|| panic!("{}: no file for `mod {name};`", file.display()));
        self.read_file_module(&target, &own_folder, Some(parent), read_file)
    }
}

/// Removes `..` from a path, so that each file has one name.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|a| a.path().is_ident("path"))?;
    let value = &attribute.meta.require_name_value().ok()?.value;
    match value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(path),
            ..
        }) => Some(path.value()),
        _ => None,
    }
}

/// Whether an item exists only in unit tests: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            meta => return meta.path().is_ident("test"),
        };
        let condition: String = condition.split_whitespace().collect();
        condition == "test" || condition.starts_with("all(test,")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn impl_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item defines in its module. Child modules and imports are handled separately.
fn item_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Collects the imports and the paths of a module's items, without those of inline child modules.
#[derive(Default)]
struct ItemReader {
    imports: Vec<Import>,
    mentions: BTreeSet<NamePath>,
}

impl ItemReader {
    fn add_use_tree(&mut self, tree: &UseTree, prefix: &[String], visibility: ImportVisibility) {
        let mut add = |name: Option<String>, path: NamePath| {
            self.imports.push(Import {
                name,
                path,
                visibility,
            });
        };
        let join = |segment: &syn::Ident| [prefix, &[segment.to_string()]].concat();
        match tree {
            UseTree::Path(path) => {
                self.add_use_tree(&path.tree, &join(&path.ident), visibility);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use_tree(tree, prefix, visibility);
                }
            }
            UseTree::Glob(_) => add(None, prefix.to_vec()),
            // `use path::{self}` imports the module under its own name.
            UseTree::Name(name) if name.ident == "self" => {
                add(prefix.last().cloned(), prefix.to_vec());
            }
            UseTree::Name(name) => add(Some(name.ident.to_string()), join(&name.ident)),
            UseTree::Rename(rename) if rename.ident == "self" => {
                add(Some(rename.rename.to_string()), prefix.to_vec());
            }
            UseTree::Rename(rename) => add(Some(rename.rename.to_string()), join(&rename.ident)),
        }
    }

    /// Adds every `a::b::c` among the tokens of a macro call.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = NamePath::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 || path.is_empty() => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                token => {
                    self.add_mention(std::mem::take(&mut path));
                    colons = 0;
                    match token {
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
        }
        self.add_mention(path);
    }

    fn add_mention(&mut self, path: NamePath) {
        if !path.is_empty() {
            self.mentions.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for ItemReader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_test_only(impl_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    /// Each child module has a separate reader.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let visibility = match item.vis {
            Visibility::Inherited => ImportVisibility::Private,
            _ => ImportVisibility::Reexport,
        };
        self.add_use_tree(&item.tree, &[], visibility);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add_mention(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// `pub(in crate::page)` is not an import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
