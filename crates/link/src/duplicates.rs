//! Finds the functions that a link has twice: with probes in a woven object, and without probes in
//! an unwoven object.
//!
//! A C++ inline function or template is compiled into each object that uses it, as a weak symbol.
//! The linker keeps one of the copies: the first on the line, or a strong one. If the linker keeps
//! a copy without probes, the woven copy counts nothing, and a report would say that the function
//! did not run. So this module lists the functions that the linker may take from an unwoven object:
//!
//! - For a woven object named on the line, it lists only functions with an unwoven copy earlier on
//!   the line, or with a strong unwoven copy. If the unwoven copy comes later, the linker keeps the
//!   woven copy.
//! - The linker takes members out of archives when something needs them, in an order that only the
//!   linker knows. So the functions of a woven archive member are listed wherever the other copy
//!   is.

use std::collections::HashMap;

use holloway_format::ModuleMap;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// A function that an object defines, visible to other objects.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    name: Box<[u8]>,
    weak: bool,
}

/// An object's position in a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The word with this index names the object.
    Line(usize),
    /// The object is a member of the archive that the word with this index names.
    Archive(usize),
}

/// An object without probes, with its functions.
#[derive(Debug)]
pub(crate) struct UnwovenObject {
    display_name: String,
    position: Position,
    functions: Vec<Definition>,
}

impl UnwovenObject {
    /// Reads the functions of the object `bytes`. Messages call the object `display_name`.
    pub(crate) fn new(display_name: String, position: Position, bytes: &[u8]) -> Self {
        Self {
            display_name,
            position,
            functions: definitions(bytes),
        }
    }
}

/// A woven function that the linker may drop in favor of a copy without probes.
#[derive(Debug)]
pub(crate) struct DroppedFunction<'a> {
    /// The name in the source.
    pub(crate) name: String,
    /// The name of the symbol.
    pub(crate) symbol: String,
    /// The display name of the object that has the other copy.
    pub(crate) unwoven_object: &'a str,
}

/// The functions without probes in a link, by symbol. Each copy is an object with a function of
/// this name, and whether the function is weak.
#[derive(Debug, Default)]
pub(crate) struct Duplicates<'a>(HashMap<&'a [u8], Vec<(&'a UnwovenObject, bool)>>);

impl<'a> Duplicates<'a> {
    /// Indexes the functions of `objects` by their symbols.
    pub(crate) fn new(objects: impl IntoIterator<Item = &'a UnwovenObject>) -> Self {
        let mut copies: HashMap<_, Vec<_>> = HashMap::new();
        for object in objects {
            for function in &object.functions {
                let same_name = copies.entry(&*function.name).or_default();
                same_name.push((object, function.weak));
            }
        }
        Self(copies)
    }

    /// Returns the functions of a woven object that the linker may drop in favor of a copy without
    /// probes. `fragment` is the encoded path map of the object's module.
    pub(crate) fn in_object(
        &self,
        object: &[u8],
        fragment: &[u8],
        position: Position,
    ) -> Vec<DroppedFunction<'a>> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut preferred_copies: HashMap<Box<[u8]>, &str> = HashMap::new();
        let weak_functions = definitions(object)
            .into_iter()
            .filter(|function| function.weak);
        for function in weak_functions {
            let copies = self.0.get(&*function.name).into_iter().flatten();
            let preferred = copies
                .filter(|(copy, weak)| !weak || comes_first(copy.position, position))
                .map(|(copy, _)| copy.display_name.as_str())
                .next();
            if let Some(unwoven_object) = preferred {
                preferred_copies.insert(function.name, unwoven_object);
            }
        }
        if preferred_copies.is_empty() {
            return Vec::new();
        }
        let functions =
            ModuleMap::decode(fragment).map_or_else(|_| Vec::new(), |map| map.0.functions);
        let listed = functions.iter().filter_map(|function| {
            let unwoven_object = preferred_copies.get(function.linkage_name.as_bytes())?;
            Some(DroppedFunction {
                name: function.name.to_string(),
                symbol: function.linkage_name.to_string(),
                unwoven_object,
            })
        });
        listed.collect()
    }
}

/// Returns whether the linker may take a weak function of the unwoven object at `copy` instead of
/// the same function of the woven object at `woven`.
fn comes_first(copy: Position, woven: Position) -> bool {
    match (copy, woven) {
        (Position::Line(copy) | Position::Archive(copy), Position::Line(woven)) => copy < woven,
        (_, Position::Archive(_)) => true,
    }
}

fn definitions(bytes: &[u8]) -> Vec<Definition> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    let functions = file.symbols().filter(|symbol| {
        symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text
    });
    let definitions = functions.filter_map(|symbol| {
        Some(Definition {
            name: symbol.name_bytes().ok()?.into(),
            weak: symbol.is_weak(),
        })
    });
    definitions.collect()
}
