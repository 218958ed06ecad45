//! Places in the source: each instruction's debug location, as a frame and a line.
//!
//! A frame is the function itself or a function inlined into it. The chain of `inlinedAt` locations
//! leads from the inlined code outward. Included text (`#include`, `#line`) has a frame like the
//! including function's, with another file. Line 0 means that the compiler knows no line. Such
//! places are left out.

use std::collections::HashMap;

use holloway_format::{Place, Scope};
use holloway_llvm::{Function, Location, Subprogram};

/// The frames of one function, in the order in which they are first needed: callers before callees.
pub(crate) struct Scopes<'m> {
    scopes: Vec<Scope>,
    /// The number of a frame, by its subprogram and the place of the call.
    known: HashMap<(Subprogram<'m>, Option<Location<'m>>), u32>,
    /// The number of a frame of included text, by the including frame and the file.
    included: HashMap<(u32, String), u32>,
    /// The debug info of each subprogram, read once per module.
    described: &'m SubprogramCache<'m>,
}

/// Names and files of subprograms, each read once.
#[derive(Default)]
pub(crate) struct SubprogramCache<'m> {
    known: std::cell::RefCell<HashMap<Subprogram<'m>, Scope>>,
}

impl<'m> SubprogramCache<'m> {
    /// A frame of this subprogram without a parent.
    pub(crate) fn scope(&self, subprogram: Subprogram<'m>) -> Scope {
        self.known
            .borrow_mut()
            .entry(subprogram)
            .or_insert_with(|| Scope {
                name: subprogram.name().into(),
                linkage_name: subprogram.linkage_name().into(),
                file: file(subprogram).into(),
                line: subprogram.line(),
                parent: None,
                call_line: 0,
                call_column: 0,
            })
            .clone()
    }
}

impl<'m> Scopes<'m> {
    /// Starts with frame 0: the function.
    pub(crate) fn new(function: Function<'m>, described: &'m SubprogramCache<'m>) -> Self {
        let mut scopes = Self {
            scopes: Vec::new(),
            known: HashMap::new(),
            included: HashMap::new(),
            described,
        };
        let mut scope = match function.subprogram() {
            Some(subprogram) => {
                scopes.known.insert((subprogram, None), 0);
                described.scope(subprogram)
            }
            None => Scope::default(),
        };
        scope.linkage_name = function.name().into();
        scopes.scopes.push(scope);
        scopes
    }

    /// A location as a place; `None` where the line isn't known.
    pub(crate) fn place(&mut self, location: Location<'m>) -> Option<Place> {
        if location.line() == 0 {
            return None;
        }
        let frame = self.frame(location)?;
        let scope = match location.other_file() {
            Some(file) => self.included(frame, joined(file))?,
            None => frame,
        };
        Some(Place {
            scope,
            line: location.line(),
            column: location.column(),
        })
    }

    /// The frame of text that a frame's function includes from a file. It has no line of its own.
    fn included(&mut self, frame: u32, file: String) -> Option<u32> {
        let key = (frame, file);
        if let Some(&known) = self.included.get(&key) {
            return Some(known);
        }
        let id = u32::try_from(self.scopes.len()).ok()?;
        self.scopes.push(Scope {
            file: key.1.as_str().into(),
            line: 0,
            ..self.scopes[frame as usize].clone()
        });
        self.included.insert(key, id);
        Some(id)
    }

    /// The frame a location is in. Not recursive: inlining may be deep.
    fn frame(&mut self, location: Location<'m>) -> Option<u32> {
        let mut chain = Vec::new();
        let mut next = Some(location);
        let mut parent = None;
        while let Some(location) = next {
            let key = (location.scope()?.subprogram()?, location.inlined_at());
            if let Some(&known) = self.known.get(&key) {
                parent = Some(known);
                break;
            }
            chain.push(key);
            next = location.inlined_at();
        }
        for key in chain.into_iter().rev() {
            let mut scope = self.described.scope(key.0);
            // A location without a call belongs to another function whose code was merged into this
            // one. Its frame's parent is the root.
            scope.parent = Some(parent.unwrap_or(0));
            scope.call_line = key.1.map_or(0, Location::line);
            scope.call_column = key.1.map_or(0, Location::column);
            let id = u32::try_from(self.scopes.len()).ok()?;
            self.scopes.push(scope);
            self.known.insert(key, id);
            parent = Some(id);
        }
        parent
    }

    pub(crate) fn into_scopes(self) -> Vec<Scope> {
        self.scopes
    }
}

fn file(subprogram: Subprogram<'_>) -> String {
    joined(subprogram.file())
}

/// Directory and file name joined.
fn joined((directory, name): (String, String)) -> String {
    if name.is_empty() || name.starts_with('/') || directory.is_empty() {
        return name;
    }
    format!("{}/{name}", directory.trim_end_matches('/'))
}
