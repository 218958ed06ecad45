//! Turns each instruction's debug location into a source place: a scope, a line, and a column.
//!
//! A scope is the function itself or a function that was inlined into it. The chain of `inlinedAt`
//! locations leads from the inlined code outward. Included text (`#include`, `#line`) has a scope
//! that differs from the including function's scope only in the file. Line 0 means that the
//! compiler knows no line. Locations with line 0 have no place, and neither has the code of
//! functions that the compiler generated (`generated`).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use holloway_format::{Place, Scope, SourceFile, Text};
use holloway_llvm::{Function, Location, Subprogram};

use super::generated::is_generated;

/// The scopes of one function, in the order in which they are first needed: callers before callees.
pub(crate) struct Scopes<'m> {
    scopes: Vec<Scope>,
    /// The index of a scope, by its subprogram and the location of the inlined call.
    known: HashMap<(Subprogram<'m>, Option<Location<'m>>), u32>,
    /// The index of a scope of included text, by the including scope and the file.
    included: HashMap<(u32, String), u32>,
    subprograms: &'m SubprogramCache<'m>,
    /// Whether the compiler generated the function, so its own code has no places.
    is_generated: bool,
}

/// The debug information of a module's subprograms, each read once.
#[derive(Default)]
pub(crate) struct SubprogramCache<'m> {
    known: RefCell<HashMap<Subprogram<'m>, Scope>>,
    /// By file: its MD5.
    sources: RefCell<BTreeMap<Text, [u8; 16]>>,
}

/// How rustc begins the names of the files of the standard library. Its version determines their
/// content.
const STANDARD_LIBRARY: &str = "/rustc/";

impl<'m> SubprogramCache<'m> {
    /// The scope of a subprogram, without a parent.
    pub(crate) fn scope(&self, subprogram: Subprogram<'m>) -> Scope {
        self.known
            .borrow_mut()
            .entry(subprogram)
            .or_insert_with(|| {
                let file: Text = file(subprogram).into();
                if !file.starts_with(STANDARD_LIBRARY)
                    && let Some(md5) = subprogram.file_md5()
                {
                    self.sources.borrow_mut().insert(file.clone(), md5);
                }
                Scope {
                    name: subprogram.name().into(),
                    linkage_name: subprogram.linkage_name().into(),
                    file,
                    line: subprogram.line(),
                    parent: None,
                    call_line: 0,
                    call_column: 0,
                }
            })
            .clone()
    }

    /// The files of all scopes up to now whose content is known, by name.
    pub(crate) fn sources(&self) -> Vec<SourceFile> {
        let sources = self.sources.borrow();
        let sources = sources.iter();
        sources
            .map(|(file, md5)| SourceFile {
                file: file.clone(),
                md5: *md5,
            })
            .collect()
    }
}

impl<'m> Scopes<'m> {
    /// Starts with scope 0: the function.
    pub(crate) fn new(function: Function<'m>, subprograms: &'m SubprogramCache<'m>) -> Self {
        let mut scopes = Self {
            scopes: Vec::new(),
            known: HashMap::new(),
            included: HashMap::new(),
            subprograms,
            is_generated: false,
        };
        let mut scope = match function.subprogram() {
            Some(subprogram) => {
                scopes.known.insert((subprogram, None), 0);
                scopes.is_generated = is_generated(function, subprogram);
                subprograms.scope(subprogram)
            }
            None => Scope::default(),
        };
        if scopes.is_generated {
            scope.line = 0;
        }
        scope.linkage_name = function.name().into();
        scopes.scopes.push(scope);
        scopes
    }

    /// The place of a location. `None` if the compiler knows no line.
    pub(crate) fn place(&mut self, location: Location<'m>) -> Option<Place> {
        if location.line() == 0 {
            return None;
        }
        let scope = self.scope(location)?;
        if scope == 0 && self.is_generated {
            return None;
        }
        let scope = match location.other_file() {
            Some(file) => self.included_scope(scope, join_path(file))?,
            None => scope,
        };
        Some(Place {
            scope,
            line: location.line(),
            column: location.column(),
        })
    }

    /// The scope of text that the function of `scope` includes from a file. Its line is 0.
    fn included_scope(&mut self, scope: u32, file: String) -> Option<u32> {
        let key = (scope, file);
        if let Some(&known) = self.included.get(&key) {
            return Some(known);
        }
        let id = u32::try_from(self.scopes.len()).ok()?;
        self.scopes.push(Scope {
            file: key.1.as_str().into(),
            line: 0,
            ..self.scopes[scope as usize].clone()
        });
        self.included.insert(key, id);
        Some(id)
    }

    /// The scope that contains a location. This is a loop, not a recursion, because inlining may be
    /// deep.
    fn scope(&mut self, location: Location<'m>) -> Option<u32> {
        let mut new_scopes = Vec::new();
        let mut next = Some(location);
        let mut parent = None;
        while let Some(location) = next {
            let key = (location.scope()?.subprogram()?, location.inlined_at());
            if let Some(&known) = self.known.get(&key) {
                parent = Some(known);
                break;
            }
            new_scopes.push(key);
            next = location.inlined_at();
        }
        for (subprogram, call) in new_scopes.into_iter().rev() {
            let mut scope = self.subprograms.scope(subprogram);
            // A location without an inlined call may still name another function: the optimizer
            // merged that function's code into this function. Then the parent is scope 0.
            scope.parent = Some(parent.unwrap_or(0));
            scope.call_line = call.map_or(0, Location::line);
            scope.call_column = call.map_or(0, Location::column);
            let id = u32::try_from(self.scopes.len()).ok()?;
            self.scopes.push(scope);
            self.known.insert((subprogram, call), id);
            parent = Some(id);
        }
        parent
    }

    pub(crate) fn into_scopes(self) -> Vec<Scope> {
        self.scopes
    }
}

fn file(subprogram: Subprogram<'_>) -> String {
    join_path(subprogram.file())
}

/// Directory and file name, joined.
fn join_path((directory, name): (String, String)) -> String {
    if name.is_empty() || name.starts_with('/') || directory.is_empty() {
        return name;
    }
    format!("{}/{name}", directory.trim_end_matches('/'))
}
